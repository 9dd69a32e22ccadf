#include "core/profiling/quiet_thread.h"

#include <signal.h>

namespace trtscope::profiling {

int StartQuietThread(pthread_t* thread, void* (*main)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(thread, nullptr, main, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace trtscope::profiling
