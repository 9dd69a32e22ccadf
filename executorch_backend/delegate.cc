#include "executorch_backend/delegate.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/engine/plan.h"
#include "core/profiling/config.h"
#include "executorch_backend/caller_stream.h"
#include "executorch_backend/convert.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;
using engine::Dims;
using engine::IoMode;
using engine::TensorInfo;
using engine::TensorView;
using profiling::Phase;

std::string Names(const engine::Engine& engine, IoMode mode) {
  std::string names;
  for (const TensorInfo& tensor : engine.tensors()) {
    if (tensor.mode != mode) continue;
    names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  }
  return names;
}

// Unless the message names the engine already.
Status Named(const std::string& engine, const Status& status) {
  const std::string message(status.message());
  if (message.rfind("engine '", 0) == 0) return status;
  return Status(status.code(), "engine '" + engine + "': " + message);
}

// Of one rank, and alike wherever both know the size.
bool MayBeOne(const Dims& a, const Dims& b) {
  if (a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a[d] >= 0 && b[d] >= 0 && a[d] != b[d]) return false;
  }
  return true;
}

// What the blob says of a tensor against what its plan says.
Status CheckBinding(const IoBinding& binding, const TensorInfo& info, const std::string& label) {
  if (binding.dtype && *binding.dtype != info.dtype) {
    return DataLoss(label + ": its blob says " + std::string(engine::Name(*binding.dtype)) +
                    ", its plan " + std::string(engine::Name(info.dtype)));
  }
  if (binding.shape && !MayBeOne(*binding.shape, info.shape)) {
    return DataLoss(label + ": its blob says shape " + ToString(*binding.shape) + ", its plan " +
                    ToString(info.shape));
  }
  return OkStatus();
}

device::CopyKind KindOf(device::DeviceId to, device::DeviceId from) {
  if (to.type == from.type) return device::CopyKind::kDeviceToDevice;
  return to.type == device::DeviceType::kHost ? device::CopyKind::kDeviceToHost
                                              : device::CopyKind::kHostToDevice;
}

}  // namespace

Delegate::~Delegate() {
  if (host_order_) host_order_->Drain();
}

Result<std::unique_ptr<Delegate>> Delegate::Create(std::span<const std::byte> processed,
                                                   std::string_view method,
                                                   const MethodOptions& options) {
  std::string name(method.empty() ? "delegate" : method);
  Result<Blob> parsed = ParseBlob(processed);
  if (!parsed.ok()) return Named(name, parsed.status());
  Blob& blob = *parsed;
  if (!blob.metadata.name.empty()) name = blob.metadata.name;
  if (Status status = CheckPlatform(blob); !status.ok()) return Named(name, status);
  TRTSCOPE_ASSIGN_OR_RETURN(const engine::PlanInfo plan, engine::InspectPlan(blob.plan));
  engine::LoadOptions load;
  load.name = name;
  const bool needs_gpu =
      plan.kind == engine::PlanKind::kTensorRt || plan.kind == engine::PlanKind::kTensorRtRtx;
  if (options.target_device) {
    load.device = *options.target_device;
  } else if (needs_gpu) {
    load.device = {device::DeviceType::kCuda, blob.metadata.device_id};
  }
  TRTSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<engine::Engine> engine,
                            engine::LoadEngine(blob.plan, load));
  if (options.weight_streaming_budget) {
    Status status = engine->SetWeightStreamingBudget(*options.weight_streaming_budget);
    if (!status.ok()) return Named(name, status);
  }
  std::unique_ptr<Delegate> delegate(new Delegate);
  TRTSCOPE_ASSIGN_OR_RETURN(delegate->device_, device::GetDevice(engine->device()));
  if (engine->device().type == device::DeviceType::kHost) {
    delegate->host_order_.emplace(*delegate->device_);
  }

  auto profile = profiling::EngineProfile::Register(
      {name, plan.hash, std::string(engine::Name(plan.kind)), "executorch"});
  if (options.profile.path_prefix) {
    TRTSCOPE_RETURN_IF_ERROR(profile->SetOwnPathPrefix(*options.profile.path_prefix));
  }
  if (options.profile.format) {
    TRTSCOPE_RETURN_IF_ERROR(profile->SetOwnFormat(profiling::Name(*options.profile.format)));
  }
  if (options.filter && !profiling::GlobMatches(*options.filter, profile->id())) {
    profile->SetOwnLevel(profiling::Level::kOff);
  } else if (options.profile.level) {
    profile->SetOwnLevel(*options.profile.level);
  }
  delegate->events_ = std::make_unique<EventLog>(profile->id(), std::string(method));
  profile->SetObserver(delegate->events_.get());
  TRTSCOPE_ASSIGN_OR_RETURN(delegate->executor_,
                            engine::Executor::Create(std::move(engine), std::move(profile)));

  // A host plan made by other means may have lost the names.
  TRTSCOPE_RETURN_IF_ERROR(delegate->MatchBindings(blob, plan.kind == engine::PlanKind::kHost));
  TRTSCOPE_RETURN_IF_ERROR(delegate->MatchAliases(blob));
  delegate->views_.resize(delegate->inputs_.size());
  return delegate;
}

