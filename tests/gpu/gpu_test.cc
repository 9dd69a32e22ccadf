// The engine's whole way on a real GPU, without LibTorch: every plan against its reference, what
// is asynchronous, what layers and spans measure, several TensorRT versions in one process.
//
// run.sh gives the folders: TRTSCOPE_GPU_ENGINES (plans and .npz), TRTSCOPE_GPU_TENSORRT86,
// TRTSCOPE_GPU_LEAN10, TRTSCOPE_GPU_LEAN11 (each a folder with that library).

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/engine.h"
#include "core/engine/executor.h"
#include "core/engine/graph_cache.h"
#include "core/engine/tensorrt/doctor.h"
#include "core/engine/tensorrt/library.h"
#include "core/engine/tensorrt/tensorrt_engine.h"
#include "core/profiling/config.h"
#include "core/profiling/report.h"
#include "tests/gpu/blocker.h"
#include "tests/gpu/npz.h"

namespace trtscope::gpu_test {
namespace {

using device::DeviceType;
using device::StreamRef;
using device::cuda::CudaDevice;
using device::cuda::OwnedStream;
using device::cuda::ScopedDevice;
using engine::Dims;
using engine::Engine;
using engine::ExecutionContext;
using engine::TensorInfo;
using Clock = std::chrono::steady_clock;

std::string Folder(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}
std::string Plan(const std::string& name) {
  return Folder("TRTSCOPE_GPU_ENGINES") + "/" + name + ".plan";
}
double Microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

CudaDevice& Gpu() {
  static const Result<CudaDevice*> gpu = device::cuda::GetCudaDevice(0);
  if (!gpu.ok()) {
    std::fprintf(stderr, "%s\n", std::string(gpu.status().message()).c_str());
    std::exit(1);
  }
  return **gpu;
}

Result<std::unique_ptr<Engine>> Load(const std::string& name, const std::string& library) {
  TRTSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> plan, ReadFile(Plan(name)));
  engine::LoadOptions options;
  options.name = name;
  options.device = {DeviceType::kCuda, 0};
  options.library_path = library;
  return engine::LoadEngine(plan, options);
}

/// An engine with buffers for the shapes that its reference has.
class Bench {
 public:
  static std::unique_ptr<Bench> Make(const std::string& name) {
    Result<std::unique_ptr<Engine>> engine = Load(name, Folder("TRTSCOPE_GPU_TENSORRT86"));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    if (!engine.ok()) return nullptr;
    const std::string stem = name.substr(0, name.find('_', name.starts_with("two") ? 4 : 0));
    std::string reference = Folder("TRTSCOPE_GPU_ENGINES") + "/" + name + ".npz";
    if (!std::filesystem::exists(reference)) {
      reference = Folder("TRTSCOPE_GPU_ENGINES") + "/" + stem + ".npz";
    }
    Result<std::map<std::string, Array>> arrays = ReadNpz(reference);
    EXPECT_TRUE(arrays.ok()) << arrays.status().message();
    if (!arrays.ok()) return nullptr;
    std::unique_ptr<Bench> bench(new Bench);
    bench->engine_ = *std::move(engine);
    bench->input_count_ = bench->engine_->input_count();
    bench->arrays_ = *std::move(arrays);
    for (const TensorInfo& tensor : bench->engine_->tensors()) {
      EXPECT_EQ(bench->arrays_.count(tensor.name), 1u) << "no reference for " << tensor.name;
      const size_t octets = bench->arrays_[tensor.name].values.size() * sizeof(float);
      bench->buffers_.push_back(*Gpu().Allocate(octets));
      bench->names_.push_back(tensor.name);
    }
    return bench;
  }
  ~Bench() {
    for (void* buffer : buffers_) Gpu().Free(buffer);
  }

