#ifndef TRTSCOPE_CORE_ENGINE_LATE_LAYERS_H_
#define TRTSCOPE_CORE_ENGINE_LATE_LAYERS_H_

#include <cstdint>
#include <memory>

#include "core/engine/bound_context.h"
#include "core/engine/call_sampler.h"
#include "core/engine/engine.h"
#include "core/engine/gpu_timeline.h"

namespace trtscope::engine {

/// Layer times of an engine whose layers arrive after their work (Engine::layers_arrive_late).
///
/// A second context measures, made when layers are first asked for, and serves one call in N.  The
/// plain context is never touched: it is as fast after profiling as before, and turning profiling
/// on or off detaches and frees nothing that is in use.  Layers are delivered once the call's own
/// GPU span was seen to be complete, because asking earlier would wait.
///
/// A measured call runs on a stream of this class, between an event that it waits for and one that
/// the caller's stream waits for: TensorRT asks the stream for the times when they are delivered,
/// and a stream of the caller's may be gone by then.
///
/// Externally synchronized (the engine's mutex).
class LateLayers {
 public:
  LateLayers(device::Device& device, Engine& engine, profiling::EngineProfile& profile)
      : device_(device), engine_(engine), profile_(profile), graphs_(device) {}

  CallSampler& sampler() { return sampler_; }
  /// Where the call that ContextForCall gave its context to runs.
  device::StreamRef stream() const { return stream_->ref(); }
  /// Graphs of the measuring context.
  GraphCache& graphs() { return graphs_; }

  /// The context for a call whose layers shall be measured, or null when the plain one serves it:
  /// also where the engine refuses a second context, which is reported once.
  Result<BoundContext*> ContextForCall();

  /// That call was enqueued, and `timeline` measures it; or it failed, and nothing is awaited.
  void Enqueued(uint64_t call, GpuTimeline& timeline);

  /// Delivers what is complete.  After GpuTimeline::Collect.  Never waits.
  void Deliver(GpuTimeline& timeline);

  /// Destroys the measuring context, whose work must be complete; made anew when next needed.
  void DropContext() {
    awaited_call_ = 0;
    graphs_.Clear();
    context_.reset();
  }

  bool awaiting() const { return awaited_call_ != 0; }
  /// Host time that the last delivery took, for the sampler.
  int64_t delivery_ns() const { return delivery_ns_; }

 private:
  Status MakeContext();

  device::Device& device_;
  Engine& engine_;
  profiling::EngineProfile& profile_;
  CallSampler sampler_;
  std::unique_ptr<device::Stream> stream_;  // before the context, which asks it
  std::unique_ptr<BoundContext> context_;
  GraphCache graphs_;  // after the context that they replay: destroyed before it
  bool refused_ = false;
  uint64_t awaited_call_ = 0;
  int64_t delivery_ns_ = 0;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_LATE_LAYERS_H_
