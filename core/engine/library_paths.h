#ifndef TRTSCOPE_CORE_ENGINE_LIBRARY_PATHS_H_
#define TRTSCOPE_CORE_ENGINE_LIBRARY_PATHS_H_

/* Folders in which runtime libraries (TensorRT, ExecuTorch) are looked for besides the loader's
 * own places.  Python adds the folders of its packages, which no C++ code can know.  A C header:
 * Python calls it through ctypes. */

#ifdef __cplusplus
#include <string>
#include <string_view>
#include <vector>

namespace trtscope::engine {

/// Adds a folder behind those already there; one that is there already, or is empty, changes
/// nothing.  The folder need not exist.  Takes effect for engines loaded later.  Thread-safe.
void AddLibraryPath(std::string_view folder);
/// The folders in the order they were added.  Thread-safe.
std::vector<std::string> LibraryPaths();

}  // namespace trtscope::engine

extern "C" {
#endif

/* AddLibraryPath for C.  Null is ignored.  Thread-safe. */
void trtscope_add_library_path(const char* folder);

#ifdef __cplusplus
}
#endif

#endif /* TRTSCOPE_CORE_ENGINE_LIBRARY_PATHS_H_ */
