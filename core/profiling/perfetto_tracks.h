#ifndef TRTSCOPE_CORE_PROFILING_PERFETTO_TRACKS_H_
#define TRTSCOPE_CORE_PROFILING_PERFETTO_TRACKS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/profiling/packet_file.h"
#include "core/profiling/perfetto_sequence.h"

namespace trtscope::profiling {

/// The tree of tracks of one file: the process, its threads and engines, and what lies below
/// those.  Gives out the ids of tracks, sequences and flows.  Threads: as PacketFile.
class PerfettoTracks {
 public:
  /// `file` is borrowed.
  explicit PerfettoTracks(PacketFile& file) : file_(file) {}

  /// Opens the file with the process's track and the clocks.
  Status Open(const std::string& path);
  /// One instant on the clocks: now and then, for they drift.
  void WriteClocks();

  uint64_t process() const { return process_; }
  uint64_t AddThread(int tid, std::string_view name);
  uint64_t AddTrack(uint64_t parent, std::string_view name, std::string_view description);
  uint64_t AddCounter(uint64_t parent, std::string_view name, pf::CounterUnit unit);

  /// A new sequence for events of `track`.
  PerfettoSequence NewSequence(uint64_t track, int64_t first_ns) {
    return PerfettoSequence(file_, ++last_sequence_, track, first_ns);
  }
  uint64_t FlowId(uint32_t engine, uint64_t call) const;

 private:
  template <typename Fill>
  uint64_t Add(uint64_t parent, std::string_view name, Fill fill);
  uint64_t NewTrackId();

  PacketFile& file_;
  int pid_ = 0;
  uint64_t seed_ = 0;
  uint64_t tracks_ = 0;
  uint64_t process_ = 0;
  uint32_t last_sequence_ = 0;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PERFETTO_TRACKS_H_
