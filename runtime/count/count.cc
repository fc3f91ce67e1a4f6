#include "runtime/count/count.h"

#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "policies/policy.h"
#include "runtime/count/next_use_file.h"
#include "runtime/count/pool_layout.h"
#include "runtime/count/pool_player.h"
#include "runtime/count/step_reader.h"

namespace berth {

using count::NextUseFile;
using count::PoolLayout;
using count::PoolPlayer;
using count::StepBlock;
using count::StepReader;

Result<std::vector<CountResult>> CountMisses(TraceFile* trace, const CountWorkload& workload,
                                             std::span<const CountRequest> requests,
                                             const CountOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const PoolLayout layout, count::MakePoolLayout(trace->info(), workload));
  BERTH_ASSIGN_OR_RETURN(StepReader reader, StepReader::Create(trace, workload));

  std::vector<uint64_t> next_use(layout.units(), policies::kNeverUsed);
  std::vector<std::unique_ptr<PoolPlayer>> players;
  bool future = false, first_uses = false;
  for (const CountRequest& request : requests) {
    const policies::PolicyInfo* const info = policies::FindPolicy(request.policy);
    const bool asks = info != nullptr && info->needs_future;
    future |= asks;
    first_uses |= asks && request.preload;
    BERTH_ASSIGN_OR_RETURN(
        std::unique_ptr<PoolPlayer> player,
        PoolPlayer::Create(layout, request, asks ? std::span(next_use) : std::span<uint64_t>(),
                           options.residency));
    players.push_back(std::move(player));
  }
  std::optional<NextUseFile> next_uses;
  if (future) {
    BERTH_ASSIGN_OR_RETURN(NextUseFile file, NextUseFile::OfTrace(trace, workload, first_uses));
    next_uses.emplace(std::move(file));
  }

  StepBlock block;
  while (true) {
    BERTH_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) break;
    if (next_uses.has_value()) BERTH_RETURN_IF_ERROR(next_uses->Read(&block));
    for (const std::unique_ptr<PoolPlayer>& player : players) {
      player->Play(block, workload.granularity);
    }
    if (options.progress) options.progress(reader.passes_read(), reader.passes());
  }

  std::vector<CountResult> results;
  for (const std::unique_ptr<PoolPlayer>& player : players) {
    CountResult result = player->Finish();
    result.layer_lookups = reader.layer_lookups();
    result.lookups =
        std::accumulate(result.layer_lookups.begin(), result.layer_lookups.end(), uint64_t{0});
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace berth
