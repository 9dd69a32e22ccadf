#ifndef TRTSCOPE_CORE_PROFILING_NAMES_H_
#define TRTSCOPE_CORE_PROFILING_NAMES_H_

// The one table of levels, formats, phases and trace files.  Code, docs, tests and Python read
// it; no other file spells one of these names.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trtscope::profiling {

/// How much is recorded.  Each level includes the ones before it.
enum class Level : uint8_t { kOff, kDelegate, kPhases, kLayers };
inline constexpr std::array<std::string_view, 4> kLevelNames = {"off", "delegate", "phases",
                                                                "layers"};

/// What is written besides the tables in memory.
enum class Format : uint8_t { kPerfetto, kTrex, kEtdump };
inline constexpr std::array<std::string_view, 3> kFormatNames = {"perfetto", "trex", "etdump"};

/// The four files of the LibTorch side, by the suffix that follows the engine's file stem.
enum class TraceFile : uint8_t { kEngineExecution, kInput, kOutput, kEnqueue };
inline constexpr std::array<std::string_view, 4> kTraceFileSuffixes = {
    "_engine_execution_profile.trace", "_input_profile.trace", "_output_profile.trace",
    "_enqueue_profile.trace"};

/// The file of the whole process, by the suffix that follows host and pid.
inline constexpr std::string_view kProcessTraceSuffix = ".perfetto-trace";

/// The environment variables read once, when the library loads.
inline constexpr std::string_view kEnvLevel = "TORCHTRT_PROFILE_LEVEL";
inline constexpr std::string_view kEnvFormat = "TORCHTRT_PROFILE_FORMAT";
inline constexpr std::string_view kEnvPathPrefix = "TORCHTRT_PROFILE_PATH_PREFIX";
inline constexpr std::string_view kEnvFilter = "TORCHTRT_PROFILE_FILTER";
inline constexpr std::string_view kEnvSampleInterval = "TORCHTRT_PROFILE_SAMPLE_INTERVAL";

/// A part of one engine call.  kDelegate is the whole call; the others lie inside it, except
/// kGpu, which is measured by device events and may end later.
enum class Phase : uint8_t {
  kDelegate,
  kWorkspace,
  kInputBinding,
  kShapeInference,
  kOutputBinding,
  kEnqueueHost,
  kOutputStaging,
  kSynchronize,
  kGpu,
};
inline constexpr size_t kPhaseCount = 9;

struct PhaseInfo {
  Phase phase;
  std::string_view event;   // name of the event in every trace
  std::string_view column;  // name of the column in tables and of the key in JSON
  TraceFile file;           // which of the four files its spans go to
  Level level;              // the lowest level that records it
  bool host_time;           // measured on the host's clock, not by device events
  std::string_view description;
};

inline constexpr std::array<PhaseInfo, kPhaseCount> kPhases = {{
    {Phase::kDelegate, "torchtrt.delegate", "total", TraceFile::kEngineExecution, Level::kDelegate,
     true, "The whole host side of one engine call."},
    {Phase::kWorkspace, "torchtrt.workspace", "workspace", TraceFile::kEngineExecution,
     Level::kPhases, true, "Allocation of the engine's scratch memory."},
    {Phase::kInputBinding, "torchtrt.input_binding", "inputs", TraceFile::kInput, Level::kPhases,
     true, "Shape validation, input binding and any copy to the device that it needs."},
    {Phase::kShapeInference, "torchtrt.shape_inference", "shapes", TraceFile::kInput,
     Level::kPhases, true, "Output shapes worked out from the inputs' shapes, when they changed."},
    {Phase::kOutputBinding, "torchtrt.output_binding", "outputs", TraceFile::kOutput,
     Level::kPhases, true, "Output sizing, allocation, aliases and binding."},
    {Phase::kEnqueueHost, "torchtrt.enqueue_host", "enqueue", TraceFile::kEnqueue, Level::kPhases,
     true,
     "Host time from entry to return of the enqueue: launch cost, not device time, when the "
     "engine is asynchronous."},
    {Phase::kOutputStaging, "torchtrt.output_staging", "staging", TraceFile::kOutput,
     Level::kPhases, true, "Copies from the device that the caller asked for."},
    {Phase::kSynchronize, "torchtrt.synchronize", "synchronize", TraceFile::kOutput, Level::kPhases,
     true, "Waiting that the runtime's contract needs in any case."},
    {Phase::kGpu, "torchtrt.gpu", "gpu", TraceFile::kEngineExecution, Level::kPhases, false,
     "Device time of one call between two events on its stream, collected when known complete."},
}};

constexpr const PhaseInfo& Info(Phase phase) { return kPhases[static_cast<size_t>(phase)]; }
constexpr std::string_view Name(Level level) { return kLevelNames[static_cast<size_t>(level)]; }
constexpr std::string_view Name(Format format) { return kFormatNames[static_cast<size_t>(format)]; }

/// The category of phases, and that of layer records, which carry the engine's own layer names.
inline constexpr std::string_view kPhaseCategory = "torchtrt";
inline constexpr std::string_view kLayerCategory = "torchtrt.layer";

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_NAMES_H_
