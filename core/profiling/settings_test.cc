// Whose settings win, and when a trace is complete.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

using namespace std::chrono_literals;

class SettingsTest : public ProfilingTest {
 protected:
  std::vector<std::string> Traces(const EngineProfile& engine) const {
    std::vector<std::string> out;
    for (const auto& file : folder_.Files("_engine_execution_profile.trace")) {
      if (file.find("/" + engine.id() + ".") != std::string::npos) out.push_back(file);
    }
    return out;
  }
};

// --- precedence ---

TEST_F(SettingsTest, GlobalLevelReachesEnginesMadeBeforeAndAfter) {
  const auto before = NewEngine("before");
  ASSERT_TRUE(SetLevel("delegate").ok());
  const auto after = NewEngine("after");
  RunCall(*before);
  RunCall(*after);
  ASSERT_TRUE(SetLevel("off").ok());
  RunCall(*before);
  EXPECT_EQ(Calls(before->id()), 1u);
  EXPECT_EQ(Calls(after->id()), 1u);
}

TEST_F(SettingsTest, OwnSettingsWinUntilReset) {
  const auto own = NewEngine("own");
  const auto other = NewEngine("other");
  TempFolder elsewhere;
  own->SetOwnLevel(Level::kDelegate);
  ASSERT_TRUE(own->SetOwnPathPrefix(elsewhere.path()).ok());
  RunCall(*own);  // while the process is off
  EXPECT_EQ(Calls(own->id()), 1u);

  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*own, 2);
  RunCall(*other, 2);
  EXPECT_EQ(own->level(), Level::kDelegate);
  EXPECT_EQ(other->level(), Level::kLayers);
  own->SetOwnLevel(Level::kOff);
  RunCall(*own);
  EXPECT_EQ(Calls(own->id()), 2u);
  FinishClosedTraces();
  EXPECT_EQ(elsewhere.Files(".trace").size(), 1u);

  own->ResetOwnSettings();
  RunCall(*own, 2);
  EXPECT_EQ(own->level(), Level::kLayers);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(Calls(own->id()), 3u);
  EXPECT_EQ(Traces(*own).size(), 1u);
  EXPECT_EQ(elsewhere.Files(".trace").size(), 1u);
}

TEST_F(SettingsTest, GlobalOffDoesNotEndATraceWithItsOwnLevel) {
  const auto engine = NewEngine("mine");
  engine->SetOwnLevel(Level::kDelegate);
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_TRUE(Traces(*engine).empty());
  RunCall(*engine);
  engine->ResetOwnSettings();  // follows the global off at once, without another call
  FinishClosedTraces();
  ASSERT_EQ(Traces(*engine).size(), 1u);
  EXPECT_EQ(Events(Traces(*engine)[0]).size(), 2u);
}

// A level of its own, but the global folder: a new folder reaches it.
TEST_F(SettingsTest, EachOwnSettingWinsForItselfOnly) {
  const auto engine = NewEngine("partly");
  engine->SetOwnLevel(Level::kDelegate);
  RunCall(*engine);
  TempFolder elsewhere;
  ASSERT_TRUE(SetPathPrefix(elsewhere.path()).ok());
  EXPECT_EQ(Traces(*engine).size(), 1u);  // complete when the setter returned
  RunCall(*engine);
  engine->SetOwnLevel(Level::kOff);
  FinishClosedTraces();
  EXPECT_EQ(elsewhere.Files(".trace").size(), 1u);
}

// Fault: set_profile_format before enable dereferences null.
TEST_F(SettingsTest, OwnSettersInAnyOrder) {
  const auto engine = NewEngine("order");
  EXPECT_TRUE(engine->SetOwnFormat("trex").ok());
  EXPECT_EQ(engine->SetOwnFormat("xml").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine->SetOwnPathPrefix("").code(), StatusCode::kInvalidArgument);
  engine->SetOwnLevel(Level::kLayers);
  RunCall(*engine, 2);
  engine->SetOwnLevel(Level::kOff);
  FinishClosedTraces();
  EXPECT_EQ(folder_.Files(".engine.metadata.json").size(), 1u);
}

