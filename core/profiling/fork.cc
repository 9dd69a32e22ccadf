#include "core/profiling/fork.h"

#include <pthread.h>

#include "core/profiling/config_internal.h"
#include "core/profiling/control.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/statistics.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {

namespace internal {
constinit std::atomic<uint32_t> fork_epoch{0};
}

namespace {

// The order of these mutexes everywhere: the control socket's, the tracer's two, the table, the
// configuration, the problems.  A mutex of one engine's statistics is not held across fork(): the
// child abandons those statistics instead (EngineTable::RestartInChild).
void BeforeFork() {
  internal::LockControl();
  Tracer::LockBeforeFork();
  EngineTable::Get().Lock();
  internal::LockConfig();
  internal::LockProblems();
}

void AfterForkInParent() {
  internal::UnlockProblems();
  internal::UnlockConfig();
  EngineTable::Get().Unlock();
  Tracer::UnlockInParent();
  internal::UnlockControl();
}

void AfterForkInChild() {
  internal::fork_epoch.fetch_add(1, std::memory_order_relaxed);
  internal::UnlockProblems();
  internal::BumpGenerationLocked();
  internal::UnlockConfig();
  EngineTable::Get().RestartInChild();
  EngineTable::Get().Unlock();
  Tracer::RestartInChild();
  internal::AbandonControlInChild();
  internal::UnlockControl();
}

[[maybe_unused]] const int registered =
    ::pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);

}  // namespace
}  // namespace trtscope::profiling
