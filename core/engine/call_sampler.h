#ifndef TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_
#define TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_

#include <algorithm>
#include <cstdint>
#include <utility>

namespace trtscope::engine {

/// Chooses the calls that are measured on the device, where measuring makes a call slower: one call
/// in N.  N is given, or kept so that measuring adds at most a fortieth to the host time of all
/// calls together: spans and layers, each with a sampler of its own, add a twentieth at most.
/// Externally synchronized.
class CallSampler {
 public:
  static constexpr int64_t kBudgetPerMille = 25;

  /// 0: choose by cost.  A change holds at once: what the old interval still let pass is forgotten.
  void SetInterval(uint32_t calls) {
    if (std::exchange(fixed_interval_, calls) != calls) until_next_ = 0;
  }

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
  /// What measuring added to one, then and when it was collected.  The first one does not count: a
  /// new context loads and sets up what later calls find ready.
  void ObserveAdded(int64_t ns) {
    if (std::exchange(warm_, true)) Blend(added_ns_, ns);
    if (fixed_interval_ == 0) until_next_ = interval() - 1;
  }

  int64_t plain_ns() const { return plain_ns_; }
  /// One call in this many.
  uint32_t interval() const {
    if (fixed_interval_ != 0) return fixed_interval_;
    if (added_ns_ == 0 || plain_ns_ == 0) return 2;
    // added / (N * plain) <= budget
    const int64_t budget = plain_ns_ * kBudgetPerMille;
    const int64_t calls = (added_ns_ * 1000 + budget - 1) / budget;
    return static_cast<uint32_t>(std::clamp<int64_t>(calls, 1, 1'000'000));
  }

 private:
  // Follows changes within some ten calls; a single outlier moves it by a tenth.
  static void Blend(int64_t& mean, int64_t sample) {
    sample = std::max<int64_t>(sample, 1);
    mean = mean == 0 ? sample : mean + (sample - mean) / 10;
  }

  uint32_t fixed_interval_ = 0;
  uint32_t until_next_ = 0;
  bool warm_ = false;
  int64_t plain_ns_ = 0;
  int64_t added_ns_ = 0;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_CALL_SAMPLER_H_
