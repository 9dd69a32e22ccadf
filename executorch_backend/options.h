#ifndef TRTSCOPE_EXECUTORCH_BACKEND_OPTIONS_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_OPTIONS_H_

// What a method can be told when it is loaded, and where from:
//
//   1. options given at load time (LoadBackendOptionsMap, or trtscope_executorch_set_load_option),
//   2. compile specs embedded in the .pte,
//   3. the process-wide configuration (core/profiling/config.h: setters, environment),
//   4. off.
//
// Each key is looked up on its own; 1 and 2 make it the engine's own setting, which wins over
// process-wide changes for as long as the method is loaded.  set_option of the backend changes 3,
// so it reaches methods that are loaded already and have no setting of their own.
//
//   torchtrt_profile_level        off, delegate, phases, layers
//   torchtrt_profile_format       etdump, perfetto, trex.  ETDump gets its events in any case;
//                                 perfetto and trex are files beside it.  A method with a level of
//                                 its own and no format writes no files.
//   torchtrt_profile_path_prefix  folder of those files
//   torchtrt_profile_filter       glob over engine ids: engines of the method that it does not
//   match
//                                 are off, whatever the level
//   weight_streaming_budget       octets, an integer of 0 or more
//   target_device                 "cuda:0"
//
// Other keys that start with "torchtrt_" are refused; the rest belongs to somebody else.

#include <executorch/runtime/backend/interface.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/device/device.h"
#include "core/profiling/settings.h"

namespace trtscope::executorch_backend {

inline constexpr char kLevelKey[] = "torchtrt_profile_level";
inline constexpr char kFormatKey[] = "torchtrt_profile_format";
inline constexpr char kPathPrefixKey[] = "torchtrt_profile_path_prefix";
inline constexpr char kFilterKey[] = "torchtrt_profile_filter";
inline constexpr char kWeightStreamingKey[] = "weight_streaming_budget";
inline constexpr char kTargetDeviceKey[] = "target_device";

struct MethodOptions {
  profiling::OwnSettings profile;
  std::optional<std::string> filter;
  std::optional<int64_t> weight_streaming_budget;
  std::optional<device::DeviceId> target_device;
};

using BackendOption = ::executorch::runtime::BackendOption;
using CompileSpec = ::executorch::runtime::CompileSpec;

/// Reads options of load time over compile specs.  Errors name the source, the key, what was given
/// and what is expected.
Result<MethodOptions> ReadMethodOptions(::executorch::runtime::Span<const BackendOption> runtime,
                                        ::executorch::runtime::ArrayRef<CompileSpec> compile_specs);

/// Whether a method can be given the option.
Status CheckOption(const std::string& key, const std::string& value);

/// Options of load time for the methods that this thread loads next, for callers that cannot pass
/// a LoadBackendOptionsMap, such as Python.  Those of the map win over these.
void SetThreadLoadOption(std::string key, std::string value);
void ClearThreadLoadOptions();

/// The backend's set_option: changes the process-wide configuration, or nothing if one option is
/// wrong.
Status SetProcessOptions(::executorch::runtime::Span<const BackendOption> options);

/// The backend's get_option: fills in the process-wide values.
Status GetProcessOptions(::executorch::runtime::Span<BackendOption> options);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_OPTIONS_H_
