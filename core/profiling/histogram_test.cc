#include "core/profiling/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace trtscope::profiling {
namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000;

uint64_t ExactPercentile(const std::vector<uint64_t>& sorted, double percent) {
  const auto rank = static_cast<size_t>(
      std::max(1.0, std::ceil(percent / 100.0 * static_cast<double>(sorted.size()))));
  return sorted[std::min(rank, sorted.size()) - 1];
}

TEST(HistogramTest, EmptyIsAllZero) {
  const Histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.total(), 0u);
  EXPECT_EQ(h.min(), 0u);
  EXPECT_EQ(h.max(), 0u);
  EXPECT_EQ(h.Percentile(50), 0u);
}

TEST(HistogramTest, SmallValuesAreExact) {
  for (uint64_t value = 0; value < 64; ++value) {
    Histogram h;
    h.Record(value);
    h.Record(value + 1'000'000);  // so that min and max do not give the answer away
    h.Record(value);
    EXPECT_EQ(h.Percentile(50), value);
  }
}

TEST(HistogramTest, PercentilesAreWithinTwoPercentOfExactQuantiles) {
  std::mt19937_64 random(20261129);
  std::lognormal_distribution<double> lognormal(10, 2);
  std::exponential_distribution<double> exponential(1e-5);
  std::uniform_int_distribution<uint64_t> uniform(0, 1'000'000);
  std::normal_distribution<double> narrow(1e6, 1e3);
  const std::vector<std::pair<std::string, std::function<uint64_t()>>> distributions = {
      {"lognormal", [&] { return static_cast<uint64_t>(lognormal(random)); }},
      {"exponential", [&] { return static_cast<uint64_t>(exponential(random)); }},
      {"uniform", [&] { return uniform(random); }},
      {"narrow", [&] { return static_cast<uint64_t>(std::max(0.0, narrow(random))); }},
      {"bimodal", [&] { return random() % 100 < 95 ? 12'000 + random() % 100 : 9'000'000u; }},
      {"tiny", [&] { return random() % 3; }},
      {"hours", [&] { return kHourNs + random() % (20 * kHourNs); }},
      {"whole range", [&] { return random() >> (random() % 64); }},
      {"powers", [&] { return uint64_t{1} << (random() % 63); }},
  };
  for (const auto& [name, draw] : distributions) {
    Histogram h;
    std::vector<uint64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(draw());
      h.Record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double percent : {0.0, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto exact = static_cast<double>(ExactPercentile(values, percent));
      const auto got = static_cast<double>(h.Percentile(percent));
      EXPECT_LE(std::abs(got - exact), 0.02 * exact) << name << " p" << percent;
    }
    EXPECT_EQ(h.min(), values.front()) << name;
    EXPECT_EQ(h.max(), values.back()) << name;
  }
}

TEST(HistogramTest, ExtremeValues) {
  Histogram h;
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, 2 * kHourNs, ~uint64_t{0} >> 1}) {
    h.Record(value);
  }
  EXPECT_EQ(h.min(), 0u);
  EXPECT_EQ(h.max(), ~uint64_t{0} >> 1);
  EXPECT_EQ(h.Percentile(25), 0u);
  EXPECT_EQ(h.Percentile(50), 1u);
  EXPECT_NEAR(static_cast<double>(h.Percentile(75)), 2.0 * kHourNs, 0.02 * 2 * kHourNs);
  h.Record(~uint64_t{0});
  EXPECT_EQ(h.max(), ~uint64_t{0});
}

// A float holds integers up to 2^24 only: totals of real runs pass that within milliseconds.
TEST(HistogramTest, TotalsDoNotSaturate) {
  Histogram h;
  constexpr uint64_t kLarge = (uint64_t{1} << 40) + 1;
  for (int i = 0; i < 100'000; ++i) h.Record(kLarge);
  for (int i = 0; i < 7; ++i) h.Record(1);
  EXPECT_EQ(h.total(), 100'000 * kLarge + 7);
  EXPECT_EQ(h.count(), 100'007u);
}

TEST(HistogramTest, SubtractLeavesWhatCameLater) {
  Histogram h;
  for (uint64_t v : {5u, 7u, 1'000'000u}) h.Record(v);
  const Histogram earlier = h;
  for (int i = 0; i < 10; ++i) h.Record(31);
  Histogram later = h;
  later.Subtract(earlier);
  EXPECT_EQ(later.count(), 10u);
  EXPECT_EQ(later.total(), 310u);
  EXPECT_EQ(later.min(), 31u);
  EXPECT_EQ(later.max(), 31u);
  EXPECT_EQ(later.Percentile(99), 31u);
  EXPECT_EQ(h.count(), 13u);
}

TEST(HistogramTest, MergeEqualsRecordingBoth) {
  std::mt19937_64 random(7);
  Histogram a, b, both;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t value = random() >> (random() % 60);
    (i % 3 ? a : b).Record(value);
    both.Record(value);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.total(), both.total());
  EXPECT_EQ(a.min(), both.min());
  EXPECT_EQ(a.max(), both.max());
  for (double p : {1.0, 50.0, 99.0}) EXPECT_EQ(a.Percentile(p), both.Percentile(p));
}

TEST(HistogramTest, ResetAndCompactKeepItUsable) {
  Histogram h;
  h.Preallocate();
  h.Record(123'456);
  h.Compact();
  EXPECT_EQ(h.count(), 1u);
  EXPECT_EQ(h.Percentile(50), 123'456u);
  h.Reset();
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.max(), 0u);
  h.Record(9);
  EXPECT_EQ(h.min(), 9u);
  EXPECT_EQ(h.Percentile(50), 9u);
}

}  // namespace
}  // namespace trtscope::profiling
