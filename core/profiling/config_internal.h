#ifndef TRTSCOPE_CORE_PROFILING_CONFIG_INTERNAL_H_
#define TRTSCOPE_CORE_PROFILING_CONFIG_INTERNAL_H_

// What only the fork handlers (fork.cc) may do with the configuration.

namespace trtscope::profiling::internal {

/// Holds the configuration's mutex across fork(), so that the child finds it whole.
void LockConfig();
void UnlockConfig();
/// Makes every engine of a forked child look at its settings again.  Mutex held.
void BumpGenerationLocked();

}  // namespace trtscope::profiling::internal

#endif  // TRTSCOPE_CORE_PROFILING_CONFIG_INTERNAL_H_
