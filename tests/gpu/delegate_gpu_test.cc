// The ExecuTorch delegate on a real GPU: TensorRT plans as its blobs, device-resident on a caller's
// stream and staged from host memory.  Folders as for gpu_test.cc.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/library_paths.h"
#include "executorch_backend/backend.h"
#include "executorch_backend/caller_stream.h"
#include "executorch_backend/testing.h"
#include "tests/gpu/blocker.h"
#include "tests/gpu/npz.h"

namespace trtscope::gpu_test {
namespace {

namespace et = ::executorch::runtime;

using device::CopyKind;
using device::DeviceType;
using device::cuda::OwnedStream;
using executorch_backend::CallerStream;
using executorch_backend::LastError;
using executorch_backend::testing::FakeTracer;
using executorch_backend::testing::FloatTensor;
using executorch_backend::testing::Loaded;
using executorch_backend::testing::Options;
using Clock = std::chrono::steady_clock;

constexpr auto kOnGpu = et::etensor::DeviceType::CUDA;

std::string PlanText(const std::string& name) {
  const auto bytes = *ReadFile(std::string(std::getenv("TRTSCOPE_GPU_ENGINES")) + "/" + name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Case {
  const char* plan;
  const char* reference;
  std::vector<const char*> inputs, outputs;
};

std::vector<int32_t> Sizes(const Array& array) {
  return {array.shape.d.begin(), array.shape.d.begin() + array.shape.rank};
}

double Error(const std::vector<float>& got, const Array& expected) {
  double difference = 0, scale = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    if (std::isnan(got[i])) return NAN;
    difference = std::max(difference, std::fabs(double{got[i]} - expected.values[i]));
    scale = std::max(scale, std::fabs(double{expected.values[i]}));
  }
  return difference / scale;
}

class DelegateGpuTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { engine::AddLibraryPath(std::getenv("TRTSCOPE_GPU_TENSORRT86")); }
  void SetUp() override {
    arrays_ = *ReadNpz(std::string(std::getenv("TRTSCOPE_GPU_ENGINES")) + "/" +
                       GetParam().reference + ".npz");
    plan_ = PlanText(std::string(GetParam().plan) + ".plan");
  }
  device::cuda::CudaDevice& gpu() { return **device::cuda::GetCudaDevice(0); }

  std::map<std::string, Array> arrays_;
  std::string plan_;
};

TEST_P(DelegateGpuTest, StagedFromTheHost) {
  for (const char* level : {"off", "phases", "layers"}) {
    Loaded loaded(plan_, Options().Set(executorch_backend::kLevelKey, level));
    ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
    std::vector<std::unique_ptr<FloatTensor>> tensors;
    std::vector<et::EValue*> values;
    for (const char* name : GetParam().inputs) {
      tensors.push_back(std::make_unique<FloatTensor>(Sizes(arrays_[name])));
      tensors.back()->values() = arrays_[name].values;
      std::memcpy(tensors.back()->value()->toTensor().mutable_data_ptr(),
                  arrays_[name].values.data(), arrays_[name].values.size() * sizeof(float));
    }
    for (const char* name : GetParam().outputs) {
      tensors.push_back(std::make_unique<FloatTensor>(Sizes(arrays_[name])));
    }
    for (auto& tensor : tensors) values.push_back(tensor->value());
    FakeTracer tracer;
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(loaded.Execute(values, &tracer), et::Error::Ok) << LastError();
    }
    for (size_t i = 0; i < GetParam().outputs.size(); ++i) {
      const auto& tensor = tensors[GetParam().inputs.size() + i]->value()->toTensor();
      const auto* data = tensor.const_data_ptr<float>();
      EXPECT_LT(Error({data, data + tensor.numel()}, arrays_[GetParam().outputs[i]]), 1e-3);
    }
    if (std::string(level) == "off") continue;
    const auto* span = tracer.find("torchtrt.gpu");
    ASSERT_NE(span, nullptr);
    EXPECT_GT(span->end, span->start);
    const auto names = tracer.names();
    const bool layers = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.starts_with("torchtrt.layer/");
    });
    EXPECT_EQ(layers, std::string(level) == "layers");
  }
}

