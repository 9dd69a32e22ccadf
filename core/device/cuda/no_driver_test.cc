// A machine without a CUDA driver: what the error says.

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/device/cuda/driver.h"
#include "core/device/device.h"

namespace trtscope::device {
namespace {

TEST(NoDriver, SaysWhatWasLookedFor) {
  setenv("TRTSCOPE_CUDA", "/nonexistent/libcuda.so.1", 1);
  const Status status = GetDevice({DeviceType::kCuda, 0}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("install the NVIDIA driver"), std::string_view::npos);
  EXPECT_TRUE(status.message().ends_with("; tried /nonexistent/libcuda.so.1")) << status.message();
  // The answer is remembered: looking again would cost each engine that is loaded.
  setenv("TRTSCOPE_CUDA", "/elsewhere/libcuda.so.1", 1);
  EXPECT_EQ(GetDevice({DeviceType::kCuda, 0}).status().message(), status.message());
}

}  // namespace
}  // namespace trtscope::device