  /// One call as the runtimes make it, on the reference's shapes.
  Status Call(engine::Executor& executor, StreamRef on) {
    std::vector<engine::TensorView> views;
    for (int i = 0; i < input_count_; ++i) {
      views.push_back(
          {buffer(i), engine::DataType::kFloat32, array(i).shape, {DeviceType::kCuda, 0}});
    }
    engine::Executor::Call call(executor);
    TRTSCOPE_RETURN_IF_ERROR(call.BindInputs(views, on));
    for (int i = input_count_; i < static_cast<int>(buffers_.size()); ++i) {
      TRTSCOPE_RETURN_IF_ERROR(call.BindOutput(i - input_count_, buffer(i)));
    }
    return call.Enqueue(on);
  }

  Engine& engine() { return *engine_; }
  /// For an executor; engine() is gone then.
  std::unique_ptr<Engine> TakeEngine() { return std::move(engine_); }
  const Array& array(int i) { return arrays_[names_[static_cast<size_t>(i)]]; }
  void* buffer(int i) { return buffers_[static_cast<size_t>(i)]; }

  Status Bind(ExecutionContext& context) {
    for (int i = 0; i < static_cast<int>(buffers_.size()); ++i) {
      if (i < input_count_) {
        TRTSCOPE_RETURN_IF_ERROR(context.SetInputShape(i, array(i).shape));
      }
      TRTSCOPE_RETURN_IF_ERROR(context.SetAddress(i, buffers_[static_cast<size_t>(i)]));
    }
    for (int i = input_count_; i < static_cast<int>(buffers_.size()); ++i) {
      TRTSCOPE_ASSIGN_OR_RETURN(const Dims shape, context.OutputShape(i));
      if (!(shape == array(i).shape)) return Internal("shape is " + ToString(shape));
    }
    return OkStatus();
  }
  Status Upload(StreamRef stream) {
    for (int i = 0; i < input_count_; ++i) {
      TRTSCOPE_RETURN_IF_ERROR(Gpu().CopyAsync(buffers_[static_cast<size_t>(i)],
                                               array(i).values.data(), array(i).values.size() * 4,
                                               device::CopyKind::kHostToDevice, stream));
    }
    return OkStatus();
  }
  /// Waits for the stream; the largest error of an output relative to the largest value.
  double Error(StreamRef stream) {
    double worst = 0;
    for (int i = input_count_; i < static_cast<int>(buffers_.size()); ++i) {
      const Array& expected = array(i);
      std::vector<float> got(expected.values.size(), NAN);
      EXPECT_TRUE(Gpu()
                      .CopyAsync(got.data(), buffers_[static_cast<size_t>(i)], got.size() * 4,
                                 device::CopyKind::kDeviceToHost, stream)
                      .ok());
      EXPECT_TRUE(Gpu().Synchronize(stream).ok());
      double difference = 0, scale = 0;
      for (size_t k = 0; k < got.size(); ++k) {
        if (std::isnan(got[k])) return NAN;
        difference = std::max(difference, std::fabs(double{got[k]} - expected.values[k]));
        scale = std::max(scale, std::fabs(double{expected.values[k]}));
      }
      worst = std::max(worst, difference / scale);
    }
    return worst;
  }

 private:
  Bench() = default;
  std::map<std::string, Array> arrays_;
  std::vector<std::string> names_;
  int input_count_ = 0;
  std::unique_ptr<Engine> engine_;
  std::vector<void*> buffers_;
};

class Layers final : public profiling::LayerSink {
 public:
  void OnLayer(const char* name, int64_t, int64_t duration_ns) noexcept override {
    names.emplace_back(name);
    total_ns += duration_ns;
  }
  std::vector<std::string> names;
  int64_t total_ns = 0;
};

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { stream_ = *OwnedStream::Create(Gpu()); }
  void TearDown() override {
    void* current = this;
    Gpu().driver().cuCtxGetCurrent(reinterpret_cast<device::cuda::CUcontext*>(&current));
    EXPECT_EQ(current, nullptr) << "a device was left current";
  }
  StreamRef stream() const { return stream_->ref(); }
  std::unique_ptr<OwnedStream> stream_;
};

