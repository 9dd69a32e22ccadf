#ifndef TRTSCOPE_CORE_PROFILING_UTF8_H_
#define TRTSCOPE_CORE_PROFILING_UTF8_H_

// Names come from models and may hold any bytes; every file of ours is valid UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace trtscope::profiling {

/// U+FFFD, which stands for each byte that is no part of a well-formed sequence.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 when
/// there is none.
size_t Utf8Length(std::string_view text);

/// `raw` as valid UTF-8.  Past `max_bytes` of output it is cut, at a character, and ends in "...".
std::string ValidUtf8(std::string_view raw, size_t max_bytes = ~size_t{0});

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_UTF8_H_
