// trace_writer_bench [SPANS] [SPANS_PER_SECOND]: what the background writer keeps up with.
//
// Threads record calls of six spans (the call and five phases) at a steady rate.  Printed: spans
// written and dropped, the writer's own processor time for each span, bytes in the files for each
// span, and the most memory that the process held.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/engine_profile.h"
#include "core/profiling/report.h"

namespace trtscope::profiling {
namespace {

constexpr int64_t kSpansOfACall = 6;
constexpr int kThreads = 2;

double CpuSeconds(clockid_t clock) {
  timespec ts;
  clock_gettime(clock, &ts);
  return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

double PeakMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void Call(EngineProfile& engine) {
  CallRecorder recorder(engine);
  recorder.Enter(Phase::kInputBinding);
  recorder.Enter(Phase::kShapeInference);
  recorder.Enter(Phase::kOutputBinding);
  recorder.Enter(Phase::kEnqueueHost);
  recorder.Enter(Phase::kOutputStaging);
}

/// `spans` at `rate` a second, in a burst each millisecond; returns this thread's processor time.
double Record(EngineProfile& engine, int64_t spans, int64_t rate) {
  const double cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  const int64_t begin = NowNs();
  for (int64_t done = 0; done < spans; done += kSpansOfACall) {
    while (done * 1'000'000'000 / rate > NowNs() - begin) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Call(engine);
  }
  return CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

uint64_t Bytes(const std::filesystem::path& folder, std::string_view suffix) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().string().ends_with(suffix)) bytes += file.file_size();
  }
  return bytes;
}

int Main(int argc, char** argv) {
  const int64_t spans = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const int64_t rate = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  std::string pattern = std::filesystem::temp_directory_path() / "trace_writer_benchXXXXXX";
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  if (!SetPathPrefix(folder.string()).ok() || !SetLevel(Level::kPhases).ok()) return 1;

  const double before_mb = PeakMegabytes();
  const double cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  const int64_t begin = NowNs();
  std::vector<std::thread> threads;
  std::vector<double> recording(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto engine =
          EngineProfile::Register({"bench" + std::to_string(t), 0x1234, "null", "torch"});
      recording[static_cast<size_t>(t)] = Record(*engine, spans / kThreads, rate / kThreads);
    });
  }
  for (auto& thread : threads) thread.join();
  const double seconds = static_cast<double>(NowNs() - begin) * 1e-9;
  FlushTraces();
  const double all_seconds = static_cast<double>(NowNs() - begin) * 1e-9;
  double writer = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  for (const double seconds_of_thread : recording) writer -= seconds_of_thread;

  const auto timing = nlohmann::json::parse(TimingJson());
  const auto dropped = timing.at("dropped_spans").get<uint64_t>();
  uint64_t calls = 0;
  for (const auto& engine : timing.at("engines")) calls += engine.at("calls").get<uint64_t>();
  const uint64_t written = calls * kSpansOfACall - dropped;
  const auto each = [&](double value) { return value / static_cast<double>(written); };
  std::printf("recorded   %10llu spans in %.1f s: %.2f million a second\n",
              static_cast<unsigned long long>(calls * kSpansOfACall), seconds,
              static_cast<double>(calls * kSpansOfACall) / seconds * 1e-6);
  std::printf("dropped    %10llu, which is %.2f %%\n", static_cast<unsigned long long>(dropped),
              100.0 * static_cast<double>(dropped) / static_cast<double>(calls * kSpansOfACall));
  std::printf("complete   after %.2f s more\n", all_seconds - seconds);
  std::printf("writer     %.0f ns of processor a span: %.2f million a second at the most\n",
              each(writer) * 1e9, 1e-6 / each(writer));
  std::printf("perfetto   %.1f bytes a span\n",
              each(static_cast<double>(Bytes(folder, ".perfetto-trace"))));
  std::printf("json       %.1f bytes a span\n", each(static_cast<double>(Bytes(folder, ".trace"))));
  std::printf("memory     %.0f MB at the most, %.0f before\n", PeakMegabytes(), before_mb);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace trtscope::profiling

int main(int argc, char** argv) { return trtscope::profiling::Main(argc, argv); }