class PlanTest : public GpuTest, public ::testing::WithParamInterface<const char*> {};

constexpr const char* kPlans[] = {
    "sigmoid_affine", "two_io", "mlp", "mlp_fp16", "mlp_novc", "conv_fp16", "transformer_fp16"};

TEST_P(PlanTest, MatchesItsReference) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  auto context = *bench->engine().CreateContext({});
  const Status bound = bench->Bind(*context);
  ASSERT_TRUE(bound.ok()) << bound.message();
  for (StreamRef on : {stream(), StreamRef{DeviceType::kCuda, nullptr}}) {
    ASSERT_TRUE(bench->Upload(on).ok());
    const Status status = context->Enqueue(on);
    ASSERT_TRUE(status.ok()) << status.message();
    const double error = bench->Error(on);
    EXPECT_LT(error, 1e-3);
    std::printf("%-18s relative error %.2g, %s\n", GetParam(), error,
                std::string(bench->engine().runtime_version()).c_str());
  }
}

TEST_P(PlanTest, LayersOfASecondContext) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  auto plain = *bench->engine().CreateContext({.user_managed_workspace = true});
  Result<std::unique_ptr<ExecutionContext>> made =
      bench->engine().CreateContext({.layer_times = true, .user_managed_workspace = true});
  ASSERT_TRUE(made.ok()) << made.status().message();
  ExecutionContext& context = **made;
  ASSERT_TRUE(bench->Bind(context).ok());
  const size_t size = *context.WorkspaceSize();
  void* workspace = *Gpu().Allocate(size);
  if (size > 0) {
    ASSERT_TRUE(context.SetWorkspace(workspace, size).ok());
  }
  Layers layers;
  ASSERT_TRUE(context.SetLayerSink(&layers).ok());
  ASSERT_TRUE(bench->Upload(stream()).ok());
  auto begin = *Gpu().CreateEvent(true);
  auto end = *Gpu().CreateEvent(true);
  for (int i = 0; i < 5; ++i) {
    layers.names.clear();
    layers.total_ns = 0;
    ASSERT_TRUE(begin->Record(stream()).ok());
    ASSERT_TRUE(context.Enqueue(stream()).ok());
    ASSERT_TRUE(end->Record(stream()).ok());
    EXPECT_TRUE(layers.names.empty()) << "the enqueue reported by itself";
    ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
    const Status delivered = context.DeliverLayers();
    ASSERT_TRUE(delivered.ok()) << delivered.message();
  }
  EXPECT_LT(bench->Error(stream()), 1e-3);
  const int64_t span = *end->ElapsedNs(*begin);
  EXPECT_GT(layers.total_ns, 0);
  EXPECT_LT(layers.total_ns, 3 * span + 50'000);
  const auto inspected = nlohmann::json::parse(*bench->engine().InspectorJson());
  EXPECT_EQ(layers.names.size(), inspected["Layers"].size());
  std::printf("%-18s %zu layers, sum %.1f us, span %.1f us, workspace %zu\n", GetParam(),
              layers.names.size(), static_cast<double>(layers.total_ns) / 1e3,
              static_cast<double>(span) / 1e3, size);
  Gpu().Free(workspace);
}

TEST_P(PlanTest, ABusyStreamHoldsNobodyUp) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  for (const bool layer_times : {false, true}) {
    auto context = *bench->engine().CreateContext({.layer_times = layer_times});
    ASSERT_TRUE(bench->Bind(*context).ok());
    Layers layers;
    if (layer_times) {
      ASSERT_TRUE(context->SetLayerSink(&layers).ok());
    }
    ASSERT_TRUE(bench->Upload(stream()).ok());
    ASSERT_TRUE(context->Enqueue(stream()).ok());  // the first one loads kernels
    ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
    auto done = *Gpu().CreateEvent(false);
    Blocker blocker(Gpu(), stream());
    const auto before = Clock::now();
    ASSERT_TRUE(context->Enqueue(stream()).ok());
    ASSERT_TRUE(done->Record(stream()).ok());
    const double took = Microseconds(Clock::now() - before);
    EXPECT_FALSE(*done->Query());
    EXPECT_LT(took, 5000.0);
    blocker.Release();
    ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
    EXPECT_TRUE(*done->Query());
    std::printf("%-18s behind a blocked stream, %s: %.1f us\n", GetParam(),
                layer_times ? "with layer times" : "plain", took);
  }
}

