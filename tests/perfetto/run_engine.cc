// run_engine FOLDER: calls of an engine as an executor makes them, on the fake TensorRT and CUDA,
// traced into FOLDER at level layers, every fourth call measured on the device.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/executor.h"
#include "core/profiling/config.h"
#include "core/profiling/report.h"
#include "tests/fakes/fake_setup.h"

namespace trtscope::engine {
namespace {

constexpr char kModel[] = R"({"shared_profiles": true, "workspace": 256,
    "layers": ["conv", "relu", "conv"], "io": [
    {"name": "x", "mode": "input", "shape": [-1], "profiles": [[[1], [8], [64]]]},
    {"name": "y", "mode": "output", "shape": [-1], "from": "x"}]})";

Status Run(const std::string& folder) {
  fakes::UseFakeCuda(1);
  TRTSCOPE_RETURN_IF_ERROR(profiling::SetPathPrefix(folder));
  TRTSCOPE_RETURN_IF_ERROR(profiling::SetSampleInterval(4));
  TRTSCOPE_RETURN_IF_ERROR(profiling::SetLevel(profiling::Level::kLayers));
  TRTSCOPE_ASSIGN_OR_RETURN(device::cuda::CudaDevice* const device, device::cuda::GetCudaDevice(0));
  TRTSCOPE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine,
                            fakes::LoadFake(fakes::kFakeCases[2], kModel));
  auto profile =
      profiling::EngineProfile::Register({"fake", engine->plan().hash, "tensorrt", "torch"});
  TRTSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                            Executor::Create(std::move(engine), std::move(profile)));
  TRTSCOPE_ASSIGN_OR_RETURN(const auto stream, device::cuda::OwnedStream::Create(*device));
  fakes::DeviceBuffer x(*device, 256), y(*device, 256);
  for (int i = 0; i < 40; ++i) {
    Executor::Call call(*executor);
    const TensorView input{x.data(), DataType::kFloat32, {8}, {device::DeviceType::kCuda, 0}};
    TRTSCOPE_RETURN_IF_ERROR(call.BindInputs({&input, 1}, stream->ref()));
    TRTSCOPE_RETURN_IF_ERROR(call.BindOutput(0, y.data()));
    TRTSCOPE_RETURN_IF_ERROR(call.Enqueue(stream->ref()));
    TRTSCOPE_RETURN_IF_ERROR(device->Synchronize(stream->ref()));
  }
  {
    Executor::Call collects(*executor);
  }
  return profiling::SetLevel(profiling::Level::kOff);
}

}  // namespace
}  // namespace trtscope::engine

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_engine FOLDER\n");
    return 2;
  }
  const trtscope::Status status = trtscope::engine::Run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "run_engine: %s\n", std::string(status.message()).c_str());
  return 1;
}
