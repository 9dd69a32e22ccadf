#include "core/profiling/histogram.h"

#include <algorithm>
#include <cmath>

namespace trtscope::profiling {

Histogram& Histogram::operator=(const Histogram& other) {
  if (this == &other) return *this;
  count_ = other.count_;
  total_ = other.total_;
  min_ = other.min_;
  max_ = other.max_;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b] = other.blocks_[b] ? std::make_unique<Block>(*other.blocks_[b]) : nullptr;
  }
  return *this;
}

void Histogram::AddBlock(int block) {
  blocks_[static_cast<size_t>(block)] = std::make_unique<Block>();  // all zero
}

void Histogram::Preallocate() {
  for (int b = 0; b <= kPreallocated; ++b) {
    if (blocks_[static_cast<size_t>(b)] == nullptr) AddBlock(b);
  }
}

uint64_t Histogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const double exact_rank = std::ceil(percent / 100.0 * static_cast<double>(count_));
  // A double of a count above 2^53 may round up past the count.
  uint64_t rank = exact_rank < 1 ? 1 : static_cast<uint64_t>(exact_rank);
  rank = std::min(rank, count_);
  uint64_t seen = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const auto& block = blocks_[static_cast<size_t>(b)];
    if (block == nullptr) continue;
    for (size_t i = 0; i < kSubCount; ++i) {
      seen += (*block)[i];
      if (seen < rank) continue;
      const uint64_t middle = LowestIn(b, i) + (WidthOf(b) - 1) / 2;
      return std::clamp(middle, min_, max_);
    }
  }
  return max_;
}

void Histogram::Merge(const Histogram& other) {
  count_ += other.count_;
  if (__builtin_add_overflow(total_, other.total_, &total_)) total_ = ~uint64_t{0};
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  for (int b = 0; b < kBlocks; ++b) {
    const auto& from = other.blocks_[static_cast<size_t>(b)];
    if (from == nullptr) continue;
    if (blocks_[static_cast<size_t>(b)] == nullptr) AddBlock(b);
    Block& to = *blocks_[static_cast<size_t>(b)];
    for (size_t i = 0; i < kSubCount; ++i) to[i] += (*from)[i];
  }
}

void Histogram::Subtract(const Histogram& earlier) {
  if (earlier.count_ == 0) return;
  const uint64_t low = min_;
  const uint64_t high = max_;
  count_ -= earlier.count_;
  total_ -= earlier.total_;
  min_ = ~uint64_t{0};
  max_ = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const auto& block = blocks_[static_cast<size_t>(b)];
    if (block == nullptr) continue;
    const auto& old = earlier.blocks_[static_cast<size_t>(b)];
    for (size_t i = 0; i < kSubCount; ++i) {
      if (old != nullptr) (*block)[i] -= (*old)[i];
      if ((*block)[i] == 0) continue;
      min_ = std::min(min_, std::max(low, LowestIn(b, i)));
      max_ = std::max(max_, std::min(high, LowestIn(b, i) + WidthOf(b) - 1));
    }
  }
}

void Histogram::Reset() {
  count_ = 0;
  total_ = 0;
  min_ = ~uint64_t{0};
  max_ = 0;
  for (auto& block : blocks_) {
    if (block != nullptr) block->fill(0);
  }
}

void Histogram::Compact() {
  for (auto& block : blocks_) {
    if (block == nullptr) continue;
    const auto nonzero = [](uint64_t n) { return n != 0; };
    if (std::none_of(block->begin(), block->end(), nonzero)) block.reset();
  }
}

}  // namespace trtscope::profiling
