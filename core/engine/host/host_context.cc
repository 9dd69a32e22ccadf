#include "core/engine/host/host_context.h"

#include <cstring>
#include <utility>

#include "core/device/host/host_stream.h"

// Method::get_input and mutable_output are marked as deprecated in favour of calls that copy.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace trtscope::engine::host {
namespace {

using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;

Dims ShapeOf(const Tensor& tensor) {
  Dims shape;
  for (ssize_t d = 0; d < tensor.dim() && d < Dims::kMaxRank; ++d) {
    shape[shape.rank++] = tensor.size(d);
  }
  return shape;
}

}  // namespace

HostContext::HostContext(const HostModel& model, bool layer_times)
    : model_(model), layer_times_(layer_times) {
  const size_t count = model.tensors.size();
  next_.shapes.resize(count);
  next_.addresses.resize(count, nullptr);
  next_.allocators.resize(count, nullptr);
  scratch_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const TensorInfo& info = model.tensors[i];
    next_.shapes[i] = info.shape;
    slots_.push_back(std::make_unique<TensorSlot>());
    if (i < inputs() && info.shape.dynamic()) ++missing_;
    if (!info.data_dependent) ++missing_;  // its address
    data_dependent_ |= info.data_dependent;
  }
}

Result<std::unique_ptr<HostContext>> HostContext::Create(const HostModel& model, bool layer_times) {
  std::unique_ptr<HostContext> context(new HostContext(model, layer_times));
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    if (!model.tensors[i].data_dependent) continue;
    const size_t bytes = ByteSize(model.io[i].bound, model.tensors[i].dtype);
    context->scratch_[i].reset(std::malloc(std::max<size_t>(bytes, 1)));
    if (context->scratch_[i] == nullptr) {
      return ResourceExhausted(context->Label(i) + ": no memory for the " + std::to_string(bytes) +
                               " octets that it may take");
    }
  }
  if (layer_times) context->tracer_.emplace(model.plan);
  // A backend may work for its tracer even if that listens to nothing, so such a program is loaded
  // a second time when layers are wanted.  Not if it has a state, for there must be one.
  const bool one_for_all = layer_times && (!model.plan.delegates || model.plan.mutable_state);
  TRTSCOPE_RETURN_IF_ERROR(context->Instance(one_for_all).status());
  return context;
}

HostContext::~HostContext() {
  std::unique_lock<std::mutex> lock(pending_mutex_);
  pending_changed_.wait(lock, [this] { return pending_ == 0; });
}

bool HostContext::IsTensor(int index) const {
  return index >= 0 && static_cast<size_t>(index) < model_.tensors.size();
}

std::string HostContext::Label(size_t index) const {
  return model_.name + ", tensor '" + model_.tensors[index].name + "'";
}

Status HostContext::NoSuch(const char* what, int index) const {
  return InvalidArgument(model_.name + ": there is no " + what + " with index " +
                         std::to_string(index));
}

Status HostContext::SetOptimizationProfile(int profile, device::StreamRef) {
  if (profile == 0) return OkStatus();
  return InvalidArgument(model_.name + ": optimization profile " + std::to_string(profile) +
                         " was chosen, but a host plan has one, number 0");
}

Status HostContext::SetInputShape(int index, const Dims& shape) {
  if (!IsTensor(index) || index >= model_.input_count) return NoSuch("input", index);
  const auto at = static_cast<size_t>(index);
  const TensorInfo& info = model_.tensors[at];
  // The runtime stops the process on some shapes that it cannot take: none may reach it.
  bool fits = shape.rank == info.shape.rank;
  for (int d = 0; fits && d < shape.rank; ++d) {
    fits = info.shape[d] >= 0
               ? shape[d] == info.shape[d]
               : shape[d] >= info.profiles[0].min[d] && shape[d] <= info.profiles[0].max[d];
  }
  if (!fits) {
    std::string expected = ToString(info.shape);
    if (info.shape.dynamic()) {
      expected +=
          " from " + ToString(info.profiles[0].min) + " to " + ToString(info.profiles[0].max);
    }
    return InvalidArgument(Label(at) + ": expected the shape " + expected + ", got " +
                           ToString(shape));
  }
  if (next_.shapes[at].dynamic()) --missing_;
  next_.shapes[at] = shape;
  outputs_known_ = false;
  return OkStatus();
}

Status HostContext::SetAddress(int index, void* data) {
  if (!IsTensor(index)) return NoSuch("tensor", index);
  const auto at = static_cast<size_t>(index);
  if (data == nullptr) return InvalidArgument(Label(at) + ": its address is null");
  if (next_.addresses[at] == nullptr && !model_.tensors[at].data_dependent) --missing_;
  next_.addresses[at] = data;
  return OkStatus();
}

