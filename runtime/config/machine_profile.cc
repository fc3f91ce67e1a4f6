#include "runtime/config/machine_profile.h"

#include <set>
#include <utility>

#include "io/file/read_text.h"
#include "runtime/base/format.h"
#include "runtime/config/strict_json.h"

namespace berth {
namespace {

constexpr uint64_t kMaxProfileBytes = 1u << 20;

Status ReadStorage(const nlohmann::json& value, StorageProfile* storage) {
  StrictObject object(value, "storage");
  object.Positive("bytes_per_s", &storage->bytes_per_s);
  object.PositiveWhole("bytes_in_flight", &storage->bytes_in_flight);
  return object.Finish();
}

Status ReadLinks(const nlohmann::json& list, std::vector<LinkProfile>* links) {
  std::set<std::string> cards;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = "links[" + std::to_string(i) + "]";
    LinkProfile link;
    StrictObject object(list[i], where);
    object.Require("card");
    object.String("card", &link.card);
    object.Positive("bytes_per_s", &link.bytes_per_s);
    BERTH_RETURN_IF_ERROR(object.Finish());
    if (!cards.insert(link.card).second) {
      return InvalidArgumentError(where + ": card '" + link.card + "' stands twice");
    }
    links->push_back(std::move(link));
  }
  return Status();
}

Result<MachineProfile> Convert(const nlohmann::json& value) {
  MachineProfile profile;
  StrictObject object(value, "");
  object.Require("name");
  object.String("name", &profile.name);
  object.String("notes", &profile.notes);
  const nlohmann::json* storage = object.Object("storage");
  const nlohmann::json* links = object.List("links");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (storage != nullptr) BERTH_RETURN_IF_ERROR(ReadStorage(*storage, &profile.storage));
  if (links != nullptr) BERTH_RETURN_IF_ERROR(ReadLinks(*links, &profile.links));
  return profile;
}

}  // namespace

Result<MachineProfile> ParseMachineProfile(std::string_view text, std::string_view name) {
  if (text.size() > kMaxProfileBytes) {
    return InvalidArgumentError(std::string(name) + ": " + FormatBytes(text.size()) +
                                ", but a profile has at most " + FormatBytes(kMaxProfileBytes));
  }
  const Result<nlohmann::json> value = ParseStrictJson(text);
  if (!value.ok()) return value.status().Annotate(name);
  Result<MachineProfile> profile = Convert(*value);
  if (!profile.ok()) return profile.status().Annotate(name);
  return profile;
}

Result<MachineProfile> ReadMachineProfile(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, io::ReadText(path, kMaxProfileBytes));
  return ParseMachineProfile(text, path);
}

}  // namespace berth
