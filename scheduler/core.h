// Core: the passive state machine that decides where units are and in what order they move.
//
// No threads, no clock, no I/O. Inputs are submissions (steps, hints, leases, a warm start) and
// completions; outputs go to a Sink. Decisions depend on the order of submissions alone: when a
// step is submitted, its hits, victims, slots, ring places, waves and sources are fixed as if every
// earlier transfer were done. Completions release decided actions and change none of them (but a
// failed read, copy or table update, which takes its unit out of residency again; after a table
// update that failed nobody knows where the table points, so its slot is given to nobody any more).
//
// Not thread-safe: the owner serializes all calls. Calls must not come from inside the sink.
// No operator new after Create while callers keep to max_tickets, max_rows, max_prefetch_units.
#ifndef BERTH_SCHEDULER_CORE_H_
#define BERTH_SCHEDULER_CORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "scheduler/actions.h"
#include "scheduler/counters.h"
#include "scheduler/geometry.h"
#include "scheduler/miss_costs.h"
#include "scheduler/miss_split.h"
#include "scheduler/op_graph.h"
#include "scheduler/tier.h"
#include "scheduler/transfer_queue.h"

namespace berth::scheduler {

struct CardOptions {
  std::vector<uint32_t> class_slots;  // arena slots per size class
  uint32_t ring_slots = 2;            // each fits the largest unit
};

struct CoreOptions {
  Geometry geometry;
  std::vector<CardOptions> cards;
  std::vector<uint8_t> card_of_unit;  // [units] placement; empty: all on card 0
  // The arena's policy. kAuto: shared, or quotas per layer where a shared order would be smaller
  // than one token's cycle (the cliff).
  enum class Sharing : uint8_t { kAuto, kShared, kPerLayer };
  std::string policy = "lru";
  Sharing sharing = Sharing::kAuto;
  std::vector<double> heat;
  // [units] when each is used next, for policies that need the future; empty: not known. The driver
  // owns it, keeps it for the core's life and brings a step's units up to date before SubmitStep,
  // numbered as PolicyOptions::next_use says.
  std::span<const uint64_t> next_use;
  uint32_t chunk = 8;  // missed units per wave; clamped to the ring
  // What becomes of a miss: it is staged; the host computes it where its bytes lie in RAM, if its
  // step has at most exact_rows rows for it (those have the same bits wherever they are computed);
  // or the costs say which of these.
  enum class Miss : uint8_t { kStage, kHost, kAuto };
  Miss miss = Miss::kStage;
  uint32_t exact_rows = 8;
  MissCosts miss_costs;      // for exact_rows rows; kAuto needs them, kHost goes without if empty
  uint32_t max_behind = 32;  // loads behind steps that may be under way, per card
  // A step of more rows than this is a sweep (a prompt); see tier.h.
  uint32_t sweep_rows = 64;
  double sweep_share = 0.5;
  uint64_t seed = 1;

  std::vector<uint32_t> host_class_slots;  // host tier; empty or zeros: none
  bool host_exclusive = false;
  std::string host_policy = "lru";
  uint32_t staging_slots = 16;          // for demand; each fits the largest unit
  uint32_t prefetch_staging_slots = 2;  // the same for hints

  uint64_t read_bytes_in_flight = 32u << 20;  // per drive
  uint64_t prefetch_read_bytes_in_flight = 2u << 20;
  uint64_t copy_bytes_in_flight = 32u << 20;  // per card
  uint64_t prefetch_copy_bytes_in_flight = 2u << 20;
  uint32_t max_reads = 128;  // under way at once, per drive
  uint32_t max_copies = 64;  // per card

  uint32_t max_tickets = 8;  // steps submitted and not done
  uint32_t max_rows = 1;     // of a step
  uint32_t max_leases = 64;
  uint32_t max_lease_units = 512;    // of a lease
  uint32_t max_prefetch_units = 64;  // of a card: hinted and not routed to by any step yet
};

struct StepSpec {
  uint32_t layer = 0;
  uint32_t rows = 0;
  std::span<const int32_t> ids;  // [rows][top_k]; kNoExpert routes to nobody
  uint64_t pass = 0;             // forward pass number; taken as the largest seen if smaller
  uint64_t cookie = 0;           // comes back in actions
};

class Core final : private OpGraph::Listener {
 public:
  // InvalidArgument names what to change: slots below the hard minimum (3 x top_k per class and
  // card, or all its units), a ring or staging of zero, sizes that contradict the geometry.
  static Result<std::unique_ptr<Core>> Create(CoreOptions options, Sink* sink);

