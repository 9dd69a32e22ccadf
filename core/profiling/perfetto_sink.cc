#include "core/profiling/perfetto_sink.h"

#include <unistd.h>

#include <utility>

#include "core/profiling/clock.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/files.h"
#include "core/profiling/json_text.h"
#include "core/profiling/names.h"
#include "core/profiling/process_info.h"

namespace trtscope::profiling {

void PerfettoSink::Attach(uint64_t file_limit) {
  file_limit_ = file_limit;
  if (engines_++ > 0) return;  // also where the file failed: once a session is enough
  if (const Status status = OpenNext(); !status.ok()) Fail(status);
}

// As an engine's files: nothing is overwritten, neither another process's nor an earlier one.
Status PerfettoSink::OpenNext() {
  const std::string base =
      JoinPath(folder_, SafeFileName(HostName()) + "." + std::to_string(::getpid()));
  constexpr uint64_t kMaxTries = 100'000;
  for (const uint64_t first = next_number_; next_number_ < first + kMaxTries;) {
    std::string path = base;
    if (next_number_ > 0) path += "." + std::to_string(next_number_);
    ++next_number_;
    auto file = std::make_unique<PerfettoFile>();
    const Status status = file->Open(path += kProcessTraceSuffix);
    if (status.code() == StatusCode::kFailedPrecondition) continue;
    if (status.ok()) file_ = std::move(file);
    return status;
  }
  return ResourceExhausted("no free file name like " + base + ".N" +
                           std::string(kProcessTraceSuffix));
}

void PerfettoSink::Fail(const Status& status) {
  ReportProblem("the trace of the process is incomplete or missing: " +
                std::string(status.message()) + "; its counters go on");
  if (file_ != nullptr) FinishFile();
}

void PerfettoSink::FinishFile() {
  const std::unique_ptr<PerfettoFile> file = std::move(file_);
  if (const Status status = file->Finish(); !status.ok()) Fail(status);
  if (FileExists(file->path())) finished_.push_back(file->path());
}

void PerfettoSink::Write(const SpanRecord& record, const EngineStats& stats, int tid,
                         const std::string& thread_name) {
  if (file_ == nullptr) return;
  const bool phase = static_cast<SpanKind>(record.kind) == SpanKind::kPhase;
  if (phase && static_cast<Phase>(record.name) == Phase::kGpu) {
    EndGroup();
    if (file_ != nullptr) file_->WriteGpuSpan(record, stats);
    return;
  }
  const bool begins = phase && static_cast<Phase>(record.name) == Phase::kDelegate;
  if (begins || group_stats_ != &stats || group_tid_ != tid || group_.front().call != record.call) {
    EndGroup();
    group_stats_ = &stats;
    group_tid_ = tid;
    group_thread_ = &thread_name;
  }
  group_.push_back(record);
}

void PerfettoSink::EndGroup() {
  if (!group_.empty() && file_ != nullptr) {
    if (static_cast<SpanKind>(group_.front().kind) == SpanKind::kPhase) {
      file_->WriteCall(group_, *group_stats_, group_tid_, *group_thread_);
    } else {
      file_->WriteLateLayers(group_, *group_stats_);
    }
    // Between calls, so that no slice is cut in two.
    if (file_->size() > file_limit_) {
      FinishFile();
      if (const Status status = OpenNext(); !status.ok()) Fail(status);
    }
  }
  group_.clear();
  group_stats_ = nullptr;
}

void PerfettoSink::Sample(const EngineStats& stats, bool in_call) {
  EndGroup();
  in_flight_ += in_call ? 1 : 0;
  if (file_ != nullptr) file_->CountEngine(stats, NowNs());
}

void PerfettoSink::EndRound(std::vector<std::string>& files) {
  EndGroup();
  if (file_ != nullptr) {
    file_->CountInFlight(in_flight_, NowNs());
    if (engines_ == 0) {
      FinishFile();
    } else if (const Status status = file_->Flush(); !status.ok()) {
      Fail(status);
    }
  }
  in_flight_ = 0;
  files.insert(files.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

void PerfettoSink::Abandon() {
  if (file_ != nullptr) file_->Abandon();
}

}  // namespace trtscope::profiling
