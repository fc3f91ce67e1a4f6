// Traces for other programs: access by access, in file order (row, layer, place in the top-k).
//
// An object is a unit: id = layer * experts + expert, layers in trace order. Entries that route to
// nobody are no accesses. Time is the row's number.
//
// Sources of the formats: github.com/1a1a11a/libCacheSim: traceReader/generalReader/csv.c (columns
// by number, one line of names on top), traceReader/customizedReader/oracle/oracleGeneralBin.h
// (records of 24 bytes: time u32, object u64, size u32, next access i64, little-endian), and
// bin/traceUtils/traceConv.cpp (accesses are counted from 1; -1: none follows).
#ifndef BERTH_RUNTIME_TRACE_EXPORT_H_
#define BERTH_RUNTIME_TRACE_EXPORT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

enum class ExportFormat : uint8_t {
  kLibCacheSimCsv,  // time,object,size
  kOracleGeneral,
  kAccessCsv,  // layer,expert: what an import reads again
};

struct ExportOptions {
  ExportFormat format = ExportFormat::kLibCacheSimCsv;
  // Sizes in bytes, as the trace states them, instead of 1: a cache then has bytes, not slots.
  bool unit_bytes = false;
  bool replace = false;
  // Called now and then with rows done, of all; the oracle's backward pass counts anew.
  std::function<void(uint64_t done, uint64_t rows)> progress;
};

struct ExportReport {
  uint64_t accesses = 0;
  uint64_t objects = 0;  // distinct
};

// Memory: a few words for each unit of the trace, and buffers. The file appears whole or not at
// all. FailedPrecondition if it exists, or if sizes are asked for that the trace does not state.
Result<ExportReport> ExportTrace(TraceFile* trace, const ExportOptions& options,
                                 const std::string& path);

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_EXPORT_H_
