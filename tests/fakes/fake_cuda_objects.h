#ifndef TRTSCOPE_TESTS_FAKES_FAKE_CUDA_OBJECTS_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_CUDA_OBJECTS_H_

// What the fake driver's handles point to.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

// The driver's handles are pointers to these names in this namespace.
namespace trtscope::device::cuda {

using Task = std::function<void()>;

struct CUgraph_st {
  std::vector<Task> tasks;
};
struct CUgraphExec_st {
  std::vector<Task> tasks;
};

struct CUstream_st {
  explicit CUstream_st(int device) : device(device), worker([this] { Run(); }) {}
  ~CUstream_st() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
      blocked = false;
    }
    changed.notify_all();
    worker.join();
  }

  void Enqueue(Task task) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (capture != nullptr) {
        capture->tasks.push_back(std::move(task));
        return;
      }
      tasks.push_back(std::move(task));
    }
    changed.notify_all();
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return tasks.empty() && !running; });
  }

  /// What is queued already still runs; what comes later waits for Release.
  void Block() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      blocked = true;
      tasks.push_back([this] {
        std::unique_lock<std::mutex> inner(mutex);
        changed.wait(inner, [this] { return !blocked; });
      });
    }
    changed.notify_all();
  }
  void Release() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      blocked = false;
    }
    changed.notify_all();
  }

  void Run() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stopping || !tasks.empty(); });
      if (tasks.empty()) return;
      Task task = std::move(tasks.front());
      tasks.pop_front();
      running = true;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      running = false;
      changed.notify_all();
    }
  }

  const int device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool running = false;
  bool stopping = false;
  bool blocked = false;
  std::unique_ptr<CUgraph_st> capture;
  std::thread worker;  // last: it uses all of the above
};

struct CUctx_st {
  int device = 0;
  std::unique_ptr<CUstream_st> default_stream;
};

// What a record shares with the work that completes it: an event may be recorded again, or
// destroyed, before that.
struct Record {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::chrono::steady_clock::time_point time;
};
struct CUevent_st {
  int device = 0;
  bool timing = true;
  std::mutex mutex;
  std::shared_ptr<Record> record;
};

}  // namespace trtscope::device::cuda

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_CUDA_OBJECTS_H_
