#include "core/engine/host/host_model.h"

#include <limits>
#include <utility>

#include "core/base/checksum.h"

namespace trtscope::engine::host {
namespace {

using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::Tag;

constexpr char kForward[] = "forward";

Status Refuse(const std::string& what) { return Unsupported("its " + what); }

// The JSON of the program's constant method, or none.
Result<std::optional<Bindings>> ReadBindings(const HostProgram& program) {
  if (!program.HasMethod(kBindingsMethod)) return std::optional<Bindings>();
  // Its plan is checked as that of any method: loading one follows references too.
  TRTSCOPE_RETURN_IF_ERROR(ReadMethodPlan(program.bytes(), kBindingsMethod).status());
  TRTSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<MethodInstance> instance,
                            MethodInstance::Load(program, kBindingsMethod, nullptr));
  if (instance->method().inputs_size() != 0 || instance->method().outputs_size() != 1) {
    return Refuse("method 'trtscope_bindings' is not one without inputs and with one output");
  }
  if (const Error error = instance->method().execute(); error != Error::Ok) {
    return DataLoss("its method 'trtscope_bindings' failed: " + ErrorText(error));
  }
  const EValue& value = instance->method().get_output(0);
  if (!value.isString()) return Refuse("method 'trtscope_bindings' does not give a string");
  const auto text = value.toString();
  TRTSCOPE_ASSIGN_OR_RETURN(Bindings bindings, ParseBindings({text.data(), text.size()}));
  return std::optional<Bindings>(std::move(bindings));
}

// Type and bounds of one input or output of the method.
Result<HostModel::Io> ReadIo(const MethodMeta& meta, bool input, size_t index) {
  const std::string label = (input ? "input " : "output ") + std::to_string(index);
  const auto tag = input ? meta.input_tag(index) : meta.output_tag(index);
  if (!tag.ok()) return DataLoss("its " + label + " has no type: " + ErrorText(tag.error()));
  if (*tag != Tag::Tensor) return Refuse(label + " is no tensor");
  const auto tensor = input ? meta.input_tensor_meta(index) : meta.output_tensor_meta(index);
  if (!tensor.ok()) {
    return DataLoss("its " + label + " cannot be described: " + ErrorText(tensor.error()));
  }
  HostModel::Io io;
  io.type = tensor->scalar_type();
  io.planned = tensor->is_memory_planned();
  if (!DataTypeFromScalarType(static_cast<int8_t>(io.type))) {
    return Refuse(label + " has a type that no tensor here can have (ExecuTorch's number " +
                  std::to_string(static_cast<int>(io.type)) + ")");
  }
  const auto sizes = tensor->sizes();
  if (sizes.size() > Dims::kMaxRank) {
    return Refuse(label + " has " + std::to_string(sizes.size()) + " dimensions; 8 are the most");
  }
  int64_t elements = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || __builtin_mul_overflow(elements, sizes[d], &elements) ||
        elements > std::numeric_limits<int64_t>::max() / 16) {
      return DataLoss("its " + label + " has sizes that no tensor can have");
    }
    io.bound[io.bound.rank++] = sizes[d];
    // An output without a place of its own becomes a tensor of ours, which is in order.
    if (tensor->dim_order()[d] != d && (input || io.planned)) {
      return Refuse(label + " is not laid out in the order of its dimensions" +
                    (input ? ""
                           : " (an output may be, in a program whose plan gives its outputs "
                             "no memory: MemoryPlanningPass(alloc_graph_output=False))"));
    }
  }
  return io;
}

