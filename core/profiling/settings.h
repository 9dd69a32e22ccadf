#ifndef TRTSCOPE_CORE_PROFILING_SETTINGS_H_
#define TRTSCOPE_CORE_PROFILING_SETTINGS_H_

// Which settings are in force for one engine: its own where it has them, else the global ones.

#include <optional>
#include <string>
#include <string_view>

#include "core/profiling/config.h"

namespace trtscope::profiling {

struct OwnSettings {
  std::optional<Level> level;
  std::optional<Format> format;
  std::optional<std::string> path_prefix;
};

struct Effective {
  Level level = Level::kOff;
  Format format = Format::kPerfetto;
  std::string path_prefix;
  uint32_t sample_interval = 0;
};

/// The filter narrows the global level only: an engine with a level of its own is not asked.
inline Effective Resolve(const Config& global, const OwnSettings& own, std::string_view id) {
  Effective out;
  if (own.level) {
    out.level = *own.level;
  } else if (global.level != Level::kOff && GlobMatches(global.filter, id)) {
    out.level = global.level;
  }
  out.format = own.format.value_or(global.format);
  out.path_prefix = own.path_prefix.value_or(global.path_prefix);
  out.sample_interval = global.sample_interval;
  return out;
}

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_SETTINGS_H_
