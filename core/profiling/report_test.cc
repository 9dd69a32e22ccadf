#include "core/profiling/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/profiling/test_util.h"
#include "core/profiling/utf8.h"

namespace trtscope::profiling {
namespace {

using ReportTest = ProfilingTest;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST_F(ReportTest, TableHasTheColumnsOfTheIssueAndALastRowAll) {
  const auto slow = NewEngine("slow");
  const auto fast = NewEngine("fast");
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*fast);
  {
    CallRecorder recorder(*slow);
    const int64_t end = NowNs() + 5'000'000;
    while (NowNs() < end) {
    }
  }
  const auto lines = Lines(TimingTable());
  ASSERT_EQ(lines.size(), 4u) << TimingTable();
  EXPECT_EQ(Words(lines[0]),
            (std::vector<std::string>{"engine", "calls", "total", "ms", "p50", "ms", "p99", "ms",
                                      "workspace", "inputs", "outputs", "enqueue"}));
  EXPECT_TRUE(lines[1].starts_with(slow->id())) << "widest total first";
  EXPECT_TRUE(lines[2].starts_with(fast->id()));
  EXPECT_EQ(Words(lines[3])[0], "ALL");
  EXPECT_EQ(Words(lines[3])[1], "2");
  EXPECT_GE(std::stod(Words(lines[1])[2]), 5.0);
  EXPECT_EQ(Words(lines[1]).size(), 9u);
}

TEST_F(ReportTest, ColumnsAppearWhenTheyHoldSomething) {
  const auto engine = NewEngine("all");
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  std::string header = Lines(TimingTable())[0];
  for (const char* absent : {"errors", "shapes", "staging", "synchronize", "gpu"}) {
    EXPECT_EQ(header.find(absent), std::string::npos) << absent;
  }
  {
    CallRecorder recorder(*engine);
    recorder.Enter(Phase::kShapeInference);
    recorder.Enter(Phase::kOutputStaging);
    recorder.Enter(Phase::kSynchronize);
    recorder.MarkFailed();
  }
  engine->RecordGpuSpan(GpuSpan{1, NowNs(), 1000});
  header = Lines(TimingTable())[0];
  for (const char* present : {"errors", "shapes", "staging", "synchronize", "gpu"}) {
    EXPECT_NE(header.find(present), std::string::npos) << present;
  }
}

TEST_F(ReportTest, EmptyTableSaysSo) {
  const auto lines = Lines(TimingTable());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(Words(lines[1])[0], "ALL");
  EXPECT_NE(lines[2].find("level is off"), std::string::npos);
}

// An ETDump is a program's: elsewhere the format leaves no file, and the table says why.
TEST_F(ReportTest, FormatEtdumpOutsideExecuTorchIsExplained) {
  const auto engine = NewEngine("torch");
  ASSERT_TRUE(SetLevel("phases").ok());
  RunCall(*engine);
  EXPECT_EQ(TimingTable().find("format etdump"), std::string::npos);
  ASSERT_TRUE(SetFormat("etdump").ok());
  EXPECT_NE(TimingTable().find("engines of other runtimes write no trace"), std::string::npos);
}

TEST_F(ReportTest, LinesAboutLayersAreLimited) {
  ASSERT_TRUE(SetLevel("layers").ok());
  std::vector<std::shared_ptr<EngineProfile>> engines;
  for (int i = 0; i < 20; ++i) {
    engines.push_back(NewEngine("engine" + std::to_string(i)));
    RunCall(*engines.back(), 2);
  }
  const std::string table = TimingTable();
  size_t lines = 0;
  for (const std::string& line : Lines(table)) lines += line.starts_with("layers of engine");
  EXPECT_EQ(lines, 12u) << table;
  EXPECT_NE(table.find("layers of 8 more engines: in the JSON"), std::string::npos) << table;
}

// Reported elsewhere 12: layer sum and latency disagree: print both and the likely cause.
TEST_F(ReportTest, LayerSumIsComparedWithWhatEnclosesIt) {
  const auto engine = NewEngine("sum");
  ASSERT_TRUE(SetLevel("layers").ok());
  const auto call = [&](int64_t layers_ns, int64_t gpu_ns) {
    ResetTiming();
    CallRecorder recorder(*engine);
    engine->RecordGpuSpan(GpuSpan{recorder.call(), NowNs(), gpu_ns});
    recorder.layer_sink().OnLayer("a", -1, layers_ns / 2);
    recorder.layer_sink().OnLayer("b", -1, layers_ns / 2);
  };
  call(2'000'000, 8'000'000);
  EXPECT_NE(TimingTable().find("sum 2.000 ms a call over 1 calls, gpu 8.000 ms a call"),
            std::string::npos)
      << TimingTable();
  EXPECT_NE(TimingTable().find("between layers"), std::string::npos);
  call(8'000'000, 2'000'000);
  EXPECT_NE(TimingTable().find("overlap on auxiliary streams"), std::string::npos);
  call(2'000'000, 2'000'000);
  EXPECT_NE(TimingTable().find("agree"), std::string::npos);
}

TEST_F(ReportTest, JsonHoldsSummariesLayersConfigAndClock) {
  const auto engine = NewEngine("json");
  ASSERT_TRUE(SetLevel("layers").ok());
  for (int i = 0; i < 100; ++i) RunCall(*engine, 2);
  const Json all = Json::parse(TimingJson());
  for (const char* key : {"engines", "dropped_spans", "errors", "config", "clock"}) {
    EXPECT_TRUE(all.contains(key)) << key;
  }
  EXPECT_EQ(all.at("config").at("level"), "layers");
  const Json row = EngineRow(engine->id());
  EXPECT_EQ(row.at("name"), "json");
  EXPECT_EQ(row.at("implementation"), "null");
  EXPECT_EQ(row.at("runtime"), "torch");
  EXPECT_EQ(row.at("calls"), 100);
  for (const PhaseInfo& info : kPhases) {
    const Json phase = row.at("phases").at(std::string(info.column));
    const bool ran = info.phase == Phase::kDelegate || info.phase == Phase::kInputBinding ||
                     info.phase == Phase::kOutputBinding || info.phase == Phase::kEnqueueHost;
    EXPECT_EQ(phase.at("count"), ran ? 100 : 0) << info.column;
    EXPECT_LE(phase.at("min_ns"), phase.at("p50_ns"));
    EXPECT_LE(phase.at("p50_ns"), phase.at("p90_ns"));
    EXPECT_LE(phase.at("p90_ns"), phase.at("p99_ns"));
    EXPECT_LE(phase.at("p99_ns"), phase.at("max_ns"));
  }
  ASSERT_EQ(row.at("layers").size(), 2u);
  EXPECT_EQ(row.at("layers")[1].at("name"), "layer1");
  EXPECT_EQ(row.at("layers")[1].at("position"), 1);
  EXPECT_EQ(row.at("layers")[1].at("total_ns"), 100'100);
  EXPECT_EQ(row.at("layer_sum").at("p50_ns"), 2001);
}

// Fault: layer totals saturate.
TEST_F(ReportTest, LargeTotalsAreExact) {
  const auto engine = NewEngine("large");
  ASSERT_TRUE(SetLevel("layers").ok());
  constexpr int64_t kLarge = (int64_t{1} << 40) + 1;
  for (int i = 0; i < 1000; ++i) {
    CallRecorder recorder(*engine);
    recorder.layer_sink().OnLayer("l", 1, kLarge);
  }
  EXPECT_EQ(EngineRow(engine->id()).at("layers")[0].at("total_ns"), 1000 * kLarge);
}

TEST_F(ReportTest, ResetZeroesLivingEnginesAndForgetsTheOthers) {
  const auto living = NewEngine("living");
  auto dead = NewEngine("dead");
  ASSERT_TRUE(SetLevel("layers").ok());
  RunCall(*living, 2);
  RunCall(*dead, 2);
  dead.reset();
  EXPECT_EQ(Json::parse(TimingJson()).at("engines").size(), 2u);
  ResetTiming();
  EXPECT_EQ(Json::parse(TimingJson()).at("engines").size(), 0u);
  RunCall(*living, 2);
  EXPECT_EQ(EngineRow(living->id()).at("calls"), 1);
  EXPECT_EQ(EngineRow(living->id()).at("layers").size(), 2u);
}

TEST_F(ReportTest, OddNamesStayOnTheirLine) {
  const auto engine = NewEngine("two\nlines\t\x1b[31m" + std::string(500, 'x'));
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*engine);
  EXPECT_EQ(Lines(TimingTable()).size(), 3u) << TimingTable();
  EXPECT_EQ(TimingTable().find('\x1b'), std::string::npos);
}

// Cut in the middle of a character, bytes that are none, and one for a terminal to obey.
TEST_F(ReportTest, TheTableIsValidTextInStraightColumns) {
  const auto wide = NewEngine(std::string(99, 'a') + "\xC3\xA9\xC3\xA9");
  const auto odd = NewEngine(
      "\xFF \xC2\x9B"
      "31m caf\xC3\xA9");
  ASSERT_TRUE(SetLevel("delegate").ok());
  RunCall(*wide);
  RunCall(*odd);
  const std::string table = TimingTable();
  EXPECT_EQ(ValidUtf8(table), table);
  EXPECT_NE(table.find("\xEF\xBF\xBD ?31m caf\xC3\xA9-"), std::string::npos) << table;
  std::set<size_t> widths;
  for (const std::string& line : Lines(table)) {
    widths.insert(static_cast<size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; })));
  }
  EXPECT_EQ(widths.size(), 1u) << table;
}

