#include "core/device/cuda/driver.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string_view>
#include <vector>

namespace trtscope::device::cuda {
namespace {

std::vector<std::string> Candidates() {
  // Read once, when the driver is opened: a later change would find it open already.
  const char* chosen = std::getenv("TRTSCOPE_CUDA");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  return {
      "libcuda.so.1",                                    // the loader's path
      "/usr/lib/wsl/lib/libcuda.so.1",                   // WSL
      "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",  // Jetson, JetPack 6 and later
      "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",   // Jetson, JetPack 5
      "/usr/lib/libcuda.so.1",                           // DRIVE OS
      "/usr/local/cuda/compat/libcuda.so.1",             // containers with forward compatibility
  };
}

std::string PathOf(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0') {
    return map->l_name;
  }
  return name;
}

Status Load(void* handle, Driver& driver) {
#define TRTSCOPE_CUDA_LOAD(name, args)                                                       \
  driver.name = reinterpret_cast<CUresult(*) args>(dlsym(handle, #name));                    \
  if (driver.name == nullptr) {                                                              \
    return Unsupported("CUDA driver '" + driver.path +                                       \
                       "' has no " #name ": trtscope needs a driver of CUDA 11.4 or newer"); \
  }
  TRTSCOPE_CUDA_DRIVER_FUNCTIONS(TRTSCOPE_CUDA_LOAD)
#undef TRTSCOPE_CUDA_LOAD
  return driver.Check(driver.cuInit(0), ("CUDA driver '" + driver.path + "': cuInit").c_str());
}

// The loader's own words, but where they only say that there is no such file, which most of the
// places are expected to lack.
std::string Tried(const std::string& name, const char* reason) {
  constexpr std::string_view kNoSuchFile =
      ": cannot open shared object file: No such file or directory";
  return reason == nullptr || reason == name + std::string(kNoSuchFile) ? name : reason;
}

Result<const Driver*> Open() {
  std::string tried;
  for (const std::string& name : Candidates()) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* reason = dlerror();
      tried += (tried.empty() ? " " : ", ") + Tried(name, reason);
      continue;
    }
    // Never closed: contexts and streams of the whole process live in it.
    static Driver& driver = *new Driver;
    driver.path = PathOf(handle, name);
    TRTSCOPE_RETURN_IF_ERROR(Load(handle, driver));
    TRTSCOPE_RETURN_IF_ERROR(
        driver.Check(driver.cuDriverGetVersion(&driver.version), "cuDriverGetVersion"));
    return &driver;
  }
  return NotFound(
      "no CUDA driver: install the NVIDIA driver, or name its libcuda.so.1 in TRTSCOPE_CUDA; "
      "tried" +
      tried);
}

}  // namespace

Status Driver::Error(CUresult result, const char* what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  std::string message =
      std::string(what) + ": " + (name != nullptr ? name : "CUDA error " + std::to_string(result));
  if (text != nullptr) message += std::string(": ") + text;
  return Status(result == kOutOfMemory ? StatusCode::kResourceExhausted : StatusCode::kInternal,
                std::move(message));
}

const Result<const Driver*>& GetDriver() {
  static const auto& driver = *new Result<const Driver*>(Open());
  return driver;
}

std::string VersionText(int cuda_version) {
  return std::to_string(cuda_version / 1000) + "." + std::to_string(cuda_version % 1000 / 10);
}

}  // namespace trtscope::device::cuda
