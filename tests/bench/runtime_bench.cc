// What execute_engine adds: the null engine through torch's dispatcher, beside a trivial operator
// of the same signature that makes the same output, both called as an AOTInductor package calls
// them (boxed).  One run compares them on one machine; only ratios and differences travel.

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/zeros.h>
#include <benchmark/benchmark.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <string>
#include <vector>

#include "core/profiling/config.h"
#include "core/runtime/engine_state.h"
#include "core/runtime/torch_engine.h"
#include "core/runtime/torch_ranges.h"

namespace trtscope::runtime {
namespace {

using EnginePtr = c10::intrusive_ptr<TorchEngine>;

// Does what every operator of this signature must: one output like the first input.
std::vector<at::Tensor> Trivial(std::vector<at::Tensor> inputs, const EnginePtr&) {
  return {at::detail::empty_cpu(inputs[0].sizes(), inputs[0].scalar_type())};
}

// In main(), when the class that the schema names is surely registered.
void RegisterTrivial() {
  auto* m =
      new torch::Library(torch::Library::DEF, "trtscope_bench", std::nullopt, __FILE__, __LINE__);
  m->def("trivial(Tensor[] inputs, __torch__.torch.classes.tensorrt.Engine engine) -> Tensor[]");
  m->impl("trivial", c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(Trivial));
}

EnginePtr NullEngine(int layers) {
  const std::string plan =
      R"(null{"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 16]}],)"
      R"( "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 16], "like": 0}],)"
      R"( "layers": )" +
      std::to_string(layers) + "}";
  return c10::make_intrusive<TorchEngine>(
      StateFields{"10", "null", "0%0%0%0%host", plan, "x", "y", "0", "", CurrentPlatform(), "0",
                  "0", "0", ""},
      PlanEncoding::kRaw);
}

void CallLoop(benchmark::State& state, const char* op_name, int layers) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(op_name, "");
  const EnginePtr engine = NullEngine(layers);
  const at::Tensor input = at::zeros({8, 16});
  torch::jit::Stack stack;
  for (auto _ : state) {
    stack.clear();
    stack.emplace_back(std::vector<at::Tensor>{input});
    stack.emplace_back(engine);
    op.callBoxed(stack);
    benchmark::DoNotOptimize(stack);
  }
}

void BM_TrivialOperator(benchmark::State& state) { CallLoop(state, "trtscope_bench::trivial", 0); }
BENCHMARK(BM_TrivialOperator);

void BM_ExecuteEngine(benchmark::State& state, profiling::Level level, int layers) {
  const profiling::Config before = profiling::Snapshot();
  (void)profiling::SetLevel(level).ok();
  CallLoop(state, "tensorrt::execute_engine", layers);
  (void)profiling::SetLevel(before.level).ok();
}
BENCHMARK_CAPTURE(BM_ExecuteEngine, off, profiling::Level::kOff, 8);
BENCHMARK_CAPTURE(BM_ExecuteEngine, delegate, profiling::Level::kDelegate, 8);
BENCHMARK_CAPTURE(BM_ExecuteEngine, phases, profiling::Level::kPhases, 8);
BENCHMARK_CAPTURE(BM_ExecuteEngine, layers_8, profiling::Level::kLayers, 8);
BENCHMARK_CAPTURE(BM_ExecuteEngine, layers_50, profiling::Level::kLayers, 50);
BENCHMARK_CAPTURE(BM_ExecuteEngine, layers_400, profiling::Level::kLayers, 400);
BENCHMARK_CAPTURE(BM_ExecuteEngine, layers_2000, profiling::Level::kLayers, 2000);

// What the ranges of a call cost while nobody listens: those of execute_engine alone, and the loop
// without them.
void BM_LoopOnly(benchmark::State& state) {
  const std::string id = "bench-0123456789ab-0";
  for (auto _ : state) benchmark::DoNotOptimize(id.data());
}
BENCHMARK(BM_LoopOnly);

void BM_TorchRanges(benchmark::State& state) {
  const std::string id = "bench-0123456789ab-0";
  for (auto _ : state) {
    benchmark::DoNotOptimize(id.data());
    TorchRanges ranges(id);
    ranges.Enter(profiling::Phase::kInputBinding);
    ranges.Enter(profiling::Phase::kOutputBinding);
    ranges.Enter(profiling::Phase::kEnqueueHost);
    ranges.Leave();
  }
}
BENCHMARK(BM_TorchRanges);

}  // namespace
}  // namespace trtscope::runtime

int main(int argc, char** argv) {
  trtscope::runtime::RegisterTrivial();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
