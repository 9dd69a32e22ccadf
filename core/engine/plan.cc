#include "core/engine/plan.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace trtscope::engine {
namespace {

// A TensorRT plan's header as far as it is read here:
//   octets 0 to 3    magic, "ftrt" (TensorRT) or "vtrt" (TensorRT-RTX)
//   octets 24 to 27  the builder's major, minor, patch and build number
constexpr size_t kTensorRtHeader = 28;
constexpr size_t kTensorRtVersion = 24;
// An ExecuTorch program is a flatbuffer: its identifier follows the root's offset.
constexpr size_t kHostHeader = 8;
constexpr size_t kHostIdentifier = 4;
constexpr size_t kMagic = 4;

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "66 74 72 74 |ftrt|", of the first 16 octets.
std::string FirstOctets(std::span<const std::byte> plan) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex, printable;
  for (std::byte octet : plan.first(std::min<size_t>(plan.size(), 16))) {
    const auto value = std::to_integer<unsigned char>(octet);
    hex += kHex[value >> 4];
    hex += kHex[value & 15];
    hex += ' ';
    printable += value >= 0x20 && value < 0x7f ? static_cast<char>(value) : '.';
  }
  return hex + "|" + printable + "|";
}

Status CutShort(std::span<const std::byte> plan, std::string_view what, size_t expected) {
  return DataLoss("plan is cut short: " + std::to_string(plan.size()) + " octets, but the header " +
                  "of " + std::string(what) + " takes " + std::to_string(expected) +
                  "; it starts with " + FirstOctets(plan));
}

}  // namespace

std::string_view Name(PlanKind kind) {
  switch (kind) {
    case PlanKind::kTensorRt:
      return "tensorrt";
    case PlanKind::kTensorRtRtx:
      return "tensorrt_rtx";
    case PlanKind::kHost:
      return "host";
    case PlanKind::kNull:
      return "null";
  }
  return "unknown kind";
}

Result<PlanInfo> InspectPlan(std::span<const std::byte> plan) {
  if (plan.empty()) return DataLoss("plan is empty: 0 octets");
  const std::string_view text = Text(plan);
  PlanInfo info;
  info.size = plan.size();

  const std::string_view magic = text.substr(0, kMagic);
  if (magic == "ftrt" || magic == "vtrt") {
    info.kind = magic == "ftrt" ? PlanKind::kTensorRt : PlanKind::kTensorRtRtx;
    if (plan.size() < kTensorRtHeader) {
      return CutShort(plan, magic == "ftrt" ? "a TensorRT plan" : "a TensorRT-RTX plan",
                      kTensorRtHeader);
    }
    for (size_t i = 0; i < 4; ++i) {
      const int part = std::to_integer<int>(plan[kTensorRtVersion + i]);
      if (i > 0) info.builder_version += '.';
      info.builder_version += std::to_string(part);
      if (i == 0) info.version_major = part;
      if (i == 1) info.version_minor = part;
    }
  } else if (magic == "null") {
    info.kind = PlanKind::kNull;
    info.builder_version = "null";
  } else if (plan.size() >= kHostHeader && text.substr(kHostIdentifier, 2) == "ET" &&
             IsDigit(text[kHostIdentifier + 2]) && IsDigit(text[kHostIdentifier + 3])) {
    info.kind = PlanKind::kHost;
    info.builder_version = text.substr(kHostIdentifier, 4);
  } else if (plan.size() < kHostHeader) {
    return CutShort(plan, "any known kind of plan", kHostHeader);
  } else {
    return DataLoss("plan of no known kind: " + std::to_string(plan.size()) +
                    " octets that start with " + FirstOctets(plan) +
                    "; expected 'ftrt' (TensorRT), 'vtrt' (TensorRT-RTX) or 'null' at octet 0, or "
                    "'ET' and two digits (an ExecuTorch program) at octet 4");
  }
  info.hash = HashBytes(plan);
  return info;
}

uint64_t HashBytes(std::span<const std::byte> bytes) {
  // Odd constants without structure: a word is spread over all bits before it meets the hash, so
  // that changes in two words do not cancel out.
  constexpr uint64_t kFirst = 0x9e3779b185ebca87;
  constexpr uint64_t kSecond = 0xc2b2ae3d27d4eb4f;
  uint64_t hash = kFirst ^ (bytes.size() * kSecond);
  const std::byte* at = bytes.data();
  for (size_t left = bytes.size(); left > 0;) {
    const size_t count = std::min(left, sizeof(uint64_t));
    uint64_t word = 0;  // the last word is padded with zeros; the size tells such tails apart
    std::memcpy(&word, at, count);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    hash ^= std::rotl(word * kSecond, 31) * kFirst;
    hash = std::rotl(hash, 27) * kFirst + kSecond;
    at += count;
    left -= count;
  }
  // Ids show the upper digits: every octet must reach them, the last ones as well.
  hash = (hash ^ (hash >> 33)) * kSecond;
  hash = (hash ^ (hash >> 29)) * kFirst;
  return hash ^ (hash >> 32);
}

}  // namespace trtscope::engine
