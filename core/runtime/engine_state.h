#ifndef TRTSCOPE_CORE_RUNTIME_ENGINE_STATE_H_
#define TRTSCOPE_CORE_RUNTIME_ENGINE_STATE_H_

// The state of torch.classes.tensorrt.Engine: a list of strings that packages hold pickled.
// Torch-free, so that it is tested and fuzzed without LibTorch.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace trtscope::runtime {

/// The list's fields, in order.
struct StateField {
  enum Index : size_t {
    kAbiVersion,
    kName,
    kDevice,
    kPlan,
    kInputNames,
    kOutputNames,
    kHardwareCompatible,
    kMetadata,
    kTargetPlatform,
    kRequiresOutputAllocator,
    kResourceStrategy,
    kMultiDevice,
    kAliasedIo,
    kCount,
  };
};
inline constexpr std::array<std::string_view, StateField::kCount> kStateFieldNames = {
    "abi_version",
    "name",
    "device",
    "plan",
    "input_names",
    "output_names",
    "hw_compatible",
    "metadata",
    "target_platform",
    "output_allocator",
    "resource_strategy",
    "multi_device",
    "aliased_io"};

/// Version written, and the older one that is read: "8" has the first 11 fields.
inline constexpr std::string_view kStateAbiVersion = "10";
inline constexpr std::string_view kOldStateAbiVersion = "8";
inline constexpr size_t kOldStateFieldCount = 11;

/// "linux_x86_64", "linux_aarch64", ...: the platform of this process.
std::string_view CurrentPlatform();

struct AliasedIo {
  std::string output, input, kind;
};

struct EngineState {
  std::string name;
  std::string device;  // "id%major%minor%type%name", checked, and kept as it came
  int device_id = 0;
  std::string plan;  // raw octets
  std::vector<std::string> input_names, output_names;
  bool hardware_compatible = false;
  std::string metadata;  // the exporter's own; kept as it came
  std::string target_platform;
  bool requires_output_allocator = false;
  std::string resource_strategy = "0";
  std::vector<AliasedIo> aliased_io;
};

enum class PlanEncoding : bool {
  kRaw,     // as the class's constructor takes it
  kBase64,  // as a pickled state holds it
};

/// The strings of a state where they are: a plan may be gigabytes, and is not copied to be read.
using StateFields = std::vector<std::string_view>;

/// Checks every field; the error names the engine, the field, what came and what was expected.
/// The plan's own header is not looked at here.  Beside `fields`, the plan is held once.
Result<EngineState> ParseEngineState(StateFields fields, PlanEncoding encoding);

/// The list that ParseEngineState reads, in the current version with the plan in base64.
std::vector<std::string> SerializeEngineState(const EngineState& state);

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_ENGINE_STATE_H_