  // ---- submissions; each decides everything before it returns
  // OutOfRange for an id, a layer or a row count beyond what was stated; ResourceExhausted when
  // max_tickets are under way. On an error nothing was decided. A step that routes to nobody is
  // done before this returns.
  Result<TicketId> SubmitStep(const StepSpec& step);
  // Loads units ahead of their use. What cannot be had without harm is dropped, and counted: where
  // max_prefetch_units guesses stand unused already, or only guesses or the hint's own units could
  // leave. A guess that stays wrong leaves as the policy would have it, for a miss of a step.
  Status SubmitHint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass);
  // Before the first step or hint: loads units into slots that are empty, in this order: of its
  // card's arena, or else of the host tier. Those that have one already, or find none empty, are
  // passed over; a unit that cannot be read is simply not there. At most warm_batch() at once, and
  // idle() before the next batch; a FailedPrecondition later on.
  Status SubmitWarm(std::span<const UnitIndex> units);
  uint32_t warm_batch() const { return MaxLiveUnits(options_); }
  // What fills the tiers with CoreOptions::heat: the hottest units of each arena's pools, as many
  // as they have slots, then those of the host tier that are not among them, as many as it has
  // slots left; either with the hottest last, so that it counts as used last. None without heat.
  std::vector<UnitIndex> WarmUnits() const;
  // Pins units on their cards until ReleaseLease; loads those that have no slot. All or none:
  // ResourceExhausted where fewer than 3 x top_k slots of a pool would stay unpinned, or nothing
  // may leave for a unit (units that were already on their way then stay, unpinned); also where
  // max_leases are held, or leases of 2 x max_lease_units are still loading. A lease that is
  // released before it is ready, or refused half way, takes its place until its load ends.
  Result<LeaseId> SubmitLease(std::span<const UnitIndex> units, uint64_t cookie);
  Status ReleaseLease(LeaseId lease);

  // ---- completions, one per action (one per extent for reads); unknown ids are a broken invariant
  void ReadDone(OpId op, uint32_t extent, const Status& status);
  void CopyDone(OpId op, const Status& status);
  void PublishDone(OpId op, const Status& status);
  void ComputeDone(OpId op, const Status& status);

  // No submission after this. What was not handed to the sink yet is cancelled; what was must
  // still be answered. Idle when idle().
  void Close();
  bool idle() const { return graph_.live_count() == 0; }

  const Counters& counters() const { return counters_; }
  // What the arenas' policies learned, [units], as CoreOptions::heat has it.
  void Learned(std::vector<double>* heat) const;
  // The arena slot that holds `unit` on its card, by decision; slot kNoSlot if none.
  CardSlot Find(UnitIndex unit) const;
  // Whether a slot of its card's arena or of the host tier holds `unit`, by decision.
  bool Holds(UnitIndex unit) const {
    return cards_[CardOf(unit)].arena->Find(unit) != kNone ||
           (host_ != nullptr && host_->Find(unit) != kNone);
  }
  uint32_t chunk() const { return chunk_; }
  // Units whose actions may be under way at once while callers keep their promises: sizes the
  // drivers' queues.
  static uint32_t MaxLiveUnits(const CoreOptions& options);
  // What resident_bytes() will be at most, before anything is made.
  static uint64_t PlannedBytes(const CoreOptions& options);
  // What was clamped, assumed or is unwise; one line each, for people.
  const std::vector<std::string>& notes() const { return notes_; }
  uint64_t resident_bytes() const;
  // Every slot's books against each other: used by tests after every event.
  Status CheckInvariants() const;

 private:
  struct Local {  // a distinct unit of the step being submitted
    UnitIndex unit;
    uint32_t card;
    uint32_t pair_count;
    uint32_t first_pair;
    bool hit;
    bool on_host;  // a miss that the host computes
    bool in_ram;   // the host tier had it when the step came
  };
  struct Ticket {
    bool live = false;
    uint32_t generation = 0;
    uint64_t cookie = 0;
    uint32_t layer = 0;
    uint32_t waves_left = 0;
    uint32_t pair_count = 0;
    std::vector<uint32_t> pairs;
    std::vector<WaveUnit> units;
    Status status;
  };
  struct LeasedSlot {
    uint32_t card;
    uint32_t slot;
  };
  struct Lease {
    bool live = false;
    bool waiting = false;  // its operation has not ended
    bool released = false;
    uint32_t generation = 0;
    uint64_t cookie = 0;
    uint32_t units = 0;  // while it is waiting
    std::vector<LeasedSlot> slots;
  };
  struct Card {
    std::unique_ptr<Tier> arena;
    std::vector<uint32_t> base;  // first slot index of each class in the arena
    std::vector<Slot> ring;
    uint32_t ring_next = 0;
    std::vector<OpRef> table_op;  // last table update of each unit
    // Loads behind steps, in a ring: a load takes the place of the one so many before it, and its
    // step waits for that one. So what is decided and not yet moved stays bounded.
    std::vector<OpRef> behind;
    uint32_t behind_next = 0;
    uint32_t behind_of_step = 0;
    std::unique_ptr<TransferQueue> copies;
  };
  // kBehind: the host computed the unit for a step, which does not wait for it to come to the card.
  enum class Why : uint8_t { kStep, kHint, kLease, kWarm, kBehind };

