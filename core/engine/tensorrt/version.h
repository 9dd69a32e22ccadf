#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_VERSION_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_VERSION_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trtscope::engine::tensorrt {

/// Which library of a release.
enum class Flavour : uint8_t {
  kFull,      // libnvinfer: builds engines and runs them
  kLean,      // libnvinfer_lean: runs version-compatible plans
  kDispatch,  // libnvinfer_dispatch: runs plans that carry their own lean runtime
  kRtx,       // libtensorrt_rtx: runs TensorRT-RTX plans
};
/// "full", "lean", "dispatch", "rtx".
std::string_view Name(Flavour flavour);

/// A TensorRT release, of a library or of a plan's builder.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// "10.16.1".
std::string ToString(const Version& version);

/// What getInferLibVersion returns: major * 1000 + minor * 100 + patch up to 9.x, major * 10000 +
/// minor * 100 + patch since 10.0 and in TensorRT-RTX, whose 1.0 is 10000.
Version DecodeLibraryVersion(int32_t number);

/// "8.6.0.12" or "10.16.1"; nothing when it does not start with three numbers.
std::optional<Version> ParseVersion(std::string_view text);

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_VERSION_H_
