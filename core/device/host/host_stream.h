#ifndef TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_
#define TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_

#include <functional>
#include <memory>

#include "core/device/device.h"

namespace trtscope::device {

/// An asynchronous stream on the host: a worker thread that runs tasks in order.  It gives the
/// semantics of a CUDA stream (enqueue returns at once, events complete later) on any machine.
class HostStream {
 public:
  HostStream();
  /// Runs what is still queued, then stops the worker.
  ~HostStream();
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  /// Thread-safe.
  void Enqueue(std::function<void()> task);
  /// Waits until the queue is empty and the last task has returned.
  void Synchronize();

  StreamRef ref() { return {DeviceType::kHost, this}; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs `task` in stream order: at once on the calling thread when the stream is null.
void RunOn(StreamRef stream, std::function<void()> task);

}  // namespace trtscope::device

#endif  // TRTSCOPE_CORE_DEVICE_HOST_HOST_STREAM_H_
