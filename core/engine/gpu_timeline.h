#ifndef TRTSCOPE_CORE_ENGINE_GPU_TIMELINE_H_
#define TRTSCOPE_CORE_ENGINE_GPU_TIMELINE_H_

// Device time of each call, measured by a pair of events around its enqueue and read only when
// the device is known to be done: nothing here ever waits.
//
// Durations are measured.  Where a span lies on the host's clock is an estimate: device time runs
// from an anchor event, and the offset between the clocks is the largest lower bound seen, since
// no event can complete before the host recorded it.  It is exact whenever a call found its
// stream idle.  The anchor is renewed now and then, for an event's resolution is lost over hours.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/device/device.h"
#include "core/profiling/engine_profile.h"

namespace trtscope::engine {

/// Externally synchronized (the engine's mutex).
class GpuTimeline {
 public:
  /// At most this many calls may be unread; further ones are not measured, and counted.
  static constexpr size_t kMaxPending = 256;

  GpuTimeline(device::Device& device, profiling::EngineProfile& profile);
  ~GpuTimeline();

  /// Before the enqueue of `call`.
  Status Begin(uint64_t call, device::StreamRef stream);
  /// Whether the call that Begin was given is being measured.
  bool measuring() const { return open_; }
  /// After it.  A call whose enqueue failed is abandoned instead.
  Status End(device::StreamRef stream);
  void Abandon();

  /// Hands complete spans to the profile, oldest first, and returns how many.
  size_t Collect();

  /// Remembers what becomes of one call.  False when that call is not being measured.
  bool Watch(uint64_t call);
  enum class WatchState : uint8_t { kPending, kComplete, kLost };
  struct Watched {
    WatchState state = WatchState::kLost;
    int64_t start_ns = 0;  // on the host's clock, when complete
  };
  Watched watched() const { return watched_; }

  size_t pending() const { return pending_.size(); }
  /// Calls that were not measured because kMaxPending were unread, or an event failed.
  uint64_t skipped() const { return skipped_; }

 private:
  struct Span {
    uint64_t call;
    int64_t host_ns;  // read just before `begin` was recorded
    std::unique_ptr<device::Event> begin, end;
  };
  Result<std::unique_ptr<device::Event>> TakeEvent();
  void GiveBack(std::unique_ptr<device::Event> event);
  Result<int64_t> StartOnHostClock(Span& span);

  device::Device& device_;
  profiling::EngineProfile& profile_;
  std::vector<std::unique_ptr<device::Event>> pool_;  // making one costs more than using it
  std::deque<Span> pending_;
  bool open_ = false;  // the last of pending_ awaits its End
  uint64_t skipped_ = 0;
  uint64_t watched_call_ = 0;
  Watched watched_;

  std::unique_ptr<device::Event> anchor_;
  int64_t anchor_host_ns_ = 0;  // when the anchor was recorded, at the earliest
  int64_t offset_ns_ = 0;       // the anchor's time on the host's clock, as far as known
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_GPU_TIMELINE_H_
