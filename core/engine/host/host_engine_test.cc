// Programs made by testdata/make_programs.py, run through the loader and the plugin, against what
// PyTorch computed.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/device/host/host_stream.h"
#include "core/engine/engine.h"
#include "core/profiling/clock.h"

namespace trtscope::engine {
namespace {

using Json = nlohmann::json;

constexpr device::StreamRef kNull;

std::string Folder() {
  const char* folder = std::getenv("TRTSCOPE_TEST_PROGRAMS");
  return folder != nullptr ? folder : ".";
}

std::string ReadFile(const std::string& name) {
  std::ifstream file(Folder() + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << Folder() << "/" << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

const Json& Cases(const std::string& name) {
  static const Json* cases = new Json(Json::parse(ReadFile("cases.json")));
  return (*cases)[name];
}

Result<std::unique_ptr<Engine>> LoadBytes(const std::string& bytes, const std::string& name = "e") {
  LoadOptions options;
  options.name = name;
  return LoadEngine(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

std::unique_ptr<Engine> Load(const std::string& name) {
  Result<std::unique_ptr<Engine>> engine = LoadBytes(ReadFile(name + ".pte"), name);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return engine.ok() ? *std::move(engine) : nullptr;
}

std::unique_ptr<ExecutionContext> Context(Engine& engine, bool layer_times = false) {
  ContextOptions options;
  options.layer_times = layer_times;
  Result<std::unique_ptr<ExecutionContext>> context = engine.CreateContext(options);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return context.ok() ? *std::move(context) : nullptr;
}

// Exactly as long as the tensor, so that ASan sees every octet written past it.
using Memory = std::unique_ptr<char[]>;
struct Tensor {
  DataType dtype;
  Dims shape;
  size_t bytes = 0;
  Memory data;
};

Tensor Make(DataType dtype, const Dims& shape) {
  const size_t bytes = ByteSize(shape, dtype);
  Tensor tensor{dtype, shape, bytes, std::make_unique<char[]>(std::max<size_t>(bytes, 1))};
  std::memset(tensor.data.get(), 0x5a, bytes);  // nothing that a kernel would write by chance
  return tensor;
}

Dims ShapeOf(const Json& json) {
  Dims dims;
  for (int64_t size : json["shape"]) dims[dims.rank++] = size;
  return dims;
}

template <typename T>
void Fill(const Json& data, char* to) {
  for (size_t i = 0; i < data.size(); ++i) {
    const T value = static_cast<T>(data[i].get<double>());
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

Tensor FromJson(const Json& json) {
  Tensor tensor = Make(*DataTypeFromName(json["dtype"].get<std::string>()), ShapeOf(json));
  switch (tensor.dtype) {
    case DataType::kFloat32:
      Fill<float>(json["data"], tensor.data.get());
      break;
    case DataType::kInt64:
      Fill<int64_t>(json["data"], tensor.data.get());
      break;
    case DataType::kBool:
      Fill<uint8_t>(json["data"], tensor.data.get());
      break;
    default:
      ADD_FAILURE() << "no such type in these tests";
  }
  return tensor;
}

void ExpectNear(const Tensor& got, const Json& expected, const std::string& label) {
  ASSERT_EQ(Name(got.dtype), expected["dtype"].get<std::string>()) << label;
  ASSERT_EQ(got.shape, ShapeOf(expected)) << label << ToString(got.shape);
  for (size_t i = 0; i < expected["data"].size(); ++i) {
    const double want = expected["data"][i];
    if (got.dtype == DataType::kFloat32) {
      float value;
      std::memcpy(&value, got.data.get() + i * sizeof(value), sizeof(value));
      ASSERT_NEAR(value, want, 1e-5 + 1e-5 * std::abs(want)) << label << " at " << i;
    } else {
      int64_t value;
      std::memcpy(&value, got.data.get() + i * sizeof(value), sizeof(value));
      ASSERT_EQ(value, static_cast<int64_t>(want)) << label << " at " << i;
    }
  }
}

class Allocator final : public OutputAllocator {
 public:
  explicit Allocator(DataType dtype) : tensor(Make(dtype, Dims{0})) {}
  void* Allocate(int, size_t bytes) noexcept override {
    if (refuse) return nullptr;
    tensor.bytes = bytes;
    tensor.data = std::make_unique<char[]>(std::max<size_t>(bytes, 1));
    return tensor.data.get();
  }
  void OnShape(int, const Dims& shape) noexcept override { tensor.shape = shape; }
  bool refuse = false;
  Tensor tensor;
};

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

// Runs all calls of a program on one context and compares.
void RunCases(const std::string& name, device::StreamRef stream, device::HostStream* wait_for,
              bool layer_times = false) {
  std::unique_ptr<Engine> engine = Load(name);
  ASSERT_NE(engine, nullptr);
  std::unique_ptr<ExecutionContext> context = Context(*engine, layer_times);
  ASSERT_NE(context, nullptr);
  const auto inputs = static_cast<size_t>(engine->input_count());
  int call_number = 0;
  for (const Json& call : Cases(name)) {
    const std::string label = name + ", call " + std::to_string(call_number++);
    ASSERT_EQ(call["inputs"].size(), inputs);
    std::vector<Tensor> tensors;
    std::vector<std::unique_ptr<Allocator>> allocators(engine->tensors().size());
    Sink sink;
    ASSERT_TRUE(context->SetLayerSink(layer_times ? &sink : nullptr).ok());
    for (size_t i = 0; i < inputs; ++i) {
      tensors.push_back(FromJson(call["inputs"][i]));
      Status status = context->SetInputShape(static_cast<int>(i), tensors[i].shape);
      ASSERT_TRUE(status.ok()) << label << ": " << status.message();
    }
    for (size_t i = inputs; i < engine->tensors().size(); ++i) {
      const TensorInfo& info = engine->tensors()[i];
      Result<Dims> shape = context->OutputShape(static_cast<int>(i));
      ASSERT_TRUE(shape.ok()) << label << ": " << shape.status().message();
      EXPECT_EQ(shape->dynamic(), info.data_dependent);
      tensors.push_back(Make(info.dtype, info.data_dependent ? Dims{0} : *shape));
      if (info.data_dependent) {
        allocators[i] = std::make_unique<Allocator>(info.dtype);
        ASSERT_TRUE(context->SetOutputAllocator(static_cast<int>(i), allocators[i].get()).ok());
      }
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (allocators[i] != nullptr) continue;
      ASSERT_TRUE(context->SetAddress(static_cast<int>(i), tensors[i].data.get()).ok());
    }
    Status status = context->Enqueue(stream);
    ASSERT_TRUE(status.ok()) << label << ": " << status.message();
    if (wait_for != nullptr) wait_for->Synchronize();
    for (size_t i = inputs; i < tensors.size(); ++i) {
      ExpectNear(allocators[i] != nullptr ? allocators[i]->tensor : tensors[i],
                 call["outputs"][i - inputs], label + ", output " + engine->tensors()[i].name);
    }
    EXPECT_EQ(sink.layers.empty(), !layer_times) << label;
  }
}

class EveryProgram : public testing::TestWithParam<const char*> {};

TEST_P(EveryProgram, MatchesEagerOnTheCallingThread) { RunCases(GetParam(), kNull, nullptr); }

TEST_P(EveryProgram, MatchesEagerOnAStream) {
  device::HostStream stream;
  RunCases(GetParam(), stream.ref(), &stream);
}

TEST_P(EveryProgram, MatchesEagerWithLayerTimes) { RunCases(GetParam(), kNull, nullptr, true); }

INSTANTIATE_TEST_SUITE_P(Host, EveryProgram,
                         testing::Values("mlp", "mlp_checked", "mlp_planned", "mlp_xnnpack",
                                         "mlp_no_bindings", "mlp_untold", "mix", "ties",
                                         "ties_planned", "nonzero", "counter", "scalar"),
                         [](const auto& info) { return std::string(info.param); });

TEST(HostEngine, DescribesItself) {
  auto engine = Load("mlp");
  EXPECT_EQ(engine->plan().kind, PlanKind::kHost);
  EXPECT_EQ(engine->runtime_version(), "ExecuTorch 1.5.1");
  EXPECT_EQ(engine->device(), device::DeviceId{});
  EXPECT_FALSE(engine->layers_arrive_late());
  ASSERT_EQ(engine->tensors().size(), 2u);
  const TensorInfo& x = engine->tensors()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.shape, (Dims{-1, 8}));
  ASSERT_EQ(x.profiles.size(), 1u);
  EXPECT_EQ(x.profiles[0].min, (Dims{1, 8}));
  EXPECT_EQ(x.profiles[0].opt, (Dims{4, 8}));
  EXPECT_EQ(x.profiles[0].max, (Dims{16, 8}));
  EXPECT_EQ(engine->tensors()[1].name, "y");
  EXPECT_EQ(engine->SetWeightStreamingBudget(0).code(), StatusCode::kUnsupported);

  auto plain = Load("mlp_no_bindings");
  EXPECT_EQ(plain->tensors()[0].name, "input_0");
  EXPECT_EQ(plain->tensors()[0].shape, (Dims{16, 8}));
  EXPECT_EQ(plain->tensors()[1].name, "output_0");
  EXPECT_TRUE(plain->tensors()[1].data_dependent);
}

TEST(HostEngine, InspectorAndLayersAgree) {
  auto engine = Load("mix");
  const Json json = Json::parse(*engine->InspectorJson());
  EXPECT_EQ(json["Bindings"], (Json{"x", "mask", "twice", "flat", "sum", "best"}));
  auto context = Context(*engine, true);
  std::vector<Tensor> tensors;
  ASSERT_TRUE(context->SetInputShape(0, {2, 5, 16}).ok());
  ASSERT_TRUE(context->SetInputShape(1, {2, 5}).ok());
  for (int i = 0; i < 6; ++i) {
    const Json& call = Cases("mix")[0];
    tensors.push_back(
        i < 2 ? FromJson(call["inputs"][static_cast<size_t>(i)])
              : Make(engine->tensors()[static_cast<size_t>(i)].dtype, *context->OutputShape(i)));
    ASSERT_TRUE(context->SetAddress(i, tensors.back().data.get()).ok());
  }
  Sink sink;
  ASSERT_TRUE(context->SetLayerSink(&sink).ok());
  const int64_t before = profiling::NowNs();
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  const int64_t after = profiling::NowNs();

  ASSERT_EQ(sink.layers.size(), json["Layers"].size());
  int64_t last = before;
  for (size_t i = 0; i < sink.layers.size(); ++i) {
    EXPECT_EQ(sink.layers[i].name, json["Layers"][i]["Name"]);
    EXPECT_GE(sink.layers[i].start, last);
    EXPECT_GE(sink.layers[i].duration, 0);
    last = sink.layers[i].start + sink.layers[i].duration;
  }
  EXPECT_LE(last, after);
  bool softmax = false;
  for (const Json& layer : json["Layers"]) {
    softmax |= layer["LayerType"] == "aten::_softmax.out" && layer["Inputs"].size() == 1 &&
               layer["Outputs"].size() == 1;
  }
  EXPECT_TRUE(softmax) << json.dump();

  // Off again: the same context reports nothing.
  ASSERT_TRUE(context->SetLayerSink(nullptr).ok());
  const size_t count = sink.layers.size();
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  EXPECT_EQ(sink.layers.size(), count);
}

TEST(HostEngine, DelegatesReportTheirOwnOperators) {
  auto engine = Load("mlp_xnnpack");
  auto context = Context(*engine, true);
  Tensor x = Make(DataType::kFloat32, {16, 8}), y = Make(DataType::kFloat32, {16, 4});
  ASSERT_TRUE(context->SetInputShape(0, x.shape).ok());
  ASSERT_TRUE(context->SetAddress(0, x.data.get()).ok());
  ASSERT_TRUE(context->SetAddress(1, y.data.get()).ok());
  Sink sink;
  ASSERT_TRUE(context->SetLayerSink(&sink).ok());
  const int64_t before = profiling::NowNs();
  ASSERT_TRUE(context->Enqueue(kNull).ok());
  const int64_t after = profiling::NowNs();
  ASSERT_GE(sink.layers.size(), 2u);
  EXPECT_EQ(sink.layers.back().name, "XnnpackBackend #0");
  int64_t sum = 0;
  for (const Layer& layer : sink.layers) {
    EXPECT_GE(layer.start, before - 1000) << layer.name;  // XNNPACK counts in microseconds
    EXPECT_LE(layer.start + layer.duration, after + 1000) << layer.name;
    sum += layer.duration;
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, after - before);
}

TEST(HostEngine, LayersNeedAContextMadeForThem) {
  auto engine = Load("mlp");
  auto context = Context(*engine, false);
  Sink sink;
  EXPECT_EQ(context->SetLayerSink(&sink).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(context->SetLayerSink(nullptr).ok());
}

TEST(HostEngine, RefusesWhatDoesNotFit) {
  auto engine = Load("mlp");
  auto context = Context(*engine);
  for (const Dims& bad : {Dims{0, 8}, Dims{17, 8}, Dims{4, 9}, Dims{4}, Dims{4, 8, 1}, Dims{-1, 8},
                          Dims{4, -8}, Dims{int64_t{1} << 40, 8}}) {
    Status status = context->SetInputShape(0, bad);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << ToString(bad);
    EXPECT_NE(status.message().find("engine 'mlp', tensor 'x': expected the shape [-1, 8] from "
                                    "[1, 8] to [16, 8], got " +
                                    ToString(bad)),
              std::string_view::npos)
        << status.message();
  }
  char data[1024];
  for (int index : {-1, 2, 99}) {
    EXPECT_FALSE(context->SetInputShape(index, {4, 8}).ok());
    EXPECT_FALSE(context->SetAddress(index, data).ok());
    EXPECT_FALSE(context->OutputShape(index).ok());
    EXPECT_FALSE(context->SetOutputAllocator(index, nullptr).ok());
  }
  EXPECT_FALSE(context->SetInputShape(1, {4, 4}).ok());  // an output
  EXPECT_FALSE(context->OutputShape(0).ok());            // an input
  EXPECT_FALSE(context->SetAddress(0, nullptr).ok());
  EXPECT_FALSE(context->SetOptimizationProfile(1, kNull).ok());

  EXPECT_EQ(context->Enqueue(kNull).message(), "engine 'mlp', tensor 'x': its shape was not set");
  EXPECT_EQ(context->OutputShape(1).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(context->SetInputShape(0, {4, 8}).ok());
  EXPECT_EQ(context->Enqueue(kNull).message(), "engine 'mlp', tensor 'x': its address was not set");
  ASSERT_TRUE(context->SetAddress(0, data).ok());
  EXPECT_EQ(context->Enqueue(kNull).message(), "engine 'mlp', tensor 'y': its address was not set");
  ASSERT_TRUE(context->SetAddress(1, data).ok());
  EXPECT_EQ(context->Enqueue({device::DeviceType::kCuda, nullptr}).code(),
            StatusCode::kInvalidArgument);
}

TEST(HostEngine, RefusesAnotherDevice) {
  const std::string bytes = ReadFile("mlp.pte");
  LoadOptions options;
  options.name = "x";
  options.device = {device::DeviceType::kCuda, 0};
  Status status =
      LoadEngine(std::as_bytes(std::span(bytes.data(), bytes.size())), options).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("cuda:0"), std::string_view::npos);
}

// The program writes more than its bindings promised: an error, and no octet past the output.
TEST(HostEngine, OutputsNeverOutgrowTheirMemory) {
  auto engine = Load("mlp_wrong_bindings");
  auto context = Context(*engine);
  Tensor x = Make(DataType::kFloat32, {4, 8}), y = Make(DataType::kFloat32, {2, 4});
  ASSERT_TRUE(context->SetInputShape(0, {4, 8}).ok());
  EXPECT_EQ(*context->OutputShape(1), (Dims{2, 4}));
  ASSERT_TRUE(context->SetAddress(0, x.data.get()).ok());
  ASSERT_TRUE(context->SetAddress(1, y.data.get()).ok());
  Status status = context->Enqueue(kNull);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("Error::"), std::string_view::npos) << status.message();

  // On a stream it comes with the next enqueue, once.
  device::HostStream stream;
  ASSERT_TRUE(context->Enqueue(stream.ref()).ok());
  stream.Synchronize();
  EXPECT_EQ(context->Enqueue(stream.ref()).code(), StatusCode::kInternal);
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kInternal);
}

TEST(HostEngine, DataDependentOutputsNeedAnAllocator) {
  auto engine = Load("nonzero");
  EXPECT_TRUE(engine->tensors()[1].data_dependent);
  auto context = Context(*engine);
  Tensor x = FromJson(Cases("nonzero")[0]["inputs"][0]), y = Make(DataType::kFloat32, {4, 8});
  ASSERT_TRUE(context->SetAddress(0, x.data.get()).ok());
  ASSERT_TRUE(context->SetAddress(2, y.data.get()).ok());
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kFailedPrecondition);
  Allocator allocator(DataType::kInt64);
  ASSERT_TRUE(context->SetOutputAllocator(1, &allocator).ok());
  allocator.refuse = true;
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kResourceExhausted);
  allocator.refuse = false;
  EXPECT_TRUE(context->Enqueue(kNull).ok());
  ASSERT_TRUE(context->SetOutputAllocator(1, nullptr).ok());
  EXPECT_EQ(context->Enqueue(kNull).code(), StatusCode::kFailedPrecondition);
}

// What is set between an enqueue and its run belongs to the next one.
TEST(HostEngine, AStreamSeesTheValuesOfItsEnqueue) {
  auto engine = Load("mlp");
  auto context = Context(*engine);
  std::promise<void> gate;
  device::HostStream stream;
  stream.Enqueue([&] { gate.get_future().wait(); });
  std::vector<Tensor> xs, ys;
  for (const Json& call : Cases("mlp")) {
    xs.push_back(FromJson(call["inputs"][0]));
    ASSERT_TRUE(context->SetInputShape(0, xs.back().shape).ok());
    ys.push_back(Make(DataType::kFloat32, *context->OutputShape(1)));
    ASSERT_TRUE(context->SetAddress(0, xs.back().data.get()).ok());
    ASSERT_TRUE(context->SetAddress(1, ys.back().data.get()).ok());
    ASSERT_TRUE(context->Enqueue(stream.ref()).ok());
  }
  gate.set_value();
  context.reset();  // waits for what is still to run
  for (size_t i = 0; i < ys.size(); ++i) {
    ExpectNear(ys[i], Cases("mlp")[i]["outputs"][0], "call " + std::to_string(i));
  }
}

TEST(HostEngine, ContextsRunConcurrently) {
  auto engine = Load("mix");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      auto context = Context(*engine);
      for (int round = 0; round < 50; ++round) {
        const Json& call = Cases("mix")[static_cast<size_t>(round) % Cases("mix").size()];
        std::vector<Tensor> tensors;
        for (int i = 0; i < 6; ++i) {
          if (i < 2) {
            tensors.push_back(FromJson(call["inputs"][static_cast<size_t>(i)]));
            ASSERT_TRUE(context->SetInputShape(i, tensors.back().shape).ok());
          }
        }
        for (int i = 2; i < 6; ++i) {
          tensors.push_back(
              Make(engine->tensors()[static_cast<size_t>(i)].dtype, *context->OutputShape(i)));
        }
        for (int i = 0; i < 6; ++i) {
          ASSERT_TRUE(context->SetAddress(i, tensors[static_cast<size_t>(i)].data.get()).ok());
        }
        ASSERT_TRUE(context->Enqueue(kNull).ok());
        for (size_t i = 2; i < 6; ++i) ExpectNear(tensors[i], call["outputs"][i - 2], "mix");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(HostEngine, RefusesWhatIsNoProgram) {
  Status status = LoadBytes("1234ET12 and nothing that a program has", "x").status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message().find("engine 'x': "), 0u) << status.message();
  EXPECT_FALSE(LoadBytes("1234ET11" + std::string(1000, '\0')).ok());
}

TEST(HostEngine, EveryTruncationIsAnError) {
  for (const char* name : {"scalar", "counter"}) {
    const std::string bytes = ReadFile(std::string(name) + ".pte");
    for (size_t size = 0; size < bytes.size(); ++size) {
      Status status = LoadBytes(bytes.substr(0, size)).status();
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << name << " cut to " << size;
    }
  }
}

// With its checksum a plan is safe from any damage: every octet is changed, and each time the plan
// is refused, or, where only the checksum's own mark was hit, runs as before.
TEST(HostEngine, DamageIsAnError) {
  const std::string bytes = ReadFile("mlp_checked.pte");
  const std::string program = bytes.substr(0, bytes.size() - 16);
  ASSERT_EQ(bytes.substr(program.size(), 4), "TSCK");
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
    Result<std::unique_ptr<Engine>> engine = LoadBytes(damaged);
    EXPECT_EQ(engine.ok(),
              at >= program.size() && (at < program.size() + 4 || at >= program.size() + 8))
        << at;
  }
}

}  // namespace
}  // namespace trtscope::engine
