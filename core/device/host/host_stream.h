#ifndef TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_
#define TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_

#include <functional>
#include <memory>

#include "core/device/device.h"

namespace trtscope::device {

/// An asynchronous stream on the host: a worker thread that runs tasks in order.  It gives the
/// semantics of a CUDA stream (enqueue returns at once, events complete later) on any machine.
/// A stream stays in the process that made it: a forked child must not use or destroy it.
class HostStream {
 public:
  HostStream();
  /// Runs what is still queued, then stops the worker.  Not from one of the stream's own tasks.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Thread-safe.  `task` must not throw; it may enqueue more.
  void Enqueue(std::function<void()> task);
  /// Waits until the work enqueued before this call is done.  Thread-safe.  Called from one of
  /// the stream's own tasks it returns at once, for it would wait for itself.
  void Synchronize();

  StreamRef ref() { return {DeviceType::kHost, this}; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs `task` in stream order: at once on the calling thread when the stream is null.  The
/// stream must be a host stream.
void RunOn(StreamRef stream, std::function<void()> task);

}  // namespace trtscope::device

#endif  // TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_
