#include "core/profiling/statistics.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/profiling/fork.h"
#include "core/profiling/json_text.h"

namespace trtscope::profiling {
namespace {

std::string HashText(uint64_t plan_hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(plan_hash));
  return std::string(text, 12);
}

std::string MakeId(std::string_view name, uint64_t plan_hash, uint64_t ordinal) {
  return std::string(name) + "-" + HashText(plan_hash) + "-" + std::to_string(ordinal);
}

}  // namespace

EngineStats::EngineStats(EngineIdentity identity, uint64_t ordinal, uint32_t uid)
    : identity_(std::move(identity)),
      ordinal_(ordinal),
      id_(MakeId(identity_.name, identity_.plan_hash, ordinal)),
      file_stem_(MakeId(SafeFileName(identity_.name), identity_.plan_hash, ordinal)),
      uid_(uid) {}

void EngineStats::Prepare() {
  std::lock_guard<std::mutex> lock(mu_);
  for (Histogram& phase : phases_) phase.Preallocate();
  layer_sum_.Preallocate();
}

uint32_t EngineStats::AddRow(size_t position, std::string_view name) {
  std::lock_guard<std::mutex> lock(mu_);
  const std::string& kept = names_.emplace_back(name);
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.push_back(Row{Histogram(), &kept, static_cast<uint32_t>(position)});
  row_of_.emplace(Key{position, kept}, row);
  return row;
}

uint32_t EngineStats::RowSlow(size_t position, const char* name) {
  if (position < slots_.size()) {
    Slot& slot = slots_[position];
    const std::string& previous = names_[slot.previous];
    if (previous == name) {
      std::swap(slot.row, slot.previous);
      slot.name = previous.c_str();
      return slot.row;
    }
  }
  std::string_view view = name;
  size_t at = position;
  auto found = row_of_.find(Key{at, view});
  if (found == row_of_.end() && rows_.size() + 1 >= kMaxRows) {
    view = "(layers beyond the table)";
    at = kMaxRows;
    found = row_of_.find(Key{at, view});
    if (found != row_of_.end()) return found->second;
  }
  const uint32_t row = found != row_of_.end() ? found->second : AddRow(at, view);
  if (at == kMaxRows) return row;  // shared: it must not become what a position expects
  const char* kept = names_[row].c_str();
  if (position < slots_.size()) {
    Slot& slot = slots_[position];
    slot = Slot{kept, row, slot.row};
  } else if (position == slots_.size()) {
    slots_.push_back(Slot{kept, row, row});
  }
  return row;
}

uint64_t EngineStats::ClampLocked(int64_t duration_ns) {
  // Clocks that disagree give negative durations; they count as zero, and are counted.
  if (duration_ns >= 0) [[likely]]
    return static_cast<uint64_t>(duration_ns);
  ++clamped_;
  return 0;
}

void EngineStats::AddLayersLocked(std::span<const LayerSample> layers) {
  if (layers.empty()) return;
  uint64_t sum = 0;
  for (const LayerSample& layer : layers) {
    const uint64_t duration = ClampLocked(layer.duration_ns);
    sum += duration;
    rows_[layer.row].times.Record(duration);
  }
  layer_sum_.Record(sum);
}

void EngineStats::CommitCall(const CallSample& call, std::span<const LayerSample> layers) {
  std::lock_guard<std::mutex> lock(mu_);
  ++calls_;
  if (call.failed) ++errors_;
  phases_[static_cast<size_t>(Phase::kDelegate)].Record(ClampLocked(call.total_ns));
  for (size_t i = 0; i < kPhaseCount; ++i) {
    if (call.seen >> i & 1) phases_[i].Record(ClampLocked(call.phase_ns[i]));
  }
  AddLayersLocked(layers);
}

void EngineStats::CommitLayers(std::span<const LayerSample> layers) {
  std::lock_guard<std::mutex> lock(mu_);
  AddLayersLocked(layers);
}

void EngineStats::CommitGpu(int64_t duration_ns) {
  std::lock_guard<std::mutex> lock(mu_);
  phases_[static_cast<size_t>(Phase::kGpu)].Record(ClampLocked(duration_ns));
}

