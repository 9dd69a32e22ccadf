// The adapter against fake libraries of every family: what an engine says about itself, and how
// its contexts run.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "core/engine/tensorrt/implementation.h"
#include "tests/fakes/fake_setup.h"

namespace trtscope::engine::tensorrt {
namespace {

using device::DeviceType;
using device::StreamRef;
using device::cuda::CudaDevice;
using device::cuda::OwnedStream;
using fakes::DeviceBuffer;
using fakes::FakeCase;
using fakes::FakeCuda;

constexpr char kTwoByFour[] = R"({"io": [
    {"name": "y", "mode": "output", "shape": [2, 4], "from": "x"},
    {"name": "x", "mode": "input", "shape": [2, 4]}]})";

constexpr char kDynamic[] = R"({"shared_profiles": true, "io": [
    {"name": "x", "mode": "input", "shape": [-1, 4],
     "profiles": [[[1, 4], [2, 4], [8, 4]], [[9, 4], [16, 4], [32, 4]]]},
    {"name": "y", "mode": "output", "shape": [-1, 4], "from": "x"}]})";

constexpr char kNonZero[] = R"({"io": [
    {"name": "x", "mode": "input", "shape": [8]},
    {"name": "y", "mode": "output", "shape": [-1], "from": "x", "data_dependent": true}]
    %s})";

std::string NonZero(const std::string& more) {
  std::string text = kNonZero;
  return text.replace(text.find("%s"), 2, more);
}

bool Contains(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string_view::npos;
}

std::unique_ptr<ExecutionContext> MakeContext(Engine& engine, ContextOptions options = {}) {
  Result<std::unique_ptr<ExecutionContext>> context = engine.CreateContext(options);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return context.ok() ? *std::move(context) : nullptr;
}

class Layers final : public profiling::LayerSink {
 public:
  void OnLayer(const char* name, int64_t start_ns, int64_t duration_ns) noexcept override {
    names.emplace_back(name);
    starts.push_back(start_ns);
    durations.push_back(duration_ns);
  }
  std::vector<std::string> names;
  std::vector<int64_t> starts, durations;
};

class Outputs final : public OutputAllocator {
 public:
  void* Allocate(int index, size_t bytes) noexcept override {
    if (refuse) return nullptr;
    allocated = index;
    buffer = std::make_unique<DeviceBuffer>(**device::GetDevice({DeviceType::kCuda, 0}), bytes);
    return buffer->data();
  }
  void OnShape(int index, const Dims& dims) noexcept override {
    shaped = index;
    shape = dims;
  }
  bool refuse = false;
  int allocated = -1;
  int shaped = -1;
  Dims shape;
  std::unique_ptr<DeviceBuffer> buffer;
};

class AdapterTest : public ::testing::TestWithParam<FakeCase> {
 protected:
  void SetUp() override {
    Result<CudaDevice*> device = device::cuda::GetCudaDevice(0);
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *device;
    stream_ = *OwnedStream::Create(*device_);
    before_ = fakes::StatsOf(GetParam());
  }
  // Whatever a test did, nothing is left over and nothing was torn down in a wrong order.
  void TearDown() override {
    stream_.reset();
    const fakes::FakeTensorRtStats after = fakes::StatsOf(GetParam());
    EXPECT_EQ(after.contexts, 0);
    EXPECT_EQ(after.engines, 0);
    EXPECT_EQ(after.runtimes, 0);
    EXPECT_EQ(after.teardown_errors, 0);
    EXPECT_EQ(after.wrong_device, 0);
    EXPECT_EQ(FakeCuda::Get().live_allocations(), 0);
    EXPECT_EQ(FakeCuda::Get().current_device(), -1) << "a device was left current";
  }

