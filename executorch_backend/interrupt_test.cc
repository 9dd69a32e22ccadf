#include "executorch_backend/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace trtscope::executorch_backend {
namespace {

TEST(Interrupt, TheFirstSignalIsKept) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Interrupt interrupt;
    EXPECT_EQ(Interrupt::signal(), 0);
    std::raise(signal);
    EXPECT_EQ(Interrupt::signal(), signal);
  }
  EXPECT_EQ(Interrupt::signal(), SIGTERM);
}

TEST(InterruptDeathTest, TheSecondOneEndsTheProcess) {
  const auto twice = [] {
    Interrupt interrupt;
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, AfterwardsItIsAsBefore) {
  const auto after = [] {
    {
      Interrupt interrupt;
    }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(after(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace trtscope::executorch_backend
