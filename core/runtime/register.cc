// What this library adds to torch: the class and the operators, as it is loaded.

#include "core/runtime/register.h"

#include <torch/custom_class.h>
#include <torch/library.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/profiling/config.h"
#include "core/profiling/report.h"
#include "core/runtime/execute_engine.h"
#include "core/runtime/torch_engine.h"

namespace trtscope::runtime {
namespace {

using EnginePtr = c10::intrusive_ptr<TorchEngine>;

// Torch's own strings, where it keeps them.
StateFields Views(const c10::List<std::string>& fields) {
  StateFields views;
  for (size_t i = 0; i < fields.size(); ++i) views.push_back(fields[i]);
  return views;
}

void RegisterClass() {
  // Leaked, like everything registered with torch: engines may outlive static destruction.
  auto& engine = *new torch::class_<TorchEngine>("tensorrt", "Engine");
  engine
      .def(torch::init([](const c10::List<std::string>& fields) {
        return c10::make_intrusive<TorchEngine>(Views(fields), PlanEncoding::kRaw);
      }))
      .def("__obj_flatten__", [](const EnginePtr& self) { return self->Flatten(); })
      .def("__eq__",
           [](const EnginePtr& self, const EnginePtr& other) { return self->SameAs(*other); })
      .def("__str__", [](const EnginePtr& self) { return self->ToString(); })
      .def("__repr__", [](const EnginePtr& self) { return self->ToString(); })
      // torch.export traces calls with the real object instead of a Python stand-in.
      .def("tracing_mode", [](const EnginePtr&) { return std::string("real"); })
      .def("engine_id", &TorchEngine::engine_id)
      .def("name", [](const EnginePtr& self) { return self->state().name; })
      .def("get_serialized_metadata", [](const EnginePtr& self) { return self->state().metadata; })
      .def("enable_profiling", &TorchEngine::EnableProfiling)
      .def("disable_profiling", &TorchEngine::DisableProfiling)
      .def("reset_profiling", &TorchEngine::ResetProfiling)
      .def("set_profile_level", &TorchEngine::SetProfileLevel)
      .def("set_profile_format", &TorchEngine::SetProfileFormat)
      .def("set_profile_path_prefix", &TorchEngine::SetProfilePathPrefix)
      .def_property("profile_path_prefix", &TorchEngine::profile_path_prefix,
                    &TorchEngine::SetProfilePathPrefix)
      .def_property("use_pre_allocated_outputs", &TorchEngine::pre_allocated_outputs,
                    &TorchEngine::SetPreAllocatedOutputs)
      .def("set_weight_streaming_budget", &TorchEngine::SetWeightStreamingBudget)
      .def("get_engine_layer_info", &TorchEngine::LayerInfo)
      .def("dump_engine_layer_info_to_file", &TorchEngine::DumpLayerInfo)
      .def_pickle([](const EnginePtr& self) { return self->Serialize(); },
                  [](const c10::List<std::string>& fields) {
                    return c10::make_intrusive<TorchEngine>(Views(fields), PlanEncoding::kBase64);
                  });
}

std::string SnapshotLevel() { return std::string(Name(profiling::Snapshot().level)); }
std::string SnapshotFormat() { return std::string(Name(profiling::Snapshot().format)); }

void SetProfileFormat(const std::string& format) { ThrowIfError(profiling::SetFormat(format)); }

void RegisterOperators(torch::Library& m) {
  m.def(
      "execute_engine(Tensor[] inputs, __torch__.torch.classes.tensorrt.Engine engine) -> "
      "Tensor[]");
  // Works on tensors of any device and records nothing for autograd: an engine is inference.
  m.impl("execute_engine", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(ExecuteEngine));

  m.def("set_profile_execution(bool enabled) -> ()",
        [](bool enabled) { ThrowIfError(profiling::SetExecution(enabled)); });
  m.def("get_profile_execution() -> bool",
        [] { return profiling::Snapshot().level != profiling::Level::kOff; });
  m.def("set_profile_format(str format) -> ()", SetProfileFormat);
  m.def("get_profile_format() -> str", SnapshotFormat);
  m.def("set_profile_path_prefix(str folder) -> ()",
        [](const std::string& folder) { ThrowIfError(profiling::SetPathPrefix(folder)); });
  m.def("get_profile_path_prefix() -> str", [] { return profiling::Snapshot().path_prefix; });
  m.def("set_profile_level(str level) -> ()",
        [](const std::string& level) { ThrowIfError(profiling::SetLevel(level)); });
  m.def("get_profile_level() -> str", SnapshotLevel);
  m.def("set_profile_filter(str glob) -> ()",
        [](const std::string& glob) { ThrowIfError(profiling::SetFilter(glob)); });
  m.def("get_profile_filter() -> str", [] { return profiling::Snapshot().filter; });
  m.def("set_profile_sample_interval(int calls) -> ()",
        [](int64_t calls) { ThrowIfError(profiling::SetSampleInterval(calls)); });
  m.def("get_profile_sample_interval() -> int",
        [] { return int64_t{profiling::Snapshot().sample_interval}; });
  m.def("set_cudagraphs_mode(int mode) -> ()", [](int64_t mode) {
    TORCH_CHECK(mode == 0 || mode == 1, "CUDA graphs mode ", mode,
                " is not one of: 0 (off), 1 (a graph for each engine)");
    engine::SetCudaGraphs(mode == 1);
  });
  m.def("get_cudagraphs_mode() -> int", [] { return int64_t{engine::CudaGraphs()}; });
  m.def("dump_engine_timing() -> str", profiling::TimingTable);
  m.def("engine_timing() -> str", profiling::TimingJson);
  m.def("reset_engine_timing() -> ()", profiling::ResetTiming);
  m.def("flush_engine_traces() -> str", profiling::FlushTraces);
}

// Why nothing was registered; empty when it was.
std::string& LoadError() {
  static auto* error = new std::string;
  return *error;
}

bool Register() {
  const bool taken =
      c10::Dispatcher::singleton().findSchema({"tensorrt::execute_engine", ""}).has_value() ||
      torch::getCustomClass("__torch__.torch.classes.tensorrt.Engine") != nullptr;
  if (taken) {
    LoadError() =
        "trtscope cannot be loaded into this process: another library (Torch-TensorRT's runtime?) "
        "has already registered torch.ops.tensorrt; load one of the two";
  } else {
    try {
      RegisterClass();
      auto* library =
          new torch::Library(torch::Library::DEF, "tensorrt", std::nullopt, __FILE__, __LINE__);
      RegisterOperators(*library);
    } catch (const std::exception& error) {
      LoadError() = std::string("trtscope cannot be loaded into this process: ") + error.what();
    }
  }
  if (!LoadError().empty()) std::fprintf(stderr, "%s\n", LoadError().c_str());
  return LoadError().empty();
}

[[maybe_unused]] const bool registered = Register();

}  // namespace
}  // namespace trtscope::runtime

const char* trtscope_torch_load_error(void) {
  const std::string& error = trtscope::runtime::LoadError();
  return error.empty() ? nullptr : error.c_str();
}
