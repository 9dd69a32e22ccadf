#ifndef TRTSCOPE_CORE_PROFILING_QUIET_THREAD_H_
#define TRTSCOPE_CORE_PROFILING_QUIET_THREAD_H_

#include <pthread.h>

namespace trtscope::profiling {

/// Starts a thread of ours that takes none of the application's signals: those are for its own
/// threads.  Returns 0, or an error number of pthread_create.
int StartQuietThread(pthread_t* thread, void* (*main)(void*), void* argument);

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_QUIET_THREAD_H_
