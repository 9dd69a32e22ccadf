// The host as a device: memory, and events on host streams.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/device/device.h"
#include "core/device/host/host_stream.h"

namespace trtscope::device {
namespace {

// What CUDA's allocator gives, so that code which relies on it behaves alike on both.
constexpr size_t kAlignment = 256;

Status CheckStream(StreamRef stream, const char* what) {
  if (stream.type == DeviceType::kHost) return OkStatus();
  return InvalidArgument(std::string(what) +
                         " on the host: got a CUDA stream, expected a host one");
}

// One Record of an event.  The event and the task in the stream share it: a task may outlive the
// event, and a newer Record takes a new one, so a late task never completes the wrong point.
class Point {
 public:
  void Complete() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      complete_ = true;
      time_ = std::chrono::steady_clock::now();
    }
    changed_.notify_all();
  }
  bool complete() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return complete_;
  }
  /// Valid once complete.
  std::chrono::steady_clock::time_point time() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return time_;
  }
  void Wait() const {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return complete_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool complete_ = false;
  std::chrono::steady_clock::time_point time_;
};

class HostEvent final : public Event {
 public:
  explicit HostEvent(bool timing) : timing_(timing) {}

  Status Record(StreamRef stream) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, "recording an event"));
    point_ = std::make_shared<Point>();
    RunOn(stream, [point = point_] { point->Complete(); });
    return OkStatus();
  }

  Result<bool> Query() override { return point_ == nullptr || point_->complete(); }

  Result<int64_t> ElapsedNs(const Event& start) const override {
    const auto* from = dynamic_cast<const HostEvent*>(&start);
    if (from == nullptr)
      return InvalidArgument("elapsed time: the start is not an event of the host");
    if (!timing_ || !from->timing_) {
      return FailedPrecondition("elapsed time: an event was made without timing");
    }
    if (point_ == nullptr || from->point_ == nullptr) {
      return FailedPrecondition("elapsed time: an event was never recorded");
    }
    if (!point_->complete() || !from->point_->complete()) {
      return FailedPrecondition("elapsed time: an event is not complete");
    }
    return std::chrono::nanoseconds(point_->time() - from->point_->time()).count();
  }

  const std::shared_ptr<Point>& point() const { return point_; }

 private:
  const bool timing_;
  std::shared_ptr<Point> point_;  // of the last Record; null before any
};

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    // x86 says "model name", some ARM kernels "Model" or "Hardware".
    for (const char* key : {"model name", "Model", "Hardware"}) {
      if (line.rfind(key, 0) != 0) continue;
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "CPU";
}

class HostDevice final : public Device {
 public:
  DeviceId id() const override { return {DeviceType::kHost, 0}; }
  std::string name() const override {
    static const std::string* model = new std::string(CpuModel());
    return *model;
  }
  int sm() const override { return 0; }

  Result<void*> Allocate(size_t bytes) override {
    // aligned_alloc wants a multiple of the alignment; an empty tensor gets an address as well.
    const size_t most = static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()) - kAlignment;
    void* data = nullptr;
    if (bytes <= most) {
      const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
    }
    if (data == nullptr) {
      return ResourceExhausted("host memory: " + std::to_string(bytes) + " octets were refused");
    }
    return data;
  }

  void Free(void* data) override { std::free(data); }

  Result<std::unique_ptr<Event>> CreateEvent(bool timing) override {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>(timing));
  }

  Status CopyAsync(void* to, const void* from, size_t bytes, CopyKind, StreamRef stream) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, "copying"));
    if (bytes == 0) return OkStatus();
    if (to == nullptr || from == nullptr) {
      return InvalidArgument("copying " + std::to_string(bytes) + " octets on the host: the " +
                             (to == nullptr ? "target" : "source") + " is null");
    }
    RunOn(stream, [to, from, bytes] { std::memmove(to, from, bytes); });
    return OkStatus();
  }

  Status Synchronize(StreamRef stream) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, "synchronizing"));
    if (stream.handle != nullptr) static_cast<HostStream*>(stream.handle)->Synchronize();
    return OkStatus();
  }

  Status WaitEvent(StreamRef stream, const Event& event) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, "waiting for an event"));
    const auto* host = dynamic_cast<const HostEvent*>(&event);
    if (host == nullptr) {
      return InvalidArgument("waiting for an event on the host: it is not an event of the host");
    }
    // As on a device: the last Record before this call counts, and none means nothing to wait for.
    if (host->point() == nullptr || host->point()->complete()) return OkStatus();
    RunOn(stream, [point = host->point()] { point->Wait(); });
    return OkStatus();
  }
};

}  // namespace

Device& Host() {
  static HostDevice* host = new HostDevice();  // never destroyed: used from atexit handlers
  return *host;
}

}  // namespace trtscope::device
