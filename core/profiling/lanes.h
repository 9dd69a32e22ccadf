#ifndef TRTSCOPE_CORE_PROFILING_LANES_H_
#define TRTSCOPE_CORE_PROFILING_LANES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/profiling/ring.h"

namespace trtscope::profiling {

/// Tracks for slices that may overlap: one lane holds slices that do not, and concurrent ones take
/// the next lane.
class Lanes {
 public:
  static constexpr size_t kMax = 32;

  /// The lane for `record`.  When all are taken, the slice starts where the last one frees, and
  /// its flags say so.
  size_t Place(SpanRecord& record) {
    size_t lane = 0;
    while (lane < end_ns_.size() && end_ns_[lane] > record.start_ns) ++lane;
    if (lane == end_ns_.size()) {
      if (lane < kMax) {
        end_ns_.push_back(0);
      } else {
        record.start_ns = end_ns_[--lane];
        record.flags = static_cast<uint8_t>(record.flags | kSpanEstimated);
      }
    }
    end_ns_[lane] = record.start_ns + record.duration_ns;
    return lane;
  }

 private:
  std::vector<int64_t> end_ns_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_LANES_H_
