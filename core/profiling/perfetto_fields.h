#ifndef TRTSCOPE_CORE_PROFILING_PERFETTO_FIELDS_H_
#define TRTSCOPE_CORE_PROFILING_PERFETTO_FIELDS_H_

// The fields of Perfetto's protos/perfetto/trace/*.proto that we write, by their numbers there.
// //tests/perfetto reads what is written with Perfetto's own generated classes.

#include <cstdint>

namespace trtscope::profiling::pf {

enum TraceField : uint32_t { kPacket = 1 };

enum PacketField : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTimestampClockId = 58,
  kPacketDefaults = 59,
  kTrackDescriptor = 60,
  kFirstPacketOnSequence = 87,
  kFilling = 1023,  // no field of Perfetto's: readers skip it
};
enum SequenceFlag : uint32_t { kStateCleared = 1, kNeedsState = 2 };

enum DefaultsField : uint32_t { kDefaultTrackEvent = 11, kDefaultClockId = 58 };
enum EventDefaultsField : uint32_t { kDefaultTrackUuid = 11 };

enum ClockSnapshotField : uint32_t { kClock = 1, kPrimaryClock = 2 };
enum ClockField : uint32_t { kClockId = 1, kClockTime = 2, kClockIsIncremental = 3 };
enum ClockId : uint32_t {
  kRealtime = 1,
  kMonotonic = 3,
  kBoottime = 6,
  kIncremental = 64,  // the first of those that belong to a sequence
};

enum TrackField : uint32_t {
  kTrackUuid = 1,
  kTrackName = 2,
  kTrackProcess = 3,
  kTrackThread = 4,
  kTrackParent = 5,
  kTrackCounter = 8,
  kTrackDescription = 14,
};
enum ProcessField : uint32_t { kProcessPid = 1, kProcessName = 6 };
enum ThreadField : uint32_t { kThreadPid = 1, kThreadTid = 2, kThreadName = 5 };
enum CounterField : uint32_t { kCounterUnit = 3 };
enum CounterUnit : uint32_t { kUnitCount = 2, kUnitBytes = 3 };

enum EventField : uint32_t {
  kEventCategoryIid = 3,
  kEventAnnotation = 4,
  kEventType = 9,
  kEventNameIid = 10,
  kEventCounterValue = 30,
  kEventFlow = 47,
  kEventFlowEnd = 48,
};
enum EventType : uint32_t { kSliceBegin = 1, kSliceEnd = 2, kCounterValue = 4 };

enum AnnotationField : uint32_t {
  kAnnotationNameIid = 1,
  kAnnotationBool = 2,
  kAnnotationUint = 3,
  kAnnotationStringIid = 17,
};

enum InternedField : uint32_t {
  kCategories = 1,
  kEventNames = 2,
  kAnnotationNames = 3,
  kAnnotationStrings = 29,
};
enum InternedEntryField : uint32_t { kIid = 1, kText = 2 };

}  // namespace trtscope::profiling::pf

#endif  // TRTSCOPE_CORE_PROFILING_PERFETTO_FIELDS_H_
