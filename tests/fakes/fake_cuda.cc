// The fake CUDA driver: the entry points of core/device/cuda/driver.h over threads and malloc.
// fake_cuda.h says what it models.

#include "tests/fakes/fake_cuda.h"

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/cuda/driver.h"
#include "tests/fakes/fake_cuda_objects.h"

#define TRTSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace cuda = trtscope::device::cuda;
using cuda::CUresult;

namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kInvalidDevice = 101;
constexpr CUresult kInvalidContext = 201;
constexpr CUresult kInvalidHandle = 400;
constexpr CUresult kCaptureInvalid = 901;

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

struct Allocation {
  size_t bytes;
  int device;
};

struct State {
  const int device_count = FromEnvironment("TRTSCOPE_FAKE_CUDA_DEVICES", 1);
  const int sm = FromEnvironment("TRTSCOPE_FAKE_CUDA_SM", 90);
  const int version = FromEnvironment("TRTSCOPE_FAKE_CUDA_VERSION", 13000);
  std::mutex mutex;
  std::map<std::string, int64_t> calls;
  std::string fail_name;
  CUresult fail_result = 0;
  int fail_after = 0;
  std::map<const char*, Allocation> allocations;
  std::vector<std::unique_ptr<cuda::CUctx_st>> contexts;

  State() {
    for (int i = 0; i < device_count; ++i) {
      auto context = std::make_unique<cuda::CUctx_st>();
      context->device = i;
      context->default_stream = std::make_unique<cuda::CUstream_st>(i);
      contexts.push_back(std::move(context));
    }
  }
};

State& TheState() {
  static State state;  // destroyed at exit, which joins the default streams' workers
  return state;
}

thread_local std::vector<cuda::CUcontext> context_stack;

cuda::CUcontext Current() { return context_stack.empty() ? nullptr : context_stack.back(); }

/// Counts the call; the injected result when this is the one to fail.
CUresult Count(const char* name) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  ++state.calls[name];
  if (state.fail_result != 0 && state.fail_name == name && state.fail_after-- == 0) {
    return std::exchange(state.fail_result, 0);
  }
  return cuda::kSuccess;
}

#define TRTSCOPE_COUNT()                                            \
  do {                                                              \
    if (const CUresult injected = Count(__func__)) return injected; \
  } while (false)
#define TRTSCOPE_NEED_CONTEXT()                       \
  do {                                                \
    if (Current() == nullptr) return kInvalidContext; \
  } while (false)

/// The stream itself; the current device's default one for null.  Null: another device's.
cuda::CUstream_st* Resolve(cuda::CUstream stream) {
  if (stream == nullptr) return Current()->default_stream.get();
  return stream->device == Current()->device ? stream : nullptr;
}

CUresult Copy(void* to, const void* from, size_t bytes, cuda::CUstream stream) {
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(stream);
  if (target == nullptr) return kInvalidHandle;
  target->Enqueue([to, from, bytes] { std::memcpy(to, from, bytes); });
  return cuda::kSuccess;
}

void* Pointer(cuda::CUdeviceptr data) { return reinterpret_cast<void*>(data); }

cuda::CUstream_st* Find(int device, void* stream) {
  if (stream != nullptr) return static_cast<cuda::CUstream_st*>(stream);
  return TheState().contexts[static_cast<size_t>(device)]->default_stream.get();
}

}  // namespace

// --- the driver ---

