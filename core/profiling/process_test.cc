// What happens at the ends of processes: killed, forked, exited.  Each case runs in a child of
// its own; this process never records, so that it forks with one thread.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/diagnostics.h"
#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

using namespace std::chrono_literals;

constexpr char kExecutionSuffix[] = "_engine_execution_profile.trace";

/// Runs `body` in a child and returns its wait status.  `body` ends it, or it returns 0.
int RunInChild(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

void Expect(bool condition, int code) {
  if (!condition) ::_exit(code);
}

void Record(const std::string& folder, int threads, std::chrono::milliseconds duration) {
  Expect(SetPathPrefix(folder).ok() && SetExecution(true).ok(), 90);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([=] {
      const auto engine = NewEngine("engine" + std::to_string(t));
      const auto end = std::chrono::steady_clock::now() + duration;
      while (std::chrono::steady_clock::now() < end) RunCall(*engine, 20);
    });
  }
  for (auto& thread : pool) thread.join();
}

// --- reported elsewhere 1: the process dies ---

TEST(KillTest, WhatWasWrittenLoadsAfterSigkillAtAnyMoment) {
  std::mt19937 random(4679);
  size_t partials = 0;
  size_t events = 0;
  // Slow machines write less in a round: as many rounds as it takes to have seen something.
  for (int round = 0; round < 25 || (events <= 100 && round < 500); ++round) {
    const TempFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
      Record(folder.path(), 3, 60s);
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 120'000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    for (const std::string& file : folder.Files(".perfetto-trace.partial")) {
      EXPECT_TRUE(WholePackets(ReadText(file))) << file;
    }
    for (const std::string& file : folder.Files(".trace.partial")) {
      const Json all = Json::parse(ReadText(file) + "]", nullptr, false);
      ASSERT_FALSE(all.is_discarded()) << file << ReadText(file).substr(0, 2000);
      ++partials;
      events += all.size();
    }
  }
  EXPECT_GT(partials, 20u);
  EXPECT_GT(events, 100u);
}

// --- a full disk: a limit on file size fails a write in its middle just so ---

TEST(DiskTest, AFullDiskIsReportedAndCountersGoOn) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{20'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto engine = NewEngine("disk");
    Expect(SetPathPrefix(folder.path()).ok() && SetLevel("delegate").ok(), 1);
    for (int i = 0; i < 1000; ++i) RunCall(*engine);
    std::this_thread::sleep_for(30ms);
    for (int i = 0; i < 1000; ++i) RunCall(*engine);
    Expect(SetLevel("off").ok(), 2);
    Expect(Calls(engine->id()) == 2000, 3);
    Expect(Problems().size() == 2, 4);  // of its own trace, and of the process's
    Expect(EngineRow(engine->id()).at("dropped_spans") >= 1000, 5);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  for (const std::string& file : folder.Files(".trace")) EXPECT_TRUE(Json::accept(ReadText(file)));
  for (const std::string& file : folder.Files(".trace.partial")) {
    EXPECT_TRUE(Json::accept(ReadText(file) + "]"));
  }
  ASSERT_EQ(folder.Files(kProcessTraceSuffix).size(), 1u);
  EXPECT_TRUE(IsWhole(folder.Files(kProcessTraceSuffix)[0]));
  EXPECT_EQ(folder.Files().size(), 2u);
}

// --- exit ---

TEST(ExitTest, FilesAreCompleteAfterExitWithoutTurningOff) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    Record(folder.path(), 2, 30ms);
    std::exit(7);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(folder.Files(".trace").size(), 8u);
  EXPECT_TRUE(folder.Files(".partial").empty());
  for (const auto& file : folder.Files(kExecutionSuffix)) EXPECT_GT(Events(file).size(), 20u);
}

TEST(ExitTest, EnginesMayBeUsedAndDestroyedAfterTheProfilersEnd) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    // Registered before the profiler's first use, so it runs after the profiler's own handler.
    static std::shared_ptr<EngineProfile> engine;
    std::atexit([] {
      RunCall(*engine, 2);
      Expect(SetLevel("off").ok(), 3);
      Expect(SetLevel("layers").ok(), 4);
      RunCall(*engine, 2);
      Expect(Calls(engine->id()) == 3, 5);
      FlushTraces();
      engine.reset();
    });
    engine = NewEngine("static");
    Expect(SetPathPrefix(folder.path()).ok() && SetExecution(true).ok(), 2);
    RunCall(*engine, 2);
    std::exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(folder.Files(".trace").size(), 4u);
  EXPECT_TRUE(folder.Files(".partial").empty());
}

TEST(ExitTest, ACallInFlightOnAnotherThreadDoesNotHangExit) {
  const TempFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const int status = RunInChild([&] {
    Expect(SetPathPrefix(folder.path()).ok() && SetExecution(true).ok(), 2);
    static std::atomic<bool> inside{false};
    std::thread([] {
      const auto engine = NewEngine("stuck");
      RunCall(*engine);
      CallRecorder recorder(*engine);
      inside = true;
      std::this_thread::sleep_for(1h);
    }).detach();
    while (!inside) std::this_thread::yield();
    std::exit(0);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  ASSERT_EQ(folder.Files(kExecutionSuffix).size(), 1u);
  EXPECT_EQ(Events(folder.Files(kExecutionSuffix)[0]).size(), 1u);
}

// --- reported elsewhere 8: fork ---

class ForkTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "TSan cannot follow a thread that the child of a process with threads starts "
                    "(it dies of 'dup thread with used id'); ASan and plain builds run this";
#endif
  }
};

