#include "core/engine/gpu_timeline.h"

#include <algorithm>
#include <utility>

#include "core/profiling/clock.h"

namespace trtscope::engine {
namespace {
constexpr int64_t kAnchorLifeNs = 10'000'000'000;
}

GpuTimeline::GpuTimeline(device::Device& device, profiling::EngineProfile& profile)
    : device_(device), profile_(profile) {}

GpuTimeline::~GpuTimeline() = default;

Result<std::unique_ptr<device::Event>> GpuTimeline::TakeEvent() {
  if (pool_.empty()) return device_.CreateEvent(/*timing=*/true);
  std::unique_ptr<device::Event> event = std::move(pool_.back());
  pool_.pop_back();
  return event;
}

void GpuTimeline::GiveBack(std::unique_ptr<device::Event> event) {
  pool_.push_back(std::move(event));
}

Status GpuTimeline::Begin(uint64_t call, device::StreamRef stream) {
  if (pending_.size() >= kMaxPending) {
    ++skipped_;
    return OkStatus();
  }
  Span span{call, 0, nullptr, nullptr};
  TRTSCOPE_ASSIGN_OR_RETURN(span.begin, TakeEvent());
  TRTSCOPE_ASSIGN_OR_RETURN(span.end, TakeEvent());
  span.host_ns = profiling::NowNs();
  TRTSCOPE_RETURN_IF_ERROR(span.begin->Record(stream));
  pending_.push_back(std::move(span));
  open_ = true;
  return OkStatus();
}

Status GpuTimeline::End(device::StreamRef stream) {
  if (!open_) return OkStatus();
  Status status = pending_.back().end->Record(stream);
  if (!status.ok()) {
    Abandon();
    return status;
  }
  open_ = false;
  return OkStatus();
}

void GpuTimeline::Abandon() {
  if (!open_) return;
  open_ = false;
  ++skipped_;
  GiveBack(std::move(pending_.back().begin));
  GiveBack(std::move(pending_.back().end));
  pending_.pop_back();
}

Result<int64_t> GpuTimeline::StartOnHostClock(Span& span) {
  int64_t since_anchor = 0;
  const bool renew = anchor_ == nullptr || span.host_ns - anchor_host_ns_ > kAnchorLifeNs;
  if (renew) {
    // The old anchor's offset, carried over, is a lower bound for the new one's too.
    int64_t carried = span.host_ns;
    if (anchor_ != nullptr) {
      TRTSCOPE_ASSIGN_OR_RETURN(const int64_t age, span.begin->ElapsedNs(*anchor_));
      carried = std::max(carried, offset_ns_ + age);
      GiveBack(std::move(anchor_));
    }
    anchor_ = std::move(span.begin);
    anchor_host_ns_ = span.host_ns;
    offset_ns_ = carried;
  } else {
    TRTSCOPE_ASSIGN_OR_RETURN(since_anchor, span.begin->ElapsedNs(*anchor_));
    offset_ns_ = std::max(offset_ns_, span.host_ns - since_anchor);
  }
  return offset_ns_ + since_anchor;
}

bool GpuTimeline::Watch(uint64_t call) {
  if (pending_.empty() || pending_.back().call != call) return false;
  watched_call_ = call;
  watched_ = {WatchState::kPending, 0};
  return true;
}

size_t GpuTimeline::Collect() {
  size_t collected = 0;
  const size_t open = open_ ? 1 : 0;
  while (pending_.size() > open) {
    Span& span = pending_.front();
    const Result<bool> done = span.end->Query();
    if (done.ok() && !*done) break;
    const Result<int64_t> duration =
        done.ok() ? span.end->ElapsedNs(*span.begin) : Result<int64_t>(done.status());
    const Result<int64_t> start =
        duration.ok() ? StartOnHostClock(span) : Result<int64_t>(duration.status());
    if (start.ok()) {
      profile_.RecordGpuSpan({span.call, *start, *duration});
      ++collected;
    } else {
      ++skipped_;  // an event of a stream that is gone, or a device error that the enqueue reports
    }
    if (span.call == watched_call_) {
      watched_ = start.ok() ? Watched{WatchState::kComplete, *start} : Watched{};
      watched_call_ = 0;
    }
    if (span.begin != nullptr) GiveBack(std::move(span.begin));
    GiveBack(std::move(span.end));
    pending_.pop_front();
  }
  return collected;
}

}  // namespace trtscope::engine
