#ifndef TRTSCOPE_CORE_ENGINE_PLAN_H_
#define TRTSCOPE_CORE_ENGINE_PLAN_H_

// A plan: the serialized engine, recognised by its first bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::engine {

enum class PlanKind : uint8_t {
  kTensorRt,     // "ftrt" at octet 0
  kTensorRtRtx,  // "vtrt" at octet 0
  kHost,         // an ExecuTorch program: "ET" and two digits at octet 4
  kNull,         // "null" at octet 0: the engine that does nothing, for benchmarks
};
/// "tensorrt", "tensorrt_rtx", "host", "null".
std::string_view Name(PlanKind kind);

struct PlanInfo {
  PlanKind kind = PlanKind::kTensorRt;
  /// Builder's version: "8.6.0.12" for TensorRT (octets 24 to 27), "ET12" for a host plan.
  std::string builder_version;
  int version_major = 0;  // TensorRT's own major version; 0 for the others
  int version_minor = 0;
  uint64_t hash = 0;  // HashBytes of the plan: equal plans, equal ids, on every machine
  size_t size = 0;    // octets
};

/// Reads the header.  A plan that is empty, cut short, or of no known kind is refused with its
/// size and first octets.
Result<PlanInfo> InspectPlan(std::span<const std::byte> plan);

/// Content hash of any bytes: equal on every machine and in every release.  Not cryptographic.
uint64_t HashBytes(std::span<const std::byte> bytes);

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_PLAN_H_
