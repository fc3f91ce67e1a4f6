#include "runtime/tools/run_report.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/base/format.h"
#include "runtime/tools/table.h"

namespace berth::tools {
namespace {

using nlohmann::json;

std::string MissName(MissChoice miss) {
  switch (miss) {
    case MissChoice::kStage:
      return "stage";
    case MissChoice::kHost:
      return "host";
    case MissChoice::kAuto:
      return "auto";
    case MissChoice::kInPlace:
      break;
  }
  return "in-place";
}

std::string Percent(double share) { return absl::StrFormat("%.1f", 100 * share); }

struct Sums {
  uint64_t hits = 0, hits_late = 0, misses = 0, ring = 0, h2d = 0, d2h = 0;
  uint64_t host_computed = 0, behind_loads = 0, behind_dropped = 0, behind_bytes = 0;
};

uint64_t BytesIn(const CardCounters& card) {
  return card.bytes_h2d_demand + card.bytes_h2d_prefetch + card.bytes_h2d_warm +
         card.bytes_h2d_behind;
}

Sums SumCards(const Counters& c) {
  Sums s;
  for (const CardCounters& card : c.cards) {
    s.hits += card.hits;
    s.hits_late += card.hits_late;
    s.misses += card.misses;
    s.ring += card.ring_units;
    s.h2d += BytesIn(card);
    s.d2h += card.bytes_d2h;
    s.host_computed += card.host_computed;
    s.behind_loads += card.behind_loads;
    s.behind_dropped += card.behind_dropped;
    s.behind_bytes += card.bytes_h2d_behind;
  }
  return s;
}

uint64_t StorageBytes(const Counters& c) {
  return c.storage.bytes_demand + c.storage.bytes_prefetch + c.storage.bytes_warm;
}

uint32_t HostSlots(const RuntimeInfo& info) {
  uint32_t slots = 0;
  for (uint32_t s : info.host_class_slots) slots += s;
  return slots;
}

// What the parts of the clock leave unexplained: steps were under way, but nothing computed, moved
// or was read; and time of the caller that it did not account for itself.
double Unexplained(const RunReport& r) {
  const TimeSplit& time = r.stats.time;
  return r.wall_s - time.device_s - time.host_compute_s - time.link_s - time.storage_s -
         r.inputs_s - r.host_s;
}

// What was loaded before anybody asked for it.
void AddAhead(const RunReport& r, Facts* facts) {
  const Counters& c = r.stats.counters;
  uint64_t admitted = 0, used = 0, wasted = 0, wasted_bytes = 0, warm = 0;
  for (const CardCounters& card : c.cards) {
    admitted += card.prefetch_admitted;
    used += card.prefetch_used;
    wasted += card.prefetch_wasted;
    wasted_bytes += card.bytes_prefetch_wasted;
    warm += card.warm_loads;
  }
  warm += c.host.warm_loads;
  if (warm > 0) {
    facts->Add("warm start", FormatCount(warm) + " units, " + FormatBytes(c.storage.bytes_warm) +
                                 " read before the first step");
  }
  if (r.prefetch.step_bytes > 0) {
    facts->Add("prefetch", FormatBytes(r.prefetch.step_bytes) + " a step at most, " +
                               std::to_string(r.prefetch.ahead) +
                               (r.prefetch.ahead == 1 ? " layer" : " layers") +
                               " ahead: " + FormatCount(admitted) + " units, " + FormatCount(used) +
                               " used, " + FormatCount(wasted) + " left unused (" +
                               FormatBytes(wasted_bytes) + ")");
  }
}

// What the host computed, where it may.
void AddMisses(const RunReport& r, Facts* facts) {
  if (r.miss == MissChoice::kStage) return;
  const Sums sums = SumCards(r.stats.counters);
  const char* who = r.miss == MissChoice::kInPlace ? ": read in place " : ": the host computed ";
  facts->Add("misses", MissName(r.miss) + who + FormatCount(sums.host_computed) + " of " +
                           FormatCount(sums.misses) + "; " + FormatCount(sums.behind_loads) +
                           " of them (" + FormatBytes(sums.behind_bytes) +
                           ") were loaded behind their steps, " + FormatCount(sums.behind_dropped) +
                           " not, for want of a free link");
}

// What ran where; empty where nothing chose between kernels.
std::string LaunchesText(const RunReport& r) {
  std::string text;
  for (size_t i = 0; i < r.stats.launches.size(); ++i) {
    const KernelLaunches& ran = r.stats.launches[i];
    const std::pair<const char*, uint64_t> kinds[] = {
        {"dots", ran.dots}, {"matrices", ran.matrices}, {"wide", ran.wide}, {"plain", ran.plain}};
    std::string of_card;
    for (const auto& [name, count] : kinds) {
      if (count == 0) continue;
      of_card += (of_card.empty() ? " " : ", ") + FormatCount(count) + " " + name;
    }
    if (of_card.empty()) continue;
    text += (text.empty() ? "" : "; ") + r.info.cards[i].device + of_card;
  }
  return text;
}

void AddFacts(const RunReport& r, Facts* facts) {
  const Counters& c = r.stats.counters;
  facts->Add("replayed", FormatCount(r.tokens) + " tokens in " + FormatCount(c.passes) +
                             " passes, " + FormatCount(c.steps) + " steps, " +
                             FormatCount(c.distinct_units) + " look-ups of units");
  facts->Add("policy", r.policy + (r.info.chunk == 0 ? ", whole steps staged at once"
                                                     : ", chunks of " + FormatCount(r.info.chunk)));
  AddAhead(r, facts);
  AddMisses(r, facts);
  facts->Add("machine", r.info.machine);
  facts->Add("arithmetic", r.info.arithmetic + (r.info.isa.empty() ? "" : " on " + r.info.isa));
  facts->Add("reads", r.info.io_rung +
                          (r.info.io_reason.empty() ? "" : " (" + r.info.io_reason + ")") +
                          (r.verified ? ", every unit proved against its checksum" : ""));
  const std::string launches = LaunchesText(r);
  if (!launches.empty()) facts->Add("launches", launches);
  const MemoryUse& m = r.info.memory;
  facts->Add("memory",
             "arena " + FormatBytes(m.arena_bytes) + ", ring " + FormatBytes(m.ring_bytes) +
                 ", host tier " + FormatBytes(m.host_tier_bytes) + ", staging " +
                 FormatBytes(m.staging_bytes) + ", workspace " + FormatBytes(m.workspace_bytes) +
                 ", books " + FormatBytes(m.books_bytes) + ", catalog " +
                 FormatBytes(m.catalog_bytes));
  if (r.simulated) {
    facts->Add("clock", "virtual: seconds are those of the profile's machine");
  } else {
    facts->Add("resident", FormatBytes(r.rss_bytes) + " at the peak, planned " +
                               FormatBytes(r.rss_bound_bytes) + " at most");
  }
  for (const std::string& note : r.info.notes) facts->Add("note", note);
}

// What was asked of each tier. Apart from what moved: the counts of long runs are wide.
std::string HitTable(const RunReport& r) {
  const Counters& c = r.stats.counters;
  Table table({{"tier", Align::kLeft},
               {"slots (units)"},
               {"requests"},
               {"hits"},
               {"late"},
               {"misses"},
               {"hit rate (%)"}});
  for (size_t i = 0; i < c.cards.size(); ++i) {
    const CardCounters& card = c.cards[i];
    table.AddRow({r.info.cards[i].device, FormatCount(r.info.cards[i].arena_slots),
                  FormatCount(card.requests), FormatCount(card.hits), FormatCount(card.hits_late),
                  FormatCount(card.misses), Percent(Rate(card.hits, card.requests))});
  }
  const HostCounters& h = c.host;
  table.AddRow({"host tier", FormatCount(HostSlots(r.info)), FormatCount(h.requests),
                FormatCount(h.hits), FormatCount(h.hits_late), FormatCount(h.misses),
                Percent(Rate(h.hits, h.requests))});
  const StorageCounters& s = c.storage;
  table.AddRow({"storage", "", FormatCount(s.units_demand + s.units_prefetch + s.units_warm)});
  return table.ToString();
}

std::string MoveTable(const RunReport& r) {
  const Counters& c = r.stats.counters;
  Table table({{"tier", Align::kLeft},
               {"evicted (units)"},
               {"through the ring (units)"},
               {"on the host (units)"},
               {"in"},
               {"out"}});
  for (size_t i = 0; i < c.cards.size(); ++i) {
    const CardCounters& card = c.cards[i];
    table.AddRow({r.info.cards[i].device, FormatCount(card.evicted), FormatCount(card.ring_units),
                  FormatCount(card.host_computed), FormatBytes(BytesIn(card)),
                  FormatBytes(card.bytes_d2h)});
  }
  table.AddRow({"host tier", FormatCount(c.host.evicted), "", "", FormatBytes(StorageBytes(c)),
                FormatBytes(SumCards(c).h2d)});
  table.AddRow(
      {"storage", "", "", "", "", FormatBytes(StorageBytes(c) + c.storage.bytes_alignment)});
  return table.ToString();
}

std::string TimeTable(const RunReport& r) {
  Table table({{"time", Align::kLeft}, {"seconds"}, {"share (%)"}, {"rate"}});
  const int digits = r.wall_s < 1 ? 6 : 3;
  const auto add = [&](const char* name, double seconds, const std::string& rate) {
    table.AddRow(
        {name, absl::StrFormat("%.*f", digits, seconds), Percent(seconds / r.wall_s), rate});
  };
  const auto rate = [&](uint64_t bytes) {
    return bytes == 0 ? std::string()
                      : FormatBytes(static_cast<uint64_t>(static_cast<double>(bytes) / r.wall_s)) +
                            "/s over all";
  };
  const Sums sums = SumCards(r.stats.counters);
  add("device computes", r.stats.time.device_s, "");
  if (r.miss == MissChoice::kHost || r.miss == MissChoice::kAuto) {
    add("host computes alone", r.stats.time.host_compute_s, "");
  }
  add("link alone", r.stats.time.link_s, rate(sums.h2d + sums.d2h));
  add("storage alone", r.stats.time.storage_s, rate(StorageBytes(r.stats.counters)));
  if (r.simulated) add("host sends out", r.host_s, "");
  add(r.simulated ? "rest of the model" : "inputs and hash", r.inputs_s, "");
  add("unexplained", Unexplained(r), "");
  add("wall", r.wall_s, absl::StrFormat("%.2f tokens/s", static_cast<double>(r.tokens) / r.wall_s));
  return table.ToString();
}

std::string HashText(const RunReport& r) {
  return r.output_hash ? absl::StrFormat("%016x", *r.output_hash) : "none";
}

// As asked for: what was clamped or chosen automatically stands beside it in the report.
json RequestJson(const RunOptions& o) {
  return {{"model", o.runtime.model},
          {"trace", o.trace},
          {"policy", o.runtime.policy},
          {"host_policy", o.runtime.host_policy},
          {"host_tier_bytes", o.runtime.host_tier_bytes},
          {"host_tier_mode", o.runtime.host_exclusive ? "exclusive" : "inclusive"},
          {"chunk", o.runtime.chunk},
          {"miss", MissName(o.runtime.miss)},
          {"profile", o.runtime.profile},
          {"ring", o.runtime.ring_units},
          {"threads", o.runtime.threads},
          {"arithmetic", o.runtime.arithmetic},
          {"exact_rows", o.runtime.exact_rows},
          {"isa", o.runtime.isa},
          {"seed", o.runtime.seed},
          {"streams", o.passes.streams},
          {"window", o.passes.window},
          {"passes", o.passes.max_passes},
          {"prompt_rows", o.passes.prompt_rows},
          {"prompt_chunk", o.passes.prompt_chunk},
          {"requests", o.passes.requests},
          {"prefetch_bytes", o.prefetch.step_bytes},
          {"prefetch_ahead", o.prefetch.ahead},
          {"warm", o.warm},
          {"save_learned", o.save_learned}};
}

json CardJson(const CardInfo& info, const CardCounters& c) {
  return {{"device", info.device},
          {"arena_slots", info.arena_slots},
          {"arena_bytes", info.arena_bytes},
          {"class_slots", info.class_slots},
          {"ring_slots", info.ring_slots},
          {"requests", c.requests},
          {"hits", c.hits},
          {"hits_late", c.hits_late},
          {"misses", c.misses},
          {"hit_rate", Rate(c.hits, c.requests)},
          {"ring_units", c.ring_units},
          {"host_computed", c.host_computed},
          {"inserted", c.inserted},
          {"evicted", c.evicted},
          {"waves", c.waves},
          {"host_waves", c.host_waves},
          {"behind_loads", c.behind_loads},
          {"behind_dropped", c.behind_dropped},
          {"bytes_h2d_behind", c.bytes_h2d_behind},
          {"prefetch_admitted", c.prefetch_admitted},
          {"prefetch_dropped", c.prefetch_dropped},
          {"prefetch_resident", c.prefetch_resident},
          {"prefetch_used", c.prefetch_used},
          {"prefetch_wasted", c.prefetch_wasted},
          {"prefetch_unused", c.prefetch_unused},
          {"bytes_prefetch_wasted", c.bytes_prefetch_wasted},
          {"warm_loads", c.warm_loads},
          {"bytes_h2d_warm", c.bytes_h2d_warm},
          {"bytes_h2d_demand", c.bytes_h2d_demand},
          {"bytes_h2d_prefetch", c.bytes_h2d_prefetch},
          {"bytes_d2h", c.bytes_d2h},
          {"copy_path", info.copy_path},
          {"chosen_layers", info.chosen_layers}};
}

json LaunchesJson(const KernelLaunches& ran) {
  return {{"plain", ran.plain}, {"dots", ran.dots}, {"matrices", ran.matrices}, {"wide", ran.wide}};
}

json HostJson(const RuntimeInfo& info, const HostCounters& h) {
  return {{"slots", HostSlots(info)},
          {"requests", h.requests},
          {"hits", h.hits},
          {"hits_late", h.hits_late},
          {"misses", h.misses},
          {"hit_rate", Rate(h.hits, h.requests)},
          {"staged", h.staged},
          {"inserted", h.inserted},
          {"evicted", h.evicted},
          {"promoted", h.promoted},
          {"copied_back", h.copied_back},
          {"warm_loads", h.warm_loads}};
}

json MemoryJson(const RunReport& r) {
  const MemoryUse& m = r.info.memory;
  return {{"arena_bytes", m.arena_bytes},         {"ring_bytes", m.ring_bytes},
          {"host_tier_bytes", m.host_tier_bytes}, {"staging_bytes", m.staging_bytes},
          {"workspace_bytes", m.workspace_bytes}, {"books_bytes", m.books_bytes},
          {"catalog_bytes", m.catalog_bytes},     {"trace_window_bytes", r.trace_window_bytes},
          {"input_bytes", r.input_bytes},         {"rss_peak_bytes", r.rss_bytes},
          {"rss_bound_bytes", r.rss_bound_bytes}};
}

}  // namespace

std::string ReportTable(const RunReport& report) {
  Facts facts;
  AddFacts(report, &facts);
  std::string text = facts.ToString() + "\n" + HitTable(report) + "\n" + MoveTable(report) + "\n" +
                     TimeTable(report) + "\n";
  Facts end;
  end.Add("bound by", report.bound_by);
  end.Add("output hash", HashText(report));
  if (report.failed_steps > 0) {
    end.Add("failed", FormatCount(report.failed_steps) + " of " +
                          FormatCount(report.stats.counters.steps) + " steps");
  }
  return text + end.ToString();
}

json ReportJson(const RunReport& r, const RunOptions* request) {
  const Counters& c = r.stats.counters;
  const Sums sums = SumCards(c);
  json made = {{"hits", sums.hits},
               {"hits_late", sums.hits_late},
               {"misses", sums.misses},
               {"miss", MissName(r.miss)},
               {"host_computed", sums.host_computed},
               {"behind_loads", sums.behind_loads},
               {"behind_dropped", sums.behind_dropped},
               {"hit_rate", Rate(sums.hits, sums.hits + sums.misses)},
               {"distinct_units", c.distinct_units},
               {"rows", c.rows},
               {"steps", c.steps},
               {"passes", c.passes},
               {"tokens", r.tokens},
               {"failed_steps", r.failed_steps},
               {"bytes_storage", StorageBytes(c)},
               {"bytes_storage_demand", c.storage.bytes_demand},
               {"bytes_storage_prefetch", c.storage.bytes_prefetch},
               {"bytes_storage_warm", c.storage.bytes_warm},
               {"bytes_alignment", c.storage.bytes_alignment},
               {"bytes_retried", r.stats.moved.retried},
               {"bytes_h2d", sums.h2d},
               {"bytes_d2h", sums.d2h},
               {"decisions", absl::StrFormat("%016x", c.decisions)},
               {"chunk", r.info.chunk},
               {"machine", r.info.machine},
               {"io", r.info.io_rung},
               {"io_reason", r.info.io_reason},
               {"notes", r.info.notes},
               {"simulated", r.simulated},
               {"open_s", r.open_s},
               {"wall_s", r.wall_s},
               {"tokens_per_s", static_cast<double>(r.tokens) / r.wall_s},
               {"bound_by", r.bound_by},
               {"numerics", {{"arithmetic", r.info.arithmetic}, {"isa", r.info.isa}}},
               {"output_hash", nullptr},
               {"verified", r.verified},
               {"host_tier", HostJson(r.info, c.host)},
               {"memory", MemoryJson(r)},
               {"time",
                {{"device_s", r.stats.time.device_s},
                 {"host_compute_s", r.stats.time.host_compute_s},
                 {"link_s", r.stats.time.link_s},
                 {"storage_s", r.stats.time.storage_s},
                 {"inputs_s", r.inputs_s},
                 {"host_s", r.host_s},
                 {"unexplained_s", Unexplained(r)}}}};
  if (r.output_hash) made["output_hash"] = HashText(r);
  if (!r.first_failure.ok()) made["first_failure"] = std::string(r.first_failure.message());
  for (size_t i = 0; i < c.cards.size(); ++i) {
    made["cards"].push_back(CardJson(r.info.cards[i], c.cards[i]));
    const bool ran = i < r.stats.launches.size();
    made["cards"].back()["launches"] = LaunchesJson(ran ? r.stats.launches[i] : KernelLaunches());
  }
  if (request != nullptr) made["request"] = RequestJson(*request);
  return made;
}

}  // namespace berth::tools
