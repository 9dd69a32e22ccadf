#include "core/device/cuda/cuda_device.h"

#include <mutex>
#include <utility>
#include <vector>

#include "core/device/registry.h"

namespace trtscope::device {
namespace cuda {
namespace {

Status CheckStream(StreamRef stream, const CudaDevice& device) {
  if (stream.type == DeviceType::kCuda) return OkStatus();
  return InvalidArgument(ToString(device.id()) + ": got a host stream, expected a CUDA stream");
}

CUdeviceptr Address(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

class CudaEvent final : public Event {
 public:
  CudaEvent(const CudaDevice& device, CUevent event, bool timing)
      : device_(device), event_(event), timing_(timing) {}
  ~CudaEvent() override {
    ScopedDevice current(device_);
    if (current.status().ok()) device_.driver().cuEventDestroy_v2(event_);
  }

  Status Record(StreamRef stream) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, device_));
    ScopedDevice current(device_);
    TRTSCOPE_RETURN_IF_ERROR(current.status());
    const CUresult result =
        device_.driver().cuEventRecord(event_, static_cast<CUstream>(stream.handle));
    return device_.driver().Check(result, "cuEventRecord");
  }

  Result<bool> Query() override {
    ScopedDevice current(device_);
    TRTSCOPE_RETURN_IF_ERROR(current.status());
    const CUresult result = device_.driver().cuEventQuery(event_);
    if (result == kSuccess) return true;
    if (result == kNotReady) return false;
    return device_.driver().Error(result, "cuEventQuery");
  }

  Result<int64_t> ElapsedNs(const Event& start) const override {
    // Events of different kinds never meet: a device hands out its own kind only.
    const auto& first = static_cast<const CudaEvent&>(start);
    if (!timing_ || !first.timing_) {
      return FailedPrecondition("an event made without timing has no elapsed time");
    }
    ScopedDevice current(device_);
    TRTSCOPE_RETURN_IF_ERROR(current.status());
    float milliseconds = 0;
    const CUresult result =
        device_.driver().cuEventElapsedTime(&milliseconds, first.event_, event_);
    if (result == kNotReady) {
      return FailedPrecondition("an elapsed time was asked for before its events were complete");
    }
    TRTSCOPE_RETURN_IF_ERROR(device_.driver().Check(result, "cuEventElapsedTime"));
    return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  CUevent handle() const { return event_; }

 private:
  const CudaDevice& device_;
  CUevent event_;
  bool timing_;
};

class CudaGraph final : public Graph {
 public:
  CudaGraph(const CudaDevice& device, CUgraphExec exec, std::unique_ptr<OwnedStream> stream)
      : device_(device), exec_(exec), stream_(std::move(stream)) {}
  ~CudaGraph() override {
    ScopedDevice current(device_);
    if (current.status().ok()) device_.driver().cuGraphExecDestroy(exec_);
  }
  Status Launch(StreamRef stream) override {
    TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, device_));
    ScopedDevice current(device_);
    TRTSCOPE_RETURN_IF_ERROR(current.status());
    return device_.driver().Check(
        device_.driver().cuGraphLaunch(exec_, static_cast<CUstream>(stream.handle)),
        "cuGraphLaunch");
  }

 private:
  const CudaDevice& device_;
  CUgraphExec exec_;
  // Where the work was captured.  TensorRT remembers the stream of its last enqueue and asks it for
  // layer times later, so the stream lives as long as the graph may be launched.
  std::unique_ptr<OwnedStream> stream_;
};

}  // namespace

ScopedDevice::ScopedDevice(const CudaDevice& device) : device_(device) {
  CUcontext current = nullptr;
  const CUresult found = device.driver().cuCtxGetCurrent(&current);
  if (found == kSuccess && current == device.context()) return;
  const CUresult result = device.driver().cuCtxPushCurrent_v2(device.context());
  if (result == kSuccess) {
    pushed_ = true;
  } else {
    status_ =
        device.driver().Error(result, ("making " + ToString(device.id()) + " current").c_str());
  }
}

ScopedDevice::~ScopedDevice() {
  CUcontext popped = nullptr;
  if (pushed_) device_.driver().cuCtxPopCurrent_v2(&popped);
}

