// Traces as files: which there are, what is in them, when they are complete.  Tests of a fault
// of known_faults are named after it.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/test_util.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {
namespace {

class TraceTest : public ProfilingTest {
 protected:
  ~TraceTest() override {
    Tracer::Get().SetLimitsForTest(TraceLimits{});
    Tracer::Get().PauseWriterForTest(false);
  }
  std::vector<std::string> Execution() const {
    return folder_.Files(kTraceFileSuffixes[static_cast<size_t>(TraceFile::kEngineExecution)]);
  }
};

// --- files ---

TEST_F(TraceTest, FourFilesPerEngineWithRealTimesIdsAndTracks) {
  const auto engine = NewEngine("acc_0");
  ASSERT_TRUE(SetLevel("phases").ok());
  const int64_t before = NowNs();
  for (int i = 0; i < 5; ++i) RunCall(*engine);
  const int64_t after = NowNs();
  ASSERT_TRUE(SetLevel("off").ok());

  std::map<std::string, int> found;
  for (const std::string_view suffix : kTraceFileSuffixes) {
    const auto files = folder_.Files(suffix);
    ASSERT_EQ(files.size(), 1u) << suffix;
    EXPECT_NE(files[0].find(engine->id()), std::string::npos);
    EXPECT_NE(files[0].find("." + std::to_string(::getpid())), std::string::npos);
    for (const Json& event : Events(files[0])) {
      ++found[event.at("name").get<std::string>()];
      EXPECT_EQ(event.at("pid"), ::getpid());
      EXPECT_EQ(event.at("tid"), ::syscall(SYS_gettid));
      EXPECT_EQ(event.at("cat"), "torchtrt");
      EXPECT_EQ(event.at("args").at("engine"), engine->id());
      EXPECT_GE(event.at("ts").get<double>(), static_cast<double>(before) / 1e3 - 1);
      EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(),
                static_cast<double>(after) / 1e3 + 1);
      for (const PhaseInfo& info : kPhases) {
        if (info.event == event.at("name")) {
          EXPECT_TRUE(files[0].ends_with(kTraceFileSuffixes[static_cast<size_t>(info.file)]));
        }
      }
    }
    const auto metadata = Events(files[0], "M");
    std::set<std::string> names;
    for (const Json& event : metadata) names.insert(event.at("name").get<std::string>());
    for (const char* name : {"process_name", "thread_name", "trtscope.clock", "trtscope.engine"}) {
      EXPECT_TRUE(names.contains(name)) << name;
    }
    EXPECT_EQ(Events(files[0], "")[0].at("ph"), "M");  // a metadata event comes first
  }
  EXPECT_EQ(found, (std::map<std::string, int>{{"torchtrt.delegate", 5},
                                               {"torchtrt.input_binding", 5},
                                               {"torchtrt.output_binding", 5},
                                               {"torchtrt.enqueue_host", 5}}));
  EXPECT_TRUE(folder_.Files(".partial").empty());
}

// "The enqueue file is normally empty": an array without events is not recognised by viewers.
TEST_F(TraceTest, EmptyPhaseFilesStillHoldMetadata) {
  const auto engine = NewEngine("quiet");
  ASSERT_TRUE(SetLevel("phases").ok());
  {
    CallRecorder recorder(*engine);
  }
  ASSERT_TRUE(SetLevel("off").ok());
  for (const std::string_view suffix : kTraceFileSuffixes) {
    const auto files = folder_.Files(suffix);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_GE(Events(files[0], "M").size(), 3u);
  }
}

TEST_F(TraceTest, DelegateLevelWritesTheExecutionFileOnly) {
  const auto engine = NewEngine("d");
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(folder_.Files().size(), 2u);  // that, and the one of the process
  EXPECT_EQ(folder_.Files(kProcessTraceSuffix).size(), 1u);
  ASSERT_EQ(Execution().size(), 1u);
  EXPECT_EQ(Events(Execution()[0]).size(), 1u);
}

TEST_F(TraceTest, RaisingTheLevelGoesOnInTheSameTrace) {
  const auto engine = NewEngine("up");
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*engine, 2);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
  EXPECT_EQ(Events(Execution()[0]).size(), 4u);  // two calls and two layers
  EXPECT_EQ(folder_.Files(".engine.profile.json").size(), 1u);
}

