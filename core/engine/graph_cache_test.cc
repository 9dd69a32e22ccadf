#include "core/engine/graph_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace trtscope::engine {
namespace {

struct Counts {
  int enqueued = 0, captured = 0, launched = 0, live_graphs = 0;
  bool refuse_capture = false;
};

class CountingGraph : public device::Graph {
 public:
  explicit CountingGraph(Counts& counts) : counts_(counts) { ++counts_.live_graphs; }
  ~CountingGraph() override { --counts_.live_graphs; }
  Status Launch(device::StreamRef) override {
    ++counts_.launched;
    return OkStatus();
  }

 private:
  Counts& counts_;
};

class CountingDevice : public device::Device {
 public:
  explicit CountingDevice(Counts& counts) : counts_(counts) {}
  device::DeviceId id() const override { return {device::DeviceType::kCuda, 0}; }
  std::string name() const override { return "counting"; }
  int sm() const override { return 90; }
  Result<void*> Allocate(size_t) override { return Unsupported("counting"); }
  void Free(void*) override {}
  Result<std::unique_ptr<device::Event>> CreateEvent(bool) override {
    return Unsupported("counting");
  }
  Status CopyAsync(void*, const void*, size_t, device::CopyKind, device::StreamRef) override {
    return Unsupported("counting");
  }
  Status Synchronize(device::StreamRef) override { return OkStatus(); }
  Status WaitEvent(device::StreamRef, const device::Event&) override { return OkStatus(); }
  Result<std::unique_ptr<device::Graph>> Capture(
      const std::function<Status(device::StreamRef)>& record) override {
    if (counts_.refuse_capture) return Unsupported("not today");
    TRTSCOPE_RETURN_IF_ERROR(record({device::DeviceType::kCuda, this}));
    ++counts_.captured;
    return std::unique_ptr<device::Graph>(std::make_unique<CountingGraph>(counts_));
  }

 private:
  Counts& counts_;
};

class CountingContext : public ExecutionContext {
 public:
  explicit CountingContext(Counts& counts) : counts_(counts) {}
  Status SetOptimizationProfile(int, device::StreamRef) override { return OkStatus(); }
  Status SetInputShape(int, const Dims&) override { return OkStatus(); }
  Status SetAddress(int, void*) override { return OkStatus(); }
  Result<Dims> OutputShape(int) override { return Dims{}; }
  Status SetOutputAllocator(int, OutputAllocator*) override { return OkStatus(); }
  Result<size_t> WorkspaceSize() override { return size_t{0}; }
  Status SetWorkspace(void*, size_t) override { return OkStatus(); }
  Status Enqueue(device::StreamRef) override {
    ++counts_.enqueued;
    return OkStatus();
  }
  Status SetLayerSink(profiling::LayerSink*) override { return OkStatus(); }
  Status DeliverLayers() override { return OkStatus(); }

 private:
  Counts& counts_;
};

class GraphCacheTest : public ::testing::Test {
 protected:
  void Call(int input, int output) {
    ASSERT_TRUE(cache_.Enqueue(context_, {&memory_[input], &memory_[output]}, workspace_, {}).ok());
  }

  Counts counts_;
  CountingDevice device_{counts_};
  CountingContext context_{counts_};
  GraphCache cache_{device_};
  char memory_[64] = {};
  const void* workspace_ = nullptr;
};

TEST_F(GraphCacheTest, TheSecondCallCapturesAndLaterOnesReplay) {
  Call(0, 1);
  EXPECT_EQ(counts_.enqueued, 1);
  EXPECT_EQ(counts_.captured, 0);
  Call(0, 1);
  EXPECT_EQ(counts_.captured, 1);
  EXPECT_EQ(counts_.launched, 1) << "a capture runs nothing: it must be launched as well";
  for (int i = 0; i < 5; ++i) Call(0, 1);
  EXPECT_EQ(counts_.captured, 1);
  EXPECT_EQ(counts_.launched, 6);
  EXPECT_EQ(counts_.enqueued, 2) << "once plainly, once into the capture";
}

TEST_F(GraphCacheTest, AlternatingOutputsEachHaveAGraph) {
  for (int i = 0; i < 10; ++i) Call(0, 1 + i % 2);
  EXPECT_EQ(counts_.captured, 2);
  EXPECT_EQ(counts_.launched, 8);
}

TEST_F(GraphCacheTest, OtherScratchMemoryIsAnotherGraph) {
  Call(0, 1);
  Call(0, 1);
  workspace_ = memory_;
  Call(0, 1);
  EXPECT_EQ(counts_.launched, 1) << "the graph of the old scratch memory must not run";
}

TEST_F(GraphCacheTest, AddressesThatNeverReturnAreEnqueuedPlainly) {
  for (int i = 0; i < 60; ++i) Call(i, i + 1);
  EXPECT_EQ(counts_.captured, 0);
  EXPECT_EQ(counts_.enqueued, 60);
}

TEST_F(GraphCacheTest, GraphsAreBounded) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < static_cast<int>(GraphCache::kMaxGraphs); ++i) Call(i, 63);
  }
  EXPECT_EQ(counts_.live_graphs, static_cast<int>(GraphCache::kMaxGraphs));
  for (int i = 20; i < 40; ++i) {
    Call(i, 63);
    Call(i, 63);
  }
  EXPECT_EQ(counts_.live_graphs, static_cast<int>(GraphCache::kMaxGraphs));
  cache_.Clear();
  EXPECT_EQ(counts_.live_graphs, 0);
}

TEST_F(GraphCacheTest, ARefusedCaptureStillRunsEveryCall) {
  counts_.refuse_capture = true;
  for (int i = 0; i < 5; ++i) Call(0, 1);
  EXPECT_EQ(counts_.enqueued, 5);
  EXPECT_EQ(cache_.capture_error(), "not today");
}

}  // namespace
}  // namespace trtscope::engine