TEST_F(SettingsTest, OwnSettingsInsideACallWaitForItsEnd) {
  const auto engine = NewEngine("inside");
  ASSERT_TRUE(SetLevel("phases").ok());
  {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kInputBinding);
    engine->SetOwnLevel(Level::kOff);
    EXPECT_TRUE(engine->SetOwnFormat("trex").ok());
    recorder.Enter(Phase::kEnqueueHost);
  }
  EXPECT_EQ(Calls(engine->id()), 1u);
  RunCall(*engine);
  EXPECT_EQ(Calls(engine->id()), 1u);
}

TEST_F(SettingsTest, FilterNarrowsTheGlobalSwitch) {
  const auto encoder = NewEngine("encoder.0");
  const auto decoder = NewEngine("decoder.0");
  const auto own = NewEngine("own.0");
  own->SetOwnLevel(Level::kDelegate);
  ASSERT_TRUE(SetFilter("encoder*").ok());
  ASSERT_TRUE(SetLevel("delegate").ok());
  for (const auto& engine : {encoder, decoder, own}) RunCall(*engine);
  EXPECT_EQ(Calls(encoder->id()), 1u);
  EXPECT_EQ(Calls(decoder->id()), 0u);
  EXPECT_EQ(Calls(own->id()), 1u);
  // A new filter ends the traces that it leaves out, and only those.
  ASSERT_TRUE(SetFilter("decoder*").ok());
  EXPECT_EQ(Traces(*encoder).size(), 1u);
  EXPECT_TRUE(Traces(*own).empty());
  for (const auto& engine : {encoder, decoder, own}) RunCall(*engine);
  EXPECT_EQ(Calls(encoder->id()), 1u);
  EXPECT_EQ(Calls(decoder->id()), 1u);
  own->SetOwnLevel(Level::kOff);
}

// --- when files are complete ---

TEST_F(SettingsTest, OffFinishesFilesEvenIfTheEngineIsNeverCalledAgain) {
  const auto engine = NewEngine("once");
  ASSERT_TRUE(SetExecution(true).ok());
  std::thread([&] { RunCall(*engine, 3); }).join();
  ASSERT_TRUE(SetExecution(false).ok());
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
  EXPECT_TRUE(folder_.Files(".partial").empty());
}

// Fault: all trace files are rewritten on every call.
TEST_F(SettingsTest, FilesAreFinishedOnDisableNotPerCall) {
  const auto engine = NewEngine("percall");
  ASSERT_TRUE(SetLevel("phases").ok());
  for (int i = 0; i < 50; ++i) RunCall(*engine);
  std::this_thread::sleep_for(30ms);
  EXPECT_TRUE(folder_.Files(".trace").empty());
  EXPECT_EQ(folder_.Files(".trace.partial").size(), 4u);
  EXPECT_EQ(folder_.Files(".perfetto-trace.partial").size(), 1u);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
}

// Reported elsewhere 9: stop from another thread while an engine runs.
TEST_F(SettingsTest, OffWaitsForTheCallInFlight) {
  const auto engine = NewEngine("busy");
  ASSERT_TRUE(SetLevel("phases").ok());
  std::promise<void> started;
  std::thread runner([&] {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kEnqueueHost);
    started.set_value();
    std::this_thread::sleep_for(100ms);
  });
  started.get_future().wait();
  ASSERT_TRUE(SetLevel("off").ok());
  ASSERT_EQ(Traces(*engine).size(), 1u);
  const auto events = Events(Traces(*engine)[0]);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_GE(events[0].at("dur").get<double>(), 90'000);
  runner.join();
}

TEST_F(SettingsTest, ACallLongerThanTheWaitIsFinishedWhenItCommits) {
  const auto engine = NewEngine("endless");
  ASSERT_TRUE(SetLevel("phases").ok());
  std::promise<void> started;
  std::promise<void> end;
  std::thread runner([&] {
    CallRecorder recorder(*engine);
    started.set_value();
    end.get_future().wait();
  });
  started.get_future().wait();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 9s);
  EXPECT_TRUE(Traces(*engine).empty());
  end.set_value();
  runner.join();
  FinishClosedTraces();
  ASSERT_EQ(Traces(*engine).size(), 1u);
  EXPECT_EQ(Events(Traces(*engine)[0]).size(), 1u);
}

