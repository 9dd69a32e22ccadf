#ifndef TRTSCOPE_CORE_DEVICE_CUDA_DRIVER_H_
#define TRTSCOPE_CORE_DEVICE_CUDA_DRIVER_H_

// The CUDA driver's library, opened at run time.
//
// The driver, and not the runtime library: it is on every machine that has a GPU, its entry
// points keep their names and meaning from CUDA 11.4 to 13, and its contexts and streams are
// those of every runtime library in the process (LibTorch's, TensorRT's own static one).
// driver_test.cc compares the declarations with CUDA's headers.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace trtscope::device::cuda {

using CUresult = int;  // an enum in cuda.h
using CUdevice = int;
using CUdeviceptr = unsigned long long;  // NOLINT: cuda.h's own type
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kNotReady = 600;

inline constexpr int kAttributeComputeMajor = 75;
inline constexpr int kAttributeComputeMinor = 76;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kCaptureModeThreadLocal = 1;
inline constexpr int kCaptureStatusNone = 0;

// F(exported name, arguments): every entry point in use, all returning CUresult.
#define TRTSCOPE_CUDA_DRIVER_FUNCTIONS(F)                                                       \
  F(cuInit, (unsigned flags))                                                                   \
  F(cuGetErrorName, (CUresult error, const char** text))                                        \
  F(cuGetErrorString, (CUresult error, const char** text))                                      \
  F(cuDriverGetVersion, (int* version))                                                         \
  F(cuDeviceGetCount, (int* count))                                                             \
  F(cuDeviceGet, (CUdevice * device, int ordinal))                                              \
  F(cuDeviceGetName, (char* name, int size, CUdevice device))                                   \
  F(cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                         \
  F(cuDeviceTotalMem_v2, (size_t* bytes, CUdevice device))                                      \
  F(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                           \
  F(cuCtxGetCurrent, (CUcontext * context))                                                     \
  F(cuCtxPushCurrent_v2, (CUcontext context))                                                   \
  F(cuCtxPopCurrent_v2, (CUcontext * context))                                                  \
  F(cuMemAlloc_v2, (CUdeviceptr * data, size_t bytes))                                          \
  F(cuMemFree_v2, (CUdeviceptr data))                                                           \
  F(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))    \
  F(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))          \
  F(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))    \
  F(cuStreamCreate, (CUstream * stream, unsigned flags))                                        \
  F(cuStreamDestroy_v2, (CUstream stream))                                                      \
  F(cuStreamSynchronize, (CUstream stream))                                                     \
  F(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                        \
  F(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                       \
  F(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                     \
  F(cuStreamIsCapturing, (CUstream stream, int* status))                                        \
  F(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags)) \
  F(cuGraphLaunch, (CUgraphExec exec, CUstream stream))                                         \
  F(cuGraphExecDestroy, (CUgraphExec exec))                                                     \
  F(cuGraphDestroy, (CUgraph graph))                                                            \
  F(cuEventCreate, (CUevent * event, unsigned flags))                                           \
  F(cuEventDestroy_v2, (CUevent event))                                                         \
  F(cuEventRecord, (CUevent event, CUstream stream))                                            \
  F(cuEventQuery, (CUevent event))                                                              \
  F(cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))

struct Driver {
#define TRTSCOPE_CUDA_MEMBER(name, args) CUresult(*name) args = nullptr;
  TRTSCOPE_CUDA_DRIVER_FUNCTIONS(TRTSCOPE_CUDA_MEMBER)
#undef TRTSCOPE_CUDA_MEMBER

  std::string path;  // the file that was opened
  int version = 0;   // 13010 for CUDA 13.1: the newest CUDA this driver runs

  /// OK, or a Status of "`what`: CUDA_ERROR_...: CUDA's own message".
  Status Check(CUresult result, const char* what) const {
    return result == kSuccess ? OkStatus() : Error(result, what);
  }
  Status Error(CUresult result, const char* what) const;
};

/// The driver, opened and initialized by the first call; later ones return the same answer.  The
/// library is the one that TRTSCOPE_CUDA names, else libcuda.so.1 where the loader finds it, else
/// in the folders of WSL, Jetson and DRIVE.  The error lists what was tried.  Thread-safe.
const Result<const Driver*>& GetDriver();

/// "13.1" for 13010.
std::string VersionText(int cuda_version);

}  // namespace trtscope::device::cuda

#endif  // TRTSCOPE_CORE_DEVICE_CUDA_DRIVER_H_
