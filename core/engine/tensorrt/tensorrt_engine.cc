#include "core/engine/tensorrt/tensorrt_engine.h"

#include <algorithm>
#include <utility>

#include "core/engine/tensorrt/inspector_json.h"
#include "core/engine/tensorrt/log.h"
#include "core/engine/tensorrt/tensorrt_context.h"

namespace trtscope::engine::tensorrt {
namespace {

using abi::Method;
using device::cuda::ScopedDevice;

Result<DataType> FromAbiType(int32_t type, const char* tensor) {
  switch (static_cast<abi::DataType>(type)) {
    case abi::DataType::kFLOAT:
      return DataType::kFloat32;
    case abi::DataType::kHALF:
      return DataType::kFloat16;
    case abi::DataType::kINT8:
      return DataType::kInt8;
    case abi::DataType::kINT32:
      return DataType::kInt32;
    case abi::DataType::kBOOL:
      return DataType::kBool;
    case abi::DataType::kUINT8:
      return DataType::kUInt8;
    case abi::DataType::kFP8:
      return DataType::kFloat8E4M3;
    case abi::DataType::kBF16:
      return DataType::kBFloat16;
    case abi::DataType::kINT64:
      return DataType::kInt64;
    case abi::DataType::kINT4:
      return DataType::kInt4;
    case abi::DataType::kFP4:
      return DataType::kFloat4;
    case abi::DataType::kE8M0:
      return DataType::kFloat8E8M0;
  }
  return Unsupported("tensor '" + std::string(tensor) + "' has TensorRT's data type number " +
                     std::to_string(type) + ", which this trtscope does not know");
}

constexpr auto kMin = static_cast<int32_t>(abi::OptProfileSelector::kMIN);
constexpr auto kOpt = static_cast<int32_t>(abi::OptProfileSelector::kOPT);
constexpr auto kMax = static_cast<int32_t>(abi::OptProfileSelector::kMAX);

}  // namespace

Result<std::unique_ptr<TensorRtEngine>> TensorRtEngine::Deserialize(
    const Library& library, std::span<const std::byte> plan, const PlanInfo& info,
    const LoadOptions& options, device::cuda::CudaDevice& device) {
  ScopedDevice current(device);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  std::unique_ptr<TensorRtEngine> engine(new TensorRtEngine(library, info, device));
  TRTSCOPE_ASSIGN_OR_RETURN(engine->runtime_, library.CreateRuntime());

  if (options.allow_host_code) engine->runtime_.setEngineHostCodeAllowed(true);
  TRTSCOPE_ASSIGN_OR_RETURN(engine->engine_, engine->DeserializeAbi(plan.data(), plan.size()));
  TRTSCOPE_RETURN_IF_ERROR(engine->ReadTensors());
  return engine;
}

Result<abi::ICudaEngine> TensorRtEngine::DeserializeAbi(const void* data, size_t size) const {
  LogCapture log;
  const abi::Layout& layout = library_.layout();
  // TensorRT copies what it needs: the plan is the only copy in host memory that is ours.
  void* made = layout.Has(Method::kIRuntime_deserializeCudaEngine)
                   ? runtime_.deserializeCudaEngine(data, size)
                   : runtime_.deserializeCudaEngine(data, size, nullptr);
  abi::ICudaEngine engine(made, &layout);
  if (engine) return engine;
  const std::string text = log.Text();
  return Internal(text.empty() ? "it returned no engine and logged no reason" : text);
}

TensorRtEngine::~TensorRtEngine() {
  ScopedDevice current(device_);
  // Where the device cannot be made current, the process is at its end and the driver gone.
  if (!current.status().ok()) return;
  if (twin_) twin_.Destroy();
  engine_.Destroy();
  runtime_.Destroy();
}

Status TensorRtEngine::ReadTensors() {
  profile_count_ = engine_.getNbOptimizationProfiles();
  std::vector<TensorInfo> outputs;
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i) {
    const char* name = engine_.getIOTensorName(i);
    if (name == nullptr) {
      return Internal(library_.label() + " gives no name for tensor " + std::to_string(i));
    }
    const auto mode = static_cast<abi::TensorIOMode>(engine_.getTensorIOMode(name));
    if (mode == abi::TensorIOMode::kINPUT) {
      TRTSCOPE_ASSIGN_OR_RETURN(TensorInfo info, ReadTensor(name, IoMode::kInput));
      tensors_.push_back(std::move(info));
    } else if (mode == abi::TensorIOMode::kOUTPUT) {
      TRTSCOPE_ASSIGN_OR_RETURN(TensorInfo info, ReadTensor(name, IoMode::kOutput));
      outputs.push_back(std::move(info));
    } else {
      return Internal(library_.label() + " says that tensor '" + name +
                      "' is neither input nor output");
    }
  }
  input_count_ = static_cast<int>(tensors_.size());
  std::move(outputs.begin(), outputs.end(), std::back_inserter(tensors_));
  FindDataDependentOutputs();
  return OkStatus();
}

