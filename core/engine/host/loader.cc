#include "core/engine/host/loader.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "core/engine/library_paths.h"

namespace trtscope::engine::host {
namespace {

namespace fs = std::filesystem;

constexpr char kCore[] = "libexecutorch.so";
constexpr char kPlugin[] = "libtrtscope_host.so";
constexpr char kEntry[] = "trtscope_host_implementation";
constexpr char kAdvice[] = "pip install executorch==1.5.1";
// In the order of what they need of each other.  Those after the core are needed by the plugin,
// but for the last, whose operators some programs use.
constexpr const char* kLibraries[] = {
    kCore, "libexecutorch_threadpool.so", "libexecutorch_kernels_optimized.so",
    "libexecutorch_backend_xnnpack.so", "libexecutorch_kernels_quantized.so"};
constexpr char kOptional[] = "libexecutorch_kernels_quantized.so";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The folder of the library that holds this code.
fs::path OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  // A program's name may be relative to a folder that is no longer the current one.
  fs::path path = fs::path(info.dli_fname).is_absolute() ? fs::path(info.dli_fname)
                                                         : fs::absolute(info.dli_fname, error);
  if (!IsFile(path)) path = fs::read_symlink("/proc/self/exe", error);
  return path.parent_path();
}

// The folder of a library that the process has open already; empty if it has not.
fs::path FolderOfOpen(const char* name) {
  void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  fs::path folder;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    folder = fs::path(map->l_name).parent_path();
  }
  dlclose(handle);  // it was open before, and stays so
  return folder;
}

std::string Join(const std::vector<fs::path>& folders) {
  std::string text;
  for (const fs::path& folder : folders) {
    if (!text.empty()) text += ", ";
    text += folder.string();
    // A variable with a mistake in it would else look as if it had been followed.
    if (std::error_code error; !fs::is_directory(folder, error)) {
      text += " (there is no such folder)";
    }
  }
  return text;
}

void AddVariable(const char* variable, std::vector<fs::path>& folders) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') folders.emplace_back(value);
}

// Opens the libraries that lie in `folder`, so that the plugin's needs are met by these files.
Status OpenLibraries(const fs::path& folder) {
  for (const char* name : kLibraries) {
    const fs::path path = folder / name;
    if (!IsFile(path)) {
      if (std::string_view(name) == kOptional) continue;
      return NotFound("host engine: " + folder.string() + " has " + kCore + " but not " + name +
                      ": that executorch package is not whole; " + kAdvice);
    }
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      if (std::string_view(name) == kOptional) continue;
      return NotFound("host engine: " + path.string() + " cannot be opened: " + dlerror());
    }
  }
  return OkStatus();
}

Result<fs::path> FindPlugin() {
  std::vector<fs::path> folders;
  AddVariable(kPluginDirVariable, folders);
  if (fs::path own = OwnFolder(); !own.empty()) folders.push_back(std::move(own));
  for (const std::string& folder : LibraryPaths()) folders.emplace_back(folder);
  for (const fs::path& folder : folders) {
    if (IsFile(folder / kPlugin)) return folder / kPlugin;
  }
  return NotFound(std::string("host engine: ") + kPlugin + " is not in " + Join(folders) +
                  "; set " + kPluginDirVariable + " to its folder");
}

Result<Implementation*> Open(const std::string& library_path) {
  TRTSCOPE_ASSIGN_OR_RETURN(const fs::path plugin, FindPlugin());

  std::vector<fs::path> folders;
  if (fs::path folder = FolderOfOpen(kCore); !folder.empty()) {
    folders.push_back(std::move(folder));
  } else {
    if (!library_path.empty()) {
      const fs::path path(library_path);
      folders.push_back(IsFile(path) ? path.parent_path() : path);
    }
    AddVariable(kExecutorchLibVariable, folders);
    for (const std::string& added : LibraryPaths()) folders.emplace_back(added);
    if (const fs::path own = OwnFolder(); !own.empty()) {
      folders.push_back(own);
      folders.push_back((own / ".." / "executorch" / "lib").lexically_normal());
      folders.push_back((own / ".." / ".." / "executorch" / "lib").lexically_normal());
    }
  }
  for (const fs::path& folder : folders) {
    if (!IsFile(folder / kCore)) continue;
    TRTSCOPE_RETURN_IF_ERROR(OpenLibraries(folder));
    break;
  }

  void* handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = dlerror();
    if (reason.find("libexecutorch") != std::string::npos &&
        reason.find("undefined symbol") == std::string::npos) {
      return NotFound(std::string("host engine: ") + kCore + " is not in " + Join(folders) +
                      " and not where the dynamic loader looks (" + reason + "); " + kAdvice +
                      ", or set " + kExecutorchLibVariable + " to its lib folder");
    }
    return FailedPrecondition("host engine: " + plugin.string() + " cannot be opened: " + reason +
                              "; it needs the libraries of exactly this release: " + kAdvice);
  }
  auto* entry = reinterpret_cast<Implementation* (*)()>(dlsym(handle, kEntry));
  if (entry == nullptr) {
    return FailedPrecondition("host engine: " + plugin.string() + " has no function " + kEntry +
                              ": it is not this release's plugin");
  }
  return entry();
}

class Loader final : public Implementation {
 public:
  std::string_view name() const override { return "host"; }
  bool Accepts(const PlanInfo& plan) const override { return plan.kind == PlanKind::kHost; }
  Result<std::unique_ptr<Engine>> Load(std::span<const std::byte> plan, const PlanInfo& info,
                                       const LoadOptions& options) override {
    TRTSCOPE_ASSIGN_OR_RETURN(Implementation * opened, OpenPlugin(options.library_path));
    return opened->Load(plan, info, options);
  }
};

[[maybe_unused]] const bool registered = [] {
  RegisterImplementation(&HostImplementation());
  return true;
}();

}  // namespace

Result<Implementation*> OpenPlugin(const std::string& library_path) {
  static std::mutex& mutex = *new std::mutex;
  static Implementation* opened = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (opened == nullptr) {
    TRTSCOPE_ASSIGN_OR_RETURN(opened, Open(library_path));
  }
  return opened;
}

Implementation& HostImplementation() {
  static Loader* loader = new Loader();
  return *loader;
}

}  // namespace trtscope::engine::host
