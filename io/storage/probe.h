// Probe reads: an engine proves its rung with the same reads that it will be asked for. An accepted
// O_DIRECT flag or a registered buffer proves nothing by itself.
#ifndef BERTH_IO_STORAGE_PROBE_H_
#define BERTH_IO_STORAGE_PROBE_H_

#include <functional>
#include <span>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/file_set.h"
#include "io/storage/read_progress.h"

namespace berth::io {

// Reads one range with the engine at hand: bytes, or a negative errno value.
using ProbeReader = std::function<int64_t(uint32_t file, const ReadProgress::Range& range)>;

// Reads the first page of every file into a buffer, and of one file into every buffer (or into
// memory of its own where no buffers are given). The error names the file or the buffer.
Status ProbeReads(const FileSet& files, std::span<const BufferRegion> buffers,
                  const ProbeReader& reader);

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_PROBE_H_
