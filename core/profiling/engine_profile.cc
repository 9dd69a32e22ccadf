#include "core/profiling/engine_profile.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/profiling/fork.h"
#include "core/profiling/settings.h"
#include "core/profiling/statistics.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {
namespace {

int64_t AddClamped(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? a : sum;
}

/// Collects one call's layers by position; committed once, at the call's end.
class LayerCollector final : public LayerSink {
 public:
  void Begin(EngineStats* stats, uint64_t call, int64_t begin_ns) {
    stats_ = stats;
    epoch_ = ForkEpoch();
    call_ = call;
    cursor_ns_ = begin_ns;
    left_out_ = 0;
    samples_.clear();
    samples_.reserve(stats->expected_layers());
  }
  /// Layers without a start of their own begin here and lie end to end.
  void MoveTo(int64_t begin_ns) { cursor_ns_ = begin_ns; }
  void End() {
    stats_ = nullptr;
    samples_.clear();
  }

  void OnLayer(const char* name, int64_t start_ns, int64_t duration_ns) noexcept override {
    constexpr size_t kMaxSamples = size_t{1} << 20;
    // A late callback, after its call was committed, belongs to nothing any more.
    if (stats_ == nullptr || epoch_ != ForkEpoch()) [[unlikely]]
      return;
    if (samples_.size() >= kMaxSamples) [[unlikely]] {
      ++left_out_;
      return;
    }
    const bool estimated = start_ns < 0;
    const int64_t start = estimated ? cursor_ns_ : start_ns;
    cursor_ns_ = AddClamped(start, std::max<int64_t>(duration_ns, 0));
    const uint32_t row = stats_->RowAt(samples_.size(), name != nullptr ? name : "(unnamed)");
    samples_.push_back(LayerSample{start, duration_ns, row, estimated});
  }

  uint64_t call() const { return call_; }
  uint64_t left_out() const { return left_out_; }
  const std::vector<LayerSample>& samples() const { return samples_; }

 private:
  EngineStats* stats_ = nullptr;
  uint32_t epoch_ = 0;
  uint64_t call_ = 0;
  int64_t cursor_ns_ = 0;
  uint64_t left_out_ = 0;
  std::vector<LayerSample> samples_;  // keeps its memory
};

class NullSink final : public LayerSink {
 public:
  void OnLayer(const char*, int64_t, int64_t) noexcept override {}
};
NullSink null_sink;

/// Adds `samples` to the ring; returns how many did not fit.
uint64_t AddLayers(SpanRing::Batch& batch, const TraceStream& stream,
                   const std::vector<LayerSample>& samples, uint64_t call, uint8_t flags) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const LayerSample& layer = samples[i];
    SpanRecord record{};
    record.start_ns = layer.start_ns;
    record.duration_ns = layer.duration_ns;
    record.stream = stream.id();
    record.name = layer.row;
    record.call = call & ((uint64_t{1} << 48) - 1);
    record.kind = static_cast<uint8_t>(SpanKind::kLayer);
    record.flags = static_cast<uint8_t>(layer.estimated ? flags | kSpanEstimated : flags);
    if (!batch.Add(record)) return samples.size() - i;
  }
  return 0;
}

/// Only while a tool listens.
nvtx::Name PhaseRangeName(Phase phase) {
  static const std::array<nvtx::Name, kPhaseCount> names = [] {
    std::array<nvtx::Name, kPhaseCount> all;
    for (const PhaseInfo& info : kPhases) {
      all[static_cast<size_t>(info.phase)] = nvtx::Register(info.event);
    }
    return all;
  }();
  return names[static_cast<size_t>(phase)];
}

bool AddPhase(SpanRing::Batch& batch, const TraceStream& stream, Phase phase, int64_t start_ns,
              int64_t duration_ns, uint64_t call, uint8_t flags) {
  SpanRecord record{};
  record.start_ns = start_ns;
  record.duration_ns = duration_ns;
  record.stream = stream.id();
  record.name = static_cast<uint32_t>(phase);
  record.call = call & ((uint64_t{1} << 48) - 1);
  record.kind = static_cast<uint8_t>(SpanKind::kPhase);
  record.flags = flags;
  return batch.Add(record);
}

}  // namespace

