// make_trace SCENARIO FOLDER: records a profile whose trace perfetto_test.py looks at.  What the
// test must know of it is printed as `KEY VALUE` lines.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/engine_profile.h"
#include "core/profiling/report.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {
namespace {

using namespace std::chrono_literals;

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "make_trace: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

std::shared_ptr<EngineProfile> NewEngine(const std::string& name) {
  return EngineProfile::Register({name, 0x1234'5678'9abc'def0, "null", "torch"});
}

/// One call with three phases; returns its number.
uint64_t Call(EngineProfile& engine, bool on_gpu = false, bool failed = false) {
  CallRecorder recorder(engine);
  recorder.Enter(Phase::kInputBinding);
  recorder.Enter(Phase::kOutputBinding);
  recorder.Enter(Phase::kEnqueueHost);
  if (on_gpu) recorder.ExpectGpuSpan();
  if (failed) recorder.MarkFailed();
  return recorder.call();
}

/// An engine of this thread whose device times, and in every eighth call its layers, come a call
/// late, as an executor's do.
void CallsOnGpu(const std::string& name, int calls) {
  const auto engine = NewEngine(name);
  for (int i = 0; i < calls; ++i) {
    const uint64_t call = Call(*engine, /*on_gpu=*/true, /*failed=*/i == 5);
    const int64_t enqueued = NowNs();
    if (i == 3) engine->SetWorkspaceBytes(1 << 20);
    std::this_thread::sleep_for(100us);
    engine->RecordGpuSpan({call, enqueued + 5'000, 50'000});
    if (i % 8 != 0) continue;
    LayerSink& late = engine->BeginLateLayers(call, enqueued + 5'000);
    late.OnLayer("conv", -1, 20'000);
    late.OnLayer("relu", -1, 9'000);
    late.OnLayer("conv", -1, 20'000);
    engine->FinishLateLayers();
  }
}

void Gpu() {
  Must(SetLevel(Level::kLayers));
  std::thread other(CallsOnGpu, "second", 400);
  CallsOnGpu("first", 400);
  other.join();
}

/// Calls that wait for the device: its times and the layers' come before the call is over.
void Waits() {
  Must(SetLevel(Level::kLayers));
  const auto engine = NewEngine("waits");
  for (int i = 0; i < 50; ++i) {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kEnqueueHost);
    recorder.ExpectGpuSpan();
    const int64_t enqueued = NowNs();
    recorder.Enter(Phase::kSynchronize);
    std::this_thread::sleep_for(100us);
    engine->RecordGpuSpan({recorder.call(), enqueued + 5'000, 50'000});
    LayerSink& late = engine->BeginLateLayers(recorder.call(), enqueued + 5'000);
    late.OnLayer("conv", -1, 20'000);
    engine->FinishLateLayers();
  }
}

/// GPU spans that overlap, and late layers that do not fit into theirs.
void Overlap() {
  Must(SetLevel(Level::kLayers));
  const auto engine = NewEngine("overlap");
  for (int i = 0; i < 50; ++i) {
    const int64_t start = NowNs();
    const uint64_t call = Call(*engine, /*on_gpu=*/true);
    engine->RecordGpuSpan({call, start, 300'000});
    LayerSink& late = engine->BeginLateLayers(call, start);
    late.OnLayer("too long", -1, 200'000);
    late.OnLayer("by far", -1, 200'000);
    engine->FinishLateLayers();
    std::this_thread::sleep_for(100us);
  }
}

/// A call in a call: the inner one is known first.
void Nested() {
  Must(SetLevel(Level::kPhases));
  const auto outer = NewEngine("outer");
  const auto inner = NewEngine("inner");
  for (int i = 0; i < 20; ++i) {
    CallRecorder recorder(*outer);
    recorder.Enter(Phase::kEnqueueHost);
    Call(*inner);
  }
}

/// Three calls of an engine with names of any bytes.
void CallsWithNames(EngineProfile& engine) {
  const std::vector<std::string> names = {"quote\" back\\slash",
                                          "line\nfeed\ttab\x01\x7f",
                                          "\xFF\xC3(\xED\xA0\x80",
                                          std::string(10'240, 'n'),
                                          std::string(10'240, '\xFE'),
                                          "",
                                          "twice",
                                          "twice",
                                          "caf\xC3\xA9 \xF0\x9F\x9A\x80",
                                          "</script><b title='&amp;'>"};
  for (int i = 0; i < 3; ++i) {
    CallRecorder recorder(engine);
    recorder.Enter(Phase::kEnqueueHost);
    LayerSink& sink = recorder.layer_sink();
    for (const auto& name : names) {
      const int64_t begin = NowNs();
      std::this_thread::sleep_for(10us);
      sink.OnLayer(name.c_str(), begin, NowNs() - begin);
    }
  }
}

void Names() {
  Must(SetLevel(Level::kLayers));
  CallsWithNames(*NewEngine(std::string(10'240, '"') + "\n\xFE"));
}

/// More engines, whose names are as bad, and all the files that there are of them.
void NamesEverywhere() {
  Must(SetFormat("trex"));
  Must(SetLevel(Level::kLayers));
  for (const char* name : {"quote\" back\\slash", "line\nfeed\r\x1b[31m", "\xFF\xC3(",
                           "</script><b title='&amp;'>", "twice", "twice", "../../up", ""}) {
    const auto engine = NewEngine(name);
    engine->SetInspectorJson(R"({"Layers": [{"Name": "twice", "Why": "</script>\u0007"}]})");
    CallsWithNames(*engine);
  }
}

/// As fast as it goes, at this level.
void Many(Level level) {
  Must(SetLevel(level));
  const auto engine = NewEngine("many");
  for (int i = 0; i < 5000; ++i) {
    const uint64_t call = Call(*engine, /*on_gpu=*/level == Level::kPhases);
    if (level == Level::kPhases) engine->RecordGpuSpan({call, NowNs(), 500});
    if (i % 500 == 499) std::this_thread::sleep_for(5ms);
  }
}

void Rotation() {
  TraceLimits limits;
  limits.file_bytes = 60'000;
  Tracer::Get().SetLimitsForTest(limits);
  Must(SetLevel(Level::kPhases));
  const auto engine = NewEngine("rotated");
  const auto quiet = NewEngine("quiet");  // keeps the process's trace open meanwhile
  Call(*quiet);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t call = Call(*engine, /*on_gpu=*/true);
    engine->RecordGpuSpan({call, NowNs(), 500});
    if (i % 50 == 0) std::this_thread::sleep_for(6ms);
  }
}

void Fork() {
  Must(SetLevel(Level::kPhases));
  const auto engine = NewEngine("forked");
  for (int i = 0; i < 100; ++i) Call(*engine);
  const pid_t child = ::fork();
  for (int i = 0; i < (child == 0 ? 30 : 200); ++i) Call(*engine);
  if (child == 0) std::exit(0);  // by way of the exit handlers
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("child %d\nparent %d\n", child, ::getpid());
  if (status != 0) std::exit(1);
}

void Sessions() {
  const auto engine = NewEngine("again");
  for (int session = 0; session < 3; ++session) {
    Must(SetLevel(Level::kPhases));
    for (int i = 0; i < 10; ++i) Call(*engine);
    Must(SetLevel(Level::kOff));
  }
}

/// Until somebody kills it.
void Forever() {
  Must(SetLevel(Level::kLayers));
  for (int i = 0;; ++i) CallsOnGpu("endless " + std::to_string(i), 200);
}

int Main(int argc, char** argv) {
  const std::map<std::string_view, void (*)()> scenarios = {
      {"gpu", &Gpu},
      {"overlap", &Overlap},
      {"waits", &Waits},
      {"nested", &Nested},
      {"names", &Names},
      {"names_everywhere", &NamesEverywhere},
      {"rotation", &Rotation},
      {"fork", &Fork},
      {"sessions", &Sessions},
      {"forever", &Forever},
      {"phases", [] { Many(Level::kPhases); }},
      {"delegate", [] { Many(Level::kDelegate); }},
  };
  const auto found = argc == 3 ? scenarios.find(argv[1]) : scenarios.end();
  if (found == scenarios.end()) {
    std::fprintf(stderr, "usage: make_trace SCENARIO FOLDER\n");
    return 2;
  }
  Must(SetPathPrefix(argv[2]));
  const int64_t begin = NowNs();
  found->second();
  std::printf("begin_ns %lld\nend_ns %lld\n", static_cast<long long>(begin),
              static_cast<long long>(NowNs()));
  Must(SetLevel(Level::kOff));
  std::puts(TimingJson().c_str());
  std::fputs(TimingTable().c_str(), stderr);
  return 0;
}

}  // namespace
}  // namespace trtscope::profiling

int main(int argc, char** argv) { return trtscope::profiling::Main(argc, argv); }
