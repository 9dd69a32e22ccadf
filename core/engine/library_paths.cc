#include "core/engine/library_paths.h"

#include <algorithm>
#include <mutex>

namespace trtscope::engine {
namespace {

struct Paths {
  std::mutex mutex;
  std::vector<std::string> folders;
};

// Never destroyed: engines may be loaded from other static destructors.
Paths& ThePaths() {
  static Paths& paths = *new Paths;
  return paths;
}

}  // namespace

void AddLibraryPath(std::string_view folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.remove_suffix(1);
  if (folder.empty()) return;
  Paths& paths = ThePaths();
  std::lock_guard<std::mutex> lock(paths.mutex);
  if (std::find(paths.folders.begin(), paths.folders.end(), folder) == paths.folders.end()) {
    paths.folders.emplace_back(folder);
  }
}

std::vector<std::string> LibraryPaths() {
  Paths& paths = ThePaths();
  std::lock_guard<std::mutex> lock(paths.mutex);
  return paths.folders;
}

}  // namespace trtscope::engine

extern "C" void trtscope_add_library_path(const char* folder) {
  if (folder != nullptr) trtscope::engine::AddLibraryPath(folder);
}
