// Everything at once: engines called from many threads while every setting changes under them.
// No call may be lost, whatever the interleaving.  TRTSCOPE_SOAK_SECONDS sets how long.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

constexpr int kEngines = 14;
constexpr int kThreads = 8;

struct Engine {
  std::mutex mutex;
  std::shared_ptr<EngineProfile> profile;
  uint64_t profiled_calls = 0;  // calls whose recorder said it records; guarded by mutex
};

std::chrono::seconds Duration() {
  const char* seconds = std::getenv("TRTSCOPE_SOAK_SECONDS");
  // Half of it: this file has one more test.
  return std::chrono::seconds(seconds != nullptr ? std::max(2, std::atoi(seconds) / 2) : 3);
}

using ConcurrencyTest = ProfilingTest;

TEST_F(ConcurrencyTest, NoCallIsLostUnderRandomToggling) {
  std::vector<Engine> engines(kEngines);
  for (int e = 0; e < kEngines; ++e) {
    engines[e].profile = NewEngine("engine" + std::to_string(e % 5), 77);  // some share a name
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      while (!stop) {
        Engine& engine = engines[random() % kEngines];
        std::lock_guard<std::mutex> lock(engine.mutex);
        uint64_t call;
        {
          CallRecorder recorder(*engine.profile);
          call = recorder.call();
          recorder.Enter(Phase::kInputBinding);
          recorder.Enter(Phase::kEnqueueHost);
          if (recorder.layers()) {
            const unsigned count = random() % 8;
            for (unsigned l = 0; l < count; ++l) {
              recorder.layer_sink().OnLayer(random() % 2 ? "a" : "b", -1, 10);
            }
          }
        }
        engine.profiled_calls += call != 0;
        if (call != 0 && random() % 4 == 0) {
          engine.profile->RecordGpuSpan(GpuSpan{call, NowNs(), 100});
          engine.profile->BeginLateLayers(call, NowNs()).OnLayer("late", -1, 5);
          engine.profile->FinishLateLayers();
        }
        if (random() % 512 == 0) engine.profile->SetOwnLevel(static_cast<Level>(random() % 4));
        if (random() % 512 == 1) {
          EXPECT_TRUE(engine.profile->SetOwnFormat(random() % 2 ? "trex" : "perfetto").ok());
        }
        if (random() % 128 == 0) engine.profile->ResetOwnSettings();
      }
    });
  }
  // One thread turns every global knob, one reads, one flushes.
  threads.emplace_back([&] {
    std::mt19937 random(99);
    while (!stop) {
      switch (random() % 5) {
        case 0:
          EXPECT_TRUE(SetLevel(static_cast<Level>(random() % 4)).ok());
          break;
        case 1:
          EXPECT_TRUE(SetFormat(kFormatNames[random() % kFormatNames.size()]).ok());
          break;
        case 2:
          EXPECT_TRUE(SetPathPrefix(folder_.path() + (random() % 2 ? "/x" : "/y")).ok());
          break;
        case 3:
          EXPECT_TRUE(SetFilter(random() % 2 ? "*" : "engine[0-2]*").ok());
          break;
        default:
          EXPECT_TRUE(SetExecution(random() % 4 != 0).ok());
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      EXPECT_TRUE(Json::accept(TimingJson()));
      EXPECT_FALSE(TimingTable().empty());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  // Every file that is finished is whole; it is removed, so that a long run fills no disk.
  std::atomic<size_t> files{0};
  const auto check_finished = [&] {
    std::istringstream listed(FlushTraces());
    for (std::string path; std::getline(listed, path);) {
      EXPECT_TRUE(IsWhole(path)) << path;
      std::filesystem::remove(path);
      ++files;
    }
  };
  threads.emplace_back([&] {
    while (!stop) {
      check_finished();
      std::this_thread::sleep_for(std::chrono::milliseconds(37));
    }
  });
  std::this_thread::sleep_for(Duration());
  stop = true;
  for (auto& thread : threads) thread.join();

  uint64_t made = 0;
  for (Engine& engine : engines) {
    EXPECT_EQ(Calls(engine.profile->id()), engine.profiled_calls) << engine.profile->id();
    made += engine.profiled_calls;
    engine.profile->SetOwnLevel(Level::kOff);
  }
  EXPECT_GT(made, 1000u);
  ASSERT_TRUE(SetLevel("off").ok());
  FinishClosedTraces();
  check_finished();
  EXPECT_GT(files.load(), 0u);
  for (const char* folder : {"/x", "/y"}) {
    EXPECT_TRUE(TempFolder::In(folder_.path() + folder, "").empty());
  }
}

// The level is held at delegate or above: then every call counts, and every span is in a file or
// counted as dropped.
TEST_F(ConcurrencyTest, EverySpanIsWrittenOrCountedAsDropped) {
  std::vector<Engine> engines(kEngines);
  for (int e = 0; e < kEngines; ++e) engines[e].profile = NewEngine("span" + std::to_string(e));
  ASSERT_TRUE(SetLevel("delegate").ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 3000; ++i) {
        Engine& engine = engines[random() % kEngines];
        std::lock_guard<std::mutex> lock(engine.mutex);
        CallRecorder recorder(*engine.profile);
        ++made;
      }
    });
  }
  std::thread toggler([&] {
    for (int i = 0; !stop; ++i) {
      EXPECT_TRUE(SetFormat(i % 2 ? "trex" : "perfetto").ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  for (auto& thread : threads) thread.join();
  stop = true;
  toggler.join();
  ASSERT_TRUE(SetLevel("off").ok());
  uint64_t calls = 0;
  for (Engine& engine : engines) calls += Calls(engine.profile->id());
  EXPECT_EQ(calls, made.load());
  uint64_t written = 0;
  for (const auto& file : folder_.Files("_engine_execution_profile.trace")) {
    written += Events(file).size();
  }
  EXPECT_EQ(written + Json::parse(TimingJson()).at("dropped_spans").get<uint64_t>(), made.load());
}

}  // namespace
}  // namespace trtscope::profiling
