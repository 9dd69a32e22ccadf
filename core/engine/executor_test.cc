#include "core/engine/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/profiling/config.h"

namespace trtscope::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What reached the engine below, in order.
using Log = std::vector<std::string>;

// An engine whose every call is recorded and whose every step can be made to fail.
class ScriptedContext : public ExecutionContext {
 public:
  ScriptedContext(std::span<const TensorInfo> tensors, Log& log, std::string& fail)
      : tensors_(tensors), log_(log), fail_(fail), shapes_(tensors.size()) {}

  Status SetOptimizationProfile(int profile, device::StreamRef) override {
    return Step("profile " + std::to_string(profile));
  }
  Status SetInputShape(int index, const Dims& shape) override {
    shapes_[static_cast<size_t>(index)] = shape;
    return Step("shape " + std::to_string(index) + " " + ToString(shape));
  }
  Status SetAddress(int index, void* data) override {
    EXPECT_NE(data, nullptr);
    return Step("address " + std::to_string(index));
  }
  Result<Dims> OutputShape(int index) override {
    TRTSCOPE_RETURN_IF_ERROR(Step("infer " + std::to_string(index)));
    return tensors_[static_cast<size_t>(index)].data_dependent ? Dims{-1} : shapes_[0];
  }
  Status SetOutputAllocator(int index, OutputAllocator* allocator) override {
    return Step((allocator ? "allocator " : "no allocator ") + std::to_string(index));
  }
  Result<size_t> WorkspaceSize() override { return size_t{0}; }
  Status SetWorkspace(void*, size_t) override { return OkStatus(); }
  Status Enqueue(device::StreamRef) override {
    if (sink_ != nullptr) {
      sink_->OnLayer("first", -1, 10);
      sink_->OnLayer("second", -1, 20);
    }
    return Step("enqueue");
  }
  Status SetLayerSink(profiling::LayerSink* sink) override {
    sink_ = sink;
    return Step(sink ? "listen" : "ignore");
  }
  Status DeliverLayers() override { return OkStatus(); }

 private:
  Status Step(const std::string& what) {
    log_.push_back(what);
    return what == fail_ ? Internal("'" + what + "' failed as asked") : OkStatus();
  }
  std::span<const TensorInfo> tensors_;
  Log& log_;
  std::string& fail_;
  std::vector<Dims> shapes_;
  profiling::LayerSink* sink_ = nullptr;
};

class ScriptedEngine : public Engine {
 public:
  ScriptedEngine(std::vector<TensorInfo> tensors, int profiles, Log& log, std::string& fail)
      : tensors_(std::move(tensors)), profiles_(profiles), log_(log), fail_(fail) {}
  const PlanInfo& plan() const override { return plan_; }
  std::string_view runtime_version() const override { return "scripted"; }
  std::span<const TensorInfo> tensors() const override { return tensors_; }
  int input_count() const override {
    int n = 0;
    for (const TensorInfo& tensor : tensors_) n += tensor.mode == IoMode::kInput;
    return n;
  }
  int profile_count() const override { return profiles_; }
  device::DeviceId device() const override { return {}; }
  Result<std::unique_ptr<ExecutionContext>> CreateContext(const ContextOptions&) override {
    return std::unique_ptr<ExecutionContext>(
        std::make_unique<ScriptedContext>(tensors_, log_, fail_));
  }
  bool layers_arrive_late() const override { return false; }
  Status SetWeightStreamingBudget(int64_t) override { return Unsupported("scripted"); }
  Result<std::string> InspectorJson() override { return std::string("{\"Layers\": []}"); }

 private:
  PlanInfo plan_;
  std::vector<TensorInfo> tensors_;
  int profiles_;
  Log& log_;
  std::string& fail_;
};

TensorInfo Input(std::string name, Dims shape, std::vector<ShapeRange> profiles = {}) {
  TensorInfo info;
  info.name = std::move(name);
  info.shape = shape;
  info.profiles = std::move(profiles);
  return info;
}

TensorInfo Output(std::string name) {
  TensorInfo info;
  info.name = std::move(name);
  info.mode = IoMode::kOutput;
  return info;
}

class ExecutorTest : public ::testing::Test {
 protected:
  void Make(std::vector<TensorInfo> tensors, int profiles = 1) {
    auto executor = Executor::Create(
        std::make_unique<ScriptedEngine>(std::move(tensors), profiles, log_, fail_),
        profiling::EngineProfile::Register({"scripted", 1, "scripted", "test"}));
    ASSERT_TRUE(executor.ok());
    executor_ = *std::move(executor);
  }

  // One call with these inputs; its error, if any.
  std::string Run(std::vector<TensorView> inputs) {
    log_.clear();
    Executor::Call call(*executor_);
    Status status = call.BindInputs(inputs, {});
    if (status.ok()) status = call.BindOutput(0, output_);
    if (status.ok()) status = call.Enqueue({});
    return std::string(status.message());
  }

  TensorView View(Dims shape) { return {input_, DataType::kFloat32, shape, {}}; }

  Log log_;
  std::string fail_;
  float input_[64] = {}, other_[64] = {}, output_[64] = {};
  std::unique_ptr<Executor> executor_;
};

TEST_F(ExecutorTest, AnUnchangedCallReachesTheEngineOnce) {
  Make({Input("x", {-1, 4}), Output("y")});
  EXPECT_EQ(Run({View({2, 4})}), "");
  EXPECT_THAT(log_, ElementsAre("shape 0 [2, 4]", "address 0", "infer 1", "address 1", "enqueue"));
  EXPECT_EQ(Run({View({2, 4})}), "");
  EXPECT_THAT(log_, ElementsAre("enqueue"));
}

