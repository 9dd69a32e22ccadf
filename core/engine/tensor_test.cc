#include "core/engine/tensor.h"

#include <gtest/gtest.h>

namespace trtscope::engine {
namespace {

TEST(DataType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DataType::kFloat4); ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(DataTypeFromName(Name(type)), type) << Name(type);
    EXPECT_GT(BitWidth(type), 0);
  }
  EXPECT_EQ(Name(DataType::kFloat32), "float32");
  EXPECT_EQ(Name(DataType::kBool), "bool");
  EXPECT_EQ(DataTypeFromName("float"), std::nullopt);
  EXPECT_EQ(DataTypeFromName(""), std::nullopt);
}

TEST(DataType, UnknownValuesAreSafe) {
  EXPECT_EQ(Name(static_cast<DataType>(200)), "unknown type");
  EXPECT_EQ(BitWidth(static_cast<DataType>(200)), 0);
}

TEST(Dims, Prints) {
  EXPECT_EQ(ToString(Dims{}), "[]");
  EXPECT_EQ(ToString(Dims{7}), "[7]");
  EXPECT_EQ(ToString(Dims{2, -1, 64}), "[2, -1, 64]");
}

TEST(Dims, ComparesUpToItsRank) {
  Dims a{1, 2}, b{1, 2};
  b.d[5] = 9;  // past the rank: no part of the shape
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == (Dims{1, 2, 3}));
  EXPECT_FALSE(a == (Dims{1, 3}));
}

TEST(Dims, CountsElements) {
  EXPECT_EQ(Dims{}.elements(), 1);
  EXPECT_EQ((Dims{3, 0, 5}).elements(), 0);
  EXPECT_EQ((Dims{3, 4, 5}).elements(), 60);
  EXPECT_TRUE((Dims{3, -1}).dynamic());
  EXPECT_FALSE((Dims{3, 1}).dynamic());
}

TEST(ByteSize, RoundsPackedTypesUp) {
  EXPECT_EQ(ByteSize(Dims{3, 5}, DataType::kFloat32), 60u);
  EXPECT_EQ(ByteSize(Dims{}, DataType::kInt64), 8u);
  EXPECT_EQ(ByteSize(Dims{0, 5}, DataType::kFloat32), 0u);
  EXPECT_EQ(ByteSize(Dims{3}, DataType::kInt4), 2u);
  EXPECT_EQ(ByteSize(Dims{4}, DataType::kFloat4), 2u);
}

}  // namespace
}  // namespace trtscope::engine
