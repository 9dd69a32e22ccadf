#include "core/profiling/clock.h"

#include <limits>

namespace trtscope::profiling {

namespace {
int64_t Read(clockid_t clock) {
  timespec ts;
  clock_gettime(clock, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}
}  // namespace

ClockReadings ReadClocks() {
  // The others are read between two monotonic reads; the try with the smallest gap was the least
  // disturbed, and half its gap bounds the error.
  ClockReadings best{0, 0, 0};
  int64_t best_gap = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t before = NowNs();
    const int64_t realtime = Read(CLOCK_REALTIME);
    const int64_t boottime = Read(CLOCK_BOOTTIME);
    const int64_t after = NowNs();
    if (after - before < best_gap) {
      best_gap = after - before;
      best = {before + best_gap / 2, realtime, boottime};
    }
  }
  return best;
}

}  // namespace trtscope::profiling
