// The whole call, executor and profiler over the adapter, on fake libraries: nothing waits for the
// device to measure it, and nothing that profiling does changes a result.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "core/engine/executor.h"
#include "core/engine/graph_cache.h"
#include "core/profiling/config.h"
#include "core/profiling/report.h"
#include "tests/fakes/fake_setup.h"

namespace trtscope::engine {
namespace {

using device::DeviceType;
using device::StreamRef;
using device::cuda::CudaDevice;
using device::cuda::OwnedStream;
using fakes::DeviceBuffer;
using fakes::FakeCase;
using fakes::FakeCuda;
using profiling::Level;

constexpr char kModel[] = R"({"shared_profiles": true, "workspace": 256,
    "layers": ["conv", "relu", "conv"], "io": [
    {"name": "x", "mode": "input", "shape": [-1], "profiles": [[[1], [8], [64]]]},
    {"name": "y", "mode": "output", "shape": [-1], "from": "x"}]})";

class ExecutorFakeTest : public ::testing::TestWithParam<FakeCase> {
 protected:
  void SetUp() override {
    device_ = *device::cuda::GetCudaDevice(0);
    profiling::ResetTiming();
    EXPECT_TRUE(profiling::SetSampleInterval(1).ok());
  }
  void TearDown() override {
    SetCudaGraphs(false);
    EXPECT_TRUE(profiling::SetLevel(Level::kOff).ok());
    EXPECT_TRUE(profiling::SetSampleInterval(0).ok());
    const fakes::FakeTensorRtStats after = fakes::StatsOf(GetParam());
    EXPECT_EQ(after.contexts, 0);
    EXPECT_EQ(after.engines, 0);
    EXPECT_EQ(after.teardown_errors, 0);
    EXPECT_EQ(after.wrong_device, 0);
    EXPECT_EQ(FakeCuda::Get().live_allocations(), 0);
    EXPECT_EQ(FakeCuda::Get().current_device(), -1);
  }

  std::unique_ptr<Executor> Make(const std::string& json, const std::string& name = "m") {
    Result<std::unique_ptr<Engine>> engine = fakes::LoadFake(GetParam(), json);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    if (!engine.ok()) return nullptr;
    auto profile =
        profiling::EngineProfile::Register({name, (*engine)->plan().hash, "tensorrt", "test"});
    Result<std::unique_ptr<Executor>> executor =
        Executor::Create(*std::move(engine), std::move(profile));
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return executor.ok() ? *std::move(executor) : nullptr;
  }

  /// One call on `count` elements.
  static Status Run(Executor& executor, void* x, void* y, int64_t count, StreamRef stream) {
    Executor::Call call(executor);
    const TensorView input{x, DataType::kFloat32, {count}, {DeviceType::kCuda, 0}};
    TRTSCOPE_RETURN_IF_ERROR(call.BindInputs({&input, 1}, stream));
    if (!(call.OutputShape(0) == Dims{count})) return Internal(ToString(call.OutputShape(0)));
    TRTSCOPE_RETURN_IF_ERROR(call.BindOutput(0, y));
    return call.Enqueue(stream);
  }

  static nlohmann::json Timing(const std::string& name) {
    const nlohmann::json timing = nlohmann::json::parse(profiling::TimingJson());
    for (const auto& engine : timing["engines"]) {
      if (engine["name"] == name) return engine;
    }
    return {};
  }

  CudaDevice* device_ = nullptr;
};

