#include "core/runtime/execute_engine.h"

#include <c10/util/SmallVector.h>

#include <span>
#include <utility>

#include "core/runtime/tensor_bridge.h"
#include "core/runtime/torch_ranges.h"

namespace trtscope::runtime {
namespace {

using engine::TensorInfo;
using engine::TensorView;
using profiling::Phase;

// Most engines have few tensors: their descriptions stay on the stack.
constexpr unsigned kUsualTensorCount = 8;
using Views = c10::SmallVector<TensorView, kUsualTensorCount>;

TensorView ViewOf(const at::Tensor& tensor, const engine::Executor& executor,
                  const TensorInfo& info, size_t position) {
  const std::string& id = executor.id();
  const auto type = FromTorch(tensor.scalar_type());
  const auto device = FromTorch(tensor.device());
  TORCH_CHECK(type, "engine '", id, "', input ", position, " '", info.name, "': expected ",
              engine::Name(info.dtype), ", got ", c10::toString(tensor.scalar_type()));
  TORCH_CHECK(device, "engine '", id, "', input ", position, " '", info.name,
              "': expected a tensor on ", ToString(executor.DeviceOf(info)), ", got one on ",
              tensor.device().str());
  TORCH_CHECK(tensor.dim() <= engine::Dims::kMaxRank, "engine '", id, "', input ", position, " '",
              info.name, "': expected rank ", info.shape.rank, ", got rank ", tensor.dim());
  return TensorView{tensor.data_ptr(), *type,
                    engine::Dims(tensor.sizes().data(), static_cast<int32_t>(tensor.dim())),
                    *device};
}

// A strided view, packed into a copy, which an output that shares the input's memory cannot be.
at::Tensor Packed(const at::Tensor& tensor, const TorchEngine& engine, size_t position) {
  const auto& outputs = engine.state().output_names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(engine.aliased_input(i) != static_cast<int>(position), "engine '",
                engine.engine_id(), "', input ", position, " '",
                engine.state().input_names[position], "': output '", outputs[i],
                "' is written to its memory, so it must be contiguous; got strides ",
                tensor.strides());
  }
  return tensor.contiguous();
}

// Keeps the tensors that an engine asks for while it runs: data-dependent outputs.
class TorchAllocator final : public engine::OutputAllocator {
 public:
  TorchAllocator(device::DeviceId device) : device_(device) {}
  void Reset(engine::DataType type) { type_ = type; }

  void* Allocate(int, size_t bytes) noexcept override {
    try {
      const int64_t octets = static_cast<int64_t>(bytes);
      storage_ = EmptyTensor({octets}, engine::DataType::kUInt8, device_);
      return storage_.data_ptr();
    } catch (const std::exception&) {
      return nullptr;  // the enqueue then fails and says so
    }
  }
  void OnShape(int, const engine::Dims& shape) noexcept override { shape_ = shape; }

  at::Tensor Take() {
    const size_t used = ByteSize(shape_, type_);
    const c10::IntArrayRef sizes(shape_.d.data(), static_cast<size_t>(shape_.rank));
    if (used == 0) return EmptyTensor(shape_, type_, device_);
    return storage_.narrow(0, 0, static_cast<int64_t>(used)).view(ToTorch(type_)).view(sizes);
  }

 private:
  device::DeviceId device_;
  engine::DataType type_ = engine::DataType::kFloat32;
  at::Tensor storage_;
  engine::Dims shape_;
};

std::vector<at::Tensor> Run(engine::Executor::Call& call, TorchEngine& engine,
                            std::vector<at::Tensor>& inputs) {
  engine::Executor& executor = engine.executor();
  const std::vector<int>& input_order = engine.input_order();
  const std::vector<int>& output_order = engine.output_order();
  profiling::CallRecorder& recorder = call.recorder();
  TorchRanges ranges(executor.id());
  const device::DeviceId device = executor.engine().device();
  const device::StreamRef stream = CurrentStream(device);

  recorder.Enter(Phase::kInputBinding);
  ranges.Enter(Phase::kInputBinding);
  Views views(executor.input_count());
  const size_t known = std::min(inputs.size(), input_order.size());
  for (size_t i = 0; i < known; ++i) {
    const int at = input_order[i];
    // What is made here lives in `inputs` until the call returns; the caching allocator keeps its
    // memory for work that is on the stream by then.
    if (!inputs[i].is_contiguous()) inputs[i] = Packed(inputs[i], engine, i);
    if (executor.input(at).location == device::DeviceType::kHost && inputs[i].is_cuda()) {
      recorder.Enter(Phase::kSynchronize);  // the engine reads the values on the host
      inputs[i] = inputs[i].cpu();
      recorder.Enter(Phase::kInputBinding);
    }
    views[at] = ViewOf(inputs[i], executor, executor.input(at), i);
  }
  if (inputs.size() != input_order.size()) views.resize(inputs.size());  // refused below
  ThrowIfError(call.BindInputs({views.data(), views.size()}, stream));

  recorder.Enter(Phase::kOutputBinding);
  ranges.Enter(Phase::kOutputBinding);
  std::vector<at::Tensor> outputs(output_order.size());
  c10::SmallVector<std::pair<size_t, std::unique_ptr<TorchAllocator>>, 1> allocators;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int at = output_order[i];
    const TensorInfo& info = executor.output(at);
    const engine::Dims& shape = call.OutputShape(at);
    if (const int alias = engine.aliased_input(i); alias >= 0) {
      outputs[i] = inputs[static_cast<size_t>(alias)];  // updated in place: nothing to allocate
      ThrowIfError(call.BindOutput(at, outputs[i].data_ptr()));
      continue;
    }
    if (shape.dynamic()) {
      allocators.emplace_back(i, std::make_unique<TorchAllocator>(device));
      allocators.back().second->Reset(info.dtype);
      ThrowIfError(call.UseAllocator(at, allocators.back().second.get()));
      continue;
    }
    outputs[i] = engine.next_outputs().Take(i, shape);
    if (!outputs[i].defined()) {
      outputs[i] = EmptyTensor(shape, info.dtype, executor.DeviceOf(info));
    }
    ThrowIfError(call.BindOutput(at, outputs[i].data_ptr()));
  }
  recorder.Leave();

  ranges.Enter(Phase::kEnqueueHost);
  ThrowIfError(call.Enqueue(stream));
  ranges.Leave();

  if (!allocators.empty()) {
    recorder.Enter(Phase::kOutputBinding);
    for (auto& [i, allocator] : allocators) {
      outputs[i] = allocator->Take();
      ThrowIfError(call.UseAllocator(output_order[i], nullptr));
    }
    recorder.Leave();
  }
  engine.next_outputs().Prepare(outputs, engine.aliased_inputs());
  return outputs;
}

}  // namespace

std::vector<at::Tensor> ExecuteEngine(std::vector<at::Tensor> inputs,
                                      const c10::intrusive_ptr<TorchEngine>& engine) {
  engine::Executor::Call call(engine->executor());  // the mutex, then the profiling generation
  try {
    return Run(call, *engine, inputs);
  } catch (...) {
    call.recorder().MarkFailed();
    throw;
  }
}

}  // namespace trtscope::runtime
