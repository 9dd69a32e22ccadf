#ifndef TRTSCOPE_TESTS_FAKES_FAKE_OBJECTS_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_OBJECTS_H_

// The fake's implementation objects.  Each starts with its vtable, as TensorRT's do.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_program.h"
#include "tests/fakes/fake_tensorrt.h"
#include "tests/fakes/fake_vtable.h"

namespace trtscope::fakes {

/// Of this library.
extern const FakeRelease kRelease;
const abi::Layout& ReleaseLayout();

struct Counters {
  std::atomic<int64_t> runtimes{0}, engines{0}, contexts{0}, teardown_errors{0}, wrong_device{0},
      set_shapes{0}, set_addresses{0}, enqueues{0}, profiled_enqueues{0}, reports{0};
};
Counters& TheCounters();

struct FakeRuntime {
  void* const* vtable;
  PublicObject api;
  void* logger;
  bool host_code = false;
  std::atomic<int> engines{0};

  void Log(abi::Severity severity, const std::string& message) const;
};

struct FakeEngine {
  void* const* vtable;
  PublicObject api;
  FakeRuntime* runtime;
  FakeProgram program;
  std::vector<std::byte> plan;
  int device = 0;
  int64_t budget = 0;
  std::atomic<int> contexts{0};
  std::mutex mutex;
  std::map<int, int> profile_users;

  /// Logs an error, from where the plan wants it.  False, for returning it.
  bool Fail(const std::string& message) const;
  /// Whether this engine's device is current; counts it otherwise.
  bool OnDevice() const;
  bool ClaimProfile(int profile);
  void LeaveProfile(int profile);
};

struct FakeContext;
FakeContext* MakeContext(FakeEngine* engine, bool with_memory);
/// Runs `work` here, or in a thread of its own where the plan wants callbacks from other threads.
void CallFrom(const FakeProgram& program, const std::function<void()>& work);

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_OBJECTS_H_
