#ifndef TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_
#define TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_

#include <algorithm>
#include <cstdint>
#include <utility>

namespace trtscope::engine {

/// Chooses the calls that are measured on the device, where measuring makes a call slower: one call
/// in N.  N is given, or kept so that measuring adds at most a twentieth to the host time of all
/// calls together.  Externally synchronized.
class CallSampler {
 public:
  static constexpr int64_t kBudgetPercent = 5;

  /// 0: choose by cost.
  void SetInterval(uint32_t calls) { fixed_interval_ = calls; }

  /// Whether the next call is one.  The first is; the second never, so that there is a plain call
  /// to compare with.
  bool Take() {
    if (until_next_ > 0) {
      --until_next_;
      return false;
    }
    until_next_ = interval() - 1;
    return true;
  }

  /// Host time of a call that was not measured.
  void ObservePlain(int64_t host_ns) { Blend(plain_ns_, host_ns); }
  /// Host time of one that was, with what it cost to collect later.  The first one does
  /// not count: a new context loads and sets up what later calls find ready.
  void ObserveMeasured(int64_t host_ns) {
    if (std::exchange(warm_, true)) Blend(measured_ns_, host_ns);
    if (fixed_interval_ == 0) until_next_ = interval() - 1;
  }

  /// One call in this many.
  uint32_t interval() const {
    if (fixed_interval_ != 0) return fixed_interval_;
    if (measured_ns_ == 0 || plain_ns_ == 0) return 2;
    const int64_t added = measured_ns_ - plain_ns_;
    if (added <= 0) return 1;
    // added / (N * plain) <= budget
    const int64_t calls =
        (added * 100 + plain_ns_ * kBudgetPercent - 1) / (plain_ns_ * kBudgetPercent);
    return static_cast<uint32_t>(std::clamp<int64_t>(calls, 1, 1'000'000));
  }

 private:
  // Follows changes within some ten calls; a single outlier moves it by a tenth.
  static void Blend(int64_t& mean, int64_t sample) {
    mean = mean == 0 ? std::max<int64_t>(sample, 1) : mean + (sample - mean) / 10;
  }

  uint32_t fixed_interval_ = 0;
  uint32_t until_next_ = 0;
  bool warm_ = false;
  int64_t plain_ns_ = 0;
  int64_t measured_ns_ = 0;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_
