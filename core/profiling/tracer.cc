#include "core/profiling/tracer.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/profiling/clock.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/quiet_thread.h"

namespace trtscope::profiling {
namespace {

constinit std::atomic<Tracer*> instance{nullptr};
constinit std::mutex creation_mu;  // held while `instance` is made, and across fork()

// Plain pointers, so that they can be read after the thread's destructors ran.
thread_local constinit SpanRing* thread_ring = nullptr;
thread_local constinit bool thread_ended = false;

/// Gives the ring back when its thread ends.
struct RingReleaser {
  ~RingReleaser() {
    if (thread_ring != nullptr) thread_ring->orphaned.store(true, std::memory_order_release);
    thread_ring = nullptr;
    thread_ended = true;
  }
  void Touch() {}
};
thread_local RingReleaser ring_releaser;

void SleepMicros(long micros) {
  timespec ts{0, micros * 1000};
  ::nanosleep(&ts, nullptr);
}

}  // namespace

Tracer& Tracer::Get() {
  Tracer* tracer = instance.load(std::memory_order_acquire);
  if (tracer != nullptr) [[likely]]
    return *tracer;
  std::lock_guard<std::mutex> lock(creation_mu);
  tracer = instance.load(std::memory_order_acquire);
  if (tracer == nullptr) {
    tracer = new Tracer;
    std::atexit(&Tracer::AtExit);
    ::at_quick_exit(&Tracer::AtExit);
    instance.store(tracer, std::memory_order_release);
  }
  return *tracer;
}

Tracer::Opened Tracer::Open(const std::shared_ptr<EngineStats>& stats, const OwnSettings& own,
                            const Effective& effective, uint64_t generation, uint64_t first_call) {
  {
    // Traces turned on and off faster than their files can be made must not pile up.
    std::lock_guard<std::mutex> lock(registry_mu_);
    if (streams_.size() >= limits_.closing_traces) {
      const auto closing = std::count_if(streams_.begin(), streams_.end(),
                                         [](const auto& stream) { return stream->closing(); });
      if (static_cast<size_t>(closing) >= limits_.closing_traces)
        return Opened{nullptr, false, true};
    }
  }
  auto stream = std::make_shared<TraceStream>(stats, effective, first_call);
  if (effective.level >= Level::kLayers) stream->TakeBaseline();
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    if (exiting_) return {};
    // A setter first bumps the generation and then looks through `streams_` under this mutex: it
    // either sees this stream, or is seen here.
    if (Generation() != generation) return Opened{nullptr, true, false};
    stream->own = own;
    stream->SetId(next_stream_++);
    stream->set_file_limit(limits_.file_bytes);
    streams_.push_back(stream);
    open_streams_.store(streams_.size(), std::memory_order_relaxed);
    if (!writer_started_) StartWriter();
  }
  // Under its mutex, for a writer with no streams sleeps without a time limit.
  std::lock_guard<std::mutex> lock(wake_mu_);
  wake_.notify_one();
  return Opened{std::move(stream), false, false};
}

bool Tracer::Update(TraceStream& stream, const OwnSettings& own, Level level, uint64_t generation) {
  if (level >= Level::kLayers) stream.TakeBaseline();
  std::lock_guard<std::mutex> lock(registry_mu_);
  if (Generation() != generation || stream.closing()) return false;
  stream.own = own;
  stream.RaiseLevel(level);
  return true;
}

void Tracer::Close(TraceStream& stream) {
  stream.MarkClosing();
  Wake();
}

SpanRing* Tracer::ThreadRing() {
  if (thread_ring != nullptr) [[likely]]
    return thread_ring;
  SpanRing* ring = AcquireRing();
  if (ring != nullptr && !thread_ended) {
    ring_releaser.Touch();  // makes its destructor run
    thread_ring = ring;
  }
  return ring;
}

void Tracer::LeaveRing(SpanRing* ring) {
  // A thread that is past its destructors has nobody to give the ring back later.
  if (thread_ring != ring) [[unlikely]]
    ring->orphaned.store(true, std::memory_order_release);
}