// A setter inside a call must not be, but must not hang either.
TEST_F(SettingsTest, OffInsideACallReturnsAtOnce) {
  const auto engine = NewEngine("misused");
  ASSERT_TRUE(SetLevel("delegate").ok());
  const auto begin = std::chrono::steady_clock::now();
  {
    CallRecorder recorder(*engine);
    ASSERT_TRUE(SetLevel("off").ok());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  FinishClosedTraces();
  EXPECT_EQ(Traces(*engine).size(), 1u);
  EXPECT_EQ(Calls(engine->id()), 1u);
}

// Reported elsewhere 10: path or format changed in mid-run.
TEST_F(SettingsTest, PathAndFormatChangesCloseOldFilesAndOpenNewOnes) {
  const auto engine = NewEngine("moving");
  TempFolder second;
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetPathPrefix(second.path()).ok());
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
  RunCall(*engine);
  RunCall(*engine);
  ASSERT_TRUE(SetFormat("trex").ok());
  EXPECT_EQ(second.Files(".trace").size(), 4u);
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(second.Files(".trace").size(), 8u);
  EXPECT_EQ(Events(Traces(*engine)[0]).size(), 1u);
  std::multiset<size_t> sizes;
  for (const auto& file : second.Files("_engine_execution_profile.trace")) {
    sizes.insert(Events(file).size());
  }
  EXPECT_EQ(sizes, (std::multiset<size_t>{1, 2}));
  // The same value again changes nothing and ends nothing.
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetFormat("trex").ok());
  ASSERT_TRUE(SetPathPrefix(second.path()).ok());
  EXPECT_EQ(second.Files(".trace").size(), 8u);
}

TEST_F(SettingsTest, FlushFinishesEverythingAndRecordingGoesOn) {
  const auto a = NewEngine("fa");
  const auto b = NewEngine("fb");
  b->SetOwnLevel(Level::kDelegate);
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*a);
  RunCall(*b);
  std::string listed = FlushTraces();
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 3);  // and that of the process
  for (const auto& engine : {a, b}) {
    ASSERT_EQ(Traces(*engine).size(), 1u);
    EXPECT_NE(listed.find(Traces(*engine)[0] + "\n"), std::string::npos);
  }
  EXPECT_EQ(FlushTraces(), "");
  RunCall(*a);
  listed = FlushTraces();
  EXPECT_EQ(Traces(*a).size(), 2u);
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 2);
  b->SetOwnLevel(Level::kOff);
}

TEST_F(SettingsTest, ADestroyedEngineLeavesItsTraceAndItsCounters) {
  auto engine = NewEngine("gone");
  const std::string id = engine->id();
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  engine.reset();
  FinishClosedTraces();
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
  EXPECT_EQ(Calls(id), 1u);
  ResetTiming();
  EXPECT_EQ(Calls(id), 0u);
}

// What was recorded on any thread, also one that ended, is in the file.
TEST_F(SettingsTest, SpansOfManyThreadsAreInTheFileWhenOffReturns) {
  const auto engine = NewEngine("threads");
  ASSERT_TRUE(SetLevel("delegate").ok());
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::lock_guard<std::mutex> lock(mutex);
        RunCall(*engine);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(SetLevel("off").ok());
  ASSERT_EQ(Traces(*engine).size(), 1u);
  EXPECT_EQ(Events(Traces(*engine)[0]).size(), 1600u);
}

TEST_F(SettingsTest, RecordersOfOneEngineDoNotNest) {
  const auto engine = NewEngine("nested");
  ASSERT_TRUE(SetLevel("phases").ok());
  {
    CallRecorder outer(*engine);
    CallRecorder inner(*engine);
    EXPECT_EQ(inner.call(), 0u);
    EXPECT_FALSE(inner.phases());
    inner.layer_sink().OnLayer("nowhere", -1, 1);
  }
  EXPECT_EQ(Calls(engine->id()), 1u);
}

}  // namespace
}  // namespace trtscope::profiling
