#ifndef TRTSCOPE_CORE_PROFILING_FORK_H_
#define TRTSCOPE_CORE_PROFILING_FORK_H_

// fork(): the child starts with empty counters and no trace of its own, and never touches the
// files of its parent.  Handlers are registered when the library loads.

#include <atomic>
#include <cstdint>

namespace trtscope::profiling {

namespace internal {
extern std::atomic<uint32_t> fork_epoch;
}

/// How many forks lie between this process and the one that loaded the library.  What was begun
/// in another epoch belongs to the parent.
inline uint32_t ForkEpoch() { return internal::fork_epoch.load(std::memory_order_relaxed); }

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_FORK_H_
