#include "core/engine/gpu_timeline.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/report.h"

namespace trtscope::engine {
namespace {

// A device whose clock and whose progress the test decides.
struct FakeClock {
  int64_t now_ns = 0;  // on the device's own clock
  bool done = true;    // whether recorded work counts as complete
  int live_events = 0;
  bool fail_record = false;
};

class FakeEvent : public device::Event {
 public:
  explicit FakeEvent(FakeClock& clock) : clock_(clock) { ++clock_.live_events; }
  ~FakeEvent() override { --clock_.live_events; }
  Status Record(device::StreamRef) override {
    if (clock_.fail_record) return Internal("no event today");
    at_ns_ = clock_.now_ns;
    return OkStatus();
  }
  Result<bool> Query() override { return clock_.done; }
  Result<int64_t> ElapsedNs(const device::Event& start) const override {
    return at_ns_ - static_cast<const FakeEvent&>(start).at_ns_;
  }

 private:
  FakeClock& clock_;
  int64_t at_ns_ = 0;
};

class FakeDevice : public device::Device {
 public:
  explicit FakeDevice(FakeClock& clock) : clock_(clock) {}
  device::DeviceId id() const override { return {device::DeviceType::kCuda, 0}; }
  std::string name() const override { return "fake"; }
  int sm() const override { return 90; }
  Result<void*> Allocate(size_t) override { return Unsupported("fake"); }
  void Free(void*) override {}
  Result<std::unique_ptr<device::Event>> CreateEvent(bool) override {
    return std::unique_ptr<device::Event>(std::make_unique<FakeEvent>(clock_));
  }
  Status CopyAsync(void*, const void*, size_t, device::CopyKind, device::StreamRef) override {
    return Unsupported("fake");
  }
  Status Synchronize(device::StreamRef) override {
    ADD_FAILURE() << "measuring must never synchronize";
    return OkStatus();
  }
  Status WaitEvent(device::StreamRef, const device::Event&) override { return OkStatus(); }

 private:
  FakeClock& clock_;
};

class GpuTimelineTest : public ::testing::Test {
 protected:
  GpuTimelineTest()
      : device_(clock_), profile_(profiling::EngineProfile::Register({"gpu", 1, "fake", "test"})) {
    profile_->SetOwnLevel(profiling::Level::kPhases);
    profile_->Sync();
  }
  ~GpuTimelineTest() override { profiling::ResetTiming(); }

  void Call(GpuTimeline& timeline, uint64_t call, int64_t duration_ns) {
    profiling::CallRecorder recorder(*profile_);  // engines that were never called are not listed
    ASSERT_TRUE(timeline.Begin(call, {}).ok());
    clock_.now_ns += duration_ns;
    ASSERT_TRUE(timeline.End({}).ok());
  }

  // The "gpu" phase of this engine, from the public report.
  nlohmann::json GpuPhase() {
    const auto timing = nlohmann::json::parse(profiling::TimingJson());
    for (const auto& engine : timing["engines"]) {
      if (engine["id"] == profile_->id()) return engine["phases"]["gpu"];
    }
    return {};
  }