Result<TensorInfo> TensorRtEngine::ReadTensor(const char* name, IoMode mode) const {
  TensorInfo info;
  info.name = name;
  info.mode = mode;
  TRTSCOPE_ASSIGN_OR_RETURN(info.dtype, FromAbiType(engine_.getTensorDataType(name), name));
  info.shape = engine_.getTensorShape(name);
  if (info.shape.rank < 0) {
    return Internal(library_.label() + " gives no shape for tensor '" + info.name + "'");
  }
  const auto location = static_cast<abi::TensorLocation>(engine_.getTensorLocation(name));
  info.location = location == abi::TensorLocation::kHOST ? device::DeviceType::kHost
                                                         : device::DeviceType::kCuda;
  info.shape_tensor = mode == IoMode::kInput && engine_.isShapeInferenceIO(name);
  if (mode == IoMode::kOutput) {
    if (library_.layout().Has(Method::kICudaEngine_getAliasedInputTensor)) {
      const char* alias = engine_.getAliasedInputTensor(name);
      if (alias != nullptr) info.aliased_input = alias;
    }
    return info;
  }
  for (int32_t p = 0; p < profile_count_; ++p) {
    ShapeRange range{engine_.getProfileShape(name, p, kMin), engine_.getProfileShape(name, p, kOpt),
                     engine_.getProfileShape(name, p, kMax)};
    // An input of fixed shape may have no range of its own.
    for (Dims* dims : {&range.min, &range.opt, &range.max}) {
      if (dims->rank != info.shape.rank) *dims = info.shape;
    }
    info.profiles.push_back(range);
  }
  return info;
}

bool TensorRtEngine::HasDynamicInputs() const {
  return std::any_of(tensors_.begin(), tensors_.begin() + input_count_,
                     [](const TensorInfo& t) { return t.shape.dynamic() || t.shape_tensor; });
}

// A dynamic output follows from the inputs' shapes, or from the data.  TensorRT tells the two
// apart only in a context whose inputs are all specified, so one is made for a moment, without
// device memory, and given the best-liked shapes of the first profile.
void TensorRtEngine::FindDataDependentOutputs() {
  const auto outputs = std::span(tensors_).subspan(static_cast<size_t>(input_count_));
  if (std::none_of(outputs.begin(), outputs.end(),
                   [](const TensorInfo& t) { return t.shape.dynamic(); })) {
    return;
  }
  if (!HasDynamicInputs()) {
    for (TensorInfo& output : outputs) output.data_dependent = output.shape.dynamic();
    return;
  }
  LogCapture quiet;
  Result<abi::IExecutionContext> context = CreateAbiContext(engine_, /*with_memory=*/false);
  // An engine that cannot have a context says so when its first one is asked for.
  if (!context.ok()) return;
  std::vector<std::vector<int64_t>> storage;
  if (SpecifyOptimalInputs(*context, storage)) {
    for (TensorInfo& output : outputs) {
      output.data_dependent = context->getTensorShape(output.name.c_str()).dynamic();
    }
  }
  context->Destroy();
}

bool TensorRtEngine::SpecifyOptimalInputs(const abi::IExecutionContext& context,
                                          std::vector<std::vector<int64_t>>& storage) const {
  for (const TensorInfo& input : std::span(tensors_).first(static_cast<size_t>(input_count_))) {
    const char* name = input.name.c_str();
    const Dims& shape = input.profiles.empty() ? input.shape : input.profiles[0].opt;
    if (shape.dynamic() || !context.setInputShape(name, shape)) return false;
    if (!input.shape_tensor) continue;
    // 64-bit elements, so that every type that a shape tensor can have fits and is aligned.
    std::vector<int64_t>& values = storage.emplace_back();
    if (!OptimalValues(input, shape.elements(), values)) return false;
    if (!context.setInputTensorAddress(name, values.data())) return false;
  }
  return context.inferShapes(0, nullptr) == 0;
}

bool TensorRtEngine::OptimalValues(const TensorInfo& tensor, int64_t count,
                                   std::vector<int64_t>& values) const {
  const char* name = tensor.name.c_str();
  std::vector<int64_t> wide(static_cast<size_t>(std::max<int64_t>(count, 1)), 0);
  const auto copy = [&](const auto* from) {
    if (from == nullptr) return false;
    std::copy(from, from + count, wide.begin());
    return true;
  };
  const abi::Layout& layout = library_.layout();
  bool known = false;
  if (layout.Has(Method::kICudaEngine_getProfileTensorValuesV2)) {
    known = copy(engine_.getProfileTensorValuesV2(name, 0, kOpt));
  } else if (layout.Has(Method::kICudaEngine_getProfileTensorValues)) {
    known = copy(engine_.getProfileTensorValues(name, 0, kOpt));
  } else {
    known = copy(engine_.getProfileShapeValues(0, engine_.getBindingIndex(name), kOpt));
  }
  if (!known) return false;
  if (tensor.dtype == DataType::kInt64) {
    values = std::move(wide);
    return true;
  }
  if (tensor.dtype != DataType::kInt32) return false;
  values.assign(wide.size(), 0);
  auto* narrow = reinterpret_cast<char*>(values.data());
  for (size_t i = 0; i < wide.size(); ++i) {
    const auto value = static_cast<int32_t>(wide[i]);
    std::memcpy(narrow + i * sizeof(value), &value, sizeof(value));
  }
  return true;
}

