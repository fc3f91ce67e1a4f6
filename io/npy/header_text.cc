#include "io/npy/header_text.h"

#include <charconv>
#include <set>

namespace berth::io {
namespace {

// Arrays of more dimensions than NumPy itself makes.
constexpr size_t kMaxDimensions = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<NpyHeader> Read();

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  // Passes over `word`, if it comes next.
  bool Take(std::string_view word) {
    SkipSpace();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  Status Wrong(const std::string& expected) const {
    return InvalidArgumentError("header, byte " + std::to_string(at_) + ": expected " + expected);
  }
  Status String(std::string* value);
  Status Bool(bool* value);
  Status Shape(std::vector<uint64_t>* shape);
  Status Value(const std::string& key, NpyHeader* header);

  const std::string_view text_;
  size_t at_ = 0;
};

Status Reader::String(std::string* value) {
  SkipSpace();
  const char quote = at_ < text_.size() ? text_[at_] : '\0';
  if (quote != '\'' && quote != '"') return Wrong("a string");
  const size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) return Wrong("a string that ends");
  *value = std::string(text_.substr(at_ + 1, end - at_ - 1));
  // No name and no type of a plain array has an escape.
  if (value->find('\\') != std::string::npos) return Wrong("a string without escapes");
  at_ = end + 1;
  return Status();
}

Status Reader::Bool(bool* value) {
  *value = Take("True");
  return *value || Take("False") ? Status() : Wrong("True or False");
}

Status Reader::Shape(std::vector<uint64_t>* shape) {
  if (!Take("(")) return Wrong("the shape, '('");
  while (!Take(")")) {
    SkipSpace();
    uint64_t size = 0;
    const std::from_chars_result read =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
    if (read.ec != std::errc() || shape->size() == kMaxDimensions) return Wrong("a dimension");
    at_ = static_cast<size_t>(read.ptr - text_.data());
    (void)Take("L");  // as Python 2 wrote long numbers
    shape->push_back(size);
    // (5,) and (5, 6) and (5, 6,), but not (5): that is a number.
    if (Take(",")) continue;
    if (shape->size() < 2 || !Take(")")) return Wrong("',' or ')'");
    return Status();
  }
  return Status();
}

Status Reader::Value(const std::string& key, NpyHeader* header) {
  if (key == "fortran_order") return Bool(&header->fortran_order);
  if (key == "shape") return Shape(&header->shape);
  if (key != "descr") return Wrong("only the keys descr, fortran_order and shape");
  SkipSpace();
  // Structured arrays have a list there.
  if (at_ < text_.size() && text_[at_] == '[') {
    return UnimplementedError("an array of records: save its field of expert ids as an array");
  }
  return String(&header->descr);
}

Result<NpyHeader> Reader::Read() {
  NpyHeader header;
  std::set<std::string> seen;
  if (!Take("{")) return Wrong("'{'");
  while (!Take("}")) {
    std::string key;
    BERTH_RETURN_IF_ERROR(String(&key));
    if (!seen.insert(key).second) return Wrong("each key once");
    if (!Take(":")) return Wrong("':'");
    BERTH_RETURN_IF_ERROR(Value(key, &header));
    if (Take(",")) continue;
    if (!Take("}")) return Wrong("',' or '}'");
    break;
  }
  SkipSpace();
  if (at_ != text_.size()) return Wrong("nothing more");
  if (seen.size() != 3) return Wrong("the keys descr, fortran_order and shape");
  return header;
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(std::string_view text) { return Reader(text).Read(); }

}  // namespace berth::io
