#include "core/profiling/report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/json_text.h"
#include "core/profiling/names.h"
#include "core/profiling/statistics.h"
#include "core/profiling/tracer.h"
#include "core/profiling/utf8.h"

namespace trtscope::profiling {
namespace {

using Json = nlohmann::ordered_json;

const Histogram& Times(const EngineSnapshot& engine, Phase phase) {
  return engine.phases[static_cast<size_t>(phase)];
}

/// Engines that were called, widest total first.
std::vector<EngineSnapshot> CopyCalled() {
  std::vector<EngineSnapshot> engines;
  for (const auto& stats : EngineTable::Get().All()) {
    EngineSnapshot copy = stats->Copy();
    if (copy.calls != 0) engines.push_back(std::move(copy));
  }
  std::stable_sort(engines.begin(), engines.end(), [](const auto& a, const auto& b) {
    return Times(a, Phase::kDelegate).total() > Times(b, Phase::kDelegate).total();
  });
  return engines;
}

std::string Ms(uint64_t ns) {
  // Rounded to microseconds; the JSON has the nanoseconds.
  const uint64_t us = ns / 1000 + (ns % 1000 >= 500 ? 1 : 0);
  std::string out = std::to_string(us / 1000);
  const std::string rest = std::to_string(us % 1000);
  return out + "." + std::string(3 - rest.size(), '0') + rest;
}

/// An id on one line of a terminal, which obeys none of its bytes.
std::string Printable(std::string_view id) {
  constexpr size_t kMax = 100;
  const std::string valid = ValidUtf8(id, kMax);
  std::string out;
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto c = static_cast<unsigned char>(valid[i]);
    // U+0080 to U+009F, of which some terminals take one for the beginning of a command, too.
    const bool high = c == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0;
    out += c < 0x20 || c == 0x7f || high ? '?' : valid[i];
    i += high;
  }
  return out;
}

/// Characters of valid UTF-8.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Columns as wide as their widest cell; the first one on the left, the rest on the right.
std::string Layout(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - Width(row[i]), ' ');
      if (i > 0) out += "  ";
      out += i == 0 ? row[i] + pad : pad + row[i];
    }
    out += '\n';
  }
  return out;
}

/// Device time of all calls, of which some were measured: scaled from those, and marked so.
std::string DeviceMs(std::span<const EngineSnapshot> engines) {
  uint64_t total = 0;
  bool scaled = false;
  for (const EngineSnapshot& engine : engines) {
    const Histogram& gpu = Times(engine, Phase::kGpu);
    if (gpu.count() == 0) continue;
    const bool all = gpu.count() >= engine.calls;
    total += all ? gpu.total() : gpu.total() / gpu.count() * engine.calls;
    scaled |= !all;
  }
  return (scaled ? "~" : "") + Ms(total);
}

bool AlwaysShown(Phase phase) {
  return phase == Phase::kWorkspace || phase == Phase::kInputBinding ||
         phase == Phase::kOutputBinding || phase == Phase::kEnqueueHost;
}

/// Per call, the layers against what encloses them, and why the two may differ.
std::string LayerLine(const EngineSnapshot& engine) {
  const Histogram& sum = engine.layer_sum;
  const bool gpu = Times(engine, Phase::kGpu).count() != 0;
  const Phase outer = gpu ? Phase::kGpu : Phase::kEnqueueHost;
  const Histogram& enclosing = Times(engine, outer);
  std::string out = "layers of " + Printable(engine.id) + ": ";
  if (sum.count() == 0) {
    return out + "none measured; gpu " + Ms(enclosing.total() / enclosing.count()) +
           " ms a call over " + std::to_string(enclosing.count()) + " calls\n";
  }
  const uint64_t layer_average = sum.total() / sum.count();
  out += "sum " + Ms(layer_average) + " ms a call over " + std::to_string(sum.count()) + " calls";
  if (enclosing.count() == 0) return out + "\n";
  const uint64_t outer_average = enclosing.total() / enclosing.count();
  out += ", " + std::string(Info(outer).column) + " " + Ms(outer_average) + " ms a call over " +
         std::to_string(enclosing.count()) + " calls: ";
  const double ratio =
      outer_average == 0 ? 0
                         : static_cast<double>(layer_average) / static_cast<double>(outer_average);
  if (outer_average == 0 || ratio > 1.05) {
    out += gpu ? "layers overlap on auxiliary streams, or timing each of them costs time"
               : "the layers ran longer than the enqueue, which returns before they end, or they "
                 "ran in parallel";
  } else if (ratio < 0.95) {
    out += gpu ? "the rest lies between layers: launch gaps, copies, work that is not a layer"
               : "the rest is the enqueue's own host work, and work that is not a layer";
  } else {
    out += "they agree within 5 %";
  }
  return out + "\n";
}

