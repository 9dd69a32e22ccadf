#include "core/base/checksum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace trtscope {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string WithTrailer(std::string program) {
  const uint32_t crc = Crc32(Bytes(program));
  const uint64_t size = program.size();
  program += "TSCK";
  program.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  program.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return program;
}

TEST(Crc32, IsTheOneOfZlib) {
  EXPECT_EQ(Crc32({}), 0u);
  EXPECT_EQ(Crc32(Bytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(Crc32(Bytes("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
}

TEST(CheckedProgram, TakesTheTrailerOff) {
  for (const std::string& program : {std::string(), std::string("p"), std::string(1000, 'p')}) {
    const std::string plan = WithTrailer(program);
    auto checked = CheckedProgram(Bytes(plan));
    ASSERT_TRUE(checked.ok());
    EXPECT_EQ(checked->size(), program.size());
    EXPECT_EQ(checked->data(), Bytes(plan).data());
  }
}

TEST(CheckedProgram, LeavesPlansWithoutOne) {
  for (const std::string& plan : {std::string(), std::string("TSCK"), std::string(500, 'x'),
                                  WithTrailer("program") + "more"}) {
    auto checked = CheckedProgram(Bytes(plan));
    ASSERT_TRUE(checked.ok());
    EXPECT_EQ(checked->size(), plan.size());
  }
}

TEST(CheckedProgram, SeesEveryChangedBit) {
  const std::string plan = WithTrailer("what was built, in some octets");
  for (size_t bit = 0; bit < (plan.size() - kTrailerSize) * 8; ++bit) {
    std::string damaged = plan;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    auto checked = CheckedProgram(Bytes(damaged));
    ASSERT_FALSE(checked.ok()) << bit;
    EXPECT_EQ(checked.status().code(), StatusCode::kDataLoss);
    EXPECT_NE(checked.status().message().find("damaged"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace trtscope
