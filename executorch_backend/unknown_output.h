#ifndef TRTSCOPE_EXECUTORCH_BACKEND_UNKNOWN_OUTPUT_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_UNKNOWN_OUTPUT_H_

#include "core/engine/engine.h"
#include "executorch_backend/staging.h"

namespace trtscope::executorch_backend {

/// Memory for an output whose shape only the engine knows, and only when it ran.
class UnknownOutput final : public engine::OutputAllocator {
 public:
  explicit UnknownOutput(device::Device& device) : memory_(device) {}

  void* Allocate(int, size_t bytes) noexcept override {
    Result<void*> data = memory_.Reserve(bytes);
    return data.ok() ? *data : nullptr;
  }
  void OnShape(int, const engine::Dims& shape) noexcept override { shape_ = shape; }

  /// Before a call.
  void Reset() { shape_.rank = -1; }
  /// After its work is done.
  bool known() const { return shape_.rank >= 0; }
  const engine::Dims& shape() const { return shape_; }
  void* data() const { return memory_.data(); }

 private:
  Staging memory_;
  engine::Dims shape_;
};

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_UNKNOWN_OUTPUT_H_
