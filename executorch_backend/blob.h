#ifndef TRTSCOPE_EXECUTORCH_BACKEND_BLOB_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_BLOB_H_

// The delegate blob: what a .pte file holds for one TensorRTBackend region.
//
//   octets 0-3    magic, "TR01", or "TR02" when outputs may alias inputs
//          4-7    offset of the metadata, 32 or more
//          8-11   size of the metadata
//         12-15   offset of the plan, a multiple of 16, after the metadata
//         16-23   size of the plan, which ends with the blob at the latest
//         24-31   reserved, written as zero and not read
//   metadata      a JSON object, see BlobMetadata
//   plan          as InspectPlan (core/engine/plan.h) knows it
//
// Numbers are little-endian.  A plan alone, without any of this, is a blob too: its engine then
// says everything.  Nothing here knows torch or ExecuTorch; bad input never crashes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::executorch_backend {

struct IoBinding {
  std::string name;
  std::optional<engine::DataType> dtype;  // where the blob says one
  std::optional<engine::Dims> shape;      // likewise; -1: dynamic
  bool is_input = true;
};

/// An output that is the memory of an input, such as a KV cache's.
struct AliasedIo {
  std::string output;
  std::string input;
  std::string kind;
};

/// The metadata's keys are these fields' names.  All may be missing; unknown ones mean nothing.
struct BlobMetadata {
  std::string name;                    // of the engine
  std::vector<IoBinding> io_bindings;  // the order of the delegate's arguments
  std::vector<AliasedIo> aliased_io;
  bool hardware_compatible = false;  // built for any GPU from Ampere on
  int device_id = 0;
  std::string serialized_metadata;
  std::string target_platform;  // "linux_x86_64"; empty: not said
};

struct Blob {
  BlobMetadata metadata;
  std::span<const std::byte> plan;  // borrowed from the bytes that were parsed
  bool bare = false;                // a plan alone, without metadata
};

/// Reads a blob.  Errors name the field, what was found, and what was expected.
Result<Blob> ParseBlob(std::span<const std::byte> bytes);

/// Writes one: TR02 when there are aliases, else TR01.
std::vector<std::byte> WriteBlob(const BlobMetadata& metadata, std::span<const std::byte> plan);

/// The platform of this process, as target_platform spells it.
std::string_view ThisPlatform();

/// Refuses a plan that was built for another platform.  Host and null plans run anywhere.
Status CheckPlatform(const Blob& blob);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_BLOB_H_
