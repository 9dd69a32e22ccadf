// The backend on the null engine: arguments, shapes, errors, events, ids.

#include "executorch_backend/backend.h"

#include <executorch/runtime/platform/platform.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/names.h"
#include "core/profiling/report.h"
#include "executorch_backend/blob.h"
#include "executorch_backend/testing.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

using testing::FakeTracer;
using testing::FloatTensor;
using testing::Loaded;
using testing::NullPlan;
using testing::Options;
using testing::SimplePlan;

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

Options Level(const std::string& level) { return Options().Set(kLevelKey, level); }

std::string WithMetadata(BlobMetadata metadata, const std::string& plan) {
  const auto blob = WriteBlob(metadata, std::as_bytes(std::span(plan.data(), plan.size())));
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

TEST(Backend, IsRegistered) {
  EXPECT_EQ(et::get_backend_class("TensorRTBackend"), &TheBackend());
  EXPECT_TRUE(TheBackend().is_available());
}

TEST(Backend, RunsAndResizesOutputs) {
  Loaded loaded(SimplePlan());
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor x({2, 8}), y({16, 8});
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();
  EXPECT_EQ(y.sizes(), (std::vector<int32_t>{2, 8}));
  FloatTensor x16({16, 8});
  ASSERT_EQ(loaded.Execute({x16.value(), y.value()}), et::Error::Ok) << LastError();
  EXPECT_EQ(y.sizes(), (std::vector<int32_t>{16, 8}));
}

TEST(Backend, NamesTheEngineByItsBlobOrItsMethod) {
  Loaded by_method(SimplePlan(), {}, {}, "prefill");
  EXPECT_EQ(by_method.delegate().id().substr(0, 8), "prefill-");
  BlobMetadata metadata;
  metadata.name = "encoder.0";
  Loaded by_blob(WithMetadata(metadata, SimplePlan()));
  EXPECT_EQ(by_blob.delegate().id().substr(0, 10), "encoder.0-");
  EXPECT_EQ(by_blob.delegate().executor().profile().identity().runtime, "executorch");
}

TEST(Backend, ArgumentsAreInTheOrderOfTheBlob) {
  const std::string plan = NullPlan(
      R"({"inputs": [{"name": "a", "shape": [1]}, {"name": "b", "shape": [2]}],
          "outputs": [{"name": "y", "shape": [1]}, {"name": "z", "shape": [2]}]})");
  BlobMetadata metadata;
  metadata.io_bindings = {
      {"b", {}, {}, true}, {"z", {}, {}, false}, {"a", {}, {}, true}, {"y", {}, {}, false}};
  Loaded loaded(WithMetadata(metadata, plan));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor a({1}), b({2}), y({1}), z({2});
  EXPECT_EQ(loaded.Execute({b.value(), a.value(), z.value(), y.value()}), et::Error::Ok)
      << LastError();
  EXPECT_EQ(loaded.Execute({a.value(), b.value(), y.value(), z.value()}),
            et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "input 0 'a': expected shape [1], got [2]");
}

TEST(Backend, RefusesBlobsThatDoNotFitTheirPlan) {
  const auto error_of = [](std::vector<IoBinding> bindings) {
    BlobMetadata metadata;
    metadata.name = "e";
    metadata.io_bindings = std::move(bindings);
    Loaded loaded(WithMetadata(metadata, SimplePlan()));
    EXPECT_EQ(loaded.error, et::Error::DelegateInvalidCompatibility);
    return std::string(LastError());
  };
  EXPECT_SAYS(error_of({{"q", {}, {}, true}, {"y", {}, {}, false}}),
              "its blob names the input 'q', which its plan does not have; the plan has 'x'");
  EXPECT_SAYS(error_of({{"x", {}, {}, true}}), "its blob names 0 outputs, its plan has 1: 'y'");
  EXPECT_SAYS(error_of({{"x", engine::DataType::kInt8, {}, true}, {"y", {}, {}, false}}),
              "input 'x': its blob says int8, its plan float32");
  EXPECT_SAYS(error_of({{"x", {}, engine::Dims{8}, true}, {"y", {}, {}, false}}),
              "its blob says shape [8], its plan [-1, 8]");
  EXPECT_SAYS(error_of({{"x", {}, engine::Dims{3, 9}, true}, {"y", {}, {}, false}}),
              "its blob says shape [3, 9], its plan [-1, 8]");
}

