#include "core/engine/call_sampler.h"

#include <gtest/gtest.h>

namespace trtscope::engine {
namespace {

TEST(CallSampler, AGivenIntervalIsKept) {
  CallSampler sampler;
  sampler.SetInterval(4);
  int taken = 0;
  for (int call = 0; call < 40; ++call) {
    const bool take = sampler.Take();
    EXPECT_EQ(take, call % 4 == 0) << call;
    taken += take;
  }
  EXPECT_EQ(taken, 10);
}

TEST(CallSampler, EveryCallWhenAskedFor) {
  CallSampler sampler;
  sampler.SetInterval(1);
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(sampler.Take());
}

// Whoever turns sampling off gets the next call, however rare they were.
TEST(CallSampler, AChangeHoldsAtOnce) {
  CallSampler sampler;
  EXPECT_TRUE(sampler.Take());
  sampler.ObservePlain(1000);
  sampler.ObserveAdded(0);  // the first does not count
  sampler.ObserveAdded(1'000'000);
  EXPECT_FALSE(sampler.Take());
  for (const uint32_t interval : {1, 5, 2}) {
    sampler.SetInterval(interval);
    EXPECT_TRUE(sampler.Take()) << interval;
  }
  sampler.SetInterval(2);  // no change
  EXPECT_FALSE(sampler.Take());
  EXPECT_TRUE(sampler.Take());
}

// What is added stays under the budget, whatever measuring costs.
TEST(CallSampler, TheBudgetHolds) {
  for (const int64_t plain : {8'000, 29'000, 95'000}) {
    for (const int64_t extra : {0, 500, 10'000, 60'000, 1'000'000}) {
      CallSampler sampler;
      int64_t added = 0, total = 0;
      int taken = 0;
      for (int call = 0; call < 100'000; ++call) {
        total += plain;
        if (sampler.Take()) {
          sampler.ObserveAdded(extra);
          added += extra;
          ++taken;
        } else {
          sampler.ObservePlain(plain);
        }
      }
      EXPECT_GT(taken, 1) << plain << " " << extra;
      EXPECT_LE(added * 1000, total * CallSampler::kBudgetPerMille + 2 * 1000 * extra)
          << plain << " " << extra << " taken " << taken;
    }
  }
}

TEST(CallSampler, FreeMeasuringIsAlwaysTaken) {
  CallSampler sampler;
  for (int call = 0; call < 10; ++call) {
    if (sampler.Take()) {
      sampler.ObserveAdded(0);
    } else {
      sampler.ObservePlain(1000);
    }
  }
  EXPECT_EQ(sampler.interval(), 1u);
}

}  // namespace
}  // namespace trtscope::engine
