#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_ENGINE_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_ENGINE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/engine.h"
#include "core/engine/tensorrt/library.h"

namespace trtscope::engine::tensorrt {

/// A plan deserialized by one TensorRT library, on one device.
class TensorRtEngine final : public Engine {
 public:
  /// `plan` is borrowed for the call.  On failure the message is TensorRT's own, for the caller to
  /// explain.
  static Result<std::unique_ptr<TensorRtEngine>> Deserialize(const Library& library,
                                                             std::span<const std::byte> plan,
                                                             const PlanInfo& info,
                                                             const LoadOptions& options,
                                                             device::cuda::CudaDevice& device);
  ~TensorRtEngine() override;

  const PlanInfo& plan() const override { return info_; }
  std::string_view runtime_version() const override { return library_.label(); }
  std::span<const TensorInfo> tensors() const override { return tensors_; }
  int input_count() const override { return input_count_; }
  int profile_count() const override { return profile_count_; }
  device::DeviceId device() const override { return device_.id(); }
  Result<std::unique_ptr<ExecutionContext>> CreateContext(const ContextOptions& options) override;
  /// A context with a profiler is slower, and its records come with reportToProfiler.
  bool layers_arrive_late() const override { return true; }
  /// Must come before the first context, as TensorRT wants it.
  Status SetWeightStreamingBudget(int64_t bytes) override;
  Result<std::string> InspectorJson() override;

  // For TensorRtContext.
  const Library& library() const { return library_; }
  device::cuda::CudaDevice& cuda() const { return device_; }
  const abi::ICudaEngine& abi_engine() const { return engine_; }

 private:
  TensorRtEngine(const Library& library, const PlanInfo& info, device::cuda::CudaDevice& device)
      : library_(library), info_(info), device_(device) {}
  Status ReadTensors();
  Result<TensorInfo> ReadTensor(const char* name, IoMode mode) const;
  bool HasDynamicInputs() const;
  void FindDataDependentOutputs();
  bool SpecifyOptimalInputs(const abi::IExecutionContext& context,
                            std::vector<std::vector<int64_t>>& storage) const;
  bool OptimalValues(const TensorInfo& tensor, int64_t count, std::vector<int64_t>& values) const;
  Result<abi::ICudaEngine> DeserializeAbi(const void* data, size_t size) const;
  Result<abi::IExecutionContext> CreateAbiContext(const abi::ICudaEngine& engine,
                                                  bool with_memory) const;
  Status MakeTwin();

  const Library& library_;
  PlanInfo info_;
  device::cuda::CudaDevice& device_;
  abi::IRuntime runtime_;
  abi::ICudaEngine engine_;
  // The same plan once more, where a plan of 8.6 lends its profiles to one context at a time: the
  // context that measures layers then has an engine of its own, with weights of its own.
  abi::ICudaEngine twin_;
  std::vector<TensorInfo> tensors_;
  int input_count_ = 0;
  int profile_count_ = 1;
};

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_TENSORRT_ENGINE_H_