// With tensors on the device and the caller's stream, execute returns before the GPU is done:
// profiling off, phases and layers alike.
TEST_P(DelegateGpuTest, DeviceResidentOnTheCallersStream) {
  for (const char* level : {"off", "phases", "layers"}) {
    const auto stream = *OwnedStream::Create(gpu());
    Loaded loaded(plan_, Options().Set(executorch_backend::kLevelKey, level));
    ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
    std::vector<std::unique_ptr<FloatTensor>> tensors;
    std::vector<et::EValue*> values;
    std::vector<void*> memory;
    const auto add = [&](const char* name, bool input) {
      const Array& array = arrays_[name];
      memory.push_back(*gpu().Allocate(array.values.size() * sizeof(float)));
      if (input) {
        ASSERT_TRUE(gpu()
                        .CopyAsync(memory.back(), array.values.data(),
                                   array.values.size() * sizeof(float), CopyKind::kHostToDevice,
                                   stream->ref())
                        .ok());
      }
      tensors.push_back(std::make_unique<FloatTensor>(Sizes(array), 0.0F, memory.back(), kOnGpu));
      values.push_back(tensors.back()->value());
    };
    for (const char* name : GetParam().inputs) add(name, true);
    for (const char* name : GetParam().outputs) add(name, false);
    CallerStream() = stream->ref();
    FakeTracer tracer;
    for (int i = 0; i < 4; ++i) {  // the first ones make contexts and load kernels
      ASSERT_EQ(loaded.Execute(values, &tracer), et::Error::Ok) << LastError();
      ASSERT_TRUE(gpu().Synchronize(stream->ref()).ok());
    }
    const auto done = *gpu().CreateEvent(false);
    {
      Blocker blocker(gpu(), stream->ref());
      const auto before = Clock::now();
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(loaded.Execute(values, &tracer), et::Error::Ok) << LastError();
      }
      const double took = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
      ASSERT_TRUE(done->Record(stream->ref()).ok());
      EXPECT_FALSE(*done->Query()) << level << ": it waited for the device";
      EXPECT_LT(took, 30'000.0) << level;
      std::printf("%-16s %-7s three calls behind a blocked stream: %.0f us\n", GetParam().plan,
                  level, took);
    }
    ASSERT_TRUE(gpu().Synchronize(stream->ref()).ok());
    for (size_t i = 0; i < GetParam().outputs.size(); ++i) {
      const Array& expected = arrays_[GetParam().outputs[i]];
      std::vector<float> got(expected.values.size(), NAN);
      ASSERT_TRUE(gpu()
                      .CopyAsync(got.data(), memory[GetParam().inputs.size() + i],
                                 got.size() * sizeof(float), CopyKind::kDeviceToHost, stream->ref())
                      .ok());
      ASSERT_TRUE(gpu().Synchronize(stream->ref()).ok());
      EXPECT_LT(Error(got, expected), 1e-3) << level;
    }
    EXPECT_EQ(tracer.find("torchtrt.synchronize"), nullptr);
    CallerStream().reset();
    loaded.Destroy();
    for (void* data : memory) gpu().Free(data);
  }
}

INSTANTIATE_TEST_SUITE_P(TensorRt86, DelegateGpuTest,
                         ::testing::Values(Case{"sigmoid_affine", "sigmoid_affine", {"x"}, {"y"}},
                                           Case{"two_io", "two_io", {"a", "b"}, {"s", "d"}},
                                           Case{"mlp_fp16", "mlp", {"x"}, {"y"}},
                                           Case{"conv_fp16", "conv", {"x"}, {"y"}},
                                           Case{"transformer_fp16", "transformer", {"x"}, {"y"}}),
                         [](const auto& info) { return std::string(info.param.plan); });

}  // namespace
}  // namespace trtscope::gpu_test