TEST_F(ExecutorTest, OnlyWhatChangedIsSetAgain) {
  Make({Input("x", {-1, 4}), Input("z", {-1, 4}), Output("y")});
  EXPECT_EQ(Run({View({2, 4}), View({2, 4})}), "");
  TensorView moved = View({2, 4});
  moved.data = other_;
  EXPECT_EQ(Run({View({2, 4}), moved}), "");
  EXPECT_THAT(log_, ElementsAre("address 1", "enqueue"));
  EXPECT_EQ(Run({View({3, 4}), moved}), "");
  EXPECT_THAT(log_, ElementsAre("shape 0 [3, 4]", "infer 2", "enqueue"));
}

TEST_F(ExecutorTest, ValuesOfShapeTensorsAreReadOnEveryCall) {
  TensorInfo shape = Input("shape", {2});
  shape.shape_tensor = true;
  Make({shape, Output("y")});
  EXPECT_EQ(Run({View({2})}), "");
  EXPECT_EQ(Run({View({2})}), "");
  EXPECT_THAT(log_, ElementsAre("infer 1", "enqueue"));
}

TEST_F(ExecutorTest, AnEmptyTensorHasAnAddress) {
  Make({Input("x", {-1}), Output("y")});
  TensorView empty = View({0});
  empty.data = nullptr;
  EXPECT_EQ(Run({empty}), "");
}

TEST_F(ExecutorTest, ErrorsNameEngineTensorWhatCameAndWhatWasExpected) {
  Make({Input("tokens", {-1, 4}, {{{1, 4}, {2, 4}, {8, 4}}}), Output("y")});
  const std::string id = executor_->id();
  EXPECT_THAT(id, HasSubstr("scripted-"));

  TensorView view = View({2, 4});
  view.dtype = DataType::kInt64;
  EXPECT_EQ(Run({view}), "engine '" + id + "', input 0 'tokens': expected float32, got int64");
  view = View({2, 4});
  view.device = {device::DeviceType::kCuda, 1};
  EXPECT_EQ(Run({view}),
            "engine '" + id + "', input 0 'tokens': expected a tensor on host, got one on cuda:1");
  EXPECT_EQ(Run({View({4})}),
            "engine '" + id + "', input 0 'tokens': expected rank 2 [-1, 4], got rank 1 [4]");
  EXPECT_EQ(
      Run({View({2, 5})}),
      "engine '" + id + "', input 0 'tokens': expected shape [-1, 4], got [2, 5] (dimension 1)");
  EXPECT_EQ(
      Run({View({9, 4})}),
      "engine '" + id + "', input 0 'tokens': expected a shape from [1, 4] to [8, 4], got [9, 4]");
  EXPECT_EQ(Run({}), "engine '" + id + "': expected 1 inputs, got 0");
  EXPECT_THAT(log_, IsEmpty()) << "nothing of a refused call may reach the engine";
}

TEST_F(ExecutorTest, TheProfileFollowsTheShapes) {
  const std::vector<ShapeRange> ranges = {{{1, 4}, {1, 4}, {2, 4}}, {{2, 4}, {8, 4}, {16, 4}}};
  Make({Input("x", {-1, 4}, ranges), Input("z", {-1, 4}, ranges), Output("y")}, 2);
  EXPECT_EQ(Run({View({1, 4}), View({2, 4})}), "");
  EXPECT_THAT(log_, ::testing::Not(::testing::Contains("profile 1")));
  EXPECT_EQ(Run({View({16, 4}), View({2, 4})}), "");
  EXPECT_THAT(log_,
              ElementsAre("profile 1", "shape 0 [16, 4]", "shape 1 [2, 4]", "infer 2", "enqueue"));
  EXPECT_EQ(Run({View({2, 4}), View({2, 4})}), "") << "the profile in use is kept where it fits";
  EXPECT_THAT(log_, ElementsAre("shape 0 [2, 4]", "infer 2", "enqueue"));
  EXPECT_THAT(Run({View({1, 4}), View({16, 4})}), HasSubstr("none of its 2 optimization profiles"));
}

// Whatever fails, the error comes back, and the next good call sets again what it must.
TEST_F(ExecutorTest, EveryFailureIsReportedAndRecoveredFrom) {
  for (const char* step : {"shape 0 [3, 4]", "address 0", "infer 1", "address 1", "enqueue"}) {
    Make({Input("x", {-1, 4}), Output("y")});
    fail_ = step;
    EXPECT_EQ(Run({View({3, 4})}), "'" + fail_ + "' failed as asked");
    fail_ = "";
    EXPECT_EQ(Run({View({3, 4})}), "") << step;
    EXPECT_EQ(log_.back(), "enqueue");
    if (std::string(step) != "enqueue") {
      EXPECT_THAT(log_, ::testing::Contains(step)) << "a failed step is taken again";
    }
  }
}

TEST_F(ExecutorTest, LayersAreHeardOnlyAtTheirLevel) {
  Make({Input("x", {4}), Output("y")});
  EXPECT_EQ(Run({View({4})}), "");
  EXPECT_THAT(log_, ::testing::Not(::testing::Contains("listen")));
  {
    std::lock_guard lock(executor_->mutex());
    executor_->profile().SetOwnLevel(profiling::Level::kLayers);
  }
  EXPECT_EQ(Run({View({4})}), "");
  EXPECT_THAT(log_, ElementsAre("listen", "enqueue"));
  {
    std::lock_guard lock(executor_->mutex());
    executor_->profile().SetOwnLevel(profiling::Level::kPhases);
  }
  EXPECT_EQ(Run({View({4})}), "");
  EXPECT_THAT(log_, ElementsAre("ignore", "enqueue"));
}

}  // namespace
}  // namespace trtscope::engine
