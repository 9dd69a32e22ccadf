#ifndef TRTSCOPE_CORE_PROFILING_CLOCK_H_
#define TRTSCOPE_CORE_PROFILING_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace trtscope::profiling {

/// Nanoseconds of CLOCK_MONOTONIC: the one time base of every span.
inline int64_t NowNs() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

/// The same instant on three clocks, written into each trace so that it can be laid beside logs
/// and other traces.
struct ClockReadings {
  int64_t monotonic_ns;
  int64_t realtime_ns;
  int64_t boottime_ns;  // monotonic, and the time that the machine slept
};

/// Reads the clocks as close together as they can be (the tightest of a few tries).
ClockReadings ReadClocks();

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_CLOCK_H_
