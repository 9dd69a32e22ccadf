#include "core/profiling/ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace trtscope::profiling {
namespace {

SpanRecord Numbered(uint64_t n) {
  SpanRecord record{};
  record.start_ns = static_cast<int64_t>(n);
  record.duration_ns = static_cast<int64_t>(n * 3);
  record.call = n;
  return record;
}

// On the heap: ASan's copies of stack frames do not keep an alignment of a cache line.
std::unique_ptr<SpanRing> NewRing(size_t capacity) { return std::make_unique<SpanRing>(capacity); }

bool AddOne(SpanRing& ring, uint64_t n) {
  SpanRing::Batch batch(ring);
  return batch.Add(Numbered(n));
}

TEST(SpanRingTest, HandsOverInOrderAndFreesPlaces) {
  const auto owner = NewRing(8);
  SpanRing& ring = *owner;
  uint64_t next = 0;
  uint64_t expected = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(AddOne(ring, next++));
    ring.Drain([&](const SpanRecord& record) { EXPECT_EQ(record.call, expected++); });
  }
  EXPECT_EQ(expected, next);
}

TEST(SpanRingTest, FullRingRefusesAndKeepsWhatItHolds) {
  const auto owner = NewRing(8);
  SpanRing& ring = *owner;
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(ring.PastHalf(), i > 4);
    ASSERT_TRUE(AddOne(ring, i));
  }
  EXPECT_FALSE(AddOne(ring, 99));
  std::vector<uint64_t> got;
  ring.Drain([&](const SpanRecord& record) { got.push_back(record.call); });
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(AddOne(ring, 100));
}

TEST(SpanRingTest, BatchIsVisibleOnlyWhenItEnds) {
  const auto owner = NewRing(8);
  SpanRing& ring = *owner;
  int seen = 0;
  {
    SpanRing::Batch batch(ring);
    batch.Add(Numbered(1));
    ring.Drain([&](const SpanRecord&) { ++seen; });
    EXPECT_EQ(seen, 0);
  }
  ring.Drain([&](const SpanRecord&) { ++seen; });
  EXPECT_EQ(seen, 1);
}

TEST(SpanRingTest, TwoThreadsLoseNothingButWhatWasRefused) {
  const auto owner = NewRing(64);
  SpanRing& ring = *owner;
  constexpr uint64_t kCount = 200'000;
  uint64_t refused = 0;
  std::atomic<bool> done{false};
  std::thread adder([&] {
    for (uint64_t i = 0; i < kCount; ++i) refused += !AddOne(ring, i);
    done = true;
  });
  uint64_t taken = 0;
  int64_t last = -1;
  const auto take = [&](const SpanRecord& record) {
    EXPECT_GT(record.start_ns, last);
    EXPECT_EQ(record.duration_ns, record.start_ns * 3);
    last = record.start_ns;
    ++taken;
  };
  while (!done) ring.Drain(take);
  ring.Drain(take);
  adder.join();
  EXPECT_EQ(taken + refused, kCount);
}

}  // namespace
}  // namespace trtscope::profiling
