#ifndef TRTSCOPE_CORE_ENGINE_HOST_HOST_CONTEXT_H_
#define TRTSCOPE_CORE_ENGINE_HOST_HOST_CONTEXT_H_

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/host/host_model.h"
#include "core/engine/host/host_program.h"
#include "core/engine/host/layer_tracer.h"
#include "core/engine/host/tensor_slot.h"

namespace trtscope::engine::host {

/// Runs the program's method "forward".
///
/// Inputs and outputs are used where they are, unless the program gives them a place of its own;
/// then they are copied.  On a stream the work sees the addresses and shapes of its Enqueue.  With
/// data-dependent outputs Enqueue waits for the work, for their shapes must be known on return.
/// A failure on a stream is kept, and the next Enqueue returns it.
class HostContext final : public ExecutionContext {
 public:
  static Result<std::unique_ptr<HostContext>> Create(const HostModel& model, bool layer_times);
  /// Waits for work that is still on a stream.
  ~HostContext() override;

  Status SetOptimizationProfile(int profile, device::StreamRef stream) override;
  Status SetInputShape(int index, const Dims& shape) override;
  Status SetAddress(int index, void* data) override;
  Result<Dims> OutputShape(int index) override;
  Status SetOutputAllocator(int index, OutputAllocator* allocator) override;
  Result<size_t> WorkspaceSize() override { return size_t{0}; }
  Status SetWorkspace(void*, size_t) override { return OkStatus(); }
  Status Enqueue(device::StreamRef stream) override;
  Status SetLayerSink(profiling::LayerSink* sink) override;
  Status DeliverLayers() override { return OkStatus(); }

 private:
  // What one execution uses.
  struct Call {
    std::vector<Dims> shapes;  // inputs as set; outputs as expected
    std::vector<void*> addresses;
    std::vector<OutputAllocator*> allocators;
    profiling::LayerSink* sink = nullptr;
  };

  HostContext(const HostModel& model, bool layer_times);

  size_t inputs() const { return static_cast<size_t>(model_.input_count); }
  bool IsTensor(int index) const;
  bool IsOutput(int index) const { return IsTensor(index) && index >= model_.input_count; }
  std::string Label(size_t index) const;
  Status NoSuch(const char* what, int index) const;
  Status InferOutputs();
  Status WhatIsMissing() const;
  Status EnqueueOnStream(device::StreamRef stream);
  Status TakeStreamError();

  // Below: in stream order, under run_mutex_.
  Status Run(const Call& call);
  Result<MethodInstance*> Instance(bool traced);
  Status BindInputs(executorch::runtime::Method& method, const Call& call);
  void BindOutputs(executorch::runtime::Method& method, const Call& call);
  Status TakeOutput(executorch::runtime::Method& method, const Call& call, size_t output);

  const HostModel& model_;
  const bool layer_times_;
  Call next_;  // what the next Enqueue will run
  bool outputs_known_ = false;
  int missing_ = 0;  // shapes and addresses that were never set
  bool data_dependent_ = false;

  std::mutex run_mutex_;
  std::optional<LayerTracer> tracer_;
  std::unique_ptr<MethodInstance> plain_;           // null where the traced one serves all calls
  std::unique_ptr<MethodInstance> traced_;          // made when first needed
  std::vector<std::unique_ptr<TensorSlot>> slots_;  // of each tensor
  struct Freer {
    void operator()(void* data) const { std::free(data); }
  };
  std::vector<std::unique_ptr<void, Freer>> scratch_;  // of data-dependent outputs

  std::mutex pending_mutex_;
  std::condition_variable pending_changed_;
  int pending_ = 0;
  Status stream_error_;
  std::atomic<bool> stream_failed_{false};  // there is one
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_HOST_CONTEXT_H_
