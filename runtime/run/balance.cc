#include "runtime/run/balance.h"

#include <string>

#include "scheduler/counters.h"

namespace berth {

Status CheckReportBalance(const Stats& stats, bool all_done) {
  const Counters& c = stats.counters;
  BERTH_RETURN_IF_ERROR(scheduler::CheckBalance(c));
  if (!all_done) return Status();
  uint64_t h2d = 0, d2h = 0;
  for (const CardCounters& card : c.cards) {
    h2d += card.bytes_h2d_demand + card.bytes_h2d_prefetch + card.bytes_h2d_warm +
           card.bytes_h2d_behind;
    d2h += card.bytes_d2h;
  }
  const auto differ = [](const char* what, uint64_t decided, uint64_t moved) {
    return InternalError(std::string("counters do not balance: ") + what + ": decided " +
                         std::to_string(decided) + " bytes, moved " + std::to_string(moved));
  };
  if (h2d != stats.moved.h2d) return differ("copies to cards", h2d, stats.moved.h2d);
  if (d2h != stats.moved.d2h) return differ("copies from cards", d2h, stats.moved.d2h);
  // A read that ends with its file brings fewer bytes of rounding than it asked for.
  const uint64_t payload = c.storage.bytes_demand + c.storage.bytes_prefetch + c.storage.bytes_warm;
  if (stats.moved.storage < payload || stats.moved.storage > payload + c.storage.bytes_alignment) {
    return differ("reads", payload + c.storage.bytes_alignment, stats.moved.storage);
  }
  return Status();
}

}  // namespace berth
