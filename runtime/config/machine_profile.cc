#include "runtime/config/machine_profile.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "io/file/read_text.h"
#include "kernels/card_name.h"
#include "kernels/formats/format.h"
#include "runtime/base/format.h"
#include "runtime/config/strict_json.h"

namespace berth {
namespace {

// [{"bytes": .., "depth": .., "bytes_per_s": ..}, ...]: every x with every y, each once.
Status ReadGrid(const nlohmann::json& list, const std::string& where, const char* x, const char* y,
                const char* value, ProfileGrid* grid) {
  std::map<std::pair<double, double>, double> points;  // by y, then x
  std::set<double> xs, ys;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    double point_x = 0, point_y = 0, figure = 0;
    StrictObject object(list[i], at);
    object.Require(x);
    object.Require(value);
    object.Positive(x, &point_x);
    if (y != nullptr) {
      object.Require(y);
      object.Positive(y, &point_y);
    }
    object.Positive(value, &figure);
    BERTH_RETURN_IF_ERROR(object.Finish());
    xs.insert(point_x);
    ys.insert(point_y);
    if (!points.emplace(std::pair(point_y, point_x), figure).second) {
      return InvalidArgumentError(at + ": this point stands twice");
    }
  }
  if (points.size() != xs.size() * ys.size()) {
    return InvalidArgumentError(where + ": " + std::to_string(points.size()) + " points, but " +
                                std::to_string(xs.size()) + " values of '" + x + "' with " +
                                std::to_string(ys.size()) + " of '" + (y == nullptr ? "" : y) +
                                "' need " + std::to_string(xs.size() * ys.size()));
  }
  grid->x.assign(xs.begin(), xs.end());
  grid->y.assign(ys.begin(), ys.end());
  for (const auto& [at, figure] : points) grid->value.push_back(figure);
  return Status();
}

Status ReadStorage(const nlohmann::json& value, StorageProfile* storage) {
  StrictObject object(value, "storage");
  object.Positive("bytes_per_s", &storage->bytes_per_s);
  object.PositiveWhole("bytes_in_flight", &storage->bytes_in_flight);
  object.NotNegative("latency_s", &storage->latency_s);
  object.String("source", &storage->source);
  const nlohmann::json* rates = object.List("rates");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (rates == nullptr) return Status();
  return ReadGrid(*rates, "storage: rates", "bytes", "depth", "bytes_per_s", &storage->rates);
}

Status ReadLink(const nlohmann::json& value, const std::string& where, LinkProfile* link) {
  StrictObject object(value, where);
  object.Require("card");
  object.String("card", &link->card);
  object.Positive("bytes_per_s", &link->bytes_per_s);
  object.Positive("to_host_bytes_per_s", &link->to_host_bytes_per_s);
  object.Positive("both_bytes_per_s", &link->both_bytes_per_s);
  object.String("copy_path", &link->copy_path);
  object.Positive("kernel_bytes_per_s", &link->kernel_bytes_per_s);
  object.NotNegative("issue_s", &link->issue_s);
  object.NotNegative("latency_s", &link->latency_s);
  object.String("source", &link->source);
  const nlohmann::json* rates = object.List("rates");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (!link->copy_path.empty() && link->copy_path != "engine" && link->copy_path != "kernel") {
    return InvalidArgumentError(where + ": 'copy_path' must be engine or kernel");
  }
  if (rates == nullptr) return Status();
  return ReadGrid(*rates, where + ": rates", "bytes", nullptr, "bytes_per_s", &link->rates);
}

Status ReadType(const std::string& where, const std::string& name, TensorType* type) {
  const Result<const kernels::Format*> format = kernels::FindFormat(name);
  if (!format.ok()) return format.status().Annotate(where);
  *type = (*format)->type;
  return Status();
}

Status ReadChoice(const nlohmann::json& value, const std::string& where, MeasuredKernel* choice) {
  StrictObject object(value, where);
  std::string gate, up, down, kernel;
  object.String("gate", &gate);
  object.Require("up");
  object.String("up", &up);
  object.Require("down");
  object.String("down", &down);
  uint64_t numbers[5] = {};
  const char* const names[] = {"hidden", "ffn", "experts", "top_k", "rows"};
  for (size_t i = 0; i < std::size(names); ++i) {
    object.Require(names[i]);
    object.PositiveWhole(names[i], &numbers[i]);
  }
  object.Require("kernel");
  object.String("kernel", &kernel);
  object.Positive("seconds", &choice->seconds);
  BERTH_RETURN_IF_ERROR(object.Finish());
  for (size_t i = 0; i < std::size(names); ++i) {
    if (numbers[i] > UINT32_MAX) {
      return InvalidArgumentError(where + ": '" + names[i] + "' of " + std::to_string(numbers[i]) +
                                  " is too large");
    }
  }
  choice->hidden = static_cast<uint32_t>(numbers[0]);
  choice->ffn = static_cast<uint32_t>(numbers[1]);
  choice->experts = static_cast<uint32_t>(numbers[2]);
  choice->top_k = static_cast<uint32_t>(numbers[3]);
  choice->rows = static_cast<uint32_t>(numbers[4]);
  if (!gate.empty()) BERTH_RETURN_IF_ERROR(ReadType(where, gate, &choice->gate.emplace()));
  BERTH_RETURN_IF_ERROR(ReadType(where, up, &choice->up));
  BERTH_RETURN_IF_ERROR(ReadType(where, down, &choice->down));
  const Result<kernels::KernelChoice> parsed = kernels::ParseKernelChoice(kernel);
  if (!parsed.ok()) return parsed.status().Annotate(where);
  choice->kernel = *parsed;
  return Status();
}

Status ReadChoices(const nlohmann::json& list, const std::string& where,
                   std::vector<MeasuredKernel>* choices) {
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = where + ": choices[" + std::to_string(i) + "]";
    MeasuredKernel choice;
    BERTH_RETURN_IF_ERROR(ReadChoice(list[i], at, &choice));
    for (const MeasuredKernel& other : *choices) {
      if (other.SameCalls(choice)) return InvalidArgumentError(at + ": these calls stand twice");
    }
    choices->push_back(choice);
  }
  return Status();
}

