// The backend on a device: the real adapter and CUDA code over the fake TensorRT and the fake
// driver of tests/fakes, whose device memory is the host's and whose streams are threads.

#include <executorch/runtime/core/device_allocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/library_paths.h"
#include "core/profiling/config.h"
#include "executorch_backend/backend.h"
#include "executorch_backend/caller_stream.h"
#include "executorch_backend/testing.h"
#include "tests/fakes/fake_setup.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

using fakes::DeviceBuffer;
using fakes::FakeCuda;
using testing::FakeTracer;
using testing::FloatTensor;
using testing::Loaded;
using testing::Options;

constexpr auto kOnGpu = et::etensor::DeviceType::CUDA;
constexpr char kLevels[][9] = {"off", "phases", "layers"};
// 8.6 gives its profiles to one context only, unless the plan says otherwise.
const fakes::FakeCase& kRelease = fakes::kFakeCases[2];  // 10.16

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

std::string Plan(const std::string& json) {
  const auto plan = fakes::MakeFakePlan(kRelease.version, json);
  return {reinterpret_cast<const char*>(plan.data()), plan.size()};
}

// y = 2x, of up to 16 rows of 4; two layers.
std::string SimplePlan(const std::string& more = "") {
  return Plan(R"({"io": [{"name": "x", "mode": "input", "dtype": "float32", "shape": [-1, 4],
                          "profiles": [[[1, 4], [4, 4], [16, 4]]]},
                         {"name": "y", "mode": "output", "dtype": "float32", "shape": [-1, 4],
                          "from": "x"}],
                  "layers": ["first", "second"])" +
              more + "}");
}

device::Device& Gpu() { return **device::GetDevice({device::DeviceType::kCuda, 0}); }

// The caller's stream of this thread, for as long as this lives.
class OnStream {
 public:
  explicit OnStream(void* stream) {
    CallerStream() = device::StreamRef{device::DeviceType::kCuda, stream};
  }
  ~OnStream() { CallerStream().reset(); }
};

int64_t Waits() {
  const FakeCuda& cuda = FakeCuda::Get();
  return cuda.calls("cuStreamSynchronize") + cuda.calls("cuCtxSynchronize") +
         cuda.calls("cuEventSynchronize");
}

TEST(Device, HostTensorsAreStaged) {
  Loaded loaded(SimplePlan());
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  for (int rows : {2, 16, 1}) {
    FloatTensor x({rows, 4}, static_cast<float>(rows)), y({16, 4});
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();
    EXPECT_EQ(y.sizes(), (std::vector<int32_t>{rows, 4}));
    EXPECT_EQ(y.values()[static_cast<size_t>(4 * rows - 1)], 2.0f * static_cast<float>(rows));
  }
}

// RFC, native integration tests: "Host-staged execution reports its existing synchronization
// without adding another one."
TEST(Device, HostStagedExecutionReportsItsSynchronizationWithoutAddingAnother) {
  std::set<int64_t> waits;
  for (const char* level : kLevels) {
    Loaded loaded(SimplePlan(), Options().Set(kLevelKey, level));
    ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
    FloatTensor x({2, 4}, 3), y({16, 4});
    FakeTracer tracer;
    for (int i = 0; i < 4; ++i) {
      tracer.events.clear();
      FakeCuda::Get().reset_calls();
      ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
      waits.insert(Waits());
    }
    if (std::string(level) == "off") continue;
    EXPECT_NE(tracer.find("torchtrt.synchronize"), nullptr);
    EXPECT_NE(tracer.find("torchtrt.output_staging"), nullptr);
    // The work is known complete: its device time comes with its own call.
    const auto* gpu = tracer.find("torchtrt.gpu");
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->metadata["clock"], "gpu");
    EXPECT_EQ(gpu->metadata["call"], 4);
  }
  EXPECT_EQ(waits, std::set<int64_t>{1});
}

