// trtscope._core: the C interface of libtrtscope_core.so (core/profiling/trtscope.h) for Python,
// and what Python asks about plans (core/engine).  Functions that may wait let other threads run.

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/engine.h"
#include "core/engine/plan.h"
#include "core/engine/tensor.h"
#include "core/profiling/trtscope.h"

namespace py = pybind11;

namespace {

using trtscope::Status;
namespace engine = trtscope::engine;

[[noreturn]] void Raise(std::string_view message) {
  const py::object type = py::module_::import("trtscope._errors").attr("TrtscopeError");
  PyErr_SetObject(type.ptr(), py::str(message.data(), message.size()).ptr());
  throw py::error_already_set();
}

// Calls a setter of the C interface.
template <typename Argument>
void Set(int (*setter)(Argument), Argument value) {
  int code;
  {
    py::gil_scoped_release release;
    code = setter(value);
  }
  if (code != 0) Raise(trtscope_last_error());
}

// Texts of the C interface end in a zero byte: one inside would cut the rest off.
void SetText(int (*setter)(const char*), const std::string& text) {
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    Raise("setting '" + text.substr(0, zero) + "...': holds a zero byte after " +
          std::to_string(zero) + " octets");
  }
  Set(setter, text.c_str());
}

// Python's integers have no end; the C interface's do.
int SampleInterval(const py::int_& number) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || !std::in_range<int>(value)) {
    Raise("sample interval " + std::string(py::str(number)) + " is out of range");
  }
  return static_cast<int>(value);
}

// Takes over a string of the C interface.  Names in it may hold any octets.
py::str Take(char* (*getter)()) {
  char* text;
  {
    py::gil_scoped_release release;
    text = getter();
  }
  if (text == nullptr) Raise(trtscope_last_error());
  PyObject* made = PyUnicode_DecodeUTF8(
      text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace");
  trtscope_free(text);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

py::str Text(std::string_view text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

std::span<const std::byte> Bytes(const py::bytes& octets) {
  const std::string_view view = octets;
  return std::as_bytes(std::span(view.data(), view.size()));
}

py::dict InfoDict(const engine::PlanInfo& info) {
  py::dict dict;
  dict["kind"] = Text(engine::Name(info.kind));
  dict["builder_version"] = Text(info.builder_version);
  dict["hash"] = py::int_(info.hash);
  dict["size"] = py::int_(info.size);
  return dict;
}

py::list DimsList(const engine::Dims& dims) {
  py::list list;
  for (int i = 0; i < dims.rank; ++i) list.append(dims[i]);
  return list;
}

py::dict TensorDict(const engine::TensorInfo& tensor) {
  py::dict dict;
  dict["name"] = Text(tensor.name);
  dict["dtype"] = Text(engine::Name(tensor.dtype));
  dict["shape"] = DimsList(tensor.shape);
  dict["is_input"] = tensor.mode == engine::IoMode::kInput;
  dict["location"] = tensor.location == trtscope::device::DeviceType::kHost ? "host" : "cuda";
  dict["shape_tensor"] = tensor.shape_tensor;
  dict["data_dependent"] = tensor.data_dependent;
  dict["aliased_input"] = Text(tensor.aliased_input);
  py::list profiles;
  for (const engine::ShapeRange& range : tensor.profiles) {
    py::dict profile;
    profile["min"] = DimsList(range.min);
    profile["opt"] = DimsList(range.opt);
    profile["max"] = DimsList(range.max);
    profiles.append(profile);
  }
  dict["profiles"] = profiles;
  return dict;
}

py::dict PlanInfoOf(const py::bytes& octets) {
  const auto info = engine::InspectPlan(Bytes(octets));
  if (!info.ok()) Raise(info.status().message());
  return InfoDict(*info);
}

py::dict LoadPlan(const py::bytes& octets, const std::string& name, int cuda_device) {
  const auto bytes = Bytes(octets);
  const auto info = engine::InspectPlan(bytes);
  if (!info.ok()) Raise("engine '" + name + "': " + std::string(info.status().message()));
  engine::LoadOptions options;
  options.name = name;
  if (info->kind == engine::PlanKind::kTensorRt || info->kind == engine::PlanKind::kTensorRtRtx) {
    options.device = {trtscope::device::DeviceType::kCuda, cuda_device};
  }
  trtscope::Result<std::unique_ptr<engine::Engine>> loaded = [&] {
    py::gil_scoped_release release;
    return engine::LoadEngine(bytes, options);
  }();
  if (!loaded.ok()) Raise(loaded.status().message());
  py::dict dict = InfoDict(*info);
  dict["runtime_version"] = Text((*loaded)->runtime_version());
  py::list tensors;
  for (const engine::TensorInfo& tensor : (*loaded)->tensors()) tensors.append(TensorDict(tensor));
  dict["tensors"] = tensors;
  dict["profile_count"] = (*loaded)->profile_count();
  const auto json = (*loaded)->InspectorJson();
  dict["inspector"] = json.ok() ? Text(*json) : py::str();
  return dict;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The neutral core: profiling settings and results, and plans.";
  m.def("version", [] { return Text(trtscope_version()); });

  m.def("set_profile_level",
        [](const std::string& level) { SetText(trtscope_set_profile_level, level); });
  m.def("set_profile_format",
        [](const std::string& format) { SetText(trtscope_set_profile_format, format); });
  m.def("set_profile_path_prefix",
        [](const std::string& folder) { SetText(trtscope_set_profile_path_prefix, folder); });
  m.def("set_profile_filter",
        [](const std::string& glob) { SetText(trtscope_set_profile_filter, glob); });
  m.def("set_profile_sample_interval", [](const py::int_& calls) {
    Set(trtscope_set_profile_sample_interval, SampleInterval(calls));
  });
  m.def("set_profile_execution",
        [](bool enabled) { Set(trtscope_set_profile_execution, enabled ? 1 : 0); });

  m.def("config_json", [] { return Take(trtscope_get_config); });
  m.def("timing_table", [] { return Take(trtscope_timing_table); });
  m.def("timing_json", [] { return Take(trtscope_timing_json); });
  m.def("reset_timing", [] {
    py::gil_scoped_release release;
    trtscope_reset_timing();
  });
  m.def("flush_traces", [] { return Take(trtscope_flush_traces); });
  m.def("names_json", [] { return Take(trtscope_names_json); });
  m.def("start_control", [] { return Take(trtscope_start_control); });
  m.def("stop_control", [] {
    py::gil_scoped_release release;
    trtscope_stop_control();
  });
  m.def("control_folder", [] { return Take(trtscope_control_folder); });

  m.def("plan_info", &PlanInfoOf, py::arg("plan"),
        "Kind, builder_version, hash and size of a plan, from its octets alone.");
  m.def("load_plan", &LoadPlan, py::arg("plan"), py::arg("name"), py::arg("cuda_device") = 0,
        "plan_info, and what the loaded engine says: runtime_version, tensors, inspector.");
}
