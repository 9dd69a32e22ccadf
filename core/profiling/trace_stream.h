#ifndef TRTSCOPE_CORE_PROFILING_TRACE_STREAM_H_
#define TRTSCOPE_CORE_PROFILING_TRACE_STREAM_H_

// TraceStream: the trace of one engine from when it is turned on to when it is turned off, or
// its folder or format changes.  Its files share a stem that no other stream has.
//
// Two sides.  The engine's path uses Enter, Exit, Drop and the ids: atomics only.  The writer
// (under the tracer's drain mutex) turns records into events.  The lists in between (`own`, the
// level, the baseline) change under the tracer's registry mutex.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/json_array_file.h"
#include "core/profiling/lanes.h"
#include "core/profiling/perfetto_sink.h"
#include "core/profiling/ring.h"
#include "core/profiling/settings.h"
#include "core/profiling/statistics.h"
#include "core/profiling/trex.h"

namespace trtscope::profiling {

class TraceStream {
 public:
  TraceStream(std::shared_ptr<EngineStats> stats, const Effective& effective, uint64_t first_call);
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;

  uint32_t id() const { return id_; }
  void SetId(uint32_t id) { id_ = id; }
  void set_file_limit(uint64_t bytes) { file_limit_ = bytes; }
  EngineStats& stats() const { return *stats_; }
  /// The engine's calls before this one are not in this trace.
  uint64_t first_call() const { return first_call_; }

  // --- engine path (engine mutex) ---

  /// Keeps the stream open until Exit, unless it is closing already: then false, and the engine
  /// looks at its settings again.  Calls nest.
  bool Enter();
  void Exit() { users_.store(users_.load(std::memory_order_relaxed) - 1); }
  void Drop(uint64_t spans) {
    if (spans == 0) return;
    dropped_.fetch_add(spans, std::memory_order_relaxed);
    stats_->AddDropped(spans);
  }
  /// Remembers what the layers counted before, once.
  void TakeBaseline() {
    if (!baseline_) baseline_ = stats_->Baseline();
  }

  // --- any thread ---

  void MarkClosing() { closing_.store(true); }
  bool closing() const { return closing_.load(); }
  bool ReadyToFinish() const { return closing_.load() && users_.load() == 0; }
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  bool UsedByThisThread() const;

  // --- registry mutex ---

  OwnSettings own;
  void RaiseLevel(Level level);
  /// Whether this stream is where an engine with these settings records.
  bool Serves(const Effective& settings) const;

  // --- writer ---

  /// Makes the files that the level asks for and that are not there yet.  What the process writes
  /// as a whole is in `sinks`, which outlive this.
  void OpenFiles(PerfettoSinks& sinks);
  void Write(const SpanRecord& record, int tid, const std::string& thread_name);
  void Flush();
  /// Completes and renames every file; adds their paths to `files`.
  void Finish(std::vector<std::string>& files);
  /// In a forked child: lets go of the parent's files.
  void AbandonInChild();

 private:
  static constexpr size_t kFileCount = kTraceFileSuffixes.size();
  struct Output {
    JsonArrayFile file;
    std::unordered_set<int> tracks;  // thread tracks that have a name
  };

  Level max_level() const { return max_level_.load(std::memory_order_relaxed); }
  bool PickStem();
  std::string PathOf(size_t file) const;
  Status OpenFile(size_t file);
  void WritePhase(const SpanRecord& record, int tid, const std::string& thread_name);
  void WriteLayer(const SpanRecord& record);
  void WriteDropped();
  /// Places a slice on a lane of its kind and appends the event.
  void AppendOnLane(Lanes& lanes, int first_lane, std::string_view lane_name,
                    const std::string& head, SpanRecord record, std::string_view extra_args);
  void AppendSlice(Output& output, const std::string& head, int tid, const SpanRecord& record,
                   std::string_view extra_args);
  void NameTrack(Output& output, int tid, std::string_view name);
  void AppendMetadataHead(std::string_view name, int tid);
  void Fail(const Status& status);
  const std::string& LayerHead(uint32_t row);
  void WriteTrexFiles(std::vector<std::string>& files);

  const std::shared_ptr<EngineStats> stats_;
  const Format format_;
  const std::string folder_;
  const uint64_t first_call_;
  const int64_t opened_ns_ = NowNs();
  uint32_t id_ = 0;
  uint64_t file_limit_ = ~uint64_t{0};

  std::atomic<uint32_t> users_{0};  // written under the engine's mutex only
  std::atomic<const void*> user_thread_{nullptr};
  std::atomic<bool> closing_{false};
  std::atomic<bool> finished_{false};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<Level> max_level_;
  std::optional<LayerBaseline> baseline_;

  // The writer's.
  PerfettoSink* process_ = nullptr;  // null: not this format, or not yet
  bool failed_ = false;
  uint64_t dropped_written_ = 0;
  int pid_ = 0;
  std::string host_;
  std::string stem_;  // folder and file stem; empty before the first file
  std::array<Output, kFileCount> outputs_;
  std::string engine_args_;                     // "args":{"engine":"...","call":
  std::array<std::string, kPhaseCount> heads_;  // {"name":...,"tid":  of each phase
  std::vector<std::string> layer_heads_;        // of each layer row
  std::vector<std::string> layer_args_;         // ,"layer":3
  Lanes gpu_lanes_;
  Lanes layer_lanes_;
  TrexTimings timings_;
  std::string event_;  // reused
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_TRACE_STREAM_H_
