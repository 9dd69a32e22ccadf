#include "executorch_backend/interrupt.h"

namespace trtscope::executorch_backend {
namespace {

volatile std::sig_atomic_t kept = 0;

void Keep(int signal) { kept = signal; }

}  // namespace

Interrupt::Interrupt() {
  kept = 0;
  struct sigaction action{};
  action.sa_handler = &Keep;
  // Files are written meanwhile, and a step that never ends can still be ended.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &terminate_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &terminate_, nullptr);
}

int Interrupt::signal() { return kept; }

}  // namespace trtscope::executorch_backend
