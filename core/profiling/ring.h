#ifndef TRTSCOPE_CORE_PROFILING_RING_H_
#define TRTSCOPE_CORE_PROFILING_RING_H_

// SpanRing: how spans travel from the thread that measured them to the background writer.
//
// One thread adds, one thread at a time takes; neither waits.  A full ring refuses, and the
// caller counts what it could not add.  32 bytes a record: two in a cache line.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace trtscope::profiling {

enum class SpanKind : uint8_t { kPhase, kLayer };
inline constexpr uint8_t kSpanFailed = 1;      // its call failed
inline constexpr uint8_t kSpanEstimated = 2;   // its start is where it fits, not a measurement
inline constexpr uint8_t kSpanGpuFollows = 4;  // an enqueue whose device time will come
inline constexpr uint8_t kSpanBeforeCall = 8;  // a device time that comes before its call's spans

struct SpanRecord {
  int64_t start_ns;
  int64_t duration_ns;
  uint32_t stream;     // TraceStream::id()
  uint32_t name;       // a Phase, or a layer row of the engine's statistics
  uint64_t call : 48;  // the engine's call number
  uint64_t kind : 8;   // SpanKind
  uint64_t flags : 8;
};
static_assert(sizeof(SpanRecord) == 32);

class SpanRing {
 public:
  /// `capacity` is a power of two.  The records are not touched before they are used, so an
  /// idle thread's ring takes no physical memory.
  explicit SpanRing(size_t capacity) : mask_(capacity - 1), records_(new SpanRecord[capacity]) {}

  size_t capacity() const { return mask_ + 1; }

  /// Several records that become visible to the reader at once, when the batch ends.
  /// (adding thread)
  class Batch {
   public:
    explicit Batch(SpanRing& ring)
        : ring_(ring),
          head_(ring.head_.load(std::memory_order_relaxed)),
          limit_(ring.tail_.load(std::memory_order_acquire) + ring.capacity()) {}
    ~Batch() { ring_.head_.store(head_, std::memory_order_release); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// False: the ring is full and the record was not added.
    bool Add(const SpanRecord& record) {
      if (head_ == limit_) [[unlikely]]
        return false;
      ring_.records_[head_ & ring_.mask_] = record;
      ++head_;
      return true;
    }

   private:
    SpanRing& ring_;
    uint64_t head_;
    const uint64_t limit_;
  };

  /// More than half full: time to wake the writer.  (adding thread)
  bool PastHalf() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed) >
           capacity() / 2;
  }

  /// How far the ring is filled now: what Drain may be asked to take.  (reading thread)
  uint64_t Head() const { return head_.load(std::memory_order_acquire); }

  /// Hands every record before `head` to `consume` and frees its place.  (reading thread)
  template <typename Consume>
  void Drain(uint64_t head, Consume consume) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    while (tail != head) {
      consume(records_[tail & mask_]);
      ++tail;
      // Freed in steps, so that a thread that outruns the writer finds room early.
      if ((tail & 1023) == 0) tail_.store(tail, std::memory_order_release);
    }
    tail_.store(tail, std::memory_order_release);
  }
  template <typename Consume>
  void Drain(Consume consume) {
    Drain(Head(), consume);
  }

  // Who adds; set before the ring is handed to a thread and constant while it has one.
  int tid = 0;
  std::string thread_name;
  /// Set by the adding thread when it ends: drain it once more, then it can serve another.
  std::atomic<bool> orphaned{false};

 private:
  const uint64_t mask_;
  const std::unique_ptr<SpanRecord[]> records_;
  // Apart, so that the two threads do not pass one cache line to and fro.
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_RING_H_
