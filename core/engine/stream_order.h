#ifndef TRTSCOPE_CORE_ENGINE_STREAM_ORDER_H_
#define TRTSCOPE_CORE_ENGINE_STREAM_ORDER_H_

#include <memory>

#include "core/device/device.h"

namespace trtscope::engine {

/// Keeps the calls of one engine in order when its callers use different streams, and tells when
/// the last one is done: an engine's contexts share scratch memory, so a call on another stream
/// must start after the one before it, and contexts must outlive their work.
///
/// One event, recorded after every enqueue without timing; nothing waits on the host but Drain.
/// Externally synchronized.
class StreamOrder {
 public:
  explicit StreamOrder(device::Device& device) : device_(device) {}

  /// Before work goes to `stream`.
  Status Enter(device::StreamRef stream) {
    if (recorded_ && !(stream == last_)) return device_.WaitEvent(stream, *done_);
    return OkStatus();
  }

  /// After it, also when the enqueue failed: a part of it may run.
  Status Leave(device::StreamRef stream) {
    if (done_ == nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(done_, device_.CreateEvent(/*timing=*/false));
    }
    TRTSCOPE_RETURN_IF_ERROR(done_->Record(stream));
    last_ = stream;
    recorded_ = true;
    return OkStatus();
  }

  /// Later work on `to` starts after what is on `from` by now.
  Status Fork(device::StreamRef from, device::StreamRef to) {
    if (forked_ == nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(forked_, device_.CreateEvent(/*timing=*/false));
    }
    TRTSCOPE_RETURN_IF_ERROR(forked_->Record(from));
    return device_.WaitEvent(to, *forked_);
  }

  /// After Leave: later work on `stream` starts after the engine's.
  Status Join(device::StreamRef stream) { return device_.WaitEvent(stream, *done_); }

  /// Waits until nothing is in flight.  Only where contexts are about to be destroyed.
  void Drain();

 private:
  device::Device& device_;
  std::unique_ptr<device::Event> done_;
  std::unique_ptr<device::Event> forked_;
  device::StreamRef last_;
  bool recorded_ = false;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_STREAM_ORDER_H_
