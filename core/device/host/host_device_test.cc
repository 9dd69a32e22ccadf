#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "core/device/device.h"
#include "core/device/host/host_stream.h"

namespace trtscope::device {
namespace {

using std::chrono::milliseconds;

constexpr StreamRef kNull;
constexpr StreamRef kCudaStream{DeviceType::kCuda, nullptr};

TEST(HostDevice, AllocatesAligned) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{255}, size_t{256}, size_t{100'000}}) {
    Result<void*> data = Host().Allocate(bytes);
    ASSERT_TRUE(data.ok()) << bytes;
    ASSERT_NE(*data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*data) % 256, 0u);
    std::memset(*data, 7, bytes);
    Host().Free(*data);
  }
}

TEST(HostDevice, RefusesWhatCannotBe) {
  Result<void*> data = Host().Allocate(std::numeric_limits<size_t>::max());
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::kResourceExhausted);
}

TEST(HostDevice, CopiesInStreamOrder) {
  std::promise<void> gate;
  HostStream stream;
  stream.Enqueue([&] { gate.get_future().wait(); });
  const int from = 42;
  int to = 0;
  ASSERT_TRUE(Host().CopyAsync(&to, &from, sizeof(to), CopyKind::kHostToDevice, stream.ref()).ok());
  gate.set_value();
  ASSERT_TRUE(Host().Synchronize(stream.ref()).ok());
  EXPECT_EQ(to, 42);

  int now = 0;
  ASSERT_TRUE(Host().CopyAsync(&now, &from, sizeof(now), CopyKind::kDeviceToDevice, kNull).ok());
  EXPECT_EQ(now, 42);
  EXPECT_FALSE(Host().CopyAsync(&now, nullptr, 4, CopyKind::kDeviceToDevice, kNull).ok());
  EXPECT_TRUE(Host().CopyAsync(nullptr, nullptr, 0, CopyKind::kDeviceToDevice, kNull).ok());
}

TEST(HostDevice, RefusesCudaStreams) {
  int a = 0;
  auto event = *Host().CreateEvent(true);
  EXPECT_EQ(event->Record(kCudaStream).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Host().Synchronize(kCudaStream).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Host().WaitEvent(kCudaStream, *event).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Host().CopyAsync(&a, &a, 4, CopyKind::kDeviceToHost, kCudaStream).code(),
            StatusCode::kInvalidArgument);
}

TEST(HostEvent, CompleteBeforeAnyRecord) {
  auto event = *Host().CreateEvent(true);
  EXPECT_TRUE(*event->Query());
}

TEST(HostEvent, QueryNeverWaits) {
  std::promise<void> gate;
  HostStream stream;
  auto event = *Host().CreateEvent(true);
  stream.Enqueue([&] { gate.get_future().wait(); });
  ASSERT_TRUE(event->Record(stream.ref()).ok());
  EXPECT_FALSE(*event->Query());  // would hang here if it waited: the gate is still shut
  gate.set_value();
  stream.Synchronize();
  EXPECT_TRUE(*event->Query());
}

TEST(HostEvent, TimesTheWorkBetween) {
  HostStream stream;
  auto start = *Host().CreateEvent(true);
  auto end = *Host().CreateEvent(true);
  ASSERT_TRUE(start->Record(stream.ref()).ok());
  stream.Enqueue([] { std::this_thread::sleep_for(milliseconds(20)); });
  ASSERT_TRUE(end->Record(stream.ref()).ok());
  stream.Synchronize();
  Result<int64_t> ns = end->ElapsedNs(*start);
  ASSERT_TRUE(ns.ok());
  EXPECT_GE(*ns, 20'000'000);
  EXPECT_LT(*ns, 20'000'000'000);
  EXPECT_EQ(*start->ElapsedNs(*end), -*ns);
}

TEST(HostEvent, NullStreamRecordsAtOnce) {
  auto start = *Host().CreateEvent(true);
  auto end = *Host().CreateEvent(true);
  ASSERT_TRUE(start->Record(kNull).ok());
  EXPECT_TRUE(*start->Query());
  ASSERT_TRUE(end->Record(kNull).ok());
  EXPECT_GE(*end->ElapsedNs(*start), 0);
}

TEST(HostEvent, ElapsedSaysWhyNot) {
  std::promise<void> gate;
  HostStream stream;
  auto never = *Host().CreateEvent(true);
  auto plain = *Host().CreateEvent(false);
  auto done = *Host().CreateEvent(true);
  auto open = *Host().CreateEvent(true);
  ASSERT_TRUE(plain->Record(kNull).ok());
  ASSERT_TRUE(done->Record(kNull).ok());
  stream.Enqueue([&] { gate.get_future().wait(); });
  ASSERT_TRUE(open->Record(stream.ref()).ok());
  for (Event* bad : {never.get(), plain.get(), open.get()}) {
    EXPECT_EQ(bad->ElapsedNs(*done).status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(done->ElapsedNs(*bad).status().code(), StatusCode::kFailedPrecondition);
  }
  gate.set_value();
}

TEST(HostEvent, RecordingAgainReplacesThePoint) {
  std::promise<void> gate;
  HostStream slow, fast;
  auto event = *Host().CreateEvent(true);
  slow.Enqueue([&] { gate.get_future().wait(); });
  ASSERT_TRUE(event->Record(slow.ref()).ok());
  ASSERT_TRUE(event->Record(fast.ref()).ok());
  fast.Synchronize();
  EXPECT_TRUE(*event->Query());
  auto later = *Host().CreateEvent(true);
  ASSERT_TRUE(later->Record(kNull).ok());
  gate.set_value();
  slow.Synchronize();  // the old record completes now, and must not move the time
  EXPECT_GE(*later->ElapsedNs(*event), 0);
}

TEST(HostEvent, MayDieBeforeItsTask) {
  std::promise<void> gate;
  HostStream stream;
  stream.Enqueue([&] { gate.get_future().wait(); });
  {
    auto event = *Host().CreateEvent(true);
    ASSERT_TRUE(event->Record(stream.ref()).ok());
  }
  gate.set_value();
}

TEST(HostEvent, OtherStreamsWait) {
  std::promise<void> gate;
  std::atomic<int> value{0};
  int seen = -1;
  HostStream producer, consumer;
  auto event = *Host().CreateEvent(false);
  producer.Enqueue([&] {
    gate.get_future().wait();
    value = 1;
  });
  ASSERT_TRUE(event->Record(producer.ref()).ok());
  ASSERT_TRUE(Host().WaitEvent(consumer.ref(), *event).ok());
  consumer.Enqueue([&] { seen = value; });
  gate.set_value();
  ASSERT_TRUE(Host().WaitEvent(kNull, *event).ok());  // the calling thread waits
  EXPECT_EQ(value, 1);
  consumer.Synchronize();
  EXPECT_EQ(seen, 1);
}

TEST(HostEvent, WaitingForNoRecordIsNothing) {
  auto event = *Host().CreateEvent(false);
  EXPECT_TRUE(Host().WaitEvent(kNull, *event).ok());
}

}  // namespace
}  // namespace trtscope::device
