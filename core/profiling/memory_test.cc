// What tracing may take: memory for its rings and no more, however many spans there are; bytes of
// the trace for each span.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/test_util.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
constexpr uint64_t kSpansOfACall = 4;  // of RunCall

/// The most memory that the process ever held.
uint64_t PeakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

class MemoryTest : public ProfilingTest {
 protected:
  ~MemoryTest() override { Tracer::Get().PauseWriterForTest(false); }

  uint64_t TraceBytes() const {
    uint64_t bytes = 0;
    for (const std::string& file : folder_.Files(kProcessTraceSuffix)) {
      bytes += std::filesystem::file_size(file);
    }
    return bytes;
  }
  static uint64_t Dropped() { return Json::parse(TimingJson()).at("dropped_spans"); }
};

// First, while the process has held nothing: its peak never falls.
TEST_F(MemoryTest, TenTimesTheSpansTakeNoMoreMemoryAndFewBytesInTheFile) {
  const auto engine = NewEngine("long");
  ASSERT_TRUE(SetLevel("phases").ok());
  const auto record = [&](uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
      RunCall(*engine);
      // Leaves the writer its time, so that most spans are written and not dropped.
      if (i % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  constexpr uint64_t kFirst = 25'000;
  record(kFirst);
  const uint64_t before = PeakBytes();
  record(10 * kFirst);
  EXPECT_LT(PeakBytes() - before, 4 * kMiB);
  ASSERT_TRUE(SetLevel("off").ok());

  const uint64_t made = 11 * kFirst * kSpansOfACall, written = made - Dropped();
  EXPECT_GT(written, made / 4);
  EXPECT_LE(TraceBytes(), 40 * written);
  EXPECT_GT(TraceBytes(), 10 * written);  // they are all there
}

TEST_F(MemoryTest, RingsOfAllThreadsTogetherTake64MiBAtTheMost) {
  constexpr size_t kBound = 64 * kMiB;
  const TraceLimits limits;
  ASSERT_EQ(limits.ring_bytes_total, kBound);
  constexpr size_t kThreads = 200;  // whose rings would take 100 MiB
  constexpr size_t kCalls = 4000;   // which nearly fill a ring each
  Tracer::Get().PauseWriterForTest(true);
  const auto engine = NewEngine("crowd");
  ASSERT_TRUE(SetLevel("phases").ok());
  const uint64_t before = PeakBytes();
  std::atomic<size_t> ready{0};
  std::mutex mutex;  // the engine's
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < kCalls; ++i) {
        std::lock_guard<std::mutex> lock(mutex);
        RunCall(*engine);
      }
      ++ready;  // none ends before the last one: an ended thread's ring would be another's
      while (ready < kThreads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  for (auto& thread : threads) thread.join();
  const uint64_t grown = PeakBytes() - before;
  EXPECT_LT(grown, kBound + 16 * kMiB);  // the threads' own stacks are in it
  EXPECT_GT(grown, kBound * 9 / 10);     // the rings were used

  // What found no room was counted, and nothing else was lost.
  Tracer::Get().PauseWriterForTest(false);
  ASSERT_TRUE(SetLevel("off").ok());
  const size_t rings = kBound / (limits.ring_records * 32);
  constexpr uint64_t kSpansOfAThread = kCalls * kSpansOfACall;
  EXPECT_GE(Dropped(), (kThreads - rings) * kSpansOfAThread);
  EXPECT_LE(Dropped(), (kThreads - rings + 1) * kSpansOfAThread);  // this process has had a ring
  EXPECT_LE(TraceBytes(), 40 * (kThreads * kSpansOfAThread - Dropped()));
  EXPECT_EQ(Calls(engine->id()), kThreads * kCalls);
}

}  // namespace
}  // namespace trtscope::profiling
