#include "bench/read_load.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "arena/host_region.h"
#include "io/storage.h"
#include "runtime/base/math.h"
#include "runtime/base/mutex.h"

namespace berth::bench {
namespace {

using Clock = std::chrono::steady_clock;

double CpuSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PercentileMs(std::vector<double>* ms, double fraction) {
  if (ms->empty()) return 0;
  const auto at = ms->begin() + static_cast<std::ptrdiff_t>(fraction * double(ms->size() - 1));
  std::nth_element(ms->begin(), at, ms->end());
  return *at;
}

// Keeps `depth` units in flight until the time is up: each unit that is complete submits the next
// into its place.
class Loop : public io::ReadSink {
 public:
  Loop(const ReadLoad& load, std::byte* memory, uint64_t place_bytes, uint64_t file_bytes)
      : load_(load),
        memory_(memory),
        place_bytes_(place_bytes),
        file_bytes_(file_bytes),
        random_(load.seed),
        places_(load.depth) {
    unit_ms_.reserve(1u << 20);
    batch_.reserve(load.unit.extents.size());
  }

  void Run(io::Storage* storage) {
    const Clock::time_point begin = Clock::now();
    MutexLock lock(&mutex_);
    storage_ = storage;
    until_ = begin + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(load_.seconds));
    for (uint32_t place = 0; place < load_.depth; ++place) Start(place);
    while (running_ > 0) changed_.Wait(&mutex_);
    seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
  }

  Status status() {
    MutexLock lock(&mutex_);
    return status_;
  }
  void Fill(LoadResult* result) {
    MutexLock lock(&mutex_);
    result->gb_per_s = double(read_bytes_) / seconds_ / 1e9;
    result->useful_gb_per_s = double(unit_ms_.size()) * double(load_.unit.bytes()) / seconds_ / 1e9;
    result->p50_ms = PercentileMs(&unit_ms_, 0.5);
    result->p99_ms = PercentileMs(&unit_ms_, 0.99);
    result->reads = reads_;
  }

 private:
  struct Place {
    uint32_t left = 0;  // extents under way
    Clock::time_point begin;
  };

  void ReadCompleted(const io::ReadResult& result) override {
    MutexLock lock(&mutex_);
    ++reads_;
    if (!result.status.ok()) status_ = result.status;
    read_bytes_ += result.bytes;
    const auto index = static_cast<uint32_t>(result.token);
    Place& place = places_[index];
    if (--place.left > 0) return;
    const Clock::time_point now = Clock::now();
    unit_ms_.push_back(std::chrono::duration<double, std::milli>(now - place.begin).count());
    --running_;
    if (now < until_ && status_.ok()) {
      Start(index);
    } else if (running_ == 0) {
      changed_.SignalAll();
    }
  }

  // The unit's extents lie anywhere in the file, as the three tensors of a plain GGUF do.
  void Start(uint32_t index) BERTH_REQUIRES(mutex_) {
    Place& place = places_[index];
    place.left = static_cast<uint32_t>(load_.unit.extents.size());
    place.begin = Clock::now();
    ++running_;
    batch_.clear();
    std::byte* destination = memory_ + index * place_bytes_;
    for (const uint32_t bytes : load_.unit.extents) {
      const uint64_t step = load_.unit.aligned ? bytes : 1;
      const uint64_t at = random_() % ((file_bytes_ - bytes) / step + 1) * step;
      const uint64_t begin = AlignDown(at, kIoAlign);
      const uint64_t end = AlignUp(at + bytes, kIoAlign);
      batch_.push_back({.file = 0,
                        .offset = begin,
                        .length = static_cast<uint32_t>(end - begin),
                        .need = static_cast<uint32_t>(at + bytes - begin),
                        .destination = destination,
                        .token = index});
      destination += AlignUp(bytes, kIoAlign) + kIoAlign;
    }
    storage_->Submit(batch_);
  }

  const ReadLoad& load_;
  std::byte* const memory_;
  const uint64_t place_bytes_;
  const uint64_t file_bytes_;
  Mutex mutex_;
  CondVar changed_;
  io::Storage* storage_ BERTH_GUARDED_BY(mutex_) = nullptr;
  Clock::time_point until_ BERTH_GUARDED_BY(mutex_);
  std::mt19937_64 random_ BERTH_GUARDED_BY(mutex_);
  std::vector<Place> places_ BERTH_GUARDED_BY(mutex_);
  std::vector<io::ReadRequest> batch_ BERTH_GUARDED_BY(mutex_);
  std::vector<double> unit_ms_ BERTH_GUARDED_BY(mutex_);
  uint32_t running_ BERTH_GUARDED_BY(mutex_) = 0;
  uint64_t reads_ BERTH_GUARDED_BY(mutex_) = 0;
  uint64_t read_bytes_ BERTH_GUARDED_BY(mutex_) = 0;
  double seconds_ BERTH_GUARDED_BY(mutex_) = 0;
  Status status_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace

uint64_t UnitShape::bytes() const {
  uint64_t sum = 0;
  for (const uint32_t extent : extents) sum += extent;
  return sum;
}

uint64_t UnitShape::read_bytes_max() const {
  uint64_t sum = 0;
  for (const uint32_t extent : extents) {
    sum += AlignUp(extent, kIoAlign) + (aligned && extents.size() == 1 ? 0 : kIoAlign);
  }
  return sum;
}

Result<LoadResult> RunReadLoad(const ReadLoad& load) {
  LoadResult result;
  const uint64_t place_bytes = AlignUp(load.unit.read_bytes_max(), kHugePageBytes);
  BERTH_ASSIGN_OR_RETURN(
      const arena::HostRegion region,
      arena::HostRegion::Create({.bytes = place_bytes * load.depth, .purpose = "buffers"}));
  result.buffer_bytes = region.bytes();
  result.huge_bytes = region.huge_bytes();

  const auto reads_max = static_cast<uint32_t>(load.depth * load.unit.extents.size());
  io::StorageOptions options;
  options.paths = {load.path};
  options.buffers = {{region.data(), region.bytes()}};
  options.max_outstanding = reads_max;
  options.queue_depth = reads_max;
  options.engine = load.engine;

  // The file's size is known once it is open, and the sink is wanted before: open twice.
  struct NoReads : io::ReadSink {
    void ReadCompleted(const io::ReadResult&) override {}
  } no_reads;
  options.sink = &no_reads;
  uint64_t file_bytes = 0;
  {
    BERTH_ASSIGN_OR_RETURN(const auto storage, io::OpenStorage(options));
    file_bytes = storage->file_bytes(0);
  }
  for (const uint32_t extent : load.unit.extents) {
    if (file_bytes < extent) return InvalidArgumentError(load.path + " is smaller than a unit");
  }
  Loop loop(load, region.data(), place_bytes, file_bytes);
  options.sink = &loop;
  BERTH_ASSIGN_OR_RETURN(const auto storage, io::OpenStorage(options));
  result.rung = io::RungName(storage->info().rung);
  result.reason = storage->info().reason;
  const double cpu_before = CpuSeconds();
  loop.Run(storage.get());
  const double cpu = CpuSeconds() - cpu_before;
  storage->Close();
  BERTH_RETURN_IF_ERROR(loop.status());
  loop.Fill(&result);
  result.cpu_us_per_read = cpu * 1e6 / double(std::max<uint64_t>(result.reads, 1));
  return result;
}

}  // namespace berth::bench
