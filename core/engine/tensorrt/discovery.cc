#include "core/engine/tensorrt/discovery.h"

#include <dirent.h>
#include <glob.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "core/engine/library_paths.h"

namespace trtscope::engine::tensorrt {
namespace {

struct FlavourName {
  std::string_view stem;
  Flavour flavour;
};
constexpr FlavourName kStems[] = {
    {"libnvinfer.so", Flavour::kFull},
    {"libnvinfer_lean.so", Flavour::kLean},
    {"libnvinfer_dispatch.so", Flavour::kDispatch},
    {"libtensorrt_rtx.so", Flavour::kRtx},
};

// Folders of TensorRT's packages on PyPI, inside site-packages.
constexpr std::string_view kPackageFolders[] = {
    "tensorrt_libs",     "tensorrt_lean_libs", "tensorrt_dispatch_libs",
    "tensorrt_rtx_libs", "tensorrt",
};

// Where TensorRT's installers put it; `*` as in a shell.
constexpr const char* kInstallFolders[] = {
#if defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",          // Debian packages: JetPack, SBSA, DRIVE OS
    "/usr/lib/aarch64-linux-gnu/nvidia",   // JetPack 6 and later
    "/usr/lib/aarch64-linux-gnu/tegra",    // JetPack 5
    "/usr/local/driveos-sdk/lib",          // DRIVE OS
    "/opt/nvidia/drive-linux/lib-target",  // DRIVE OS
#else
    "/usr/lib/x86_64-linux-gnu",  // Debian packages, NGC containers
#endif
    "/usr/lib64",  // RPM packages
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/tensorrt/lib",  // NGC containers
    "/usr/local/TensorRT*/lib",
    "/usr/local/tensorrt/targets/*/lib",
    "/opt/tensorrt/lib",
    "/opt/TensorRT*/lib",  // tar files
    "/opt/nvidia/tensorrt/lib",
    "/usr/src/tensorrt/lib",
};

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string AbsolutePath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved != nullptr ? resolved : "";
  std::free(resolved);
  return result;
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> SplitColons(const char* text) {
  std::vector<std::string> parts;
  std::string_view rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return parts;
}

std::vector<std::string> Glob(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    for (size_t i = 0; i < matches.gl_pathc; ++i) found.emplace_back(matches.gl_pathv[i]);
  }
  globfree(&matches);
  return found;
}

struct Folder {
  std::string path;
  std::string origin;
};

/// Folders that the loader's own configuration adds, one a line.
std::vector<std::string> LoaderFolders() {
  std::vector<std::string> folders;
  std::vector<std::string> files = Glob("/etc/ld.so.conf.d/*.conf");
  files.insert(files.begin(), "/etc/ld.so.conf");
  for (const std::string& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && line.back() == ' ') line.pop_back();
      if (line.starts_with('/')) folders.push_back(line);
    }
  }
  return folders;
}

void AddWithPackages(const std::string& folder, const std::string& origin,
                     std::vector<Folder>& folders) {
  folders.push_back({folder, origin});
  for (std::string_view package : kPackageFolders) {
    folders.push_back({folder + "/" + std::string(package), origin});
  }
}

std::vector<Folder> Folders() {
  std::vector<Folder> folders;
  for (const std::string& folder : LibraryPaths()) {
    AddWithPackages(folder, "a folder added by the application", folders);
  }
  for (const std::string& folder : SplitColons(std::getenv("LD_LIBRARY_PATH"))) {
    folders.push_back({folder, "LD_LIBRARY_PATH"});
  }
  if (const char* venv = std::getenv("VIRTUAL_ENV"); venv != nullptr && *venv != '\0') {
    for (const std::string& site : Glob(std::string(venv) + "/lib/python3*/site-packages")) {
      AddWithPackages(site, "VIRTUAL_ENV", folders);
    }
  }
  for (const std::string& folder : LoaderFolders())
    folders.push_back({folder, "the loader's path"});
  for (const char* pattern : kInstallFolders) {
    for (const std::string& folder : Glob(pattern)) {
      folders.push_back({folder, "a place of TensorRT's installers"});
    }
  }
  return folders;
}

class Finder {
 public:
  /// False when `path` is no TensorRT library, there is no such file, or it is there already.
  bool AddFile(const std::string& path, const std::string& origin) {
    Candidate candidate;
    if (!ParseLibraryName(path, &candidate)) return false;
    const std::string real = AbsolutePath(path);
    if (real.empty()) return false;
    // A link keeps its own name, which people know ("libnvinfer.so.8"), but the file behind it
    // may say more ("libnvinfer.so.10.3.0").
    Candidate target;
    if (candidate.major == 0 && ParseLibraryName(real, &target)) candidate.major = target.major;
    if (!seen_.insert(real).second) return true;
    candidate.path = path.front() == '/' ? path : real;
    candidate.origin = origin;
    found_.push_back(std::move(candidate));
    return true;
  }

