#include "core/profiling/trace_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/profiling/clock.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/files.h"
#include "core/profiling/json_text.h"
#include "core/profiling/process_info.h"

namespace trtscope::profiling {
namespace {

// Lanes are tracks that are no threads: above every thread id that Linux gives out (2^22).
constexpr int kLaneBase = 0x4000'0000;
constexpr int kLanesPerEngine = 64;
constexpr int kLanesOfAKind = kLanesPerEngine / 2;
static_assert(Lanes::kMax == kLanesOfAKind);

thread_local constinit char this_thread_mark = 0;

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

TraceStream::TraceStream(std::shared_ptr<EngineStats> stats, const Effective& effective,
                         uint64_t first_call)
    : stats_(std::move(stats)),
      format_(effective.format),
      folder_(effective.path_prefix),
      first_call_(first_call),
      max_level_(effective.level) {}

bool TraceStream::Enter() {
  // Against MarkClosing and then ReadyToFinish, both sequentially consistent: either the closer
  // sees this user, or this user sees the closing.
  users_.store(users_.load(std::memory_order_relaxed) + 1);
  if (closing_.load()) [[unlikely]] {
    Exit();
    return false;
  }
  user_thread_.store(&this_thread_mark, std::memory_order_relaxed);
  return true;
}

bool TraceStream::UsedByThisThread() const {
  return users_.load() != 0 && user_thread_.load(std::memory_order_relaxed) == &this_thread_mark;
}

void TraceStream::RaiseLevel(Level level) {
  if (level > max_level()) max_level_.store(level, std::memory_order_relaxed);
}

bool TraceStream::Serves(const Effective& settings) const {
  return settings.level != Level::kOff && settings.format == format_ &&
         settings.path_prefix == folder_;
}

// --- files ---

bool TraceStream::PickStem() {
  // Nothing is overwritten: neither another process's files (host and pid are in the name) nor
  // an earlier trace of this engine.  OpenFile claims the name for good.
  const std::string base = JoinPath(
      folder_, stats_->file_stem() + "." + SafeFileName(host_) + "." + std::to_string(pid_));
  // Where the search ended last time, or the n-th trace would try n names.  Only under the
  // tracer's drain mutex; never destroyed.
  static auto* const next_number = new std::unordered_map<std::string, uint64_t>;
  uint64_t& first = (*next_number)[base];
  constexpr uint64_t kMaxTries = 100'000;
  for (uint64_t n = first; n < first + kMaxTries; ++n) {
    stem_ = n == 0 ? base : base + "." + std::to_string(n);
    bool taken = FileExists(stem_ + ".engine.metadata.json");
    for (size_t i = 0; i < kFileCount && !taken; ++i) {
      const std::string path = PathOf(i);
      taken = FileExists(path) || FileExists(path + ".partial") || FileExists(path + ".opening");
    }
    if (taken) continue;
    const Status status = OpenFile(static_cast<size_t>(TraceFile::kEngineExecution));
    if (status.ok()) {
      first = n + 1;
      return true;
    }
    if (status.code() == StatusCode::kFailedPrecondition) continue;  // just taken by another
    stem_.clear();
    Fail(status);
    return false;
  }
  stem_.clear();
  Fail(ResourceExhausted("no free file name like " + base + ".N"));
  return false;
}

std::string TraceStream::PathOf(size_t file) const {
  return stem_ + std::string(kTraceFileSuffixes[file]);
}

void TraceStream::AppendMetadataHead(std::string_view name, int tid) {
  event_ += "{\"name\":";
  AppendJsonString(event_, name);
  event_ += ",\"cat\":\"__metadata\",\"ph\":\"M\",\"pid\":";
  AppendInt(event_, pid_);
  event_ += ",\"tid\":";
  AppendInt(event_, tid);
  event_ += ",\"ts\":0.000,\"args\":{";
}

// All that a reader must know of the file is in its first piece.
Status TraceStream::OpenFile(size_t file) {
  event_.clear();
  AppendMetadataHead("process_name", pid_);
  event_ += "\"name\":";
  AppendJsonString(event_, ProcessName(), kMaxIdBytes);
  event_ += "}}";
  event_ += ",\n";
  // One instant on both clocks: `ts` is CLOCK_MONOTONIC, logs are CLOCK_REALTIME.
  const ClockReadings clocks = ReadClocks();
  AppendMetadataHead("trtscope.clock", pid_);
  event_ += "\"clock\":\"CLOCK_MONOTONIC\",\"monotonic_ns\":";
  AppendInt(event_, clocks.monotonic_ns);
  event_ += ",\"realtime_ns\":";
  AppendInt(event_, clocks.realtime_ns);
  event_ += "}},\n";

  const EngineIdentity& identity = stats_->identity();
  AppendMetadataHead("trtscope.engine", pid_);
  const auto text = [&](std::string_view key, std::string_view value, bool last = false) {
    AppendJsonString(event_, key);
    event_ += ':';
    AppendJsonString(event_, value, kMaxIdBytes);
    if (!last) event_ += ',';
  };
  text("engine", stats_->id());
  text("plan_hash", Hex(identity.plan_hash));
  text("implementation", identity.implementation);
  text("runtime", identity.runtime);
  text("host", host_);
  text("format", Name(format_), true);
  event_ += "}}";
  return outputs_[file].file.Open(PathOf(file), event_);
}

void TraceStream::OpenFiles(PerfettoSinks& sinks) {
  if (failed_ || finished()) return;
  if (stem_.empty()) {
    pid_ = static_cast<int>(::getpid());
    host_ = HostName();
    engine_args_ = ",\"args\":{\"engine\":";
    AppendJsonString(engine_args_, stats_->id(), kMaxIdBytes);
    engine_args_ += ",\"call\":";
    for (const PhaseInfo& info : kPhases) {
      std::string& head = heads_[static_cast<size_t>(info.phase)];
      head = "{\"name\":";
      AppendJsonString(head, info.event);
      head += ",\"cat\":\"";
      head += kPhaseCategory;
      head += "\",\"ph\":\"X\",\"pid\":";
      AppendInt(head, pid_);
      head += ",\"tid\":";
    }
    if (Status status = MakeFolders(folder_); !status.ok()) return Fail(status);
    if (format_ == Format::kPerfetto) {
      process_ = &sinks.In(folder_);
      process_->Attach(file_limit_);
    }
    if (!PickStem()) return;
  }
  if (max_level() < Level::kPhases) return;
  for (size_t i = 0; i < kFileCount; ++i) {
    if (outputs_[i].file.is_open()) continue;
    if (Status status = OpenFile(i); !status.ok()) return Fail(status);
  }
}

void TraceStream::Fail(const Status& status) {
  failed_ = true;
  std::string id = stats_->id();
  if (id.size() > kMaxIdBytes) id = id.substr(0, kMaxIdBytes) + "...";
  ReportProblem("the trace of engine '" + id + "' is incomplete or missing: " +
                std::string(status.message()) + "; its counters go on");
}

// --- events ---

void TraceStream::NameTrack(Output& output, int tid, std::string_view name) {
  if (!output.tracks.insert(tid).second) return;
  event_.clear();
  AppendMetadataHead("thread_name", tid);
  event_ += "\"name\":";
  AppendJsonString(event_, name, kMaxNameBytes);
  event_ += "}}";
  output.file.Append(event_);
}

void TraceStream::AppendSlice(Output& output, const std::string& head, int tid,
                              const SpanRecord& record, std::string_view extra_args) {
  event_.clear();
  event_ += head;
  AppendInt(event_, tid);
  event_ += ",\"ts\":";
  AppendMicros(event_, record.start_ns);
  event_ += ",\"dur\":";
  AppendMicros(event_, record.duration_ns);
  event_ += engine_args_;
  AppendUint(event_, record.call);
  event_ += extra_args;
  if (record.flags & kSpanFailed) event_ += ",\"failed\":true";
  if (record.flags & kSpanEstimated) event_ += ",\"start\":\"estimated\"";
  event_ += "}}";
  output.file.Append(event_);
}

void TraceStream::AppendOnLane(Lanes& lanes, int first_lane, std::string_view lane_name,
                               const std::string& head, SpanRecord record,
                               std::string_view extra_args) {
  const size_t lane = lanes.Place(record);
  const int tid = kLaneBase + static_cast<int>(stats_->uid() % 0x80'0000) * kLanesPerEngine +
                  first_lane + static_cast<int>(lane);
  Output& output = outputs_[static_cast<size_t>(TraceFile::kEngineExecution)];
  if (!output.tracks.contains(tid)) {
    std::string name(lane_name);
    if (lane > 0) name += " " + std::to_string(lane + 1);
    NameTrack(output, tid, name + " " + stats_->id());
  }
  AppendSlice(output, head, tid, record, extra_args);
}

const std::string& TraceStream::LayerHead(uint32_t row) {
  if (row >= layer_heads_.size()) {
    layer_heads_.resize(row + 1);
    layer_args_.resize(row + 1);
  }
  std::string& head = layer_heads_[row];
  if (head.empty()) {
    const auto [name, position] = stats_->Layer(row);
    head = "{\"name\":";
    AppendJsonString(head, name, kMaxNameBytes);
    head += ",\"cat\":\"";
    head += kLayerCategory;
    head += "\",\"ph\":\"X\",\"pid\":";
    AppendInt(head, pid_);
    head += ",\"tid\":";
    std::string& args = layer_args_[row];
    args = ",\"layer\":";
    AppendUint(args, position);
    if (name.size() > kMaxNameBytes) {
      args += ",\"name_bytes\":";
      AppendUint(args, name.size());
    }
  }
  return head;
}

void TraceStream::WriteLayer(const SpanRecord& record) {
  const std::string& head = LayerHead(record.name);
  AppendOnLane(layer_lanes_, 0, "layers", head, record, layer_args_[record.name]);
}

void TraceStream::WritePhase(const SpanRecord& record, int tid, const std::string& thread_name) {
  const PhaseInfo& info = kPhases[record.name];
  if (format_ == Format::kTrex) {
    timings_.Add(info.phase, record.call, record.start_ns, record.duration_ns);
  }
  const std::string& head = heads_[record.name];
  if (!info.host_time) {
    AppendOnLane(gpu_lanes_, kLanesOfAKind, "gpu", head, record, ",\"clock\":\"device events\"");
    return;
  }
  Output& output = outputs_[static_cast<size_t>(info.file)];
  NameTrack(output, tid, thread_name);
  AppendSlice(output, head, tid, record, {});
}

void TraceStream::Write(const SpanRecord& raw, int tid, const std::string& thread_name) {
  SpanRecord record = raw;
  // Times from a runtime below may be anything; sums of what is left cannot overflow.
  constexpr int64_t kMaxTime = int64_t{1} << 60;
  record.start_ns = std::clamp<int64_t>(record.start_ns, 0, kMaxTime);
  record.duration_ns = std::clamp<int64_t>(record.duration_ns, 0, kMaxTime);
  if (process_ != nullptr) process_->Write(record, *stats_, tid, thread_name);
  if (failed_ || finished()) return Drop(1);
  if (static_cast<SpanKind>(record.kind) == SpanKind::kLayer) {
    WriteLayer(record);
  } else {
    WritePhase(record, tid, thread_name);
  }
  // Half a gigabyte does not open in a viewer: end here, the engine's next call begins anew.
  const auto& main = outputs_[static_cast<size_t>(TraceFile::kEngineExecution)].file;
  if (main.size() > file_limit_) MarkClosing();
}

void TraceStream::WriteDropped() {
  const uint64_t dropped = dropped_.load(std::memory_order_relaxed);
  if (dropped == dropped_written_) return;
  dropped_written_ = dropped;
  event_.clear();
  event_ +=
      "{\"name\":\"trtscope.dropped_spans\",\"cat\":\"torchtrt\",\"ph\":\"i\",\"s\":\"p\","
      "\"pid\":";
  AppendInt(event_, pid_);
  event_ += ",\"tid\":";
  AppendInt(event_, pid_);
  event_ += ",\"ts\":";
  AppendMicros(event_, NowNs());
  event_ += ",\"args\":{\"engine\":";
  AppendJsonString(event_, stats_->id(), kMaxIdBytes);
  event_ += ",\"dropped_spans\":";
  AppendUint(event_, dropped);
  event_ += "}}";
  outputs_[static_cast<size_t>(TraceFile::kEngineExecution)].file.Append(event_);
}

void TraceStream::Flush() {
  if (process_ != nullptr) process_->Sample(*stats_, users_.load(std::memory_order_relaxed) != 0);
  if (failed_ || finished()) return;
  WriteDropped();
  for (Output& output : outputs_) {
    if (!output.file.is_open()) continue;
    if (Status status = output.file.Flush(); !status.ok()) return Fail(status);
  }
}

void TraceStream::Finish(std::vector<std::string>& files) {
  if (finished()) return;
  if (!stem_.empty()) {
    WriteDropped();
    event_.clear();
    AppendMetadataHead("trtscope.end", pid_);
    event_ += "\"dropped_spans\":";
    AppendUint(event_, dropped_.load(std::memory_order_relaxed));
    event_ += ",\"complete\":";
    event_ += failed_ ? "false" : "true";
    event_ += "}}";
    for (Output& output : outputs_) {
      if (!output.file.is_open()) continue;
      output.file.Append(event_);
      if (Status status = output.file.Finish(); !status.ok()) Fail(status);
      if (FileExists(output.file.path())) files.push_back(output.file.path());
    }
    WriteTrexFiles(files);
  }
  if (process_ != nullptr) {
    process_->Sample(*stats_, false);
    process_->Detach();
    process_ = nullptr;
  }
  // A finished stream may be held by its engine until its next call: give the memory back.
  layer_heads_ = {};
  layer_args_ = {};
  timings_ = {};
  baseline_.reset();
  finished_.store(true, std::memory_order_release);
}

void TraceStream::WriteTrexFiles(std::vector<std::string>& files) {
  const bool trex = format_ == Format::kTrex;
  const bool layers = max_level() >= Level::kLayers;
  const auto write = [&](const char* suffix, const std::string& text) {
    const std::string path = stem_ + suffix;
    if (Status status = WriteFileAtomically(path, text); !status.ok()) return Fail(status);
    files.push_back(path);
  };
  if (layers) {
    write(".engine.profile.json",
          TrexProfile(stats_->LayersSince(baseline_.value_or(LayerBaseline{}))));
  }
  if (!trex || max_level() < Level::kPhases) return;
  const auto graph = stats_->inspector_json();
  if (layers && graph != nullptr) write(".engine.graph.json", *graph);
  const ClockReadings clocks = ReadClocks();
  write(".engine.timing.json", timings_.Json(opened_ns_));
  const EngineIdentity& identity = stats_->identity();
  std::string out = "{";
  const auto text = [&](std::string_view key, std::string_view value) {
    out += out.size() == 1 ? "\n  " : ",\n  ";
    AppendJsonString(out, key);
    out += ": ";
    AppendJsonString(out, value);
  };
  const auto number = [&](std::string_view key, uint64_t value) {
    out += ",\n  ";
    AppendJsonString(out, key);
    out += ": ";
    AppendUint(out, value);
  };
  text("engine", stats_->id());
  text("name", identity.name);
  text("plan_hash", Hex(identity.plan_hash));
  text("implementation", identity.implementation);
  text("runtime", identity.runtime);
  text("host", host_);
  text("compute_is", timings_.has_gpu() ? "device time between events"
                                        : "host time of the enqueue: no device time was measured");
  text("graph", graph != nullptr ? "inspector" : "the engine gave no inspector information");
  number("pid", static_cast<uint64_t>(pid_));
  number("timed_calls", timings_.size());
  number("calls_left_out", timings_.left_out());
  number("dropped_spans", dropped_.load(std::memory_order_relaxed));
  number("time_zero_monotonic_ns", static_cast<uint64_t>(opened_ns_));
  number("monotonic_ns", static_cast<uint64_t>(clocks.monotonic_ns));
  number("realtime_ns", static_cast<uint64_t>(clocks.realtime_ns));
  out += "\n}\n";
  write(".engine.metadata.json", out);
}

void TraceStream::AbandonInChild() {
  for (Output& output : outputs_) output.file.Abandon();
}

}  // namespace trtscope::profiling