TEST_F(TraceTest, EtdumpFormatWritesNoFilesButCounts) {
  const auto engine = NewEngine("et");
  ASSERT_TRUE(SetFormat("etdump").ok());
  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*engine, 1);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_TRUE(folder_.Files().empty());
  EXPECT_EQ(Calls(engine->id()), 1u);
}

// Fault: files named by engine name alone, two models overwrite each other (and 4: processes).
TEST_F(TraceTest, NothingIsEverOverwritten) {
  const auto a = NewEngine("same", 1);
  const auto b = NewEngine("same", 1);
  const auto c = NewEngine("same", 0xfeed'0000'0000'0000);
  for (int session = 0; session < 3; ++session) {
    ASSERT_TRUE(SetLevel("delegate").ok());
    for (const auto& engine : {a, b, c}) RunCall(*engine);
    ASSERT_TRUE(SetLevel("off").ok());
  }
  EXPECT_EQ(Execution().size(), 9u);
  for (const auto& file : Execution()) EXPECT_EQ(Events(file).size(), 1u) << file;
}

TEST_F(TraceTest, NamesFromElsewhereStayInTheFolder) {
  const auto engine = NewEngine("../../up/and \"away\"\n");
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("off").ok());
  ASSERT_EQ(Execution().size(), 1u);
  EXPECT_EQ(Events(Execution()[0])[0].at("args").at("engine"), engine->id());
}

// Fault: a missing directory is a log line and no file.
TEST_F(TraceTest, MissingFolderIsCreated) {
  const auto engine = NewEngine("deep");
  ASSERT_TRUE(SetPathPrefix(folder_.path() + "/a/b").ok());
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*engine);
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(TempFolder::In(folder_.path() + "/a/b", ".trace").size(), 1u);
}

