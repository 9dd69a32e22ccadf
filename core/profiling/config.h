#ifndef TRTSCOPE_CORE_PROFILING_CONFIG_H_
#define TRTSCOPE_CORE_PROFILING_CONFIG_H_

// The process-wide profiling configuration and its generation.
//
// Setters validate, change one field under a mutex and publish a new generation with release
// order.  An engine compares the generation with the one it applied last, one atomic load, at
// its next call and takes a snapshot only when they differ.  There is no registry of engines to
// walk, so settings reach engines that a package creates before or after they are changed.
//
// Threads: every function may be called from any thread at any time.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/profiling/names.h"

namespace trtscope::profiling {

struct Config {
  Level level = Level::kOff;
  Format format = Format::kPerfetto;
  std::string path_prefix;   // folder of the trace files; the system's temporary one by default
  std::string filter = "*";  // glob over engine ids
  // One call in this many is measured on the device (its GPU span; at kLayers, its layers), where
  // measuring makes a call slower; 0: as many as add at most a twentieth to the host's time.
  uint32_t sample_interval = 0;
  uint64_t generation = 0;  // grows by one with every change

  friend bool operator==(const Config&, const Config&) = default;
};

namespace internal {
extern std::atomic<uint64_t> global_generation;
}

/// The current generation: one acquire load.
inline uint64_t Generation() { return internal::global_generation.load(std::memory_order_acquire); }

/// One coherent copy of every field.
Config Snapshot();

/// Names are those of names.h; an unknown one is refused with the list of known ones.  Turning
/// the level to kOff (and changing path or format) finishes the trace files of the engines that
/// follow the global configuration before it returns, waiting at most a few seconds for calls
/// that are in flight; it must therefore not be called from inside an engine call.
Status SetLevel(Level level);
Status SetLevel(std::string_view name);
Status SetFormat(std::string_view name);

/// `folder` need not exist; the first file creates it.  Refused when empty, when it names a
/// file, or when the closest folder that exists cannot be written to.
Status SetPathPrefix(std::string_view folder);

/// `glob` over engine ids: `*`, `?` and `[...]`; `*` matches every engine.  Refused when empty.
Status SetFilter(std::string_view glob);

/// Calls, from 1; 0 chooses by cost.  Refused when negative or above 1,000,000.
Status SetSampleInterval(int64_t calls);

/// The setter of `name` (level, format, path_prefix, filter, sample_interval) with a text.
Status SetByName(std::string_view name, std::string_view value);

/// set_profile_execution of the RFC: on turns `off` into `layers` and keeps any other level.
Status SetExecution(bool enabled);

Result<Level> ParseLevel(std::string_view name);
Result<Format> ParseFormat(std::string_view name);
/// The check of SetPathPrefix, also for an engine's own path.
Status CheckPathPrefix(std::string_view folder);

/// Whether `glob` (as in SetFilter) matches all of `id`.
bool GlobMatches(std::string_view glob, std::string_view id);

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_CONFIG_H_
