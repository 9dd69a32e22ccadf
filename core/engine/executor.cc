#include "core/engine/executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/profiling/clock.h"

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

Executor::~Executor() {
  if (on_device_ == nullptr) return;
  on_device_->order.Drain();
  CollectFinished();
}

Result<std::unique_ptr<Executor>> Executor::Create(
    std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile,
    ExecutorOptions options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(engine), std::move(profile)));
  Engine& loaded = *executor->engine_;
  if (loaded.device().type != device::DeviceType::kHost) {
    TRTSCOPE_ASSIGN_OR_RETURN(device::Device* const device, device::GetDevice(loaded.device()));
    executor->on_device_ = std::make_unique<OnDevice>(*device, loaded, *executor->profile_);
    executor->workspace_ = std::move(options.workspace);
    if (executor->workspace_ == nullptr) {
      executor->workspace_ = std::make_unique<DeviceWorkspace>(*device);
    }
  }
  if (options.weight_streaming_budget) {
    TRTSCOPE_RETURN_IF_ERROR(loaded.SetWeightStreamingBudget(*options.weight_streaming_budget));
  }
  TRTSCOPE_RETURN_IF_ERROR(executor->MakeContext());
  return executor;
}

Status Executor::MakeContext() {
  ContextOptions options;
  // Where layers cost nothing until somebody listens, one context serves every call.
  options.layer_times = !engine_->layers_arrive_late();
  options.user_managed_workspace = on_device_ != nullptr;
  TRTSCOPE_ASSIGN_OR_RETURN(context_, BoundContext::Create(*engine_, options));
  return OkStatus();
}

// Engines refuse to move weights under a context, so the contexts go and come back.
Status Executor::SetWeightStreamingBudget(int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (on_device_ != nullptr) {
    on_device_->order.Drain();
    CollectFinished();
    on_device_->layers.DropContext();
    on_device_->graphs.Clear();
  }
  context_.reset();
  Status budget = engine_->SetWeightStreamingBudget(bytes);
  TRTSCOPE_RETURN_IF_ERROR(MakeContext());
  return budget;
}

// Type and place are compared on every call; a shape only when it differs from the one that the
// context holds, which was checked when it was set.
Status Executor::CheckInput(const BoundContext& context, int i, const TensorView& view) const {
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
  if (context.HasShape(i, view.shape)) return OkStatus();
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

// Contexts share one block, which only grows: their calls never overlap.
Status Executor::ProvideWorkspace(BoundContext& context, device::StreamRef stream,
                                  profiling::CallRecorder& recorder) {
  if (context.workspace_bytes() == 0) return OkStatus();
  if (context.workspace_bytes() > workspace_bytes_) {
    recorder.Enter(Phase::kWorkspace);
    workspace_bytes_ = 0;  // what was there is given up first, and stays so when this fails
    TRTSCOPE_ASSIGN_OR_RETURN(workspace_data_,
                              workspace_->Reserve(context.workspace_bytes(), stream));
    workspace_bytes_ = context.workspace_bytes();
    profile_->SetWorkspaceBytes(workspace_bytes_);
    workspace_stream_ = stream;
  } else if (!(stream == workspace_stream_)) {
    TRTSCOPE_RETURN_IF_ERROR(workspace_->UseOn(stream));
    workspace_stream_ = stream;
  }
  return context.SetWorkspace(workspace_data_, workspace_bytes_);
}

GraphCache* Executor::GraphsOf(const BoundContext& context) {
  if (on_device_ == nullptr) return nullptr;
  return &context == context_.get() ? &on_device_->graphs : &on_device_->layers.graphs();
}

void Executor::Inspect() {
  if (inspected_) return;
  inspected_ = true;
  if (auto json = engine_->InspectorJson(); json.ok()) {
    profile_->SetInspectorJson(*std::move(json));
  }
}

void Executor::CollectFinished() {
  OnDevice& on = *on_device_;
  if (on.timeline.pending() == 0) return;
  const int64_t begin_ns = profiling::NowNs();
  if (const size_t spans = on.timeline.Collect(); spans > 0) {
    on.span_read_ns = (profiling::NowNs() - begin_ns) / static_cast<int64_t>(spans);
  }
  on.layers.Deliver(on.timeline);
}

Result<std::string> Executor::InspectorJson() {
  std::lock_guard lock(mutex_);
  return engine_->InspectorJson();
}

Executor::Call::Call(Executor& executor)
    : executor_(executor),
      lock_(executor.mutex_),
      recorder_(*executor.profile_),
      context_(executor.context_.get()) {
  if (executor.on_device_ != nullptr) executor.CollectFinished();
}

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
  recorder_.Enter(Phase::kInputBinding);
  if (inputs.size() != static_cast<size_t>(e.input_count_)) {
    return InvalidArgument("engine '" + e.id() + "': expected " + std::to_string(e.input_count_) +
                           " inputs, got " + std::to_string(inputs.size()));
  }
  if (e.on_device_ != nullptr) capturing_ = e.on_device_->device.IsCapturing(stream);
  if (recorder_.layers()) {
    e.Inspect();
    if (!capturing_ && e.engine_->layers_arrive_late() && e.on_device_ != nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(BoundContext* const measuring,
                                e.on_device_->layers.ContextForCall());
      if (measuring != nullptr) context_ = measuring;
    }
  }
  // After a context was made, which happens once: no call pays for it.
  if (recorder_.phases() && e.on_device_ != nullptr && !capturing_) begin_ns_ = profiling::NowNs();
  BoundContext& context = *context_;
  bool infer = e.has_shape_tensors_ || !context.shapes_known();
  for (int i = 0; i < e.input_count_; ++i) {
    const TensorView& input = inputs[static_cast<size_t>(i)];
    TRTSCOPE_RETURN_IF_ERROR(e.CheckInput(context, i, input));
    infer = infer || !context.HasShape(i, input.shape);
  }
  if (infer) {
    if (GraphCache* graphs = e.GraphsOf(context); graphs != nullptr) graphs->Clear();
    TRTSCOPE_RETURN_IF_ERROR(context.SetShapes(inputs, stream, e.id()));
  }
  for (int i = 0; i < e.input_count_; ++i) {
    TRTSCOPE_RETURN_IF_ERROR(context.SetAddress(i, inputs[static_cast<size_t>(i)].data));
  }
  if (infer) {
    recorder_.Enter(Phase::kShapeInference);
    TRTSCOPE_RETURN_IF_ERROR(context.InferOutputs());
  }
  TRTSCOPE_RETURN_IF_ERROR(e.ProvideWorkspace(context, stream, recorder_));
  recorder_.Leave();
  return OkStatus();
}