Status CudaDevice::Init() {
  CUdevice device = 0;
  TRTSCOPE_RETURN_IF_ERROR(driver_.Check(driver_.cuDeviceGet(&device, index_), "cuDeviceGet"));
  char name[256] = {};
  TRTSCOPE_RETURN_IF_ERROR(
      driver_.Check(driver_.cuDeviceGetName(name, sizeof(name) - 1, device), "cuDeviceGetName"));
  name_ = name;
  int major = 0;
  int minor = 0;
  TRTSCOPE_RETURN_IF_ERROR(
      driver_.Check(driver_.cuDeviceGetAttribute(&major, kAttributeComputeMajor, device),
                    "cuDeviceGetAttribute"));
  TRTSCOPE_RETURN_IF_ERROR(
      driver_.Check(driver_.cuDeviceGetAttribute(&minor, kAttributeComputeMinor, device),
                    "cuDeviceGetAttribute"));
  sm_ = major * 10 + minor;
  TRTSCOPE_RETURN_IF_ERROR(
      driver_.Check(driver_.cuDeviceTotalMem_v2(&total_memory_, device), "cuDeviceTotalMem"));
  return driver_.Check(driver_.cuDevicePrimaryCtxRetain(&context_, device),
                       "cuDevicePrimaryCtxRetain");
}

Result<void*> CudaDevice::Allocate(size_t bytes) {
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  CUdeviceptr data = 0;
  // CUDA refuses an empty allocation; an empty tensor still wants an address.
  const CUresult result = driver_.cuMemAlloc_v2(&data, bytes > 0 ? bytes : 1);
  if (result != kSuccess) {
    return driver_.Error(
        result, ("allocating " + std::to_string(bytes) + " octets on " + ToString(id())).c_str());
  }
  return reinterpret_cast<void*>(data);
}

void CudaDevice::Free(void* data) {
  if (data == nullptr) return;
  ScopedDevice current(*this);
  // At process exit the driver may be gone already, and the memory with it.
  if (current.status().ok()) driver_.cuMemFree_v2(Address(data));
}

Result<std::unique_ptr<Event>> CudaDevice::CreateEvent(bool timing) {
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  CUevent event = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(driver_.Check(
      driver_.cuEventCreate(&event, timing ? 0 : kEventDisableTiming), "cuEventCreate"));
  return std::unique_ptr<Event>(std::make_unique<CudaEvent>(*this, event, timing));
}

Status CudaDevice::CopyAsync(void* to, const void* from, size_t bytes, CopyKind kind,
                             StreamRef stream) {
  if (bytes == 0) return OkStatus();
  TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, *this));
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  const auto handle = static_cast<CUstream>(stream.handle);
  switch (kind) {
    case CopyKind::kHostToDevice:
      return driver_.Check(driver_.cuMemcpyHtoDAsync_v2(Address(to), from, bytes, handle),
                           "copy from host to device");
    case CopyKind::kDeviceToHost:
      return driver_.Check(driver_.cuMemcpyDtoHAsync_v2(to, Address(from), bytes, handle),
                           "copy from device to host");
    case CopyKind::kDeviceToDevice:
      return driver_.Check(driver_.cuMemcpyDtoDAsync_v2(Address(to), Address(from), bytes, handle),
                           "copy from device to device");
  }
  return InvalidArgument("unknown kind of copy");
}

Status CudaDevice::Synchronize(StreamRef stream) {
  TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, *this));
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  return driver_.Check(driver_.cuStreamSynchronize(static_cast<CUstream>(stream.handle)),
                       "waiting for a stream");
}

Status CudaDevice::WaitEvent(StreamRef stream, const Event& event) {
  TRTSCOPE_RETURN_IF_ERROR(CheckStream(stream, *this));
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  const CUevent handle = static_cast<const CudaEvent&>(event).handle();
  return driver_.Check(driver_.cuStreamWaitEvent(static_cast<CUstream>(stream.handle), handle, 0),
                       "cuStreamWaitEvent");
}