Status HostContext::InferOutputs() {
  std::vector<int64_t> symbols;
  for (const Bindings::Symbol& symbol : model_.bindings.symbols) {
    symbols.push_back(next_.shapes[static_cast<size_t>(symbol.input)][symbol.dim]);
  }
  for (size_t i = inputs(); i < model_.tensors.size(); ++i) {
    const TensorInfo& info = model_.tensors[i];
    if (info.data_dependent || !info.shape.dynamic()) continue;
    const Binding& binding = model_.bindings.outputs[i - inputs()];
    Dims shape = info.shape;
    for (int d = 0; d < shape.rank; ++d) {
      Result<int64_t> dim = binding.dims[static_cast<size_t>(d)].Evaluate(symbols);
      if (!dim.ok()) {
        return Status(dim.status().code(), Label(i) + ", dimension " + std::to_string(d) + ": " +
                                               std::string(dim.status().message()));
      }
      if (*dim > model_.io[i].bound[d]) {
        return InvalidArgument(Label(i) + ", dimension " + std::to_string(d) + ": comes to " +
                               std::to_string(*dim) + " for these inputs, over the program's " +
                               ToString(model_.io[i].bound));
      }
      shape[d] = *dim;
    }
    next_.shapes[i] = shape;
  }
  outputs_known_ = true;
  return OkStatus();
}

Result<Dims> HostContext::OutputShape(int index) {
  if (!IsOutput(index)) return NoSuch("output", index);
  const auto at = static_cast<size_t>(index);
  if (!outputs_known_) {
    for (size_t i = 0; i < inputs(); ++i) {
      if (next_.shapes[i].dynamic()) {
        return FailedPrecondition(Label(at) + ": its shape depends on that of input '" +
                                  model_.tensors[i].name + "', which was not set");
      }
    }
    TRTSCOPE_RETURN_IF_ERROR(InferOutputs());
  }
  return next_.shapes[at];
}

Status HostContext::SetOutputAllocator(int index, OutputAllocator* allocator) {
  if (!IsOutput(index)) return NoSuch("output", index);
  next_.allocators[static_cast<size_t>(index)] = allocator;
  return OkStatus();
}

Status HostContext::SetLayerSink(profiling::LayerSink* sink) {
  if (sink != nullptr && !layer_times_) {
    return FailedPrecondition(model_.name + ": this context was made without layer times");
  }
  next_.sink = sink;
  return OkStatus();
}

Status HostContext::WhatIsMissing() const {
  for (size_t i = 0; i < model_.tensors.size(); ++i) {
    if (i < inputs() && next_.shapes[i].dynamic()) {
      return FailedPrecondition(Label(i) + ": its shape was not set");
    }
    if (next_.addresses[i] == nullptr && !model_.tensors[i].data_dependent) {
      return FailedPrecondition(Label(i) + ": its address was not set");
    }
  }
  return Internal(model_.name + ": lost count of what was set");
}

Status HostContext::Enqueue(device::StreamRef stream) {
  if (missing_ > 0) [[unlikely]]
    return WhatIsMissing();
  if (stream.type != device::DeviceType::kHost) [[unlikely]] {
    return InvalidArgument(model_.name + ": runs on the host, but got a CUDA stream");
  }
  if (stream_failed_.load(std::memory_order_acquire)) [[unlikely]]
    return TakeStreamError();
  if (!outputs_known_) TRTSCOPE_RETURN_IF_ERROR(InferOutputs());
  if (data_dependent_) {
    for (size_t i = inputs(); i < model_.tensors.size(); ++i) {
      if (model_.tensors[i].data_dependent && next_.allocators[i] == nullptr) {
        return FailedPrecondition(Label(i) +
                                  ": its shape depends on data, but it has no output allocator");
      }
    }
  }
  return stream.handle == nullptr ? Run(next_) : EnqueueOnStream(stream);
}

Status HostContext::EnqueueOnStream(device::StreamRef stream) {
  {
    std::lock_guard<std::mutex> lock(pending_mutex_);
    ++pending_;
  }
  auto call = std::make_shared<const Call>(next_);
  device::RunOn(stream, [this, call] {
    Status status = Run(*call);
    std::lock_guard<std::mutex> lock(pending_mutex_);
    if (!status.ok() && stream_error_.ok()) {
      stream_error_ = std::move(status);
      stream_failed_.store(true, std::memory_order_release);
    }
    --pending_;
    pending_changed_.notify_all();
  });
  if (!data_dependent_) return OkStatus();
  {
    std::unique_lock<std::mutex> lock(pending_mutex_);
    pending_changed_.wait(lock, [this] { return pending_ == 0; });
  }
  return TakeStreamError();
}