Status ReadCard(const nlohmann::json& value, const std::string& where, CardProfile* card) {
  StrictObject object(value, where);
  object.Require("card");
  object.String("card", &card->card);
  object.String("properties", &card->properties);
  object.PositiveWhole("memory_bytes", &card->memory_bytes);
  object.NotNegative("update_s", &card->update_s);
  object.NotNegative("reduce_s", &card->reduce_s);
  object.PositiveWhole("unit_bytes", &card->unit_bytes);
  object.Positive("bytes_per_s", &card->bytes_per_s);
  object.String("source", &card->source);
  const nlohmann::json* kernels = object.List("kernels");
  const nlohmann::json* choices = object.List("choices");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (choices != nullptr) BERTH_RETURN_IF_ERROR(ReadChoices(*choices, where, &card->choices));
  if (kernels == nullptr) return Status();
  if (card->unit_bytes == 0) {
    return InvalidArgumentError(where +
                                ": 'kernels' without 'unit_bytes', the size of the units "
                                "that they were measured with");
  }
  return ReadGrid(*kernels, where + ": kernels", "units", "rows", "seconds", &card->kernels);
}

Status ReadHost(const nlohmann::json& value, HostProfile* host) {
  StrictObject object(value, "host");
  object.PositiveWhole("memory_bytes", &host->memory_bytes);
  object.NotNegative("round_trip_s", &host->round_trip_s);
  object.NotNegative("dispatch_hit_s", &host->dispatch_hit_s);
  object.NotNegative("dispatch_staged_s", &host->dispatch_staged_s);
  object.NotNegative("pass_s", &host->pass_s);
  object.NotNegative("pass_row_s", &host->pass_row_s);
  object.Positive("read_bytes_per_s", &host->read_bytes_per_s);
  object.String("source", &host->source);
  const nlohmann::json* compute = object.List("compute");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (compute == nullptr) return Status();
  return ReadGrid(*compute, "host: compute", "rows", nullptr, "bytes_per_s", &host->compute);
}

// A list of objects that are each about one card.
template <typename Entry>
Status ReadCards(const nlohmann::json& list, const char* name,
                 Status (*read)(const nlohmann::json&, const std::string&, Entry*),
                 std::vector<Entry>* entries) {
  std::set<std::string> cards;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = std::string(name) + "[" + std::to_string(i) + "]";
    Entry entry;
    BERTH_RETURN_IF_ERROR(read(list[i], where, &entry));
    const Result<kernels::CardName> card = kernels::ParseCardName(entry.card);
    if (!card.ok()) return card.status().Annotate(where);
    entry.card = card->ToString();
    if (!cards.insert(entry.card).second) {
      return InvalidArgumentError(where + ": card '" + entry.card + "' stands twice");
    }
    entries->push_back(std::move(entry));
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
  const nlohmann::json* cards = object.List("cards");
  const nlohmann::json* host = object.Object("host");
  BERTH_RETURN_IF_ERROR(object.Finish());
  if (storage != nullptr) BERTH_RETURN_IF_ERROR(ReadStorage(*storage, &profile.storage));
  if (links != nullptr) BERTH_RETURN_IF_ERROR(ReadCards(*links, "links", ReadLink, &profile.links));
  if (cards != nullptr) BERTH_RETURN_IF_ERROR(ReadCards(*cards, "cards", ReadCard, &profile.cards));
  if (host != nullptr) BERTH_RETURN_IF_ERROR(ReadHost(*host, &profile.host));
  return profile;
}

}  // namespace

bool MeasuredKernel::SameCalls(const MeasuredKernel& other) const {
  const auto key = [](const MeasuredKernel& m) {
    return std::tie(m.gate, m.up, m.down, m.hidden, m.ffn, m.experts, m.top_k, m.rows);
  };
  return key(*this) == key(other);
}

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

Result<MachineProfile> FindMachineProfile(const std::string& file_or_name) {
  const std::vector<BuiltInProfile> built_in = BuiltInProfiles();
  Result<MachineProfile> file = ReadMachineProfile(file_or_name);
  if (file.ok() || file.status().code() != StatusCode::kNotFound) return file;
  std::vector<std::string_view> names;
  std::string list;
  for (const BuiltInProfile& profile : built_in) {
    if (profile.name == file_or_name) return ParseMachineProfile(profile.text, profile.name);
    names.push_back(profile.name);
    list += (list.empty() ? "" : ", ") + std::string(profile.name);
  }
  return NotFoundError("no profile '" + file_or_name + "': neither a file nor one of " + list +
                       DidYouMean(file_or_name, names));
}

}  // namespace berth