Json Summary(const Histogram& times) {
  return Json{{"count", times.count()},         {"total_ns", times.total()},
              {"min_ns", times.min()},          {"max_ns", times.max()},
              {"p50_ns", times.Percentile(50)}, {"p90_ns", times.Percentile(90)},
              {"p99_ns", times.Percentile(99)}};
}

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// Lines about layers that a table has at most: a package may hold hundreds of engines.
constexpr size_t kLayerLines = 12;

// An ETDump is ExecuTorch's: engines of other runtimes have none to write into.
std::string EtdumpNote(std::span<const EngineSnapshot> engines) {
  if (Snapshot().format != Format::kEtdump) return "";
  const auto other = [](const EngineSnapshot& e) { return e.identity.runtime != "executorch"; };
  if (std::none_of(engines.begin(), engines.end(), other)) return "";
  return "format etdump writes into ETDumps of ExecuTorch programs: engines of other runtimes "
         "write "
         "no trace\n";
}

}  // namespace

std::string TimingTable() {
  const std::vector<EngineSnapshot> engines = CopyCalled();
  uint64_t calls = 0;
  uint64_t errors = 0;
  uint64_t dropped = 0;
  std::array<Histogram, kPhaseCount> all;
  for (const EngineSnapshot& engine : engines) {
    calls += engine.calls;
    errors += engine.errors;
    dropped += engine.dropped_spans;
    for (size_t i = 0; i < kPhaseCount; ++i) all[i].Merge(engine.phases[i]);
  }

  std::vector<const PhaseInfo*> columns;
  for (const PhaseInfo& info : kPhases) {
    if (info.phase == Phase::kDelegate) continue;
    if (AlwaysShown(info.phase) || all[static_cast<size_t>(info.phase)].count() != 0) {
      columns.push_back(&info);
    }
  }

  const auto row = [&](std::string name, uint64_t row_calls, uint64_t row_errors,
                       const std::array<Histogram, kPhaseCount>& phases,
                       std::span<const EngineSnapshot> of) {
    const Histogram& total = phases[static_cast<size_t>(Phase::kDelegate)];
    std::vector<std::string> cells = {std::move(name), std::to_string(row_calls)};
    if (errors != 0) cells.push_back(std::to_string(row_errors));
    cells.push_back(Ms(total.total()));
    cells.push_back(Ms(total.Percentile(50)));
    cells.push_back(Ms(total.Percentile(99)));
    for (const PhaseInfo* info : columns) {
      cells.push_back(info->phase == Phase::kGpu
                          ? DeviceMs(of)
                          : Ms(phases[static_cast<size_t>(info->phase)].total()));
    }
    return cells;
  };

  std::vector<std::vector<std::string>> rows(1);
  rows[0] = {"engine", "calls"};
  if (errors != 0) rows[0].push_back("errors");
  for (const char* name : {"total ms", "p50 ms", "p99 ms"}) rows[0].push_back(name);
  for (const PhaseInfo* info : columns) rows[0].push_back(std::string(info->column));
  for (const EngineSnapshot& engine : engines) {
    rows.push_back(row(Printable(engine.id), engine.calls, engine.errors, engine.phases,
                       std::span(&engine, 1)));
  }
  rows.push_back(row("ALL", calls, errors, all, engines));

  std::string out = Layout(rows);
  if (engines.empty()) {
    out += "no engine call was measured; profile level is " + std::string(Name(Snapshot().level)) +
           "\n";
  }
  const std::vector<std::string> problems = Problems();
  if (dropped != 0) {
    out += std::to_string(dropped) + " spans dropped from the traces (recorded faster than they " +
           (problems.empty() ? "could be written"
                             : "could be written, or not writable: see the problems below") +
           "); the counters above are complete\n";
  }
  out += EtdumpNote(engines);
  size_t lines = 0;
  for (const EngineSnapshot& engine : engines) {
    if (engine.layer_sum.count() == 0 && Times(engine, Phase::kGpu).count() == 0) continue;
    if (++lines <= kLayerLines) out += LayerLine(engine);
  }
  if (lines > kLayerLines) {
    out += "layers of " + std::to_string(lines - kLayerLines) + " more engines: in the JSON\n";
  }
  for (const std::string& problem : problems) out += "problem: " + Printable(problem) + "\n";
  return out;
}

