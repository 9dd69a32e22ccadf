#ifndef TRTSCOPE_CORE_PROFILING_STATISTICS_H_
#define TRTSCOPE_CORE_PROFILING_STATISTICS_H_

// EngineStats: everything counted about one engine.  EngineTable: all of them in this process.
//
// Threads: a call is committed under a mutex of the statistics' own, which readers of the tables
// share; it is held as long as it takes to add one call or to copy the counters.  What is marked
// (engine mutex) is called under the engine's mutex, by one thread at a time.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/profiling/engine_profile.h"
#include "core/profiling/histogram.h"
#include "core/profiling/names.h"

namespace trtscope::profiling {

/// One layer of one call.
struct LayerSample {
  int64_t start_ns;
  int64_t duration_ns;
  uint32_t row;    // EngineStats::RowAt
  bool estimated;  // the start is where the layer fits, not a measurement
};

/// One call, ready to be added.
struct CallSample {
  int64_t total_ns = 0;
  std::array<int64_t, kPhaseCount> phase_ns{};  // sums over the call, where `seen` says so
  uint32_t seen = 0;                            // bit per Phase
  bool failed = false;
};

struct LayerSnapshot {
  std::string name;
  uint32_t position = 0;
  Histogram times;
};

/// A copy of the counters at one moment between two calls.
struct EngineSnapshot {
  EngineIdentity identity;
  std::string id;
  uint64_t calls = 0;
  uint64_t errors = 0;
  uint64_t dropped_spans = 0;
  uint64_t clamped = 0;  // negative durations, counted as zero
  std::array<Histogram, kPhaseCount> phases;
  Histogram layer_sum;                // per call with layers: the sum of their times
  std::vector<LayerSnapshot> layers;  // by position, then by first appearance
};

/// What the layers had counted when a trace began.
struct LayerBaseline {
  uint64_t reset_count = 0;
  std::vector<Histogram> rows;
};

class EngineStats {
 public:
  EngineStats(EngineIdentity identity, uint64_t ordinal, uint32_t uid);
  EngineStats(const EngineStats&) = delete;
  EngineStats& operator=(const EngineStats&) = delete;

  const EngineIdentity& identity() const { return identity_; }
  const std::string& id() const { return id_; }
  /// `<safe name>-<hash>-<ordinal>`: the id as the start of a file name.
  const std::string& file_stem() const { return file_stem_; }
  uint64_t ordinal() const { return ordinal_; }
  /// Distinguishes engines within the process; small and dense.
  uint32_t uid() const { return uid_; }

  /// Allocates the histograms of phases, so that calls do not.
  void Prepare();

  /// The row of the layer called `name` at `position`.  In steady state one string comparison.
  /// (engine mutex)
  uint32_t RowAt(size_t position, const char* name) {
    if (position < slots_.size()) [[likely]] {
      const Slot& slot = slots_[position];
      if (std::strcmp(slot.name, name) == 0) [[likely]]
        return slot.row;
    }
    return RowSlow(position, name);
  }
  size_t expected_layers() const { return slots_.size(); }

  void CommitCall(const CallSample& call, std::span<const LayerSample> layers);
  void CommitLayers(std::span<const LayerSample> layers);
  void CommitGpu(int64_t duration_ns);
  void AddDropped(uint64_t spans) { dropped_.fetch_add(spans, std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// The engine's scratch memory; 0 as long as nobody told.
  void SetWorkspaceBytes(uint64_t bytes) { workspace_.store(bytes, std::memory_order_relaxed); }
  uint64_t workspace_bytes() const { return workspace_.load(std::memory_order_relaxed); }

  EngineSnapshot Copy() const;
  uint64_t calls() const;
  /// Name and position of a layer row.
  std::pair<std::string, uint32_t> Layer(uint32_t row) const;
  LayerBaseline Baseline() const;
  /// The layers measured since `baseline` (or since a reset after it).
  std::vector<LayerSnapshot> LayersSince(const LayerBaseline& baseline) const;
  void Reset();
  /// Frees histogram memory that holds no counts: the engine is gone.
  void Compact();

  void SetInspectorJson(std::string json);
  /// Null when there is none.
  std::shared_ptr<const std::string> inspector_json() const;

  /// False once the engine was destroyed.  (guarded by the table's mutex)
  bool alive = true;
  /// In a forked child: what replaces these statistics of the parent.
  std::shared_ptr<EngineStats> successor;

 private:
  // A changing layer list is kept in rows by (position, name).  The slot of a position names the
  // row seen there last and the one before it, so that two optimization profiles in turn cost a
  // comparison each; more of them cost one hash lookup a layer.
  struct Slot {
    const char* name;
    uint32_t row;
    uint32_t previous;
  };
  struct Row {
    Histogram times;
    const std::string* name;
    uint32_t position;
  };
  struct Key {
    size_t position;
    std::string_view name;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.name) ^ (key.position * 0x9e3779b97f4a7c15u);
    }
  };
  /// Layers past this many rows share one: a plan whose names change with every call must not
  /// fill the memory.
  static constexpr size_t kMaxRows = 32'768;

  uint32_t RowSlow(size_t position, const char* name);
  uint32_t AddRow(size_t position, std::string_view name);
  void AddLayersLocked(std::span<const LayerSample> layers);
  uint64_t ClampLocked(int64_t duration_ns);

  const EngineIdentity identity_;
  const uint64_t ordinal_;
  const std::string id_;
  const std::string file_stem_;
  const uint32_t uid_;
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> workspace_{0};

  // Changed under the engine's mutex; the rows and their names also under mu_.
  std::vector<Slot> slots_;
  std::unordered_map<Key, uint32_t, KeyHash> row_of_;

  mutable std::mutex mu_;
  uint64_t calls_ = 0;
  uint64_t errors_ = 0;
  uint64_t clamped_ = 0;
  uint64_t reset_count_ = 0;
  std::array<Histogram, kPhaseCount> phases_;
  Histogram layer_sum_;
  std::vector<Row> rows_;
  std::deque<std::string> names_;  // of rows_; their addresses stay
  std::shared_ptr<const std::string> inspector_json_;
};

class EngineTable {
 public:
  /// Never destroyed.
  static EngineTable& Get();

  std::shared_ptr<EngineStats> Add(EngineIdentity identity);
  /// The engine is gone; its statistics stay if it was ever called.
  void Release(const std::shared_ptr<EngineStats>& stats);
  std::vector<std::shared_ptr<EngineStats>> All() const;
  /// Sets every counter to zero and forgets the engines that are gone.
  void Reset();

  // For the fork handlers.
  void Lock() { mu_.lock(); }
  void Unlock() { mu_.unlock(); }
  /// In the child, mutex held: gives every living engine fresh statistics.
  void RestartInChild();

 private:
  mutable std::mutex mu_;
  std::vector<std::shared_ptr<EngineStats>> engines_;
  // In a forked child: statistics of the parent, which are left as they are.
  std::vector<std::shared_ptr<EngineStats>> abandoned_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> next_ordinal_;
  uint32_t next_uid_ = 0;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_STATISTICS_H_
