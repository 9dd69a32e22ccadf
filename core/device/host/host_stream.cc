#include "core/device/host/host_stream.h"

#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace trtscope::device {

struct HostStream::State {
  std::mutex mutex;
  std::condition_variable work;  // a task came, or stop was set
  std::condition_variable done;  // `finished` went up
  std::deque<std::function<void()>> queue;
  uint64_t enqueued = 0;
  uint64_t finished = 0;
  bool stop = false;
  std::thread worker;

  void Run() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      work.wait(lock, [this] { return stop || !queue.empty(); });
      if (queue.empty()) return;  // stop, and nothing left to run
      std::function<void()> task = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it captured ends here, outside of the lock
      lock.lock();
      ++finished;
      done.notify_all();
    }
  }
};

HostStream::HostStream() : state_(std::make_unique<State>()) {
  state_->worker = std::thread([state = state_.get()] { state->Run(); });
}

HostStream::~HostStream() {
  assert(std::this_thread::get_id() != state_->worker.get_id());
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->work.notify_one();
  state_->worker.join();
}

void HostStream::Enqueue(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->queue.push_back(std::move(task));
    ++state_->enqueued;
  }
  state_->work.notify_one();
}

void HostStream::Synchronize() {
  if (std::this_thread::get_id() == state_->worker.get_id()) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  const uint64_t goal = state_->enqueued;
  state_->done.wait(lock, [this, goal] { return state_->finished >= goal; });
}

void RunOn(StreamRef stream, std::function<void()> task) {
  assert(stream.type == DeviceType::kHost);
  if (stream.handle == nullptr) {
    task();
  } else {
    static_cast<HostStream*>(stream.handle)->Enqueue(std::move(task));
  }
}

}  // namespace trtscope::device
