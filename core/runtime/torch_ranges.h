#ifndef TRTSCOPE_CORE_RUNTIME_TORCH_RANGES_H_
#define TRTSCOPE_CORE_RUNTIME_TORCH_RANGES_H_

#include <ATen/record_function.h>

#include <optional>
#include <string>
#include <utility>

#include "core/profiling/names.h"

namespace trtscope::runtime {

/// One call of an engine, and its phases, as ranges for whoever listens to torch: torch.profiler's
/// trace (Kineto), or NVTX under torch.autograd.profiler.emit_nvtx.  They need no profiling of ours
/// to be on.  With no listener a call costs one look for one: a RecordFunction that is made and not
/// used would cost ten times that.  Lives on the stack of the call.
class TorchRanges {
 public:
  explicit TorchRanges(const std::string& engine_id) {
    auto listeners = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
    if (listeners.has_value()) [[unlikely]] {
      call_.emplace(std::move(*listeners));
      call_->before("trtscope " + engine_id);
    }
  }
  TorchRanges(const TorchRanges&) = delete;
  TorchRanges& operator=(const TorchRanges&) = delete;

  /// Ends the phase before and begins this one.
  void Enter(profiling::Phase phase) {
    if (call_) [[unlikely]]
      Begin(phase);
  }
  void Leave() { phase_.reset(); }

 private:
  void Begin(profiling::Phase phase) {
    phase_.reset();
    phase_.emplace(at::RecordScope::USER_SCOPE);
    if (phase_->isActive()) phase_->before(std::string(profiling::Info(phase).event));
  }

  std::optional<at::RecordFunction> call_;   // none: nobody listens
  std::optional<at::RecordFunction> phase_;  // ends before its call
};

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_TORCH_RANGES_H_