TEST(Backend, ErrorsHaveTheirClassAndNameWhatIsWrong) {
  EXPECT_EQ(Loaded("TR99 and more").error, et::Error::DelegateInvalidCompatibility);
  EXPECT_SAYS(LastError(), "engine 'forward': delegate blob: magic is \"TR99\"");
  EXPECT_EQ(Loaded("").error, et::Error::DelegateInvalidCompatibility);
  EXPECT_SAYS(LastError(), "0 octets");
  EXPECT_EQ(Loaded(NullPlan("{")).error, et::Error::DelegateInvalidCompatibility);
  BlobMetadata metadata;
  metadata.name = "enc";
  metadata.target_platform = "windows_x86_64";
  EXPECT_EQ(Loaded(WithMetadata(metadata, "ftrt" + std::string(100, '\1'))).error,
            et::Error::DelegateInvalidCompatibility);
  EXPECT_SAYS(LastError(), "engine 'enc': delegate blob: 'target_platform' is \"windows_x86_64\"");
  EXPECT_EQ(Loaded(SimplePlan(), Options().Set(kWeightStreamingKey, 1)).error,
            et::Error::DelegateInvalidCompatibility);

  Loaded loaded(SimplePlan());
  FloatTensor x({2, 8}), y({16, 8}), wide({2, 9}), many({17, 8}), small({1, 8});
  et::EValue number(int64_t{3});
  EXPECT_EQ(loaded.Execute({x.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "expected 2 arguments (1 inputs and 1 outputs), got 1");
  EXPECT_EQ(loaded.Execute({&number, y.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "input 0 'x': expected a tensor");
  EXPECT_EQ(loaded.Execute({nullptr, y.value()}), et::Error::InvalidArgument);
  EXPECT_EQ(loaded.Execute({x.value(), &number}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "output 0 'y': expected a tensor");
  EXPECT_EQ(loaded.Execute({wide.value(), y.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "got [2, 9]");
  EXPECT_EQ(loaded.Execute({many.value(), y.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "[17, 8]");
  EXPECT_EQ(loaded.Execute({x.value(), small.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "output 0 'y': the engine gives shape [2, 8], but the program planned");
  FloatTensor nowhere({2, 8});
  nowhere.value()->toTensor().unsafeGetTensorImpl()->set_data(nullptr);
  EXPECT_EQ(loaded.Execute({nowhere.value(), y.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "input 0 'x': has no memory");
  EXPECT_EQ(loaded.Execute({x.value(), nowhere.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "output 0 'y': has no memory");
  et::BackendExecutionContext context;
  EXPECT_EQ(TheBackend().execute(context, nullptr, {}), et::Error::DelegateInvalidHandle);
  // And it still works.
  EXPECT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok) << LastError();

  Loaded failing(NullPlan(R"({"inputs": [], "outputs": [], "enqueue_error": "out of luck"})"));
  EXPECT_NE(failing.Execute({}), et::Error::Ok);
  EXPECT_SAYS(LastError(), "out of luck");
}

TEST(Backend, DataDependentOutputsAreCopiedWithinTheirBounds) {
  Loaded loaded(NullPlan(
      R"({"inputs": [], "outputs": [{"name": "z", "dtype": "float32", "shape": [-1],
                                     "data_dependent": [5]}]})"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor z({8}), small({4});
  EXPECT_EQ(loaded.Execute({z.value()}), et::Error::Ok) << LastError();
  EXPECT_EQ(z.sizes(), std::vector<int32_t>{5});
  EXPECT_EQ(loaded.Execute({small.value()}), et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(),
              "the engine gives shape [5], but the program planned a tensor of shape [4]");
}

// RFC, native integration tests: "Aliased KV-cache inputs continue to update caller-owned storage
// correctly."  Here on the host; on a device in device_test.cc.
TEST(Backend, AliasedOutputsAreTheirInputsMemory) {
  const std::string plan = NullPlan(
      R"({"inputs": [{"name": "cache", "shape": [4]}, {"name": "x", "shape": [1]}],
          "outputs": [{"name": "y", "shape": [1]}, {"name": "cache_out", "shape": [4]}]})");
  BlobMetadata metadata;
  metadata.io_bindings = {{"cache", {}, {}, true},
                          {"x", {}, {}, true},
                          {"y", {}, {}, false},
                          {"cache_out", {}, {}, false}};
  metadata.aliased_io = {{"cache_out", "cache", "kv_cache_update"}};
  Loaded loaded(WithMetadata(metadata, plan), Level("phases"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor cache({4}, 7), x({1}), y({1}), copy({4}, 0);
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({cache.value(), x.value(), y.value(), copy.value()}, &tracer),
            et::Error::Ok)
      << LastError();
  EXPECT_EQ(copy.values(), std::vector<float>(4, 7));
  EXPECT_NE(tracer.find("torchtrt.output_staging"), nullptr);
  // Without an argument of its own, and with one that is the memory already: nothing to copy.
  for (const std::vector<et::EValue*>& args :
       {std::vector<et::EValue*>{cache.value(), x.value(), y.value()},
        std::vector<et::EValue*>{cache.value(), x.value(), y.value(), cache.value()}}) {
    tracer.events.clear();
    ASSERT_EQ(loaded.Execute(args, &tracer), et::Error::Ok) << LastError();
    EXPECT_EQ(tracer.find("torchtrt.output_staging"), nullptr);
  }
  metadata.io_bindings[0].name = "q";
  metadata.aliased_io[0].input = "q";
  EXPECT_EQ(Loaded(WithMetadata(metadata, plan)).error, et::Error::DelegateInvalidCompatibility);
}

// RFC, unit tests: "No EventTracer produces no backend event work beyond compiled-out or null
// checks."
TEST(Backend, NoEventTracerProducesNoBackendEventWork) {
  Loaded loaded(SimplePlan(), Level("layers"));
  FloatTensor x({2, 8}), y({16, 8});
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok);
  }
  // Nothing was kept for later: the first traced call logs itself alone.
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  for (const auto& event : tracer.events) EXPECT_EQ(event.metadata["call"], 4) << event.name;
  ASSERT_FALSE(tracer.events.empty());
  const size_t logged = tracer.events.size();
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}), et::Error::Ok);
  EXPECT_EQ(tracer.events.size(), logged);  // the tracer of the call before is not used again
  EXPECT_EQ(tracer.other_calls, 0);
}

TEST(Backend, LevelOffLogsNothing) {
  Loaded loaded(SimplePlan());
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  EXPECT_TRUE(tracer.events.empty());
}

// RFC, unit tests: "`phases` emits the expected stable event names."
TEST(Backend, PhasesEmitsTheExpectedStableEventNames) {
  Loaded loaded(SimplePlan(), Level("phases"));
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  const uint64_t before = et::pal_current_ticks();
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  const uint64_t after = et::pal_current_ticks();
  EXPECT_EQ(tracer.names(),
            (std::vector<std::string>{"torchtrt.delegate", "torchtrt.input_binding",
                                      "torchtrt.shape_inference", "torchtrt.output_binding",
                                      "torchtrt.enqueue_host"}));
  const auto& whole = tracer.events[0];
  constexpr uint64_t kSlack = 2000;  // ns: how well the two clocks are laid over each other
  EXPECT_GE(whole.start + kSlack, before);
  EXPECT_LE(whole.end, after + kSlack);
  uint64_t inside = 0;
  for (const auto& event : tracer.events) {
    EXPECT_EQ(event.id, et::kUnsetDelegateDebugIntId);  // 0 with a name aborts ETDump
    EXPECT_LE(event.start, event.end);
    EXPECT_GE(event.start, whole.start);
    EXPECT_LE(event.end, whole.end);
    EXPECT_EQ(event.metadata["clock"], "host");
    EXPECT_EQ(event.metadata["engine"], loaded.delegate().id());
    EXPECT_EQ(event.metadata["call"], 1);
    if (&event != &whole) inside += event.end - event.start;
  }
  EXPECT_LE(inside, whole.end - whole.start);
  EXPECT_EQ(whole.metadata["method"], "forward");
  EXPECT_EQ(whole.metadata["stream"], "host default");
  EXPECT_EQ(whole.metadata["shapes"], "x[2, 8] -> y[2, 8]");

  tracer.events.clear();  // unchanged shapes are not inferred again
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  EXPECT_EQ(tracer.names(),
            (std::vector<std::string>{"torchtrt.delegate", "torchtrt.input_binding",
                                      "torchtrt.output_binding", "torchtrt.enqueue_host"}));
}

TEST(Backend, DelegateLevelEmitsTheCallAlone) {
  Loaded loaded(SimplePlan(), Level("delegate"));
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  EXPECT_EQ(tracer.names(), std::vector<std::string>{"torchtrt.delegate"});
}

TEST(Backend, LayersAreEventsWithUniqueNames) {
  Loaded loaded(SimplePlan(), Level("layers"));
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  for (int i = 0; i < 2; ++i) {
    tracer.events.clear();
    ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
    const std::vector<std::string> names = tracer.names();
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
    int layers = 0;
    for (const auto& event : tracer.events) {
      if (event.name.rfind("torchtrt.layer/", 0) != 0) continue;
      ++layers;
      EXPECT_EQ(event.end - event.start, 1000u);
    }
    EXPECT_EQ(layers, 3);
  }
}

TEST(Backend, TimesAreTheTablesTimes) {
  Loaded loaded(SimplePlan(), Level("phases"), {}, "same_clock");
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  const auto json = nlohmann::json::parse(profiling::TimingJson());
  bool found = false;
  for (const auto& engine : json["engines"]) {
    if (engine["id"] != loaded.delegate().id()) continue;
    found = true;
    for (const profiling::PhaseInfo& info : profiling::kPhases) {
      const auto* event = tracer.find(std::string(info.event));
      if (event == nullptr) continue;
      const uint64_t ns = engine["phases"][std::string(info.column)]["total_ns"];
      EXPECT_EQ(event->end - event->start, ns) << info.event;
    }
  }
  EXPECT_TRUE(found);
}

TEST(Backend, FailedCallsAreLoggedAndMarked) {
  Loaded loaded(SimplePlan(), Level("phases"));
  FloatTensor wide({2, 9}), y({16, 8});
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({wide.value(), y.value()}, &tracer), et::Error::InvalidArgument);
  ASSERT_FALSE(tracer.events.empty());
  EXPECT_EQ(tracer.events[0].metadata["failed"], true);
}

// RFC, unit tests: "Multiple engines produce unique trace identifiers."
TEST(Backend, MultipleEnginesProduceUniqueTraceIdentifiers) {
  std::set<std::string> ids;
  std::vector<std::unique_ptr<Loaded>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Loaded>(SimplePlan(), Level("phases"), testing::CompileSpecs(),
                                           i == 2 ? "decode" : "prefill"));
    ids.insert(all.back()->delegate().id());
  }
  EXPECT_EQ(ids.size(), 3u);
  // Methods of several programs, in several threads.
  std::vector<std::thread> threads;
  for (auto& loaded : all) {
    threads.emplace_back([&loaded] {
      FloatTensor x({2, 8}), y({16, 8});
      FakeTracer tracer;
      for (int i = 0; i < 50; ++i) {
        tracer.events.clear();
        ASSERT_EQ(loaded->Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
        ASSERT_EQ(tracer.events[0].metadata["engine"], loaded->delegate().id());
        ASSERT_EQ(tracer.events[0].metadata["call"], i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Backend, OneMethodServesSeveralThreads) {
  Loaded loaded(SimplePlan(), Level("layers"));
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&loaded, t] {
      FloatTensor x({t, 8}), y({16, 8});
      FakeTracer tracer;
      for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(loaded.Execute({x.value(), y.value()}, i % 2 ? &tracer : nullptr), et::Error::Ok);
        ASSERT_EQ(y.sizes()[0], t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace trtscope::executorch_backend
