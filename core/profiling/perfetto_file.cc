#include "core/profiling/perfetto_file.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <tuple>

#include "core/profiling/clock.h"

namespace trtscope::profiling {
namespace {

constexpr int64_t kClocksEveryNs = 10'000'000'000;
constexpr size_t kPendingBits = 8;

int64_t EndOf(const SpanRecord& record) { return record.start_ns + record.duration_ns; }
bool IsLayer(const SpanRecord& record) {
  return static_cast<SpanKind>(record.kind) == SpanKind::kLayer;
}
bool IsEstimated(const SpanRecord& record) { return (record.flags & kSpanEstimated) != 0; }

std::string Description(const EngineStats& stats) {
  const EngineIdentity& identity = stats.identity();
  char hash[32];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(identity.plan_hash));
  return identity.name.substr(0, kMaxIdBytes) + ": plan " + hash + ", implementation " +
         identity.implementation + ", runtime " + identity.runtime;
}

}  // namespace

Status PerfettoFile::Open(const std::string& path) {
  clocks_ns_ = NowNs();
  return tracks_.Open(path);
}

// --- where things are ---

PerfettoFile::Engine& PerfettoFile::EngineOf(const EngineStats& stats) {
  const auto [found, added] = engines_.try_emplace(stats.uid());
  if (added) {
    found->second.track =
        tracks_.AddTrack(tracks_.process(), "engine " + stats.id(), Description(stats));
  }
  return found->second;
}

PerfettoFile::Pending& PerfettoFile::PendingOf(Engine& engine, uint64_t call) {
  if (engine.pending.empty()) engine.pending.resize(size_t{1} << kPendingBits);
  return engine.pending[(call * 0x9e3779b97f4a7c15) >> (64 - kPendingBits)];
}

PerfettoSequence& PerfettoFile::Thread(int tid, std::string_view name, int64_t first_ns) {
  const auto found = threads_.find(tid);
  if (found != threads_.end()) return found->second;
  const uint64_t track = tracks_.AddThread(tid, name);
  return threads_.emplace(tid, tracks_.NewSequence(track, first_ns)).first->second;
}

PerfettoFile::Lane& PerfettoFile::LaneAt(LaneGroup& group, size_t lane, uint64_t parent,
                                         std::string_view name, std::string_view description,
                                         int64_t first_ns) {
  while (group.lanes.size() <= lane) {
    std::string title(name);
    if (!group.lanes.empty()) title += " " + std::to_string(group.lanes.size() + 1);
    const uint64_t track = tracks_.AddTrack(parent, title, description);
    group.lanes.push_back({track, tracks_.NewSequence(track, first_ns), std::nullopt});
  }
  return group.lanes[lane];
}

// --- slices ---

void PerfettoFile::BeginPhase(PerfettoSequence& thread, const SpanRecord& record,
                              const EngineStats& stats, bool whole_call) {
  const auto phase = static_cast<Phase>(record.name);
  PerfettoSlice slice;
  slice.start_ns = record.start_ns;
  slice.name = thread.PhaseName(phase);
  if (phase == Phase::kDelegate) {
    // What lies inside is of the same category, engine and call: 40 bytes a span are the limit,
    // and a call alone has room for its engine only.
    slice.category = PerfettoCategory::kPhase;
    slice.engine = thread.EngineName(stats);
    if (whole_call) slice.call = record.call;
    slice.failed = (record.flags & kSpanFailed) != 0;
  }
  if ((record.flags & kSpanGpuFollows) != 0) {
    PendingOf(EngineOf(stats), record.call).flow_call = record.call;
    slice.flow = tracks_.FlowId(stats.uid(), record.call);
  }
  thread.Begin(slice);
}

PerfettoSlice PerfettoFile::LayerSlice(PerfettoSequence& to, const SpanRecord& record,
                                       const EngineStats& stats) {
  PerfettoSlice slice;
  slice.start_ns = record.start_ns;
  slice.name = to.LayerName(stats, record.name);
  slice.category = PerfettoCategory::kLayer;
  slice.estimated = IsEstimated(record);
  return slice;
}

void PerfettoFile::WriteCall(std::span<const SpanRecord> records, const EngineStats& stats, int tid,
                             std::string_view thread_name) {
  EngineOf(stats);  // its track comes before the first that is said of it
  nested_.clear();
  unnested_.clear();
  for (const SpanRecord& record : records) {
    // Layers whose times alone were measured lie anywhere, but not in this thread.
    (IsLayer(record) && IsEstimated(record) ? unnested_ : nested_).push_back(record);
  }
  // Outer slices before what they hold.
  const auto outer_first = [](const SpanRecord& a, const SpanRecord& b) {
    return std::tuple(a.start_ns, -a.duration_ns) < std::tuple(b.start_ns, -b.duration_ns);
  };
  if (!std::is_sorted(nested_.begin(), nested_.end(), outer_first)) {
    std::stable_sort(nested_.begin(), nested_.end(), outer_first);
  }
  if (nested_.empty()) return WriteLayersOnLanes(unnested_, stats);
  PerfettoSequence& thread = Thread(tid, thread_name, nested_.front().start_ns);
  open_ends_.clear();
  const auto end_until = [&](int64_t ns) {
    while (!open_ends_.empty() && open_ends_.back() <= ns) {
      thread.End(open_ends_.back());
      open_ends_.pop_back();
    }
  };
  for (const SpanRecord& record : nested_) {
    end_until(record.start_ns);
    int64_t end = EndOf(record);
    if (IsLayer(record)) {
      if (open_ends_.empty() || end > open_ends_.back()) {
        unnested_.push_back(record);
        continue;
      }
      thread.Begin(LayerSlice(thread, record, stats));
    } else {
      if (!open_ends_.empty()) end = std::min(end, open_ends_.back());
      BeginPhase(thread, record, stats, nested_.size() > 1);
    }
    open_ends_.push_back(end);
  }
  end_until(std::numeric_limits<int64_t>::max());
  WriteLayersOnLanes(unnested_, stats);
}

