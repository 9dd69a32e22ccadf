#include "core/profiling/json_text.h"

#include <charconv>

#include "core/profiling/utf8.h"

namespace trtscope::profiling {
namespace {

/// `ns` with its last `decimals` digits after the point.
void AppendFixed(std::string& out, int64_t ns, int decimals, uint64_t unit) {
  uint64_t magnitude = static_cast<uint64_t>(ns);
  if (ns < 0) {
    out += '-';
    magnitude = 0 - magnitude;
  }
  AppendUint(out, magnitude / unit);
  out += '.';
  uint64_t rest = magnitude % unit;
  char digits[8];
  for (int i = decimals - 1; i >= 0; --i) {
    digits[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  out.append(digits, static_cast<size_t>(decimals));
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view raw, size_t max_bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  const size_t begin = out.size();
  while (!raw.empty()) {
    if (out.size() - begin >= max_bytes) {
      out += "...";
      break;
    }
    const size_t length = Utf8Length(raw);
    if (length == 0) {
      out += kReplacement;
      raw.remove_prefix(1);
      continue;
    }
    const char c = raw[0];
    if (length > 1) {
      out.append(raw.substr(0, length));
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += kHex[(c >> 4) & 15];
      out += kHex[c & 15];
    } else {
      out += c;
    }
    raw.remove_prefix(length);
  }
  out += '"';
}

void AppendInt(std::string& out, int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

void AppendUint(std::string& out, uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

void AppendMicros(std::string& out, int64_t ns) { AppendFixed(out, ns, 3, 1'000); }
void AppendMillis(std::string& out, int64_t ns) { AppendFixed(out, ns, 6, 1'000'000); }

std::string SafeFileName(std::string_view raw) {
  constexpr size_t kMax = 80;
  std::string out;
  for (const char c : raw.substr(0, kMax)) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    out += safe ? c : '_';
  }
  if (out.empty()) return "engine";
  if (out[0] == '.') out[0] = '_';
  return out;
}

}  // namespace trtscope::profiling