TEST_P(PlanTest, ReplaysAsACudaGraph) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  auto context = *bench->engine().CreateContext({});
  ASSERT_TRUE(bench->Bind(*context).ok());
  ASSERT_TRUE(bench->Upload(stream()).ok());
  ASSERT_TRUE(context->Enqueue(stream()).ok());
  ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
  const device::cuda::Driver& driver = Gpu().driver();
  const auto handle = static_cast<device::cuda::CUstream>(stream().handle);
  device::cuda::CUgraph graph = nullptr;
  device::cuda::CUgraphExec exec = nullptr;
  {
    ScopedDevice current(Gpu());
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(handle, device::cuda::kCaptureModeThreadLocal), 0);
    const Status captured = context->Enqueue(stream());
    ASSERT_EQ(driver.cuStreamEndCapture(handle, &graph), 0);
    ASSERT_TRUE(captured.ok()) << captured.message();
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(driver.cuGraphLaunch(exec, handle), 0);
  }
  EXPECT_LT(bench->Error(stream()), 1e-3);
  driver.cuGraphExecDestroy(exec);
  driver.cuGraphDestroy(graph);
}

// The call as the runtimes make it, at every level, with graphs and without: right results, nobody
// waits behind a blocked stream, and what a call costs on the host.
TEST_P(PlanTest, ExecutorAtEveryLevel) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  auto profile = profiling::EngineProfile::Register(
      {GetParam(), bench->engine().plan().hash, "tensorrt", "gpu_test"});
  Result<std::unique_ptr<engine::Executor>> made =
      engine::Executor::Create(bench->TakeEngine(), std::move(profile));
  ASSERT_TRUE(made.ok()) << made.status().message();
  engine::Executor& executor = **made;
  const auto call = [&](StreamRef on) { return bench->Call(executor, on); };
  ASSERT_TRUE(bench->Upload(stream()).ok());
  for (const bool graphs : {false, true}) {
    engine::SetCudaGraphs(graphs);
    for (const profiling::Level level : {profiling::Level::kOff, profiling::Level::kDelegate,
                                         profiling::Level::kPhases, profiling::Level::kLayers}) {
      ASSERT_TRUE(profiling::SetLevel(level).ok());
      for (int i = 0; i < 20; ++i) {
        const Status status = call(stream());
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
      }
      double blocked = 0;
      {
        Blocker blocker(Gpu(), stream());
        for (int i = 0; i < 4; ++i) {
          const auto before = Clock::now();
          ASSERT_TRUE(call(stream()).ok());
          blocked = std::max(blocked, Microseconds(Clock::now() - before));
        }
      }
      EXPECT_LT(blocked, 5000.0) << Name(level);
      ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
      std::vector<double> times;
      for (int i = 0; i < 400; ++i) {
        const auto before = Clock::now();
        ASSERT_TRUE(call(stream()).ok());
        times.push_back(Microseconds(Clock::now() - before));
        ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
      }
      EXPECT_LT(bench->Error(stream()), 1e-3) << Name(level);
      std::sort(times.begin(), times.end());
      double sum = 0;
      for (double time : times) sum += time;
      std::printf(
          "%-18s %-9s graphs %-3s call %.2f us (median), %.2f (mean), %.1f (p99), "
          "behind a blocked stream %.1f at most\n",
          GetParam(), std::string(Name(level)).c_str(), graphs ? "on" : "off",
          times[times.size() / 2], sum / static_cast<double>(times.size()),
          times[times.size() * 99 / 100], blocked);
    }
  }
  engine::SetCudaGraphs(false);
  ASSERT_TRUE(profiling::SetLevel(profiling::Level::kOff).ok());
  std::printf("%s\n", profiling::TimingTable().c_str());
}

