#include "core/engine/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace trtscope::engine {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string TensorRtPlan(std::string magic, std::string version, std::string rest = "weights") {
  return magic + std::string(20, '\1') + version + rest;
}

TEST(InspectPlan, RecognisesTensorRt) {
  const std::string plan = TensorRtPlan("ftrt", std::string("\x08\x06\x00\x0c", 4));
  Result<PlanInfo> info = InspectPlan(Bytes(plan));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->kind, PlanKind::kTensorRt);
  EXPECT_EQ(info->builder_version, "8.6.0.12");
  EXPECT_EQ(info->version_major, 8);
  EXPECT_EQ(info->version_minor, 6);
  EXPECT_EQ(info->size, plan.size());
  EXPECT_EQ(info->hash, HashBytes(Bytes(plan)));
}

TEST(InspectPlan, RecognisesTensorRtRtx) {
  const std::string plan = TensorRtPlan("vtrt", std::string("\x01\x07\x01\xff", 4));
  Result<PlanInfo> info = InspectPlan(Bytes(plan));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->kind, PlanKind::kTensorRtRtx);
  EXPECT_EQ(info->builder_version, "1.7.1.255");
  EXPECT_EQ(info->version_major, 1);
}

TEST(InspectPlan, HeaderAloneIsEnough) {
  EXPECT_TRUE(
      InspectPlan(Bytes(TensorRtPlan("ftrt", std::string("\x0a\x00\x01\x02", 4), ""))).ok());
}

TEST(InspectPlan, RecognisesHostPrograms) {
  Result<PlanInfo> info = InspectPlan(Bytes(std::string("\x40\0\0\0ET12eh00", 12)));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->kind, PlanKind::kHost);
  EXPECT_EQ(info->builder_version, "ET12");
  EXPECT_EQ(info->version_major, 0);
}

TEST(InspectPlan, RecognisesNull) {
  Result<PlanInfo> info = InspectPlan(Bytes("null{}"));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->kind, PlanKind::kNull);
}

TEST(InspectPlan, RefusesEmpty) {
  Result<PlanInfo> info = InspectPlan({});
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(info.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(info.status().message(), "plan is empty: 0 octets");
}

TEST(InspectPlan, RefusesEveryTruncation) {
  for (const char* magic : {"ftrt", "vtrt"}) {
    const std::string plan = TensorRtPlan(magic, "\x08\x06\x01\x0c", "");
    for (size_t size = 1; size < plan.size(); ++size) {
      Result<PlanInfo> info = InspectPlan(Bytes(plan.substr(0, size)));
      ASSERT_FALSE(info.ok()) << size;
      EXPECT_EQ(info.status().code(), StatusCode::kDataLoss);
      EXPECT_NE(info.status().message().find(std::to_string(size) + " octets"),
                std::string_view::npos);
    }
  }
}

TEST(InspectPlan, ShowsTheFirstOctetsOfTheUnknown) {
  Result<PlanInfo> info = InspectPlan(Bytes(std::string("PK\x03\x04\0\0zip and more", 18)));
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(info.status().code(), StatusCode::kDataLoss);
  const std::string message(info.status().message());
  EXPECT_NE(message.find("18 octets"), std::string::npos) << message;
  EXPECT_NE(message.find("50 4b 03 04 00 00 7a 69 70 20 61 6e 64 20 6d 6f |PK....zip and mo|"),
            std::string::npos)
      << message;
}

TEST(InspectPlan, WantsDigitsAfterEt) {
  EXPECT_FALSE(InspectPlan(Bytes("\x40zzzETA2eh00")).ok());
  EXPECT_FALSE(InspectPlan(Bytes("\x40zzzET1")).ok());
  EXPECT_TRUE(InspectPlan(Bytes("\x40zzzET12")).ok());
}

TEST(PlanKind, HasNames) {
  EXPECT_EQ(Name(PlanKind::kTensorRt), "tensorrt");
  EXPECT_EQ(Name(PlanKind::kTensorRtRtx), "tensorrt_rtx");
  EXPECT_EQ(Name(PlanKind::kHost), "host");
  EXPECT_EQ(Name(PlanKind::kNull), "null");
}

// Ids of engines name files and rows that people compare across releases and machines: these
// values may never change.
TEST(HashBytes, IsStable) {
  EXPECT_EQ(HashBytes({}), 0xc4313cd5ef5c15ac);
  EXPECT_EQ(HashBytes(Bytes("a")), 0x9d33240df20385fd);
  EXPECT_EQ(HashBytes(Bytes("The quick brown fox jumps over the lazy dog")), 0xe2e3037f9d41380e);
}

TEST(HashBytes, TellsZeroTailsApart) {
  std::set<uint64_t> seen;
  for (size_t size = 0; size < 64; ++size) seen.insert(HashBytes(Bytes(std::string(size, '\0'))));
  EXPECT_EQ(seen.size(), 64u);
}

TEST(HashBytes, EveryBitMattersAlsoInPairs) {
  const std::string base(64, 'x');
  std::set<uint64_t> seen{HashBytes(Bytes(base))};
  size_t count = 1;
  for (size_t a = 0; a < 512; ++a) {
    for (size_t b = a; b < 512; ++b) {
      std::string changed = base;
      changed[a / 8] = static_cast<char>(changed[a / 8] ^ (1 << (a % 8)));
      if (b != a) changed[b / 8] = static_cast<char>(changed[b / 8] ^ (1 << (b % 8)));
      seen.insert(HashBytes(Bytes(changed)));
      ++count;
    }
  }
  EXPECT_EQ(seen.size(), count);
}

}  // namespace
}  // namespace trtscope::engine
