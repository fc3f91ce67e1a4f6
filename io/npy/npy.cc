#include "io/npy/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "io/npy/header_text.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

constexpr std::array<char, 6> kMagic = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
// Headers of plain arrays have about a hundred bytes.
constexpr uint64_t kMaxHeaderBytes = 64u << 10;
constexpr size_t kReadBytes = 256u << 10;

uint64_t Assemble(const std::byte* bytes, uint32_t count, bool big_endian) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * (big_endian ? count - 1 - i : i));
  }
  return value;
}

}  // namespace

Result<NpyFile> NpyFile::Open(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
  return Parse(std::move(source));
}

Result<NpyFile> NpyFile::Parse(std::unique_ptr<ByteSource> source) {
  NpyFile file;
  file.source_ = std::move(source);
  const ByteSource& from = *file.source_;
  const auto wrong = [&](const std::string& what) {
    return InvalidArgumentError(from.name() + ": " + what);
  };
  std::array<std::byte, 8> start;
  if (from.bytes() < start.size()) return wrong("too short for a .npy file");
  BERTH_RETURN_IF_ERROR(from.ReadAt(0, start));
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) return wrong("no .npy file");
  const auto version = std::to_integer<uint32_t>(start[6]);
  if (version < 1 || version > 3 || start[7] != std::byte{0}) {
    return UnimplementedError(from.name() + ": .npy version " + std::to_string(version) + "." +
                              std::to_string(std::to_integer<uint32_t>(start[7])) +
                              ": 1.0, 2.0 and 3.0 are read");
  }
  std::array<std::byte, 4> length{};
  const uint32_t length_bytes = version == 1 ? 2 : 4;
  BERTH_RETURN_IF_ERROR(from.ReadAt(start.size(), std::span(length).first(length_bytes)));
  const uint64_t header_bytes = Assemble(length.data(), length_bytes, false);
  if (header_bytes > kMaxHeaderBytes) {
    return wrong("a header of " + std::to_string(header_bytes) + " bytes: at most " +
                 std::to_string(kMaxHeaderBytes) + " are read");
  }
  std::string text(header_bytes, '\0');
  const uint64_t header_offset = start.size() + length_bytes;
  BERTH_RETURN_IF_ERROR(from.ReadAt(header_offset, std::as_writable_bytes(std::span<char>(text))));
  file.data_offset_ = header_offset + header_bytes;
  if (Status status = file.ParseHeader(text); !status.ok()) return status.Annotate(from.name());
  return file;
}

Status NpyFile::ParseHeader(const std::string& text) {
  BERTH_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(text));
  const std::string& descr = header.descr;
  const bool integer = descr.size() == 3 && (descr[1] == 'i' || descr[1] == 'u') &&
                       std::strchr("<>|=", descr[0]) != nullptr &&
                       std::strchr("1248", descr[2]) != nullptr;
  if (!integer) {
    return UnimplementedError("an array of '" + descr.substr(0, 40) +
                              "': expert ids are integers of 1, 2, 4 or 8 bytes: convert it with "
                              ".astype('int32')");
  }
  is_signed_ = descr[1] == 'i';
  big_endian_ = descr[0] == '>';
  item_bytes_ = static_cast<uint32_t>(descr[2] - '0');
  if (descr[0] == '|' && item_bytes_ > 1) {
    return InvalidArgumentError("'" + descr + "': no byte order for more than one byte");
  }
  fortran_order_ = header.fortran_order;
  shape_ = header.shape;
  items_ = 1;
  uint64_t bytes = 0;
  for (const uint64_t size : shape_) {
    if (!CheckedMul(items_, size, &items_)) return InvalidArgumentError("its shape overflows");
  }
  if (!CheckedMul(items_, item_bytes_, &bytes)) {
    return InvalidArgumentError("its shape overflows");
  }
  const uint64_t held = source_->bytes() - data_offset_;
  if (bytes > held) {
    return DataLossError("the array has " + std::to_string(bytes) + " bytes, the file only " +
                         std::to_string(held) + ": it was cut short");
  }
  if (bytes < held) {
    return InvalidArgumentError(std::to_string(held - bytes) + " bytes after the array");
  }
  return Status();
}

Status NpyFile::Read(uint64_t first, std::span<int64_t> out) const {
  if (first > items_ || out.size() > items_ - first) {
    return OutOfRangeError(name() + ": items beyond the array's " + std::to_string(items_));
  }
  std::vector<std::byte> bytes(std::min<size_t>(kReadBytes, out.size() * item_bytes_));
  const size_t per_read = bytes.size() / item_bytes_;
  for (size_t done = 0; done < out.size();) {
    const size_t take = std::min(per_read, out.size() - done);
    const auto piece = std::span(bytes).first(take * item_bytes_);
    BERTH_RETURN_IF_ERROR(source_->ReadAt(data_offset_ + (first + done) * item_bytes_, piece));
    for (size_t i = 0; i < take; ++i) {
      const uint64_t raw = Assemble(piece.data() + i * item_bytes_, item_bytes_, big_endian_);
      if (!is_signed_ && raw > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return OutOfRangeError(name() + ": item " + std::to_string(first + done + i) + " is " +
                               std::to_string(raw) + ", which is no expert's id");
      }
      // Sign extension by way of the top bits.
      const uint32_t unused = is_signed_ ? 64 - 8 * item_bytes_ : 0;
      out[done + i] = static_cast<int64_t>(raw << unused) >> unused;
    }
    done += take;
  }
  return Status();
}

}  // namespace berth::io
