#include "core/profiling/clock.h"

#include <limits>

namespace trtscope::profiling {

ClockPair ReadClockPair() {
  // The realtime read lies between two monotonic ones; the try with the smallest gap was the
  // least disturbed, and half its gap bounds the error.
  ClockPair best{0, 0};
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t before = NowNs();
    timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    const int64_t after = NowNs();
    if (after - before < best_gap) {
      best_gap = after - before;
      best.monotonic_ns = before + best_gap / 2;
      best.realtime_ns = int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
    }
  }
  return best;
}

}  // namespace trtscope::profiling