Status HostContext::TakeStreamError() {
  std::lock_guard<std::mutex> lock(pending_mutex_);
  stream_failed_.store(false, std::memory_order_relaxed);
  return std::exchange(stream_error_, OkStatus());
}

Result<MethodInstance*> HostContext::Instance(bool traced) {
  if (traced || (plain_ == nullptr && traced_ != nullptr)) {
    if (traced_ == nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(traced_,
                                MethodInstance::Load(*model_.program, "forward", &*tracer_));
    }
    return traced_.get();
  }
  if (plain_ == nullptr) {
    TRTSCOPE_ASSIGN_OR_RETURN(plain_, MethodInstance::Load(*model_.program, "forward", nullptr));
  }
  return plain_.get();
}

Status HostContext::BindInputs(Method& method, const Call& call) {
  for (size_t i = 0; i < inputs(); ++i) {
    slots_[i]->Set(model_.io[i].type, call.shapes[i], call.addresses[i]);
    if (const Error error = method.set_input(slots_[i]->value(), i); error != Error::Ok) {
      return Internal(Label(i) + ": ExecuTorch does not take this input " +
                      ToString(call.shapes[i]) + ": " + ErrorText(error));
    }
  }
  return OkStatus();
}

// An output that the program gives no place of its own becomes a tensor over the caller's memory.
// That tensor cannot outgrow what the caller was told to bring, whatever the program does.
void HostContext::BindOutputs(Method& method, const Call& call) {
  for (size_t k = 0; k < method.outputs_size(); ++k) {
    const size_t i = inputs() + k;
    if (model_.io[i].planned) continue;
    const EValue* value = &method.get_output(k);
    bool shared = false;  // with an input, or with an output that has its memory already
    for (size_t j = 0; j < inputs() && !shared; ++j) shared = &method.get_input(j) == value;
    for (size_t j = 0; j < k && !shared; ++j) shared = &method.get_output(j) == value;
    if (shared) continue;
    const bool late = model_.tensors[i].data_dependent;
    slots_[i]->Set(model_.io[i].type, late ? model_.io[i].bound : call.shapes[i],
                   late ? scratch_[i].get() : call.addresses[i]);
    method.mutable_output(k) = slots_[i]->value();
  }
}

Status HostContext::TakeOutput(Method& method, const Call& call, size_t k) {
  const size_t i = inputs() + k;
  const EValue& value = method.get_output(k);
  if (!value.isTensor()) return Internal(Label(i) + ": came out as something that is no tensor");
  const Tensor& tensor = value.toTensor();
  const TensorInfo& info = model_.tensors[i];
  const Dims shape = ShapeOf(tensor);
  if (tensor.dim() != info.shape.rank || tensor.scalar_type() != model_.io[i].type) {
    return Internal(Label(i) + ": came out with another type or rank than the program declares");
  }
  void* to = call.addresses[i];
  if (info.data_dependent) {
    to = call.allocators[i]->Allocate(static_cast<int>(i), tensor.nbytes());
    if (to == nullptr) {
      return ResourceExhausted(Label(i) + ": the output allocator refused " +
                               std::to_string(tensor.nbytes()) + " octets");
    }
    call.allocators[i]->OnShape(static_cast<int>(i), shape);
  } else if (!(shape == call.shapes[i])) {
    return Internal(Label(i) + ": came out as " + ToString(shape) + ", expected " +
                    ToString(call.shapes[i]));
  }
  // In place already, unless the program put it elsewhere: into its own plan, or as a view.
  const void* from = tensor.const_data_ptr();
  if (from == to || tensor.nbytes() == 0) return OkStatus();
  if (from == nullptr) return Internal(Label(i) + ": the program left it without memory");
  std::memmove(to, from, tensor.nbytes());
  return OkStatus();
}

Status HostContext::Run(const Call& call) {
  // Streams order a context's work; this also holds where a caller used two without ordering them.
  std::lock_guard<std::mutex> lock(run_mutex_);
  TRTSCOPE_ASSIGN_OR_RETURN(MethodInstance* const instance, Instance(call.sink != nullptr));
  Method& method = instance->method();
  TRTSCOPE_RETURN_IF_ERROR(BindInputs(method, call));
  BindOutputs(method, call);
  if (call.sink != nullptr) tracer_->SetSink(call.sink);
  const Error error = method.execute();
  if (call.sink != nullptr) tracer_->SetSink(nullptr);
  if (error != Error::Ok) {
    return Internal(model_.name + ": ExecuTorch's execute failed: " + ErrorText(error) +
                    " (its log on stderr says where)");
  }
  for (size_t k = 0; k < method.outputs_size(); ++k) {
    TRTSCOPE_RETURN_IF_ERROR(TakeOutput(method, call, k));
  }
  return OkStatus();
}

}  // namespace trtscope::engine::host
