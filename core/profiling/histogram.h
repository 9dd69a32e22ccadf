#ifndef TRTSCOPE_CORE_PROFILING_HISTOGRAM_H_
#define TRTSCOPE_CORE_PROFILING_HISTOGRAM_H_

// Histogram: a distribution of durations in bounded memory.
//
// Log-linear: an octave [2^k, 2^(k+1)) is cut into 32 equal buckets, and values below 32 have
// one each.  A bucket is at most 1/32 of its value wide and stands for its middle, so a
// percentile is off by at most 1.6 %.  Count, total, minimum and maximum are exact integers.
//
// Threads: none of its own; the owner locks.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trtscope::profiling {

class Histogram {
 public:
  Histogram() = default;
  Histogram(const Histogram& other) { *this = other; }
  Histogram& operator=(const Histogram& other);
  Histogram(Histogram&&) = default;
  Histogram& operator=(Histogram&&) = default;

  /// Allocates every octave up to 2^42 ns (73 minutes), so that Record of less never allocates.
  void Preallocate();

  void Record(uint64_t value) {
    ++count_;
    if (__builtin_add_overflow(total_, value, &total_)) [[unlikely]]
      total_ = ~uint64_t{0};
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    const int block = BlockOf(value);
    if (blocks_[static_cast<size_t>(block)] == nullptr) [[unlikely]]
      AddBlock(block);
    ++(*blocks_[static_cast<size_t>(block)])[IndexIn(block, value)];
  }

  uint64_t count() const { return count_; }
  uint64_t total() const { return total_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  /// The value below or at which `percent` of the values lie (nearest rank); 0 when empty.
  uint64_t Percentile(double percent) const;

  /// Adds what `other` holds.
  void Merge(const Histogram& other);
  /// Takes away `earlier`, a copy of this one made before: what is left was recorded since.
  /// The minimum and maximum are then those of the buckets.
  void Subtract(const Histogram& earlier);
  /// Sets every count to zero; keeps the memory.
  void Reset();
  /// Frees the octaves that hold nothing.
  void Compact();

 private:
  static constexpr int kSubBits = 5;
  static constexpr size_t kSubCount = size_t{1} << kSubBits;
  // Block 0 holds 0..31, block b >= 1 holds [2^(b+4), 2^(b+5)) in steps of 2^(b-1).
  static constexpr int kBlocks = 64 - kSubBits + 1;
  static constexpr int kPreallocated = 42 - kSubBits + 1;
  using Block = std::array<uint64_t, kSubCount>;

  static int BlockOf(uint64_t value) {
    const int width = std::bit_width(value);
    return width <= kSubBits ? 0 : width - kSubBits;
  }
  static size_t IndexIn(int block, uint64_t value) {
    return static_cast<size_t>(block == 0 ? value : (value >> (block - 1)) & (kSubCount - 1));
  }
  static uint64_t LowestIn(int block, size_t index) {
    return block == 0 ? index : (uint64_t{kSubCount} + index) << (block - 1);
  }
  static uint64_t WidthOf(int block) { return block == 0 ? 1 : uint64_t{1} << (block - 1); }
  void AddBlock(int block);

  uint64_t count_ = 0;
  uint64_t total_ = 0;
  uint64_t min_ = ~uint64_t{0};
  uint64_t max_ = 0;
  std::array<std::unique_ptr<Block>, kBlocks> blocks_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_HISTOGRAM_H_
