#include "core/engine/late_layers.h"

#include <cstdio>
#include <string>
#include <utility>

#include "core/profiling/clock.h"

namespace trtscope::engine {

Status LateLayers::MakeContext() {
  if (stream_ == nullptr) {
    TRTSCOPE_ASSIGN_OR_RETURN(stream_, device_.CreateStream());
  }
  TRTSCOPE_ASSIGN_OR_RETURN(
      context_,
      BoundContext::Create(engine_, {.layer_times = true, .user_managed_workspace = true}));
  return OkStatus();
}

Result<BoundContext*> LateLayers::ContextForCall() {
  sampler_.SetInterval(profile_.sample_interval());
  // The records of one call are kept at a time; the next waits its turn rather than replace them.
  if (refused_ || awaiting() || !sampler_.Take()) return static_cast<BoundContext*>(nullptr);
  if (context_ == nullptr) {
    const Status made = MakeContext();
    if (!made.ok()) {
      // The engine runs on, without layer times.
      refused_ = true;
      std::fprintf(stderr, "trtscope: engine '%s': layers cannot be measured: %s\n",
                   profile_.id().c_str(), std::string(made.message()).c_str());
      return static_cast<BoundContext*>(nullptr);
    }
  }
  return context_.get();
}

void LateLayers::Enqueued(uint64_t call, GpuTimeline& timeline) {
  if (!timeline.Watch(call)) return;  // not measured: nothing would ever tell that it is done
  awaited_call_ = call;
}

void LateLayers::Deliver(GpuTimeline& timeline) {
  if (!awaiting()) return;
  const GpuTimeline::Watched watched = timeline.watched();
  if (watched.state == GpuTimeline::WatchState::kPending) return;
  const uint64_t call = awaited_call_;
  awaited_call_ = 0;
  if (watched.state == GpuTimeline::WatchState::kLost) return;
  const int64_t begin_ns = profiling::NowNs();
  profiling::LayerSink& sink = profile_.BeginLateLayers(call, watched.start_ns);
  if (context_->SetLayerSink(&sink).ok()) (void)context_->context().DeliverLayers().ok();
  profile_.FinishLateLayers();
  delivery_ns_ = profiling::NowNs() - begin_ns;
}

}  // namespace trtscope::engine
