#ifndef TRTSCOPE_CORE_PROFILING_JSON_TEXT_H_
#define TRTSCOPE_CORE_PROFILING_JSON_TEXT_H_

// Pieces of JSON appended to a string, for the trace files: a JSON library per event would cost
// more than everything else the writer does.

#include <cstdint>
#include <string>
#include <string_view>

namespace trtscope::profiling {

/// Appends `raw` as a JSON string, quotes included, whatever bytes it holds: control characters
/// are escaped, invalid UTF-8 becomes U+FFFD.  Past `max_bytes` of output it is cut, at a
/// character, and ends in "...".
void AppendJsonString(std::string& out, std::string_view raw, size_t max_bytes = ~size_t{0});

void AppendInt(std::string& out, int64_t value);
void AppendUint(std::string& out, uint64_t value);
/// Microseconds with three decimals, exact: the time unit of Chrome traces.
void AppendMicros(std::string& out, int64_t ns);
/// Milliseconds with six decimals, exact: the time unit of TREX files.
void AppendMillis(std::string& out, int64_t ns);

/// `raw` as a part of a file name: letters, digits, `.`, `_` and `-`, at most 80 bytes, no
/// leading dot, never empty.
std::string SafeFileName(std::string_view raw);

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_JSON_TEXT_H_