// What our call adds to TensorRT's own.
TEST_P(PlanTest, CostOfTheAdapter) {
  const auto bench = Bench::Make(GetParam());
  ASSERT_NE(bench, nullptr);
  auto context = *bench->engine().CreateContext({});
  ASSERT_TRUE(bench->Bind(*context).ok());
  ASSERT_TRUE(bench->Upload(stream()).ok());
  const auto& engine = static_cast<const engine::tensorrt::TensorRtEngine&>(bench->engine());
  // A second object over the same kind of context, driven directly.
  const auto median = [](std::vector<double> times) {
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  };
  std::vector<double> ours;
  for (int i = 0; i < 300; ++i) {
    const auto before = Clock::now();
    ASSERT_TRUE(context->Enqueue(stream()).ok());
    ours.push_back(Microseconds(Clock::now() - before));
    ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
  }
  context.reset();
  ScopedDevice current(Gpu());
  engine::tensorrt::abi::IExecutionContext bare(engine.abi_engine().createExecutionContext(),
                                                &engine.library().layout());
  ASSERT_TRUE(static_cast<bool>(bare));
  std::vector<void*> buffers;
  for (int i = 0; i < static_cast<int>(engine.tensors().size()); ++i) {
    const TensorInfo& tensor = engine.tensors()[static_cast<size_t>(i)];
    buffers.push_back(*Gpu().Allocate(bench->array(i).values.size() * 4));
    if (i < engine.input_count()) {
      ASSERT_TRUE(bare.setInputShape(tensor.name.c_str(), bench->array(i).shape));
    }
    ASSERT_TRUE(bare.setTensorAddress(tensor.name.c_str(), buffers.back()));
  }
  std::vector<double> theirs;
  for (int i = 0; i < 300; ++i) {
    const auto before = Clock::now();
    ASSERT_TRUE(bare.enqueueV3(stream().handle));
    theirs.push_back(Microseconds(Clock::now() - before));
    ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
  }
  bare.Destroy();
  for (void* buffer : buffers) Gpu().Free(buffer);
  std::printf("%-18s enqueue through the adapter %.2f us, bare enqueueV3 %.2f us\n", GetParam(),
              median(ours), median(theirs));
}

INSTANTIATE_TEST_SUITE_P(TensorRt86, PlanTest, ::testing::ValuesIn(kPlans),
                         [](const auto& info) { return std::string(info.param); });

class Found final : public engine::OutputAllocator {
 public:
  ~Found() override { Gpu().Free(data); }
  void* Allocate(int, size_t size) noexcept override {
    Gpu().Free(data);
    data = *Gpu().Allocate(size);
    bytes = size;
    return data;
  }
  void OnShape(int, const Dims& dims) noexcept override { shape = dims; }
  void* data = nullptr;
  size_t bytes = 0;
  Dims shape;
};

