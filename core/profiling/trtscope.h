#ifndef TRTSCOPE_CORE_PROFILING_TRTSCOPE_H_
#define TRTSCOPE_CORE_PROFILING_TRTSCOPE_H_

// The C interface of libtrtscope_core.so: what Python and other languages call, with
// core/engine/c_api.h for plans.  Stable: functions are added, never changed.  Every function may
// be called from any thread.  Functions that can fail return 0 or a nonzero StatusCode and leave a
// message for trtscope_last_error() of the same thread.  Strings are UTF-8 and end in a zero byte.

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define TRTSCOPE_API __attribute__((visibility("default")))

/// "major.minor.patch" of this library; never null, not to be freed.
TRTSCOPE_API const char* trtscope_version(void);
/// Message of this thread's last failure; empty when there was none.  Not to be freed.
TRTSCOPE_API const char* trtscope_last_error(void);
/// Frees a string that a function below returned.
TRTSCOPE_API void trtscope_free(char* text);

TRTSCOPE_API int trtscope_set_profile_level(const char* level);
TRTSCOPE_API int trtscope_set_profile_format(const char* format);
TRTSCOPE_API int trtscope_set_profile_path_prefix(const char* folder);
TRTSCOPE_API int trtscope_set_profile_filter(const char* glob);
TRTSCOPE_API int trtscope_set_profile_execution(int enabled);
/// One call in `calls` is measured on the GPU (span, layers); 0 chooses by cost.
TRTSCOPE_API int trtscope_set_profile_sample_interval(int calls);

/// The configuration as JSON: level, format, path_prefix, filter, sample_interval, generation.
TRTSCOPE_API char* trtscope_get_config(void);
TRTSCOPE_API char* trtscope_timing_table(void);
TRTSCOPE_API char* trtscope_timing_json(void);
TRTSCOPE_API void trtscope_reset_timing(void);
/// Finishes open trace files; the paths finished since the last call, one a line.
TRTSCOPE_API char* trtscope_flush_traces(void);
/// The names table (names.h) as JSON: levels, formats, environment, phases, trace files.
TRTSCOPE_API char* trtscope_names_json(void);

/// Serves this process's owner on a local socket (control.h): its path, which the caller frees, or
/// null.
TRTSCOPE_API char* trtscope_start_control(void);
TRTSCOPE_API void trtscope_stop_control(void);
/// The folder of such sockets, of all processes of this user.
TRTSCOPE_API char* trtscope_control_folder(void);

#if defined(__cplusplus)
}
#endif

#endif  // TRTSCOPE_CORE_PROFILING_TRTSCOPE_H_