TEST_F(TraceTest, FolderThatCannotBeWrittenIsReportedOnceAndCountersGoOn) {
  const auto engine = NewEngine("nowhere");
  const std::string path = folder_.path() + "/gone/below";
  ASSERT_TRUE(SetPathPrefix(path).ok());
  std::ofstream(folder_.path() + "/gone") << "now a file is in the way";
  testing::internal::CaptureStderr();
  for (int session = 0; session < 3; ++session) {
    ASSERT_TRUE(SetLevel("phases").ok());
    for (int i = 0; i < 10; ++i) RunCall(*engine);
    ASSERT_TRUE(SetLevel("off").ok());
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
  EXPECT_NE(printed.find(folder_.path() + "/gone"), std::string::npos) << printed;
  const Json timing = Json::parse(TimingJson());
  ASSERT_EQ(timing.at("errors").size(), 1u);
  EXPECT_EQ(Calls(engine->id()), 30u);
  EXPECT_EQ(EngineRow(engine->id()).at("dropped_spans"), 30 * 4);
  EXPECT_NE(TimingTable().find("problem: "), std::string::npos);
}

// --- what is in a trace ---

// Reported elsewhere 2: names with quotes, backslashes, control characters, invalid UTF-8.
TEST_F(TraceTest, AnyNameGivesValidJson) {
  const std::vector<std::string> names = {
      "quote\" back\\slash",
      "line\nfeed\ttab\x01",
      "\xFF\xC3(\xED\xA0\x80",
      std::string(10'240, 'n'),
      std::string(10'240, '\x02'),
      "",
      "PWN(PWN(/Constant_1_output_0 + (Unnamed Layer* 4) [Shuffle]",
      "caf\xC3\xA9"};
  const auto engine = NewEngine(std::string(10'240, '"') + "\n\xFE");
  engine->SetInspectorJson("{\"Layers\": []}");
  ASSERT_TRUE(SetFormat("trex").ok());
  ASSERT_TRUE(SetLevel("layers").ok());
  {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kEnqueueHost);
    for (const auto& name : names) recorder.layer_sink().OnLayer(name.c_str(), -1, 10);
    recorder.layer_sink().OnLayer(nullptr, -1, 10);
  }
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(folder_.Files(".trace").size(), 4u);
  EXPECT_EQ(folder_.Files(".json").size(), 4u);
  for (const std::string& file : folder_.Files()) {
    EXPECT_TRUE(Json::accept(ReadText(file))) << file;
  }
  EXPECT_EQ(Events(Execution()[0]).size(), 1 + names.size() + 1);
  const Json profile = Json::parse(ReadText(folder_.Files(".engine.profile.json")[0]));
  ASSERT_EQ(profile.size(), 1 + names.size() + 1);
  EXPECT_EQ(profile[1].at("name"), names[0]);
  EXPECT_EQ(profile[4].at("name"), names[3]);  // whole in the table, however long
  EXPECT_TRUE(Json::accept(TimingJson()));
  EXPECT_FALSE(TimingTable().empty());
}

// Reported elsewhere 6: slices of one track must nest or lie apart.
TEST_F(TraceTest, SlicesOfOneTrackNeverOverlapPartially) {
  const auto engine = NewEngine("lanes");
  ASSERT_TRUE(SetLevel("layers").ok());
  for (int i = 0; i < 20; ++i) {
    uint64_t call;
    int64_t start = NowNs();
    {
      CallRecorder recorder(*engine);
      call = recorder.call();
      recorder.Enter(Phase::kInputBinding);
      recorder.Enter(Phase::kEnqueueHost);
      // Far longer than the call, so that the next call's layers would run into these; and two
      // that overlap on purpose.
      for (int l = 0; l < 5; ++l) recorder.layer_sink().OnLayer("long", -1, 1'000'000);
      recorder.layer_sink().OnLayer("measured", start, 500'000);
      recorder.layer_sink().OnLayer("beside it", start + 100'000, 500'000);
    }
    engine->RecordGpuSpan(GpuSpan{call, start, 700'000});
  }
  ASSERT_TRUE(SetLevel("off").ok());
  std::map<int64_t, std::vector<std::pair<double, double>>> tracks;
  size_t layers = 0;
  for (const Json& event : Events(Execution()[0])) {
    tracks[event.at("tid").get<int64_t>()].emplace_back(event.at("ts"), event.at("dur"));
    layers += event.at("cat") == kLayerCategory;
  }
  EXPECT_EQ(layers, 20u * 7);
  EXPECT_GT(tracks.size(), 3u);
  for (auto& [tid, slices] : tracks) {
    if (tid == ::syscall(SYS_gettid)) continue;  // a thread's own slices nest; the rest is lanes
    std::sort(slices.begin(), slices.end());
    for (size_t i = 1; i < slices.size(); ++i) {
      EXPECT_LE(slices[i - 1].first + slices[i - 1].second, slices[i].first + 1e-3) << tid;
    }
  }
}

TEST_F(TraceTest, LayersWithDurationsOnlyLieEndToEndAndSaySo) {
  const auto engine = NewEngine("est");
  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*engine, 3);
  ASSERT_TRUE(SetLevel("off").ok());
  double enqueue = 0;
  for (const Json& event : Events(folder_.Files("_enqueue_profile.trace")[0])) {
    enqueue = event.at("ts");
  }
  double next = enqueue;
  int layer = 0;
  for (const Json& event : Events(Execution()[0])) {
    if (event.at("cat") != kLayerCategory) continue;
    EXPECT_NEAR(event.at("ts").get<double>(), next, 1e-3);
    EXPECT_EQ(event.at("args").at("start"), "estimated");
    EXPECT_EQ(event.at("args").at("layer"), layer++);
    next = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  EXPECT_EQ(layer, 3);
}

// Reported elsewhere 7: negative or zero durations, clocks that disagree.
TEST_F(TraceTest, OddTimesAreClampedNotWritten) {
  const auto engine = NewEngine("odd");
  ASSERT_TRUE(SetLevel("layers").ok());
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  uint64_t call;
  {
    CallRecorder recorder(*engine);
    call = recorder.call();
    recorder.layer_sink().OnLayer("negative", -1, -100);
    recorder.layer_sink().OnLayer("zero", 0, 0);
    recorder.layer_sink().OnLayer("huge", kMax, kMax);
    recorder.layer_sink().OnLayer("after huge", -1, 5);
    recorder.layer_sink().OnLayer("least", kMin, kMin);
  }
  engine->RecordGpuSpan(GpuSpan{call, kMin, -1});
  engine->RecordGpuSpan(GpuSpan{call, kMax, kMax});
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(Events(Execution()[0]).size(), 1 + 5 + 2u);
  for (const Json& event : Events(Execution()[0])) {
    EXPECT_GE(event.at("ts").get<double>(), 0);
    EXPECT_GE(event.at("dur").get<double>(), 0);
  }
  EXPECT_EQ(EngineRow(engine->id()).at("clamped_durations"), 3);
}

TEST_F(TraceTest, FailedCallsAreMarkedAndCounted) {
  const auto engine = NewEngine("fails");
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  RunCall(*engine, 0, /*failed=*/true);
  ASSERT_TRUE(SetLevel("off").ok());
  int failed = 0;
  for (const Json& event : Events(Execution()[0])) failed += event.at("args").contains("failed");
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(EngineRow(engine->id()).at("errors"), 1);
}

TEST_F(TraceTest, MoreSpansThanACallHoldsKeepTheirSums) {
  const auto engine = NewEngine("many");
  ASSERT_TRUE(SetLevel("phases").ok());
  {
    CallRecorder recorder(*engine);
    for (int i = 0; i < 100; ++i) {
      recorder.Enter(i % 2 ? Phase::kInputBinding : Phase::kOutputBinding);
    }
  }
  ASSERT_TRUE(SetLevel("off").ok());
  const Json row = EngineRow(engine->id());
  const auto& phases = row.at("phases");
  EXPECT_EQ(phases.at("inputs").at("count"), 1);
  const auto inner = phases.at("inputs").at("total_ns").get<uint64_t>() +
                     phases.at("outputs").at("total_ns").get<uint64_t>();
  const auto total = phases.at("total").at("total_ns").get<uint64_t>();
  EXPECT_LE(inner, total);
  EXPECT_GT(inner, total / 4);  // the loop is nearly all of the call
  EXPECT_EQ(row.at("dropped_spans"), 100 - 16);
}

TEST_F(TraceTest, LateLayersAndDeviceSpansReachTheTraceOfTheirCall) {
  const auto engine = NewEngine("late");
  ASSERT_TRUE(SetLevel("layers").ok());
  uint64_t call;
  {
    CallRecorder recorder(*engine);
    call = recorder.call();
  }
  {
    CallRecorder next(*engine);  // layers of the first call arrive during the second
    LayerSink& sink = engine->BeginLateLayers(call, 1'000'000);
    sink.OnLayer("a", -1, 5000);
    sink.OnLayer("b", -1, 6000);
    engine->FinishLateLayers();
  }
  engine->RecordGpuSpan(GpuSpan{call, 999'000, 12'000});
  ASSERT_TRUE(SetLevel("off").ok());
  std::map<std::string, Json> events;
  for (const Json& event : Events(Execution()[0])) events[event.at("name")] = event;
  EXPECT_EQ(events.at("a").at("ts"), 1000.0);
  EXPECT_EQ(events.at("b").at("ts"), 1005.0);
  EXPECT_EQ(events.at("b").at("args").at("call"), call);
  EXPECT_EQ(events.at("torchtrt.gpu").at("dur"), 12.0);
  EXPECT_EQ(EngineRow(engine->id()).at("layer_sum").at("total_ns"), 11'000);
  // After the trace is complete they still count, and what it lacks is said.
  engine->RecordGpuSpan(GpuSpan{call, 999'000, 12'000});
  EXPECT_EQ(EngineRow(engine->id()).at("phases").at("gpu").at("count"), 2);
  EXPECT_EQ(EngineRow(engine->id()).at("dropped_spans"), 1);
}

// --- bounds ---

// Reported elsewhere 3: a cap on events that stops silently.
TEST_F(TraceTest, DroppedSpansAreCountedInTraceTableAndJson) {
  Tracer::Get().PauseWriterForTest(true);
  TraceLimits limits;
  limits.ring_records = 64;
  Tracer::Get().SetLimitsForTest(limits);
  const auto engine = NewEngine("full");
  ASSERT_TRUE(SetLevel("delegate").ok());
  // A new thread, for a ring of the small size.
  std::thread([&] {
    for (int i = 0; i < 100; ++i) RunCall(*engine);
  }).join();
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_EQ(Events(Execution()[0]).size(), 64u);
  const auto notes = Events(Execution()[0], "i");
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.back().at("args").at("dropped_spans"), 36);
  EXPECT_EQ(Events(Execution()[0], "M").back().at("args").at("dropped_spans"), 36);
  EXPECT_EQ(Json::parse(TimingJson()).at("dropped_spans"), 36);
  EXPECT_NE(TimingTable().find("36 spans dropped"), std::string::npos) << TimingTable();
  EXPECT_EQ(Calls(engine->id()), 100u);  // the counters are complete
}

TEST_F(TraceTest, MemoryOfAllRingsIsBoundedAndRingsOfEndedThreadsAreReused) {
  TraceLimits limits;
  limits.ring_bytes_total = 1;  // no new ring at all
  Tracer::Get().SetLimitsForTest(limits);
  const auto engine = NewEngine("poor");
  ASSERT_TRUE(SetLevel("delegate").ok());
  // More threads at once than rings were ever made in this process.
  constexpr int kThreads = 40;
  std::atomic<int> ready{0};
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      {
        std::lock_guard<std::mutex> lock(mutex);
        RunCall(*engine);
      }
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(SetLevel("off").ok());
  const auto dropped = EngineRow(engine->id()).at("dropped_spans").get<uint64_t>();
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(Events(Execution()[0]).size() + dropped, static_cast<size_t>(kThreads));
  EXPECT_EQ(Calls(engine->id()), static_cast<uint64_t>(kThreads));
}

TEST_F(TraceTest, ManyShortThreadsShareFewRings) {
  const auto engine = NewEngine("short");
  ASSERT_TRUE(SetLevel("delegate").ok());
  std::set<int64_t> tids;
  for (int i = 0; i < 300; ++i) {
    std::thread([&] { RunCall(*engine); }).join();
    if (i % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(SetLevel("off").ok());
  for (const Json& event : Events(Execution()[0])) tids.insert(event.at("tid").get<int64_t>());
  EXPECT_EQ(
      Events(Execution()[0]).size() + EngineRow(engine->id()).at("dropped_spans").get<size_t>(),
      300u);
  EXPECT_GT(tids.size(), 100u);  // each on its own track
}

// Reported elsewhere 11: gigabyte traces.
TEST_F(TraceTest, ATraceThatGrowsTooLargeIsFollowedByANewOne) {
  TraceLimits limits;
  limits.file_bytes = 50'000;
  Tracer::Get().SetLimitsForTest(limits);
  const auto engine = NewEngine("big");
  ASSERT_TRUE(SetLevel("delegate").ok());
  for (int i = 0; i < 3000; ++i) {
    RunCall(*engine);
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(6));
  }
  ASSERT_TRUE(SetLevel("off").ok());
  EXPECT_GT(Execution().size(), 3u);
  size_t events = 0;
  for (const auto& file : Execution()) events += Events(file).size();
  EXPECT_EQ(events + EngineRow(engine->id()).at("dropped_spans").get<size_t>(), 3000u);
}

// Turned on and off faster than files can be made: what waits to be finished is bounded.
TEST_F(TraceTest, TogglingFasterThanFilesAreMadePilesNothingUp) {
  Tracer::Get().PauseWriterForTest(true);
  TraceLimits limits;
  limits.closing_traces = 8;
  Tracer::Get().SetLimitsForTest(limits);
  const auto engine = NewEngine("toggled");
  for (int i = 0; i < 100; ++i) {
    engine->SetOwnLevel(Level::kDelegate);
    RunCall(*engine);
    engine->SetOwnLevel(Level::kOff);
  }
  FinishClosedTraces();
  EXPECT_EQ(Execution().size(), 8u);
  EXPECT_EQ(Calls(engine->id()), 100u);
  EXPECT_EQ(EngineRow(engine->id()).at("dropped_spans"), 92);
}

// --- TREX ---

TEST_F(TraceTest, TrexFilesFollowTheDialect) {
  const auto engine = NewEngine("trex");
  const std::string inspector = "{\"Layers\": [\"layer0\", \"layer1\"], \"Bindings\": []}";
  EXPECT_FALSE(engine->has_inspector_json());
  engine->SetInspectorJson(inspector);
  EXPECT_TRUE(engine->has_inspector_json());
  ASSERT_TRUE(SetFormat("trex").ok());
  ASSERT_TRUE(SetLevel("layers").ok());
  for (int i = 0; i < 4; ++i) RunCall(*engine, 2);
  ASSERT_TRUE(SetLevel("off").ok());

  const auto read = [&](const char* suffix) {
    const auto files = folder_.Files(suffix);
    EXPECT_EQ(files.size(), 1u) << suffix;
    return files.empty() ? std::string() : ReadText(files[0]);
  };
  EXPECT_EQ(read(".engine.graph.json"), inspector);
  const Json profile = Json::parse(read(".engine.profile.json"));
  ASSERT_EQ(profile.size(), 3u);
  EXPECT_EQ(profile[0], Json::parse("{\"count\": 4}"));
  double percentage = 0;
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(profile[i].size(), 5u);
    const double ms = (1000.0 + static_cast<double>(i) - 1) / 1e6;
    EXPECT_EQ(profile[i].at("name"), "layer" + std::to_string(i - 1));
    EXPECT_NEAR(profile[i].at("timeMs").get<double>(), 4 * ms, 1e-6);
    EXPECT_NEAR(profile[i].at("averageMs").get<double>(), ms, 1e-6);
    EXPECT_NEAR(profile[i].at("medianMs").get<double>(), ms, 0.02 * ms);
    percentage += profile[i].at("percentage").get<double>();
  }
  EXPECT_NEAR(percentage, 100, 1e-4);
  const Json timing = Json::parse(read(".engine.timing.json"));
  ASSERT_EQ(timing.size(), 4u);
  const std::set<std::string> keys = {"startEnqMs",     "endEnqMs",     "startH2dMs", "endH2dMs",
                                      "startComputeMs", "endComputeMs", "startD2hMs", "endD2hMs",
                                      "h2dMs",          "computeMs",    "d2hMs",      "latencyMs"};
  double last = 0;
  for (const Json& row : timing) {
    std::set<std::string> got;
    for (const auto& item : row.items()) got.insert(item.key());
    EXPECT_EQ(got, keys);
    EXPECT_GE(row.at("startH2dMs").get<double>(), last);
    EXPECT_NEAR(row.at("latencyMs").get<double>(),
                row.at("endD2hMs").get<double>() - row.at("startH2dMs").get<double>(), 1e-6);
    last = row.at("endD2hMs");
  }
  const Json metadata = Json::parse(read(".engine.metadata.json"));
  EXPECT_EQ(metadata.at("engine"), engine->id());
}

// Fault: all counters ever in each trace: a second trace must hold its own calls only.
TEST_F(TraceTest, EachTrexProfileCountsItsOwnCalls) {
  const auto engine = NewEngine("again");
  for (const int calls : {3, 5}) {
    ASSERT_TRUE(SetLevel("layers").ok());
    for (int i = 0; i < calls; ++i) RunCall(*engine, 2);
    ASSERT_TRUE(SetLevel("off").ok());
  }
  std::set<int> counts;
  for (const auto& file : folder_.Files(".engine.profile.json")) {
    counts.insert(Json::parse(ReadText(file))[0].at("count").get<int>());
  }
  EXPECT_EQ(counts, (std::set<int>{3, 5}));
}

// Fault: no layers gives broken JSON.
TEST_F(TraceTest, NoLayersGiveAnEmptyProfile) {
  const auto engine = NewEngine("opaque");
  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*engine, 0);
  ASSERT_TRUE(SetLevel("off").ok());
  const auto files = folder_.Files(".engine.profile.json");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Json::parse(ReadText(files[0])), Json::parse("[{\"count\": 0}]"));
}

}  // namespace
}  // namespace trtscope::profiling
