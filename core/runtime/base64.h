#ifndef TRTSCOPE_CORE_RUNTIME_BASE64_H_
#define TRTSCOPE_CORE_RUNTIME_BASE64_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::runtime {

/// RFC 4648 base64 with padding and without line breaks, as pickled engine states hold plans.
std::string Base64Encode(std::string_view bytes);

/// Refuses a wrong length, a character outside the alphabet (with its offset) and stray bits
/// after the last octet, so that a plan is either exactly what was encoded or an error.
Result<std::string> Base64Decode(std::string_view text);

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_BASE64_H_