TEST_F(ForkTest, ChildHasItsOwnCountersAndFilesAndLeavesTheParentsAlone) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    const auto engine = NewEngine("shared");
    Expect(SetPathPrefix(folder.path()).ok() && SetLevel("phases").ok(), 2);
    for (int i = 0; i < 10; ++i) RunCall(*engine);
    const int child = RunInChild([&] {
      Expect(Calls(engine->id()) == 0, 20);
      for (int i = 0; i < 3; ++i) RunCall(*engine);
      Expect(Calls(engine->id()) == 3, 21);
      std::exit(0);  // exit handlers run in the child, too
    });
    Expect(WIFEXITED(child) && WEXITSTATUS(child) == 0, 3);
    for (int i = 0; i < 10; ++i) RunCall(*engine);
    Expect(Calls(engine->id()) == 20, 4);
    std::exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto files = folder.Files(kExecutionSuffix);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_TRUE(folder.Files(".partial").empty());
  std::vector<size_t> sizes;
  std::vector<int> pids;
  for (const auto& file : files) {
    const auto events = Events(file);
    sizes.push_back(events.size());
    pids.push_back(events.at(0).at("pid"));
    EXPECT_NE(file.find("." + std::to_string(pids.back()) + "_"), std::string::npos);
    for (const Json& event : events) EXPECT_EQ(event.at("pid"), pids.back());
  }
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 20}));
  EXPECT_NE(pids[0], pids[1]);
}

TEST_F(ForkTest, ChildThatDoesNothingChangesNoFile) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    const auto engine = NewEngine("quiet");
    Expect(SetPathPrefix(folder.path()).ok() && SetLevel("phases").ok(), 2);
    RunCall(*engine);
    // Until the writer has made the partial files.
    for (int i = 0; i < 500 && folder.Files().size() < 5; ++i) std::this_thread::sleep_for(10ms);
    const auto before = folder.Files();
    Expect(before.size() == 5, 3);
    const int child = RunInChild([&] {
      Expect(SetLevel("off").ok(), 20);  // the child's own switch
      Expect(FlushTraces().empty(), 21);
      std::exit(0);
    });
    Expect(WIFEXITED(child) && WEXITSTATUS(child) == 0, 4);
    Expect(folder.Files() == before, 5);
    RunCall(*engine);
    Expect(Calls(engine->id()) == 2, 6);
    std::exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(folder.Files(kExecutionSuffix).size(), 1u);
  EXPECT_EQ(Events(folder.Files(kExecutionSuffix)[0]).size(), 2u);
}

TEST_F(ForkTest, ForksWhileThreadsRecordReadAndToggle) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "ASan's own allocator is not safe to fork while other threads allocate (gcc 12: "
                  "the child waits for a lock of it for ever); plain builds run this";
#endif
  const TempFolder folder;
  const int status = RunInChild([&] {
    Expect(SetPathPrefix(folder.path()).ok() && SetExecution(true).ok(), 2);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const auto engine = NewEngine("busy" + std::to_string(t));
        while (!stop) {
          RunCall(*engine, 10);
          std::this_thread::sleep_for(100us);
        }
      });
    }
    threads.emplace_back([&] {
      while (!stop) {
        (void)TimingJson();
        std::this_thread::sleep_for(300us);
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; !stop; ++i) {
        Expect(SetFormat(i % 2 ? "trex" : "perfetto").ok(), 3);
        std::this_thread::sleep_for(2ms);
      }
    });
    const auto mine = NewEngine("forker");
    for (int i = 0; i < 20; ++i) {
      RunCall(*mine, 3);
      const int child = RunInChild([&] {
        ::alarm(60);  // a lock left behind by another thread would hang here
        RunCall(*mine, 3);
        Expect(SetLevel("phases").ok(), 22);
        RunCall(*mine, 3);
        Expect(Calls(mine->id()) == 2, 20);
        Expect(!FlushTraces().empty(), 21);
        // Not exit: a leak check would take what the parent's other threads held for leaked.
        ::_exit(0);
      });
      Expect(WIFEXITED(child) && WEXITSTATUS(child) == 0, WIFEXITED(child) ? 5 : 6);
    }
    stop = true;
    for (auto& thread : threads) thread.join();
    Expect(Calls(mine->id()) == 20, 7);
    std::exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(folder.Files(".partial").empty());
  for (const auto& file : folder.Files()) EXPECT_TRUE(IsWhole(file)) << file;
}

TEST_F(ForkTest, ForkInsideACallCountsItInTheParentOnly) {
  const TempFolder folder;
  const int status = RunInChild([&] {
    const auto engine = NewEngine("cut");
    Expect(SetPathPrefix(folder.path()).ok() && SetExecution(true).ok(), 2);
    int child;
    {
      CallRecorder recorder(*engine);
      recorder.Enter(Phase::kEnqueueHost);
      recorder.layer_sink().OnLayer("a", -1, 5);
      child = ::fork();
      recorder.layer_sink().OnLayer("b", -1, 5);
    }
    if (child == 0) {
      Expect(Calls(engine->id()) == 0, 20);
      RunCall(*engine, 2);
      Expect(Calls(engine->id()) == 1, 21);
      std::exit(0);
    }
    int child_status = 0;
    Expect(::waitpid(child, &child_status, 0) == child, 3);
    Expect(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0, 4);
    Expect(Calls(engine->id()) == 1, 5);
    std::exit(0);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(folder.Files(kExecutionSuffix).size(), 2u);
}

}  // namespace
}  // namespace trtscope::profiling