TEST_P(ExecutorFakeTest, NoLevelEverWaitsForTheDevice) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  for (const bool graphs : {false, true}) {
    SetCudaGraphs(graphs);
    for (const Level level : {Level::kOff, Level::kDelegate, Level::kPhases, Level::kLayers}) {
      const auto executor = Make(kModel);
      ASSERT_NE(executor, nullptr);
      ASSERT_TRUE(profiling::SetLevel(level).ok());
      FakeCuda::Get().reset_calls();
      FakeCuda::Get().block(0, stream->ref().handle);
      // If anything waited, this would hang: then the stream is released to end the test.
      auto done = std::async(std::launch::async, [&] {
        for (int i = 0; i < 20; ++i) {
          const Status status = Run(*executor, x.data(), y.data(), i < 10 ? 8 : 16, stream->ref());
          if (!status.ok()) return status;
        }
        return OkStatus();
      });
      const auto state = done.wait_for(std::chrono::seconds(30));
      EXPECT_EQ(FakeCuda::Get().calls("cuStreamSynchronize"), 0) << Name(level);
      FakeCuda::Get().release(0, stream->ref().handle);
      ASSERT_EQ(state, std::future_status::ready) << Name(level) << " waited for the device";
      const Status status = done.get();
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
}

TEST_P(ExecutorFakeTest, LayersAndSpansOfFinishedCallsAreCollected) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(kModel, "collected");
  ASSERT_NE(executor, nullptr);
  constexpr int kCalls = 50;
  for (int i = 0; i < kCalls; ++i) {
    std::fill_n(x.floats(), 8, static_cast<float>(i));
    const Status status = Run(*executor, x.data(), y.data(), 8, stream->ref());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
    ASSERT_EQ(y.floats()[7], 2 * static_cast<float>(i));
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("collected");
  EXPECT_EQ(engine["phases"]["gpu"]["count"], kCalls);
  ASSERT_EQ(engine["layers"].size(), 3u) << engine.dump(2);
  int64_t expected_ns = 1000;
  for (const auto& layer : engine["layers"]) {
    EXPECT_GE(layer["count"], 1);
    EXPECT_LE(layer["count"], kCalls);
    EXPECT_EQ(layer["min_ns"], expected_ns);
    EXPECT_EQ(layer["max_ns"], expected_ns);
    expected_ns += 1000;
  }
  EXPECT_EQ(engine["layers"][0]["name"], "conv");
  EXPECT_EQ(engine["layers"][1]["name"], "relu");
  EXPECT_EQ(engine["layers"][2]["name"], "conv");
}

TEST_P(ExecutorFakeTest, OneCallInNIsMeasuredWhenNIsGiven) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetSampleInterval(4).ok());
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(kModel, "one in four");
  ASSERT_NE(executor, nullptr);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("one in four");
  ASSERT_EQ(engine["layers"].size(), 3u);
  EXPECT_EQ(engine["layers"][0]["count"], 10);
  EXPECT_EQ(engine["phases"]["gpu"]["count"], 10);
}

// By cost: some calls are measured, of every engine, and the table says what is scaled.
TEST_P(ExecutorFakeTest, SampledByCost) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetSampleInterval(0).ok());
  ASSERT_TRUE(profiling::SetLevel(Level::kPhases).ok());
  const auto executor = Make(kModel, "by cost");
  ASSERT_NE(executor, nullptr);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json gpu = Timing("by cost")["phases"]["gpu"];
  EXPECT_GE(gpu["count"], 2);
  EXPECT_LT(gpu["count"], 40) << "the second call is never measured";
  EXPECT_NE(profiling::TimingTable().find(" ~"), std::string::npos) << profiling::TimingTable();
}

TEST_P(ExecutorFakeTest, OnlyChangesReachTheContext) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  const auto executor = Make(kModel);
  ASSERT_NE(executor, nullptr);
  ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
  const fakes::FakeTensorRtStats before = fakes::StatsOf(GetParam());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
  }
  const fakes::FakeTensorRtStats after = fakes::StatsOf(GetParam());
  EXPECT_EQ(after.set_shapes, before.set_shapes);
  EXPECT_EQ(after.set_addresses, before.set_addresses);
  EXPECT_EQ(after.enqueues, before.enqueues + 10);
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
}