  std::unique_ptr<Engine> Load(const std::string& json) {
    Result<std::unique_ptr<Engine>> engine = fakes::LoadFake(GetParam(), json);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  StreamRef stream() const { return stream_->ref(); }
  bool family8() const { return GetParam().version.major == 8; }
  // 10.1 added it; RTX counts its own versions.
  bool has_aliases() const {
    return !family8() && std::string_view(GetParam().folder) != "trt10_0";
  }

  CudaDevice* device_ = nullptr;
  std::unique_ptr<OwnedStream> stream_;
  fakes::FakeTensorRtStats before_{};
};

TEST_P(AdapterTest, DescribesItsTensors) {
  const auto engine = Load(R"({"shared_profiles": true, "io": [
      {"name": "cache_out", "mode": "output", "dtype": "float16", "shape": [2, -1],
       "from": "cache", "alias": "cache"},
      {"name": "cache", "mode": "input", "dtype": "float16", "shape": [2, -1],
       "profiles": [[[2, 1], [2, 3], [2, 5]], [[2, 5], [2, 6], [2, 9]]]},
      {"name": "n", "mode": "input", "dtype": "int32", "shape": [2], "shape_input": true}]})");
  ASSERT_NE(engine, nullptr);
  ASSERT_EQ(engine->tensors().size(), 3u);
  EXPECT_EQ(engine->input_count(), 2);
  EXPECT_EQ(engine->profile_count(), 2);
  EXPECT_EQ(engine->device(), (device::DeviceId{DeviceType::kCuda, 0}));

  const TensorInfo& cache = engine->tensors()[0];
  EXPECT_EQ(cache.name, "cache");
  EXPECT_EQ(cache.dtype, DataType::kFloat16);
  EXPECT_EQ(cache.shape, (Dims{2, -1}));
  EXPECT_EQ(cache.mode, IoMode::kInput);
  EXPECT_EQ(cache.location, DeviceType::kCuda);
  EXPECT_FALSE(cache.shape_tensor);
  ASSERT_EQ(cache.profiles.size(), 2u);
  EXPECT_EQ(cache.profiles[0].min, (Dims{2, 1}));
  EXPECT_EQ(cache.profiles[1].opt, (Dims{2, 6}));
  EXPECT_EQ(cache.profiles[1].max, (Dims{2, 9}));

  const TensorInfo& n = engine->tensors()[1];
  EXPECT_TRUE(n.shape_tensor);
  EXPECT_EQ(n.location, DeviceType::kHost);
  EXPECT_EQ(n.profiles[0].opt, (Dims{2})) << "a fixed shape is its own range";

  const TensorInfo& out = engine->tensors()[2];
  EXPECT_EQ(out.mode, IoMode::kOutput);
  EXPECT_EQ(out.aliased_input, has_aliases() ? "cache" : "");
  EXPECT_FALSE(out.data_dependent);
}

TEST_P(AdapterTest, SaysWhatRunsIt) {
  const auto engine = Load(kTwoByFour);
  ASSERT_NE(engine, nullptr);
  const auto& v = GetParam().version;
  const std::string version = std::to_string(v.major) + "." + std::to_string(v.minor) + "." +
                              std::to_string(v.patch) + " (" + GetParam().file + ")";
  EXPECT_NE(engine->runtime_version().find(version), std::string_view::npos)
      << engine->runtime_version();
  EXPECT_TRUE(engine->layers_arrive_late());
}

TEST_P(AdapterTest, EnqueueReturnsWhileTheStreamIsBusy) {
  const auto engine = Load(kTwoByFour);
  ASSERT_NE(engine, nullptr);
  const auto context = MakeContext(*engine);
  DeviceBuffer x(*device_, 32), y(*device_, 32);
  std::iota(x.floats(), x.floats() + 8, 1.0F);
  std::fill_n(y.floats(), 8, -1.0F);
  ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
  ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
  EXPECT_EQ(*context->OutputShape(1), (Dims{2, 4}));

  const FakeCuda& cuda = FakeCuda::Get();
  cuda.reset_calls();
  cuda.block(0, stream().handle);
  const Status status = context->Enqueue(stream());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y.floats()[0], -1.0F);
  EXPECT_EQ(cuda.calls("cuStreamSynchronize"), 0);
  cuda.release(0, stream().handle);
  ASSERT_TRUE(device_->Synchronize(stream()).ok());
  for (int i = 0; i < 8; ++i) EXPECT_EQ(y.floats()[i], 2.0F * static_cast<float>(i + 1));
}

