#include "core/device/host/host_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace trtscope::device {
namespace {

TEST(HostStream, RunsTasksInOrderOnOneOtherThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    HostStream stream;
    for (int i = 0; i < 100; ++i) {
      stream.Enqueue([&, i] {
        order.push_back(i);
        threads.push_back(std::this_thread::get_id());
      });
    }
    stream.Synchronize();
    ASSERT_EQ(order.size(), 100u);
  }
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(order[i], static_cast<int>(i));
    EXPECT_EQ(threads[i], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(HostStream, EnqueueDoesNotWait) {
  std::promise<void> gate;
  std::atomic<bool> ran{false};
  HostStream stream;
  stream.Enqueue([&] {
    gate.get_future().wait();
    ran = true;
  });
  EXPECT_FALSE(ran);
  gate.set_value();
  stream.Synchronize();
  EXPECT_TRUE(ran);
}

TEST(HostStream, DestructorRunsWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    HostStream stream;
    for (int i = 0; i < 1000; ++i) stream.Enqueue([&] { ++ran; });
  }
  EXPECT_EQ(ran, 1000);
}

TEST(HostStream, TasksMayEnqueueMore) {
  std::atomic<int> ran{0};
  {
    HostStream stream;
    stream.Enqueue([&] {
      ++ran;
      stream.Enqueue([&] { ++ran; });
      stream.Synchronize();  // from within: returns instead of waiting for itself
    });
  }
  EXPECT_EQ(ran, 2);
}

TEST(HostStream, CapturesEndWithTheTask) {
  auto token = std::make_shared<int>(0);
  HostStream stream;
  stream.Enqueue([token] {});
  stream.Synchronize();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(HostStream, ManyThreadsLoseNothing) {
  int sum = 0;  // touched by the worker only, until the stream is synchronized
  HostStream stream;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        stream.Enqueue([&] { ++sum; });
        if (i % 100 == 0) stream.Synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream.Synchronize();
  EXPECT_EQ(sum, 4000);
}

TEST(RunOn, NullStreamIsTheCallingThread) {
  std::thread::id ran_on;
  RunOn(StreamRef{}, [&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(RunOn, StreamIsItsWorker) {
  std::thread::id ran_on;
  HostStream stream;
  RunOn(stream.ref(), [&] { ran_on = std::this_thread::get_id(); });
  stream.Synchronize();
  EXPECT_NE(ran_on, std::thread::id());
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

}  // namespace
}  // namespace trtscope::device
