#include "core/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace trtscope {
namespace {

TEST(Status, OkIsOnePointer) {
  static_assert(sizeof(Status) == sizeof(void*));
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_EQ(OkStatus().code(), StatusCode::kOk);
  EXPECT_EQ(OkStatus().message(), "");
}

TEST(Status, CopiesAreIndependent) {
  Status status = NotFound("engine 'a'");
  Status copy = status;
  status = OkStatus();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(copy.code(), StatusCode::kNotFound);
  EXPECT_EQ(copy.message(), "engine 'a'");
  copy = *&copy;
  EXPECT_EQ(copy.message(), "engine 'a'");
}

TEST(Status, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    EXPECT_NE(StatusCodeName(static_cast<StatusCode>(code)), "unknown") << code;
  }
}

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument(std::to_string(n) + " is odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  TRTSCOPE_ASSIGN_OR_RETURN(int half, Half(n));
  TRTSCOPE_RETURN_IF_ERROR(Half(half).status());
  return Half(half);
}

TEST(Result, PropagatesTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "3 is odd");
  EXPECT_EQ(Quarter(5).status().message(), "5 is odd");
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  ASSERT_TRUE(result.ok());
  std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace trtscope
