#include "core/engine/null/null_engine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/device/host/host_stream.h"
#include "core/profiling/clock.h"

namespace trtscope::engine {
namespace {

constexpr device::StreamRef kNull;

Result<std::unique_ptr<Engine>> Load(const std::string& json,
                                     device::DeviceId device = device::DeviceId{}) {
  const std::string plan = "null" + json;
  LoadOptions options;
  options.name = "n";
  options.device = device;
  return LoadEngine(std::as_bytes(std::span(plan.data(), plan.size())), options);
}

std::unique_ptr<ExecutionContext> Context(Engine& engine) {
  Result<std::unique_ptr<ExecutionContext>> context = engine.CreateContext({});
  EXPECT_TRUE(context.ok());
  return *std::move(context);
}

struct Layer {
  std::string name;
  int64_t start, duration;
};
class Sink final : public profiling::LayerSink {
 public:
  void OnLayer(const char* name, int64_t start_ns, int64_t duration_ns) noexcept override {
    layers.push_back({name, start_ns, duration_ns});
  }
  std::vector<Layer> layers;
};

class Allocator final : public OutputAllocator {
 public:
  void* Allocate(int index, size_t bytes) noexcept override {
    indices.push_back(index);
    data.resize(bytes);
    return refuse ? nullptr : data.data();
  }
  void OnShape(int index, const Dims& s) noexcept override {
    indices.push_back(index);
    shape = s;
  }
  bool refuse = false;
  std::vector<char> data;
  std::vector<int> indices;
  Dims shape;
};

constexpr char kDynamic[] =
    R"({"inputs": [{"name": "x", "dtype": "float16", "shape": [-1, 8], "min": [1, 8],
        "max": [16, 8]}, {"name": "s", "shape": [3]}],
        "outputs": [{"name": "y", "dtype": "float16", "like": 0},
                    {"name": "z", "dtype": "int64", "shape": [2, 2]}], "layers": 2})";

TEST(NullEngine, DescribesItsTensors) {
  auto engine = Load(kDynamic);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  auto tensors = (*engine)->tensors();
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ((*engine)->input_count(), 2);
  EXPECT_EQ(tensors[0].name, "x");
  EXPECT_EQ(tensors[0].dtype, DataType::kFloat16);
  EXPECT_EQ(tensors[0].shape, (Dims{-1, 8}));
  ASSERT_EQ(tensors[0].profiles.size(), 1u);
  EXPECT_EQ(tensors[0].profiles[0].min, (Dims{1, 8}));
  EXPECT_EQ(tensors[0].profiles[0].max, (Dims{16, 8}));
  EXPECT_EQ(tensors[2].mode, IoMode::kOutput);
  EXPECT_EQ(tensors[2].shape, (Dims{-1, 8}));
  EXPECT_EQ(tensors[3].dtype, DataType::kInt64);
  EXPECT_EQ((*engine)->plan().kind, PlanKind::kNull);
}

TEST(NullEngine, SaysWhatWasNotSet) {
  auto engine = *Load(kDynamic);
  auto context = Context(*engine);
  char data[64];
  EXPECT_EQ(context->Enqueue(kNull).message(), "engine 'n', tensor 'x': its shape was not set");
  EXPECT_EQ(context->OutputShape(2).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(context->SetInputShape(0, {4, 8}).ok());
  EXPECT_EQ(*context->OutputShape(2), (Dims{4, 8}));
  EXPECT_EQ(*context->OutputShape(3), (Dims{2, 2}));
  for (int i = 0; i < 4; ++i) {
    Status status = context->Enqueue(kNull);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("'" + engine->tensors()[static_cast<size_t>(i)].name + "'"),
              std::string_view::npos);
    ASSERT_TRUE(context->SetAddress(i, data).ok());
    ASSERT_TRUE(context->SetAddress(i, data).ok());  // twice is once
  }
  EXPECT_TRUE(context->Enqueue(kNull).ok());
}

