#include "core/engine/executor.h"

#include <string>
#include <utility>

namespace trtscope::engine {
namespace {

using profiling::Phase;

std::string InputLabel(const std::string& engine_id, int i, const TensorInfo& info) {
  return "engine '" + engine_id + "', input " + std::to_string(i) + " '" + info.name + "'";
}

std::string RangesText(const TensorInfo& info) {
  std::string text;
  for (size_t p = 0; p < info.profiles.size(); ++p) {
    if (p > 0) text += ", or ";
    text += ToString(info.profiles[p].min) + " to " + ToString(info.profiles[p].max);
    if (info.profiles.size() > 1) text += " (profile " + std::to_string(p) + ")";
  }
  return text;
}

}  // namespace

Executor::Executor(std::unique_ptr<Engine> engine,
                   std::shared_ptr<profiling::EngineProfile> profile)
    : engine_(std::move(engine)),
      profile_(std::move(profile)),
      input_count_(engine_->input_count()) {
  for (const TensorInfo& tensor : engine_->tensors()) {
    has_shape_tensors_ |= tensor.mode == IoMode::kInput && tensor.shape_tensor;
  }
}

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::Create(
    std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile) {
  std::unique_ptr<Executor> executor(new Executor(std::move(engine), std::move(profile)));
  ContextOptions options;
  // Where layers cost nothing until somebody listens, one context serves every call.
  options.layer_times = !executor->engine_->layers_arrive_late();
  TRTSCOPE_ASSIGN_OR_RETURN(executor->context_,
                            BoundContext::Create(*executor->engine_, options));
  return executor;
}

// Type and place are compared on every call; a shape only when it differs from the one that the
// context holds, which was checked when it was set.
Status Executor::CheckInput(int i, const TensorView& view) const {
  const TensorInfo& info = input(i);
  if (view.dtype != info.dtype) {
    return InvalidArgument(InputLabel(id(), i, info) + ": expected " +
                           std::string(Name(info.dtype)) + ", got " +
                           std::string(Name(view.dtype)));
  }
  const device::DeviceId expected = DeviceOf(info);
  if (view.device != expected) {
    return InvalidArgument(InputLabel(id(), i, info) + ": expected a tensor on " +
                           ToString(expected) + ", got one on " + ToString(view.device));
  }
  if (context_->HasShape(i, view.shape)) return OkStatus();
  if (view.shape.rank != info.shape.rank) {
    return InvalidArgument(InputLabel(id(), i, info) + ": expected rank " +
                           std::to_string(info.shape.rank) + " " + ToString(info.shape) +
                           ", got rank " + std::to_string(view.shape.rank) + " " +
                           ToString(view.shape));
  }
  for (int d = 0; d < info.shape.rank; ++d) {
    if (info.shape[d] >= 0 && info.shape[d] != view.shape[d]) {
      return InvalidArgument(InputLabel(id(), i, info) + ": expected shape " +
                             ToString(info.shape) + ", got " + ToString(view.shape) +
                             " (dimension " + std::to_string(d) + ")");
    }
  }
  bool fits = info.profiles.empty();
  for (const ShapeRange& range : info.profiles) fits = fits || InRange(view.shape, range);
  if (!fits) {
    return InvalidArgument(InputLabel(id(), i, info) + ": expected a shape from " +
                           RangesText(info) + ", got " + ToString(view.shape));
  }
  return OkStatus();
}

// Layers that come during the enqueue go straight to the call's record; nobody listens otherwise.
Status Executor::ListenToLayers(profiling::CallRecorder& recorder) {
  profiling::LayerSink* sink = nullptr;
  if (recorder.layers()) {
    if (!inspected_) {
      inspected_ = true;
      if (auto json = engine_->InspectorJson(); json.ok()) {
        profile_->SetInspectorJson(*std::move(json));
      }
    }
    if (!engine_->layers_arrive_late()) sink = &recorder.layer_sink();
  }
  return context_->SetLayerSink(sink);
}

Result<std::string> Executor::InspectorJson() {
  std::lock_guard lock(mutex_);
  return engine_->InspectorJson();
}

Executor::Call::Call(Executor& executor)
    : executor_(executor), lock_(executor.mutex_), recorder_(*executor.profile_) {}

Status Executor::Call::Failed(Status status) {
  if (!status.ok()) {
    recorder_.Leave();
    recorder_.MarkFailed();
  }
  return status;
}

Status Executor::Call::BindInputs(std::span<const TensorView> inputs, device::StreamRef stream) {
  return Failed(BindInputsOrFail(inputs, stream));
}

Status Executor::Call::BindInputsOrFail(std::span<const TensorView> inputs,
                                        device::StreamRef stream) {
  Executor& e = executor_;
  BoundContext& context = *e.context_;
  recorder_.Enter(Phase::kInputBinding);
  if (inputs.size() != static_cast<size_t>(e.input_count_)) {
    return InvalidArgument("engine '" + e.id() + "': expected " + std::to_string(e.input_count_) +
                           " inputs, got " + std::to_string(inputs.size()));
  }
  bool infer = e.has_shape_tensors_ || !context.shapes_known();
  for (int i = 0; i < e.input_count_; ++i) {
    const TensorView& input = inputs[static_cast<size_t>(i)];
    TRTSCOPE_RETURN_IF_ERROR(e.CheckInput(i, input));
    infer = infer || !context.HasShape(i, input.shape);
  }
  if (infer) TRTSCOPE_RETURN_IF_ERROR(context.SetShapes(inputs, stream, e.id()));
  for (int i = 0; i < e.input_count_; ++i) {
    TRTSCOPE_RETURN_IF_ERROR(context.SetAddress(i, inputs[static_cast<size_t>(i)].data));
  }
  if (infer) {
    recorder_.Enter(Phase::kShapeInference);
    TRTSCOPE_RETURN_IF_ERROR(context.InferOutputs());
  }
  recorder_.Leave();
  return OkStatus();
}

const Dims& Executor::Call::OutputShape(int i) const {
  return executor_.context_->shape(executor_.input_count_ + i);
}

Status Executor::Call::BindOutput(int i, void* data) {
  return Failed(executor_.context_->SetAddress(executor_.input_count_ + i, data));
}

Status Executor::Call::UseAllocator(int i, OutputAllocator* allocator) {
  return Failed(executor_.context_->SetAllocator(executor_.input_count_ + i, allocator));
}

Status Executor::Call::Enqueue(device::StreamRef stream) {
  TRTSCOPE_RETURN_IF_ERROR(Failed(executor_.ListenToLayers(recorder_)));
  recorder_.Enter(Phase::kEnqueueHost);
  TRTSCOPE_RETURN_IF_ERROR(Failed(executor_.context_->context().Enqueue(stream)));
  recorder_.Leave();
  return OkStatus();
}

}  // namespace trtscope::engine