Result<std::unique_ptr<Stream>> CudaDevice::CreateStream() {
  TRTSCOPE_ASSIGN_OR_RETURN(auto stream, OwnedStream::Create(*this));
  return std::unique_ptr<Stream>(std::move(stream));
}

bool CudaDevice::IsCapturing(StreamRef stream) const {
  ScopedDevice current(*this);
  int status = kCaptureStatusNone;
  // It fails for the default stream while another one is captured: that one is not.
  return current.status().ok() &&
         driver_.cuStreamIsCapturing(static_cast<CUstream>(stream.handle), &status) == kSuccess &&
         status != kCaptureStatusNone;
}

Result<std::unique_ptr<Graph>> CudaDevice::Capture(const std::function<Status(StreamRef)>& record) {
  TRTSCOPE_ASSIGN_OR_RETURN(auto stream, OwnedStream::Create(*this));
  ScopedDevice current(*this);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  const auto handle = static_cast<CUstream>(stream->ref().handle);
  // Of this thread alone: others go on allocating and launching meanwhile.
  TRTSCOPE_RETURN_IF_ERROR(driver_.Check(
      driver_.cuStreamBeginCapture_v2(handle, kCaptureModeThreadLocal), "cuStreamBeginCapture"));
  Status recorded = record(stream->ref());
  CUgraph graph = nullptr;  // ended in any case, or the stream stays in capture
  Status ended = driver_.Check(driver_.cuStreamEndCapture(handle, &graph), "cuStreamEndCapture");
  CUgraphExec exec = nullptr;
  if (recorded.ok() && ended.ok()) {
    ended =
        driver_.Check(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiate");
  }
  if (graph != nullptr) driver_.cuGraphDestroy(graph);
  TRTSCOPE_RETURN_IF_ERROR(std::move(recorded));
  TRTSCOPE_RETURN_IF_ERROR(std::move(ended));
  return std::unique_ptr<Graph>(std::make_unique<CudaGraph>(*this, exec, std::move(stream)));
}

Result<int> DeviceCount() {
  const Result<const Driver*>& driver = GetDriver();
  TRTSCOPE_RETURN_IF_ERROR(driver.status());
  int count = 0;
  TRTSCOPE_RETURN_IF_ERROR(
      (*driver)->Check((*driver)->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}

Result<Device*> MakeDevice(int index) {
  static std::mutex mutex;
  static auto& devices = *new std::vector<CudaDevice*>;
  TRTSCOPE_ASSIGN_OR_RETURN(const int count, DeviceCount());
  if (index < 0 || index >= count) {
    return NotFound("device 'cuda:" + std::to_string(index) + "': CUDA has " +
                    std::to_string(count) + (count == 1 ? " device here" : " devices here"));
  }
  std::lock_guard<std::mutex> lock(mutex);
  devices.resize(static_cast<size_t>(count), nullptr);
  CudaDevice*& device = devices[static_cast<size_t>(index)];
  if (device == nullptr) {
    std::unique_ptr<CudaDevice> made(new CudaDevice(**GetDriver(), index));
    TRTSCOPE_RETURN_IF_ERROR(made->Init());
    device = made.release();
  }
  return device;
}

Result<CudaDevice*> GetCudaDevice(int index) {
  TRTSCOPE_ASSIGN_OR_RETURN(Device * device, MakeDevice(index));
  return static_cast<CudaDevice*>(device);
}

Result<std::unique_ptr<OwnedStream>> OwnedStream::Create(CudaDevice& device) {
  ScopedDevice current(device);
  TRTSCOPE_RETURN_IF_ERROR(current.status());
  CUstream stream = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(device.driver().Check(
      device.driver().cuStreamCreate(&stream, kStreamNonBlocking), "cuStreamCreate"));
  return std::unique_ptr<OwnedStream>(new OwnedStream(device, stream));
}

OwnedStream::~OwnedStream() {
  ScopedDevice current(device_);
  if (current.status().ok()) device_.driver().cuStreamDestroy_v2(stream_);
}

}  // namespace cuda

namespace {
[[maybe_unused]] const bool registered = (RegisterCudaFactory(&cuda::MakeDevice), true);
}  // namespace

}  // namespace trtscope::device
