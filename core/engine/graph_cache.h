#ifndef TRTSCOPE_CORE_ENGINE_GRAPH_CACHE_H_
#define TRTSCOPE_CORE_ENGINE_GRAPH_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/engine/engine.h"

namespace trtscope::engine {

/// Whether engines on a device use graphs: off at first, for the whole process, from the next call
/// of each engine on.  Thread-safe.
void SetCudaGraphs(bool on);
bool CudaGraphs();

/// Captured enqueues of one context, by the addresses that they read and write.
///
/// Nothing is copied to make addresses stable: a caller that returns to the same memory, as servers
/// and caching allocators do, finds its graph; one that does not is enqueued plainly.  A set of
/// addresses is captured when it is seen for the second time, which is also what TensorRT asks
/// for: its first enqueue after a change of shapes is not for capturing.
///
/// Externally synchronized.
class GraphCache {
 public:
  /// The least recently used graph beyond this many is dropped.
  static constexpr size_t kMaxGraphs = 8;

  explicit GraphCache(device::Device& device) : device_(device) {}

  /// Replays, captures or enqueues, so that the work is on `stream` when this returns OK.
  Status Enqueue(ExecutionContext& context, const std::vector<void*>& addresses,
                 const void* workspace, device::StreamRef stream);
  /// Forgets every graph: after a change of shapes, of the optimization profile, or of what the
  /// context measures.
  void Clear() { entries_.clear(); }

  uint64_t captures() const { return captures_; }
  uint64_t replays() const { return replays_; }
  /// Why the last capture failed; empty when none did.  Such calls are enqueued plainly.
  const std::string& capture_error() const { return capture_error_; }

 private:
  struct Entry {
    std::vector<void*> addresses;
    const void* workspace;
    std::unique_ptr<device::Graph> graph;  // null until the second call
    bool refused = false;
  };

  device::Device& device_;
  std::list<Entry> entries_;  // most recently used first
  uint64_t captures_ = 0;
  uint64_t replays_ = 0;
  std::string capture_error_;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_GRAPH_CACHE_H_
