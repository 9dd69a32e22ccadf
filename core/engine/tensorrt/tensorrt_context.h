#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_CONTEXT_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_CONTEXT_H_

#include <memory>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/tensorrt/callbacks.h"
#include "core/engine/tensorrt/tensorrt_engine.h"

namespace trtscope::engine::tensorrt {

/// One IExecutionContext.  With ContextOptions::layer_times its profiler is attached from the
/// beginning, and silent: enqueueing stays asynchronous, and DeliverLayers asks for the records.
/// TensorRT refuses to take a profiler off again, which is why plain calls have their own context.
class TensorRtContext final : public ExecutionContext {
 public:
  /// Takes `context`.
  TensorRtContext(const TensorRtEngine& engine, abi::IExecutionContext context,
                  const ContextOptions& options);
  ~TensorRtContext() override;
  /// Attaches the profiler.  Once, before anything else.
  Status Init();

  Status SetOptimizationProfile(int profile, device::StreamRef stream) override;
  Status SetInputShape(int index, const Dims& shape) override;
  Status SetAddress(int index, void* data) override;
  Result<Dims> OutputShape(int index) override;
  Status SetOutputAllocator(int index, OutputAllocator* allocator) override;
  Result<size_t> WorkspaceSize() override;
  Status SetWorkspace(void* data, size_t bytes) override;
  Status Enqueue(device::StreamRef stream) override;
  Status SetLayerSink(profiling::LayerSink* sink) override;
  Status DeliverLayers() override;

 private:
  const TensorInfo& tensor(int index) const {
    return engine_.tensors()[static_cast<size_t>(index)];
  }
  /// "TensorRT 8.6.0 (libnvinfer.so.8) refused `what`", with the tensor and TensorRT's message.
  Status Refused(StatusCode code, const std::string& what, const std::string& log) const;
  std::string MissingInputs() const;

  const TensorRtEngine& engine_;
  abi::IExecutionContext context_;
  ContextOptions options_;
  std::unique_ptr<ProfilerCallback> profiler_;
  std::vector<std::unique_ptr<AllocatorCallback>> allocators_;  // by tensor
};

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_CONTEXT_H_
