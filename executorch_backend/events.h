#ifndef TRTSCOPE_EXECUTORCH_BACKEND_EVENTS_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_EVENTS_H_

// One engine's events in ExecuTorch's trace (ETDump): the delegate call, its phases, its layers,
// and the device times that became known, under the names of core/profiling/names.h.
//
// Times are the very clock reads that the tables and the trace files have.  Device times and
// layers of earlier calls are logged with the call in which they become known, and their metadata
// says whose they are; what is still unknown when the method is destroyed has no tracer to go to
// and is in the tables only.  Names are unique within one delegate call, because the Inspector
// keeps only the last of equal ones: " #2" and so on follow a name from its second use.
//
// Every event carries a JSON object:
//   {"clock": "host" or "gpu", "engine": id, "call": number}
// and in it "method", "stream" and "shapes" on the delegate event, "estimated": true where the
// start is an estimate, and "failed": true where the call failed.  The method is there because a
// trace of several methods does not say otherwise whose call is whose.

#include <executorch/runtime/core/event_tracer.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/profiling/engine_profile.h"

namespace trtscope::executorch_backend {

/// "torchtrt.layer/NAME": the event of the layer that the engine calls NAME.
std::string LayerEvent(std::string_view layer);

/// Externally synchronized (the engine's mutex).
class EventLog final : public profiling::CallObserver {
 public:
  using EventTracer = ::executorch::runtime::EventTracer;

  /// Records that wait for a tracer beyond this many are dropped, and counted in the metadata.
  static constexpr size_t kMaxWaiting = 65536;

  /// `method` is empty where it is not known.
  EventLog(const std::string& engine_id, const std::string& method);

  /// A call begins; `tracer` is null when nobody traces.
  void Begin(EventTracer* tracer) {
    tracer_ = tracer;
    if (tracer == nullptr && !waiting_.empty()) [[unlikely]]
      waiting_.clear();
  }
  /// More JSON members for the delegate event of the call: starts with a comma.
  void Describe(std::string members) { description_ = std::move(members); }

  bool listening() const noexcept override { return tracer_ != nullptr; }
  void OnLayer(uint64_t call, const std::string& name, int64_t start_ns, int64_t duration_ns,
               bool estimated) noexcept override;
  void OnGpuSpan(const profiling::GpuSpan& span) noexcept override;
  void OnCall(uint64_t call, int64_t start_ns, int64_t end_ns,
              std::span<const profiling::CallRecorder::Span> phases, bool failed) noexcept override;

 private:
  struct Record {
    std::string name;
    uint64_t call;
    int64_t start_ns;
    int64_t duration_ns;
    bool gpu;
    bool estimated;
  };
  void Keep(Record record) noexcept;
  void Log(const std::string& name, int64_t start_ns, int64_t end_ns, uint64_t call, bool gpu,
           bool estimated, const std::string& more);

  const std::string engine_id_;  // quoted for JSON
  const std::string method_;     // a JSON member that starts with a comma, or empty
  EventTracer* tracer_ = nullptr;
  std::string description_;
  std::vector<Record> waiting_;
  uint64_t dropped_ = 0;
  std::unordered_map<std::string, int> used_;  // names of this call
};

/// The tick of ExecuTorch's clock at `ns` on NowNs()'s.
uint64_t TicksAt(int64_t ns);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_EVENTS_H_
