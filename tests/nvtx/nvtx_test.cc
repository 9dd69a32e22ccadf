// What a tool that listens through NVTX hears of engine calls.  The tool is tests/fakes' own, which
// must be named before the process's first engine is registered: hence a process of its own.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/executor.h"
#include "core/profiling/config.h"
#include "core/profiling/report.h"

namespace trtscope {
namespace {

using Events = std::vector<std::string>;  // "push TEXT" or "pop", of one thread

constexpr char kPlan[] =
    R"(null{"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 4]}],)"
    R"( "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 4], "like": 0}],)"
    R"( "layers": 3})";

class NvtxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    log_ = testing::TempDir() + "nvtx.log";
    ::setenv("NVTX_INJECTION64_PATH", "tests/fakes/nvtx/libfake_nvtx.so", 1);
    ::setenv("FAKE_NVTX_LOG", log_.c_str(), 1);
  }
  void SetUp() override { seen_ = Lines().size(); }
  void TearDown() override { EXPECT_TRUE(profiling::SetLevel("off").ok()); }

  static std::unique_ptr<engine::Executor> NewExecutor(const std::string& name) {
    engine::LoadOptions options;
    options.name = name;
    const auto bytes = std::as_bytes(std::span(kPlan, sizeof(kPlan) - 1));
    auto loaded = engine::LoadEngine(bytes, options);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    auto executor = engine::Executor::Create(
        *std::move(loaded),
        profiling::EngineProfile::Register({name, engine::HashBytes(bytes), "null", "test"}));
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return *std::move(executor);
  }

  /// One call, within which `inside` runs.
  template <typename Inside>
  static void CallAround(engine::Executor& executor, Inside inside) {
    float input[4] = {}, output[4] = {};
    engine::Executor::Call call(executor);
    const engine::TensorView view{input, engine::DataType::kFloat32, {1, 4}, {}};
    ASSERT_TRUE(call.BindInputs({&view, 1}, {}).ok());
    call.recorder().Enter(profiling::Phase::kOutputBinding);
    inside();
    ASSERT_TRUE(call.BindOutput(0, output).ok());
    call.recorder().Leave();
    ASSERT_TRUE(call.Enqueue({}).ok());
  }
  static void Call(engine::Executor& executor) {
    CallAround(executor, [] {});
  }

  static Events Lines() {
    std::ifstream in(log_);
    Events lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  /// What was heard in this test, by thread.  Fails if any of it is not in our domain.
  std::map<std::string, Events> Heard() const {
    std::map<std::string, Events> heard;
    const Events lines = Lines();
    for (size_t i = seen_; i < lines.size(); ++i) {
      const size_t thread = lines[i].find(' '), domain = lines[i].find(' ', thread + 1);
      EXPECT_EQ(lines[i].substr(thread + 1, domain - thread - 1), "trtscope") << lines[i];
      heard[lines[i].substr(0, thread)].push_back(lines[i].substr(domain + 1));
    }
    return heard;
  }
  Events HeardOfOneThread() const {
    const auto heard = Heard();
    EXPECT_EQ(heard.size(), 1u);
    return heard.empty() ? Events{} : heard.begin()->second;
  }

  static Events OneCall(const std::string& id) {
    return {"push " + id, "push torchtrt.input_binding", "pop", "push torchtrt.output_binding",
            "pop",        "push torchtrt.enqueue_host",  "pop", "pop"};
  }

  inline static std::string log_;
  size_t seen_ = 0;
};

TEST_F(NvtxTest, CallsAndPhasesAreRangesAtEveryLevel) {
  const auto executor = NewExecutor("encoder");
  Call(*executor);  // infers shapes, which is a phase of the first call alone
  SetUp();
  Events expected;
  ASSERT_TRUE(profiling::SetPathPrefix(testing::TempDir()).ok());
  for (const char* level : {"off", "delegate", "phases", "layers"}) {
    ASSERT_TRUE(profiling::SetLevel(level).ok());
    Call(*executor);
    const Events call = OneCall(executor->id());
    expected.insert(expected.end(), call.begin(), call.end());
  }
  EXPECT_EQ(HeardOfOneThread(), expected);
}

TEST_F(NvtxTest, ACallInACallIsNested) {
  const auto outer = NewExecutor("outer"), inner = NewExecutor("inner");
  Call(*outer);
  Call(*inner);
  SetUp();
  CallAround(*outer, [&] { Call(*inner); });
  Events expected = OneCall(outer->id());
  const Events within = OneCall(inner->id());
  expected.insert(expected.begin() + 4, within.begin(), within.end());
  EXPECT_EQ(HeardOfOneThread(), expected);
}

TEST_F(NvtxTest, ACallThatFailsEndsItsRanges) {
  const auto executor = NewExecutor("encoder");
  {
    engine::Executor::Call call(*executor);
    EXPECT_FALSE(call.BindInputs({}, {}).ok());
  }
  {
    engine::Executor::Call call(*executor);  // given up in the middle of a phase
    call.recorder().Enter(profiling::Phase::kSynchronize);
  }
  EXPECT_EQ(HeardOfOneThread(),
            (Events{"push " + executor->id(), "push torchtrt.input_binding", "pop", "pop",
                    "push " + executor->id(), "push torchtrt.synchronize", "pop", "pop"}));
}

TEST_F(NvtxTest, EachThreadHasItsOwnStack) {
  const auto first = NewExecutor("first"), second = NewExecutor("second");
  Call(*first);
  Call(*second);
  SetUp();
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) Call(*second);
  });
  for (int i = 0; i < 50; ++i) Call(*first);
  other.join();
  const auto heard = Heard();
  ASSERT_EQ(heard.size(), 2u);
  for (const auto& [thread, events] : heard) {
    ASSERT_EQ(events.size(), 50u * 8);
    const Events call = OneCall(events[0].substr(5));
    for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i], call[i % 8]) << i;
  }
}

TEST_F(NvtxTest, NamesOfAnyBytesAreValidText) {
  for (const std::string& name :
       {std::string("quote\" back\\slash\nline\x01"), std::string("zero\0byte", 9),
        std::string("\xFF\xC3("), std::string(10'240, '\xFE')}) {
    const auto executor = NewExecutor(name);
    Call(*executor);
  }
  Events texts;
  for (const std::string& event : HeardOfOneThread()) {
    if (event.starts_with("push ") && event.find("torchtrt.") == std::string::npos) {
      texts.push_back(event.substr(5));
    }
  }
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_TRUE(texts[0].starts_with("quote\" back\\\\slash\\nline\x01-")) << texts[0];
  EXPECT_TRUE(texts[1].starts_with("zero byte-")) << texts[1];
  EXPECT_TRUE(texts[2].starts_with("\xEF\xBF\xBD\xEF\xBF\xBD(-")) << texts[2];
  EXPECT_LE(texts[3].size(), 1024u + 8);  // cut at 1 KiB, and marked
  EXPECT_TRUE(texts[3].ends_with("...")) << texts[3];
}

}  // namespace
}  // namespace trtscope
