#ifndef TRTSCOPE_CORE_ENGINE_HOST_LAYER_TRACER_H_
#define TRTSCOPE_CORE_ENGINE_HOST_LAYER_TRACER_H_

#include <executorch/runtime/core/event_tracer.h>

#include <cstdint>

#include "core/engine/host/method_plan.h"
#include "core/profiling/engine_profile.h"

namespace trtscope::engine::host {

/// Turns ExecuTorch's events into layers: one for each instruction, named as in the method's plan.
/// A backend that reports operators of its own gives a layer for each, before that of its call,
/// which then holds only the rest of the call's time: durations add up.
///
/// A method is bound to its tracer when it is loaded.  Without a sink the tracer asks for no
/// events, which leaves the runtime one test for each instruction.
/// Used by the thread that executes the method, and only by one at a time.
class LayerTracer final : public executorch::runtime::EventTracer {
 public:
  /// `plan` is borrowed.
  explicit LayerTracer(const MethodPlan& plan) : plan_(plan) { SetSink(nullptr); }

  /// Between executions only.  Null: no events.
  void SetSink(profiling::LayerSink* sink);

  void create_event_block(const char* name) override;
  executorch::runtime::EventTracerEntry start_profiling(
      const char* name, executorch::runtime::ChainID chain_id,
      executorch::runtime::DebugHandle debug_handle) override;
  void end_profiling(executorch::runtime::EventTracerEntry entry) override;
  executorch::runtime::EventTracerEntry start_profiling_delegate(
      const char* name, executorch::runtime::DelegateDebugIntId index) override;
  void end_profiling_delegate(executorch::runtime::EventTracerEntry entry, const void* metadata,
                              size_t metadata_len) override;
  void log_profiling_delegate(const char* name, executorch::runtime::DelegateDebugIntId index,
                              et_timestamp_t start_time, et_timestamp_t end_time,
                              const void* metadata, size_t metadata_len) override;

  // Allocations and values are of no interest here.
  void track_allocation(executorch::runtime::AllocatorID, size_t) override {}
  executorch::runtime::AllocatorID track_allocator(const char*) override { return 0; }
  executorch::runtime::Result<bool> log_evalue(const executorch::runtime::EValue&,
                                               executorch::runtime::LoggedEValueType) override {
    return false;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId,
      const executorch::aten::Tensor&) override {
    return false;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId,
      const executorch::runtime::ArrayRef<executorch::aten::Tensor>) override {
    return false;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId, const int&) override {
    return false;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId, const bool&) override {
    return false;
  }
  executorch::runtime::Result<bool> log_intermediate_output_delegate(
      const char*, executorch::runtime::DelegateDebugIntId, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(
      executorch::runtime::EventTracerFilterBase*) override {}

 private:
  void InnerLayer(const char* name, int64_t index, int64_t start_ns, int64_t duration_ns);

  const MethodPlan& plan_;
  profiling::LayerSink* sink_ = nullptr;
  // The instruction in progress.
  int depth_ = 0;  // events open in it: the runtime's, and within it the kernel's own
  int64_t start_ns_ = 0;
  int64_t inner_ns_ = 0;      // what the backend reported of it
  int64_t inner_end_ns_ = 0;  // where that ended
  // Of start_profiling_delegate, whose name must outlive the caller's.
  static constexpr size_t kNameSize = 128;
  char inner_name_[kNameSize] = {};
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_LAYER_TRACER_H_
