#include "runtime/config/profile_update.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "io/file/output_file.h"
#include "io/file/read_text.h"
#include "kernels/card_name.h"
#include "kernels/formats/format.h"
#include "runtime/config/strict_json.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;  // fields stay where people put them

// Four digits: more than any measurement repeats.
double Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return std::strtod(text, nullptr);
}

void Set(Json* entry, const char* name, double value) {
  if (value > 0) (*entry)[name] = Rounded(value);
}
void SetWhole(Json* entry, const char* name, uint64_t value) {
  if (value > 0) (*entry)[name] = value;
}
void Set(Json* entry, const char* name, const std::optional<double>& value) {
  if (value.has_value()) (*entry)[name] = Rounded(*value);
}
void Set(Json* entry, const char* name, const std::string& value) {
  if (!value.empty()) (*entry)[name] = value;
}

// `y`: null for a grid over x alone.
void Set(Json* entry, const char* name, const ProfileGrid& grid, const char* x, const char* y,
         const char* value) {
  if (grid.empty()) return;
  Json points = Json::array();
  for (size_t j = 0; j < grid.y.size(); ++j) {
    for (size_t i = 0; i < grid.x.size(); ++i) {
      Json point = {{x, static_cast<uint64_t>(grid.x[i])}};
      if (y != nullptr) point[y] = static_cast<uint64_t>(grid.y[j]);
      point[value] = Rounded(grid.value[j * grid.x.size() + i]);
      points.push_back(std::move(point));
    }
  }
  (*entry)[name] = std::move(points);
}

std::string TypeName(TensorType type) { return std::string(kernels::FindFormat(type)->name); }

Json ChoiceJson(const MeasuredKernel& choice) {
  Json made = Json::object();
  if (choice.gate.has_value()) made["gate"] = TypeName(*choice.gate);
  made["up"] = TypeName(choice.up);
  made["down"] = TypeName(choice.down);
  made["hidden"] = choice.hidden;
  made["ffn"] = choice.ffn;
  made["experts"] = choice.experts;
  made["top_k"] = choice.top_k;
  made["rows"] = choice.rows;
  made["kernel"] = choice.kernel.ToString();
  Set(&made, "seconds", choice.seconds);
  return made;
}

bool SameCalls(const Json& a, const Json& b) {
  if (!a.is_object()) return false;
  for (const char* name : {"gate", "up", "down", "hidden", "ffn", "experts", "top_k", "rows"}) {
    const auto left = a.find(name), right = b.find(name);
    if ((left == a.end()) != (right == b.end())) return false;
    if (left != a.end() && *left != *right) return false;
  }
  return true;
}

// The entry of `card` in a list of objects with such a field, made where there is none.
Result<Json*> EntryOf(Json* profile, const char* list_name, const std::string& card) {
  Json& list = (*profile)[list_name];
  if (list.is_null()) list = Json::array();
  if (!list.is_array()) {
    return InvalidArgumentError("'" + std::string(list_name) + "' must be a list [...]");
  }
  for (Json& entry : list) {
    if (!entry.is_object() || !entry.contains("card") || !entry["card"].is_string()) {
      return InvalidArgumentError("an entry of '" + std::string(list_name) +
                                  "' is no object with a card");
    }
    const Result<kernels::CardName> name =
        kernels::ParseCardName(entry["card"].get_ref<const std::string&>());
    if (name.ok() && name->ToString() == card) return &entry;
  }
  list.push_back({{"card", card}});
  return &list.back();
}

