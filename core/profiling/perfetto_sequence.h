#ifndef TRTSCOPE_CORE_PROFILING_PERFETTO_SEQUENCE_H_
#define TRTSCOPE_CORE_PROFILING_PERFETTO_SEQUENCE_H_

// PerfettoSequence: the packets of one track.
//
// Perfetto keeps defaults, interned names and an incremental clock for each packet sequence.  With
// a sequence for each track an event says neither its track nor its whole time, and fits 18 bytes.
//
// Threads: none of its own; the writer's mutex guards it.

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/profiling/packet_file.h"
#include "core/profiling/statistics.h"

namespace trtscope::profiling {

enum class PerfettoCategory : uint8_t { kNone, kPhase, kLayer };

/// What a slice says when it begins; zero stands for nothing.
struct PerfettoSlice {
  int64_t start_ns = 0;
  uint64_t name = 0;  // PerfettoSequence::PhaseName or LayerName
  PerfettoCategory category = PerfettoCategory::kNone;
  bool estimated = false;  // the start
  bool failed = false;
  uint64_t engine = 0;  // PerfettoSequence::EngineName
  uint64_t call = 0;
  uint64_t flow = 0;
  bool flow_ends = false;  // here, or begins here
};

class PerfettoSequence {
 public:
  /// `file` is borrowed.  `first_ns`: of the first event; earlier ones take more room.
  PerfettoSequence(PacketFile& file, uint32_t id, uint64_t track, int64_t first_ns)
      : file_(file), id_(id), track_(track), last_ns_(first_ns) {}

  // The ids of names, each written when it is first asked for.
  uint64_t PhaseName(Phase phase);
  uint64_t LayerName(const EngineStats& stats, uint32_t row);
  uint64_t EngineName(const EngineStats& stats);

  void Begin(const PerfettoSlice& slice);
  void End(int64_t ns);
  /// Both, and never one without the other: for tracks that another sequence has slices on, too,
  /// which an end that is missing would take for its own.
  void Whole(const PerfettoSlice& slice, int64_t end_ns);
  void Count(int64_t ns, uint64_t value);

 private:
  void WriteHead();
  void AppendBegin(ProtoWriter& writer, const PerfettoSlice& slice);
  void AppendEnd(ProtoWriter& writer, int64_t ns);
  void AppendHeader(ProtoWriter& writer);
  void AppendTime(ProtoWriter& writer, int64_t ns);
  void Intern(uint32_t table, uint64_t iid, std::string_view text);

  PacketFile& file_;
  const uint32_t id_;
  const uint64_t track_;
  int64_t last_ns_;
  bool has_head_ = false;
  uint32_t phases_ = 0;  // bit per Phase whose name was written
  std::unordered_map<uint64_t, uint64_t> layers_;
  std::unordered_map<uint64_t, uint64_t> engines_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PERFETTO_SEQUENCE_H_
