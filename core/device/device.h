#ifndef TRTSCOPE_CORE_DEVICE_DEVICE_H_
#define TRTSCOPE_CORE_DEVICE_DEVICE_H_

// Streams, events and memory, without saying whose: CUDA opened at run time (cuda/), or the
// host itself (host/).
//
// A stream belongs to the caller and is only borrowed: a cudaStream_t, or a HostStream.  A null
// host stream means "run on the calling thread"; a null CUDA stream is CUDA's default stream.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/status.h"

namespace trtscope::device {

enum class DeviceType : uint8_t { kHost, kCuda };

struct DeviceId {
  DeviceType type = DeviceType::kHost;
  int index = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// "host" or "cuda:0".
std::string ToString(DeviceId id);

struct StreamRef {
  DeviceType type = DeviceType::kHost;
  void* handle = nullptr;
  friend bool operator==(const StreamRef&, const StreamRef&) = default;
};

/// A point in a stream's work.  Reusable: recording again replaces the point.  Not thread-safe;
/// the pool that hands events out is.
class Event {
 public:
  virtual ~Event() = default;
  virtual Status Record(StreamRef stream) = 0;
  /// Whether the work before the last Record is complete.  Never waits.  True before any Record.
  virtual Result<bool> Query() = 0;
  /// Nanoseconds from `start` to this event.  Both must be complete and made with timing.
  virtual Result<int64_t> ElapsedNs(const Event& start) const = 0;
};

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

/// Work that was captured once and can be launched again.  Externally synchronized.  Destroying it
/// while it runs is allowed: the device lets it finish.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual Status Launch(StreamRef stream) = 0;
};

/// A stream of ours.  Work that is queued when it goes still runs.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual StreamRef ref() const = 0;
};

/// One device.  Thread-safe.  Lives as long as the process.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  /// Human name, such as "NVIDIA H200" or the CPU's model.
  virtual std::string name() const = 0;
  /// Compute capability times ten (90 for sm_90); 0 for the host.
  virtual int sm() const = 0;

  virtual Result<void*> Allocate(size_t bytes) = 0;
  virtual void Free(void* data) = 0;
  virtual Result<std::unique_ptr<Event>> CreateEvent(bool timing) = 0;
  virtual Status CopyAsync(void* to, const void* from, size_t bytes, CopyKind kind,
                           StreamRef stream) = 0;
  /// Waits for the stream's work.  Only where the runtime's contract needs it: never to measure.
  virtual Status Synchronize(StreamRef stream) = 0;
  /// Later work on `stream` starts after `event`.
  virtual Status WaitEvent(StreamRef stream, const Event& event) = 0;
  /// A stream for work that may outlive its caller's.  Does not wait for the default stream.
  virtual Result<std::unique_ptr<Stream>> CreateStream() {
    return Unsupported(ToString(id()) + " makes no streams of its own");
  }
  /// Whether the caller is capturing this stream: what is enqueued then does not run, and neither
  /// its events nor its results can be asked for.
  virtual bool IsCapturing(StreamRef stream) const {
    (void)stream;
    return false;
  }
  /// Captures what `record` puts on the stream that it is given, without running it.  Refused by
  /// devices that have no graphs, and when `record` does what a capture cannot hold.
  virtual Result<std::unique_ptr<Graph>> Capture(const std::function<Status(StreamRef)>& record) {
    (void)record;
    return Unsupported(ToString(id()) + " has no graphs");
  }
};

/// The device with this id.  The first CUDA device opens the CUDA library; without one, the
/// error says what was looked for and where.
Result<Device*> GetDevice(DeviceId id);

/// The host device; always there.
Device& Host();

}  // namespace trtscope::device

#endif  // TRTSCOPE_CORE_DEVICE_DEVICE_H_
