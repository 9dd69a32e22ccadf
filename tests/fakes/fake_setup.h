#ifndef TRTSCOPE_TESTS_FAKES_FAKE_SETUP_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_SETUP_H_

// For tests that load fake plans through the real adapter.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/engine.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_plan.h"
#include "tests/fakes/fake_tensorrt.h"

namespace trtscope::fakes {

/// Absolute path of a file or folder of tests/fakes among the test's data.
inline std::string FakePath(const std::string& name) {
  const char* root = std::getenv("TEST_SRCDIR");
  std::string path =
      root != nullptr ? std::string(root) + "/_main/tests/fakes/" + name : "tests/fakes/" + name;
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved != nullptr) path = resolved;
  std::free(resolved);
  return path;
}

/// Makes the fake driver the process's CUDA, with this many devices.  Before any CUDA call.
inline void UseFakeCuda(int devices) {
  setenv("TRTSCOPE_CUDA", FakePath("cuda/libcuda.so.1").c_str(), 1);
  setenv("TRTSCOPE_FAKE_CUDA_DEVICES", std::to_string(devices).c_str(), 1);
}

/// One fake release, with the plan version that it takes.
struct FakeCase {
  const char* folder;
  const char* file;
  FakePlanVersion version;
  const char* magic = "ftrt";
};
inline constexpr FakeCase kFakeCases[] = {
    {"trt8", "libnvinfer.so.8", {8, 6, 0, 12}},
    {"trt10_0", "libnvinfer.so.10", {10, 0, 1, 6}},
    {"trt10", "libnvinfer.so.10", {10, 16, 1, 11}},
    {"trt11", "libnvinfer.so.11", {11, 4, 0, 106}},
    {"rtx", "libtensorrt_rtx.so.1", {1, 7, 1, 116}, "vtrt"},
};

inline Result<std::unique_ptr<engine::Engine>> LoadFake(const FakeCase& fake,
                                                        const std::string& json, int device = 0) {
  engine::LoadOptions options;
  options.name = "fake";
  options.device = {device::DeviceType::kCuda, device};
  options.library_path = FakePath(fake.folder);
  return engine::LoadEngine(MakeFakePlan(fake.version, json, 90, fake.magic), options);
}

/// What the fake library of this case saw since it was opened.
inline FakeTensorRtStats StatsOf(const FakeCase& fake) {
  const std::string path = FakePath(std::string(fake.folder) + "/" + fake.file);
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  FakeTensorRtStats stats{};
  if (handle == nullptr) return stats;
  const auto get = reinterpret_cast<decltype(&trtscope_fake_tensorrt_stats)>(
      dlsym(handle, "trtscope_fake_tensorrt_stats"));
  if (get != nullptr) get(&stats);
  dlclose(handle);
  return stats;
}

/// Device memory that frees itself.
class DeviceBuffer {
 public:
  DeviceBuffer(device::Device& device, size_t bytes)
      : device_(device), data_(*device.Allocate(bytes)) {}
  ~DeviceBuffer() { device_.Free(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }  // the fake's memory is the host's

 private:
  device::Device& device_;
  void* data_;
};

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_SETUP_H_
