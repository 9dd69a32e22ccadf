#ifndef TRTSCOPE_CORE_PROFILING_TRACER_H_
#define TRTSCOPE_CORE_PROFILING_TRACER_H_

// Tracer: the open traces of this process, the rings of its threads, and the background writer
// between them.
//
// Three locks.  `drain_mu_` serializes whoever drains rings and writes files: the writer, a
// setter that ends traces, exit.  `registry_mu_` guards the lists, is held for moments, and is
// the only one an engine's path takes, when a trace opens or a thread records for the first time.
// `wake_mu_` belongs to the writer's sleep.  Order: drain, registry.
//
// Never destroyed: engines may be called from static destructors.  After exit() has begun no
// trace is opened any more; the counters go on.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/profiling/perfetto_sink.h"
#include "core/profiling/ring.h"
#include "core/profiling/settings.h"
#include "core/profiling/statistics.h"
#include "core/profiling/trace_stream.h"

namespace trtscope::profiling {

/// Bounds on what tracing may use.  Tests make them small.
struct TraceLimits {
  size_t ring_records = 16 * 1024;             // a thread's ring: 512 KiB
  size_t ring_bytes_total = 64 * 1024 * 1024;  // all rings
  uint64_t file_bytes = 256 * 1024 * 1024;     // a trace file; then the next one begins
  size_t closing_traces = 256;  // closed and not yet finished: past this no trace is opened
};

class Tracer {
 public:
  static Tracer& Get();

  struct Opened {
    std::shared_ptr<TraceStream> stream;  // null: no trace for now
    bool stale = false;    // because the configuration is newer than `generation`: look again
    bool refused = false;  // because the writer is behind: count the spans as dropped
  };
  /// Opens the trace of an engine whose settings in force were resolved at `generation`.  Its
  /// files are made by the writer.  (engine mutex)
  Opened Open(const std::shared_ptr<EngineStats>& stats, const OwnSettings& own,
              const Effective& effective, uint64_t generation, uint64_t first_call);
  /// Keeps an open trace under newer settings.  False: it is closing or those are stale, too.
  /// (engine mutex)
  bool Update(TraceStream& stream, const OwnSettings& own, Level level, uint64_t generation);
  /// The writer finishes `stream` as soon as no call uses it.  Does not wait.
  void Close(TraceStream& stream);

  /// Adds spans to this thread's ring through `add(Batch&)`, which returns how many it could not
  /// add; returns that, or `count` when this thread can have no ring.
  template <typename Add>
  uint64_t Record(uint64_t count, Add add) {
    SpanRing* ring = ThreadRing();
    if (ring == nullptr) [[unlikely]]
      return count;
    uint64_t dropped;
    {
      SpanRing::Batch batch(*ring);
      dropped = add(batch);
    }
    if (ring->PastHalf()) [[unlikely]]
      Wake();
    LeaveRing(ring);
    return dropped;
  }

  /// Finishes the traces that the global configuration no longer asks for; returns when their
  /// files are complete or calls in flight kept them open for `kSetterWait`.
  void FinishAfterGlobalChange();
  /// Waits until the traces that were closed are finished, no longer than FinishAfter... does.
  void FinishClosed();
  /// Finishes every open trace.
  void FinishAll();
  /// Paths of the files finished since the last call.
  std::vector<std::string> TakeFinished();

  static constexpr std::chrono::milliseconds kSetterWait{5000};
  static constexpr std::chrono::milliseconds kExitWait{1000};
  static constexpr std::chrono::milliseconds kDrainEvery{5};

  void SetLimitsForTest(const TraceLimits& limits);
  /// Stops the background writer from draining, so that a test sees a ring run full.
  void PauseWriterForTest(bool paused) { paused_.store(paused); }

  // The fork handlers.  They do nothing while there is no tracer.
  static void LockBeforeFork();
  static void UnlockInParent();
  static void RestartInChild();

 private:
  Tracer() = default;
  static void AtExit();
  static void* WriterMain(void* self);

  SpanRing* ThreadRing();
  SpanRing* AcquireRing();
  static void LeaveRing(SpanRing* ring);
  void Wake();
  void StartWriter();
  void WriterLoop();
  /// One round: rings into files, closed traces finished.  `force`: also those in use.
  void DrainOnce(bool force = false);
  void WaitFinished(std::span<const std::shared_ptr<TraceStream>> streams,
                    std::chrono::milliseconds wait);

  std::mutex drain_mu_;
  std::vector<std::shared_ptr<TraceStream>> draining_;  // guarded by drain_mu_: reused memory
  struct RingRound {
    SpanRing* ring;
    uint64_t head;
    bool orphaned;
  };
  std::vector<RingRound> draining_rings_;  // likewise
  PerfettoSinks perfetto_;                 // guarded by drain_mu_

  std::mutex registry_mu_;
  // Guarded by registry_mu_.
  std::vector<std::shared_ptr<TraceStream>> streams_;
  std::vector<std::unique_ptr<SpanRing>> rings_;
  std::vector<SpanRing*> free_rings_;
  std::vector<std::string> finished_;
  TraceLimits limits_;
  uint32_t next_stream_ = 1;
  bool writer_started_ = false;
  bool exiting_ = false;

  Tracer* parent_ = nullptr;  // in a forked child: what was abandoned, never touched

  std::atomic<size_t> open_streams_{0};
  std::atomic<bool> paused_{false};

  std::mutex wake_mu_;
  std::condition_variable wake_;
  std::atomic<bool> wake_asked_{false};
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_TRACER_H_
