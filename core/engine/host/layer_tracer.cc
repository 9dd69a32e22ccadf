#include "core/engine/host/layer_tracer.h"

#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <cstdio>

#include "core/profiling/clock.h"

namespace trtscope::engine::host {
namespace {

using executorch::runtime::ChainID;
using executorch::runtime::DebugHandle;
using executorch::runtime::DelegateDebugIntId;
using executorch::runtime::EventTracerEntry;
using executorch::runtime::EventTracerProfilingLevel;

// Values of EventTracerEntry::event_id.
constexpr int64_t kIgnored = 0;
constexpr int64_t kCounted = 1;

int64_t TicksToNs(int64_t ticks) {
  const et_tick_ratio_t ratio = executorch::runtime::pal_ticks_to_ns_multiplier();
  return static_cast<int64_t>(static_cast<__int128>(ticks) *
                              static_cast<__int128>(ratio.numerator) /
                              static_cast<__int128>(ratio.denominator));
}

// ExecuTorch's ticks on NowNs()'s clock.  Their origin moves when the platform layer is set up
// anew, so the two clocks are compared at each use.
int64_t TicksToNowNs(et_timestamp_t ticks) {
  const et_timestamp_t now = executorch::runtime::pal_current_ticks();
  return profiling::NowNs() - TicksToNs(static_cast<int64_t>(now - ticks));
}

}  // namespace

void LayerTracer::SetSink(profiling::LayerSink* sink) {
  sink_ = sink;
  depth_ = 0;
  inner_ns_ = 0;
  set_event_tracer_profiling_level(sink != nullptr ? EventTracerProfilingLevel::kProfileAllEvents
                                                   : EventTracerProfilingLevel::kProfileMethodOnly);
}

void LayerTracer::create_event_block(const char*) {}

EventTracerEntry LayerTracer::start_profiling(const char*, ChainID, DebugHandle) {
  EventTracerEntry entry{};
  // Outside of an instruction: the method as a whole.
  if (sink_ == nullptr || current_chain_id() < 0) return entry;
  entry.event_id = kCounted;
  if (depth_++ == 0) {
    inner_ns_ = 0;
    start_ns_ = profiling::NowNs();
  }
  return entry;
}

void LayerTracer::end_profiling(EventTracerEntry entry) {
  if (entry.event_id == kIgnored || sink_ == nullptr || depth_ == 0 || --depth_ > 0) return;
  const int64_t end_ns = profiling::NowNs();
  const auto chain = static_cast<size_t>(std::max<ChainID>(current_chain_id(), 0));
  const size_t number = current_debug_handle();
  if (chain >= plan_.chains.size() || number >= plan_.chains[chain].size()) return;
  const char* name = plan_.chains[chain][number].name.c_str();
  if (inner_ns_ == 0) {
    sink_->OnLayer(name, start_ns_, end_ns - start_ns_);
  } else {
    const int64_t rest = std::max<int64_t>(end_ns - start_ns_ - inner_ns_, 0);
    sink_->OnLayer(name, std::min(std::max(inner_end_ns_, start_ns_), end_ns - rest), rest);
  }
}

void LayerTracer::InnerLayer(const char* name, int64_t index, int64_t start_ns,
                             int64_t duration_ns) {
  char number[32];
  if (name == nullptr) {
    std::snprintf(number, sizeof(number), "delegate event %lld", static_cast<long long>(index));
    name = number;
  }
  duration_ns = std::max<int64_t>(duration_ns, 0);
  sink_->OnLayer(name, start_ns, duration_ns);
  inner_ns_ += duration_ns;
  inner_end_ns_ = start_ns + duration_ns;
}

EventTracerEntry LayerTracer::start_profiling_delegate(const char* name, DelegateDebugIntId index) {
  EventTracerEntry entry{};
  if (sink_ == nullptr || depth_ == 0) return entry;
  if (name != nullptr) {
    std::snprintf(inner_name_, kNameSize, "%s", name);
  } else {
    std::snprintf(inner_name_, kNameSize, "delegate event %lld", static_cast<long long>(index));
  }
  entry.event_id = kCounted;
  entry.start_time = static_cast<et_timestamp_t>(profiling::NowNs());
  return entry;
}

void LayerTracer::end_profiling_delegate(EventTracerEntry entry, const void*, size_t) {
  if (entry.event_id == kIgnored || sink_ == nullptr) return;
  const auto start_ns = static_cast<int64_t>(entry.start_time);
  InnerLayer(inner_name_, 0, start_ns, profiling::NowNs() - start_ns);
}

void LayerTracer::log_profiling_delegate(const char* name, DelegateDebugIntId index,
                                         et_timestamp_t start_time, et_timestamp_t end_time,
                                         const void*, size_t) {
  if (sink_ == nullptr || depth_ == 0) return;
  InnerLayer(name, index, TicksToNowNs(start_time),
             TicksToNs(static_cast<int64_t>(end_time - start_time)));
}

}  // namespace trtscope::engine::host