TEST(NamesTest, TheTableIsConsistent) {
  std::set<std::string_view> events;
  std::set<std::string_view> columns;
  for (size_t i = 0; i < kPhases.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kPhases[i].phase), i);
    EXPECT_TRUE(kPhases[i].event.starts_with("torchtrt."));
    events.insert(kPhases[i].event);
    columns.insert(kPhases[i].column);
  }
  EXPECT_EQ(events.size(), kPhaseCount);
  EXPECT_EQ(columns.size(), kPhaseCount);
  for (const char* promised :
       {"torchtrt.delegate", "torchtrt.input_binding", "torchtrt.shape_inference",
        "torchtrt.output_binding", "torchtrt.enqueue_host", "torchtrt.output_staging",
        "torchtrt.synchronize"}) {
    EXPECT_TRUE(events.contains(promised)) << promised;
  }
  const Json names = Json::parse(NamesJson());
  EXPECT_EQ(names.at("phases").size(), kPhaseCount);
  EXPECT_EQ(names.at("trace_files").size(), 4u);
  EXPECT_EQ(names.at("process_trace"), kProcessTraceSuffix);
  EXPECT_EQ(names.at("environment").at("level"), "TORCHTRT_PROFILE_LEVEL");
}

}  // namespace
}  // namespace trtscope::profiling