TEST_F(GpuTest, DataDependentOutput) {
  Result<std::unique_ptr<Engine>> engine = Load("nonzero_dds", Folder("TRTSCOPE_GPU_TENSORRT86"));
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  for (const TensorInfo& tensor : (*engine)->tensors()) {
    std::printf("nonzero_dds: %s %s %s%s\n", tensor.name.c_str(), ToString(tensor.shape).c_str(),
                std::string(Name(tensor.dtype)).c_str(),
                tensor.data_dependent ? ", data-dependent" : "");
  }
  ASSERT_EQ((*engine)->input_count(), 1);
  const TensorInfo& input = (*engine)->tensors()[0];
  const Dims shape = input.shape.dynamic() ? input.profiles[0].opt : input.shape;
  std::vector<float> values(static_cast<size_t>(shape.elements()), 0.0F);
  int64_t expected = 0;
  for (size_t i = 0; i < values.size(); i += 3, ++expected)
    values[i] = 1.0F + static_cast<float>(i);
  void* data = *Gpu().Allocate(values.size() * 4);
  ASSERT_TRUE(Gpu()
                  .CopyAsync(data, values.data(), values.size() * 4,
                             device::CopyKind::kHostToDevice, stream())
                  .ok());
  auto context = *(*engine)->CreateContext({});
  ASSERT_TRUE(context->SetInputShape(0, shape).ok());
  ASSERT_TRUE(context->SetAddress(0, data).ok());
  std::vector<std::unique_ptr<Found>> outputs;
  bool any = false;
  for (size_t i = 1; i < (*engine)->tensors().size(); ++i) {
    any |= (*engine)->tensors()[i].data_dependent;
    outputs.push_back(std::make_unique<Found>());
    ASSERT_TRUE(context->SetOutputAllocator(static_cast<int>(i), outputs.back().get()).ok());
  }
  EXPECT_TRUE(any);
  const Status status = context->Enqueue(stream());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(Gpu().Synchronize(stream()).ok());
  for (const auto& output : outputs) {
    std::printf("nonzero_dds: output %s, %zu octets\n", ToString(output->shape).c_str(),
                output->bytes);
    bool counted = false;
    for (int d = 0; d < output->shape.rank; ++d) counted |= output->shape[d] == expected;
    EXPECT_TRUE(counted) << "expected one dimension of " << expected;
  }
  Gpu().Free(data);
}

// TensorRT 8.6 crashes when it is asked for layers whose stream was destroyed: measured calls run
// on a stream that stays.
TEST_F(GpuTest, LayersAfterTheCallersStreamIsGone) {
  const auto bench = Bench::Make("mlp_fp16");
  ASSERT_NE(bench, nullptr);
  auto profile = profiling::EngineProfile::Register(
      {"stream gone", bench->engine().plan().hash, "tensorrt", "gpu_test"});
  const auto executor = *engine::Executor::Create(bench->TakeEngine(), std::move(profile));
  ASSERT_TRUE(profiling::SetSampleInterval(1).ok());
  ASSERT_TRUE(profiling::SetLevel(profiling::Level::kLayers).ok());
  for (int i = 0; i < 4; ++i) {
    const auto gone = *OwnedStream::Create(Gpu());
    ASSERT_TRUE(bench->Upload(gone->ref()).ok());
    const Status status = bench->Call(*executor, gone->ref());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_LT(bench->Error(gone->ref()), 1e-3);
  }
  {
    engine::Executor::Call collects(*executor);
  }
  ASSERT_TRUE(profiling::SetLevel(profiling::Level::kOff).ok());
  ASSERT_TRUE(profiling::SetSampleInterval(0).ok());
  const auto timing = nlohmann::json::parse(profiling::TimingJson());
  for (const auto& row : timing["engines"]) {
    if (row["name"] != "stream gone") continue;
    ASSERT_FALSE(row["layers"].empty());
    EXPECT_EQ(row["layers"][0]["count"], 4);
    return;
  }
  FAIL() << "not in the timing";
}