SpanRing* Tracer::AcquireRing() {
  std::lock_guard<std::mutex> lock(registry_mu_);
  SpanRing* ring = nullptr;
  if (!free_rings_.empty()) {
    ring = free_rings_.back();
    free_rings_.pop_back();
  } else {
    const size_t bytes = limits_.ring_records * sizeof(SpanRecord);
    if ((rings_.size() + 1) * bytes > limits_.ring_bytes_total) return nullptr;
    ring = rings_.emplace_back(std::make_unique<SpanRing>(limits_.ring_records)).get();
  }
  ring->tid = static_cast<int>(::syscall(SYS_gettid));
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  ring->thread_name = name;
  ring->orphaned.store(false, std::memory_order_relaxed);
  return ring;
}

void Tracer::Wake() {
  // Without the mutex: an engine must not wait here, and a lost wake-up costs one period.
  if (!wake_asked_.exchange(true, std::memory_order_relaxed)) wake_.notify_one();
}

void Tracer::StartWriter() {
  pthread_t thread;
  if (const int error = StartQuietThread(&thread, &Tracer::WriterMain, this); error != 0) {
    // Setters, flushes and exit still drain; in between the rings may run full, and say so.
    ReportProblem("cannot start the trace writer's thread: " + ErrorText(error) +
                  "; traces are written when profiling is turned off");
    return;
  }
  ::pthread_detach(thread);
  writer_started_ = true;
}

void* Tracer::WriterMain(void* self) {
  ::pthread_setname_np(::pthread_self(), "trtscope-writer");
  static_cast<Tracer*>(self)->WriterLoop();
  return nullptr;
}

void Tracer::WriterLoop() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(wake_mu_);
      if (open_streams_.load(std::memory_order_relaxed) == 0) {
        wake_.wait(lock, [this] { return open_streams_.load(std::memory_order_relaxed) != 0; });
      }
      wake_.wait_for(lock, kDrainEvery,
                     [this] { return wake_asked_.load(std::memory_order_relaxed); });
      wake_asked_.store(false, std::memory_order_relaxed);
    }
    if (!paused_.load()) DrainOnce();
  }
}

void Tracer::DrainOnce(bool force) {
  std::lock_guard<std::mutex> drain_lock(drain_mu_);
  // Three looks, in this order.  A trace that is ready was left by its last call, so all it has
  // is in the rings.  Only then how far the rings are filled.  Only then which traces there are:
  // every record up to there belongs to one of them, though some opened a moment ago.
  std::vector<TraceStream*> ready;
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    for (const auto& stream : streams_) {
      if (stream->ReadyToFinish() || force) ready.push_back(stream.get());
    }
    draining_rings_.clear();
    for (const auto& ring : rings_) {
      // An ended thread's ring is filled no further, if it is seen to have ended first.
      const bool orphaned = ring->orphaned.load(std::memory_order_acquire);
      draining_rings_.push_back({ring.get(), ring->Head(), orphaned});
    }
    draining_ = streams_;
  }
  for (const auto& stream : draining_) stream->OpenFiles(perfetto_);
  std::vector<SpanRing*> free;
  TraceStream* last = nullptr;
  for (const RingRound& round : draining_rings_) {
    SpanRing* ring = round.ring;
    ring->Drain(round.head, [&](const SpanRecord& record) {
      if (last == nullptr || last->id() != record.stream) {
        // Ids grow along the list, so a record finds its stream by bisection.
        const auto found =
            std::lower_bound(draining_.begin(), draining_.end(), record.stream,
                             [](const auto& stream, uint32_t id) { return stream->id() < id; });
        // Only after a forced finish, at exit, can a record come too late for its stream.
        if (found == draining_.end() || (*found)->id() != record.stream) return;
        last = found->get();
      }
      last->Write(record, ring->tid, ring->thread_name);
    });
    if (round.orphaned) free.push_back(ring);
  }
  std::vector<std::string> files;
  for (const auto& stream : draining_) {
    if (std::find(ready.begin(), ready.end(), stream.get()) == ready.end()) {
      stream->Flush();
    } else {
      stream->Finish(files);
    }
  }
  perfetto_.EndRound(files);
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    std::erase_if(streams_, [](const auto& stream) { return stream->finished(); });
    open_streams_.store(streams_.size(), std::memory_order_relaxed);
    for (SpanRing* ring : free) {
      // Once on the free list a ring is orphaned no more; a new thread takes it as its own.
      ring->orphaned.store(false, std::memory_order_relaxed);
      free_rings_.push_back(ring);
    }
    constexpr size_t kMaxFinished = 10'000;
    finished_.insert(finished_.end(), files.begin(), files.end());
    if (finished_.size() > kMaxFinished) {
      finished_.erase(finished_.begin(),
                      finished_.end() - static_cast<std::ptrdiff_t>(kMaxFinished));
    }
  }
  draining_.clear();
}

