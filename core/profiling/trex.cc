#include "core/profiling/trex.h"

#include <algorithm>

#include "core/profiling/json_text.h"

namespace trtscope::profiling {
namespace {

/// A quotient of milliseconds or a percentage, with six decimals and no locale.
void AppendRatio(std::string& out, double value) {
  AppendMillis(out, static_cast<int64_t>(value * 1e6 + 0.5));
}

}  // namespace

std::string TrexProfile(const std::vector<LayerSnapshot>& layers) {
  uint64_t count = 0;
  uint64_t total = 0;
  for (const LayerSnapshot& layer : layers) {
    count = std::max(count, layer.times.count());
    total += layer.times.total();
  }
  std::string out = "[\n  {\"count\": ";
  AppendUint(out, count);
  out += "}";
  for (const LayerSnapshot& layer : layers) {
    const auto layer_total = layer.times.total();
    out += ",\n  {\"name\": ";
    AppendJsonString(out, layer.name);
    out += ", \"timeMs\": ";
    AppendMillis(out, static_cast<int64_t>(layer_total));
    out += ", \"averageMs\": ";
    AppendMillis(out, static_cast<int64_t>(layer_total / layer.times.count()));
    out += ", \"medianMs\": ";
    AppendMillis(out, static_cast<int64_t>(layer.times.Percentile(50)));
    out += ", \"percentage\": ";
    AppendRatio(out, total == 0
                         ? 0
                         : 100.0 * static_cast<double>(layer_total) / static_cast<double>(total));
    out += "}";
  }
  out += "\n]\n";
  return out;
}

void TrexTimings::Add(Phase phase, uint64_t call, int64_t start_ns, int64_t duration_ns) {
  Span Call::* part;
  switch (phase) {
    case Phase::kInputBinding:
      part = &Call::input;
      break;
    case Phase::kEnqueueHost:
      part = &Call::enqueue;
      break;
    case Phase::kGpu:
      part = &Call::gpu;
      has_gpu_ = true;
      break;
    case Phase::kOutputStaging:
      part = &Call::output;
      break;
    default:
      return;
  }
  // Calls come nearly in order: a device span follows its call by a few.
  const auto at = calls_.empty() || calls_.back().call < call
                      ? calls_.end()
                      : std::lower_bound(
                            calls_.begin(), calls_.end(), call,
                            [](const Call& c, uint64_t number) { return c.call < number; });
  auto found = at;
  if (at == calls_.end() || at->call != call) {
    if (calls_.size() >= kMaxCalls) {
      if (phase == Phase::kEnqueueHost) ++left_out_;
      return;
    }
    found = calls_.insert(at, Call{});
    found->call = call;
  }
  Span& span = (*found).*part;
  const int64_t end = start_ns + duration_ns;
  span = span.set() ? Span{std::min(span.start_ns, start_ns), std::max(span.end_ns, end)}
                    : Span{start_ns, end};
}

std::string TrexTimings::Json(int64_t origin_ns) const {
  std::string out = "[";
  bool first = true;
  for (const Call& call : calls_) {
    if (!call.enqueue.set()) continue;
    const Span compute = call.gpu.set() ? call.gpu : call.enqueue;
    // A part that did not happen is an empty span where it would have been.
    const Span input =
        call.input.set() ? call.input : Span{call.enqueue.start_ns, call.enqueue.start_ns};
    const Span output = call.output.set() ? call.output : Span{compute.end_ns, compute.end_ns};
    const auto time = [&](const char* key, int64_t ns) {
      out += key;
      AppendMillis(out, ns);
    };
    out += first ? "\n" : ",\n";
    first = false;
    time("  {\"startEnqMs\": ", call.enqueue.start_ns - origin_ns);
    time(", \"endEnqMs\": ", call.enqueue.end_ns - origin_ns);
    time(", \"startH2dMs\": ", input.start_ns - origin_ns);
    time(", \"endH2dMs\": ", input.end_ns - origin_ns);
    time(", \"startComputeMs\": ", compute.start_ns - origin_ns);
    time(", \"endComputeMs\": ", compute.end_ns - origin_ns);
    time(", \"startD2hMs\": ", output.start_ns - origin_ns);
    time(", \"endD2hMs\": ", output.end_ns - origin_ns);
    time(", \"h2dMs\": ", input.end_ns - input.start_ns);
    time(", \"computeMs\": ", compute.end_ns - compute.start_ns);
    time(", \"d2hMs\": ", output.end_ns - output.start_ns);
    time(", \"latencyMs\": ", output.end_ns - input.start_ns);
    out += "}";
  }
  out += "\n]\n";
  return out;
}

}  // namespace trtscope::profiling
