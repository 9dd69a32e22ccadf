#ifndef TRTSCOPE_CORE_ENGINE_HOST_TENSOR_SLOT_H_
#define TRTSCOPE_CORE_ENGINE_HOST_TENSOR_SLOT_H_

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <array>
#include <optional>

#include "core/engine/tensor.h"

namespace trtscope::engine::host {

/// An ExecuTorch tensor over memory of ours, with the arrays that it borrows.  Not movable, for the
/// runtime keeps its address.
class TensorSlot {
 public:
  TensorSlot() = default;
  TensorSlot(const TensorSlot&) = delete;
  TensorSlot& operator=(const TensorSlot&) = delete;

  /// Sets all of it.  The tensor may shrink but never outgrow `shape`: the runtime refuses to
  /// resize it further.
  void Set(executorch::aten::ScalarType type, const Dims& shape, void* data) {
    int32_t stride = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      sizes_[at] = static_cast<int32_t>(shape[i]);
      order_[at] = static_cast<uint8_t>(i);
      strides_[at] = stride;
      // As the runtime does: an empty dimension counts as one.
      stride *= sizes_[at] > 0 ? sizes_[at] : 1;
    }
    impl_.emplace(type, shape.rank, sizes_.data(), data, order_.data(), strides_.data(),
                  executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  }

  executorch::runtime::EValue value() {
    return executorch::runtime::EValue(executorch::aten::Tensor(&*impl_));
  }
  const executorch::aten::TensorImpl* impl() const { return &*impl_; }

 private:
  std::array<int32_t, Dims::kMaxRank> sizes_{};
  std::array<int32_t, Dims::kMaxRank> strides_{};
  std::array<uint8_t, Dims::kMaxRank> order_{};
  std::optional<executorch::aten::TensorImpl> impl_;
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_TENSOR_SLOT_H_