  static uint32_t GraphOps(const CoreOptions& options);
  static uint32_t GraphEdges(const CoreOptions& options);
  Core(CoreOptions options, Sink* sink);
  Status Init();
  Status InitCards();
  Status InitHost();
  Status InitMisses();
  bool StandsCliff() const;
  void NoteCliff(uint32_t card, const CardOptions& card_options,
                 const std::vector<uint64_t>& class_units, CoreOptions::Sharing* sharing);

  // Submissions.
  Status CheckStep(const StepSpec& step) const;
  void Group(const StepSpec& step, Ticket* ticket);
  void BeginStep(uint32_t layer, uint64_t pass, bool sweep);
  void SplitMisses(const StepSpec& step);
  void PlanCard(uint32_t card, uint32_t ticket_index);
  void PlanOnHost(uint32_t card, uint32_t ticket_index);
  void PlaceOnHost(const Local& local, uint32_t wave, Ticket* ticket);
  uint32_t OpenHostWave(uint32_t card, uint32_t ticket_index, uint32_t number);
  void CloseHostWave(uint32_t op);
  CardSlot TakeBehind(UnitIndex unit, uint32_t card);
  void AddWave(uint32_t card, uint32_t ticket_index, uint32_t wave, uint32_t first_unit);
  CardSlot PlaceMiss(UnitIndex unit, uint32_t card);
  // Takes an arena slot, moving its victim out and the unit in; slot kNoSlot where there is none.
  CardSlot TakeAndLoad(UnitIndex unit, uint32_t card, Why why);
  CardSlot TakeArena(UnitIndex unit, uint32_t card, Why why);
  void Evict(UnitIndex victim, const CardSlot& place);
  void Load(UnitIndex unit, const CardSlot& to, Why why);
  void CopyIn(UnitIndex unit, const HostSlot& from, const CardSlot& to, Why why);
  // Where in host memory the unit's bytes are or will be; decides a read where they are not.
  HostSlot Source(UnitIndex unit, bool to_arena, Why why);
  void CountLookup(Why why, bool hit, bool late);
  void CountGuesses();
  HostSlot TakeHost(UnitIndex unit);
  HostSlot TakeStaging(Why why);
  void AddRead(UnitIndex unit, const HostSlot& to, Why why);
  void KeepHottest(size_t on_cards, std::vector<UnitIndex>* units) const;
  void WarmHost(UnitIndex unit);
  Status CheckLease(std::span<const UnitIndex> units);
  Status PinUnits(std::span<const UnitIndex> units, Lease* lease);
  void UnpinUnits(Lease* lease);

  // Operations.
  void OpReady(uint32_t op) override;
  void Complete(uint32_t op, const Status& status);
  void Landed(uint32_t op, const Status& status);
  void Forget(uint32_t op);
  void EndWave(uint32_t op, const Status& status);
  void EndLease(uint32_t op, const Status& status);
  void EmitCompute(uint32_t op);
  void CheckWaveUnits(const Op& op, std::span<const WaveUnit> units);
  void PumpReads(uint32_t drive);
  void PumpCopies(uint32_t card);
  void Promote(OpRef ref);
  void FreeLease(uint32_t index);
  Slot& HostSlotOf(const HostSlot& place);
  Slot& CardSlotOf(const CardSlot& place);
  HostSlot HostPlace(uint32_t index) const;
  CardSlot ArenaPlace(uint32_t card, uint32_t index) const;
  uint32_t CardOf(UnitIndex unit) const {
    return options_.card_of_unit.empty() ? 0 : options_.card_of_unit[unit];
  }
  void Decided(uint64_t a, uint64_t b);

  CoreOptions options_;
  const Geometry& geometry_;
  Sink* sink_;
  OpGraph graph_;
  std::vector<Card> cards_;
  std::unique_ptr<Tier> host_;
  std::vector<Slot> staging_;  // demand slots, then prefetch slots
  uint32_t staging_next_ = 0;
  uint32_t prefetch_staging_next_ = 0;
  std::vector<TransferQueue> reads_;  // per drive
  std::vector<uint32_t> host_base_;   // first slot index of each class in the host tier
  std::unique_ptr<MissSplit> split_;  // none where every miss is staged

  std::vector<Ticket> tickets_;
  std::vector<uint32_t> free_tickets_;
  std::vector<Lease> leases_;
  std::vector<uint32_t> free_leases_;
  uint32_t lease_units_ = 0;  // of leases whose loads are under way
  std::vector<Local> locals_;
  std::vector<uint32_t> local_of_expert_;
  std::vector<uint64_t> expert_stamp_;
  std::vector<uint64_t> stamps_;  // per unit: the submission that last named it
  uint64_t stamp_ = 0;
  uint64_t pass_ = 0;
  bool any_pass_ = false;
  uint32_t chunk_ = 0;
  bool closing_ = false;
  std::vector<std::string> notes_;
  Counters counters_;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_CORE_H_
