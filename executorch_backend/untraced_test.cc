// The delegate of a build without ExecuTorch's event tracer.

#ifdef ET_EVENT_TRACER_ENABLED
#error "this test is of the build without it"
#endif

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "core/profiling/report.h"
#include "executorch_backend/testing.h"

namespace {

std::atomic<int64_t> allocations{0};

void* Allocate(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

using testing::FakeTracer;
using testing::FloatTensor;
using testing::Loaded;
using testing::Options;

uint64_t CallsOf(const std::string& id) {
  const auto json = nlohmann::json::parse(profiling::TimingJson());
  for (const auto& engine : json["engines"]) {
    if (engine["id"] == id) return engine["calls"];
  }
  return 0;
}

// RFC, packaging and platform tests: "Profiling-disabled builds remain available when
// ET_EVENT_TRACER_ENABLED is off."
TEST(Untraced, ProfilingDisabledBuildsRemainAvailable) {
  Loaded loaded(testing::SimplePlan(), Options().Set(kLevelKey, "layers"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  ASSERT_EQ(loaded.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  EXPECT_EQ(y.sizes(), (std::vector<int32_t>{2, 8}));
  EXPECT_TRUE(tracer.events.empty());
  EXPECT_EQ(tracer.other_calls, 0);
  // Tables and files are our own and stay.
  EXPECT_EQ(CallsOf(loaded.delegate().id()), 1u);
}

// RFC, unit tests: "No EventTracer produces no backend event work beyond compiled-out or null
// checks."  Here the first half: events are made of strings, so work for them would allocate.
TEST(Untraced, ATracerMakesNoWork) {
  Loaded loaded(testing::SimplePlan(), Options().Set(kLevelKey, "layers"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  FloatTensor x({2, 8}), y({16, 8});
  FakeTracer tracer;
  const auto allocations_with = [&](et::EventTracer* used) {
    et::BackendExecutionContext context(used);
    et::EValue* args[] = {x.value(), y.value()};
    const int64_t before = allocations;
    EXPECT_EQ(TheBackend().execute(context, loaded.handle, {args, 2}), et::Error::Ok);
    return allocations - before;
  };
  for (int i = 0; i < 3; ++i) allocations_with(nullptr);
  EXPECT_EQ(allocations_with(&tracer), allocations_with(nullptr));
}

}  // namespace
}  // namespace trtscope::executorch_backend
