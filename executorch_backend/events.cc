#include "executorch_backend/events.h"

#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/profiling/clock.h"
#include "core/profiling/names.h"
#include "core/profiling/utf8.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

// One instant on both clocks.  They are the same clock but for where they start and their unit, so
// one pair serves for good.
struct TickPair {
  int64_t ns = 0;
  int64_t ticks = 0;
  int64_t numerator = 1;  // nanoseconds = ticks * numerator / denominator
  int64_t denominator = 1;
};

TickPair ReadTickPair() {
  TickPair best;
  int64_t tightest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 16; ++i) {
    const int64_t before = profiling::NowNs();
    const auto ticks = static_cast<int64_t>(et::pal_current_ticks());
    const int64_t after = profiling::NowNs();
    if (after - before >= tightest) continue;
    tightest = after - before;
    best.ns = before + tightest / 2;
    best.ticks = ticks;
  }
  const et_tick_ratio_t ratio = et::pal_ticks_to_ns_multiplier();
  best.numerator = std::max<int64_t>(static_cast<int64_t>(ratio.numerator), 1);
  best.denominator = std::max<int64_t>(static_cast<int64_t>(ratio.denominator), 1);
  return best;
}

std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

uint64_t TicksAt(int64_t ns) {
  static const TickPair pair = ReadTickPair();
  const auto delta = static_cast<__int128>(ns - pair.ns) * pair.denominator / pair.numerator;
  const auto ticks = static_cast<int64_t>(delta) + pair.ticks;
  return ticks > 0 ? static_cast<uint64_t>(ticks) : 0;
}

std::string LayerEvent(std::string_view layer) {
  std::string name(profiling::kLayerCategory);
  name += '/';
  name += profiling::ValidUtf8(layer);  // which readers of an ETDump insist on
  return name;
}

EventLog::EventLog(const std::string& engine_id, const std::string& method)
    : engine_id_(Quoted(engine_id)),
      method_(method.empty() ? std::string() : ",\"method\":" + Quoted(method)) {}

void EventLog::Keep(Record record) noexcept {
  if (waiting_.size() >= kMaxWaiting) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(record));
}

void EventLog::OnLayer(uint64_t call, const std::string& name, int64_t start_ns,
                       int64_t duration_ns, bool estimated) noexcept {
  Keep(Record{LayerEvent(name), call, start_ns, std::max<int64_t>(duration_ns, 0), false,
              estimated});
}

void EventLog::OnGpuSpan(const profiling::GpuSpan& span) noexcept {
  Keep(Record{std::string(profiling::Info(profiling::Phase::kGpu).event), span.call, span.start_ns,
              std::max<int64_t>(span.duration_ns, 0), true, true});
}

void EventLog::OnCall(uint64_t call, int64_t start_ns, int64_t end_ns,
                      std::span<const profiling::CallRecorder::Span> phases, bool failed) noexcept {
  using profiling::Info;
  used_.clear();
  std::string more = method_ + description_;
  description_.clear();
  if (failed) more += ",\"failed\":true";
  if (dropped_ != 0) more += ",\"dropped\":" + std::to_string(dropped_);
  dropped_ = 0;
  Log(std::string(Info(profiling::Phase::kDelegate).event), start_ns, end_ns, call, false, false,
      more);
  for (size_t i = 0; i < phases.size();) {
    const size_t first = i;
    // A phase that was opened again at the instant it ended is one event.
    while (++i < phases.size() && phases[i].phase == phases[first].phase &&
           phases[i].start_ns == phases[i - 1].end_ns) {
    }
    Log(std::string(Info(phases[first].phase).event), phases[first].start_ns, phases[i - 1].end_ns,
        call, false, false, failed ? ",\"failed\":true" : "");
  }
  for (const Record& record : waiting_) {
    Log(record.name, record.start_ns, record.start_ns + record.duration_ns, record.call, record.gpu,
        record.estimated, "");
  }
  waiting_.clear();
}

void EventLog::Log(const std::string& name, int64_t start_ns, int64_t end_ns, uint64_t call,
                   bool gpu, bool estimated, const std::string& more) {
  const int uses = ++used_[name];
  const std::string unique = uses == 1 ? name : name + " #" + std::to_string(uses);
  std::string metadata = gpu ? "{\"clock\":\"gpu\",\"engine\":" : "{\"clock\":\"host\",\"engine\":";
  metadata += engine_id_;
  metadata += ",\"call\":" + std::to_string(call);
  if (estimated) metadata += ",\"estimated\":true";
  metadata += more + "}";
  const uint64_t start = TicksAt(start_ns);
  // The id of an event that goes by its name.  kUnsetDebugHandle (0), which ExecuTorch's header
  // names in places, would be an id like any other, and id and name together abort the process.
  constexpr auto kByName = static_cast<et::DebugHandle>(et::kUnsetDelegateDebugIntId);
  et::event_tracer_log_profiling_delegate(tracer_, unique.c_str(), kByName, start,
                                          std::max(start, TicksAt(end_ns)), metadata.data(),
                                          metadata.size());
}

}  // namespace trtscope::executorch_backend
