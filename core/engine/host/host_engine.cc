// The plugin libtrtscope_host.so: the host engine, on the libraries of the executorch package.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/host/host_context.h"
#include "core/engine/host/host_model.h"

namespace trtscope::engine::host {
namespace {

using Json = nlohmann::json;

// A tensor of the method in the inspector's form.
Json TensorJson(const MethodPlan& plan, int value) {
  const PlanValue& info = plan.values[static_cast<size_t>(value)];
  Json dims = Json::array();
  if (info.shape) {
    for (int d = 0; d < info.shape->rank; ++d) dims.push_back((*info.shape)[d]);
  }
  return {{"Name", "value_" + std::to_string(value)},
          {"Dimensions", std::move(dims)},
          {"Format/Datatype", info.dtype ? std::string(Name(*info.dtype)) : "unknown"}};
}

void AddTensors(const MethodPlan& plan, const PlanInstruction& instruction, Json& layer) {
  Json inputs = Json::array(), outputs = Json::array();
  const std::vector<int> written = Written(plan, instruction);
  const auto add_input = [&](int value) {
    if (std::find(written.begin(), written.end(), value) != written.end()) return;
    if (plan.values[static_cast<size_t>(value)].tensor) inputs.push_back(TensorJson(plan, value));
  };
  for (int arg : instruction.args) {
    add_input(arg);
    for (int element : plan.values[static_cast<size_t>(arg)].elements) add_input(element);
  }
  for (int value : written) {
    if (value >= 0) outputs.push_back(TensorJson(plan, value));
  }
  layer["Inputs"] = std::move(inputs);
  layer["Outputs"] = std::move(outputs);
}

class HostEngine final : public Engine {
 public:
  HostEngine(PlanInfo info, std::unique_ptr<HostModel> model)
      : info_(std::move(info)), model_(std::move(model)) {}

  const PlanInfo& plan() const override { return info_; }
  std::string_view runtime_version() const override { return "ExecuTorch 1.5.1"; }
  std::span<const TensorInfo> tensors() const override { return model_->tensors; }
  int input_count() const override { return model_->input_count; }
  int profile_count() const override { return 1; }
  device::DeviceId device() const override { return {}; }

  Result<std::unique_ptr<ExecutionContext>> CreateContext(const ContextOptions& options) override {
    Result<std::unique_ptr<HostContext>> context =
        HostContext::Create(*model_, options.layer_times);
    if (!context.ok()) {
      return Status(context.status().code(),
                    model_->name + ": " + std::string(context.status().message()));
    }
    return std::unique_ptr<ExecutionContext>(*std::move(context));
  }

  bool layers_arrive_late() const override { return false; }

  Status SetWeightStreamingBudget(int64_t) override {
    return Unsupported(model_->name + ": the host engine has no weight streaming");
  }

  Result<std::string> InspectorJson() override {
    Json layers = Json::array();
    for (const auto& chain : model_->plan.chains) {
      for (const PlanInstruction& instruction : chain) {
        Json layer{{"Name", instruction.name}, {"LayerType", instruction.type}};
        AddTensors(model_->plan, instruction, layer);
        layers.push_back(std::move(layer));
      }
    }
    Json bindings = Json::array();
    for (const TensorInfo& tensor : model_->tensors) bindings.push_back(tensor.name);
    return Json{{"Layers", std::move(layers)}, {"Bindings", std::move(bindings)}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  const PlanInfo info_;
  const std::unique_ptr<HostModel> model_;
};

class HostImplementation final : public Implementation {
 public:
  std::string_view name() const override { return "host"; }
  bool Accepts(const PlanInfo& plan) const override { return plan.kind == PlanKind::kHost; }
  Result<std::unique_ptr<Engine>> Load(std::span<const std::byte> plan, const PlanInfo& info,
                                       const LoadOptions& options) override {
    if (options.device != device::DeviceId{}) {
      return InvalidArgument("a host plan runs on the host, but '" +
                             device::ToString(options.device) + "' was asked for");
    }
    TRTSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<HostModel> model,
                              HostModel::Load(plan, options.name));
    return std::unique_ptr<Engine>(std::make_unique<HostEngine>(info, std::move(model)));
  }
};

}  // namespace
}  // namespace trtscope::engine::host

/// The loader's way in (loader.h).
extern "C" __attribute__((visibility("default"))) trtscope::engine::Implementation*
trtscope_host_implementation() {
  static auto* implementation = new trtscope::engine::host::HostImplementation();
  return implementation;
}
