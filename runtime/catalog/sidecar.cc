#include "runtime/catalog/sidecar.h"

#include <cstring>
#include <memory>

#include "io/file/byte_source.h"
#include "runtime/base/hash.h"

namespace berth::catalog {
namespace {

constexpr std::string_view kMagic = "BERTHSUM";
constexpr uint32_t kVersion = 1;

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

uint64_t LayoutHash(const Catalog& catalog) {
  StreamHash64 hash;
  for (UnitIndex unit = 0; unit < catalog.units(); ++unit) {
    for (const Extent& extent : catalog.extents(unit)) {
      const uint64_t figures[] = {extent.file, extent.offset, extent.bytes};
      hash.Update(figures, sizeof(figures));
    }
  }
  return hash.Digest();
}

// What must stand before the checksums.
std::string Preamble(const Catalog& catalog) {
  std::string text(kMagic);
  Put(&text, kVersion);
  Put(&text, static_cast<uint32_t>(catalog.files().size()));
  Put(&text, catalog.layers());
  Put(&text, catalog.experts());
  for (const ModelFile& file : catalog.files()) Put(&text, file.bytes);
  Put(&text, LayoutHash(catalog));
  return text;
}

}  // namespace

std::string SidecarPath(const std::string& first_file) { return first_file + ".berth-sums"; }

std::string SidecarPath(const Catalog& catalog) {
  return SidecarPath(catalog.files().front().path);
}

std::string EncodeSidecar(const Catalog& catalog, std::span<const UnitSums> checksums) {
  std::string text = Preamble(catalog);
  text.append(reinterpret_cast<const char*>(checksums.data()), checksums.size_bytes());
  Put(&text, Hash64(text.data(), text.size()));
  return text;
}

Result<std::vector<UnitSums>> DecodeSidecar(const Catalog& catalog, const std::string& path,
                                            std::span<const std::byte> bytes) {
  const std::string advice = "; remove it, or write it again with berth verify --write --force";
  if (bytes.size() < kMagic.size() ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return DataLossError(path + ": no list of checksums" + advice);
  }
  uint64_t own = 0;
  const size_t body = bytes.size() - std::min(bytes.size(), sizeof(own));
  std::memcpy(&own, bytes.data() + body, bytes.size() - body);
  if (own != Hash64(bytes.data(), body)) {
    return DataLossError(path + ": damaged: its own checksum does not fit" + advice);
  }
  const std::string expected = Preamble(catalog);
  const size_t sums_bytes = size_t{catalog.units()} * sizeof(UnitSums);
  if (body != expected.size() + sums_bytes ||
      std::memcmp(bytes.data(), expected.data(), expected.size()) != 0) {
    return FailedPreconditionError(path +
                                   ": belongs to another model, or to another state of this one "
                                   "(files, sizes or layout differ)" +
                                   advice);
  }
  std::vector<UnitSums> checksums(catalog.units());
  std::memcpy(checksums.data(), bytes.data() + expected.size(), sums_bytes);
  return checksums;
}

Result<std::vector<UnitSums>> ReadSidecar(const Catalog& catalog) {
  const std::string path = SidecarPath(catalog);
  Result<std::unique_ptr<io::FileSource>> source = io::FileSource::Open(path);
  if (!source.ok()) {
    if (source.status().code() == StatusCode::kNotFound) return std::vector<UnitSums>();
    return source.status();
  }
  // One of this model has a known size: of anything longer the beginning is enough to refuse it.
  const uint64_t expected =
      Preamble(catalog).size() + uint64_t{catalog.units()} * sizeof(UnitSums) + sizeof(uint64_t);
  std::vector<std::byte> bytes(std::min((*source)->bytes(), expected + 1));
  BERTH_RETURN_IF_ERROR((*source)->ReadAt(0, bytes));
  return DecodeSidecar(catalog, path, bytes);
}

}  // namespace berth::catalog
