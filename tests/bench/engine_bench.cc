// What an engine's interface costs over what it stands for: the null engine's context over nothing
// at all, and the host engine over ExecuTorch's own Module on the same program.
//
//   tools/bazel run -c opt //tests/bench:engine_bench
//
// The program is a two-layer perceptron of 8, 32 and 4 values, batch 4, which computes next to
// nothing: the differences are the interface.

#include <benchmark/benchmark.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/device/host/host_stream.h"
#include "core/engine/engine.h"

namespace trtscope::engine {
namespace {

constexpr int kBatch = 4;

std::string ReadProgram(const std::string& name) {
  const char* folder = std::getenv("TRTSCOPE_TEST_PROGRAMS");
  const std::string path = (folder != nullptr ? std::string(folder) : ".") + "/" + name + ".pte";
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) {
    std::fprintf(stderr, "%s is not there: set TRTSCOPE_TEST_PROGRAMS\n", path.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<Engine> Load(const std::string& bytes) {
  LoadOptions options;
  options.name = "bench";
  auto engine = LoadEngine(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", std::string(engine.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(engine);
}

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

class CountingSink final : public profiling::LayerSink {
 public:
  void OnLayer(const char*, int64_t, int64_t) noexcept override { ++count; }
  int64_t count = 0;
};

void BM_NullContext(benchmark::State& state) {
  auto engine = Load(
      R"(null{"inputs": [{"name": "x", "shape": [4, 8]}], "outputs": [{"name": "y", "like": 0}]})");
  auto context = *engine->CreateContext({});
  float x[4 * 8], y[4 * 8];
  Check(context->SetAddress(0, x));
  Check(context->SetAddress(1, y));
  for (auto _ : state) Check(context->Enqueue({}));
}
BENCHMARK(BM_NullContext);

// state.range(0): layers.  Items are layers, so items a second give the time of one.
void BM_NullContextLayers(benchmark::State& state) {
  auto engine = Load("null{\"layers\": " + std::to_string(state.range(0)) + "}");
  auto context = *engine->CreateContext({});
  CountingSink sink;
  Check(context->SetLayerSink(&sink));
  for (auto _ : state) Check(context->Enqueue({}));
  state.SetItemsProcessed(sink.count);
}
BENCHMARK(BM_NullContextLayers)->Arg(2000);

struct HostCall {
  HostCall(const std::string& program, bool layer_times)
      : engine(Load(ReadProgram(program))), x(kBatch * 8, 0.5f), y(kBatch * 4) {
    ContextOptions options;
    options.layer_times = layer_times;
    auto created = engine->CreateContext(options);
    Check(created.status());
    context = *std::move(created);
    Check(context->SetInputShape(0, {kBatch, 8}));
    Check(context->SetAddress(0, x.data()));
    Check(context->SetAddress(1, y.data()));
  }
  std::unique_ptr<Engine> engine;
  std::vector<float> x, y;
  std::unique_ptr<ExecutionContext> context;
};

// Layer times are possible but nobody listens: what every call costs when profiling is off.
void HostOff(benchmark::State& state, const char* program) {
  HostCall call(program, true);
  for (auto _ : state) Check(call.context->Enqueue({}));
}
void HostWithoutTracer(benchmark::State& state, const char* program) {
  HostCall call(program, false);
  for (auto _ : state) Check(call.context->Enqueue({}));
}
void HostLayers(benchmark::State& state, const char* program) {
  HostCall call(program, true);
  CountingSink sink;
  Check(call.context->SetLayerSink(&sink));
  for (auto _ : state) Check(call.context->Enqueue({}));
  state.counters["layers"] =
      static_cast<double>(sink.count) / static_cast<double>(state.iterations());
}
void HostStream(benchmark::State& state, const char* program) {
  HostCall call(program, true);
  device::HostStream stream;
  for (auto _ : state) {
    Check(call.context->Enqueue(stream.ref()));
    stream.Synchronize();
  }
}

// ExecuTorch's own way: its Module, which owns its memory plan, with the output set once and the
// input handed over in each call.
void BareModule(benchmark::State& state, const char* program) {
  namespace et = executorch::extension;
  const std::string bytes = ReadProgram(program);
  et::module::Module module(std::make_unique<et::BufferDataLoader>(bytes.data(), bytes.size()));
  std::vector<float> x(kBatch * 8, 0.5f), y(16 * 4);  // its check wants the largest batch's room
  auto input = et::from_blob(x.data(), {kBatch, 8});
  auto output = et::from_blob(y.data(), {16, 4});
  if (module.load_method("forward") != executorch::runtime::Error::Ok ||
      module.set_output(executorch::runtime::EValue(output)) != executorch::runtime::Error::Ok) {
    std::fprintf(stderr, "the Module does not take %s\n", program);
    std::exit(1);
  }
  for (auto _ : state) {
    auto result = module.execute("forward", executorch::runtime::EValue(input));
    if (!result.ok()) {
      state.SkipWithError("execute failed");
      break;
    }
  }
}

BENCHMARK_CAPTURE(BareModule, portable, "mlp");
BENCHMARK_CAPTURE(HostWithoutTracer, portable, "mlp");
BENCHMARK_CAPTURE(HostOff, portable, "mlp");
BENCHMARK_CAPTURE(HostLayers, portable, "mlp");
BENCHMARK_CAPTURE(HostStream, portable, "mlp");
BENCHMARK_CAPTURE(BareModule, xnnpack, "mlp_xnnpack");
BENCHMARK_CAPTURE(HostWithoutTracer, xnnpack, "mlp_xnnpack");
BENCHMARK_CAPTURE(HostOff, xnnpack, "mlp_xnnpack");
BENCHMARK_CAPTURE(HostLayers, xnnpack, "mlp_xnnpack");

}  // namespace
}  // namespace trtscope::engine

BENCHMARK_MAIN();