// Everything here is guarded by the engine's mutex.
struct EngineProfile::State {
  std::shared_ptr<EngineStats> stats;
  OwnSettings own;
  Effective effective;
  std::shared_ptr<TraceStream> stream;  // null: no trace is open
  CallObserver* observer = nullptr;
  uint64_t calls = 0;
  uint64_t last_traced_call = 0;
  uint32_t epoch = ForkEpoch();
  bool in_call = false;
  bool prepared = false;
  bool refused = false;  // this call has no trace because the writer is behind
  LayerCollector layers;
  LayerCollector late_layers;
  // Spans beyond what a recorder holds: counted in the sums, left out of the trace.
  std::array<int64_t, kPhaseCount> folded_ns{};
  uint32_t folded_seen = 0;
  uint64_t folded_spans = 0;
  nvtx::Name range_name;  // the id, from the first call on that a tool hears of

  /// In a forked child: leaves the parent's counters and trace behind.
  void FollowFork() {
    if (epoch == ForkEpoch()) return;
    epoch = ForkEpoch();
    while (stats->successor != nullptr) stats = stats->successor;
    // The parent's stream is in its abandoned tracer too, so this destroys nothing.
    stream.reset();
    in_call = false;
    prepared = false;
    layers.End();
    late_layers.End();
    folded_ns.fill(0);
    folded_seen = 0;
    folded_spans = 0;
  }

  void CloseStream() {
    if (stream == nullptr) return;
    Tracer::Get().Close(*stream);
    stream.reset();
  }

  /// Null when nobody listens.
  CallObserver* listener() const {
    return observer != nullptr && observer->listening() ? observer : nullptr;
  }

  void TellLayers(uint64_t call, const std::vector<LayerSample>& samples) const {
    CallObserver* const to = listener();
    if (to == nullptr) return;
    for (const LayerSample& layer : samples) {
      to->OnLayer(call, stats->Layer(layer.row).first, layer.start_ns, layer.duration_ns,
                  layer.estimated);
    }
  }

  /// The open stream, entered, when it covers `call`.
  TraceStream* EnterFor(uint64_t call) {
    if (stream == nullptr || call < stream->first_call() || !stream->Enter()) return nullptr;
    return stream.get();
  }
};

std::shared_ptr<EngineProfile> EngineProfile::Register(EngineIdentity identity) {
  return std::shared_ptr<EngineProfile>(new EngineProfile(std::move(identity)));
}

EngineProfile::EngineProfile(EngineIdentity identity) : state_(std::make_unique<State>()) {
  nvtx::Open();
  state_->stats = EngineTable::Get().Add(std::move(identity));
}

EngineProfile::~EngineProfile() {
  state_->FollowFork();
  state_->CloseStream();
  EngineTable::Get().Release(state_->stats);
}

const std::string& EngineProfile::id() const { return state_->stats->id(); }
const EngineIdentity& EngineProfile::identity() const { return state_->stats->identity(); }

void EngineProfile::SetOwnLevel(Level level) {
  state_->own.level = level;
  ApplyOwn();
}

Status EngineProfile::SetOwnFormat(std::string_view name) {
  TRTSCOPE_ASSIGN_OR_RETURN(const Format format, ParseFormat(name));
  state_->own.format = format;
  ApplyOwn();
  return OkStatus();
}

Status EngineProfile::SetOwnPathPrefix(std::string_view folder) {
  TRTSCOPE_RETURN_IF_ERROR(CheckPathPrefix(folder));
  state_->own.path_prefix = std::string(folder);
  ApplyOwn();
  return OkStatus();
}

void EngineProfile::ResetOwnSettings() {
  state_->own = OwnSettings{};
  ApplyOwn();
}

void EngineProfile::ApplyOwn() {
  // Whatever generation comes next, the next call looks; and between calls it is done at once,
  // so that turning an engine off ends its trace even if it is never called again.
  applied_generation_ = kNeverApplied;
  Apply();
}

void EngineProfile::Apply() {
  State& state = *state_;
  state.FollowFork();
  if (state.in_call) return;  // a call keeps the settings it began with; the next Sync applies
  for (;;) {
    const Config global = Snapshot();
    Effective effective = Resolve(global, state.own, id());
    if (state.stream != nullptr && !state.stream->Serves(effective)) state.CloseStream();
    if (state.stream != nullptr &&
        !Tracer::Get().Update(*state.stream, state.own, effective.level, global.generation)) {
      if (state.stream->closing()) state.CloseStream();
      continue;
    }
    applied_generation_ = global.generation;
    level_ = effective.level;
    sample_interval_ = effective.sample_interval;
    state.effective = std::move(effective);
    break;
  }
  if (level_ != Level::kOff && !state.prepared) {
    state.stats->Prepare();
    state.prepared = true;
  }
}

