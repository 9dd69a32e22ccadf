// What the ExecuTorch delegate costs: execute() over the bare null engine, each level over off,
// with and without a tracer; and what ExecuTorch's own trace (ETDump) takes for one event.
//
//   tools/bazel run //tests/bench:delegate_bench
//
// The engine does nothing and has three layers, so differences are the delegate's.

#include <benchmark/benchmark.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/engine/engine.h"
#include "executorch_backend/testing.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

using executorch::etdump::ETDumpGen;
using testing::FloatTensor;
using testing::Loaded;
using testing::Options;

void Check(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), LastError());
  std::exit(1);
}

/// An ETDump that is begun anew before it grows large.
class Trace {
 public:
  explicit Trace(benchmark::State& state) : state_(state) { Renew(); }
  ETDumpGen* get() { return &dump_; }
  /// Once a call.
  void Tick() {
    if (++calls_ % 1024 != 0) return;
    state_.PauseTiming();
    Renew();
    state_.ResumeTiming();
  }

 private:
  void Renew() {
    dump_.reset();
    dump_.create_event_block("Execute");
  }
  benchmark::State& state_;
  ETDumpGen dump_;
  int64_t calls_ = 0;
};

void BareEngine(benchmark::State& state) {
  const std::string plan = testing::SimplePlan();
  auto engine = engine::LoadEngine(std::as_bytes(std::span(plan.data(), plan.size())), {});
  Check(engine.ok(), "null engine");
  auto context = *(*engine)->CreateContext({});
  FloatTensor x({2, 8}), y({16, 8});
  Check(context->SetInputShape(0, {2, 8}).ok() && context->SetAddress(0, x.values().data()).ok() &&
            context->SetAddress(1, y.values().data()).ok(),
        "bindings");
  for (auto _ : state) benchmark::DoNotOptimize(context->Enqueue({}).ok());
}
BENCHMARK(BareEngine);

void Execute(benchmark::State& state, const char* level, bool traced) {
  Loaded loaded(testing::SimplePlan(), Options().Set(kLevelKey, level));
  Check(loaded.error == et::Error::Ok, "delegate");
  FloatTensor x({2, 8}), y({16, 8});
  et::EValue* args[] = {x.value(), y.value()};
  Trace trace(state);
  et::BackendExecutionContext context(traced ? trace.get() : nullptr);
  const auto call = [&] { return TheBackend().execute(context, loaded.handle, {args, 2}); };
  Check(call() == et::Error::Ok, "execute");
  for (auto _ : state) {
    benchmark::DoNotOptimize(call());
    if (traced) trace.Tick();
  }
}
BENCHMARK_CAPTURE(Execute, off, "off", false);
BENCHMARK_CAPTURE(Execute, off_traced, "off", true);
BENCHMARK_CAPTURE(Execute, delegate, "delegate", false);
BENCHMARK_CAPTURE(Execute, delegate_traced, "delegate", true);
BENCHMARK_CAPTURE(Execute, phases, "phases", false);
BENCHMARK_CAPTURE(Execute, phases_traced, "phases", true);
BENCHMARK_CAPTURE(Execute, layers, "layers", false);
BENCHMARK_CAPTURE(Execute, layers_traced, "layers", true);

// One event as the delegate logs it; the metadata that it carries, or none.
void EtdumpEvent(benchmark::State& state, const std::string& metadata) {
  Trace trace(state);
  constexpr auto kByName = static_cast<et::DebugHandle>(et::kUnsetDelegateDebugIntId);
  const et_timestamp_t now = et::pal_current_ticks();
  for (auto _ : state) {
    et::event_tracer_log_profiling_delegate(
        trace.get(), "torchtrt.enqueue_host", kByName, now, now + 1000,
        metadata.empty() ? nullptr : metadata.data(), metadata.size());
    trace.Tick();
  }
}
BENCHMARK_CAPTURE(EtdumpEvent, bare, "");
BENCHMARK_CAPTURE(EtdumpEvent, with_metadata,
                  R"({"clock":"host","engine":"forward-0123456789abcdef-0","call":12345})");

}  // namespace
}  // namespace trtscope::executorch_backend

int main(int argc, char** argv) {
  ::executorch::runtime::runtime_init();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
