#ifndef TRTSCOPE_CORE_DEVICE_CUDA_CUDA_DEVICE_H_
#define TRTSCOPE_CORE_DEVICE_CUDA_CUDA_DEVICE_H_

// device::Device over CUDA.  GetDevice({kCuda, n}) returns one of these once this library is
// linked in; it registers itself.

#include <memory>
#include <string>

#include "core/device/cuda/driver.h"
#include "core/device/device.h"

namespace trtscope::device::cuda {

/// One GPU, by its CUDA ordinal, with its primary context: the one that CUDA's runtime library,
/// LibTorch and TensorRT use.
class CudaDevice final : public Device {
 public:
  DeviceId id() const override { return {DeviceType::kCuda, index_}; }
  std::string name() const override { return name_; }
  int sm() const override { return sm_; }
  const Driver& driver() const { return driver_; }
  CUcontext context() const { return context_; }
  size_t total_memory() const { return total_memory_; }

  Result<void*> Allocate(size_t bytes) override;
  void Free(void* data) override;
  Result<std::unique_ptr<Event>> CreateEvent(bool timing) override;
  Status CopyAsync(void* to, const void* from, size_t bytes, CopyKind kind,
                   StreamRef stream) override;
  Status Synchronize(StreamRef stream) override;
  Status WaitEvent(StreamRef stream, const Event& event) override;
  Result<std::unique_ptr<Stream>> CreateStream() override;
  bool IsCapturing(StreamRef stream) const override;
  /// On a stream of its own, since the default stream cannot be captured.
  Result<std::unique_ptr<Graph>> Capture(const std::function<Status(StreamRef)>& record) override;

 private:
  friend Result<Device*> MakeDevice(int index);
  CudaDevice(const Driver& driver, int index) : driver_(driver), index_(index) {}
  Status Init();

  const Driver& driver_;
  int index_;
  int sm_ = 0;
  size_t total_memory_ = 0;
  std::string name_;
  CUcontext context_ = nullptr;
};

/// The device with this ordinal; made once.  Thread-safe.
Result<CudaDevice*> GetCudaDevice(int index);
/// How many there are.
Result<int> DeviceCount();

/// Makes a device current on this thread and restores what was current before.  Every call into
/// TensorRT and every CUDA call of ours is inside one: a caller's current device is neither
/// trusted nor changed.  When the device is current already, it costs one query.
class ScopedDevice {
 public:
  explicit ScopedDevice(const CudaDevice& device);
  ~ScopedDevice();
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;
  /// Not OK when the device could not be made current; then nothing may be called on it.
  const Status& status() const { return status_; }

 private:
  const CudaDevice& device_;
  bool pushed_ = false;
  Status status_;
};

/// What CreateStream makes; also for programs that bring no stream.
class OwnedStream final : public Stream {
 public:
  static Result<std::unique_ptr<OwnedStream>> Create(CudaDevice& device);
  ~OwnedStream() override;
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  StreamRef ref() const override { return {DeviceType::kCuda, stream_}; }

 private:
  OwnedStream(CudaDevice& device, CUstream stream) : device_(device), stream_(stream) {}
  CudaDevice& device_;
  CUstream stream_;
};

}  // namespace trtscope::device::cuda

#endif  // TRTSCOPE_CORE_DEVICE_CUDA_CUDA_DEVICE_H_
