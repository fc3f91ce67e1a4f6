// The bounded parser behind ParseGguf.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "io/gguf/gguf.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as little-endian");

// Real models have a few hundred keys and a few thousand tensors. The limits only keep a damaged
// count from costing minutes.
constexpr uint64_t kMaxKeys = 1 << 16;
constexpr uint64_t kMaxTensors = 1 << 20;
constexpr uint64_t kMaxKeyBytes = 65535;  // by the format
constexpr uint64_t kMaxNameBytes = 255;   // 64 by the format; some writers take more
constexpr uint64_t kMaxStringBytes = 16 << 20;
constexpr uint64_t kMaxHeaderBytes = 1 << 30;
constexpr size_t kWindowBytes = 256 << 10;
// The smallest entries that can be: length, no text, type, one byte; length, dims, one extent,
// type, offset.
constexpr uint64_t kMinKeyEntryBytes = 8 + 4 + 1;
constexpr uint64_t kMinTensorEntryBytes = 8 + 4 + 8 + 4 + 8;

// Text from a file, fit for a one-line message.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 80;
  const bool cut = text.size() > kShown;
  if (cut) text = text.substr(0, kShown);
  return "'" + absl::CEscape(absl::string_view(text.data(), text.size())) + (cut ? "...'" : "'");
}

// A forward cursor over a source, through a window.
class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return source_.bytes() - position_; }

  // `what` goes into the message of a file that ends too early.
  Status Read(void* to, size_t bytes, std::string_view what) {
    if (bytes > left()) return Truncated(bytes, what);
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      if (position_ < window_begin_ || position_ >= window_begin_ + window_.size()) {
        BERTH_RETURN_IF_ERROR(Fill());
      }
      const size_t at = position_ - window_begin_;
      const size_t part = std::min(bytes, window_.size() - at);
      std::memcpy(out, window_.data() + at, part);
      out += part;
      position_ += part;
      bytes -= part;
    }
    return Status();
  }
  template <typename T>
  Status ReadValue(T* value, std::string_view what) {
    return Read(value, sizeof(T), what);
  }
  Status Skip(uint64_t bytes, std::string_view what) {
    if (bytes > left()) return Truncated(bytes, what);
    position_ += bytes;
    return Status();
  }
  Status ReadString(uint64_t at_most, std::string* text, std::string_view what) {
    uint64_t length = 0;
    BERTH_RETURN_IF_ERROR(ReadValue(&length, what));
    if (length > left()) return Truncated(length, what);
    if (length > at_most) {
      return InvalidArgumentError(source_.name() + ": " + std::string(what) + " of " +
                                  std::to_string(length) + " bytes at byte " +
                                  std::to_string(position_ - 8) + ": expected at most " +
                                  std::to_string(at_most));
    }
    text->resize(length);
    return Read(text->data(), length, what);
  }

 private:
  Status Fill() {
    if (position_ >= kMaxHeaderBytes) {
      return InvalidArgumentError(source_.name() + ": the header is longer than " +
                                  std::to_string(kMaxHeaderBytes) + " bytes");
    }
    window_begin_ = position_;
    window_.resize(std::min<uint64_t>(kWindowBytes, left()));
    BERTH_ASSIGN_OR_RETURN(const size_t got,
                           source_.ReadSome(position_, std::as_writable_bytes(std::span(window_))));
    window_.resize(got);
    if (got > 0) return Status();
    return DataLossError(source_.name() + ": truncated: it ends at byte " +
                         std::to_string(position_) + " within the header");
  }
  Status Truncated(uint64_t bytes, std::string_view what) const {
    return DataLossError(source_.name() + ": truncated: " + std::string(what) + " at byte " +
                         std::to_string(position_) + " needs " + std::to_string(bytes) +
                         " bytes, the file ends at " + std::to_string(source_.bytes()));
  }

  const ByteSource& source_;
  uint64_t position_ = 0;
  uint64_t window_begin_ = 0;
  std::vector<char> window_;
};

class Parser {
 public:
  explicit Parser(const ByteSource& source) : source_(source), cursor_(source) {
    file_.path = source.name();
    file_.bytes = source.bytes();
  }

  Result<GgufFile> Parse() {
    BERTH_RETURN_IF_ERROR(ParsePreamble());
    BERTH_RETURN_IF_ERROR(ParseMetadata());
    BERTH_RETURN_IF_ERROR(ParseAlignment());
    BERTH_RETURN_IF_ERROR(ParseTensors());
    BERTH_RETURN_IF_ERROR(PlaceTensors());
    return std::move(file_);
  }

