// What profiling costs on an engine's path.  Each benchmark has a partner without the part it
// measures, so that figures are differences within one run:
//
//   LoopOnly            -> CallOff        what an engine call pays when profiling is off
//   LoopOnly            -> AskForTool     what of that asks whether a tool listens through NVTX
//   CallDelegate, CallPhases              with it on, drained by the background writer
//   LayerCallback/n                       the time of one callback among n layers
//   CallLayers/n                          a whole call with n layers, commit included, per layer
//   SpanPush                              one record into the ring

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/profiling/config.h"
#include "core/profiling/engine_profile.h"
#include "core/profiling/nvtx.h"
#include "core/profiling/report.h"
#include "core/profiling/ring.h"

namespace trtscope::profiling {
namespace {

/// Traces go to a folder that is removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "profiling_benchXXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    if (!SetPathPrefix(path_).ok()) std::abort();
  }
  ~Folder() {
    if (!SetLevel(Level::kOff).ok()) std::abort();
    std::filesystem::remove_all(path_);
  }

 private:
  std::string path_;
};

std::shared_ptr<EngineProfile> Engine() {
  return EngineProfile::Register({"bench", 1, "null", ""});
}

void FivePhases(CallRecorder& recorder) {
  recorder.Enter(Phase::kInputBinding);
  recorder.Enter(Phase::kShapeInference);
  recorder.Enter(Phase::kOutputBinding);
  recorder.Enter(Phase::kEnqueueHost);
  recorder.Enter(Phase::kOutputStaging);
  recorder.Leave();
}

/// The same loop as CallOff but for the recorder.
void LoopOnly(benchmark::State& state) {
  const auto engine = Engine();
  EngineProfile* profile = engine.get();
  for (auto _ : state) benchmark::DoNotOptimize(profile);
}
BENCHMARK(LoopOnly);

void CallOff(benchmark::State& state) {
  const auto engine = Engine();
  EngineProfile* profile = engine.get();
  for (auto _ : state) {
    benchmark::DoNotOptimize(profile);
    CallRecorder recorder(*profile);
  }
}
BENCHMARK(CallOff);

void AskForTool(benchmark::State& state) {
  const auto engine = Engine();
  EngineProfile* profile = engine.get();
  for (auto _ : state) {
    benchmark::DoNotOptimize(profile);
    bool listening = nvtx::Listening();
    benchmark::DoNotOptimize(listening);
  }
}
BENCHMARK(AskForTool);

void CallOffWithPhases(benchmark::State& state) {
  const auto engine = Engine();
  EngineProfile* profile = engine.get();
  for (auto _ : state) {
    benchmark::DoNotOptimize(profile);
    CallRecorder recorder(*profile);
    FivePhases(recorder);
  }
}
BENCHMARK(CallOffWithPhases);

void CallAtLevel(benchmark::State& state, Level level) {
  const Folder folder;
  const auto engine = Engine();
  if (!SetLevel(level).ok()) std::abort();
  for (auto _ : state) {
    CallRecorder recorder(*engine);
    FivePhases(recorder);
  }
}
BENCHMARK_CAPTURE(CallAtLevel, delegate, Level::kDelegate);
BENCHMARK_CAPTURE(CallAtLevel, phases, Level::kPhases);

std::vector<std::string> LayerNames(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) {
    names.push_back("/encoder/layer." + std::to_string(i) + "/attention/MatMul + Add");
  }
  return names;
}

/// This thread's own time, so that other work on the machine does not count.  Reading it takes
/// some 300 ns, which are spread over the layers and count.
double ThreadSeconds() {
  timespec ts;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

/// One callback, timed without the call around it: what a layer adds to the engine's run.
void LayerCallback(benchmark::State& state) {
  const Folder folder;
  const auto engine = Engine();
  const auto names = LayerNames(state.range(0));
  if (!SetLevel(Level::kLayers).ok()) std::abort();
  for (auto _ : state) {
    CallRecorder recorder(*engine);
    LayerSink& sink = recorder.layer_sink();
    const double begin = ThreadSeconds();
    for (const auto& name : names) sink.OnLayer(name.c_str(), -1, 1000);
    state.SetIterationTime((ThreadSeconds() - begin) / static_cast<double>(names.size()));
  }
}
BENCHMARK(LayerCallback)->Arg(50)->Arg(2000)->UseManualTime()->Iterations(20'000);

/// A whole call: callbacks, statistics, spans.  The counter is what one layer costs in all.
void CallLayers(benchmark::State& state) {
  const Folder folder;
  const auto engine = Engine();
  const auto names = LayerNames(state.range(0));
  if (!SetLevel(Level::kLayers).ok()) std::abort();
  for (auto _ : state) {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kEnqueueHost);
    LayerSink& sink = recorder.layer_sink();
    for (const auto& name : names) sink.OnLayer(name.c_str(), -1, 1000);
  }
  state.counters["per_layer"] =
      benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(CallLayers)->Arg(50)->Arg(2000)->Iterations(5'000);

void SpanPush(benchmark::State& state) {
  SpanRing ring(16 * 1024);
  SpanRecord record{};
  int64_t n = 0;
  uint64_t drained = 0;
  for (auto _ : state) {
    record.start_ns = ++n;
    {
      SpanRing::Batch batch(ring);
      benchmark::DoNotOptimize(batch.Add(record));
    }
    if ((n & 8191) == 0) ring.Drain([&](const SpanRecord& r) { drained += r.call; });
  }
  benchmark::DoNotOptimize(drained);
}
BENCHMARK(SpanPush);

}  // namespace
}  // namespace trtscope::profiling
