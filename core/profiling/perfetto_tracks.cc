#include "core/profiling/perfetto_tracks.h"

#include <unistd.h>

#include <functional>
#include <utility>

#include "core/profiling/clock.h"
#include "core/profiling/process_info.h"
#include "core/profiling/utf8.h"

namespace trtscope::profiling {
namespace {

// The sequence of descriptors and clocks, which hold for all.
constexpr uint32_t kDescriptors = 1;

/// One to one, and all bits depend on all (splitmix64's last step).
uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void AppendClocks(ProtoWriter& writer, const ClockReadings& now) {
  const std::pair<uint32_t, int64_t> clocks[] = {{pf::kMonotonic, now.monotonic_ns},
                                                 {pf::kRealtime, now.realtime_ns},
                                                 {pf::kBoottime, now.boottime_ns}};
  writer.Uint(pf::kSequenceId, kDescriptors);
  writer.Uint(pf::kTimestamp, static_cast<uint64_t>(now.monotonic_ns));
  writer.Uint(pf::kTimestampClockId, pf::kMonotonic);
  writer.Message(pf::kClockSnapshot, [&] {
    for (const auto& [clock, ns] : clocks) {
      writer.Message(pf::kClock, [&] {
        writer.Uint(pf::kClockId, clock);
        writer.Uint(pf::kClockTime, static_cast<uint64_t>(ns));
      });
    }
    // Viewers show the same times as the JSON traces have.
    writer.Uint(pf::kPrimaryClock, pf::kMonotonic);
  });
}

}  // namespace

// Ids differ within the file because Mix is one to one, and from those of other processes, whose
// files may be merged with this one, as random numbers do.
uint64_t PerfettoTracks::NewTrackId() { return Mix(seed_ + ++tracks_); }

uint64_t PerfettoTracks::FlowId(uint32_t engine, uint64_t call) const {
  return Mix(~seed_ ^ Mix(uint64_t{engine} << 48 ^ call));
}

Status PerfettoTracks::Open(const std::string& path) {
  const ClockReadings clocks = ReadClocks();
  pid_ = static_cast<int>(::getpid());
  seed_ = Mix(static_cast<uint64_t>(clocks.realtime_ns) ^
              Mix(std::hash<std::string>()(HostName()) + static_cast<uint64_t>(pid_)));
  process_ = NewTrackId();
  last_sequence_ = kDescriptors;
  const auto process = [&](ProtoWriter& writer) {
    writer.Uint(pf::kSequenceId, kDescriptors);
    writer.Uint(pf::kSequenceFlags, pf::kStateCleared);
    writer.Uint(pf::kFirstPacketOnSequence, 1);
    writer.Message(pf::kTrackDescriptor, [&] {
      writer.Uint(pf::kTrackUuid, process_);
      writer.Message(pf::kTrackProcess, [&] {
        writer.Uint(pf::kProcessPid, static_cast<uint64_t>(pid_));
        writer.Bytes(pf::kProcessName, ValidUtf8(ProcessName(), kMaxNameBytes));
      });
    });
  };
  // In one piece: a trace without clocks cannot be laid beside others.
  return file_.Open(path, process, [&](ProtoWriter& writer) { AppendClocks(writer, clocks); });
}

void PerfettoTracks::WriteClocks() {
  const ClockReadings now = ReadClocks();
  file_.Append([&](ProtoWriter& writer) { AppendClocks(writer, now); });
}

template <typename Fill>
uint64_t PerfettoTracks::Add(uint64_t parent, std::string_view name, Fill fill) {
  const uint64_t id = NewTrackId();
  file_.Append([&](ProtoWriter& writer) {
    writer.Uint(pf::kSequenceId, kDescriptors);
    writer.Message(pf::kTrackDescriptor, [&] {
      writer.Uint(pf::kTrackUuid, id);
      writer.Uint(pf::kTrackParent, parent);
      if (!name.empty()) writer.Bytes(pf::kTrackName, ValidUtf8(name, kMaxNameBytes));
      fill(writer);
    });
  });
  return id;
}

uint64_t PerfettoTracks::AddThread(int tid, std::string_view name) {
  return Add(process_, {}, [&](ProtoWriter& writer) {
    writer.Message(pf::kTrackThread, [&] {
      writer.Uint(pf::kThreadPid, static_cast<uint64_t>(pid_));
      writer.Uint(pf::kThreadTid, static_cast<uint64_t>(tid));
      writer.Bytes(pf::kThreadName, ValidUtf8(name, kMaxNameBytes));
    });
  });
}

uint64_t PerfettoTracks::AddTrack(uint64_t parent, std::string_view name,
                                  std::string_view description) {
  return Add(parent, name, [&](ProtoWriter& writer) {
    if (description.empty()) return;
    writer.Bytes(pf::kTrackDescription, ValidUtf8(description, kMaxNameBytes));
  });
}

uint64_t PerfettoTracks::AddCounter(uint64_t parent, std::string_view name, pf::CounterUnit unit) {
  return Add(parent, name, [&](ProtoWriter& writer) {
    writer.Message(pf::kTrackCounter, [&] { writer.Uint(pf::kCounterUnit, unit); });
  });
}

}  // namespace trtscope::profiling
