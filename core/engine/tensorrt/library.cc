#include "core/engine/tensorrt/library.h"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/engine/tensorrt/log.h"

namespace trtscope::engine::tensorrt {
namespace {

constexpr char kCreateRuntime[] = "createInferRuntime_INTERNAL";
constexpr char kGetVersion[] = "getInferLibVersion";

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return result;
}

std::optional<abi::Layout> LayoutOf(Flavour flavour, const Version& version) {
  // TensorRT-RTX counts its own versions.  1.4 has family 10's interfaces and 1.5 to 1.7 family
  // 11's, as seen in their tables; what later releases of a family added is not relied on.
  if (flavour == Flavour::kRtx) {
    if (version.major != 1) return std::nullopt;
    return version.minor < 5 ? abi::Layout(abi::Family::k10, 1000)
                             : abi::Layout(abi::Family::k11, 1100);
  }
  const int release = version.major * 100 + version.minor;
  if (release == 806) return abi::Layout(abi::Family::k8_6, release);
  if (version.major == 10) return abi::Layout(abi::Family::k10, release);
  if (version.major == 11) return abi::Layout(abi::Family::k11, release);
  return std::nullopt;
}

std::string Product(Flavour flavour) {
  return flavour == Flavour::kRtx ? "TensorRT-RTX " : "TensorRT ";
}

}  // namespace

Library::Library(std::string path, Flavour flavour, Version version, abi::Layout layout,
                 void* create)
    : path_(std::move(path)),
      flavour_(flavour),
      version_(version),
      label_(Product(flavour) + ToString(version) + " (" + BaseName(path_) + ")"),
      layout_(layout),
      create_runtime_(create),
      version_number_(0),
      logger_(layout.family(), label_) {}

Result<const Library*> Library::OpenNew(const std::string& path, Flavour flavour) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return NotFound("library '" + path +
                    "' cannot be opened: " + (reason != nullptr ? reason : "no reason given"));
  }
  void* create = dlsym(handle, kCreateRuntime);
  const auto get_version = reinterpret_cast<int32_t (*)()>(dlsym(handle, kGetVersion));
  if (create == nullptr || get_version == nullptr) {
    return Unsupported("library '" + path + "' is not a TensorRT library: it exports no " +
                       (create == nullptr ? kCreateRuntime : kGetVersion));
  }
  const int32_t number = get_version();
  const Version version = DecodeLibraryVersion(number);
  const std::optional<abi::Layout> layout = LayoutOf(flavour, version);
  if (!layout.has_value()) {
    return Unsupported("library '" + path + "' is " + Product(flavour) + ToString(version) +
                       ", whose interfaces this trtscope does not know; it knows 8.6, 10.x, 11.x "
                       "and TensorRT-RTX 1.x");
  }
  auto* library = new Library(path, flavour, version, *layout, create);
  library->version_number_ = number;
  return library;
}

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, const Library*> opened;  // by real path
  std::set<std::string> brought_in;              // real paths that nobody had loaded before
};
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

bool IsLoaded(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace

Result<const Library*> Library::Open(const std::string& path, Flavour flavour) {
  Registry& registry = TheRegistry();
  const std::string real = RealPath(path);
  // Loading a library takes long, and two threads may want the same one: the second waits.
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.opened.find(real);
  if (found != registry.opened.end()) return found->second;
  if (!IsLoaded(path)) registry.brought_in.insert(real);
  TRTSCOPE_ASSIGN_OR_RETURN(const Library* library, OpenNew(path, flavour));
  registry.opened.emplace(real, library);
  return library;
}

bool Library::BroughtIn(const std::string& real_path) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return registry.brought_in.count(real_path) > 0;
}

Result<abi::IRuntime> Library::CreateRuntime() const {
  LogCapture log;
  using Create = void* (*)(void*, int32_t);
  // The version is a promise to speak that release's layout, which layout_ keeps.
  const abi::IRuntime runtime(
      reinterpret_cast<Create>(create_runtime_)(logger_.abi_object(), version_number_), &layout_);
  if (!runtime) return Internal(label_ + " could not start a runtime" + log.Suffix());
  // TensorRT-RTX's layout is inferred: a runtime that has it gives our logger back.
  if (flavour_ == Flavour::kRtx && runtime.getLogger() != logger_.abi_object()) {
    return Unsupported(label_ + " does not have the interface layout that this trtscope expects");
  }
  return runtime;
}

}  // namespace trtscope::engine::tensorrt