TRTSCOPE_EXPORT CUresult cuInit(unsigned) {
  TRTSCOPE_COUNT();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case kInvalidValue:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    case cuda::kOutOfMemory:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case 100:
      *text = "CUDA_ERROR_NO_DEVICE";
      break;
    case kInvalidDevice:
      *text = "CUDA_ERROR_INVALID_DEVICE";
      break;
    case kInvalidContext:
      *text = "CUDA_ERROR_INVALID_CONTEXT";
      break;
    case kInvalidHandle:
      *text = "CUDA_ERROR_INVALID_HANDLE";
      break;
    case cuda::kNotReady:
      *text = "CUDA_ERROR_NOT_READY";
      break;
    case 700:
      *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case kCaptureInvalid:
      *text = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
      break;
    default:
      *text = nullptr;
      return kInvalidValue;
  }
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == cuda::kOutOfMemory ? "out of memory" : "the fake driver says no";
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDriverGetVersion(int* version) {
  TRTSCOPE_COUNT();
  *version = TheState().version;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDeviceGetCount(int* count) {
  TRTSCOPE_COUNT();
  *count = TheState().device_count;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDeviceGet(cuda::CUdevice* device, int ordinal) {
  TRTSCOPE_COUNT();
  if (ordinal < 0 || ordinal >= TheState().device_count) return kInvalidDevice;
  *device = ordinal;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDeviceGetName(char* name, int size, cuda::CUdevice device) {
  TRTSCOPE_COUNT();
  std::snprintf(name, static_cast<size_t>(size), "Fake GPU %d", device);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDeviceGetAttribute(int* value, int attribute, cuda::CUdevice) {
  TRTSCOPE_COUNT();
  const int sm = TheState().sm;
  if (attribute == cuda::kAttributeComputeMajor) {
    *value = sm / 10;
  } else if (attribute == cuda::kAttributeComputeMinor) {
    *value = sm % 10;
  } else {
    return kInvalidValue;
  }
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, cuda::CUdevice) {
  TRTSCOPE_COUNT();
  *bytes = size_t{1} << 30;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuDevicePrimaryCtxRetain(cuda::CUcontext* context, cuda::CUdevice device) {
  TRTSCOPE_COUNT();
  *context = TheState().contexts[static_cast<size_t>(device)].get();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuCtxGetCurrent(cuda::CUcontext* context) {
  TRTSCOPE_COUNT();
  *context = Current();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuCtxPushCurrent_v2(cuda::CUcontext context) {
  TRTSCOPE_COUNT();
  if (context == nullptr) return kInvalidContext;
  context_stack.push_back(context);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuCtxPopCurrent_v2(cuda::CUcontext* context) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  *context = Current();
  context_stack.pop_back();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuMemAlloc_v2(cuda::CUdeviceptr* data, size_t bytes) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  if (bytes == 0) return kInvalidValue;
  if (bytes > size_t{1} << 30) return cuda::kOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return cuda::kOutOfMemory;
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.allocations[static_cast<char*>(memory)] = {bytes, Current()->device};
  *data = reinterpret_cast<cuda::CUdeviceptr>(memory);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuMemFree_v2(cuda::CUdeviceptr data) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.allocations.find(static_cast<const char*>(Pointer(data)));
  if (found == state.allocations.end()) return kInvalidValue;
  std::free(Pointer(data));
  state.allocations.erase(found);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuMemcpyHtoDAsync_v2(cuda::CUdeviceptr to, const void* from, size_t bytes,
                                              cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  return Copy(Pointer(to), from, bytes, stream);
}

TRTSCOPE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, cuda::CUdeviceptr from, size_t bytes,
                                              cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  return Copy(to, Pointer(from), bytes, stream);
}

TRTSCOPE_EXPORT CUresult cuMemcpyDtoDAsync_v2(cuda::CUdeviceptr to, cuda::CUdeviceptr from,
                                              size_t bytes, cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  return Copy(Pointer(to), Pointer(from), bytes, stream);
}

TRTSCOPE_EXPORT CUresult cuStreamCreate(cuda::CUstream* stream, unsigned) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  *stream = new cuda::CUstream_st(Current()->device);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamDestroy_v2(cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  if (stream == nullptr) return kInvalidHandle;
  delete stream;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamSynchronize(cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(stream);
  if (target == nullptr) return kInvalidHandle;
  if (target->capture != nullptr) return kCaptureInvalid;
  target->Wait();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamWaitEvent(cuda::CUstream stream, cuda::CUevent event, unsigned) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(stream);
  if (target == nullptr || event == nullptr) return kInvalidHandle;
  std::shared_ptr<cuda::Record> record;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    record = event->record;
  }
  if (record == nullptr) return cuda::kSuccess;
  target->Enqueue([record] {
    std::unique_lock<std::mutex> lock(record->mutex);
    record->changed.wait(lock, [&record] { return record->done; });
  });
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamBeginCapture_v2(cuda::CUstream stream, int) {
  TRTSCOPE_COUNT();
  // The default stream cannot be captured.
  if (stream == nullptr) return kCaptureInvalid;
  std::lock_guard<std::mutex> lock(stream->mutex);
  if (stream->capture != nullptr) return kCaptureInvalid;
  stream->capture = std::make_unique<cuda::CUgraph_st>();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamEndCapture(cuda::CUstream stream, cuda::CUgraph* graph) {
  TRTSCOPE_COUNT();
  if (stream == nullptr) return kInvalidHandle;
  std::lock_guard<std::mutex> lock(stream->mutex);
  if (stream->capture == nullptr) return kCaptureInvalid;
  *graph = stream->capture.release();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuStreamIsCapturing(cuda::CUstream stream, int* status) {
  TRTSCOPE_COUNT();
  *status = cuda::kCaptureStatusNone;
  if (stream == nullptr) return cuda::kSuccess;
  std::lock_guard<std::mutex> lock(stream->mutex);
  if (stream->capture != nullptr) *status = 1;  // active
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGraphInstantiateWithFlags(cuda::CUgraphExec* exec, cuda::CUgraph graph,
                                                     unsigned long long) {  // NOLINT
  TRTSCOPE_COUNT();
  if (graph == nullptr) return kInvalidValue;
  *exec = new cuda::CUgraphExec_st{graph->tasks};
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGraphLaunch(cuda::CUgraphExec exec, cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(stream);
  if (target == nullptr || exec == nullptr) return kInvalidHandle;
  for (const cuda::Task& task : exec->tasks) target->Enqueue(task);
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGraphExecDestroy(cuda::CUgraphExec exec) {
  TRTSCOPE_COUNT();
  delete exec;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuGraphDestroy(cuda::CUgraph graph) {
  TRTSCOPE_COUNT();
  delete graph;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuEventCreate(cuda::CUevent* event, unsigned flags) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  *event = new cuda::CUevent_st;
  (*event)->device = Current()->device;
  (*event)->timing = (flags & cuda::kEventDisableTiming) == 0;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuEventDestroy_v2(cuda::CUevent event) {
  TRTSCOPE_COUNT();
  delete event;
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuEventRecord(cuda::CUevent event, cuda::CUstream stream) {
  TRTSCOPE_COUNT();
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(stream);
  if (target == nullptr || event == nullptr || event->device != target->device) {
    return kInvalidHandle;
  }
  auto record = std::make_shared<cuda::Record>();
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    event->record = record;
  }
  target->Enqueue([record] {
    {
      std::lock_guard<std::mutex> lock(record->mutex);
      record->done = true;
      record->time = std::chrono::steady_clock::now();
    }
    record->changed.notify_all();
  });
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT CUresult cuEventQuery(cuda::CUevent event) {
  TRTSCOPE_COUNT();
  std::lock_guard<std::mutex> lock(event->mutex);
  if (event->record == nullptr) return cuda::kSuccess;
  std::lock_guard<std::mutex> inner(event->record->mutex);
  return event->record->done ? cuda::kSuccess : cuda::kNotReady;
}

TRTSCOPE_EXPORT CUresult cuEventElapsedTime(float* milliseconds, cuda::CUevent start,
                                            cuda::CUevent end) {
  TRTSCOPE_COUNT();
  std::chrono::steady_clock::time_point times[2];
  int i = 0;
  for (cuda::CUevent_st* event : {start, end}) {
    std::lock_guard<std::mutex> lock(event->mutex);
    if (!event->timing || event->record == nullptr) return kInvalidHandle;
    std::lock_guard<std::mutex> inner(event->record->mutex);
    if (!event->record->done) return cuda::kNotReady;
    times[i++] = event->record->time;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
  return cuda::kSuccess;
}

// --- control ---

TRTSCOPE_EXPORT int64_t trtscope_fake_cuda_calls(const char* name) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.calls[name];
}

TRTSCOPE_EXPORT void trtscope_fake_cuda_reset_calls(void) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.calls.clear();
}

TRTSCOPE_EXPORT void trtscope_fake_cuda_fail(const char* name, int result, int after) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.fail_name = name;
  state.fail_result = result;
  state.fail_after = after;
}

TRTSCOPE_EXPORT void trtscope_fake_cuda_block(int device, void* stream) {
  Find(device, stream)->Block();
}

TRTSCOPE_EXPORT void trtscope_fake_cuda_release(int device, void* stream) {
  Find(device, stream)->Release();
}

TRTSCOPE_EXPORT int trtscope_fake_cuda_launch(void* stream, void (*work)(void*), void* argument,
                                              void (*release)(void*)) {
  const std::shared_ptr<void> held(argument, release);
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(static_cast<cuda::CUstream_st*>(stream));
  if (target == nullptr) return kInvalidHandle;
  target->Enqueue([work, held] { work(held.get()); });
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT int trtscope_fake_cuda_wait(void* stream) {
  TRTSCOPE_NEED_CONTEXT();
  cuda::CUstream_st* target = Resolve(static_cast<cuda::CUstream_st*>(stream));
  if (target == nullptr) return kInvalidHandle;
  target->Wait();
  return cuda::kSuccess;
}

TRTSCOPE_EXPORT int trtscope_fake_cuda_current_device(void) {
  return Current() != nullptr ? Current()->device : -1;
}

TRTSCOPE_EXPORT int trtscope_fake_cuda_device_of(const void* data) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto after = state.allocations.upper_bound(static_cast<const char*>(data));
  if (after == state.allocations.begin()) return -1;
  const auto& [start, allocation] = *--after;
  return static_cast<const char*>(data) < start + allocation.bytes ? allocation.device : -1;
}

TRTSCOPE_EXPORT int64_t trtscope_fake_cuda_live_allocations(void) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mutex);
  return static_cast<int64_t>(state.allocations.size());
}