Status Delegate::MatchBindings(const Blob& blob, bool by_position) {
  const engine::Engine& engine = executor_->engine();
  const std::string prefix = "engine '" + id() + "'";
  for (const IoMode mode : {IoMode::kInput, IoMode::kOutput}) {
    const bool input = mode == IoMode::kInput;
    std::vector<Io>& list = input ? inputs_ : outputs_;
    const int count = input ? executor_->input_count() : executor_->output_count();
    if (blob.metadata.io_bindings.empty()) {
      for (int i = 0; i < count; ++i) list.emplace_back(i);
      continue;
    }
    std::vector<bool> taken(static_cast<size_t>(count), false);
    for (const IoBinding& binding : blob.metadata.io_bindings) {
      if (binding.is_input != input) continue;
      const std::string what = std::string(input ? "input" : "output") + " '" + binding.name + "'";
      int at = 0;
      const auto info = [&](int i) -> const TensorInfo& {
        return input ? executor_->input(i) : executor_->output(i);
      };
      while (at < count && info(at).name != binding.name) ++at;
      if (at == count && by_position) at = static_cast<int>(list.size());
      if (at >= count || taken[static_cast<size_t>(at)]) {
        return DataLoss(prefix + ": its blob names the " + what +
                        ", which its plan does not have; the plan has " + Names(engine, mode));
      }
      taken[static_cast<size_t>(at)] = true;
      TRTSCOPE_RETURN_IF_ERROR(CheckBinding(binding, info(at), prefix + ", " + what));
      list.emplace_back(at);
    }
    if (list.size() != static_cast<size_t>(count)) {
      return DataLoss(prefix + ": its blob names " + std::to_string(list.size()) +
                      (input ? " inputs" : " outputs") + ", its plan has " + std::to_string(count) +
                      ": " + Names(engine, mode));
    }
  }
  return OkStatus();
}

Status Delegate::MatchAliases(const Blob& blob) {
  for (Io& output : outputs_) {
    const TensorInfo& info = executor_->output(output.index);
    std::string input = info.aliased_input;
    // Outputs of the blob are in the order of outputs_, but its names may not be the plan's.
    size_t position = 0;
    const auto at = static_cast<size_t>(&output - outputs_.data());
    for (const IoBinding& binding : blob.metadata.io_bindings) {
      if (binding.is_input || position++ != at) continue;
      for (const AliasedIo& alias : blob.metadata.aliased_io) {
        if (alias.output == binding.name) input = alias.input;
      }
    }
    if (input.empty()) continue;
    int found = -1, i = 0;
    for (const IoBinding& binding : blob.metadata.io_bindings) {
      if (!binding.is_input) continue;
      if (binding.name == input) found = i;
      ++i;
    }
    for (size_t k = 0; found < 0 && k < inputs_.size(); ++k) {
      if (executor_->input(inputs_[k].index).name == input) found = static_cast<int>(k);
    }
    const TensorInfo* const source =
        found < 0 ? nullptr : &executor_->input(inputs_[static_cast<size_t>(found)].index);
    if (source == nullptr || source->dtype != info.dtype || source->location != info.location) {
      return DataLoss("engine '" + id() + "', output '" + info.name +
                      "': it cannot be the memory of '" + input +
                      "', which is no input of the same type and place");
    }
    output.alias = found;
    ++elidable_;
  }
  return OkStatus();
}