// RFC, native integration tests: "Device-resident caller-stream execution remains asynchronous
// when profiling phases are enabled."
TEST(Device, DeviceResidentCallerStreamExecutionRemainsAsynchronous) {
  const auto stream = *device::cuda::OwnedStream::Create(**device::cuda::GetCudaDevice(0));
  for (const char* level : kLevels) {
    Loaded loaded(SimplePlan(), Options().Set(kLevelKey, level));
    ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
    DeviceBuffer in(Gpu(), 2 * 4 * sizeof(float)), out(Gpu(), 16 * 4 * sizeof(float));
    for (int i = 0; i < 8; ++i) in.floats()[i] = 5;
    FloatTensor x({2, 4}, 0, in.data(), kOnGpu), y({16, 4}, 0, out.data(), kOnGpu);
    FakeTracer tracer;
    OnStream on(stream->ref().handle);
    // Two calls, so that the layers of the first are delivered: the fake TensorRT, unlike the real
    // one, waits for the whole stream to deliver them.
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
      ASSERT_TRUE(Gpu().Synchronize(stream->ref()).ok());
    }
    tracer.events.clear();
    for (int i = 0; i < 8; ++i) out.floats()[i] = 0;

    FakeCuda::Get().reset_calls();
    FakeCuda::Get().block(0, stream->ref().handle);
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
    EXPECT_EQ(out.floats()[7], 0.0f) << level;  // it returned, and the device has not begun
    EXPECT_EQ(Waits(), 0) << level;
    EXPECT_EQ(tracer.find("torchtrt.synchronize"), nullptr);
    if (std::string(level) != "off") {
      // The call before is complete, and its device time arrives now.
      const auto* gpu = tracer.find("torchtrt.gpu");
      ASSERT_NE(gpu, nullptr) << level;
      EXPECT_EQ(gpu->metadata["call"], 2);
      EXPECT_EQ(gpu->metadata["clock"], "gpu");
      EXPECT_SAYS(tracer.events[0].metadata["stream"].get<std::string>(), "cuda:0 0x");
    }
    FakeCuda::Get().release(0, stream->ref().handle);
    ASSERT_TRUE(Gpu().Synchronize(stream->ref()).ok());
    EXPECT_EQ(out.floats()[7], 10.0f);
  }
}

TEST(Device, AGivenSampleIntervalHoldsForTracedCallsToo) {
  Loaded loaded(SimplePlan(), Options().Set(kLevelKey, "phases"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor x({2, 4}, 3), y({16, 4});
  const auto spans = [&](int64_t interval) {
    EXPECT_TRUE(profiling::SetSampleInterval(interval).ok());
    int found = 0;
    for (int i = 0; i < 9; ++i) {
      FakeTracer tracer;
      EXPECT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
      found += tracer.find("torchtrt.gpu") != nullptr;
    }
    return found;
  };
  EXPECT_EQ(spans(3), 3);
  EXPECT_EQ(spans(1), 9);
  EXPECT_EQ(spans(0), 9);  // who traces and asks for nothing wants every call
}

TEST(Device, WithoutACallersStreamCallsWait) {
  Loaded loaded(SimplePlan());
  DeviceBuffer in(Gpu(), 16), out(Gpu(), 16);
  in.floats()[0] = 4;
  FloatTensor x({1, 4}, 0, in.data(), kOnGpu), y({1, 4}, 0, out.data(), kOnGpu);
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();
  EXPECT_EQ(out.floats()[0], 8.0f);
}

// RFC, unit tests: "`layers` attaches a profiler exactly once per context."
TEST(Device, LayersAttachesAProfilerExactlyOncePerContext) {
  const auto contexts_before = fakes::StatsOf(kRelease).contexts;
  Loaded loaded(SimplePlan(), Options().Set(kLevelKey, "layers"));
  EXPECT_EQ(fakes::StatsOf(kRelease).contexts - contexts_before, 1);
  FloatTensor x({2, 4}), y({16, 4});
  FakeTracer tracer;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  }
  // The plain one and one that measures, however many calls there were.
  EXPECT_EQ(fakes::StatsOf(kRelease).contexts - contexts_before, 2);
  EXPECT_GT(fakes::StatsOf(kRelease).profiled_enqueues, 0);
  const auto* layer = tracer.find("torchtrt.layer/second");
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->end - layer->start, 2000u);
  loaded.Destroy();
  EXPECT_EQ(fakes::StatsOf(kRelease).contexts, contexts_before);
  EXPECT_EQ(fakes::StatsOf(kRelease).teardown_errors, 0);
}

TEST(Device, LevelsBelowLayersAttachNoProfiler) {
  const auto before = fakes::StatsOf(kRelease);
  Loaded loaded(SimplePlan(), Options().Set(kLevelKey, "phases"));
  FloatTensor x({2, 4}), y({16, 4});
  FakeTracer tracer;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  }
  const auto after = fakes::StatsOf(kRelease);
  EXPECT_EQ(after.contexts - before.contexts, 1);
  EXPECT_EQ(after.profiled_enqueues, before.profiled_enqueues);
  EXPECT_EQ(tracer.find("torchtrt.layer/first"), nullptr);
}

