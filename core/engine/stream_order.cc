#include "core/engine/stream_order.h"

#include <chrono>
#include <thread>

namespace trtscope::engine {

void StreamOrder::Drain() {
  if (!recorded_) return;
  while (true) {
    const Result<bool> done = done_->Query();
    // A device that fails to answer runs nothing any more, as far as can be known.
    if (!done.ok() || *done) break;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  recorded_ = false;
}

}  // namespace trtscope::engine