std::string ConfigJson() {
  const Config config = Snapshot();
  const Json json = {{"level", Name(config.level)},
                     {"format", Name(config.format)},
                     {"path_prefix", config.path_prefix},
                     {"filter", config.filter},
                     {"sample_interval", config.sample_interval},
                     {"generation", config.generation}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TimingJson() {
  Json engines = Json::array();
  uint64_t dropped = 0;
  for (const EngineSnapshot& engine : CopyCalled()) {
    dropped += engine.dropped_spans;
    Json phases = Json::object();
    for (const PhaseInfo& info : kPhases) {
      phases[std::string(info.column)] = Summary(Times(engine, info.phase));
    }
    Json layers = Json::array();
    for (const LayerSnapshot& layer : engine.layers) {
      Json row = {{"name", layer.name}, {"position", layer.position}};
      row.update(Summary(layer.times));
      layers.push_back(std::move(row));
    }
    engines.push_back(Json{{"id", engine.id},
                           {"name", engine.identity.name},
                           {"plan_hash", Hex(engine.identity.plan_hash)},
                           {"implementation", engine.identity.implementation},
                           {"runtime", engine.identity.runtime},
                           {"calls", engine.calls},
                           {"errors", engine.errors},
                           {"dropped_spans", engine.dropped_spans},
                           {"clamped_durations", engine.clamped},
                           {"phases", std::move(phases)},
                           {"layer_sum", Summary(engine.layer_sum)},
                           {"layers", std::move(layers)}});
  }
  const ClockReadings clocks = ReadClocks();
  const Json out = {
      {"engines", std::move(engines)},
      {"dropped_spans", dropped},
      {"errors", Problems()},
      {"config", Json::parse(ConfigJson())},
      {"clock", {{"monotonic_ns", clocks.monotonic_ns}, {"realtime_ns", clocks.realtime_ns}}}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string NamesJson() {
  Json phases = Json::array();
  for (const PhaseInfo& info : kPhases) {
    phases.push_back(Json{{"event", info.event},
                          {"column", info.column},
                          {"file", kTraceFileSuffixes[static_cast<size_t>(info.file)]},
                          {"level", Name(info.level)},
                          {"host_time", info.host_time},
                          {"description", info.description}});
  }
  const Json out = {{"levels", kLevelNames},
                    {"formats", kFormatNames},
                    {"environment",
                     {{"level", kEnvLevel},
                      {"format", kEnvFormat},
                      {"path_prefix", kEnvPathPrefix},
                      {"filter", kEnvFilter},
                      {"sample_interval", kEnvSampleInterval}}},
                    {"phases", std::move(phases)},
                    {"layer_category", kLayerCategory},
                    {"trace_files", kTraceFileSuffixes},
                    {"process_trace", kProcessTraceSuffix}};
  return out.dump();
}

void ResetTiming() {
  EngineTable::Get().Reset();
  ClearProblems();
}

std::string FlushTraces() {
  Tracer::Get().FinishAll();
  std::string out;
  for (const std::string& path : Tracer::Get().TakeFinished()) out += path + "\n";
  return out;
}

void FinishClosedTraces() { Tracer::Get().FinishClosed(); }

}  // namespace trtscope::profiling