void Tracer::WaitFinished(std::span<const std::shared_ptr<TraceStream>> streams,
                          std::chrono::milliseconds wait) {
  const int64_t deadline = NowNs() + std::chrono::nanoseconds(wait).count();
  for (;;) {
    DrainOnce();
    bool waiting = false;
    for (const auto& stream : streams) {
      // A stream that this very thread is using can only be finished after we return.
      waiting |= !stream->finished() && !stream->UsedByThisThread();
    }
    if (!waiting || NowNs() > deadline) break;
    SleepMicros(200);
  }
  // The writer's round that finished the last of them finishes the process's trace before it ends.
  std::lock_guard<std::mutex> lock(drain_mu_);
}

void Tracer::FinishAfterGlobalChange() {
  const Config config = Snapshot();
  std::vector<std::shared_ptr<TraceStream>> ended;
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    for (const auto& stream : streams_) {
      const Effective now = Resolve(config, stream->own, stream->stats().id());
      if (stream->Serves(now)) continue;
      stream->MarkClosing();
      ended.push_back(stream);
    }
  }
  if (!ended.empty()) WaitFinished(ended, kSetterWait);
}

void Tracer::FinishClosed() {
  std::vector<std::shared_ptr<TraceStream>> closed;
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    for (const auto& stream : streams_) {
      if (stream->closing()) closed.push_back(stream);
    }
  }
  if (!closed.empty()) WaitFinished(closed, kSetterWait);
}

void Tracer::FinishAll() {
  {
    std::lock_guard<std::mutex> lock(registry_mu_);
    for (const auto& stream : streams_) stream->MarkClosing();
  }
  FinishClosed();
}

std::vector<std::string> Tracer::TakeFinished() {
  std::lock_guard<std::mutex> lock(registry_mu_);
  return std::exchange(finished_, {});
}

void Tracer::AtExit() {
  Tracer& tracer = Get();
  std::vector<std::shared_ptr<TraceStream>> open;
  {
    std::lock_guard<std::mutex> lock(tracer.registry_mu_);
    tracer.exiting_ = true;
    open = tracer.streams_;
    for (const auto& stream : open) stream->MarkClosing();
  }
  if (open.empty()) return;
  tracer.WaitFinished(open, kExitWait);
  tracer.DrainOnce(/*force=*/true);
}

void Tracer::SetLimitsForTest(const TraceLimits& limits) {
  std::lock_guard<std::mutex> lock(registry_mu_);
  limits_ = limits;
}

void Tracer::LockBeforeFork() {
  creation_mu.lock();
  Tracer* tracer = instance.load(std::memory_order_acquire);
  if (tracer == nullptr) return;
  tracer->drain_mu_.lock();
  tracer->registry_mu_.lock();
}

void Tracer::UnlockInParent() {
  Tracer* tracer = instance.load(std::memory_order_acquire);
  if (tracer != nullptr) {
    tracer->registry_mu_.unlock();
    tracer->drain_mu_.unlock();
  }
  creation_mu.unlock();
}

void Tracer::RestartInChild() {
  creation_mu.unlock();
  Tracer* parents = instance.load(std::memory_order_acquire);
  thread_ring = nullptr;  // it may hold spans that are the parent's to write
  if (parents == nullptr) return;
  // The two mutexes are held by this thread, so the list is whole.  The parent's tracer is
  // abandoned with all it owns; only its descriptors are closed.
  for (const auto& stream : parents->streams_) stream->AbandonInChild();
  parents->perfetto_.Abandon();
  auto* fresh = new Tracer;
  fresh->parent_ = parents;
  fresh->limits_ = parents->limits_;
  fresh->exiting_ = parents->exiting_;
  instance.store(fresh, std::memory_order_release);
}

}  // namespace trtscope::profiling