  FakeClock clock_;
  FakeDevice device_;
  std::shared_ptr<profiling::EngineProfile> profile_;
};

TEST_F(GpuTimelineTest, DurationsAreThoseOfTheDevice) {
  GpuTimeline timeline(device_, *profile_);
  Call(timeline, 1, 1000);
  Call(timeline, 2, 3000);
  EXPECT_EQ(timeline.Collect(), 2u);
  const auto gpu = GpuPhase();
  EXPECT_EQ(gpu["count"], 2);
  EXPECT_EQ(gpu["total_ns"], 4000);
  EXPECT_EQ(gpu["min_ns"], 1000);
  EXPECT_EQ(gpu["max_ns"], 3000);
}

TEST_F(GpuTimelineTest, WorkThatStillRunsIsLeftAlone) {
  GpuTimeline timeline(device_, *profile_);
  clock_.done = false;
  Call(timeline, 1, 1000);
  EXPECT_EQ(timeline.Collect(), 0u);
  EXPECT_EQ(timeline.pending(), 1u);
  clock_.done = true;
  EXPECT_EQ(timeline.Collect(), 1u);
  EXPECT_EQ(timeline.pending(), 0u);
}

TEST_F(GpuTimelineTest, ACallBetweenItsEventsIsNotRead) {
  GpuTimeline timeline(device_, *profile_);
  ASSERT_TRUE(timeline.Begin(1, {}).ok());
  EXPECT_EQ(timeline.Collect(), 0u);
  ASSERT_TRUE(timeline.End({}).ok());
  EXPECT_EQ(timeline.Collect(), 1u);
}

TEST_F(GpuTimelineTest, AFailedEnqueueLeavesNoSpan) {
  GpuTimeline timeline(device_, *profile_);
  ASSERT_TRUE(timeline.Begin(1, {}).ok());
  timeline.Abandon();
  EXPECT_EQ(timeline.pending(), 0u);
  EXPECT_EQ(timeline.skipped(), 1u);
  Call(timeline, 2, 10);
  EXPECT_EQ(timeline.Collect(), 1u);
}

TEST_F(GpuTimelineTest, UnreadCallsAreBoundedAndCounted) {
  GpuTimeline timeline(device_, *profile_);
  clock_.done = false;
  for (uint64_t call = 1; call <= GpuTimeline::kMaxPending + 10; ++call) Call(timeline, call, 10);
  EXPECT_EQ(timeline.pending(), GpuTimeline::kMaxPending);
  EXPECT_EQ(timeline.skipped(), 10u);
  EXPECT_LE(clock_.live_events, static_cast<int>(2 * GpuTimeline::kMaxPending));
}

TEST_F(GpuTimelineTest, EventsAreUsedAgain) {
  GpuTimeline timeline(device_, *profile_);
  for (uint64_t call = 1; call <= 1000; ++call) {
    Call(timeline, call, 10);
    timeline.Collect();
  }
  EXPECT_LE(clock_.live_events, 4) << "two in use, the anchor, and the one that replaced it";
}

TEST_F(GpuTimelineTest, AnEventThatFailsIsAnErrorOnce) {
  GpuTimeline timeline(device_, *profile_);
  clock_.fail_record = true;
  EXPECT_FALSE(timeline.Begin(1, {}).ok());
  EXPECT_TRUE(timeline.End({}).ok()) << "nothing is open";
  clock_.fail_record = false;
  Call(timeline, 2, 10);
  EXPECT_EQ(timeline.Collect(), 1u);
}

TEST_F(GpuTimelineTest, OnlyAMeasuredCallCanBeWatched) {
  GpuTimeline timeline(device_, *profile_);
  EXPECT_FALSE(timeline.Watch(1));
  Call(timeline, 1, 10);
  EXPECT_FALSE(timeline.Watch(2));
  EXPECT_TRUE(timeline.Watch(1));
}

// A busy stream: the work starts later than the host asked.  The next idle call shows the true
// offset, and no span is ever placed before the host asked for it.
TEST_F(GpuTimelineTest, StartsAreNeverBeforeTheHostAsked) {
  GpuTimeline timeline(device_, *profile_);
  for (uint64_t call = 1; call <= 20; ++call) {
    const int64_t asked_ns = profiling::NowNs();
    clock_.now_ns += call % 3 == 0 ? 50'000 : 10;  // how long the stream was busy before
    Call(timeline, call, 1000);
    ASSERT_TRUE(timeline.Watch(call));
    EXPECT_EQ(timeline.watched().state, GpuTimeline::WatchState::kPending);
    timeline.Collect();
    ASSERT_EQ(timeline.watched().state, GpuTimeline::WatchState::kComplete);
    EXPECT_GE(timeline.watched().start_ns, asked_ns);
  }
}

}  // namespace
}  // namespace trtscope::engine