const Dims& Executor::Call::OutputShape(int i) const {
  return context_->shape(executor_.input_count_ + i);
}

Status Executor::Call::BindOutput(int i, void* data) {
  return Failed(context_->SetAddress(executor_.input_count_ + i, data));
}

Status Executor::Call::UseAllocator(int i, OutputAllocator* allocator) {
  return Failed(context_->SetAllocator(executor_.input_count_ + i, allocator));
}

Status Executor::Call::Enqueue(device::StreamRef stream) {
  Status status = Failed(EnqueueOrFail(stream));
  recorder_.Leave();
  return status;
}

Status Executor::Call::EnqueueOrFail(device::StreamRef stream) {
  if (executor_.on_device_ != nullptr) return EnqueueOnDevice(stream);
  // On the host, layers come while the call runs and go straight to its record.
  const bool listen = recorder_.layers() && stream.handle == nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetLayerSink(listen ? &recorder_.layer_sink() : nullptr));
  recorder_.Enter(Phase::kEnqueueHost);
  return context_->Enqueue(stream, nullptr);
}

Status Executor::Call::EnqueueOnDevice(device::StreamRef callers_stream) {
  OnDevice& on_device = *executor_.on_device_;
  if (capturing_) {
    // It becomes a part of the caller's graph: there is nothing to order or to measure, now.
    recorder_.Enter(Phase::kEnqueueHost);
    return context_->Enqueue(callers_stream, nullptr);
  }
  const bool measured_layers = context_ != executor_.context_.get();
  device::StreamRef stream = callers_stream;
  if (measured_layers) {
    stream = on_device.layers.stream();
    TRTSCOPE_RETURN_IF_ERROR(on_device.order.Fork(callers_stream, stream));
  }
  TRTSCOPE_RETURN_IF_ERROR(on_device.order.Enter(stream));
  on_device.spans.SetInterval(executor_.profile_->sample_interval());
  // Who traces wants every call, unless told otherwise.
  const bool all = executor_.profile_->sample_interval() == 0 && executor_.profile_->has_listener();
  const bool spanned = recorder_.phases() && (on_device.spans.Take() || measured_layers || all);
  int64_t span_ns = 0;
  if (spanned) {
    const int64_t before_ns = profiling::NowNs();
    TRTSCOPE_RETURN_IF_ERROR(on_device.timeline.Begin(recorder_.call(), stream));
    span_ns = profiling::NowNs() - before_ns;
  }
  recorder_.Enter(Phase::kEnqueueHost);
  Status enqueued =
      context_->Enqueue(stream, CudaGraphs() ? executor_.GraphsOf(*context_) : nullptr);
  recorder_.Leave();
  Status timed;
  if (enqueued.ok()) {
    if (on_device.timeline.measuring()) recorder_.ExpectGpuSpan();
    timed = on_device.timeline.End(stream);
  } else {
    on_device.timeline.Abandon();
  }
  Status ordered = on_device.order.Leave(stream);  // also after a failure: a part may run
  if (measured_layers && ordered.ok()) ordered = on_device.order.Join(callers_stream);
  TRTSCOPE_RETURN_IF_ERROR(std::move(enqueued));
  TRTSCOPE_RETURN_IF_ERROR(std::move(timed));
  TRTSCOPE_RETURN_IF_ERROR(std::move(ordered));
  if (measured_layers) on_device.layers.Enqueued(recorder_.call(), on_device.timeline);
  // Two events cost alike: the first one's time stands for both.
  if (begin_ns_ != 0) ObserveCost(measured_layers, 2 * span_ns);
  return OkStatus();
}

// What measuring adds.  A span's part is timed by itself; what a measuring context adds is the
// difference to plain calls, and what its layers take to deliver at the least.
void Executor::Call::ObserveCost(bool measured_layers, int64_t span_ns) {
  OnDevice& on_device = *executor_.on_device_;
  const int64_t host_ns = profiling::NowNs() - begin_ns_;
  CallSampler& layers = on_device.layers.sampler();
  if (measured_layers) {
    const int64_t later_ns = on_device.span_read_ns + on_device.layers.delivery_ns();
    layers.ObserveAdded(std::max(host_ns - layers.plain_ns(), span_ns) + later_ns);
    return;
  }
  if (span_ns > 0) on_device.spans.ObserveAdded(span_ns + on_device.span_read_ns);
  on_device.spans.ObservePlain(host_ns - span_ns);
  if (recorder_.layers()) layers.ObservePlain(host_ns - span_ns);
}

}  // namespace trtscope::engine
