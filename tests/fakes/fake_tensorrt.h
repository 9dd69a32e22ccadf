#ifndef TRTSCOPE_TESTS_FAKES_FAKE_TENSORRT_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_TENSORRT_H_

// What one fake TensorRT library saw, and what each library file is.

#include <cstdint>

#include "core/engine/tensorrt/abi/call.h"
#include "core/engine/tensorrt/version.h"

namespace trtscope::fakes {

/// Which release a library file plays.  Each file defines one (fake_tensorrt_*.cc).
struct FakeRelease {
  engine::tensorrt::Version version;
  engine::tensorrt::Flavour flavour;
  engine::tensorrt::abi::Family family;
  int layout_version;  // major * 100 + minor, as the layout counts
};

struct FakeTensorRtStats {
  int64_t runtimes, engines, contexts;  // alive now
  int64_t teardown_errors;              // something was destroyed before what it made
  int64_t wrong_device;                 // calls with another device current
  int64_t set_shapes, set_addresses;    // calls
  int64_t enqueues, profiled_enqueues, reports;
};

}  // namespace trtscope::fakes

extern "C" {
/// Exported by every fake library.
void trtscope_fake_tensorrt_stats(trtscope::fakes::FakeTensorRtStats* stats);
}

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_TENSORRT_H_