std::string Delegate::InputLabel(size_t position) const {
  return "engine '" + id() + "', input " + std::to_string(position) + " '" +
         executor_->input(inputs_[position].index).name + "'";
}

std::string Delegate::OutputLabel(size_t position) const {
  return "engine '" + id() + "', output " + std::to_string(position) + " '" +
         executor_->output(outputs_[position].index).name + "'";
}

Status Delegate::Execute(et::EventTracer* tracer, et::Span<EValue*> args) {
  engine::Executor::Call call(*executor_);  // the mutex, then the profiling generation
  events_->Begin(tracer);
  Status status = Run(call, args, tracer);
  if (!status.ok()) {
    call.recorder().Leave();
    call.recorder().MarkFailed();
  }
  return status;
}

Status Delegate::TakeArguments(et::Span<EValue*> args) {
  const size_t all = inputs_.size() + outputs_.size();
  const bool elided = elidable_ != 0 && args.size() == all - elidable_;
  if (args.size() != all && !elided) {
    return InvalidArgument("engine '" + id() + "': expected " + std::to_string(all) +
                           " arguments (" + std::to_string(inputs_.size()) + " inputs and " +
                           std::to_string(outputs_.size()) + " outputs), got " +
                           std::to_string(args.size()));
  }
  size_t at = 0;
  for (Io& input : inputs_) input.value = args[at++];
  for (Io& output : outputs_) {
    output.value = elided && output.alias >= 0 ? nullptr : args[at++];
    output.staged = false;
  }
  return OkStatus();
}

Result<TensorView> Delegate::ViewOf(const EValue* value, const TensorInfo& info,
                                    const std::string& label) const {
  if (value == nullptr || !value->isTensor()) {
    return InvalidArgument(label + ": expected a tensor, got " +
                           (value == nullptr
                                ? "nothing"
                                : "a value of another kind (tag " +
                                      std::to_string(static_cast<int>(value->tag)) + ")"));
  }
  const et::etensor::Tensor& tensor = value->toTensor();
  const std::optional<engine::DataType> type = FromExecuTorch(tensor.scalar_type());
  if (!type || *type != info.dtype) {
    return InvalidArgument(label + ": expected " + std::string(engine::Name(info.dtype)) +
                           ", got " + TypeName(tensor.scalar_type()));
  }
  if (tensor.dim() > Dims::kMaxRank) {
    return InvalidArgument(label + ": expected rank " + std::to_string(info.shape.rank) +
                           ", got rank " + std::to_string(tensor.dim()));
  }
  if (!et::is_contiguous_dim_order(tensor.dim_order().data(), tensor.dim_order().size())) {
    return InvalidArgument(label +
                           ": expected a tensor with its dimensions in order, got one in "
                           "another dimension order (channels last?)");
  }
  TensorView view;
  view.data = const_cast<void*>(tensor.const_data_ptr());
  view.dtype = *type;
  view.shape = DimsOf(tensor.sizes());
  view.device = FromExecuTorch(tensor.device());
  return view;
}

Result<Staging*> Delegate::StagingOf(Io& io, device::DeviceId place) const {
  if (io.staging == nullptr) {
    TRTSCOPE_ASSIGN_OR_RETURN(device::Device* const device, device::GetDevice(place));
    io.staging = std::make_unique<Staging>(*device);
  }
  return io.staging.get();
}

