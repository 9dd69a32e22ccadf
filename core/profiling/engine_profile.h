#ifndef TRTSCOPE_CORE_PROFILING_ENGINE_PROFILE_H_
#define TRTSCOPE_CORE_PROFILING_ENGINE_PROFILE_H_

// What one engine's calls cost: the profiling half of an engine, shared by both runtimes.
//
// EngineProfile holds an engine's identity, its own settings, its statistics and its place in
// the trace.  CallRecorder measures one call.  A runtime holds the engine's mutex around a call;
// everything marked (engine mutex) below is called under it, the rest from any thread.
//
// Nothing on the engine's path formats, does I/O, or allocates in steady state; statistics are
// committed once per call under a lock of their own that readers of the tables share, and spans
// go to the thread's ring (ring.h), which the background writer drains.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/names.h"
#include "core/profiling/nvtx.h"

namespace trtscope::profiling {

/// Who an engine is.  The profile's id is `name-hash-ordinal`: the first 12 hex digits of the
/// plan's hash, and how many engines with this name and plan the process registered before.
struct EngineIdentity {
  std::string name;            // any bytes; made safe where it becomes a file name
  uint64_t plan_hash = 0;      // 64-bit content hash of the plan
  std::string implementation;  // "tensorrt", "host", "null"
  std::string runtime;         // "torch", "executorch"
};

/// Receives the layers of one call in execution order.  Names may repeat and may hold any bytes;
/// they are copied when first seen at their position.
class LayerSink {
 public:
  virtual ~LayerSink() = default;
  /// `start_ns` is on NowNs()'s clock, or negative when only the duration is known.
  virtual void OnLayer(const char* name, int64_t start_ns, int64_t duration_ns) noexcept = 0;
};

/// A device span, known after its call has returned.
struct GpuSpan {
  uint64_t call = 0;        // CallRecorder::call() of the call it belongs to
  int64_t start_ns = 0;     // estimate on NowNs()'s clock
  int64_t duration_ns = 0;  // measured between device events
};

class CallRecorder;
class CallObserver;
class EngineStats;  // statistics.h
class TraceStream;  // trace_stream.h

class EngineProfile {
 public:
  /// Registers an engine with the process-wide tables.  The statistics outlive the engine: they
  /// stay in the tables until they are reset.
  static std::shared_ptr<EngineProfile> Register(EngineIdentity identity);
  ~EngineProfile();
  EngineProfile(const EngineProfile&) = delete;
  EngineProfile& operator=(const EngineProfile&) = delete;

  const std::string& id() const;
  const EngineIdentity& identity() const;

  /// The engine's own settings.  Each wins over the global one for this engine until
  /// ResetOwnSettings.  (engine mutex)
  void SetOwnLevel(Level level);
  Status SetOwnFormat(std::string_view name);
  Status SetOwnPathPrefix(std::string_view folder);
  void ResetOwnSettings();

  /// Applies settings that changed since the last call and returns the level in force: one
  /// atomic load when nothing changed.  (engine mutex)
  Level Sync() {
    if (applied_generation_ != Generation()) [[unlikely]]
      Apply();
    return level_;
  }
  Level level() const { return level_; }
  /// Config::sample_interval, as of the last Sync.
  uint32_t sample_interval() const { return sample_interval_; }

  /// The inspector's JSON, kept for the TREX graph file.  Called at most once.  (engine mutex)
  void SetInspectorJson(std::string json);
  bool has_inspector_json() const;
  /// The scratch memory that the engine holds from now on.  (engine mutex)
  void SetWorkspaceBytes(uint64_t bytes);

  /// Layers that arrive after their call returned (a profiled TensorRT context).  `begin_ns` is
  /// where they start on the time line.  Returns the sink to pass on; FinishLateLayers commits.
  /// (engine mutex)
  LayerSink& BeginLateLayers(uint64_t call, int64_t begin_ns);
  void FinishLateLayers();
  /// (engine mutex)
  void RecordGpuSpan(const GpuSpan& span);

  /// Who else hears of what is measured; null for nobody.  Borrowed.  (engine mutex)
  void SetObserver(CallObserver* observer);
  /// Whether somebody hears of this call: then, if the sample interval is 0, its GPU span is
  /// measured in any case.
  bool has_listener() const;