TEST_P(ExecutorFakeTest, APlanWithOneContextMeasuresLayersInACopy) {
  std::string json = kModel;
  json.replace(json.find("true"), 4, "false");
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(json, "exclusive");
  ASSERT_NE(executor, nullptr);
  for (int i = 0; i < 5; ++i) {
    const Status status = Run(*executor, x.data(), y.data(), 8, stream->ref());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("exclusive");
  EXPECT_EQ(engine["errors"], 0);
  EXPECT_EQ(engine["phases"]["gpu"]["count"], 5);
  EXPECT_EQ(engine["layers"].size(), 3u) << engine.dump(2);
}

// Where the copy cannot be made, the engine runs on without layer times.
TEST_P(ExecutorFakeTest, APlanWithOneContextAndNoRoomForACopyRunsOn) {
  std::string json = kModel;
  json.replace(json.find("true"), 4, "false");
  json.insert(1, R"("faults": {"serialize": true}, )");
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(json, "no copy");
  ASSERT_NE(executor, nullptr);
  for (int i = 0; i < 5; ++i) {
    const Status status = Run(*executor, x.data(), y.data(), 8, stream->ref());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("no copy");
  EXPECT_EQ(engine["errors"], 0);
  EXPECT_EQ(engine["phases"]["gpu"]["count"], 5);
  EXPECT_EQ(engine["layers"].empty(), GetParam().version.major == 8);
}

// TensorRT asks the stream of a measured call for its times when they are delivered.
TEST_P(ExecutorFakeTest, LayersComeAfterTheCallersStreamIsGone) {
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(kModel, "stream gone");
  ASSERT_NE(executor, nullptr);
  for (int i = 0; i < 3; ++i) {
    const auto stream = *OwnedStream::Create(*device_);
    std::fill_n(x.floats(), 8, static_cast<float>(i + 1));
    const Status status = Run(*executor, x.data(), y.data(), 8, stream->ref());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
    EXPECT_EQ(y.floats()[7], 2 * static_cast<float>(i + 1)) << "the caller's stream did not wait";
  }
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("stream gone");
  ASSERT_EQ(engine["layers"].size(), 3u) << engine.dump(2);
  EXPECT_GE(engine["layers"][0]["count"], 1);
}

// A caller's own capture holds the engine's work and nothing of ours, and calls go on after it.
TEST_P(ExecutorFakeTest, ACallInsideTheCallersGraph) {
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  const auto executor = Make(kModel, "captured");
  ASSERT_NE(executor, nullptr);
  const auto run = [&] { return Run(*executor, x.data(), y.data(), 8, stream->ref()); };
  ASSERT_TRUE(run().ok());
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  const device::cuda::Driver& driver = device_->driver();
  const auto handle = static_cast<device::cuda::CUstream>(stream->ref().handle);
  device::cuda::CUgraph graph = nullptr;
  device::cuda::CUgraphExec exec = nullptr;
  {
    device::cuda::ScopedDevice current(*device_);
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(handle, device::cuda::kCaptureModeThreadLocal), 0);
    FakeCuda::Get().reset_calls();
    const Status captured = run();
    EXPECT_TRUE(captured.ok()) << captured.message();
    EXPECT_EQ(FakeCuda::Get().calls("cuEventRecord"), 0);
    ASSERT_EQ(driver.cuStreamEndCapture(handle, &graph), 0);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    std::fill_n(x.floats(), 8, 21.0F);
    ASSERT_EQ(driver.cuGraphLaunch(exec, handle), 0);
  }
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  EXPECT_EQ(y.floats()[7], 42.0F);
  const auto other = *OwnedStream::Create(*device_);
  const Status after = Run(*executor, x.data(), y.data(), 8, other->ref());
  EXPECT_TRUE(after.ok()) << after.message();
  ASSERT_TRUE(device_->Synchronize(other->ref()).ok());
  device::cuda::ScopedDevice current(*device_);
  driver.cuGraphExecDestroy(exec);
  driver.cuGraphDestroy(graph);
}

TEST_P(ExecutorFakeTest, AFailedEnqueueIsCountedAndDoesNotStick) {
  std::string json = kModel;
  json.insert(1, R"("faults": {"enqueue": 2}, )");
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kPhases).ok());
  const auto executor = Make(json, "failing");
  ASSERT_NE(executor, nullptr);
  ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
  const Status failed = Run(*executor, x.data(), y.data(), 8, stream->ref());
  EXPECT_EQ(failed.code(), StatusCode::kInternal);
  EXPECT_NE(failed.message().find("the fake enqueue fails"), std::string_view::npos);
  ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
  {
    Executor::Call collects(*executor);
  }
  const nlohmann::json engine = Timing("failing");
  EXPECT_EQ(engine["errors"], 1);
  EXPECT_EQ(engine["phases"]["gpu"]["count"], 2);
}

