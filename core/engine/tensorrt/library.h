#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_LIBRARY_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_LIBRARY_H_

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/engine/tensorrt/abi/abi_generated.h"
#include "core/engine/tensorrt/callbacks.h"
#include "core/engine/tensorrt/version.h"

namespace trtscope::engine::tensorrt {

/// One opened TensorRT library.  Immutable; never closed, since contexts, streams and loggers of
/// the process hang on it.  Several may be open at once: none puts its symbols into the global
/// scope.
class Library {
 public:
  /// Opens the library in `path`, an absolute path; the same file is opened once.  Refused: a
  /// file that is no TensorRT library, and a release whose layout is not known (8.6, 10.x and
  /// 11.x are).  Thread-safe.
  static Result<const Library*> Open(const std::string& path, Flavour flavour);

  /// Whether the file `real_path` is in the process only because Open brought it in.  Thread-safe.
  static bool BroughtIn(const std::string& real_path);

  const std::string& path() const { return path_; }
  Flavour flavour() const { return flavour_; }
  const Version& version() const { return version_; }
  const abi::Layout& layout() const { return layout_; }
  /// "TensorRT 8.6.0 (libnvinfer.so.8)".
  const std::string& label() const { return label_; }

  /// A new IRuntime that logs to our logger, or the reason why there is none.  The caller
  /// destroys it, after every engine that came from it, and calls this with a CUDA device current
  /// (ScopedDevice): without a driver, TensorRT 8.6 crashes in here.
  Result<abi::IRuntime> CreateRuntime() const;

 private:
  Library(std::string path, Flavour flavour, Version version, abi::Layout layout, void* create);
  static Result<const Library*> OpenNew(const std::string& path, Flavour flavour);

  std::string path_;
  Flavour flavour_;
  Version version_;
  std::string label_;
  abi::Layout layout_;
  void* create_runtime_;
  int32_t version_number_;
  mutable LoggerCallback logger_;
};

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_LIBRARY_H_