TEST_P(AdapterTest, FollowsShapesAndProfiles) {
  const auto engine = Load(kDynamic);
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->tensors()[1].data_dependent);
  const auto context = MakeContext(*engine);

  const Result<Dims> early = context->OutputShape(1);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(early.status(), "not yet specified: 'x'")) << early.status().message();

  ASSERT_TRUE(context->SetInputShape(0, {3, 4}).ok());
  EXPECT_EQ(*context->OutputShape(1), (Dims{3, 4}));

  const Status refused = context->SetInputShape(0, {16, 4});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Contains(refused, "shape [16, 4] for input 'x'")) << refused.message();
  EXPECT_TRUE(Contains(refused, "profile 0 does not allow")) << refused.message();

  ASSERT_TRUE(context->SetOptimizationProfile(1, stream()).ok());
  ASSERT_TRUE(context->SetInputShape(0, {16, 4}).ok());
  EXPECT_EQ(*context->OutputShape(1), (Dims{16, 4}));
  EXPECT_TRUE(
      Contains(context->SetOptimizationProfile(2, stream()), "optimization profile 2 of 2"));
}

TEST_P(AdapterTest, DataDependentOutputsComeThroughTheirAllocator) {
  for (const char* more : {"", R"(, "faults": {"threads": true})"}) {
    const auto engine = Load(NonZero(more));
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->tensors()[1].data_dependent);
    const auto context = MakeContext(*engine);
    Outputs outputs;
    ASSERT_TRUE(context->SetOutputAllocator(1, &outputs).ok());
    DeviceBuffer x(*device_, 32);
    const float values[8] = {0, 1, 0, 2, 0, 0, 3, 0};
    std::memcpy(x.data(), values, sizeof(values));
    ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
    EXPECT_TRUE((*context->OutputShape(1)).dynamic());
    const Status status = context->Enqueue(stream());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(outputs.allocated, 1);
    EXPECT_EQ(outputs.shaped, 1);
    EXPECT_EQ(outputs.shape, (Dims{3}));
    EXPECT_EQ(outputs.buffer->floats()[2], 6.0F);

    outputs.refuse = true;
    const Status refused = context->Enqueue(stream());
    EXPECT_EQ(refused.code(), StatusCode::kInternal);
    EXPECT_TRUE(Contains(refused, "gave no memory for y")) << refused.message();

    ASSERT_TRUE(context->SetOutputAllocator(1, nullptr).ok());
    EXPECT_TRUE(Contains(context->Enqueue(stream()), "has no allocator"));
    ASSERT_TRUE(device_->Synchronize(stream()).ok());
  }
}

TEST_P(AdapterTest, DataDependenceIsFoundBehindDynamicInputs) {
  const auto engine = Load(R"({"io": [
      {"name": "x", "mode": "input", "shape": [-1], "profiles": [[[1], [4], [8]]]},
      {"name": "n", "mode": "input", "dtype": "int64", "shape": [1], "shape_input": true},
      {"name": "twice", "mode": "output", "shape": [-1], "from": "x"},
      {"name": "some", "mode": "output", "shape": [-1], "from": "x", "data_dependent": true}]})");
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->tensors()[2].data_dependent);
  EXPECT_TRUE(engine->tensors()[3].data_dependent);
}

