#ifndef TRTSCOPE_EXECUTORCH_BACKEND_INTERRUPT_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_INTERRUPT_H_

// An interrupted run still has something to say: for the native runner, which would lose its trace.

#include <csignal>

namespace trtscope::executorch_backend {

/// While it lives, a first SIGINT or SIGTERM is kept for `signal()` and ends nothing; a second one
/// does what it did before.  One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// The signal that came, or 0.  Stays when the object is gone.
  static int signal();

 private:
  struct sigaction interrupt_{};
  struct sigaction terminate_{};
};

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_INTERRUPT_H_
