#include "core/runtime/base64.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace trtscope::runtime {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kInvalid = 0x80000000;

// One table a position in a group of four, its six bits already in place: a group is four loads
// and three ors, and the high bit of the result says that one of them was invalid.
using Table = std::array<uint32_t, 256>;
constexpr Table MakeTable(int shift) {
  Table table{};
  for (auto& entry : table) entry = kInvalid;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint32_t>(i) << shift;
  }
  return table;
}
constexpr std::array<Table, 4> kTables = {MakeTable(18), MakeTable(12), MakeTable(6), MakeTable(0)};

uint32_t Group(const unsigned char* p) {
  return kTables[0][p[0]] | kTables[1][p[1]] | kTables[2][p[2]] | kTables[3][p[3]];
}

Status BadCharacter(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool padding = c == '=' && i + 2 >= text.size() && text.back() == '=';
    if (kTables[3][c] == kInvalid && !padding) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned>(c));
      return DataLoss(std::string("base64 text has ") + hex + " at offset " + std::to_string(i) +
                      ", which is not of its alphabet");
    }
  }
  return DataLoss("base64 text ends in bits that belong to no octet");
}

}  // namespace

std::string Base64Encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  const auto* in = reinterpret_cast<const unsigned char*>(bytes.data());
  char* out = text.data();
  size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3, out += 4) {
    const uint32_t v = uint32_t{in[i]} << 16 | uint32_t{in[i + 1]} << 8 | in[i + 2];
    out[0] = kAlphabet[v >> 18];
    out[1] = kAlphabet[v >> 12 & 63];
    out[2] = kAlphabet[v >> 6 & 63];
    out[3] = kAlphabet[v & 63];
  }
  if (const size_t rest = bytes.size() - i; rest > 0) {
    const uint32_t v = uint32_t{in[i]} << 16 | (rest == 2 ? uint32_t{in[i + 1]} << 8 : 0);
    out[0] = kAlphabet[v >> 18];
    out[1] = kAlphabet[v >> 12 & 63];
    if (rest == 2) out[2] = kAlphabet[v >> 6 & 63];
  }
  return text;
}

Result<std::string> Base64Decode(std::string_view text) {
  if (text.size() % 4 != 0) {
    return DataLoss("base64 text has " + std::to_string(text.size()) +
                    " characters, which is not a multiple of 4");
  }
  if (text.empty()) return std::string();
  const size_t padding = text.back() != '=' ? 0 : text[text.size() - 2] != '=' ? 1 : 2;
  std::string bytes(text.size() / 4 * 3, '\0');
  const auto* in = reinterpret_cast<const unsigned char*>(text.data());
  char* out = bytes.data();
  const size_t whole = text.size() - (padding > 0 ? 4 : 0);
  uint32_t invalid = 0;
  for (size_t i = 0; i < whole; i += 4, out += 3) {
    const uint32_t v = Group(in + i);
    invalid |= v;
    out[0] = static_cast<char>(v >> 16);
    out[1] = static_cast<char>(v >> 8);
    out[2] = static_cast<char>(v);
  }
  if (padding > 0) {
    const unsigned char last[4] = {in[whole], in[whole + 1],
                                   padding == 1 ? in[whole + 2] : uint8_t{'A'}, 'A'};
    const uint32_t v = Group(last);
    invalid |= v;
    if (padding == 1) {
      if (v & 0xff) invalid |= kInvalid;
      out[1] = static_cast<char>(v >> 8);
    } else if (v & 0xffff) {
      invalid |= kInvalid;
    }
    out[0] = static_cast<char>(v >> 16);
    bytes.resize(bytes.size() - padding);
  }
  if (invalid & kInvalid) return BadCharacter(text);
  return bytes;
}

}  // namespace trtscope::runtime
