#ifndef TRTSCOPE_TESTS_GPU_BLOCKER_H_
#define TRTSCOPE_TESTS_GPU_BLOCKER_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/device/cuda/cuda_device.h"

namespace trtscope::gpu_test {

/// Holds a stream up until released: a host function that waits.
class Blocker {
 public:
  Blocker(const device::cuda::CudaDevice& gpu, device::StreamRef stream) {
    void* driver = dlopen(gpu.driver().path.c_str(), RTLD_NOW);
    const auto launch =
        reinterpret_cast<int (*)(void*, void (*)(void*), void*)>(dlsym(driver, "cuLaunchHostFunc"));
    device::cuda::ScopedDevice current(gpu);
    EXPECT_EQ(launch(stream.handle, &Wait, this), 0);
  }
  ~Blocker() {
    Release();
    while (!left_) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;
  void Release() { released_ = true; }

 private:
  static void Wait(void* self) {
    auto* const blocker = static_cast<Blocker*>(self);
    while (!blocker->released_) std::this_thread::sleep_for(std::chrono::microseconds(50));
    blocker->left_ = true;
  }
  std::atomic<bool> released_{false};
  std::atomic<bool> left_{false};
};

}  // namespace trtscope::gpu_test

#endif  // TRTSCOPE_TESTS_GPU_BLOCKER_H_