void PerfettoFile::WriteGpuSpan(const SpanRecord& raw, const EngineStats& stats) {
  Engine& engine = EngineOf(stats);
  SpanRecord record = raw;
  const size_t place = engine.gpu.places.Place(record);
  Lane& lane =
      LaneAt(engine.gpu, place, engine.track, "gpu",
             "Durations are measured by device events. Starts are placed on the host's clock "
             "and may be early, never late.",
             record.start_ns);
  PerfettoSlice slice;
  slice.start_ns = record.start_ns;
  slice.name = lane.spans.PhaseName(Phase::kGpu);
  slice.category = PerfettoCategory::kPhase;
  slice.call = record.call;
  Pending& pending = PendingOf(engine, record.call);
  if (pending.flow_call == record.call || (record.flags & kSpanBeforeCall) != 0) {
    pending.flow_call = 0;
    slice.flow = tracks_.FlowId(stats.uid(), record.call);
    slice.flow_ends = true;
  }
  lane.spans.Whole(slice, EndOf(record));
  pending.gpu_call = record.call;
  pending.start_ns = record.start_ns;
  pending.end_ns = EndOf(record);
  pending.lane = place;
}

void PerfettoFile::WriteLateLayers(std::span<const SpanRecord> records, const EngineStats& stats) {
  Engine& engine = EngineOf(stats);
  const Pending& span = PendingOf(engine, records.front().call);
  int64_t cursor = span.start_ns;
  bool fits = span.gpu_call == records.front().call;
  for (const SpanRecord& record : records) {
    // Before the span's end, not at it: both ends at one time would be ambiguous.
    fits = fits && record.start_ns >= cursor && EndOf(record) < span.end_ns;
    cursor = EndOf(record);
  }
  if (!fits) return WriteLayersOnLanes(records, stats);
  Lane& lane = engine.gpu.lanes[span.lane];
  if (!lane.layers) lane.layers.emplace(tracks_.NewSequence(lane.track, records.front().start_ns));
  for (const SpanRecord& record : records) {
    lane.layers->Whole(LayerSlice(*lane.layers, record, stats), EndOf(record));
  }
}

void PerfettoFile::WriteLayersOnLanes(std::span<const SpanRecord> records,
                                      const EngineStats& stats) {
  if (records.empty()) return;
  Engine& engine = EngineOf(stats);
  for (SpanRecord record : records) {
    const size_t place = engine.layers.places.Place(record);
    Lane& lane = LaneAt(engine.layers, place, engine.track, "layers",
                        "Layers that lie in no slice of a thread or of the GPU.", record.start_ns);
    lane.spans.Whole(LayerSlice(lane.spans, record, stats), EndOf(record));
  }
}

// --- counters ---

void PerfettoFile::Counter::Set(PerfettoTracks& tracks, uint64_t parent, std::string_view name,
                                pf::CounterUnit unit, int64_t now_ns, uint64_t value) {
  if (sequence_ && value == value_) return;
  if (!sequence_) {
    sequence_.emplace(tracks.NewSequence(tracks.AddCounter(parent, name, unit), now_ns));
  }
  value_ = value;
  sequence_->Count(now_ns, value);
}

void PerfettoFile::CountEngine(const EngineStats& stats, int64_t now_ns) {
  Engine& engine = EngineOf(stats);
  engine.dropped.Set(tracks_, engine.track, "dropped spans", pf::kUnitCount, now_ns,
                     stats.dropped());
  // Zero says that nobody told.
  if (const uint64_t bytes = stats.workspace_bytes(); bytes != 0) {
    engine.workspace.Set(tracks_, engine.track, "workspace", pf::kUnitBytes, now_ns, bytes);
  }
}

void PerfettoFile::CountInFlight(uint64_t calls, int64_t now_ns) {
  in_flight_.Set(tracks_, tracks_.process(), "calls in flight", pf::kUnitCount, now_ns, calls);
}

Status PerfettoFile::Flush() {
  if (const int64_t now = NowNs(); now - clocks_ns_ > kClocksEveryNs) {
    clocks_ns_ = now;
    tracks_.WriteClocks();
  }
  return file_.Flush();
}

}  // namespace trtscope::profiling