TEST(NullEngine, RefusesWrongIndicesAndValues) {
  auto engine = *Load(kDynamic);
  auto context = Context(*engine);
  char data[4];
  for (int index : {-1, 4, 1000}) {
    EXPECT_FALSE(context->SetAddress(index, data).ok());
    EXPECT_FALSE(context->SetInputShape(index, {1}).ok());
    EXPECT_FALSE(context->OutputShape(index).ok());
    EXPECT_FALSE(context->SetOutputAllocator(index, nullptr).ok());
  }
  EXPECT_FALSE(context->OutputShape(0).ok());  // an input
  EXPECT_FALSE(context->SetAddress(0, nullptr).ok());
  EXPECT_FALSE(context->SetInputShape(0, {-1, 8}).ok());
  EXPECT_FALSE(context->SetOptimizationProfile(1, kNull).ok());
  EXPECT_TRUE(context->SetOptimizationProfile(0, kNull).ok());
  EXPECT_EQ(engine->SetWeightStreamingBudget(1).code(), StatusCode::kUnsupported);
}

TEST(NullEngine, ReportsLayersToASink) {
  auto engine = *Load(R"({"layers": 3, "layer_ns": 500})");
  auto context = Context(*engine);
  Sink sink;
  ASSERT_TRUE(context->SetLayerSink(&sink).ok());
  const int64_t before = profiling::NowNs();
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  ASSERT_EQ(sink.layers.size(), 3u);
  EXPECT_EQ(sink.layers[2].name, "layer_2");
  EXPECT_EQ(sink.layers[1].start - sink.layers[0].start, 500);
  EXPECT_EQ(sink.layers[0].duration, 500);
  EXPECT_GE(sink.layers[2].start + 500, before);
  EXPECT_LE(sink.layers[2].start + 500, profiling::NowNs());
  ASSERT_TRUE(context->SetLayerSink(nullptr).ok());
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  EXPECT_EQ(sink.layers.size(), 3u);
}

TEST(NullEngine, FailsWhenItIsTold) {
  auto engine = *Load(R"({"enqueue_error": "out of luck"})");
  Status status = Context(*engine)->Enqueue(kNull);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "engine 'n': out of luck");
}

TEST(NullEngine, DelaysOnItsStream) {
  auto engine = *Load(R"({"delay_us": 20000, "layers": 1})");
  auto context = Context(*engine);
  Sink sink;
  ASSERT_TRUE(context->SetLayerSink(&sink).ok());
  const int64_t start = profiling::NowNs();
  {
    device::HostStream stream;
    ASSERT_TRUE(context->Enqueue(stream.ref()).ok());
    stream.Synchronize();
  }
  EXPECT_GE(profiling::NowNs() - start, 20'000'000);
  EXPECT_EQ(sink.layers.size(), 1u);
  const int64_t again = profiling::NowNs();
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  EXPECT_GE(profiling::NowNs() - again, 20'000'000);
}

TEST(NullEngine, GivesDataDependentShapes) {
  auto engine = *Load(
      R"({"outputs": [{"name": "z", "dtype": "int64", "shape": [-1], "data_dependent": [5]}]})");
  EXPECT_TRUE(engine->tensors()[0].data_dependent);
  auto context = Context(*engine);
  EXPECT_TRUE(context->OutputShape(0)->dynamic());
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kFailedPrecondition);
  Allocator allocator;
  ASSERT_TRUE(context->SetOutputAllocator(0, &allocator).ok());
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  EXPECT_EQ(allocator.data.size(), 40u);
  EXPECT_EQ(allocator.shape, (Dims{5}));
  EXPECT_EQ(allocator.indices, (std::vector<int>{0, 0}));
  allocator.refuse = true;
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kResourceExhausted);
}

TEST(NullEngine, RunsOnAnyDevice) {
  const device::DeviceId cuda{device::DeviceType::kCuda, 1};
  auto engine = Load(R"({"inputs": [{"name": "x", "shape": [1]}]})", cuda);
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ((*engine)->device(), cuda);
  EXPECT_EQ((*engine)->tensors()[0].location, device::DeviceType::kCuda);
  EXPECT_EQ(Load(R"({"delay_us": 1})", cuda).status().code(), StatusCode::kUnsupported);
}

