#include "core/engine/c_api.h"

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/engine/engine.h"
#include "core/engine/plan.h"
#include "core/engine/tensor.h"
#include "core/profiling/c_call.h"

namespace trtscope::engine {
namespace {

using Json = nlohmann::ordered_json;

// Names may hold any octets.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::span<const std::byte> Octets(const void* plan, size_t size) {
  return {static_cast<const std::byte*>(plan), plan == nullptr ? 0 : size};
}

Json InfoJson(const PlanInfo& info) {
  return {{"kind", Name(info.kind)},
          {"builder_version", info.builder_version},
          {"hash", info.hash},
          {"size", info.size}};
}

Json DimsJson(const Dims& dims) {
  Json list = Json::array();
  for (int i = 0; i < dims.rank; ++i) list.push_back(dims[i]);
  return list;
}

Json TensorJson(const TensorInfo& tensor) {
  Json profiles = Json::array();
  for (const ShapeRange& range : tensor.profiles) {
    profiles.push_back(
        {{"min", DimsJson(range.min)}, {"opt", DimsJson(range.opt)}, {"max", DimsJson(range.max)}});
  }
  return {{"name", tensor.name},
          {"dtype", Name(tensor.dtype)},
          {"shape", DimsJson(tensor.shape)},
          {"is_input", tensor.mode == IoMode::kInput},
          {"location", tensor.location == device::DeviceType::kHost ? "host" : "cuda"},
          {"shape_tensor", tensor.shape_tensor},
          {"data_dependent", tensor.data_dependent},
          {"aliased_input", tensor.aliased_input},
          {"profiles", std::move(profiles)}};
}

Result<std::string> PlanInfoText(std::span<const std::byte> plan) {
  const Result<PlanInfo> info = InspectPlan(plan);
  if (!info.ok()) return info.status();
  return Text(InfoJson(*info));
}

Result<std::string> LoadPlanText(std::span<const std::byte> plan, const std::string& name,
                                 int cuda_device) {
  const Result<PlanInfo> info = InspectPlan(plan);
  if (!info.ok()) {
    return Status(info.status().code(),
                  "engine '" + name + "': " + std::string(info.status().message()));
  }
  LoadOptions options;
  options.name = name;
  if (info->kind == PlanKind::kTensorRt || info->kind == PlanKind::kTensorRtRtx) {
    options.device = {device::DeviceType::kCuda, cuda_device};
  }
  const Result<std::unique_ptr<Engine>> engine = LoadEngine(plan, options);
  if (!engine.ok()) return engine.status();
  Json json = InfoJson(*info);
  json["runtime_version"] = (*engine)->runtime_version();
  Json& tensors = json["tensors"] = Json::array();
  for (const TensorInfo& tensor : (*engine)->tensors()) tensors.push_back(TensorJson(tensor));
  json["profile_count"] = (*engine)->profile_count();
  const Result<std::string> inspector = (*engine)->InspectorJson();
  json["inspector"] = inspector.ok() ? *inspector : "";
  return Text(json);
}

}  // namespace
}  // namespace trtscope::engine

namespace engine = trtscope::engine;

char* trtscope_plan_info(const void* plan, size_t size) {
  return trtscope::profiling::CText(
      [&] { return engine::PlanInfoText(engine::Octets(plan, size)); });
}

char* trtscope_load_plan(const void* plan, size_t size, const char* name, int cuda_device) {
  return trtscope::profiling::CText([&]() -> trtscope::Result<std::string> {
    if (name == nullptr) return trtscope::InvalidArgument("an engine's name is a null pointer");
    return engine::LoadPlanText(engine::Octets(plan, size), name, cuda_device);
  });
}
