#ifndef TRTSCOPE_CORE_ENGINE_HOST_LOADER_H_
#define TRTSCOPE_CORE_ENGINE_HOST_LOADER_H_

#include <string>

#include "core/engine/engine.h"

namespace trtscope::engine::host {

// The host engine is a plugin, libtrtscope_host.so, so that nothing else needs ExecuTorch: it is
// opened when the first host plan is loaded, together with the libraries of the executorch package.
//
// libexecutorch.so is looked for
//   1. in this process: `import executorch.runtime`, or another user of it, has opened it, and
//      there must be one copy;
//   2. where LoadOptions::library_path says (the library or its folder);
//   3. in the folder that the environment variable TRTSCOPE_EXECUTORCH_LIB names;
//   4. in the folders of AddLibraryPath (library_paths.h), to which Python adds the package's;
//   5. beside this library, and in ../executorch/lib from there, as wheels are installed;
//   6. where the plugin's own RUNPATH and the dynamic loader look.
// The plugin is looked for in the folder that TRTSCOPE_PLUGIN_DIR names, beside the library (or
// program) that this loader is part of, and in the folders of AddLibraryPath.
// What was opened stays open: operators and backends register themselves for good.

inline constexpr char kExecutorchLibVariable[] = "TRTSCOPE_EXECUTORCH_LIB";
inline constexpr char kPluginDirVariable[] = "TRTSCOPE_PLUGIN_DIR";

/// The implementation for PlanKind::kHost, registered when this library is loaded.  Its Load opens
/// the plugin, once; a failure says which piece is missing, and the next Load tries again.
/// Thread-safe.
Implementation& HostImplementation();

/// Opens the plugin as HostImplementation().Load does.
Result<Implementation*> OpenPlugin(const std::string& library_path);

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_LOADER_H_
