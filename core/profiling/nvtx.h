#ifndef TRTSCOPE_CORE_PROFILING_NVTX_H_
#define TRTSCOPE_CORE_PROFILING_NVTX_H_

// Ranges for a tool that listens through NVTX, such as Nsight Systems: in a domain of our own,
// whether profiling is on or not.  The tool is one that names its library in the environment
// (NVTX_INJECTION64_PATH) before the process's first engine is registered.
//
// Any thread.  Ranges are a stack of each thread: what one pushes it must pop.

#include <atomic>
#include <string_view>

namespace trtscope::profiling::nvtx {

namespace internal {
extern std::atomic<void*> domain;
}

/// Looks for a tool, once a process.
void Open();

/// Whether one listens: a load, which is all that a call costs without one.
inline bool Listening() { return internal::domain.load(std::memory_order_acquire) != nullptr; }

/// A text that the tool knows.  Only while Listening(); kept until the process ends.
struct Name {
  void* handle = nullptr;
};
/// `text` may hold any bytes.
Name Register(std::string_view text);

void Push(Name name);
void Pop();

}  // namespace trtscope::profiling::nvtx

#endif  // TRTSCOPE_CORE_PROFILING_NVTX_H_