TEST_P(ExecutorFakeTest, WorkInFlightSurvivesTheEnginesEnd) {
  std::string json = kModel;
  json.insert(1, R"("delay_us": 3000, )");
  const auto stream = *OwnedStream::Create(*device_);
  DeviceBuffer x(*device_, 256), y(*device_, 256);
  ASSERT_TRUE(profiling::SetLevel(Level::kLayers).ok());
  {
    const auto executor = Make(json);
    ASSERT_NE(executor, nullptr);
    std::fill_n(x.floats(), 8, 4.0F);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(Run(*executor, x.data(), y.data(), 8, stream->ref()).ok());
    }
  }
  EXPECT_EQ(y.floats()[7], 8.0F) << "the engine went before its work was done";
  ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
}

// Engines on streams of their own, two callers each, while every level comes and goes.
TEST_P(ExecutorFakeTest, TogglingWhileEnginesRun) {
  constexpr int kEngines = 3;
  constexpr int kCallers = 2;
  constexpr int kCalls = 150;
  // A stream lives until its engine's next call or end: layers are asked for there.
  std::vector<std::unique_ptr<OwnedStream>> streams;
  for (int c = 0; c < kEngines * kCallers; ++c) streams.push_back(*OwnedStream::Create(*device_));
  std::vector<std::unique_ptr<Executor>> executors;
  for (int e = 0; e < kEngines; ++e) executors.push_back(Make(kModel));
  std::atomic<bool> stop{false};
  std::thread toggler([&stop] {
    std::mt19937 random(7);
    while (!stop) {
      (void)profiling::SetLevel(static_cast<Level>(random() % 4)).ok();
      SetCudaGraphs(random() % 2 == 0);
      (void)profiling::TimingJson();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<std::thread> callers;
  for (int c = 0; c < kEngines * kCallers; ++c) {
    callers.emplace_back([this, c, &executors, &streams] {
      const auto& stream = streams[static_cast<size_t>(c)];
      DeviceBuffer x(*device_, 256), y(*device_, 256);
      Executor& executor = *executors[static_cast<size_t>(c % kEngines)];
      for (int i = 0; i < kCalls; ++i) {
        const int64_t count = 1 + i / 20 % 3;
        std::fill_n(x.floats(), 8, static_cast<float>(c * 1000 + i));
        const Status status = Run(executor, x.data(), y.data(), count, stream->ref());
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(device_->Synchronize(stream->ref()).ok());
        ASSERT_EQ(y.floats()[count - 1], 2 * static_cast<float>(c * 1000 + i));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  stop = true;
  toggler.join();
}

INSTANTIATE_TEST_SUITE_P(Families, ExecutorFakeTest, ::testing::ValuesIn(fakes::kFakeCases),
                         [](const auto& info) { return std::string(info.param.folder); });

}  // namespace
}  // namespace trtscope::engine

int main(int argc, char** argv) {
  trtscope::fakes::UseFakeCuda(1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
