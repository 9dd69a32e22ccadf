#include "core/engine/tensorrt/callbacks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "core/engine/tensorrt/log.h"

namespace trtscope::engine::tensorrt {
namespace {

using abi::Family;
using abi::Role;

/// An Itanium vtable: a vptr points behind its two header words.
struct VTable {
  static constexpr size_t kHeader = 2;  // offset to top, type information
  static constexpr size_t kMaxSlots = 8;
  void* words[kHeader + kMaxSlots] = {};
  void* const* vptr() const { return words + kHeader; }
};

struct Entry {
  Role role;
  void* function;
};

template <typename Function>
Entry At(Role role, Function* function) {
  return {role, reinterpret_cast<void*>(function)};
}

VTable Build(const abi::CallbackLayout& layout, std::span<const Entry> entries) {
  VTable table;
  int filled = 0;
  for (const Entry& entry : entries) {
    const int slot = layout.slot(entry.role);
    if (slot < 0) continue;  // a slot of other families
    table.words[VTable::kHeader + static_cast<size_t>(slot)] = entry.function;
    ++filled;
  }
  if (filled != layout.size || layout.size > static_cast<int>(VTable::kMaxSlots)) {
    std::fprintf(stderr, "trtscope: a callback interface has slots that nothing implements\n");
    std::abort();
  }
  return table;
}

using Tables = std::array<VTable, abi::kFamilyCount>;

Tables BuildAll(const abi::CallbackLayout (&layouts)[abi::kFamilyCount],
                std::span<const Entry> entries32, std::span<const Entry> entries64) {
  Tables tables;
  for (size_t f = 0; f < abi::kFamilyCount; ++f) {
    const bool dims32 = abi::Layout(static_cast<Family>(f), 0).dims32();
    tables[f] = Build(layouts[f], dims32 ? entries32 : entries64);
  }
  return tables;
}

// --- what every interface has ---

void Destroy(void*) {}  // the objects are ours to delete, never TensorRT's

int32_t ApiLanguage(void*) { return 0; }  // C++

// --- ILogger ---

abi::InterfaceInfo LoggerInfo(void*) { return {"ILogger", 1, 0}; }

void Log(void* self, int32_t severity, const char* message) {
  const auto* logger = static_cast<LoggerCallback*>(self);
  HandleLog(logger->label(), severity, message != nullptr ? message : "");
}

void* const* LoggerVptr(Family family) {
  static const Entry entries[] = {
      At(Role::kGetApiLanguage, &ApiLanguage),
      At(Role::kGetInterfaceInfo, &LoggerInfo),
      At(Role::kCompleteDestructor, &Destroy),
      At(Role::kDeletingDestructor, &Destroy),
      At(Role::kLog, &Log),
  };
  static const Tables tables = BuildAll(abi::kILogger, entries, entries);
  return tables[static_cast<size_t>(family)].vptr();
}

// --- IProfiler ---

abi::InterfaceInfo ProfilerInfo(void*) { return {"IProfiler", 1, 0}; }

void ReportLayerTime(void* self, const char* layer, float milliseconds) {
  profiling::LayerSink* sink = static_cast<ProfilerCallback*>(self)->sink();
  if (sink == nullptr) return;
  // Durations become exact integers here; a negative or infinite one would poison the totals.
  const double ns = std::isfinite(milliseconds) ? static_cast<double>(milliseconds) * 1e6 : 0.0;
  sink->OnLayer(layer != nullptr ? layer : "", -1, std::llround(std::clamp(ns, 0.0, 9e18)));
}

void* const* ProfilerVptr(Family family) {
  static const Entry entries[] = {
      At(Role::kGetApiLanguage, &ApiLanguage),      At(Role::kGetInterfaceInfo, &ProfilerInfo),
      At(Role::kCompleteDestructor, &Destroy),      At(Role::kDeletingDestructor, &Destroy),
      At(Role::kReportLayerTime, &ReportLayerTime),
  };
  static const Tables tables = BuildAll(abi::kIProfiler, entries, entries);
  return tables[static_cast<size_t>(family)].vptr();
}

// --- IOutputAllocator ---

abi::InterfaceInfo AllocatorInfo(void*) { return {"IOutputAllocator", 1, 0}; }

int32_t AllocatorVersion(void*) { return 1; }  // 8.6

void* Reallocate(void* self, const char*, void*, uint64_t size, uint64_t alignment) {
  const auto* callback = static_cast<AllocatorCallback*>(self);
  void* data = callback->allocator()->Allocate(callback->index(), std::max<uint64_t>(size, 1));
  if (alignment > 1 && reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    HandleLog(
        "trtscope", static_cast<int32_t>(abi::Severity::kERROR),
        "the memory given to an output is not aligned to " + std::to_string(alignment) + " octets");
    return nullptr;
  }
  return data;
}

void* ReallocateAsync(void* self, const char* name, void* current, uint64_t size,
                      uint64_t alignment, void* /*stream*/) {
  return Reallocate(self, name, current, size, alignment);
}

template <typename Wide>
void NotifyShape(void* self, const char*, const Wide* dims) {
  const auto* callback = static_cast<AllocatorCallback*>(self);
  callback->allocator()->OnShape(callback->index(), abi::FromAbi(*dims));
}

template <typename Wide>
std::array<Entry, 8> AllocatorEntries() {
  return {At(Role::kGetApiLanguage, &ApiLanguage),
          At(Role::kGetInterfaceInfo, &AllocatorInfo),
          At(Role::kGetInterfaceVersion, &AllocatorVersion),
          At(Role::kCompleteDestructor, &Destroy),
          At(Role::kDeletingDestructor, &Destroy),
          At(Role::kReallocateOutput, &Reallocate),
          At(Role::kReallocateOutputAsync, &ReallocateAsync),
          At(Role::kNotifyShape, &NotifyShape<Wide>)};
}

void* const* AllocatorVptr(Family family) {
  static const Tables tables = BuildAll(abi::kIOutputAllocator, AllocatorEntries<abi::Dims32>(),
                                        AllocatorEntries<abi::Dims64>());
  return tables[static_cast<size_t>(family)].vptr();
}

}  // namespace

LoggerCallback::LoggerCallback(Family family, std::string label)
    : vptr_(LoggerVptr(family)), label_(std::move(label)) {}

ProfilerCallback::ProfilerCallback(Family family) : vptr_(ProfilerVptr(family)) {}

AllocatorCallback::AllocatorCallback(Family family, int index, OutputAllocator* allocator)
    : vptr_(AllocatorVptr(family)), index_(index), allocator_(allocator) {}

}  // namespace trtscope::engine::tensorrt
