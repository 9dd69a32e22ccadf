#include "core/engine/tensorrt/plan_facts.h"

#include <cstring>
#include <string_view>

namespace trtscope::engine::tensorrt {
namespace {

// The outer header: magic at 0, octets of the whole plan at 16.
constexpr size_t kSize = 16;
// Behind the inner header ("ptrt" at 56), settings are written as a tag and a value.  The two
// numbers of the compute capability follow their group's tags.
constexpr size_t kInnerMagic = 56;
constexpr size_t kMajor = 120;  // tag, then value, then the same for the minor number
constexpr uint32_t kInt32Tag = 0x00018007;

template <typename T>
T Read(std::span<const std::byte> plan, size_t offset) {
  T value;
  std::memcpy(&value, plan.data() + offset, sizeof(value));
  return value;
}

}  // namespace

PlanFacts ReadPlanFacts(std::span<const std::byte> plan) {
  PlanFacts facts;
  if (plan.size() < kSize + sizeof(uint64_t)) return facts;
  const uint64_t size = Read<uint64_t>(plan, kSize);
  // Other releases may keep something else there: believe only what can be a size.
  if (size >= 64 && size < uint64_t{1} << 40) facts.announced_size = size;
  if (plan.size() < kMajor + 16 || std::memcmp(plan.data() + kInnerMagic, "ptrt", 4) != 0 ||
      Read<uint32_t>(plan, kMajor) != kInt32Tag || Read<uint32_t>(plan, kMajor + 8) != kInt32Tag) {
    return facts;
  }
  const int32_t major = Read<int32_t>(plan, kMajor + 4);
  const int32_t minor = Read<int32_t>(plan, kMajor + 12);
  if (major >= 3 && major < 100 && minor >= 0 && minor < 10) facts.sm = major * 10 + minor;
  return facts;
}

}  // namespace trtscope::engine::tensorrt