// One of the two places is the engine's device, or both are the host.
Status Delegate::Copy(void* to, device::DeviceId to_device, const void* from,
                      device::DeviceId from_device, size_t bytes, device::StreamRef stream) {
  if (bytes == 0 || to == from) return OkStatus();
  for (const device::DeviceId place : {to_device, from_device}) {
    if (place.type != device::DeviceType::kHost && place != device_->id()) {
      return InvalidArgument("engine '" + id() + "' runs on " + ToString(device_->id()) +
                             "; got a tensor on " + ToString(place));
    }
  }
  if (to_device != from_device) must_wait_ = true;
  return device_->CopyAsync(to, from, bytes, KindOf(to_device, from_device), stream);
}

Status Delegate::StageInput(engine::Executor::Call& call, size_t position,
                            device::StreamRef stream) {
  Io& input = inputs_[position];
  const TensorInfo& info = executor_->input(input.index);
  // The label is a string: it is made only where it is needed.
  if (input.value == nullptr || !input.value->isTensor()) {
    return ViewOf(input.value, info, InputLabel(position)).status();
  }
  Result<TensorView> viewed = ViewOf(input.value, info, std::string());
  if (!viewed.ok()) return ViewOf(input.value, info, InputLabel(position)).status();
  TensorView& view = *viewed;
  if (view.data == nullptr && view.shape.elements() != 0) {
    return InvalidArgument(InputLabel(position) + ": has no memory; set it before the call");
  }
  const device::DeviceId place = executor_->DeviceOf(info);
  input.staged = view.device != place;
  if (input.staged) {
    const size_t bytes = ByteSize(view.shape, view.dtype);
    TRTSCOPE_ASSIGN_OR_RETURN(Staging* const staging, StagingOf(input, place));
    TRTSCOPE_ASSIGN_OR_RETURN(void* const data, staging->Reserve(bytes));
    TRTSCOPE_RETURN_IF_ERROR(Copy(data, place, view.data, view.device, bytes, stream));
    if (place.type == device::DeviceType::kHost) {
      // The engine reads it on the host, before anything is enqueued.
      call.recorder().Enter(Phase::kSynchronize);
      TRTSCOPE_RETURN_IF_ERROR(device_->Synchronize(stream));
      call.recorder().Enter(Phase::kInputBinding);
    }
    view.data = data;
    view.device = place;
  }
  input.data = view.data;
  views_[static_cast<size_t>(input.index)] = view;
  return OkStatus();
}

Status Delegate::Resize(EValue* value, const Dims& shape, const std::string& label) const {
  et::etensor::Tensor& tensor = value->toTensor();
  if (DimsOf(tensor.sizes()) == shape) return OkStatus();
  std::array<::executorch::aten::SizesType, Dims::kMaxRank> sizes{};
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] < 0 || shape[d] > std::numeric_limits<::executorch::aten::SizesType>::max()) {
      return InvalidArgument(label + ": the engine gives shape " + ToString(shape) +
                             ", which a tensor of ExecuTorch cannot have");
    }
    sizes[static_cast<size_t>(d)] = static_cast<::executorch::aten::SizesType>(shape[d]);
  }
  const et::Error error =
      et::resize_tensor(tensor, {sizes.data(), static_cast<size_t>(shape.rank)});
  if (error == et::Error::Ok) return OkStatus();
  return InvalidArgument(label + ": the engine gives shape " + ToString(shape) +
                         ", but the program planned a tensor of shape " +
                         ToString(DimsOf(tensor.sizes())) +
                         " that cannot become it: export with bounds "
                         "that cover it");
}

