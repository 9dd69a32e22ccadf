#include "core/engine/tensorrt/doctor.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/tensorrt/discovery.h"
#include "core/engine/tensorrt/library.h"

namespace trtscope::engine::tensorrt {
namespace {

using Json = nlohmann::ordered_json;
namespace cuda = device::cuda;

Json Error(const Status& status) { return {{"error", std::string(status.message())}}; }

Json DriverJson() {
  const Result<const cuda::Driver*>& driver = cuda::GetDriver();
  if (!driver.ok()) return Error(driver.status());
  return {{"path", (*driver)->path}, {"version", cuda::VersionText((*driver)->version)}};
}

Json RuntimeJson() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    const auto get = reinterpret_cast<int (*)(int*)>(dlsym(handle, "cudaRuntimeGetVersion"));
    int version = 0;
    const bool known = get != nullptr && get(&version) == 0;
    link_map* map = nullptr;
    const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
    Json json = {{"path", found ? map->l_name : name}};
    if (known) json["version"] = cuda::VersionText(version);
    dlclose(handle);
    return json;
  }
  return {{"error", "no libcudart.so.13, .12 or .11.0 on the loader's path; trtscope needs none"}};
}

Json DevicesJson() {
  Json devices = Json::array();
  const Result<int> count = cuda::DeviceCount();
  if (!count.ok()) return devices;
  for (int i = 0; i < *count; ++i) {
    Json json = {{"index", i}};
    const Result<cuda::CudaDevice*> device = cuda::GetCudaDevice(i);
    if (device.ok()) {
      json["name"] = (*device)->name();
      json["sm"] =
          std::to_string((*device)->sm() / 10) + "." + std::to_string((*device)->sm() % 10);
      json["memory_octets"] = (*device)->total_memory();
    } else {
      json["error"] = std::string(device.status().message());
    }
    devices.push_back(std::move(json));
  }
  return devices;
}

std::string Runs(const Library& library) {
  const std::string version = ToString(library.version());
  switch (library.flavour()) {
    case Flavour::kFull:
      return "plans of TensorRT " + version + ", and version-compatible plans of older releases";
    case Flavour::kLean:
      return "version-compatible plans of TensorRT " + version + " and older";
    case Flavour::kDispatch:
      return "version-compatible plans that carry their runtime (needs allow_host_code)";
    case Flavour::kRtx:
      return "plans of TensorRT-RTX " + version;
  }
  return "";
}

std::string_view FamilyName(abi::Family family) {
  switch (family) {
    case abi::Family::k8_6:
      return "8.6";
    case abi::Family::k10:
      return "10";
    case abi::Family::k11:
      return "11";
  }
  return "";
}

Json LibraryJson(const Candidate& candidate) {
  Json json = {
      {"path", candidate.path}, {"origin", candidate.origin}, {"flavour", Name(candidate.flavour)}};
  const Result<const Library*> library = Library::Open(candidate.path, candidate.flavour);
  if (!library.ok()) {
    json["error"] = std::string(library.status().message());
    return json;
  }
  json["version"] = ToString((*library)->version());
  json["family"] = FamilyName((*library)->layout().family());
  json["runs"] = Runs(**library);
  return json;
}

std::string DoctorJson() {
  Json json;
  json["cuda"] = {{"driver", DriverJson()}, {"runtime", RuntimeJson()}, {"devices", DevicesJson()}};
  Json& libraries = json["tensorrt"] = Json::array();
  const Result<std::vector<Candidate>> candidates = FindLibraries({});
  if (candidates.ok()) {
    for (const Candidate& candidate : *candidates) libraries.push_back(LibraryJson(candidate));
  } else {
    json["error"] = std::string(candidates.status().message());
  }
  json["searched"] = SearchedFolders();
  // Paths may hold any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace
}  // namespace trtscope::engine::tensorrt

char* trtscope_doctor_json(void) {
  return strdup(trtscope::engine::tensorrt::DoctorJson().c_str());
}