bool EngineProfile::EnterStream() {
  State& state = *state_;
  for (;;) {
    if (level_ == Level::kOff) return false;
    if (state.stream != nullptr) {
      if (state.stream->Enter()) return true;
      Apply();  // it is closing: settings changed, or its files are being finished
      continue;
    }
    // ETDump records are the runtime's own; there is nothing to write beside them.
    if (state.effective.format == Format::kEtdump) return false;
    Tracer::Opened opened = Tracer::Get().Open(state.stats, state.own, state.effective,
                                               applied_generation_, state.calls + 1);
    state.refused = opened.refused;
    if (opened.stream == nullptr && !opened.stale) return false;  // refused, or the process ends
    state.stream = std::move(opened.stream);
    if (opened.stale) Apply();
  }
}

void EngineProfile::SetInspectorJson(std::string json) {
  state_->FollowFork();
  state_->stats->SetInspectorJson(std::move(json));
}

bool EngineProfile::has_inspector_json() const {
  return state_->epoch == ForkEpoch() && state_->stats->inspector_json() != nullptr;
}

void EngineProfile::SetWorkspaceBytes(uint64_t bytes) {
  state_->FollowFork();
  state_->stats->SetWorkspaceBytes(bytes);
}

LayerSink& EngineProfile::BeginLateLayers(uint64_t call, int64_t begin_ns) {
  state_->FollowFork();
  state_->late_layers.Begin(state_->stats.get(), call, begin_ns);
  return state_->late_layers;
}

void EngineProfile::FinishLateLayers() {
  State& state = *state_;
  LayerCollector& late = state.late_layers;
  const auto& samples = late.samples();
  if (state.epoch == ForkEpoch() && !samples.empty()) {
    state.stats->CommitLayers(samples);
    state.TellLayers(late.call(), samples);
    if (TraceStream* stream = state.EnterFor(late.call())) {
      const uint64_t dropped = Tracer::Get().Record(samples.size(), [&](SpanRing::Batch& batch) {
        return AddLayers(batch, *stream, samples, late.call(), 0);
      });
      stream->Drop(dropped + late.left_out());
      stream->Exit();
    } else if (late.call() <= state.last_traced_call) {
      state.stats->AddDropped(samples.size() + late.left_out());  // its trace is complete already
    }
  }
  late.End();
}

void EngineProfile::RecordGpuSpan(const GpuSpan& span) {
  State& state = *state_;
  state.FollowFork();
  state.stats->CommitGpu(span.duration_ns);
  if (CallObserver* const observer = state.listener()) observer->OnGpuSpan(span);
  if (TraceStream* stream = state.EnterFor(span.call)) {
    // A call that waits for the device knows it before it is over itself.
    const bool before_call = state.in_call && span.call == state.calls;
    const uint8_t flags = before_call ? kSpanEstimated | kSpanBeforeCall : kSpanEstimated;
    const uint64_t dropped = Tracer::Get().Record(1, [&](SpanRing::Batch& batch) {
      return AddPhase(batch, *stream, Phase::kGpu, span.start_ns, span.duration_ns, span.call,
                      flags)
                 ? uint64_t{0}
                 : uint64_t{1};
    });
    stream->Drop(dropped);
    stream->Exit();
  } else if (span.call <= state.last_traced_call) {
    state.stats->AddDropped(1);
  }
}

bool EngineProfile::has_listener() const { return state_->listener() != nullptr; }

void EngineProfile::SetObserver(CallObserver* observer) { state_->observer = observer; }

void CallRecorder::Start() {
  EngineProfile::State& state = *profile_.state_;
  state.refused = false;
  if (state.in_call && state.epoch == ForkEpoch()) {
    level_ = Level::kOff;  // a recorder inside a recorder of the same engine: one is enough
    return;
  }
  traced_ = profile_.EnterStream();
  level_ = profile_.level_;  // opening the trace may have found newer settings
  if (level_ == Level::kOff) return;
  state.in_call = true;
  call_ = ++state.calls;
  if (traced_) state.last_traced_call = call_;
  epoch_ = ForkEpoch();
  start_ns_ = NowNs();
  if (layers()) state.layers.Begin(state.stats.get(), call_, start_ns_);
}