// RFC, unit tests: "Engine destruction is safe after an asynchronous enqueue."
TEST(Device, EngineDestructionIsSafeAfterAnAsynchronousEnqueue) {
  const auto stream = *device::cuda::OwnedStream::Create(**device::cuda::GetCudaDevice(0));
  for (const char* level : kLevels) {
    Loaded loaded(SimplePlan(), Options().Set(kLevelKey, level));
    DeviceBuffer in(Gpu(), 16), out(Gpu(), 16);
    in.floats()[0] = 1;
    FloatTensor x({1, 4}, 0, in.data(), kOnGpu), y({1, 4}, 0, out.data(), kOnGpu);
    OnStream on(stream->ref().handle);
    FakeCuda::Get().block(0, stream->ref().handle);
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();
    std::atomic<bool> destroyed{false};
    std::thread destroyer([&] {
      loaded.Destroy();
      destroyed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(destroyed) << level;  // it waits for the work that uses its contexts
    FakeCuda::Get().release(0, stream->ref().handle);
    destroyer.join();
    EXPECT_EQ(out.floats()[0], 2.0f);
  }
  EXPECT_EQ(fakes::StatsOf(kRelease).teardown_errors, 0);
}

// RFC, native integration tests: "Aliased KV-cache inputs continue to update caller-owned storage
// correctly."
TEST(Device, AliasedKvCacheInputsUpdateCallerOwnedStorage) {
  const std::string plan =
      Plan(R"({"io": [{"name": "cache", "mode": "input", "dtype": "float32", "shape": [4]},
                      {"name": "cache_out", "mode": "output", "dtype": "float32", "shape": [4],
                       "from": "cache", "alias": "cache"}]})");
  BlobMetadata metadata;
  metadata.io_bindings = {{"cache", {}, {}, true}, {"cache_out", {}, {}, false}};
  metadata.aliased_io = {{"cache_out", "cache", "kv_cache_update"}};
  const auto bytes = WriteBlob(metadata, std::as_bytes(std::span(plan.data(), plan.size())));
  const std::string blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const char* level : kLevels) {
    Loaded loaded(blob, Options().Set(kLevelKey, level));
    ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
    // On the device: updated in place, without an argument for the output and with one.
    DeviceBuffer memory(Gpu(), 16);
    memory.floats()[3] = 1;
    FloatTensor cache({4}, 0, memory.data(), kOnGpu);
    ASSERT_EQ(loaded.Execute({cache.value()}), et::Error::Ok) << LastError();
    EXPECT_EQ(memory.floats()[3], 2.0f);
    FloatTensor copy({4}, 0);
    ASSERT_EQ(loaded.Execute({cache.value(), copy.value()}), et::Error::Ok) << LastError();
    EXPECT_EQ(memory.floats()[3], 4.0f);
    EXPECT_EQ(copy.values()[3], 4.0f);
    // On the host: the device's copy of it is written back.
    FloatTensor host({4}, 3);
    ASSERT_EQ(loaded.Execute({host.value()}), et::Error::Ok) << LastError();
    EXPECT_EQ(host.values(), std::vector<float>(4, 6));
    ASSERT_EQ(loaded.Execute({host.value(), copy.value()}), et::Error::Ok) << LastError();
    EXPECT_EQ(host.values(), std::vector<float>(4, 12));
    EXPECT_EQ(copy.values(), std::vector<float>(4, 12));
  }
}

