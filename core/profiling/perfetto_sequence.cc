#include "core/profiling/perfetto_sequence.h"

#include <string>

#include "core/profiling/utf8.h"

namespace trtscope::profiling {
namespace {

// Ids in the tables that every sequence begins with.
enum CategoryIid : uint32_t { kPhaseIid = 1, kLayerIid, kEstimatedIid };
enum AnnotationIid : uint32_t { kEngineIid = 1, kCallIid, kFailedIid };

void AppendEntry(ProtoWriter& writer, uint32_t table, uint64_t iid, std::string_view text) {
  writer.Message(table, [&] {
    writer.Uint(pf::kIid, iid);
    writer.Bytes(pf::kText, text);
  });
}

}  // namespace

void PerfettoSequence::WriteHead() {
  has_head_ = true;
  file_.Append([&](ProtoWriter& writer) {
    writer.Uint(pf::kSequenceId, id_);
    writer.Uint(pf::kSequenceFlags, pf::kStateCleared);
    writer.Uint(pf::kFirstPacketOnSequence, 1);
    writer.Message(pf::kPacketDefaults, [&] {
      writer.Uint(pf::kDefaultClockId, pf::kIncremental);
      writer.Message(pf::kDefaultTrackEvent, [&] { writer.Uint(pf::kDefaultTrackUuid, track_); });
    });
    // From here on a timestamp says how much later than the one before it is.
    writer.Message(pf::kClockSnapshot, [&] {
      for (const uint32_t clock : {pf::kMonotonic, pf::kIncremental}) {
        writer.Message(pf::kClock, [&] {
          writer.Uint(pf::kClockId, clock);
          writer.Uint(pf::kClockTime, static_cast<uint64_t>(last_ns_));
          if (clock == pf::kIncremental) writer.Uint(pf::kClockIsIncremental, 1);
        });
      }
    });
    // Without it the snapshot's own time would be read on the clock that it introduces.
    writer.Uint(pf::kTimestampClockId, pf::kMonotonic);
    writer.Uint(pf::kTimestamp, static_cast<uint64_t>(last_ns_));
    writer.Message(pf::kInternedData, [&] {
      AppendEntry(writer, pf::kCategories, kPhaseIid, kPhaseCategory);
      AppendEntry(writer, pf::kCategories, kLayerIid, kLayerCategory);
      AppendEntry(writer, pf::kCategories, kEstimatedIid, "estimated");
      AppendEntry(writer, pf::kAnnotationNames, kEngineIid, "engine");
      AppendEntry(writer, pf::kAnnotationNames, kCallIid, "call");
      AppendEntry(writer, pf::kAnnotationNames, kFailedIid, "failed");
    });
  });
}

void PerfettoSequence::AppendHeader(ProtoWriter& writer) {
  writer.Uint(pf::kSequenceId, id_);
  writer.Uint(pf::kSequenceFlags, pf::kNeedsState);
}

void PerfettoSequence::AppendTime(ProtoWriter& writer, int64_t ns) {
  if (ns >= last_ns_) [[likely]] {
    writer.Uint(pf::kTimestamp, static_cast<uint64_t>(ns - last_ns_));
    last_ns_ = ns;
    return;
  }
  // Out of order, such as a call inside another one, which is known first.
  writer.Uint(pf::kTimestamp, static_cast<uint64_t>(ns));
  writer.Uint(pf::kTimestampClockId, pf::kMonotonic);
}

void PerfettoSequence::Intern(uint32_t table, uint64_t iid, std::string_view text) {
  if (!has_head_) WriteHead();
  const std::string valid = ValidUtf8(text, kMaxNameBytes);
  file_.Append([&](ProtoWriter& writer) {
    AppendHeader(writer);
    writer.Message(pf::kInternedData, [&] { AppendEntry(writer, table, iid, valid); });
  });
}

uint64_t PerfettoSequence::PhaseName(Phase phase) {
  const uint32_t index = static_cast<uint32_t>(phase);
  const uint64_t iid = 1 + index;
  if ((phases_ >> index & 1) == 0) {
    phases_ |= 1u << index;
    Intern(pf::kEventNames, iid, Info(phase).event);
  }
  return iid;
}

uint64_t PerfettoSequence::LayerName(const EngineStats& stats, uint32_t row) {
  const uint64_t next = 1 + kPhaseCount + layers_.size();
  const auto [found, added] = layers_.try_emplace(uint64_t{stats.uid()} << 32 | row, next);
  if (added) Intern(pf::kEventNames, next, stats.Layer(row).first);
  return found->second;
}

uint64_t PerfettoSequence::EngineName(const EngineStats& stats) {
  const auto [found, added] = engines_.try_emplace(stats.uid(), 1 + engines_.size());
  if (added) Intern(pf::kAnnotationStrings, found->second, stats.id());
  return found->second;
}

void PerfettoSequence::AppendBegin(ProtoWriter& writer, const PerfettoSlice& slice) {
  AppendHeader(writer);
  AppendTime(writer, slice.start_ns);
  writer.Message(pf::kTrackEvent, [&] {
    writer.Uint(pf::kEventType, pf::kSliceBegin);
    writer.Uint(pf::kEventNameIid, slice.name);
    if (slice.category != PerfettoCategory::kNone) {
      const bool phase = slice.category == PerfettoCategory::kPhase;
      writer.Uint(pf::kEventCategoryIid, phase ? kPhaseIid : kLayerIid);
    }
    if (slice.estimated) writer.Uint(pf::kEventCategoryIid, kEstimatedIid);
    const auto annotate = [&](uint32_t name, uint32_t field, uint64_t value) {
      if (value == 0) return;
      writer.Message(pf::kEventAnnotation, [&] {
        writer.Uint(pf::kAnnotationNameIid, name);
        writer.Uint(field, value);
      });
    };
    annotate(kEngineIid, pf::kAnnotationStringIid, slice.engine);
    annotate(kCallIid, pf::kAnnotationUint, slice.call);
    annotate(kFailedIid, pf::kAnnotationBool, slice.failed ? 1 : 0);
    if (slice.flow != 0) {
      writer.Fixed64(slice.flow_ends ? pf::kEventFlowEnd : pf::kEventFlow, slice.flow);
    }
  });
}

void PerfettoSequence::AppendEnd(ProtoWriter& writer, int64_t ns) {
  AppendHeader(writer);
  AppendTime(writer, ns);
  writer.Message(pf::kTrackEvent, [&] { writer.Uint(pf::kEventType, pf::kSliceEnd); });
}

void PerfettoSequence::Begin(const PerfettoSlice& slice) {
  if (!has_head_) WriteHead();
  file_.Append([&](ProtoWriter& writer) { AppendBegin(writer, slice); });
}

void PerfettoSequence::End(int64_t ns) {
  file_.Append([&](ProtoWriter& writer) { AppendEnd(writer, ns); });
}

void PerfettoSequence::Whole(const PerfettoSlice& slice, int64_t end_ns) {
  if (!has_head_) WriteHead();
  file_.Append([&](ProtoWriter& writer) { AppendBegin(writer, slice); },
               [&](ProtoWriter& writer) { AppendEnd(writer, end_ns); });
}

void PerfettoSequence::Count(int64_t ns, uint64_t value) {
  if (!has_head_) WriteHead();
  file_.Append([&](ProtoWriter& writer) {
    AppendHeader(writer);
    AppendTime(writer, ns);
    writer.Message(pf::kTrackEvent, [&] {
      writer.Uint(pf::kEventType, pf::kCounterValue);
      writer.Uint(pf::kEventCounterValue, value);
    });
  });
}

}  // namespace trtscope::profiling
