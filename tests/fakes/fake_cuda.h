#ifndef TRTSCOPE_TESTS_FAKES_FAKE_CUDA_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_CUDA_H_

// Control of the fake CUDA driver (libcuda.so.1): what a test can make it do, and what it saw.
//
// The fake's device memory is host memory, its streams are worker threads, its default stream is
// one more stream of each device.  Work on a stream runs after the call that queued it returned
// and before later work of that stream, like the real thing; it checks that the right device is
// current, and counts every call.
//
// Environment, read when the library is first used: TRTSCOPE_FAKE_CUDA_DEVICES (1),
// TRTSCOPE_FAKE_CUDA_SM (90), TRTSCOPE_FAKE_CUDA_VERSION (13000).

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
/// How often the driver's function `name` ("cuStreamSynchronize") was called.
int64_t trtscope_fake_cuda_calls(const char* name);
void trtscope_fake_cuda_reset_calls(void);
/// The call of `name` after `after` further ones returns `result` and does nothing else.  One at a
/// time; 0 as `result` takes it back.
void trtscope_fake_cuda_fail(const char* name, int result, int after);
/// Work queued on `stream` (null: the default stream of `device`) after this waits for release.
void trtscope_fake_cuda_block(int device, void* stream);
void trtscope_fake_cuda_release(int device, void* stream);
/// Queues `work` on the stream, as a kernel.  Returns 0, or a CUresult: 201 when no device is
/// current, 400 when the stream belongs to another one.  `release` frees the argument once the
/// work, and every graph that holds it, is gone; also when this fails.
int trtscope_fake_cuda_launch(void* stream, void (*work)(void*), void* argument,
                              void (*release)(void*));
/// Waits for the stream without counting as a call: for the fake TensorRT.
int trtscope_fake_cuda_wait(void* stream);
/// Ordinal of the current device of this thread; -1: none.
int trtscope_fake_cuda_current_device(void);
/// Ordinal of the device that the allocation around `data` belongs to; -1: none.
int trtscope_fake_cuda_device_of(const void* data);
int64_t trtscope_fake_cuda_live_allocations(void);
}

namespace trtscope::fakes {

/// The functions above, in the library that TRTSCOPE_CUDA names.  A test links none of them: like
/// the code under test, it opens the library.
class FakeCuda {
 public:
#define TRTSCOPE_FAKE_MEMBER(name) decltype(&trtscope_fake_cuda_##name) name = nullptr
  TRTSCOPE_FAKE_MEMBER(calls);
  TRTSCOPE_FAKE_MEMBER(reset_calls);
  TRTSCOPE_FAKE_MEMBER(fail);
  TRTSCOPE_FAKE_MEMBER(block);
  TRTSCOPE_FAKE_MEMBER(release);
  TRTSCOPE_FAKE_MEMBER(launch);
  TRTSCOPE_FAKE_MEMBER(wait);
  TRTSCOPE_FAKE_MEMBER(current_device);
  TRTSCOPE_FAKE_MEMBER(device_of);
  TRTSCOPE_FAKE_MEMBER(live_allocations);
#undef TRTSCOPE_FAKE_MEMBER

  /// Null when TRTSCOPE_CUDA names no fake.  Looked up once.
  static const FakeCuda* Find() {
    static const FakeCuda fake = Load();
    return fake.live_allocations != nullptr ? &fake : nullptr;
  }

  /// Ends the program when there is none.
  static const FakeCuda& Get() {
    const FakeCuda* fake = Find();
    if (fake == nullptr) {
      std::fprintf(stderr, "TRTSCOPE_CUDA does not name the fake CUDA driver\n");
      std::abort();
    }
    return *fake;
  }

 private:
  static FakeCuda Load() {
    FakeCuda fake;
    const char* path = std::getenv("TRTSCOPE_CUDA");
    void* handle = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (handle == nullptr) return fake;
#define TRTSCOPE_FAKE_LOAD(name) \
  fake.name = reinterpret_cast<decltype(fake.name)>(dlsym(handle, "trtscope_fake_cuda_" #name))
    TRTSCOPE_FAKE_LOAD(calls);
    TRTSCOPE_FAKE_LOAD(reset_calls);
    TRTSCOPE_FAKE_LOAD(fail);
    TRTSCOPE_FAKE_LOAD(block);
    TRTSCOPE_FAKE_LOAD(release);
    TRTSCOPE_FAKE_LOAD(launch);
    TRTSCOPE_FAKE_LOAD(wait);
    TRTSCOPE_FAKE_LOAD(current_device);
    TRTSCOPE_FAKE_LOAD(device_of);
    TRTSCOPE_FAKE_LOAD(live_allocations);
#undef TRTSCOPE_FAKE_LOAD
    return fake;
  }
};

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_CUDA_H_