Result<abi::IExecutionContext> TensorRtEngine::CreateAbiContext(const abi::ICudaEngine& engine,
                                                                bool with_memory) const {
  const abi::Layout& layout = library_.layout();
  LogCapture log;
  void* made = nullptr;
  if (layout.Has(Method::kICudaEngine_createExecutionContext)) {
    made = engine.createExecutionContext(
        static_cast<int32_t>(with_memory ? abi::ExecutionContextAllocationStrategy::kSTATIC
                                         : abi::ExecutionContextAllocationStrategy::kUSER_MANAGED));
  } else {
    made = with_memory ? engine.createExecutionContext()
                       : engine.createExecutionContextWithoutDeviceMemory();
  }
  abi::IExecutionContext context(made, &layout);
  if (!context) {
    return Internal(library_.label() + " could not make an execution context" + log.Suffix());
  }
  // Up to 8.6, unless the plan shares its profiles, a profile serves one context at a time.
  if (context.getOptimizationProfile() < 0 && !context.setOptimizationProfileAsync(0, nullptr)) {
    context.Destroy();
    return Unsupported(library_.label() +
                       " could not give optimization profile 0 to another execution context: "
                       "this plan's profiles serve one context at a time" +
                       log.Suffix());
  }
  return context;
}

// The plan comes from the engine itself and is gone again when this returns.
Status TensorRtEngine::MakeTwin() {
  if (twin_) return OkStatus();
  LogCapture log;
  abi::IHostMemory plan(engine_.serialize(), &library_.layout());
  if (!plan) return Internal(library_.label() + " could not serialize the engine" + log.Suffix());
  Result<abi::ICudaEngine> twin = DeserializeAbi(plan.data(), plan.size());
  plan.Destroy();
  TRTSCOPE_ASSIGN_OR_RETURN(twin_, std::move(twin));
  return OkStatus();
}

Result<std::unique_ptr<ExecutionContext>> TensorRtEngine::CreateContext(
    const ContextOptions& options) {
  ScopedDevice current(device_);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  const bool with_memory = !options.user_managed_workspace;
  Result<abi::IExecutionContext> context = CreateAbiContext(engine_, with_memory);
  if (context.status().code() == StatusCode::kUnsupported && options.layer_times) {
    TRTSCOPE_RETURN_IF_ERROR(MakeTwin());
    context = CreateAbiContext(twin_, with_memory);
  }
  TRTSCOPE_RETURN_IF_ERROR(context.status());
  auto made = std::make_unique<TensorRtContext>(*this, *context, options);
  TRTSCOPE_RETURN_IF_ERROR(made->Init());
  return std::unique_ptr<ExecutionContext>(std::move(made));
}

Status TensorRtEngine::SetWeightStreamingBudget(int64_t bytes) {
  const abi::Layout& layout = library_.layout();
  const bool v2 = layout.Has(Method::kICudaEngine_setWeightStreamingBudgetV2);
  if (!v2 && !layout.Has(Method::kICudaEngine_setWeightStreamingBudget)) {
    return Unsupported("weight streaming: " +
                       layout.Lacks(Method::kICudaEngine_setWeightStreamingBudgetV2));
  }
  ScopedDevice current(device_);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  const bool done =
      v2 ? engine_.setWeightStreamingBudgetV2(bytes) : engine_.setWeightStreamingBudget(bytes);
  if (done) return OkStatus();
  return InvalidArgument("weight streaming: " + library_.label() + " refused a budget of " +
                         std::to_string(bytes) + " octets; " +
                         std::to_string(engine_.getStreamableWeightsSize()) +
                         " octets of this plan's weights can be streamed, and the budget must be "
                         "set before the first execution context" +
                         log.Suffix());
}

Result<std::string> TensorRtEngine::InspectorJson() {
  ScopedDevice current(device_);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  LogCapture log;
  abi::IEngineInspector inspector(engine_.createEngineInspector(), &library_.layout());
  if (!inspector) {
    return Unsupported(library_.label() + " has no inspector for this plan" + log.Suffix());
  }
  const char* text =
      inspector.getEngineInformation(static_cast<int32_t>(abi::LayerInformationFormat::kJSON));
  std::string json = text != nullptr ? text : "";
  inspector.Destroy();
  if (json.empty()) {
    return Internal(library_.label() + " gave no layer information" + log.Suffix());
  }
  return NormalizeInspectorJson(json);
}

}  // namespace trtscope::engine::tensorrt
