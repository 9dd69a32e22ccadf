// CudaDevice over the fake driver.

#include "core/device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/fakes/fake_setup.h"

namespace trtscope::device::cuda {
namespace {

using fakes::FakeCuda;

CudaDevice& Gpu(int index = 0) { return **GetCudaDevice(index); }

TEST(CudaDevice, ComesFromGetDevice) {
  Result<Device*> device = GetDevice({DeviceType::kCuda, 1});
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ(*device, &Gpu(1));
  EXPECT_EQ((*device)->id(), (DeviceId{DeviceType::kCuda, 1}));
  EXPECT_EQ((*device)->name(), "Fake GPU 1");
  EXPECT_EQ((*device)->sm(), 90);
  EXPECT_EQ(*DeviceCount(), 2);
  const Status missing = GetDevice({DeviceType::kCuda, 2}).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "device 'cuda:2': CUDA has 2 devices here");
}

TEST(CudaDevice, MemoryIsOnItsDevice) {
  void* data = *Gpu(1).Allocate(100);
  EXPECT_EQ(FakeCuda::Get().device_of(data), 1);
  Gpu(1).Free(data);
  void* empty = *Gpu(0).Allocate(0);
  EXPECT_NE(empty, nullptr);
  Gpu(0).Free(empty);
  Gpu(0).Free(nullptr);
  EXPECT_EQ(FakeCuda::Get().live_allocations(), 0);
  const Status status = Gpu(0).Allocate(size_t{2} << 30).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "allocating 2147483648 octets on cuda:0: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
}

TEST(CudaDevice, CopiesInStreamOrder) {
  const auto stream = *OwnedStream::Create(Gpu());
  void* data = *Gpu().Allocate(4);
  void* twin = *Gpu().Allocate(4);
  const int sent = 42;
  int got = 0;
  ASSERT_TRUE(Gpu().CopyAsync(data, &sent, 4, CopyKind::kHostToDevice, stream->ref()).ok());
  ASSERT_TRUE(Gpu().CopyAsync(twin, data, 4, CopyKind::kDeviceToDevice, stream->ref()).ok());
  ASSERT_TRUE(Gpu().CopyAsync(&got, twin, 4, CopyKind::kDeviceToHost, stream->ref()).ok());
  ASSERT_TRUE(Gpu().CopyAsync(&got, twin, 0, CopyKind::kDeviceToHost, stream->ref()).ok());
  ASSERT_TRUE(Gpu().Synchronize(stream->ref()).ok());
  EXPECT_EQ(got, 42);
  Gpu().Free(data);
  Gpu().Free(twin);
  EXPECT_EQ(Gpu().CopyAsync(data, &sent, 4, CopyKind::kHostToDevice, {}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Gpu().Synchronize({}).code(), StatusCode::kInvalidArgument);
}

TEST(CudaDevice, EventsAreQueriedAndNeverWaitedFor) {
  const auto stream = *OwnedStream::Create(Gpu());
  const auto first = *Gpu().CreateEvent(true);
  const auto second = *Gpu().CreateEvent(true);
  const auto untimed = *Gpu().CreateEvent(false);
  EXPECT_TRUE(*first->Query()) << "never recorded";
  FakeCuda::Get().reset_calls();
  FakeCuda::Get().block(0, stream->ref().handle);
  ASSERT_TRUE(first->Record(stream->ref()).ok());
  ASSERT_TRUE(second->Record(stream->ref()).ok());
  EXPECT_FALSE(*second->Query());
  EXPECT_EQ(second->ElapsedNs(*first).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(FakeCuda::Get().calls("cuStreamSynchronize"), 0);
  FakeCuda::Get().release(0, stream->ref().handle);
  ASSERT_TRUE(Gpu().Synchronize(stream->ref()).ok());
  EXPECT_TRUE(*second->Query());
  const Result<int64_t> elapsed = second->ElapsedNs(*first);
  ASSERT_TRUE(elapsed.ok());
  EXPECT_GE(*elapsed, 0);
  EXPECT_EQ(untimed->ElapsedNs(*first).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(first->Record({}).code(), StatusCode::kInvalidArgument);
}

TEST(CudaDevice, StreamsWaitForEvents) {
  const auto early = *OwnedStream::Create(Gpu());
  const auto late = *OwnedStream::Create(Gpu());
  const auto event = *Gpu().CreateEvent(false);
  const auto done = *Gpu().CreateEvent(false);
  FakeCuda::Get().block(0, early->ref().handle);
  ASSERT_TRUE(event->Record(early->ref()).ok());
  ASSERT_TRUE(Gpu().WaitEvent(late->ref(), *event).ok());
  ASSERT_TRUE(done->Record(late->ref()).ok());
  EXPECT_FALSE(*done->Query());
  FakeCuda::Get().release(0, early->ref().handle);
  ASSERT_TRUE(Gpu().Synchronize(late->ref()).ok());
  EXPECT_TRUE(*done->Query());
}

TEST(CudaDevice, ErrorsSayWhatCudaSaid) {
  const auto stream = *OwnedStream::Create(Gpu());
  const auto event = *Gpu().CreateEvent(true);
  FakeCuda::Get().fail("cuEventRecord", 700, 0);
  EXPECT_EQ(event->Record(stream->ref()).message(),
            "cuEventRecord: CUDA_ERROR_ILLEGAL_ADDRESS: the fake driver says no");
  FakeCuda::Get().fail("cuEventQuery", 700, 0);
  EXPECT_FALSE(event->Query().ok());
  FakeCuda::Get().fail("cuCtxPushCurrent_v2", 201, 0);
  const Status status = Gpu().Allocate(1).status();
  EXPECT_EQ(status.message(),
            "making cuda:0 current: CUDA_ERROR_INVALID_CONTEXT: the fake driver says no");
  FakeCuda::Get().fail("cuStreamCreate", 2, 0);
  EXPECT_EQ(OwnedStream::Create(Gpu()).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(FakeCuda::Get().current_device(), -1);
}

TEST(CudaDevice, GraphsReplayWhatWasCaptured) {
  const auto stream = *OwnedStream::Create(Gpu());
  int from = 1, to = 0;
  const auto copy = [&](StreamRef on) {
    return Gpu().CopyAsync(&to, &from, sizeof(to), CopyKind::kHostToDevice, on);
  };
  Result<std::unique_ptr<Graph>> graph = Gpu().Capture(copy);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(to, 0) << "capturing ran it";
  for (from = 5; from < 8; ++from) {
    ASSERT_TRUE((*graph)->Launch(stream->ref()).ok());
    ASSERT_TRUE(Gpu().Synchronize(stream->ref()).ok());
    EXPECT_EQ(to, from);
  }
  EXPECT_EQ((*graph)->Launch({}).code(), StatusCode::kInvalidArgument);

  // TensorRT asks the stream of its last enqueue for layer times: it must outlive the capture.
  FakeCuda::Get().reset_calls();
  const auto kept = *Gpu().Capture(copy);
  EXPECT_EQ(FakeCuda::Get().calls("cuStreamDestroy_v2"), 0);

  EXPECT_EQ(Gpu().Capture([](StreamRef) { return Internal("no"); }).status().message(), "no");
  FakeCuda::Get().fail("cuGraphInstantiateWithFlags", 700, 0);
  EXPECT_EQ(Gpu().Capture(copy).status().code(), StatusCode::kInternal);
  EXPECT_EQ(FakeCuda::Get().current_device(), -1);
}

TEST(ScopedDevice, RestoresWhatWasCurrent) {
  const FakeCuda& cuda = FakeCuda::Get();
  EXPECT_EQ(cuda.current_device(), -1);
  {
    ScopedDevice one(Gpu(1));
    EXPECT_EQ(cuda.current_device(), 1);
    {
      ScopedDevice zero(Gpu(0));
      EXPECT_EQ(cuda.current_device(), 0);
      cuda.reset_calls();
      ScopedDevice again(Gpu(0));
      EXPECT_EQ(cuda.calls("cuCtxPushCurrent_v2"), 0) << "current already";
    }
    EXPECT_EQ(cuda.current_device(), 1);
  }
  EXPECT_EQ(cuda.current_device(), -1);
}

TEST(CudaDevice, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      CudaDevice& gpu = Gpu(t % 2);
      const auto stream = *OwnedStream::Create(gpu);
      const auto event = *gpu.CreateEvent(true);
      for (int i = 0; i < 100; ++i) {
        void* data = *gpu.Allocate(4);
        int got = -1;
        ASSERT_TRUE(gpu.CopyAsync(data, &i, 4, CopyKind::kHostToDevice, stream->ref()).ok());
        ASSERT_TRUE(gpu.CopyAsync(&got, data, 4, CopyKind::kDeviceToHost, stream->ref()).ok());
        ASSERT_TRUE(event->Record(stream->ref()).ok());
        ASSERT_TRUE(gpu.Synchronize(stream->ref()).ok());
        ASSERT_TRUE(*event->Query());
        ASSERT_EQ(got, i);
        gpu.Free(data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace trtscope::device::cuda

int main(int argc, char** argv) {
  trtscope::fakes::UseFakeCuda(2);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
