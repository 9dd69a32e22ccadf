#ifndef TRTSCOPE_CORE_PROFILING_PERFETTO_SINK_H_
#define TRTSCOPE_CORE_PROFILING_PERFETTO_SINK_H_

// PerfettoSink: the process's trace in one folder.  It has a file as long as an engine is traced
// into that folder; a file that grew too large is followed by the next number, which again says
// all that its own slices need.
//
// Threads: none of its own; the writer's mutex guards it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/profiling/perfetto_file.h"
#include "core/profiling/ring.h"
#include "core/profiling/statistics.h"

namespace trtscope::profiling {

class PerfettoSink {
 public:
  explicit PerfettoSink(std::string folder) : folder_(std::move(folder)) {}
  PerfettoSink(const PerfettoSink&) = delete;
  PerfettoSink& operator=(const PerfettoSink&) = delete;

  /// An engine is traced here until Detach.  The folder must exist.
  void Attach(uint64_t file_limit);
  void Detach() { --engines_; }

  /// Records of one call that one thread added at once must come one after the other.  `stats`
  /// and `thread_name` must live until the round ends.
  void Write(const SpanRecord& record, const EngineStats& stats, int tid,
             const std::string& thread_name);
  /// What is sampled of an engine in each round.
  void Sample(const EngineStats& stats, bool in_call);
  /// Ends a round of the writer: what is complete is written.  Adds the paths of files that were
  /// finished to `files`.
  void EndRound(std::vector<std::string>& files);
  void Abandon();

 private:
  Status OpenNext();
  void FinishFile();
  void EndGroup();
  void Fail(const Status& status);

  const std::string folder_;
  uint64_t file_limit_ = 0;
  size_t engines_ = 0;
  uint64_t next_number_ = 0;
  std::unique_ptr<PerfettoFile> file_;  // null: none is open, or it failed
  std::vector<std::string> finished_;
  uint64_t in_flight_ = 0;  // of this round

  // The call whose records are coming.
  std::vector<SpanRecord> group_;
  const EngineStats* group_stats_ = nullptr;
  const std::string* group_thread_ = nullptr;
  int group_tid_ = 0;
};

/// The sinks of this process, by folder.  Externally synchronized, as they are.
class PerfettoSinks {
 public:
  /// Never destroyed before this; one for each folder ever used.
  PerfettoSink& In(const std::string& folder) {
    return sinks_.try_emplace(folder, folder).first->second;
  }
  void EndRound(std::vector<std::string>& files) {
    for (auto& [folder, sink] : sinks_) sink.EndRound(files);
  }
  void Abandon() {
    for (auto& [folder, sink] : sinks_) sink.Abandon();
  }

 private:
  std::map<std::string, PerfettoSink> sinks_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PERFETTO_SINK_H_
