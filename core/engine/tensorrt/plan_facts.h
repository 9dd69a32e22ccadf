#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_PLAN_FACTS_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_PLAN_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace trtscope::engine::tensorrt {

/// What a TensorRT plan says besides its version, used to explain a failure and never to decide.
struct PlanFacts {
  /// Compute capability times ten of the GPU it was built for, where the plan says it in the place
  /// where TensorRT 8.6 writes it.
  std::optional<int> sm;
  /// Octets that its header announces.
  std::optional<uint64_t> announced_size;
};

PlanFacts ReadPlanFacts(std::span<const std::byte> plan);

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_PLAN_FACTS_H_