LayerSink& CallRecorder::layer_sink() {
  if (!layers()) return null_sink;
  return profile_.state_->layers;
}

void CallRecorder::CloseSpan(int64_t now_ns) {
  spans_[span_count_ - 1].end_ns = now_ns;
  open_ = false;
}

void CallRecorder::BeginRange() {
  nvtx::Name& name = profile_.state_->range_name;
  if (name.handle == nullptr) name = nvtx::Register(profile_.id());
  nvtx::Push(name);
}

void CallRecorder::EndPhaseRange() {
  if (!in_phase_range_) return;
  nvtx::Pop();
  in_phase_range_ = false;
}

void CallRecorder::EndRange() {
  EndPhaseRange();
  nvtx::Pop();
}

void CallRecorder::EnterSlow(Phase phase) {
  if (in_range_) {
    EndPhaseRange();
    nvtx::Push(PhaseRangeName(phase));
    in_phase_range_ = true;
    if (!phases()) return;
  }
  const int64_t now = NowNs();
  if (open_) CloseSpan(now);
  EngineProfile::State& state = *profile_.state_;
  if (span_count_ == kMaxSpans) {
    // The last one makes room: its time stays in the sums, its span is lost and counted.
    const Span& last = spans_[kMaxSpans - 1];
    state.folded_ns[static_cast<size_t>(last.phase)] += last.end_ns - last.start_ns;
    state.folded_seen |= 1u << static_cast<unsigned>(last.phase);
    ++state.folded_spans;
    --span_count_;
  }
  spans_[span_count_++] = Span{now, now, phase};
  open_ = true;
  if (phase == Phase::kEnqueueHost && layers()) state.layers.MoveTo(now);
}

void CallRecorder::LeaveSlow() {
  EndPhaseRange();
  if (open_) CloseSpan(NowNs());
}

void CallRecorder::Commit() {
  EngineProfile::State& state = *profile_.state_;
  const int64_t end = NowNs();
  // A call that fork() cut in two was begun by the parent, and counts there.
  if (epoch_ != ForkEpoch()) return;
  if (open_) CloseSpan(end);
  CallSample sample;
  sample.total_ns = end - start_ns_;
  sample.failed = failed_;
  for (size_t i = 0; i < span_count_; ++i) {
    const auto phase = static_cast<size_t>(spans_[i].phase);
    sample.phase_ns[phase] += spans_[i].end_ns - spans_[i].start_ns;
    sample.seen |= 1u << phase;
  }
  uint64_t lost = 0;
  if (state.folded_spans != 0) [[unlikely]] {
    for (size_t i = 0; i < kPhaseCount; ++i) sample.phase_ns[i] += state.folded_ns[i];
    sample.seen |= state.folded_seen;
    lost = state.folded_spans;
    state.folded_ns.fill(0);
    state.folded_seen = 0;
    state.folded_spans = 0;
  }
  const auto& layer_samples = state.layers.samples();
  state.stats->CommitCall(sample, layer_samples);
  if (CallObserver* const observer = state.listener()) {
    state.TellLayers(call_, layer_samples);
    observer->OnCall(call_, start_ns_, end, spans(), failed_);
  }
  if (traced_) {
    TraceStream& stream = *state.stream;
    const uint8_t flags = failed_ ? kSpanFailed : 0;
    const uint64_t count = 1 + span_count_ + layer_samples.size();
    const uint64_t dropped = Tracer::Get().Record(count, [&](SpanRing::Batch& batch) {
      uint64_t refused = 0;
      refused +=
          !AddPhase(batch, stream, Phase::kDelegate, start_ns_, sample.total_ns, call_, flags);
      for (size_t i = 0; i < span_count_; ++i) {
        const Span& span = spans_[i];
        const bool gpu_follows = gpu_follows_ && span.phase == Phase::kEnqueueHost;
        refused += !AddPhase(batch, stream, span.phase, span.start_ns, span.end_ns - span.start_ns,
                             call_, gpu_follows ? flags | kSpanGpuFollows : flags);
      }
      return refused + AddLayers(batch, stream, layer_samples, call_, flags);
    });
    stream.Drop(dropped + lost + (layers() ? state.layers.left_out() : 0));
    stream.Exit();
  } else if (state.refused) {
    state.stats->AddDropped(1 + span_count_ + layer_samples.size() + lost);
  }
  if (layers()) state.layers.End();
  state.in_call = false;
}

}  // namespace trtscope::profiling
