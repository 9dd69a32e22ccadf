#ifndef TRTSCOPE_EXECUTORCH_BACKEND_TRTSCOPE_EXECUTORCH_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_TRTSCOPE_EXECUTORCH_H_

/* The C interface of libtrtscope_executorch.so, for callers without ExecuTorch's C++ interface
 * (Python through ctypes).  Loading the library registers the backend "TensorRTBackend"; it must
 * not be unloaded.  What is said of a thread holds for the calling thread alone. */

#if defined(__cplusplus)
extern "C" {
#endif

#define TRTSCOPE_EXECUTORCH_API __attribute__((visibility("default")))

/* Null when the backend is registered, else why it is not.  Not to be freed. */
TRTSCOPE_EXECUTORCH_API const char* trtscope_executorch_load_error(void);

/* The message of this thread's last failure in the backend; empty when there was none.  Valid
 * until the next one.  Not to be freed. */
TRTSCOPE_EXECUTORCH_API const char* trtscope_executorch_last_error(void);

/* Forgets it: what is there after a call is then of that call. */
TRTSCOPE_EXECUTORCH_API void trtscope_executorch_clear_last_error(void);

/* 1 when the file is a whole program whose tables ExecuTorch's verifier accepts; else 0, and
 * trtscope_executorch_last_error says why.  ExecuTorch's loader follows tables unchecked. */
TRTSCOPE_EXECUTORCH_API int trtscope_executorch_check_program(const char* path);

/* 1 when a method can be given the option, as a compile spec or when it is loaded; else 0, and
 * trtscope_executorch_last_error says why. */
TRTSCOPE_EXECUTORCH_API int trtscope_executorch_check_option(const char* key, const char* value);

/* A load-time option for the methods that this thread loads from here on (options.h), as if it
 * were in a LoadBackendOptionsMap, which wins.  Values are checked when a method is loaded. */
TRTSCOPE_EXECUTORCH_API void trtscope_executorch_set_load_option(const char* key,
                                                                 const char* value);
TRTSCOPE_EXECUTORCH_API void trtscope_executorch_clear_load_options(void);

/* The CUDA stream of this thread's calls from here on; its owner waits for it.  Null is the
 * default stream.  Calls on device memory then return before the device is done. */
TRTSCOPE_EXECUTORCH_API void trtscope_executorch_set_cuda_stream(void* stream);
/* Calls use the default stream again, and wait. */
TRTSCOPE_EXECUTORCH_API void trtscope_executorch_clear_stream(void);

#if defined(__cplusplus)
}
#endif

#endif /* TRTSCOPE_EXECUTORCH_BACKEND_TRTSCOPE_EXECUTORCH_H_ */
