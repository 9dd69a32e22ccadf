#include "core/profiling/statistics.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trtscope::profiling {
namespace {

EngineIdentity Identity(const std::string& name) {
  return {name, 0x123456789abcdef0, "null", "torch"};
}

/// One call with these layer names, 100 ns each.
void Call(EngineStats& stats, const std::vector<std::string>& names) {
  std::vector<LayerSample> samples;
  for (const std::string& name : names) {
    samples.push_back(LayerSample{0, 100, stats.RowAt(samples.size(), name.c_str()), true});
  }
  stats.CommitCall(CallSample{}, samples);
}

std::vector<std::pair<std::string, uint64_t>> Rows(const EngineStats& stats) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const LayerSnapshot& layer : stats.Copy().layers) {
    out.emplace_back(layer.name, layer.times.count());
  }
  return out;
}

TEST(EngineStatsTest, IdIsNameHashAndOrdinal) {
  const EngineStats stats(Identity("enc/0"), 3, 0);
  EXPECT_EQ(stats.id(), "enc/0-123456789abc-3");
  EXPECT_EQ(stats.file_stem(), "enc_0-123456789abc-3");
}

TEST(EngineStatsTest, PhasesAreSummedPerCall) {
  EngineStats stats(Identity("e"), 0, 0);
  CallSample call;
  call.total_ns = 1000;
  call.phase_ns[static_cast<size_t>(Phase::kEnqueueHost)] = 300;
  call.seen = 1u << static_cast<unsigned>(Phase::kEnqueueHost);
  stats.CommitCall(call, {});
  call.failed = true;
  stats.CommitCall(call, {});
  const EngineSnapshot copy = stats.Copy();
  EXPECT_EQ(copy.calls, 2u);
  EXPECT_EQ(copy.errors, 1u);
  EXPECT_EQ(copy.phases[static_cast<size_t>(Phase::kDelegate)].total(), 2000u);
  EXPECT_EQ(copy.phases[static_cast<size_t>(Phase::kEnqueueHost)].total(), 600u);
  EXPECT_EQ(copy.phases[static_cast<size_t>(Phase::kWorkspace)].count(), 0u);
}

TEST(EngineStatsTest, NegativeDurationsCountAsZeroAndAreCounted) {
  EngineStats stats(Identity("e"), 0, 0);
  stats.CommitGpu(-5);
  stats.CommitGpu(7);
  const EngineSnapshot copy = stats.Copy();
  EXPECT_EQ(copy.phases[static_cast<size_t>(Phase::kGpu)].total(), 7u);
  EXPECT_EQ(copy.phases[static_cast<size_t>(Phase::kGpu)].count(), 2u);
  EXPECT_EQ(copy.clamped, 1u);
}

TEST(EngineStatsTest, RepeatedNamesStaySeparateRows) {
  EngineStats stats(Identity("e"), 0, 0);
  for (int i = 0; i < 3; ++i) Call(stats, {"fc", "relu", "fc", "fc"});
  EXPECT_EQ(Rows(stats), (std::vector<std::pair<std::string, uint64_t>>{
                             {"fc", 3}, {"relu", 3}, {"fc", 3}, {"fc", 3}}));
}

TEST(EngineStatsTest, AChangingLayerListKeepsRowsByPositionAndName) {
  EngineStats stats(Identity("e"), 0, 0);
  for (int i = 0; i < 10; ++i) {
    Call(stats, {"a", "b", "c"});
    Call(stats, {"a", "x", "c", "d"});
    Call(stats, {"a", "y"});
  }
  EXPECT_EQ(Rows(stats), (std::vector<std::pair<std::string, uint64_t>>{
                             {"a", 30}, {"b", 10}, {"x", 10}, {"y", 10}, {"c", 20}, {"d", 10}}));
}

/// This thread's seconds for calls that go through three layer lists in turn.
double SecondsAlternating(int layers) {
  EngineStats stats(Identity("e"), 0, 0);
  std::vector<std::vector<std::string>> lists(3);
  for (size_t v = 0; v < lists.size(); ++v) {
    for (int i = 0; i < layers; ++i) {
      lists[v].push_back("variant" + std::to_string(v) + "_layer" + std::to_string(i));
    }
  }
  timespec begin;
  timespec end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (size_t round = 0; round < 30; ++round) Call(stats, lists[round % 3]);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  EXPECT_EQ(stats.Copy().layers.size(), 3u * static_cast<size_t>(layers));
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

// Fault: layer callback with a linear search by name, 12.7 ms an inference at 2,000 layers.
TEST(EngineStatsTest, AlternatingLayerListsCostNoQuadraticSearch) {
  double few = 1e9;
  double many = 1e9;
  for (int i = 0; i < 3; ++i) {
    few = std::min(few, SecondsAlternating(500));
    many = std::min(many, SecondsAlternating(8000));
  }
  // 16 times the layers: 16 times the work, or 256 times with a search.
  EXPECT_LT(many, few * 80);
}

TEST(EngineStatsTest, NamesThatNeverRepeatShareARowInTheEnd) {
  EngineStats stats(Identity("e"), 0, 0);
  constexpr uint64_t kCalls = 40'000;
  for (uint64_t i = 0; i < kCalls; ++i) Call(stats, {"layer at " + std::to_string(i)});
  const auto layers = stats.Copy().layers;
  EXPECT_LE(layers.size(), 32'768u);
  uint64_t total = 0;
  for (const auto& layer : layers) total += layer.times.count();
  EXPECT_EQ(total, kCalls);
}

TEST(EngineStatsTest, LayersSinceABaselineAndAcrossAReset) {
  EngineStats stats(Identity("e"), 0, 0);
  Call(stats, {"a", "b"});
  LayerBaseline baseline = stats.Baseline();
  Call(stats, {"a", "b", "c"});
  auto since = stats.LayersSince(baseline);
  ASSERT_EQ(since.size(), 3u);
  for (const auto& layer : since) EXPECT_EQ(layer.times.count(), 1u) << layer.name;
  stats.Reset();
  Call(stats, {"a"});
  since = stats.LayersSince(baseline);
  ASSERT_EQ(since.size(), 1u);
  EXPECT_EQ(since[0].times.total(), 100u);
}

TEST(EngineTableTest, OrdinalsCountEnginesOfTheSameNameAndPlan) {
  EngineTable& table = EngineTable::Get();
  const auto a = table.Add(Identity("table"));
  const auto b = table.Add(Identity("table"));
  const auto c = table.Add({"table", 1, "null", "torch"});
  EXPECT_EQ(a->ordinal(), 0u);
  EXPECT_EQ(b->ordinal(), 1u);
  EXPECT_EQ(c->ordinal(), 0u);
  EXPECT_NE(a->uid(), b->uid());
  for (const auto& stats : {a, b, c}) table.Release(stats);
}

TEST(EngineTableTest, CalledEnginesOutliveTheirEngineUntilReset) {
  EngineTable& table = EngineTable::Get();
  const size_t before = table.All().size();
  const auto never = table.Add(Identity("never"));
  const auto called = table.Add(Identity("called"));
  called->CommitCall(CallSample{}, {});
  table.Release(never);
  table.Release(called);
  EXPECT_EQ(table.All().size(), before + 1);
  table.Reset();
  EXPECT_EQ(table.All().size(), before);
}

}  // namespace
}  // namespace trtscope::profiling