TEST_P(AdapterTest, ShapeTensorsAreReadOnTheHost) {
  const auto engine = Load(R"({"io": [
      {"name": "x", "mode": "input", "shape": [8]},
      {"name": "n", "mode": "input", "dtype": "int32", "shape": [2], "shape_input": true},
      {"name": "y", "mode": "output", "shape": [-1, -1], "from": "x", "shape_from": "n"}]})");
  ASSERT_NE(engine, nullptr);
  EXPECT_FALSE(engine->tensors()[2].data_dependent);
  const auto context = MakeContext(*engine);
  FakeCuda::Get().reset_calls();
  int32_t values[2] = {4, 2};
  ASSERT_TRUE(context->SetAddress(1, values).ok());
  EXPECT_EQ(*context->OutputShape(2), (Dims{4, 2}));
  values[0] = 2;
  EXPECT_EQ(*context->OutputShape(2), (Dims{2, 2}));
  EXPECT_EQ(FakeCuda::Get().calls("cuMemcpyDtoHAsync_v2"), 0);
  EXPECT_EQ(FakeCuda::Get().calls("cuStreamSynchronize"), 0);
}

TEST_P(AdapterTest, LayersArriveLateAndEnqueueingStaysAsynchronous) {
  for (const char* threads : {"false", "true"}) {
    const auto engine = Load(std::string(R"({"faults": {"threads": )") + threads + R"(},
        "layers": ["conv \"1\" \\ [é]\u0001", "same", "same", ""], "io": [
        {"name": "x", "mode": "input", "shape": [8]},
        {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
    ASSERT_NE(engine, nullptr);
    const auto context = MakeContext(*engine, {.layer_times = true});
    DeviceBuffer x(*device_, 32), y(*device_, 32);
    std::fill_n(x.floats(), 8, 1.0F);
    ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
    ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
    EXPECT_FALSE(context->DeliverLayers().ok()) << "nothing has run yet";

    Layers layers;
    ASSERT_TRUE(context->SetLayerSink(&layers).ok());
    FakeCuda::Get().block(0, stream().handle);
    ASSERT_TRUE(context->Enqueue(stream()).ok());
    EXPECT_TRUE(layers.names.empty());
    FakeCuda::Get().release(0, stream().handle);
    ASSERT_TRUE(device_->Synchronize(stream()).ok());
    ASSERT_TRUE(context->DeliverLayers().ok());
    EXPECT_EQ(layers.names,
              (std::vector<std::string>{"conv \"1\" \\ [é]\x01", "same", "same", ""}));
    EXPECT_EQ(layers.durations, (std::vector<int64_t>{1000, 2000, 3000, 4000}));
    EXPECT_EQ(layers.starts, (std::vector<int64_t>{-1, -1, -1, -1}));
    // Without a sink the records are dropped, and nothing is written to the old one.
    ASSERT_TRUE(context->SetLayerSink(nullptr).ok());
    ASSERT_TRUE(context->DeliverLayers().ok());
    EXPECT_EQ(layers.names.size(), 4u);
  }
}

TEST_P(AdapterTest, PlainContextsHaveNoProfiler) {
  const auto engine = Load(kTwoByFour);
  ASSERT_NE(engine, nullptr);
  const auto context = MakeContext(*engine);
  Layers layers;
  EXPECT_EQ(context->SetLayerSink(&layers).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(context->DeliverLayers().code(), StatusCode::kFailedPrecondition);
}

TEST_P(AdapterTest, AContextWhoseProfilerIsIgnoredIsRefused) {
  const auto engine = Load(R"({"faults": {"no_profiler": true}, "io": [
      {"name": "x", "mode": "input", "shape": [8]},
      {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->CreateContext({.layer_times = true}).status().code(), StatusCode::kUnsupported);
}

// A plan of 8.6 that does not share its profiles: another plain context is refused, and one that
// measures layers comes from a second copy of the engine.
TEST_P(AdapterTest, ASecondContextNeedsAProfileToShare) {
  std::string json = kDynamic;
  json.replace(json.find("true"), 4, "false");
  const auto engine = Load(json);
  ASSERT_NE(engine, nullptr);
  const auto first = MakeContext(*engine);
  const int64_t engines = fakes::StatsOf(GetParam()).engines;
  {
    const auto measuring = engine->CreateContext({.layer_times = true});
    EXPECT_TRUE(measuring.ok()) << measuring.status().message();
    EXPECT_EQ(fakes::StatsOf(GetParam()).engines, engines + (family8() ? 1 : 0));
  }
  EXPECT_TRUE(engine->CreateContext({.layer_times = true}).ok());
  EXPECT_EQ(fakes::StatsOf(GetParam()).engines, engines + (family8() ? 1 : 0)) << "one copy";
  const auto second = engine->CreateContext({});
  if (!family8()) {
    EXPECT_TRUE(second.ok()) << second.status().message();
    return;
  }
  EXPECT_EQ(second.status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(Contains(second.status(), "profiles serve one context at a time"));
  EXPECT_TRUE(Contains(second.status(), "has been chosen by another IExecutionContext"));
}

TEST_P(AdapterTest, WorkspaceOfTheCaller) {
  const auto engine = Load(R"({"workspace": 256, "shared_profiles": true, "io": [
      {"name": "x", "mode": "input", "shape": [8]},
      {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
  ASSERT_NE(engine, nullptr);
  DeviceBuffer x(*device_, 32), y(*device_, 32);
  const auto own = MakeContext(*engine);
  EXPECT_EQ(*own->WorkspaceSize(), 0u);
  EXPECT_EQ(own->SetWorkspace(x.data(), 32).code(), StatusCode::kFailedPrecondition);

  const auto context = MakeContext(*engine, {.user_managed_workspace = true});
  ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
  ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
  EXPECT_TRUE(Contains(context->Enqueue(stream()), "device memory is not set"));
  const Result<size_t> size = context->WorkspaceSize();
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(*size, family8() ? 256u : 8u * 256u) << "since 10.0 it follows the shapes";
  DeviceBuffer workspace(*device_, *size);
  ASSERT_TRUE(context->SetWorkspace(workspace.data(), *size).ok());
  ASSERT_TRUE(context->Enqueue(stream()).ok());
  ASSERT_TRUE(device_->Synchronize(stream()).ok());
  if (has_aliases()) {
    const Status status = context->SetWorkspace(static_cast<char*>(workspace.data()) + 8, 64);
    EXPECT_TRUE(Contains(status, "aligned to 256")) << status.message();
  }
}

TEST_P(AdapterTest, WeightStreaming) {
  const auto engine = Load(R"({"streamable": 1000, "io": [
      {"name": "x", "mode": "input", "shape": [8]},
      {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
  ASSERT_NE(engine, nullptr);
  const Status status = engine->SetWeightStreamingBudget(500);
  if (family8()) {
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_TRUE(Contains(status, "TensorRT 8.6 has no ICudaEngine::setWeightStreamingBudgetV2"))
        << status.message();
    return;
  }
  EXPECT_TRUE(status.ok()) << status.message();
  const Status too_much = engine->SetWeightStreamingBudget(1001);
  EXPECT_TRUE(Contains(too_much, "refused a budget of 1001 octets; 1000 octets"))
      << too_much.message();
  const auto context = MakeContext(*engine);
  EXPECT_TRUE(Contains(engine->SetWeightStreamingBudget(500), "while a context is alive"));
}

TEST_P(AdapterTest, InspectorSpeaksOneDialect) {
  const auto engine = Load(kTwoByFour);
  ASSERT_NE(engine, nullptr);
  const Result<std::string> json = engine->InspectorJson();
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_NE(json->find("\"Layers\""), json->npos);
  EXPECT_NE(json->find("\"Bindings\""), json->npos);
  EXPECT_EQ(json->find("I/O Tensors"), json->npos);
}

TEST_P(AdapterTest, AFailedEnqueueSaysWhatTensorRtSaid) {
  for (const char* threads : {"false", "true"}) {
    const auto engine = Load(std::string(R"({"faults": {"enqueue": 2, "threads": )") + threads +
                             R"(}, "io": [
        {"name": "x", "mode": "input", "shape": [8]},
        {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
    ASSERT_NE(engine, nullptr);
    const auto context = MakeContext(*engine);
    DeviceBuffer x(*device_, 32), y(*device_, 32);
    ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
    const Status unset = context->Enqueue(stream());
    EXPECT_TRUE(Contains(unset, "Address is not set for tensor y")) << unset.message();
    ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
    const Status status = context->Enqueue(stream());
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_TRUE(Contains(status, "could not enqueue; TensorRT said: ")) << status.message();
    EXPECT_TRUE(Contains(status, "the fake enqueue fails")) << status.message();
    EXPECT_FALSE(Contains(status, "Address is not set")) << "an old message is not repeated";
    EXPECT_TRUE(context->Enqueue(stream()).ok()) << "one failure does not stick";
    ASSERT_TRUE(device_->Synchronize(stream()).ok());
  }
}

TEST_P(AdapterTest, RefusesAHostStream) {
  const auto engine = Load(kTwoByFour);
  ASSERT_NE(engine, nullptr);
  const auto context = MakeContext(*engine);
  EXPECT_EQ(context->Enqueue({}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(context->SetOptimizationProfile(0, {}).code(), StatusCode::kInvalidArgument);
}

TEST_P(AdapterTest, WrongDimensionsAreNotBelieved) {
  const auto engine = Load(R"({"faults": {"wrong_dims": true}, "io": [
      {"name": "x", "mode": "input", "shape": [8]},
      {"name": "y", "mode": "output", "shape": [8], "from": "x"}]})");
  ASSERT_NE(engine, nullptr);
  const auto context = MakeContext(*engine);
  const Result<Dims> shape = context->OutputShape(1);
  ASSERT_FALSE(shape.ok());
  EXPECT_TRUE(Contains(shape.status(), "got [8, 1], expected 1 known dimensions"))
      << shape.status().message();
}

TEST_P(AdapterTest, FailuresWhileLoading) {
  struct Case {
    const char* faults;
    const char* expected;
  };
  for (const Case& c : {Case{R"({"deserialize": "weights are damaged"})", "weights are damaged"},
                        Case{R"({"deserialize": "x", "silent": true})", "logged no reason"},
                        Case{R"({"deserialize": "late news", "threads": true})", "late news"}}) {
    const auto engine = fakes::LoadFake(
        GetParam(), std::string(R"({"faults": )") + c.faults +
                        R"(, "io": [{"name": "x", "mode": "input", "shape": [8]}]})");
    ASSERT_FALSE(engine.ok());
    EXPECT_TRUE(Contains(engine.status(), c.expected)) << engine.status().message();
    EXPECT_TRUE(Contains(engine.status(), "engine 'fake': this plan was built by"))
        << engine.status().message();
  }
  const auto unknown = fakes::LoadFake(
      GetParam(), R"({"io": [{"name": "x", "mode": "input", "dtype": "unknown", "shape": [8]}]})");
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(Contains(unknown.status(), "data type number 99")) << unknown.status().message();
  // A plan whose contexts cannot be made loads, and says so when one is asked for.
  const auto engine = Load(R"({"faults": {"context": "no more memory"}, "io": [
      {"name": "x", "mode": "input", "shape": [8]}]})");
  ASSERT_NE(engine, nullptr);
  const auto context = engine->CreateContext({});
  EXPECT_TRUE(Contains(context.status(), "no more memory")) << context.status().message();
}

TEST_P(AdapterTest, TheEnginesDeviceIsUsedAndTheCallersKept) {
  CudaDevice* other = *device::cuda::GetCudaDevice(1);
  device::cuda::ScopedDevice current(*device_);
  auto engine = *fakes::LoadFake(GetParam(), kTwoByFour, /*device=*/1);
  auto context = MakeContext(*engine, {.layer_times = true});
  {
    DeviceBuffer x(*other, 32), y(*other, 32);
    std::fill_n(x.floats(), 8, 3.0F);
    EXPECT_EQ(FakeCuda::Get().device_of(x.data()), 1);
    ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
    ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
    // The default stream too is that of the engine's device.
    ASSERT_TRUE(context->Enqueue({DeviceType::kCuda, nullptr}).ok());
    ASSERT_TRUE(other->Synchronize({DeviceType::kCuda, nullptr}).ok());
    EXPECT_EQ(y.floats()[7], 6.0F);
    Layers layers;
    ASSERT_TRUE(context->SetLayerSink(&layers).ok());
    ASSERT_TRUE(context->DeliverLayers().ok());
    // A stream of another device is an error of the caller's, found by CUDA.
    EXPECT_FALSE(context->Enqueue(stream()).ok());
  }
  context.reset();
  engine.reset();
  EXPECT_EQ(FakeCuda::Get().current_device(), 0);
}

TEST_P(AdapterTest, EnginesRunIndependently) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const auto engine = Load(kTwoByFour);
      const auto context = MakeContext(*engine, {.layer_times = t % 2 == 1});
      const auto own = *OwnedStream::Create(*device_);
      DeviceBuffer x(*device_, 32), y(*device_, 32);
      Layers layers;
      ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
      ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
      if (t % 2 == 1) {
        ASSERT_TRUE(context->SetLayerSink(&layers).ok());
      }
      for (int i = 0; i < 100; ++i) {
        std::fill_n(x.floats(), 8, static_cast<float>(t * 1000 + i));
        ASSERT_TRUE(context->Enqueue(own->ref()).ok());
        ASSERT_TRUE(device_->Synchronize(own->ref()).ok());
        ASSERT_EQ(y.floats()[7], 2 * static_cast<float>(t * 1000 + i));
        if (t % 2 == 1) {
          ASSERT_TRUE(context->DeliverLayers().ok());
        }
      }
      EXPECT_EQ(layers.names.size(), t % 2 == 1 ? 100u : 0u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Families, AdapterTest, ::testing::ValuesIn(fakes::kFakeCases),
                         [](const auto& info) { return std::string(info.param.folder); });

TEST(Adapter, SeveralVersionsInOneProcess) {
  CudaDevice& device = **device::cuda::GetCudaDevice(0);
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<ExecutionContext>> contexts;
  {
    DeviceBuffer x(device, 32), y(device, 32);
    for (const FakeCase& fake : fakes::kFakeCases) {
      Result<std::unique_ptr<Engine>> engine = fakes::LoadFake(fake, kTwoByFour);
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      engines.push_back(*std::move(engine));
      contexts.push_back(MakeContext(*engines.back()));
    }
    const StreamRef stream{DeviceType::kCuda, nullptr};
    for (const auto& context : contexts) {
      std::fill_n(x.floats(), 8, 5.0F);
      std::fill_n(y.floats(), 8, 0.0F);
      ASSERT_TRUE(context->SetAddress(0, x.data()).ok());
      ASSERT_TRUE(context->SetAddress(1, y.data()).ok());
      ASSERT_TRUE(context->Enqueue(stream).ok());
      ASSERT_TRUE(device.Synchronize(stream).ok());
      EXPECT_EQ(y.floats()[0], 10.0F);
    }
  }
  contexts.clear();
}

TEST(Adapter, WantsACudaDevice) {
  LoadOptions options;
  const auto plan = fakes::MakeFakePlan({8, 6, 0, 12}, kTwoByFour);
  const Status host = LoadEngine(plan, options).status();
  EXPECT_EQ(host.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Contains(host, "runs on a CUDA device, but got device 'host'")) << host.message();
  options.device = {DeviceType::kCuda, 7};
  const Status none = LoadEngine(plan, options).status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Contains(none, "device 'cuda:7': CUDA has 2 devices here")) << none.message();
}

}  // namespace
}  // namespace trtscope::engine::tensorrt

int main(int argc, char** argv) {
  trtscope::fakes::UseFakeCuda(2);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