TEST(NullEngine, InspectorIsInTensorRtsForm) {
  auto engine = *Load(kDynamic);
  const auto json = nlohmann::json::parse(*engine->InspectorJson());
  ASSERT_EQ(json["Layers"].size(), 2u);
  EXPECT_EQ(json["Layers"][1]["Name"], "layer_1");
  EXPECT_EQ(json["Bindings"], (nlohmann::json{"x", "s", "y", "z"}));
}

TEST(NullEngine, RefusesMalformedPlans) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{\"inputs\":", "not a JSON object"},
      {R"({"inputs": {}})", "not a list"},
      {R"({"inputs": [1]})", "input 0 is not an object"},
      {R"({"inputs": [{"shape": [1]}]})", "has no 'name'"},
      {R"({"inputs": [{"name": 3, "shape": [1]}]})", "has no 'name'"},
      {R"({"inputs": [{"name": "x"}]})", "input 0 'x' has no 'shape'"},
      {R"({"inputs": [{"name": "x", "shape": 1}]})", "a list of at most 8"},
      {R"({"inputs": [{"name": "x", "shape": [1,1,1,1,1,1,1,1,1]}]})", "a list of at most 8"},
      {R"({"inputs": [{"name": "x", "shape": [-2]}]})", "not an integer from -1"},
      {R"({"inputs": [{"name": "x", "shape": [1.5]}]})", "not an integer from -1"},
      {R"({"inputs": [{"name": "x", "shape": ["1"]}]})", "not an integer from -1"},
      {R"({"inputs": [{"name": "x", "shape": [18446744073709551615]}]})", "not an integer"},
      {R"({"inputs": [{"name": "x", "shape": [2147483647, 2147483647, 4]}]})", "too many elements"},
      {R"({"inputs": [{"name": "x", "shape": [-1], "min": [1, 2]}]})", "does not fit [-1]"},
      {R"({"inputs": [{"name": "x", "shape": [4], "max": [5]}]})", "does not fit [4]"},
      {R"({"inputs": [{"name": "x", "shape": [-1], "min": [3], "max": [2]}]})", "above its 'max'"},
      {R"({"inputs": [{"name": "x", "shape": [1], "dtype": "float"}]})", "'dtype' 'float'"},
      {R"({"inputs": [{"name": "x", "shape": [1], "dtype": 7}]})", "unknown 'dtype'"},
      {R"({"outputs": [{"name": "y"}]})", "neither 'shape' nor 'like'"},
      {R"({"outputs": [{"name": "y", "like": 0}]})", "'like' must be"},
      {R"({"outputs": [{"name": "y", "shape": [-1]}]})", "neither 'like' nor 'data_dependent'"},
      {R"({"outputs": [{"name": "y", "shape": [-1], "data_dependent": [-1]}]})", "from 0"},
      {R"({"layers": -1})", "'layers' must be"},
      {R"({"layers": 1e3})", "'layers' must be"},
      {R"({"layers": 100000000000})", "'layers' must be"},
      {R"({"layer_ns": "1"})", "'layer_ns' must be"},
      {R"({"delay_us": 18446744073709551615})", "'delay_us' must be"},
      {R"({"enqueue_error": 1})", "not a string"},
      {"{\"layers\": \"\xff\"}", "not a JSON object"},
  };
  for (const auto& [json, expected] : cases) {
    Result<std::unique_ptr<Engine>> engine = Load(json);
    ASSERT_FALSE(engine.ok()) << json;
    EXPECT_EQ(engine.status().code(), StatusCode::kDataLoss);
    EXPECT_NE(engine.status().message().find(expected), std::string_view::npos)
        << json << ": " << engine.status().message();
    EXPECT_EQ(engine.status().message().find("engine 'n': null plan: "), 0u);
  }
}

}  // namespace
}  // namespace trtscope::engine