Status MergeCard(const CardProfile& card, Json* profile) {
  BERTH_ASSIGN_OR_RETURN(Json* const entry, EntryOf(profile, "cards", card.card));
  // Of another card nothing holds any more.
  const auto was = entry->find("properties");
  if (was != entry->end() && *was != card.properties) *entry = {{"card", card.card}};
  Set(entry, "properties", card.properties);
  // How much of the card may be used is its owner's word where there is one.
  if (!entry->contains("memory_bytes")) SetWhole(entry, "memory_bytes", card.memory_bytes);
  Set(entry, "update_s", card.update_s);
  Set(entry, "reduce_s", card.reduce_s);
  SetWhole(entry, "unit_bytes", card.unit_bytes);
  Set(entry, "kernels", card.kernels, "units", "rows", "seconds");
  Set(entry, "bytes_per_s", card.bytes_per_s);
  Set(entry, "source", card.source);
  if (card.choices.empty()) return Status();
  Json& choices = (*entry)["choices"];
  if (choices.is_null()) choices = Json::array();
  if (!choices.is_array()) return InvalidArgumentError("'choices' must be a list [...]");
  for (const MeasuredKernel& choice : card.choices) {
    Json made = ChoiceJson(choice);
    bool replaced = false;
    for (Json& there : choices) {
      if (!SameCalls(there, made)) continue;
      there = made;
      replaced = true;
    }
    if (!replaced) choices.push_back(std::move(made));
  }
  return Status();
}

Status MergeLink(const LinkProfile& link, Json* profile) {
  BERTH_ASSIGN_OR_RETURN(Json* const entry, EntryOf(profile, "links", link.card));
  Set(entry, "bytes_per_s", link.bytes_per_s);
  Set(entry, "to_host_bytes_per_s", link.to_host_bytes_per_s);
  Set(entry, "both_bytes_per_s", link.both_bytes_per_s);
  Set(entry, "rates", link.rates, "bytes", nullptr, "bytes_per_s");
  Set(entry, "copy_path", link.copy_path);
  Set(entry, "kernel_bytes_per_s", link.kernel_bytes_per_s);
  Set(entry, "issue_s", link.issue_s);
  Set(entry, "latency_s", link.latency_s);
  Set(entry, "source", link.source);
  return Status();
}

Status MergeHost(const HostProfile& host, Json* profile) {
  Json& entry = (*profile)["host"];
  if (entry.is_null()) entry = Json::object();
  if (!entry.is_object()) return InvalidArgumentError("'host' must be an object {...}");
  Set(&entry, "read_bytes_per_s", host.read_bytes_per_s);
  Set(&entry, "compute", host.compute, "rows", nullptr, "bytes_per_s");
  Set(&entry, "source", host.source);
  return Status();
}

Status Merge(const ProfileUpdate& update, Json* profile) {
  if (update.link.has_value()) BERTH_RETURN_IF_ERROR(MergeLink(*update.link, profile));
  if (update.card.has_value()) BERTH_RETURN_IF_ERROR(MergeCard(*update.card, profile));
  if (update.host.has_value()) BERTH_RETURN_IF_ERROR(MergeHost(*update.host, profile));
  return Status();
}

// Empty where there is no such file.
Result<std::string> ReadProfileText(const std::string& path) {
  Result<std::string> text = io::ReadText(path, kMaxProfileBytes);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

std::string NameOf(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string name = file.substr(0, file.rfind('.'));
  return name.empty() ? file : name;
}

}  // namespace

Result<std::string> MergeProfile(std::string_view text, std::string_view where,
                                 const std::string& name, const ProfileUpdate& update) {
  Json profile = Json::object();
  profile["name"] = name;
  if (!text.empty()) {
    // What stands twice is refused, then read in its order.
    const Status parsed = ParseStrictJson(text).status();
    if (!parsed.ok()) return parsed.Annotate(where);
    profile = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!profile.is_object()) {
      return InvalidArgumentError(std::string(where) + ": a profile is an object {...}");
    }
  }
  const Status merged = Merge(update, &profile);
  if (!merged.ok()) return merged.Annotate(where);
  return profile.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status CheckProfileUpdate(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, ReadProfileText(path));
  // As if figures had been measured, so that each place they go to is looked at.
  ProfileUpdate update;
  update.link.emplace().card = "host:0";
  update.card.emplace().card = "host:0";
  update.host.emplace();
  return MergeProfile(text, path, "", update).status();
}

Status UpdateMachineProfile(const std::string& path, const ProfileUpdate& update) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, ReadProfileText(path));
  BERTH_ASSIGN_OR_RETURN(const std::string merged, MergeProfile(text, path, NameOf(path), update));
  io::OutputOptions replace;
  replace.replace = true;
  return io::WriteWholeFile(path, std::as_bytes(std::span(merged)), replace);
}

}  // namespace berth