 private:
  Status Invalid(const std::string& what) const {
    return InvalidArgumentError(source_.name() + ": " + what);
  }
  Status Unserved(const std::string& what) const {
    return UnimplementedError(source_.name() + ": " + what);
  }

  Status ParsePreamble() {
    std::string magic(4, '\0');
    if (cursor_.left() < magic.size()) {
      return Invalid("not a GGUF file: it has " + std::to_string(cursor_.left()) + " bytes");
    }
    BERTH_RETURN_IF_ERROR(cursor_.Read(magic.data(), magic.size(), "the magic"));
    if (magic != "GGUF") {
      return Invalid("not a GGUF file: it begins with " + Quoted(magic) + ", expected 'GGUF'");
    }
    BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&file_.version, "the version"));
    const uint32_t swapped = __builtin_bswap32(file_.version);
    if (swapped >= 1 && swapped <= 3) {
      return Unserved("big-endian GGUF (version " + std::to_string(swapped) +
                      "): expected little-endian; convert the model again on this machine");
    }
    if (file_.version == 1) {
      return Unserved("GGUF version 1: expected 2 or 3; convert the model again");
    }
    if (file_.version != 2 && file_.version != 3) {
      return Unserved("GGUF version " + std::to_string(file_.version) + ": expected 2 or 3");
    }
    BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&tensor_count_, "the tensor count"));
    BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&key_count_, "the metadata count"));
    BERTH_RETURN_IF_ERROR(CheckCount("metadata", key_count_, kMaxKeys, kMinKeyEntryBytes));
    return CheckCount("tensor", tensor_count_, kMaxTensors, kMinTensorEntryBytes);
  }

  // Refuses a count that its entries, however small, could not fit the file with.
  Status CheckCount(const char* what, uint64_t count, uint64_t at_most, uint64_t entry_bytes) {
    const uint64_t room = cursor_.left() / entry_bytes;
    if (count <= std::min(room, at_most)) return Status();
    const std::string text =
        std::string(what) + " count " + std::to_string(count) + ": expected at most ";
    if (count > at_most) return Invalid(text + std::to_string(at_most));
    return DataLossError(source_.name() + ": truncated: " + text + std::to_string(room) +
                         " in the file's " + std::to_string(source_.bytes()) + " bytes");
  }

  Status ParseMetadata() {
    absl::flat_hash_set<std::string> seen;
    for (uint64_t i = 0; i < key_count_; ++i) {
      GgufKeyValue entry;
      entry.entry_offset = cursor_.position();
      BERTH_RETURN_IF_ERROR(cursor_.ReadString(kMaxKeyBytes, &entry.key, "a metadata key"));
      if (!seen.insert(entry.key).second) {
        return Invalid("metadata key " + Quoted(entry.key) + " stands twice");
      }
      BERTH_RETURN_IF_ERROR(ParseType(entry.key, &entry.type));
      BERTH_RETURN_IF_ERROR(ParseValue(&entry));
      entry.entry_bytes = cursor_.position() - entry.entry_offset;
      file_.metadata.push_back(std::move(entry));
    }
    return Status();
  }

  Status ParseType(const std::string& key, GgufType* type) {
    uint32_t id = 0;
    BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&id, "a metadata type"));
    if (id > static_cast<uint32_t>(GgufType::kFloat64)) {
      return Invalid("metadata key " + Quoted(key) + " has type " + std::to_string(id) +
                     ": expected 0 to 12");
    }
    *type = static_cast<GgufType>(id);
    return Status();
  }

  Status ParseValue(GgufKeyValue* entry) {
    if (entry->type == GgufType::kString) {
      return cursor_.ReadString(kMaxStringBytes, &entry->raw, "a metadata string");
    }
    if (entry->type == GgufType::kArray) return ParseArray(entry);
    entry->raw.resize(GgufTypeBytes(entry->type));
    BERTH_RETURN_IF_ERROR(cursor_.Read(entry->raw.data(), entry->raw.size(), "a metadata value"));
    if (entry->type == GgufType::kBool && static_cast<uint8_t>(entry->raw[0]) > 1) {
      return Invalid("metadata key " + Quoted(entry->key) + " is a bool of value " +
                     std::to_string(static_cast<uint8_t>(entry->raw[0])) + ": expected 0 or 1");
    }
    return Status();
  }

  Status ParseArray(GgufKeyValue* entry) {
    BERTH_RETURN_IF_ERROR(ParseType(entry->key, &entry->element_type));
    BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&entry->element_count, "an array's length"));
    if (entry->element_type == GgufType::kArray) {
      return Unserved("metadata key " + Quoted(entry->key) +
                      " is an array of arrays: expected plain elements");
    }
    const uint32_t width = GgufTypeBytes(entry->element_type);
    // Strings take at least their length field.
    const uint64_t room = cursor_.left() / std::max<uint64_t>(width, width == 0 ? 8 : 1);
    if (entry->element_count > room) {
      return DataLossError(source_.name() + ": truncated: metadata key " + Quoted(entry->key) +
                           " has " + std::to_string(entry->element_count) +
                           " elements, the file has room for " + std::to_string(room));
    }
    if (width == 0) {
      for (uint64_t i = 0; i < entry->element_count; ++i) {
        uint64_t length = 0;
        BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&length, "a string's length"));
        BERTH_RETURN_IF_ERROR(cursor_.Skip(length, "a string"));
      }
      return Status();
    }
    const uint64_t bytes = entry->element_count * width;
    if (bytes > GgufKeyValue::kKeptArrayBytes) return cursor_.Skip(bytes, "an array");
    entry->raw.resize(bytes);
    return cursor_.Read(entry->raw.data(), bytes, "an array");
  }

  Status ParseAlignment() {
    const GgufKeyValue* entry = file_.Find("general.alignment");
    if (entry == nullptr) return Status();
    if (entry->type != GgufType::kUint32) {
      return Invalid("general.alignment is of type " + std::string(GgufTypeName(entry->type)) +
                     ": expected u32");
    }
    const uint64_t alignment = *entry->AsUint();
    if (!std::has_single_bit(alignment)) {
      return Invalid("general.alignment is " + std::to_string(alignment) +
                     ": expected a power of two");
    }
    file_.alignment = static_cast<uint32_t>(alignment);
    return Status();
  }

  Status ParseTensors() {
    absl::flat_hash_set<std::string> seen;
    for (uint64_t i = 0; i < tensor_count_; ++i) {
      GgufTensor tensor;
      BERTH_RETURN_IF_ERROR(cursor_.ReadString(kMaxNameBytes, &tensor.name, "a tensor name"));
      if (!seen.insert(tensor.name).second) {
        return Invalid("tensor " + Quoted(tensor.name) + " stands twice");
      }
      BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&tensor.dims, "a tensor's dimensions"));
      if (tensor.dims < 1 || tensor.dims > kGgufMaxDims) {
        return Invalid("tensor " + Quoted(tensor.name) + " has " + std::to_string(tensor.dims) +
                       " dimensions: expected 1 to 4");
      }
      BERTH_RETURN_IF_ERROR(ParseExtents(&tensor));
      BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&tensor.type, "a tensor's type"));
      BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&tensor.offset, "a tensor's offset"));
      if (tensor.offset % file_.alignment != 0) {
        return Invalid("tensor " + Quoted(tensor.name) + " has offset " +
                       std::to_string(tensor.offset) + ": expected a multiple of " +
                       std::to_string(file_.alignment));
      }
      file_.tensors.push_back(std::move(tensor));
    }
    return Status();
  }

  Status ParseExtents(GgufTensor* tensor) {
    uint64_t elements = 1;
    for (uint32_t d = 0; d < tensor->dims; ++d) {
      BERTH_RETURN_IF_ERROR(cursor_.ReadValue(&tensor->ne[d], "a tensor's shape"));
      if (!CheckedMul(elements, tensor->ne[d], &elements) || elements > INT64_MAX) {
        return Invalid("tensor " + Quoted(tensor->name) + " has more than 2^63 elements");
      }
    }
    return Status();
  }

  // From offsets in the data section to offsets in the file, and the room each tensor has.
  Status PlaceTensors() {
    file_.data_offset = AlignUp(cursor_.position(), file_.alignment);
    std::vector<size_t> order(file_.tensors.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return file_.tensors[a].offset < file_.tensors[b].offset;
    });
    uint64_t end = file_.bytes;
    for (size_t i = order.size(); i-- > 0;) {
      GgufTensor& tensor = file_.tensors[order[i]];
      uint64_t offset = 0;
      if (!CheckedAdd(file_.data_offset, tensor.offset, &offset) || offset > file_.bytes) {
        return DataLossError(source_.name() + ": truncated: tensor " + Quoted(tensor.name) +
                             " begins at " + std::to_string(tensor.offset) +
                             " of the data section, the file ends at " +
                             std::to_string(file_.bytes));
      }
      tensor.offset = offset;
      tensor.room_bytes = end - offset;
      end = offset;
    }
    return Status();
  }

  const ByteSource& source_;
  Cursor cursor_;
  GgufFile file_;
  uint64_t tensor_count_ = 0;
  uint64_t key_count_ = 0;
};

}  // namespace

Result<GgufFile> ParseGguf(const ByteSource& source) { return Parser(source).Parse(); }

}  // namespace berth::io
