#ifndef TRTSCOPE_CORE_PROFILING_PERFETTO_FILE_H_
#define TRTSCOPE_CORE_PROFILING_PERFETTO_FILE_H_

// PerfettoFile: spans of every engine and thread of the process as one self-contained trace.
//
//   process
//     thread                 calls, the phases in them, the layers that were timed in them
//     engine ID
//       gpu [N]              device time of calls, and in it the layers that came later
//       layers [N]           layers that fit into nothing above
//       workspace bytes, dropped spans
//     calls in flight
//
// Threads: none of its own; the writer's mutex guards it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"
#include "core/profiling/lanes.h"
#include "core/profiling/packet_file.h"
#include "core/profiling/perfetto_sequence.h"
#include "core/profiling/perfetto_tracks.h"
#include "core/profiling/ring.h"
#include "core/profiling/statistics.h"

namespace trtscope::profiling {

class PerfettoFile {
 public:
  PerfettoFile() : tracks_(file_) {}

  Status Open(const std::string& path);
  const std::string& path() const { return file_.path(); }
  uint64_t size() const { return file_.size(); }

  /// What one thread recorded of one call at its end: the call, its phases, its layers.
  void WriteCall(std::span<const SpanRecord> records, const EngineStats& stats, int tid,
                 std::string_view thread_name);
  void WriteGpuSpan(const SpanRecord& record, const EngineStats& stats);
  /// Layers of one call that came after it.
  void WriteLateLayers(std::span<const SpanRecord> records, const EngineStats& stats);

  // Counters, written when they changed.
  void CountEngine(const EngineStats& stats, int64_t now_ns);
  void CountInFlight(uint64_t calls, int64_t now_ns);

  Status Flush();
  Status Finish() { return file_.Finish(); }
  void Abandon() { file_.Abandon(); }

 private:
  class Counter {
   public:
    void Set(PerfettoTracks& tracks, uint64_t parent, std::string_view name, pf::CounterUnit unit,
             int64_t now_ns, uint64_t value);

   private:
    std::optional<PerfettoSequence> sequence_;
    uint64_t value_ = 0;
  };
  struct Lane {
    uint64_t track;
    PerfettoSequence spans;
    std::optional<PerfettoSequence> layers;  // in the spans: they come when those were written
  };
  /// A kind of lanes of an engine, and the tracks of those that were used.
  struct LaneGroup {
    Lanes places;
    std::vector<Lane> lanes;
  };
  /// What is remembered of a call until its GPU span and its late layers have come.
  struct Pending {
    uint64_t flow_call = 0;  // a flow begins in this call's enqueue
    uint64_t gpu_call = 0;   // this call's span is what follows
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    size_t lane = 0;
  };
  struct Engine {
    uint64_t track = 0;
    LaneGroup gpu;
    LaneGroup layers;
    std::vector<Pending> pending;  // by a hash of the call; a newer one takes the place
    Counter workspace;
    Counter dropped;
  };

  Engine& EngineOf(const EngineStats& stats);
  static Pending& PendingOf(Engine& engine, uint64_t call);
  PerfettoSequence& Thread(int tid, std::string_view name, int64_t first_ns);
  Lane& LaneAt(LaneGroup& group, size_t lane, uint64_t parent, std::string_view name,
               std::string_view description, int64_t first_ns);
  void BeginPhase(PerfettoSequence& thread, const SpanRecord& record, const EngineStats& stats,
                  bool whole_call);
  static PerfettoSlice LayerSlice(PerfettoSequence& to, const SpanRecord& record,
                                  const EngineStats& stats);
  void WriteLayersOnLanes(std::span<const SpanRecord> records, const EngineStats& stats);

  PacketFile file_;
  PerfettoTracks tracks_;
  std::unordered_map<int, PerfettoSequence> threads_;
  std::unordered_map<uint32_t, Engine> engines_;
  Counter in_flight_;
  int64_t clocks_ns_ = 0;
  std::vector<SpanRecord> nested_;    // reused
  std::vector<SpanRecord> unnested_;  // reused
  std::vector<int64_t> open_ends_;    // reused
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PERFETTO_FILE_H_
