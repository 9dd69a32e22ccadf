#ifndef TRTSCOPE_CORE_BASE_CHECKSUM_H_
#define TRTSCOPE_CORE_BASE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/status.h"

namespace trtscope {

// A program of ExecuTorch's may end in 16 octets that tell whether it is what was written:
//
//   "TSCK"  the CRC-32 (zlib's) of what stands before, 4 octets  its size, 8 octets
//
// both little-endian.  ExecuTorch's runtime trusts a program's kernels' arguments and backends'
// data as they are, and a damaged program stops the process; with the checksum it is an error.
// ExecuTorch itself reads such a program as well: it ignores what follows the program's end.  Host
// plans have it, and the .pte files that trtscope.save writes.

inline constexpr size_t kTrailerSize = 16;

uint32_t Crc32(std::span<const std::byte> bytes);

/// The program without its trailer, if it has one; refused when the checksum is another.
Result<std::span<const std::byte>> CheckedProgram(std::span<const std::byte> octets);

}  // namespace trtscope

#endif  // TRTSCOPE_CORE_BASE_CHECKSUM_H_