  /// Whether the folder holds a TensorRT library.
  bool AddFolder(const std::string& folder, const std::string& origin) {
    DIR* directory = opendir(folder.c_str());
    if (directory == nullptr) return false;
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory)) {
      Candidate candidate;
      if (ParseLibraryName(entry->d_name, &candidate)) names.emplace_back(entry->d_name);
    }
    closedir(directory);
    // The shortest name with a version first: "libnvinfer.so.10" rather than the file it links
    // to, or the bare "libnvinfer.so" of a development package.
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      const bool bare_a = a.ends_with(".so");
      const bool bare_b = b.ends_with(".so");
      if (bare_a != bare_b) return bare_b;
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    bool any = false;
    for (const std::string& name : names) any |= AddFile(folder + "/" + name, origin);
    return any;
  }

  std::vector<Candidate> Take() { return std::move(found_); }

 private:
  std::set<std::string> seen_;
  std::vector<Candidate> found_;
};

/// A place that was named on purpose: a library or a folder of them.
Status AddNamed(const std::string& path, const std::string& origin, Finder& finder) {
  if (IsFolder(path)) {
    bool any = finder.AddFolder(path, origin);
    for (std::string_view package : kPackageFolders) {
      any |= finder.AddFolder(path + "/" + std::string(package), origin);
    }
    if (any) return OkStatus();
    return NotFound(origin + " names the folder '" + path +
                    "', which holds no libnvinfer.so.*, libnvinfer_lean.so.*, "
                    "libnvinfer_dispatch.so.* or libtensorrt_rtx.so.*");
  }
  if (finder.AddFile(path, origin)) return OkStatus();
  if (AbsolutePath(path).empty()) {
    return NotFound(origin + " names '" + path + "', which does not exist");
  }
  return InvalidArgument(origin + " names '" + path +
                         "', which by its name is no TensorRT library (libnvinfer.so.*, "
                         "libnvinfer_lean.so.*, libnvinfer_dispatch.so.*, libtensorrt_rtx.so.*)");
}

int CollectLoaded(dl_phdr_info* info, size_t, void* data) {
  if (info->dlpi_name != nullptr && *info->dlpi_name == '/') {
    static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
  }
  return 0;
}

/// What the application has loaded.  What only an earlier plan needed does not count: which
/// library a plan gets must not depend on what was loaded before it.
void AddLoaded(Finder& finder) {
  // Looked at later: the loader's lock is held while it is asked.
  std::vector<std::string> paths;
  dl_iterate_phdr(&CollectLoaded, &paths);
  for (const std::string& path : paths) {
    Candidate candidate;
    if (!ParseLibraryName(path, &candidate) || Library::BroughtIn(AbsolutePath(path))) continue;
    finder.AddFile(path, "loaded by the application");
  }
}

}  // namespace

bool ParseLibraryName(const std::string& path, Candidate* candidate) {
  const std::string_view name = BaseName(path);
  for (const FlavourName& known : kStems) {
    if (!name.starts_with(known.stem)) continue;
    const std::string_view suffix = name.substr(known.stem.size());
    candidate->flavour = known.flavour;
    candidate->major = 0;
    if (suffix.empty()) return true;
    if (suffix.front() != '.' || suffix.find_first_not_of("0123456789.") != suffix.npos) {
      return false;
    }
    const char* end = suffix.data() + suffix.size();
    return std::from_chars(suffix.data() + 1, end, candidate->major).ec == std::errc();
  }
  return false;
}

Result<std::vector<Candidate>> FindLibraries(const DiscoveryOptions& options) {
  Finder finder;
  if (!options.library_path.empty()) {
    TRTSCOPE_RETURN_IF_ERROR(AddNamed(options.library_path, "library_path", finder));
  }
  for (const std::string& path : SplitColons(std::getenv("TRTSCOPE_TENSORRT"))) {
    TRTSCOPE_RETURN_IF_ERROR(AddNamed(path, "TRTSCOPE_TENSORRT", finder));
  }
  AddLoaded(finder);
  for (const Folder& folder : Folders()) finder.AddFolder(folder.path, folder.origin);
  return finder.Take();
}

std::vector<std::string> SearchedFolders() {
  std::vector<std::string> paths;
  std::set<std::string> seen;
  for (const Folder& folder : Folders()) {
    if (IsFolder(folder.path) && seen.insert(AbsolutePath(folder.path)).second) {
      paths.push_back(folder.path);
    }
  }
  return paths;
}

std::vector<std::string> FoldersNotThere() {
  std::vector<std::string> paths;
  for (std::string& folder : LibraryPaths()) {
    if (!IsFolder(folder)) paths.push_back(std::move(folder));
  }
  return paths;
}

}  // namespace trtscope::engine::tensorrt
