#include "core/profiling/utf8.h"

namespace trtscope::profiling {

size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  // The second byte's range excludes overlong forms, surrogates and what is past U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

std::string ValidUtf8(std::string_view raw, size_t max_bytes) {
  std::string out;
  while (!raw.empty()) {
    if (out.size() >= max_bytes) return out += "...";
    const size_t length = Utf8Length(raw);
    if (length == 0) {
      out += kReplacement;
      raw.remove_prefix(1);
    } else {
      out += raw.substr(0, length);
      raw.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace trtscope::profiling
