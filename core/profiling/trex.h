#ifndef TRTSCOPE_CORE_PROFILING_TREX_H_
#define TRTSCOPE_CORE_PROFILING_TREX_H_

// The files of TensorRT's engine explorer (TREX), in the dialect of trtexec's exports.

#include <cstdint>
#include <string>
#include <vector>

#include "core/profiling/names.h"
#include "core/profiling/statistics.h"

namespace trtscope::profiling {

/// `<stem>.engine.profile.json`: {"count": N} and then, in execution order, rows of exactly five
/// keys; the explorer drops a row with another number of keys.
std::string TrexProfile(const std::vector<LayerSnapshot>& layers);

/// When the parts of each call happened, for `<stem>.engine.timing.json`.  Bounded: calls past
/// the first kMaxCalls are counted only.
class TrexTimings {
 public:
  static constexpr size_t kMaxCalls = 100'000;

  void Add(Phase phase, uint64_t call, int64_t start_ns, int64_t duration_ns);
  /// Rows by call, in ms since `origin_ns`.  Compute is the device's time where it was measured
  /// and the enqueue's otherwise.
  std::string Json(int64_t origin_ns) const;
  uint64_t left_out() const { return left_out_; }
  bool has_gpu() const { return has_gpu_; }
  size_t size() const { return calls_.size(); }

 private:
  struct Span {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    bool set() const { return start_ns != 0 || end_ns != 0; }
  };
  struct Call {
    uint64_t call = 0;
    Span input, enqueue, gpu, output;
  };
  std::vector<Call> calls_;  // by call number
  uint64_t left_out_ = 0;
  bool has_gpu_ = false;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_TREX_H_
