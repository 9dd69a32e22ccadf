// Fourteen engines, eight threads, and a ninth that changes every profiling setting at random while
// they run.  What must hold: no sanitizer report, and every call that profiling saw is counted,
// none twice.  TRTSCOPE_SOAK_SECONDS sets how long (10 by default, 60 in --config=tsan).

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/executor.h"
#include "core/profiling/config.h"
#include "core/profiling/report.h"

namespace trtscope {
namespace {

constexpr int kEngines = 14;
constexpr int kThreads = 8;

std::chrono::seconds Duration() {
  const char* seconds = std::getenv("TRTSCOPE_SOAK_SECONDS");
  return std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 10);
}

struct Subject {
  std::unique_ptr<engine::Executor> executor;
  std::atomic<uint64_t> made{0};
  std::atomic<uint64_t> seen{0};  // made while profiling was on
};

std::unique_ptr<engine::Executor> MakeExecutor(int number) {
  const std::string plan =
      R"(null{"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 4]}],)"
      R"( "outputs": [{"name": "y", "dtype": "float32", "shape": [-1, 4], "like": 0}],)"
      R"( "layers": )" +
      std::to_string(number * 5) + "}";
  engine::LoadOptions options;
  // Some share a name and differ in their plan; the table must keep them apart.
  options.name = "soak" + std::to_string(number % 5);
  const auto bytes = std::as_bytes(std::span(plan));
  auto loaded = engine::LoadEngine(bytes, options);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  auto executor = engine::Executor::Create(
      *std::move(loaded),
      profiling::EngineProfile::Register({options.name, engine::HashBytes(bytes), "null", "test"}));
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  return *std::move(executor);
}

void CallOnce(Subject& subject, float* input, float* output, int64_t batch) {
  engine::Executor::Call call(*subject.executor);
  const engine::TensorView view{input, engine::DataType::kFloat32, {batch, 4}, {}};
  ASSERT_TRUE(call.BindInputs({&view, 1}, {}).ok());
  ASSERT_TRUE(call.BindOutput(0, output).ok());
  ASSERT_TRUE(call.Enqueue({}).ok());
  subject.made.fetch_add(1, std::memory_order_relaxed);
  if (call.recorder().call() != 0) subject.seen.fetch_add(1, std::memory_order_relaxed);
}

// One random change of a setting, or one look at the results.
void Disturb(std::mt19937& random, std::vector<Subject>& subjects, const std::string& folder) {
  const char* levels[] = {"off", "delegate", "phases", "layers"};
  const char* formats[] = {"perfetto", "trex"};
  const char* filters[] = {"*", "soak1*", "*-0", "nothing"};
  engine::Executor& executor = *subjects[random() % subjects.size()].executor;
  switch (random() % 9) {
    case 0:
    case 1:
      EXPECT_TRUE(profiling::SetLevel(levels[random() % 4]).ok());
      break;
    case 2:
      EXPECT_TRUE(profiling::SetFormat(formats[random() % 2]).ok());
      break;
    case 3:
      EXPECT_TRUE(profiling::SetPathPrefix(folder + "/" + std::to_string(random() % 3)).ok());
      break;
    case 4:
      EXPECT_TRUE(profiling::SetFilter(filters[random() % 4]).ok());
      break;
    case 5: {
      std::lock_guard lock(executor.mutex());
      executor.profile().SetOwnLevel(static_cast<profiling::Level>(random() % 4));
      break;
    }
    case 6: {
      std::lock_guard lock(executor.mutex());
      executor.profile().ResetOwnSettings();
      break;
    }
    case 7:
      EXPECT_FALSE(profiling::TimingTable().empty());
      break;
    case 8:
      profiling::FlushTraces();
      break;
  }
}

TEST(ToggleSoak, NoCallIsLostOrCountedTwice) {
  std::string folder = testing::TempDir() + "toggle_soak_XXXXXX";  // the test's own, under Bazel
  ASSERT_NE(::mkdtemp(folder.data()), nullptr) << folder;
  std::vector<Subject> subjects(kEngines);
  for (int i = 0; i < kEngines; ++i) subjects[static_cast<size_t>(i)].executor = MakeExecutor(i);

  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      float input[64] = {}, output[64] = {};
      while (!stop.load(std::memory_order_relaxed)) {
        CallOnce(subjects[random() % kEngines], input, output, 1 + random() % 8);
      }
    });
  }
  std::mt19937 random(99);
  const auto end = std::chrono::steady_clock::now() + Duration();
  uint64_t changes = 0;
  while (std::chrono::steady_clock::now() < end) {
    Disturb(random, subjects, folder);
    ++changes;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(profiling::SetLevel("off").ok());
  for (Subject& subject : subjects) {  // an engine of its own mind keeps its trace open
    std::lock_guard lock(subject.executor->mutex());
    subject.executor->profile().ResetOwnSettings();
  }
  profiling::FlushTraces();

  uint64_t seen = 0, made = 0;
  const auto timing = nlohmann::json::parse(profiling::TimingJson());
  for (Subject& subject : subjects) {
    made += subject.made;
    seen += subject.seen;
    uint64_t counted = 0;
    for (const auto& row : timing["engines"]) {
      if (row["id"] == subject.executor->id()) counted += row["calls"].get<uint64_t>();
    }
    EXPECT_EQ(counted, subject.seen.load()) << subject.executor->id();
  }
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, made) << "profiling was never off";
  RecordProperty("changes", std::to_string(changes));
  RecordProperty("calls", std::to_string(made));

  // Nothing is left half written, and everything parses.
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
  }
  EXPECT_GT(files, 0u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace trtscope