// What the program bounds and what the bindings say must fit together.
Status Apply(const Binding& binding, const HostModel::Io& io, TensorInfo& info) {
  const std::string label =
      std::string(info.mode == IoMode::kInput ? "input" : "output") + " '" + binding.name + "'";
  info.name = binding.name;
  if (binding.dtype && *binding.dtype != info.dtype) {
    return DataLoss(label + " is " + std::string(Name(*binding.dtype)) + " in its bindings, but " +
                    std::string(Name(info.dtype)) + " in the program");
  }
  bool fits = binding.shape.rank == io.bound.rank;
  for (int d = 0; fits && d < io.bound.rank; ++d) {
    fits = binding.shape[d] < 0 ? !binding.range || binding.range->max[d] <= io.bound[d]
                                : binding.shape[d] == io.bound[d];
  }
  if (!fits) {
    return DataLoss(label + " is " + ToString(binding.shape) +
                    (binding.range ? " up to " + ToString(binding.range->max) : "") +
                    " in its bindings, but at most " + ToString(io.bound) + " in the program");
  }
  info.shape = binding.shape;
  return OkStatus();
}

// Without bindings: shapes are the program's bounds, and what it may resize beyond that can only
// be an output whose shape depends on data.
Status ApplyNone(const HostModel::Io& io, bool resized, size_t index, TensorInfo& info) {
  info.shape = io.bound;
  info.name = (info.mode == IoMode::kInput ? "input_" : "output_") + std::to_string(index);
  if (info.mode == IoMode::kInput || !resized) return OkStatus();
  for (int d = 0; d < info.shape.rank; ++d) info.shape[d] = -1;
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<HostModel>> HostModel::Load(std::span<const std::byte> bytes,
                                                   const std::string& name) {
  auto model = std::make_unique<HostModel>();
  model->name = "engine '" + name + "'";
  TRTSCOPE_ASSIGN_OR_RETURN(const std::span<const std::byte> program, CheckedProgram(bytes));
  TRTSCOPE_ASSIGN_OR_RETURN(model->program, HostProgram::Load(program));
  if (!model->program->HasMethod(kForward)) {
    return Refuse("program has no method 'forward', which is what a host plan runs");
  }
  TRTSCOPE_ASSIGN_OR_RETURN(model->plan, ReadMethodPlan(model->program->bytes(), kForward));
  const auto meta = model->program->program().method_meta(kForward);
  if (!meta.ok()) {
    return DataLoss("ExecuTorch cannot describe its method 'forward': " + ErrorText(meta.error()));
  }
  TRTSCOPE_ASSIGN_OR_RETURN(std::optional<Bindings> bindings, ReadBindings(*model->program));
  if (bindings && (bindings->inputs.size() != meta->num_inputs() ||
                   bindings->outputs.size() != meta->num_outputs())) {
    return DataLoss("its bindings list " + std::to_string(bindings->inputs.size()) +
                    " inputs and " + std::to_string(bindings->outputs.size()) +
                    " outputs, but its method 'forward' has " + std::to_string(meta->num_inputs()) +
                    " and " + std::to_string(meta->num_outputs()));
  }
  model->input_count = static_cast<int>(meta->num_inputs());
  for (size_t i = 0; i < meta->num_inputs() + meta->num_outputs(); ++i) {
    const bool input = i < meta->num_inputs();
    const size_t index = input ? i : i - meta->num_inputs();
    TRTSCOPE_ASSIGN_OR_RETURN(const Io io, ReadIo(*meta, input, index));
    TensorInfo info;
    info.mode = input ? IoMode::kInput : IoMode::kOutput;
    info.dtype = *DataTypeFromScalarType(static_cast<int8_t>(io.type));
    const Binding* binding = nullptr;
    if (bindings) binding = input ? &bindings->inputs[index] : &bindings->outputs[index];
    if (binding != nullptr) {
      TRTSCOPE_RETURN_IF_ERROR(Apply(*binding, io, info));
    } else {
      const bool resized = !input && model->plan.outputs_resized[index];
      TRTSCOPE_RETURN_IF_ERROR(ApplyNone(io, resized, index, info));
    }
    info.data_dependent =
        !input && info.shape.dynamic() && (binding == nullptr || binding->dims.empty());
    if (input) {
      info.profiles.push_back(binding != nullptr && binding->range
                                  ? *binding->range
                                  : ShapeRange{info.shape, info.shape, info.shape});
    }
    model->io.push_back(io);
    model->tensors.push_back(std::move(info));
  }
  if (bindings) model->bindings = *std::move(bindings);
  return model;
}

}  // namespace trtscope::engine::host
