#include "io/safetensors/header.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "io/safetensors/types.h"

namespace berth::io {
namespace {

constexpr size_t kMaxDimensions = 32;

// Receives the parser's events; each returns false to stop, with status_ set.
class HeaderEvents {
 public:
  using Json = nlohmann::json;

  bool null() { return Refuse("null"); }
  bool boolean(bool) { return Refuse("a boolean"); }
  bool number_integer(Json::number_integer_t) { return Refuse("a negative number"); }
  bool number_float(Json::number_float_t, const std::string&) {
    return Refuse("a number that is not whole");
  }
  bool binary(Json::binary_t&) { return Refuse("binary"); }

  bool number_unsigned(Json::number_unsigned_t value) {
    if (place_ == Place::kShape) {
      if (tensor_.shape.size() == kMaxDimensions) return Fail("has too many dimensions");
      tensor_.shape.push_back(value);
      return true;
    }
    if (place_ == Place::kOffsets) {
      if (offsets_.size() == 2) return Fail("has more than two data_offsets");
      offsets_.push_back(value);
      return true;
    }
    return Refuse("a number");
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ == Place::kTensor && field_ == "dtype") {
      const auto type = SafetensorsTypeFromName(value);
      if (!type) {
        status_ = UnimplementedError("tensor '" + tensor_.name + "' has the unknown dtype '" +
                                     value + "'");
        return false;
      }
      tensor_.type = *type;
      return true;
    }
    return Refuse("a string");
  }

  bool start_object(size_t) {
    switch (place_) {
      case Place::kStart:
        place_ = Place::kTop;
        return true;
      case Place::kTop:
        place_ = key_ == "__metadata__" ? Place::kMetadata : Place::kTensor;
        tensor_ = {};
        tensor_.name = key_;
        offsets_.clear();
        fields_.clear();
        return true;
      default:
        return Refuse("an object");
    }
  }

  bool key(std::string& value) {
    if (place_ == Place::kTop) {
      if (!names_.insert(value).second) return Fail("'" + value + "' stands twice in the header");
      key_ = std::move(value);
    } else if (place_ == Place::kMetadata) {
      if (header_.metadata.count(value) != 0) {
        return Fail("metadata '" + value + "' stands twice in the header");
      }
      key_ = std::move(value);
    } else {
      if (value != "dtype" && value != "shape" && value != "data_offsets") {
        return Fail("tensor '" + tensor_.name + "' has the unknown field '" + value + "'");
      }
      if (!fields_.insert(value).second) {
        return Fail("tensor '" + tensor_.name + "' has '" + value + "' twice");
      }
      field_ = std::move(value);
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::kMetadata) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTensor) {
      if (fields_.size() != 3 || offsets_.size() != 2) {
        return Fail("tensor '" + tensor_.name + "' lacks dtype, shape or its two data_offsets");
      }
      if (offsets_[1] < offsets_[0]) {
        return Fail("tensor '" + tensor_.name + "' ends before it begins");
      }
      tensor_.offset = offsets_[0];
      tensor_.bytes = offsets_[1] - offsets_[0];
      header_.tensors.push_back(std::move(tensor_));
      place_ = Place::kTop;
    } else {
      place_ = Place::kEnd;
    }
    return true;
  }

  bool start_array(size_t) {
    if (place_ == Place::kTensor && field_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kTensor && field_ == "data_offsets") {
      place_ = Place::kOffsets;
    } else {
      return Refuse("a list");
    }
    return true;
  }
  bool end_array() {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception&) {
    return Fail("the header is not JSON at byte " + std::to_string(position) + " of it");
  }

  const Status& status() const { return status_; }
  SafetensorsHeader TakeHeader() { return std::move(header_); }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool Fail(std::string why) {
    status_ = InvalidArgumentError(std::move(why));
    return false;
  }
  bool Refuse(const char* what) {
    if (place_ == Place::kStart) return Fail("the header is not a JSON object");
    if (place_ == Place::kTop) return Fail(std::string("'") + key_ + "' is " + what);
    if (place_ == Place::kMetadata) {
      return Fail("metadata '" + key_ + "' is " + what + "; it must be a string");
    }
    return Fail("tensor '" + tensor_.name + "' has " + what + " in '" + field_ + "'");
  }

  Place place_ = Place::kStart;
  std::string key_;    // of the top level or the metadata
  std::string field_;  // of the tensor at hand
  std::set<std::string> names_;
  std::set<std::string> fields_;
  SafetensorsTensor tensor_;
  std::vector<uint64_t> offsets_;
  SafetensorsHeader header_;
  Status status_;
};

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json) {
  HeaderEvents events;
  try {
    const bool done = nlohmann::json::sax_parse(json.begin(), json.end(), &events);
    if (!events.status().ok()) return events.status();
    if (!done) return InvalidArgumentError("the header is not JSON");
  } catch (const std::exception& error) {
    return InvalidArgumentError(std::string("the header cannot be read: ") + error.what());
  }
  return events.TakeHeader();
}

}  // namespace berth::io
