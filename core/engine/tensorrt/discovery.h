#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_DISCOVERY_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_DISCOVERY_H_

// Where TensorRT libraries are, without opening them.

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensorrt/library.h"

namespace trtscope::engine::tensorrt {

/// A file that by its name is a TensorRT library.
struct Candidate {
  std::string path;  // absolute
  Flavour flavour = Flavour::kFull;
  int major = 0;       // by the file's name; 0: it does not say
  std::string origin;  // why this place was looked at: "library_path", "TRTSCOPE_TENSORRT", ...
};

/// Reads a library's file name; nothing in Candidate::origin.  Not a TensorRT library: no flavour.
/// "libnvinfer_lean.so.10" is lean and 10; "libnvinfer_plugin.so.10" is none.
bool ParseLibraryName(const std::string& path, Candidate* candidate);

struct DiscoveryOptions {
  /// LoadOptions::library_path: a library or a folder.
  std::string library_path;
};

/// Every candidate, each file once, the first to be asked first:
///   1. `library_path`
///   2. TRTSCOPE_TENSORRT: libraries or folders, separated by colons
///   3. libraries that the application has loaded already
///   4. folders of AddLibraryPath, and the folders of TensorRT's Python packages inside them
///   5. LD_LIBRARY_PATH, the virtual environment, the loader's configured folders
///   6. the places of TensorRT's installers: Debian packages, JetPack, DRIVE OS, NGC, tar files
/// Refused: a `library_path` or an entry of TRTSCOPE_TENSORRT where no TensorRT library is, since
/// using another one silently is never what was meant.  Thread-safe.
Result<std::vector<Candidate>> FindLibraries(const DiscoveryOptions& options);

/// The folders that FindLibraries looks into on this machine, for messages.
std::vector<std::string> SearchedFolders();
/// Those that the application added (core/engine/library_paths.h) and that do not exist.
std::vector<std::string> FoldersNotThere();

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_DISCOVERY_H_