TEST(Device, DataDependentOutputsComeInTheirShape) {
  Loaded loaded(Plan(R"({"io": [{"name": "x", "mode": "input", "dtype": "float32", "shape": [4]},
                      {"name": "z", "mode": "output", "dtype": "float32", "shape": [-1],
                       "from": "x", "data_dependent": true}]})"),
                Options().Set(kLevelKey, "phases"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor x({4}, 0), z({4}), small({1});
  x.values() = {0, 5, 0, 6};
  ASSERT_EQ(loaded.Execute({x.value(), z.value()}), et::Error::Ok) << LastError();
  EXPECT_EQ(z.sizes(), std::vector<int32_t>{2});
  EXPECT_EQ(loaded.Execute({x.value(), small.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "the engine gives shape [2], but the program planned");
}

TEST(Device, TensorsOfAnotherDeviceAreRefused) {
  Loaded loaded(SimplePlan());
  DeviceBuffer in(**device::GetDevice({device::DeviceType::kCuda, 1}), 16);
  FloatTensor y({1, 4});
  int32_t sizes[] = {1, 4}, strides[] = {4, 1};
  uint8_t order[] = {0, 1};
  et::etensor::TensorImpl impl(et::etensor::ScalarType::Float, 2, sizes, in.data(), order, strides,
                               et::TensorShapeDynamism::STATIC, kOnGpu, 1);
  et::EValue x{et::etensor::Tensor(&impl)};
  EXPECT_EQ(loaded.Execute({&x, y.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "cuda:1");
}

TEST(Device, TheBlobOrAnOptionSaysWhichDevice) {
  BlobMetadata metadata;
  metadata.device_id = 1;
  const std::string plan = SimplePlan();
  const auto bytes = WriteBlob(metadata, std::as_bytes(std::span(plan.data(), plan.size())));
  const std::string blob(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Loaded on_one(blob);
  ASSERT_EQ(on_one.error, et::Error::Ok) << LastError();
  EXPECT_EQ(on_one.delegate().executor().engine().device().index, 1);
  Loaded on_zero(blob, Options().Set(kTargetDeviceKey, "cuda:0"));
  ASSERT_EQ(on_zero.error, et::Error::Ok) << LastError();
  EXPECT_EQ(on_zero.delegate().executor().engine().device().index, 0);
  EXPECT_NE(Loaded(blob, Options().Set(kTargetDeviceKey, "cuda:7")).error, et::Error::Ok);
  EXPECT_SAYS(LastError(), "cuda:7");
}

// What ExecuTorch calls for a program planned on a GPU, found as ExecuTorch finds it.
TEST(Device, MemoryThatAProgramPlannedOnAGpu) {
  et::DeviceAllocator* const allocator = et::get_device_allocator(kOnGpu);
  ASSERT_NE(allocator, nullptr);
  const FakeCuda& cuda = FakeCuda::Get();
  const int64_t before = cuda.live_allocations();
  for (int8_t index : {0, 1}) {
    auto data = allocator->allocate(16, index);
    ASSERT_TRUE(data.ok()) << LastError();
    EXPECT_EQ(cuda.device_of(*data), index);
    const std::vector<float> from = {1, 2, 3, 4};
    std::vector<float> to(4);
    EXPECT_EQ(allocator->copy_host_to_device(*data, from.data(), 16, index), et::Error::Ok);
    EXPECT_EQ(allocator->copy_device_to_host(to.data(), *data, 16, index), et::Error::Ok);
    EXPECT_EQ(to, from);  // complete on return
    EXPECT_EQ(allocator->copy_device_to_host(nullptr, nullptr, 0, index), et::Error::Ok);
    allocator->deallocate(*data, index);
  }
  EXPECT_EQ(cuda.live_allocations(), before);
  EXPECT_EQ(allocator->allocate(16, 7).error(), et::Error::NotFound);
  EXPECT_SAYS(LastError(), "cuda:7");
  EXPECT_EQ(allocator->allocate(16, 0, 4096).error(), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "an alignment of 4096 octets was asked for; CUDA gives 256");
  cuda.fail("cuMemAlloc_v2", 2, 0);
  EXPECT_EQ(allocator->allocate(16, 0).error(), et::Error::MemoryAllocationFailed);
  EXPECT_SAYS(LastError(), "allocating 16 octets on cuda:0");
}

// A delegate's work in flight on the caller's stream is done before its result is copied.
TEST(Device, CopiesOfPlannedMemoryFollowTheCallersStream) {
  Loaded loaded(SimplePlan());
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  auto stream = Gpu().CreateStream();
  ASSERT_TRUE(stream.ok());
  const OnStream on((*stream)->ref().handle);
  et::DeviceAllocator& allocator = *et::get_device_allocator(kOnGpu);
  DeviceBuffer in(Gpu(), 16), out(Gpu(), 16);
  const std::vector<float> from = {1, 2, 3, 4};
  std::vector<float> to(4);
  ASSERT_EQ(allocator.copy_host_to_device(in.data(), from.data(), 16, 0), et::Error::Ok);
  FloatTensor x({1, 4}, 0, in.data(), kOnGpu), y({1, 4}, 0, out.data(), kOnGpu);
  FakeCuda::Get().block(0, (*stream)->ref().handle);
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    FakeCuda::Get().release(0, (*stream)->ref().handle);
  });
  EXPECT_EQ(allocator.copy_device_to_host(to.data(), out.data(), 16, 0), et::Error::Ok);
  later.join();
  EXPECT_EQ(to, (std::vector<float>{2, 4, 6, 8}));
}

TEST(Device, WeightStreamingBudgetReachesTheEngine) {
  const auto plan = fakes::MakeFakePlan(
      {10, 16, 1, 11},
      R"({"io": [{"name": "x", "mode": "input", "dtype": "float32", "shape": [4]},
                 {"name": "y", "mode": "output", "dtype": "float32", "shape": [4], "from": "x"}],
          "streamable": 1000})");
  const std::string text(reinterpret_cast<const char*>(plan.data()), plan.size());
  EXPECT_EQ(Loaded(text, Options().Set(kWeightStreamingKey, 500)).error, et::Error::Ok)
      << LastError();
  EXPECT_NE(Loaded(text, Options().Set(kWeightStreamingKey, 5000)).error, et::Error::Ok);
  EXPECT_SAYS(LastError(), "5000");
}

}  // namespace
}  // namespace trtscope::executorch_backend

int main(int argc, char** argv) {
  trtscope::fakes::UseFakeCuda(2);
  trtscope::engine::AddLibraryPath(trtscope::fakes::FakePath("trt8"));
  trtscope::engine::AddLibraryPath(trtscope::fakes::FakePath("trt10"));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
