// What execute_engine costs on the host, beside a bare enqueueV3 loop on the same plan, at every
// level, with and without graphs, on a side stream and on the default one; and what profiling with
// TensorRT's own emits-profile switch costs instead.
//
// Every variant is measured in every round, in turn, so that all of them see the same machine.
// Printed: the median over the rounds of microseconds a call, and the quartiles.
//
// run.sh starts it (`run.sh bench`); it needs a torch with CUDA and the folders of gpu_test.cc.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/graph_cache.h"
#include "core/engine/library_paths.h"
#include "core/engine/tensorrt/callbacks.h"
#include "core/engine/tensorrt/tensorrt_engine.h"
#include "core/profiling/config.h"
#include "core/runtime/engine_state.h"
#include "core/runtime/tensor_bridge.h"
#include "core/runtime/torch_engine.h"
#include "tests/gpu/npz.h"

namespace trtscope::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using EnginePtr = c10::intrusive_ptr<TorchEngine>;
using engine::TensorInfo;
using engine::tensorrt::TensorRtEngine;
namespace abi = engine::tensorrt::abi;

constexpr int kRounds = 11;
constexpr int kCalls = 500;

template <typename T>
T OrDie(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", std::string(result.status().message()).c_str());
  std::exit(1);
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The plan with nothing of ours around it but the typed calls of the ABI.
class Bare {
 public:
  Bare(const TensorRtEngine& engine, const std::vector<at::Tensor>& inputs)
      : context_(engine.abi_engine().createExecutionContext(), &engine.library().layout()) {
    for (int i = 0; i < engine.input_count(); ++i) {
      const char* name = engine.tensors()[static_cast<size_t>(i)].name.c_str();
      const at::Tensor& input = inputs[static_cast<size_t>(i)];
      const engine::Dims shape(input.sizes().data(), static_cast<int32_t>(input.dim()));
      Require(context_.setInputShape(name, shape), name);
      Require(context_.setTensorAddress(name, input.data_ptr()), name);
    }
    for (size_t i = inputs.size(); i < engine.tensors().size(); ++i) {
      const TensorInfo& info = engine.tensors()[i];
      const engine::Dims shape = context_.getTensorShape(info.name.c_str());
      outputs_.push_back(at::empty({static_cast<int64_t>(ByteSize(shape, info.dtype))},
                                   at::TensorOptions().dtype(at::kByte).device(at::kCUDA)));
      Require(context_.setTensorAddress(info.name.c_str(), outputs_.back().data_ptr()),
              info.name.c_str());
    }
  }
  ~Bare() { context_.Destroy(); }

  void EmitProfile(engine::tensorrt::ProfilerCallback& profiler) {
    context_.setProfiler(profiler.abi_object());
    context_.setEnqueueEmitsProfile(true);
  }
  void Enqueue(void* stream) { Require(context_.enqueueV3(stream), "enqueueV3"); }

 private:
  static void Require(bool done, const char* what) {
    if (done) return;
    std::fprintf(stderr, "TensorRT refused: %s\n", what);
    std::exit(1);
  }
  abi::IExecutionContext context_;
  std::vector<at::Tensor> outputs_;
};

/// The least that a GPU span of every call takes: a pair of events around it, read once complete.
class Timed {
 public:
  explicit Timed(device::cuda::CudaDevice& gpu) {
    for (Pair& pair : pairs_) {
      pair.begin = OrDie(gpu.CreateEvent(/*timing=*/true));
      pair.end = OrDie(gpu.CreateEvent(/*timing=*/true));
    }
  }
  void Call(Bare& bare, void* handle) {
    while (read_ < next_ && *At(read_).end->Query()) {
      total_ns_ += *At(read_).end->ElapsedNs(*At(read_).begin);
      ++read_;
    }
    Pair& pair = At(next_++);
    (void)pair.begin->Record({device::DeviceType::kCuda, handle}).ok();
    bare.Enqueue(handle);
    (void)pair.end->Record({device::DeviceType::kCuda, handle}).ok();
  }

 private:
  struct Pair {
    std::unique_ptr<device::Event> begin, end;
  };
  Pair& At(size_t n) { return pairs_[n % std::size(pairs_)]; }
  Pair pairs_[64];
  size_t next_ = 0, read_ = 0;
  int64_t total_ns_ = 0;
};

struct Variant {
  std::string name;
  std::function<void()> prepare;
  std::function<void()> call;
  std::vector<double> us;

  double Quantile(double q) {
    std::sort(us.begin(), us.end());
    return us[static_cast<size_t>(q * static_cast<double>(us.size() - 1))];
  }
};

void Measure(const std::string& plan, bool default_stream, std::vector<Variant>& variants,
             const std::function<void()>& wait) {
  for (Variant& variant : variants) {
    variant.prepare();
    for (int i = 0; i < 30; ++i) {
      variant.call();
      wait();
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Variant& variant : variants) {
      variant.prepare();
      // Sampling by cost finds its pace anew, as it does when a user changes the level.
      for (int i = 0; i < 100; ++i) {
        variant.call();
        if (i % 8 == 7) wait();
      }
      // One call at a time: what is measured is the host's work, not a full queue.
      double total = 0;
      for (int i = 0; i < kCalls; ++i) {
        const auto begin = Clock::now();
        variant.call();
        total += std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        if (i % 8 == 7) wait();
      }
      wait();
      variant.us.push_back(total / kCalls);
    }
  }
  const double bare = variants.front().Quantile(0.5);
  for (Variant& variant : variants) {
    const double median = variant.Quantile(0.5);
    std::printf("| %s | %s | %s | %.2f | %.2f to %.2f | %+.2f | %.2f |\n", plan.c_str(),
                default_stream ? "default" : "side", variant.name.c_str(), median,
                variant.Quantile(0.25), variant.Quantile(0.75), median - bare, median / bare);
  }
  std::fflush(stdout);
}

void Bench(const std::string& plan) {
  const std::vector<std::byte> bytes =
      OrDie(gpu_test::ReadFile(Environment("TRTSCOPE_GPU_ENGINES") + "/" + plan + ".plan"));
  engine::LoadOptions options;
  options.name = plan;
  options.device = {device::DeviceType::kCuda, 0};
  const std::unique_ptr<engine::Engine> loaded = OrDie(engine::LoadEngine(bytes, options));
  const auto& engine = static_cast<const TensorRtEngine&>(*loaded);
  const std::unique_ptr<engine::Engine> second = OrDie(engine::LoadEngine(bytes, options));

  std::vector<at::Tensor> inputs;
  std::string input_names, output_names;
  for (int i = 0; i < static_cast<int>(engine.tensors().size()); ++i) {
    const TensorInfo& info = engine.tensors()[static_cast<size_t>(i)];
    std::string& names = i < engine.input_count() ? input_names : output_names;
    names += (names.empty() ? "" : "%") + info.name;
    if (i >= engine.input_count()) continue;
    const engine::Dims& shape = info.profiles.empty() ? info.shape : info.profiles[0].opt;
    inputs.push_back(at::rand({shape.d.data(), static_cast<size_t>(shape.rank)},
                              at::TensorOptions().dtype(at::kFloat).device(at::kCUDA)));
  }
  const std::string raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const EnginePtr ours = c10::make_intrusive<TorchEngine>(
      StateFields{"10", plan, "0%9%0%0%NVIDIA H200", raw, input_names, output_names, "0", "",
                  CurrentPlatform(), "0", "0", "0", ""},
      PlanEncoding::kRaw);
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("tensorrt::execute_engine", "");
  torch::jit::Stack stack;
  const auto execute = [&] {
    stack.clear();
    stack.emplace_back(inputs);
    stack.emplace_back(ours);
    op.callBoxed(stack);
  };
  const auto at_level = [](profiling::Level level, bool graphs) {
    return [level, graphs] {
      engine::SetCudaGraphs(graphs);
      (void)profiling::SetLevel(level).ok();
      (void)profiling::SetSampleInterval(0).ok();
    };
  };

  const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
  const c10::Device device(c10::kCUDA, 0);
  Bare bare(engine, inputs);
  Bare emitting(static_cast<const TensorRtEngine&>(*second), inputs);
  engine::tensorrt::ProfilerCallback profiler(engine.library().layout().family());
  emitting.EmitProfile(profiler);
  device::cuda::CudaDevice& gpu = *OrDie(device::cuda::GetCudaDevice(0));
  const auto begin = OrDie(gpu.CreateEvent(/*timing=*/true));
  const auto end = OrDie(gpu.CreateEvent(/*timing=*/true));
  Timed timed(gpu);
  for (const bool default_stream : {false, true}) {
    const c10::Stream stream =
        default_stream ? cuda.getDefaultStream(device) : cuda.getStreamFromGlobalPool(device);
    const c10::Stream before = cuda.exchangeStream(stream);
    void* const handle = cuda.getStreamNativeHandle(stream);
    const auto off = at_level(profiling::Level::kOff, false);
    std::vector<Variant> variants = {
        {"bare enqueueV3", off, [&] { bare.Enqueue(handle); }, {}},
        {"bare, emits-profile true", off, [&] { emitting.Enqueue(handle); }, {}},
        {"bare, a timing event before and after",
         off,
         [&] {
           (void)begin->Record({device::DeviceType::kCuda, handle}).ok();
           bare.Enqueue(handle);
           (void)end->Record({device::DeviceType::kCuda, handle}).ok();
         },
         {}},
        {"bare, the same and read when done", off, [&] { timed.Call(bare, handle); }, {}},
        {"off", off, execute, {}},
        {"delegate", at_level(profiling::Level::kDelegate, false), execute, {}},
        {"phases", at_level(profiling::Level::kPhases, false), execute, {}},
        {"phases, every call's GPU span",
         [&] {
           at_level(profiling::Level::kPhases, false)();
           (void)profiling::SetSampleInterval(1).ok();
         },
         execute,
         {}},
        {"layers", at_level(profiling::Level::kLayers, false), execute, {}},
        {"layers of every call",
         [&] {
           at_level(profiling::Level::kLayers, false)();
           (void)profiling::SetSampleInterval(1).ok();
         },
         execute,
         {}},
        {"off, graphs", at_level(profiling::Level::kOff, true), execute, {}},
        {"phases, graphs", at_level(profiling::Level::kPhases, true), execute, {}},
        {"layers, graphs", at_level(profiling::Level::kLayers, true), execute, {}},
    };
    Measure(plan, default_stream, variants, [&] { cuda.synchronizeStream(stream); });
    off();
    cuda.exchangeStream(before);
  }
}

// What the pieces cost that every call or every measured one needs: the floor of what it can add.
void Primitives() {
  device::cuda::CudaDevice& gpu = *OrDie(device::cuda::GetCudaDevice(0));
  const auto stream = OrDie(device::cuda::OwnedStream::Create(gpu));
  const auto plain = OrDie(gpu.CreateEvent(/*timing=*/false));
  const auto begin = OrDie(gpu.CreateEvent(/*timing=*/true));
  const auto end = OrDie(gpu.CreateEvent(/*timing=*/true));
  const auto time = [&](const char* what, const std::function<void()>& piece) {
    std::vector<double> us;
    for (int round = 0; round < kRounds; ++round) {
      (void)gpu.Synchronize(stream->ref()).ok();
      const auto start = Clock::now();
      for (int i = 0; i < kCalls; ++i) piece();
      us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                   kCalls);
    }
    std::nth_element(us.begin(), us.begin() + kRounds / 2, us.end());
    std::printf("| %s | %.2f |\n", what, us[kRounds / 2]);
  };
  std::printf("| piece | us |\n|---|---|\n");
  time("making the device current where it is", [&] { device::cuda::ScopedDevice current(gpu); });
  time("asking whether a stream is captured", [&] { (void)gpu.IsCapturing(stream->ref()); });
  time("recording an event", [&] { (void)plain->Record(stream->ref()).ok(); });
  time("recording an event with timing", [&] { (void)begin->Record(stream->ref()).ok(); });
  (void)begin->Record(stream->ref()).ok();
  (void)end->Record(stream->ref()).ok();
  time("asking a complete event", [&] { (void)end->Query().ok(); });
  time("time between two events", [&] { (void)end->ElapsedNs(*begin).ok(); });
  time("torch's current stream", [] { (void)CurrentStream({device::DeviceType::kCuda, 0}); });
  const engine::Dims shape{8, 16};
  time("a block from torch's allocator, and back", [] {
    static c10::Allocator* const allocator = c10::GetAllocator(c10::kCUDA);
    (void)allocator->allocate(512);
  });
  time("an output from torch's allocator", [&] {
    (void)EmptyTensor(shape, engine::DataType::kFloat32, {device::DeviceType::kCuda, 0});
  });
  std::printf("\n");
}

}  // namespace
}  // namespace trtscope::runtime

int main() {
  // A torch built for the CPU links none of this; the one on this machine has it.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "this torch has no CUDA: %s\n", dlerror());
    return 1;
  }
  trtscope::engine::AddLibraryPath(trtscope::runtime::Environment("TRTSCOPE_GPU_TENSORRT86"));
  (void)at::rand({1}, at::TensorOptions().device(at::kCUDA));  // torch makes its context current
  trtscope::runtime::Primitives();
  std::printf(
      "| engine | stream | variant | us a call | quartiles | over bare | ratio |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const char* plan : {"sigmoid_affine", "two_io", "mlp_fp16", "conv_fp16", "transformer_fp16"})
    trtscope::runtime::Bench(plan);
}
