#include "core/engine/engine.h"

#include <mutex>
#include <utility>

namespace trtscope::engine {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Implementation*> implementations;  // the latest last
};

// Made at the first use, so that static initializers of any file may register; never destroyed.
Registry& TheRegistry() {
  static Registry* registry = new Registry();
  return *registry;
}

std::string What(const PlanInfo& plan) {
  switch (plan.kind) {
    case PlanKind::kTensorRt:
      return "a TensorRT " + plan.builder_version + " plan";
    case PlanKind::kTensorRtRtx:
      return "a TensorRT-RTX " + plan.builder_version + " plan";
    case PlanKind::kHost:
      return "a host plan (an ExecuTorch program, " + plan.builder_version + ")";
    case PlanKind::kNull:
      return "a null plan";
  }
  return "a plan of an unknown kind";
}

std::string WhatWouldRunIt(const PlanInfo& plan) {
  switch (plan.kind) {
    case PlanKind::kTensorRt:
      return "no TensorRT implementation is present; it takes //core/engine/tensorrt in this "
             "program and libnvinfer.so." +
             std::to_string(plan.version_major) + " of TensorRT " + plan.builder_version +
             ", or for a version-compatible plan of a later release";
    case PlanKind::kTensorRtRtx:
      return "no TensorRT-RTX implementation is present; it takes //core/engine/tensorrt in this "
             "program and libtensorrt_rtx.so." +
             std::to_string(plan.version_major) + " of TensorRT-RTX " + plan.builder_version;
    case PlanKind::kHost:
      return "no host implementation is present; it takes //core/engine/host:loader in this "
             "program and the ExecuTorch runtime (pip install executorch==1.5.1)";
    case PlanKind::kNull:
      return "no null implementation is present; it takes //core/engine/null:null_engine in this "
             "program";
  }
  return "no implementation is present";
}

Status WithEngineName(const LoadOptions& options, const Status& status) {
  const std::string prefix = "engine '" + options.name + "': ";
  if (status.message().substr(0, prefix.size()) == prefix) return status;
  return Status(status.code(), prefix + std::string(status.message()));
}

}  // namespace

void RegisterImplementation(Implementation* implementation) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.implementations.push_back(implementation);
}

Result<std::unique_ptr<Engine>> LoadEngine(std::span<const std::byte> plan,
                                           const LoadOptions& options) {
  Result<PlanInfo> info = InspectPlan(plan);
  if (!info.ok()) return WithEngineName(options, info.status());

  Implementation* chosen = nullptr;
  {
    Registry& registry = TheRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    for (auto it = registry.implementations.rbegin(); it != registry.implementations.rend(); ++it) {
      if ((*it)->Accepts(*info)) {
        chosen = *it;
        break;
      }
    }
  }
  if (chosen == nullptr) {
    return Unsupported("engine '" + options.name + "': this is " + What(*info) + "; " +
                       WhatWouldRunIt(*info));
  }
  // Loading may take minutes: it happens outside of the lock.
  Result<std::unique_ptr<Engine>> engine = chosen->Load(plan, *info, options);
  if (!engine.ok()) return WithEngineName(options, engine.status());
  return engine;
}

}  // namespace trtscope::engine
