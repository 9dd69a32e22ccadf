#include "core/engine/graph_cache.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace trtscope::engine {
namespace {
std::atomic<bool> cuda_graphs{false};
}

void SetCudaGraphs(bool on) { cuda_graphs.store(on, std::memory_order_relaxed); }
bool CudaGraphs() { return cuda_graphs.load(std::memory_order_relaxed); }

Status GraphCache::Enqueue(ExecutionContext& context, const std::vector<void*>& addresses,
                           const void* workspace, device::StreamRef stream) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.workspace == workspace && entry.addresses == addresses;
  });
  if (found == entries_.end()) {
    TRTSCOPE_RETURN_IF_ERROR(context.Enqueue(stream));
    entries_.push_front({addresses, workspace, nullptr});
    if (entries_.size() > kMaxGraphs) entries_.pop_back();
    return OkStatus();
  }
  entries_.splice(entries_.begin(), entries_, found);
  Entry& entry = entries_.front();
  if (entry.graph == nullptr && !entry.refused) {
    auto graph = device_.Capture(
        [&context](device::StreamRef capturing) { return context.Enqueue(capturing); });
    if (graph.ok()) {
      entry.graph = *std::move(graph);
      ++captures_;
    } else {
      entry.refused = true;
      capture_error_ = std::string(graph.status().message());
    }
  }
  if (entry.graph == nullptr) return context.Enqueue(stream);
  ++replays_;
  return entry.graph->Launch(stream);
}

}  // namespace trtscope::engine