EngineSnapshot EngineStats::Copy() const {
  EngineSnapshot out;
  out.identity = identity_;
  out.id = id_;
  out.dropped_spans = dropped();
  {
    std::lock_guard<std::mutex> lock(mu_);
    out.calls = calls_;
    out.errors = errors_;
    out.clamped = clamped_;
    out.phases = phases_;
    out.layer_sum = layer_sum_;
    out.layers.reserve(rows_.size());
    for (const Row& row : rows_) {
      if (row.times.count() == 0) continue;
      out.layers.push_back(LayerSnapshot{*row.name, row.position, row.times});
    }
  }
  std::stable_sort(out.layers.begin(), out.layers.end(),
                   [](const auto& a, const auto& b) { return a.position < b.position; });
  return out;
}

uint64_t EngineStats::calls() const {
  std::lock_guard<std::mutex> lock(mu_);
  return calls_;
}

std::pair<std::string, uint32_t> EngineStats::Layer(uint32_t row) const {
  std::lock_guard<std::mutex> lock(mu_);
  if (row >= rows_.size()) return {"(unknown layer)", row};
  return {*rows_[row].name, rows_[row].position};
}

LayerBaseline EngineStats::Baseline() const {
  LayerBaseline out;
  std::lock_guard<std::mutex> lock(mu_);
  out.reset_count = reset_count_;
  out.rows.reserve(rows_.size());
  for (const Row& row : rows_) out.rows.push_back(row.times);
  return out;
}

std::vector<LayerSnapshot> EngineStats::LayersSince(const LayerBaseline& baseline) const {
  std::vector<LayerSnapshot> out;
  {
    std::lock_guard<std::mutex> lock(mu_);
    const bool usable = baseline.reset_count == reset_count_;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      LayerSnapshot layer{*row.name, row.position, row.times};
      if (usable && i < baseline.rows.size()) layer.times.Subtract(baseline.rows[i]);
      if (layer.times.count() != 0) out.push_back(std::move(layer));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.position < b.position; });
  return out;
}

void EngineStats::Reset() {
  std::lock_guard<std::mutex> lock(mu_);
  calls_ = errors_ = clamped_ = 0;
  ++reset_count_;
  dropped_.store(0, std::memory_order_relaxed);
  for (Histogram& phase : phases_) phase.Reset();
  layer_sum_.Reset();
  // The rows stay: an engine in use holds their numbers.
  for (Row& row : rows_) row.times.Reset();
}

void EngineStats::Compact() {
  std::lock_guard<std::mutex> lock(mu_);
  for (Histogram& phase : phases_) phase.Compact();
  layer_sum_.Compact();
  for (Row& row : rows_) row.times.Compact();
}

void EngineStats::SetInspectorJson(std::string json) {
  auto kept = std::make_shared<const std::string>(std::move(json));
  std::lock_guard<std::mutex> lock(mu_);
  inspector_json_ = std::move(kept);
}

std::shared_ptr<const std::string> EngineStats::inspector_json() const {
  std::lock_guard<std::mutex> lock(mu_);
  return inspector_json_;
}

EngineTable& EngineTable::Get() {
  static EngineTable* const table = new EngineTable;
  return *table;
}

std::shared_ptr<EngineStats> EngineTable::Add(EngineIdentity identity) {
  std::lock_guard<std::mutex> lock(mu_);
  const uint64_t ordinal = next_ordinal_[{identity.name, identity.plan_hash}]++;
  return engines_.emplace_back(
      std::make_shared<EngineStats>(std::move(identity), ordinal, next_uid_++));
}

void EngineTable::Release(const std::shared_ptr<EngineStats>& stats) {
  std::lock_guard<std::mutex> lock(mu_);
  stats->alive = false;
  if (stats->calls() == 0) {
    std::erase(engines_, stats);
  } else {
    stats->Compact();
  }
}

std::vector<std::shared_ptr<EngineStats>> EngineTable::All() const {
  std::lock_guard<std::mutex> lock(mu_);
  return engines_;
}

void EngineTable::Reset() {
  std::lock_guard<std::mutex> lock(mu_);
  std::erase_if(engines_, [](const auto& stats) { return !stats->alive; });
  for (const auto& stats : engines_) stats->Reset();
}

void EngineTable::RestartInChild() {
  // The parent's statistics may have been in the middle of anything, so they are left alone,
  // never destroyed; only what is constant in them is read.
  const auto parents = std::exchange(engines_, {});
  abandoned_.insert(abandoned_.end(), parents.begin(), parents.end());
  for (const auto& old : parents) {
    if (!old->alive) continue;
    old->successor = std::make_shared<EngineStats>(old->identity(), old->ordinal(), old->uid());
    engines_.push_back(old->successor);
  }
}

}  // namespace trtscope::profiling
