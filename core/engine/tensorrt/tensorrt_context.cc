#include "core/engine/tensorrt/tensorrt_context.h"

#include <utility>

#include "core/engine/tensorrt/log.h"

namespace trtscope::engine::tensorrt {
namespace {

using abi::Method;
using device::cuda::ScopedDevice;

Status CheckStream(device::StreamRef stream) {
  if (stream.type == device::DeviceType::kCuda) return OkStatus();
  return InvalidArgument("a TensorRT engine runs on a CUDA stream, but got a host stream");
}

}  // namespace

TensorRtContext::TensorRtContext(const TensorRtEngine& engine, abi::IExecutionContext context,
                                 const ContextOptions& options)
    : engine_(engine), context_(context), options_(options), allocators_(engine.tensors().size()) {}

TensorRtContext::~TensorRtContext() {
  ScopedDevice current(engine_.cuda());
  if (current.status().ok()) context_.Destroy();
}

Status TensorRtContext::Init() {
  if (!options_.layer_times) return OkStatus();
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  profiler_ = std::make_unique<ProfilerCallback>(engine_.library().layout().family());
  context_.setProfiler(profiler_->abi_object());
  // Otherwise enqueueV3 waits for the device and reports from inside.
  context_.setEnqueueEmitsProfile(false);
  if (context_.getProfiler() == profiler_->abi_object()) return OkStatus();
  return Refused(StatusCode::kUnsupported, "a profiler", log.Suffix());
}

Status TensorRtContext::Refused(StatusCode code, const std::string& what,
                                const std::string& log) const {
  return Status(code, engine_.library().label() + " refused " + what + log);
}

Status TensorRtContext::SetOptimizationProfile(int profile, device::StreamRef stream) {
  TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream));
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (context_.setOptimizationProfileAsync(profile, stream.handle)) return OkStatus();
  return Refused(StatusCode::kInvalidArgument,
                 "optimization profile " + std::to_string(profile) + " of " +
                     std::to_string(engine_.profile_count()),
                 log.Suffix());
}

Status TensorRtContext::SetInputShape(int index, const Dims& shape) {
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (context_.setInputShape(tensor(index).name.c_str(), shape)) return OkStatus();
  return Refused(StatusCode::kInvalidArgument,
                 "shape " + ToString(shape) + " for input '" + tensor(index).name + "'",
                 log.Suffix());
}

Status TensorRtContext::SetAddress(int index, void* data) {
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (context_.setTensorAddress(tensor(index).name.c_str(), data)) return OkStatus();
  return Refused(StatusCode::kInvalidArgument,
                 "the address given for tensor '" + tensor(index).name + "'", log.Suffix());
}

// The inputs that TensorRT still wants something for: ", missing: 'a', 'b'".
std::string TensorRtContext::MissingInputs() const {
  std::vector<const char*> names(static_cast<size_t>(engine_.input_count()), nullptr);
  const int32_t count = context_.inferShapes(engine_.input_count(), names.data());
  std::string text;
  for (int32_t i = 0; i < count && i < engine_.input_count(); ++i) {
    const char* name = names[static_cast<size_t>(i)];
    if (name == nullptr) continue;
    text += (text.empty() ? "; not yet specified: '" : ", '") + std::string(name) + "'";
  }
  return text;
}

Result<Dims> TensorRtContext::OutputShape(int index) {
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  const TensorInfo& info = tensor(index);
  const Dims shape = context_.getTensorShape(info.name.c_str());
  if (shape.rank == info.shape.rank && (info.data_dependent || !shape.dynamic())) return shape;
  return Status(StatusCode::kFailedPrecondition,
                engine_.library().label() + " cannot say the shape of output '" + info.name +
                    "' yet: got " + (shape.rank < 0 ? "none" : ToString(shape)) + ", expected " +
                    std::to_string(info.shape.rank) + " known dimensions" + MissingInputs() +
                    log.Suffix());
}

Status TensorRtContext::SetOutputAllocator(int index, OutputAllocator* allocator) {
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  std::unique_ptr<AllocatorCallback>& held = allocators_[static_cast<size_t>(index)];
  // The old one goes only once TensorRT has let go of it.
  std::unique_ptr<AllocatorCallback> next;
  if (allocator != nullptr) {
    next =
        std::make_unique<AllocatorCallback>(engine_.library().layout().family(), index, allocator);
  }
  void* object = next != nullptr ? next->abi_object() : nullptr;
  if (!context_.setOutputAllocator(tensor(index).name.c_str(), object)) {
    return Refused(StatusCode::kInternal, "an allocator for output '" + tensor(index).name + "'",
                   log.Suffix());
  }
  held = std::move(next);
  return OkStatus();
}

Result<size_t> TensorRtContext::WorkspaceSize() {
  if (!options_.user_managed_workspace) return size_t{0};
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  // Since 10.0 the size follows the current shapes; before, it is that of the largest ones.
  if (engine_.library().layout().Has(Method::kIExecutionContext_updateDeviceMemorySizeForShapes)) {
    return context_.updateDeviceMemorySizeForShapes();
  }
  return engine_.abi_engine().getDeviceMemorySize();
}

Status TensorRtContext::SetWorkspace(void* data, size_t bytes) {
  if (!options_.user_managed_workspace) {
    return FailedPrecondition("this context manages its own workspace");
  }
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (engine_.library().layout().Has(Method::kIExecutionContext_setDeviceMemoryV2)) {
    context_.setDeviceMemoryV2(data, static_cast<int64_t>(bytes));
  } else {
    context_.setDeviceMemory(data);
  }
  const std::string text = log.Suffix();
  if (text.empty()) return OkStatus();
  return Refused(StatusCode::kInvalidArgument,
                 "a workspace of " + std::to_string(bytes) + " octets", text);
}

Status TensorRtContext::Enqueue(device::StreamRef stream) {
  TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream));
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (context_.enqueueV3(stream.handle)) [[likely]]
    return OkStatus();
  return Status(StatusCode::kInternal,
                engine_.library().label() + " could not enqueue" + MissingInputs() + log.Suffix());
}

Status TensorRtContext::SetLayerSink(profiling::LayerSink* sink) {
  if (profiler_ == nullptr) {
    return FailedPrecondition("this context was made without ContextOptions::layer_times");
  }
  profiler_->set_sink(sink);
  return OkStatus();
}

Status TensorRtContext::DeliverLayers() {
  if (profiler_ == nullptr) {
    return FailedPrecondition("this context was made without ContextOptions::layer_times");
  }
  ScopedDevice current(engine_.cuda());
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  if (context_.reportToProfiler()) return OkStatus();
  return Status(StatusCode::kInternal,
                engine_.library().label() + " could not report layer times" + log.Suffix());
}

}  // namespace trtscope::engine::tensorrt