TEST_F(GpuTest, LeanLibrariesOfOtherVersions) {
  using engine::tensorrt::Flavour;
  using engine::tensorrt::Library;
  // Everything at once: the 8.6 engine runs on after the others were opened and failed.
  const auto bench = Bench::Make("mlp");
  ASSERT_NE(bench, nullptr);
  auto context = *bench->engine().CreateContext({});
  ASSERT_TRUE(bench->Bind(*context).ok());
  const struct {
    const char* variable;
    const char* file;
    const char* version;
  } kLean[] = {{"TRTSCOPE_GPU_LEAN10", "libnvinfer_lean.so.10", "TensorRT 10.16.1"},
               {"TRTSCOPE_GPU_LEAN11", "libnvinfer_lean.so.11", "TensorRT 11.4.0"}};
  for (const auto& lean : kLean) {
    const std::string path = Folder(lean.variable) + "/" + lean.file;
    Result<const Library*> library = Library::Open(path, Flavour::kLean);
    ASSERT_TRUE(library.ok()) << library.status().message();
    ScopedDevice current(Gpu());
    auto runtime = (*library)->CreateRuntime();
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    std::printf("%s: runtime up, logger %s\n", (*library)->label().c_str(),
                runtime->getLogger() != nullptr ? "set" : "missing");
    runtime->Destroy();
    // Foreign plans: one that is not version-compatible, and garbage with a right header.
    Result<std::vector<std::byte>> plan = ReadFile(Plan("mlp_novc"));
    ASSERT_TRUE(plan.ok());
    engine::LoadOptions options;
    options.device = {DeviceType::kCuda, 0};
    const auto info = engine::InspectPlan(*plan);
    const auto refused =
        engine::tensorrt::TensorRtEngine::Deserialize(**library, *plan, *info, options, Gpu());
    ASSERT_FALSE(refused.ok());
    std::printf("%s refuses mlp_novc: %s\n", (*library)->label().c_str(),
                std::string(refused.status().message()).c_str());
    EXPECT_EQ((*library)->label().find(lean.version), 0u);
    EXPECT_EQ(refused.status().message().find("logged no reason"), std::string_view::npos);
    const auto compatible = ReadFile(Plan("mlp"));
    const auto mlp = engine::tensorrt::TensorRtEngine::Deserialize(
        **library, *compatible, *engine::InspectPlan(*compatible), options, Gpu());
    std::printf("%s on mlp (version-compatible): %s\n", (*library)->label().c_str(),
                mlp.ok() ? "runs" : std::string(mlp.status().message()).c_str());
  }
  ASSERT_TRUE(bench->Upload(stream()).ok());
  ASSERT_TRUE(context->Enqueue(stream()).ok());
  EXPECT_LT(bench->Error(stream()), 1e-3);
}

TEST_F(GpuTest, OneSentenceForAPlanThatCannotRun) {
  Result<std::vector<std::byte>> plan = ReadFile(Plan("mlp"));
  ASSERT_TRUE(plan.ok());
  engine::LoadOptions options;
  options.name = "m";
  options.device = {DeviceType::kCuda, 0};
  options.library_path = Folder("TRTSCOPE_GPU_LEAN11");
  for (const char* what : {"newer", "truncated", "other SM"}) {
    std::vector<std::byte> bytes = *plan;
    if (what == std::string("newer")) bytes[24] = std::byte{10};
    if (what == std::string("truncated")) {
      bytes.resize(bytes.size() / 2);
      options.library_path = Folder("TRTSCOPE_GPU_TENSORRT86");
    }
    if (what == std::string("other SM")) {
      bytes[124] = std::byte{8};
      bytes[132] = std::byte{6};
      options.library_path = Folder("TRTSCOPE_GPU_TENSORRT86");
    }
    const auto engine = engine::LoadEngine(bytes, options);
    std::printf("%s: %s\n", what,
                engine.ok() ? "loads" : std::string(engine.status().message()).c_str());
    EXPECT_FALSE(engine.ok()) << what;
  }
}

TEST(Doctor, Prints) {
  setenv("TRTSCOPE_TENSORRT",
         (Folder("TRTSCOPE_GPU_TENSORRT86") + ":" + Folder("TRTSCOPE_GPU_LEAN10") + ":" +
          Folder("TRTSCOPE_GPU_LEAN11"))
             .c_str(),
         1);
  char* text = trtscope_doctor_json();
  std::printf("%s\n", text);
  const auto json = nlohmann::json::parse(text);
  std::free(text);
  unsetenv("TRTSCOPE_TENSORRT");
  EXPECT_TRUE(json["cuda"]["driver"].contains("version"));
  EXPECT_GE(json["cuda"]["devices"].size(), 1u);
  EXPECT_GE(json["tensorrt"].size(), 3u);
}

}  // namespace
}  // namespace trtscope::gpu_test