Status Delegate::BindOutput(engine::Executor::Call& call, size_t position) {
  Io& output = outputs_[position];
  const TensorInfo& info = executor_->output(output.index);
  const Dims& shape = call.OutputShape(output.index);
  const device::DeviceId place = executor_->DeviceOf(info);
  if (output.value != nullptr) {
    Result<TensorView> view = ViewOf(output.value, info, std::string());
    if (!view.ok()) return ViewOf(output.value, info, OutputLabel(position)).status();
  }
  if (output.alias >= 0) {
    const Io& input = inputs_[static_cast<size_t>(output.alias)];
    output.data = input.data;
    if (output.value != nullptr) {
      const Dims& size = views_[static_cast<size_t>(input.index)].shape;
      TRTSCOPE_RETURN_IF_ERROR(Resize(output.value, size, OutputLabel(position)));
    }
    return call.BindOutput(output.index, output.data);
  }
  if (shape.dynamic()) {
    if (output.unknown == nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(device::Device* const device, device::GetDevice(place));
      output.unknown = std::make_unique<UnknownOutput>(*device);
    }
    output.unknown->Reset();
    output.staged = true;
    must_wait_ = true;
    return call.UseAllocator(output.index, output.unknown.get());
  }
  et::etensor::Tensor& tensor = output.value->toTensor();
  if (DimsOf(tensor.sizes()) != shape) {
    TRTSCOPE_RETURN_IF_ERROR(Resize(output.value, shape, OutputLabel(position)));
  }
  output.data = tensor.mutable_data_ptr();
  const size_t bytes = ByteSize(shape, info.dtype);
  if (output.data == nullptr && bytes != 0) {
    return InvalidArgument(OutputLabel(position) +
                           ": has no memory; plan it, or set it with set_output before the call");
  }
  output.staged = FromExecuTorch(tensor.device()) != place;
  if (output.staged) {
    TRTSCOPE_ASSIGN_OR_RETURN(Staging* const staging, StagingOf(output, place));
    TRTSCOPE_ASSIGN_OR_RETURN(output.data, staging->Reserve(bytes));
  }
  return call.BindOutput(output.index, output.data);
}

Status Delegate::FinishUnknown(engine::Executor::Call& call, Io& output, size_t position,
                               device::StreamRef stream) {
  UnknownOutput& unknown = *output.unknown;
  TRTSCOPE_RETURN_IF_ERROR(call.UseAllocator(output.index, nullptr));
  if (!unknown.known()) {
    return Internal(OutputLabel(position) + ": the engine ran without saying its shape");
  }
  TRTSCOPE_RETURN_IF_ERROR(Resize(output.value, unknown.shape(), OutputLabel(position)));
  const TensorInfo& info = executor_->output(output.index);
  et::etensor::Tensor& tensor = output.value->toTensor();
  if (tensor.mutable_data_ptr() == nullptr && tensor.nbytes() != 0) {
    return InvalidArgument(OutputLabel(position) + ": has no memory");
  }
  return Copy(tensor.mutable_data_ptr(), FromExecuTorch(tensor.device()), unknown.data(),
              executor_->DeviceOf(info), ByteSize(unknown.shape(), info.dtype), stream);
}

// Brings what the engine wrote to where the caller looks for it.
Status Delegate::FinishOutput(engine::Executor::Call& call, Io& output, size_t position,
                              device::StreamRef stream) {
  const TensorInfo& info = executor_->output(output.index);
  const device::DeviceId place = executor_->DeviceOf(info);
  const auto copy_to = [&](EValue* value) -> Status {
    et::etensor::Tensor& tensor = value->toTensor();
    if (tensor.mutable_data_ptr() == output.data) return OkStatus();
    call.recorder().Enter(Phase::kOutputStaging);
    return Copy(tensor.mutable_data_ptr(), FromExecuTorch(tensor.device()), output.data, place,
                tensor.nbytes(), stream);
  };
  if (output.unknown != nullptr && output.staged) {
    call.recorder().Enter(Phase::kOutputStaging);
    return FinishUnknown(call, output, position, stream);
  }
  if (output.alias >= 0) {
    const Io& input = inputs_[static_cast<size_t>(output.alias)];
    if (input.staged) TRTSCOPE_RETURN_IF_ERROR(copy_to(input.value));
    return output.value != nullptr ? copy_to(output.value) : OkStatus();
  }
  return output.staged ? copy_to(output.value) : OkStatus();
}