 private:
  friend class CallRecorder;
  struct State;
  static constexpr uint64_t kNeverApplied = ~uint64_t{0};
  explicit EngineProfile(EngineIdentity identity);
  void Apply();
  void ApplyOwn();
  /// Opens the trace if the settings ask for one, and keeps it open for one call.  May find
  /// newer settings on the way: look at level_ afterwards.
  bool EnterStream();

  uint64_t applied_generation_ = kNeverApplied;
  Level level_ = Level::kOff;
  uint32_t sample_interval_ = 0;
  std::unique_ptr<State> state_;
};

/// Measures one call.  Made on the stack under the engine's mutex; its destructor commits.  When
/// profiling is off, making and destroying it costs two atomic loads and a few branches.
///
/// The call and its phases are NVTX ranges as well, if a tool listens (nvtx.h), at any level.
class CallRecorder {
 public:
  explicit CallRecorder(EngineProfile& profile)
      : profile_(profile), level_(profile.Sync()), in_range_(nvtx::Listening()) {
    if (in_range_) [[unlikely]]
      BeginRange();
    if (level_ != Level::kOff) [[unlikely]]
      Start();
    follows_phases_ = phases() || in_range_;
  }
  ~CallRecorder() {
    if (level_ != Level::kOff) [[unlikely]]
      Commit();
    if (in_range_) [[unlikely]]
      EndRange();
  }
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  bool phases() const { return level_ >= Level::kPhases; }
  bool layers() const { return level_ >= Level::kLayers; }
  /// Number of this call within the engine, from 1; 0 when profiling is off.
  uint64_t call() const { return call_; }

  /// Ends the open phase, if any, and opens `phase` at the same instant.  A phase may be opened
  /// more than once in a call: its statistics count the call's sum, its spans stay separate.
  void Enter(Phase phase) {
    if (follows_phases_) [[unlikely]]
      EnterSlow(phase);
  }
  void Leave() {
    if (follows_phases_) [[unlikely]]
      LeaveSlow();
  }

  /// The device time of this call's enqueue is being measured: a trace may point from one to the
  /// other.
  void ExpectGpuSpan() { gpu_follows_ = true; }

  /// The sink for layers that arrive during this call.  Valid only when layers().
  LayerSink& layer_sink();

  struct Span {
    int64_t start_ns;
    int64_t end_ns;
    Phase phase;
  };
  /// The phases so far, in the order they were opened; the last one is still open until Leave.
  std::span<const Span> spans() const { return {spans_.data(), span_count_}; }

  /// The call failed: its spans are kept and marked, and the table counts it as an error.
  void MarkFailed() { failed_ = true; }

 private:
  static constexpr size_t kMaxSpans = 16;
  void Start();
  void Commit();
  void CloseSpan(int64_t now_ns);
  void EnterSlow(Phase phase);
  void LeaveSlow();
  void BeginRange();
  void EndPhaseRange();
  void EndRange();

  EngineProfile& profile_;
  Level level_;
  bool in_range_;                // this call is an NVTX range
  bool in_phase_range_ = false;  // and in it a phase
  bool follows_phases_ = false;
  bool failed_ = false;
  bool open_ = false;
  bool traced_ = false;
  bool gpu_follows_ = false;
  uint8_t span_count_ = 0;
  uint64_t call_ = 0;
  int64_t start_ns_ = 0;
  uint32_t epoch_ = 0;                 // of fork.h, when the call began
  std::array<Span, kMaxSpans> spans_;  // filled only when phases() are on
};

/// Hears what an engine's calls measured, from the same clock reads as the tables: for a runtime
/// that has a trace of its own.  Called under the engine's mutex, only while profiling is on.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  /// Whether anything is to be told: asked first.
  virtual bool listening() const noexcept = 0;
  /// A layer of `call`; a start that is `estimated` is where the layer fits.
  virtual void OnLayer(uint64_t call, const std::string& name, int64_t start_ns,
                       int64_t duration_ns, bool estimated) noexcept = 0;
  virtual void OnGpuSpan(const GpuSpan& span) noexcept = 0;
  /// A call ends; its own layers came before.  `phases` are in the order they were opened.
  virtual void OnCall(uint64_t call, int64_t start_ns, int64_t end_ns,
                      std::span<const CallRecorder::Span> phases, bool failed) noexcept = 0;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_ENGINE_PROFILE_H_
