// The dictionary in the header of a .npy file: a strict reader of the little Python it holds.
#ifndef BERTH_IO_NPY_HEADER_TEXT_H_
#define BERTH_IO_NPY_HEADER_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth::io {

struct NpyHeader {
  std::string descr;  // "<i4", "|u1", ">i8", ...
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

// Each of the three keys once, nothing else; InvalidArgument says at which byte of the header.
Result<NpyHeader> ParseNpyHeader(std::string_view text);

}  // namespace berth::io

#endif  // BERTH_IO_NPY_HEADER_TEXT_H_