Status Delegate::Run(engine::Executor::Call& call, et::Span<EValue*> args,
                     et::EventTracer* tracer) {
  profiling::CallRecorder& recorder = call.recorder();
  const device::DeviceType type = device_->id().type;
  const bool on_host = type == device::DeviceType::kHost;
  device::StreamRef stream{type, nullptr};
  must_wait_ = !on_host;
  if (const auto& callers = CallerStream(); callers && callers->type == type) {
    stream = *callers;
    must_wait_ = false;
  }

  recorder.Enter(Phase::kInputBinding);
  TRTSCOPE_RETURN_IF_ERROR(TakeArguments(args));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    TRTSCOPE_RETURN_IF_ERROR(StageInput(call, i, stream));
  }
  TRTSCOPE_RETURN_IF_ERROR(call.BindInputs(views_, stream));

  recorder.Enter(Phase::kOutputBinding);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    TRTSCOPE_RETURN_IF_ERROR(BindOutput(call, i));
  }
  if (tracer != nullptr && recorder.call() != 0) events_->Describe(Describe(stream));
  recorder.Leave();

  const bool on_host_stream = on_host && stream.handle != nullptr;
  if (on_host_stream) TRTSCOPE_RETURN_IF_ERROR(host_order_->Enter(stream));
  Status enqueued = call.Enqueue(stream);
  if (on_host_stream) TRTSCOPE_RETURN_IF_ERROR(host_order_->Leave(stream));
  TRTSCOPE_RETURN_IF_ERROR(std::move(enqueued));

  Status finished = FinishOutputs(call, stream);
  recorder.Leave();
  if (must_wait_) {
    // Also after a failure: memory of this delegate's is in use until then.
    Status waited = Wait(call, stream);
    if (finished.ok()) finished = std::move(waited);
    call.CollectFinished();
  }
  return finished;
}

Status Delegate::Wait(engine::Executor::Call& call, device::StreamRef stream) {
  const bool on_this_thread = stream.type == device::DeviceType::kHost && stream.handle == nullptr;
  if (on_this_thread) return OkStatus();  // done already
  call.recorder().Enter(Phase::kSynchronize);
  Status status = device_->Synchronize(stream);
  call.recorder().Leave();
  return status;
}

Status Delegate::FinishOutputs(engine::Executor::Call& call, device::StreamRef stream) {
  for (const Io& output : outputs_) {
    if (output.unknown == nullptr || !output.staged) continue;
    TRTSCOPE_RETURN_IF_ERROR(Wait(call, stream));  // for its shape
    break;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    TRTSCOPE_RETURN_IF_ERROR(FinishOutput(call, outputs_[i], i, stream));
  }
  return OkStatus();
}

std::string Delegate::Describe(device::StreamRef stream) const {
  std::string shapes;
  for (const Io& input : inputs_) {
    shapes += (shapes.empty() ? "" : ", ") + executor_->input(input.index).name +
              ToString(views_[static_cast<size_t>(input.index)].shape);
  }
  shapes += " ->";
  for (const Io& output : outputs_) {
    shapes += " " + executor_->output(output.index).name;
    if (output.value != nullptr) shapes += ToString(DimsOf(output.value->toTensor().sizes()));
  }
  std::array<char, 32> handle{};
  std::snprintf(handle.data(), handle.size(), "%p", stream.handle);
  const std::string place = ToString(device_->id());
  return ",\"stream\":\"" + place + (stream.handle == nullptr ? " default" : " ") +
         (stream.handle == nullptr ? "" : handle.data()) + "\",\"shapes\":" +
         nlohmann::json(shapes).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace trtscope::executorch_backend
