#include "core/engine/executor.h"

#include <string>
#include <utility>

namespace trtscope::engine {
namespace {

using profiling::Phase;

// Empty tensors may come with a null pointer, but an engine takes a null address for "not set".
char empty_tensor_storage;

void* AddressOf(void* data) { return data != nullptr ? data : &empty_tensor_storage; }

std::string InputLabel(const std::string& engine_id, int i, const TensorInfo& info) {
  return "engine '" + engine_id + "', input " + std::to_string(i) + " '" + info.name + "'";
}

bool InRange(const Dims& shape, const ShapeRange& range) {
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < range.min[i] || shape[i] > range.max[i]) return false;
  }
  return true;
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
      input_count_(engine_->input_count()),
      shapes_(engine_->tensors().size()),
      addresses_(engine_->tensors().size(), nullptr),
      allocators_(engine_->tensors().size(), nullptr) {
  for (const TensorInfo& tensor : engine_->tensors()) {
    has_shape_tensors_ |= tensor.mode == IoMode::kInput && tensor.shape_tensor;
  }
  // An input's shape starts as one that no tensor has, so that the first call sets it.
  for (int i = 0; i < input_count_; ++i) shapes_[static_cast<size_t>(i)].rank = -1;
}

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::Create(
    std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile) {
  std::unique_ptr<Executor> executor(new Executor(std::move(engine), std::move(profile)));
  ContextOptions options;
  // Where layers cost nothing until somebody listens, one context serves every call.
  options.layer_times = !executor->engine_->layers_arrive_late();
  TRTSCOPE_ASSIGN_OR_RETURN(executor->context_, executor->engine_->CreateContext(options));
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
  const device::DeviceId expected =
      info.location == device::DeviceType::kHost ? device::DeviceId{} : engine_->device();
  if (view.device != expected) {
    return InvalidArgument(InputLabel(id(), i, info) + ": expected a tensor on " +
                           ToString(expected) + ", got one on " + ToString(view.device));
  }
  if (view.shape == shapes_[static_cast<size_t>(i)]) return OkStatus();
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

// One optimization profile must admit the shapes of all inputs together.  The one in use is
// tried first: changing profiles costs the context a re-initialisation.
Result<int> Executor::ChooseProfile(std::span<const TensorView> inputs) const {
  const int count = engine_->profile_count();
  for (int k = 0; k < count; ++k) {
    const int profile = (optimization_profile_ + k) % count;
    bool fits = true;
    for (int i = 0; i < input_count_ && fits; ++i) {
      const auto& ranges = input(i).profiles;
      if (static_cast<size_t>(profile) < ranges.size()) {
        fits = InRange(inputs[static_cast<size_t>(i)].shape, ranges[static_cast<size_t>(profile)]);
      }
    }
    if (fits) return profile;
  }
  std::string shapes;
  for (int i = 0; i < input_count_; ++i) {
    shapes += (i > 0 ? ", " : "") + input(i).name + " " +
              ToString(inputs[static_cast<size_t>(i)].shape);
  }
  return InvalidArgument("engine '" + id() + "': none of its " + std::to_string(count) +
                         " optimization profiles admits these input shapes together: " + shapes);
}

Status Executor::ApplyShapes(std::span<const TensorView> inputs, device::StreamRef stream) {
  shapes_known_ = false;
  if (engine_->profile_count() > 1) {
    TRTSCOPE_ASSIGN_OR_RETURN(int profile, ChooseProfile(inputs));
    if (profile != optimization_profile_) {
      TRTSCOPE_RETURN_IF_ERROR(context_->SetOptimizationProfile(profile, stream));
      optimization_profile_ = profile;
      // A context forgets its shapes with its profile.
      for (int i = 0; i < input_count_; ++i) shapes_[static_cast<size_t>(i)].rank = -1;
    }
  }
  for (int i = 0; i < input_count_; ++i) {
    const auto at = static_cast<size_t>(i);
    if (inputs[at].shape == shapes_[at]) continue;
    shapes_[at].rank = -1;
    TRTSCOPE_RETURN_IF_ERROR(context_->SetInputShape(i, inputs[at].shape));
    shapes_[at] = inputs[at].shape;
  }
  return OkStatus();
}

Status Executor::SetAddress(int index, void* data) {
  void* address = AddressOf(data);
  void*& held = addresses_[static_cast<size_t>(index)];
  if (address == held) return OkStatus();
  held = nullptr;  // unknown, should the context refuse
  TRTSCOPE_RETURN_IF_ERROR(context_->SetAddress(index, address));
  held = address;
  return OkStatus();
}

Status Executor::InferOutputs() {
  for (int i = 0; i < output_count(); ++i) {
    TRTSCOPE_ASSIGN_OR_RETURN(shapes_[static_cast<size_t>(input_count_ + i)],
                              context_->OutputShape(input_count_ + i));
  }
  shapes_known_ = true;
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
  if (sink == sink_) return OkStatus();
  sink_ = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetLayerSink(sink));
  sink_ = sink;
  return OkStatus();
}

Result<std::string> Executor::InspectorJson() {
  std::lock_guard lock(mutex_);
  return engine_->InspectorJson();
}

Executor::Call::Call(Executor& executor)
    : executor_(executor), lock_(executor.mutex_), recorder_(*executor.profile_) {}

Status Executor::Call::Fail(Status status) {
  recorder_.Leave();
  recorder_.MarkFailed();
  return status;
}

Status Executor::Call::BindInputs(std::span<const TensorView> inputs, device::StreamRef stream) {
  Executor& e = executor_;
  recorder_.Enter(Phase::kInputBinding);
  if (inputs.size() != static_cast<size_t>(e.input_count_)) {
    return Fail(InvalidArgument("engine '" + e.id() + "': expected " +
                                std::to_string(e.input_count_) + " inputs, got " +
                                std::to_string(inputs.size())));
  }
  bool new_shape = !e.shapes_known_ || e.has_shape_tensors_;
  for (int i = 0; i < e.input_count_; ++i) {
    const auto at = static_cast<size_t>(i);
    if (Status status = e.CheckInput(i, inputs[at]); !status.ok()) return Fail(std::move(status));
    new_shape = new_shape || !(inputs[at].shape == e.shapes_[at]);
  }
  if (new_shape) {
    if (Status status = e.ApplyShapes(inputs, stream); !status.ok()) {
      return Fail(std::move(status));
    }
  }
  for (int i = 0; i < e.input_count_; ++i) {
    if (Status status = e.SetAddress(i, inputs[static_cast<size_t>(i)].data); !status.ok()) {
      return Fail(std::move(status));
    }
  }
  if (new_shape) {
    recorder_.Enter(Phase::kShapeInference);
    if (Status status = e.InferOutputs(); !status.ok()) return Fail(std::move(status));
  }
  recorder_.Leave();
  return OkStatus();
}

const Dims& Executor::Call::OutputShape(int i) const {
  return executor_.shapes_[static_cast<size_t>(executor_.input_count_ + i)];
}

Status Executor::Call::BindOutput(int i, void* data) {
  Status status = executor_.SetAddress(executor_.input_count_ + i, data);
  return status.ok() ? std::move(status) : Fail(std::move(status));
}

Status Executor::Call::UseAllocator(int i, OutputAllocator* allocator) {
  const int index = executor_.input_count_ + i;
  OutputAllocator*& held = executor_.allocators_[static_cast<size_t>(index)];
  if (held == allocator) return OkStatus();
  held = nullptr;
  if (Status status = executor_.context_->SetOutputAllocator(index, allocator); !status.ok()) {
    return Fail(std::move(status));
  }
  held = allocator;
  return OkStatus();
}

Status Executor::Call::Enqueue(device::StreamRef stream) {
  Executor& e = executor_;
  if (Status status = e.ListenToLayers(recorder_); !status.ok()) return Fail(std::move(status));
  recorder_.Enter(Phase::kEnqueueHost);
  if (Status status = e.context_->Enqueue(stream); !status.ok()) return Fail(std::move(status));
  recorder_.Leave();
  return OkStatus();
}

}  // namespace trtscope::engine
