#ifndef TRTSCOPE_CORE_RUNTIME_TORCH_ENGINE_H_
#define TRTSCOPE_CORE_RUNTIME_TORCH_ENGINE_H_

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/engine/executor.h"
#include "core/runtime/engine_state.h"

namespace trtscope::runtime {

/// Raises c10::Error with the status' message unless it is OK: the one place where errors as
/// values become exceptions, at the border to torch.
void ThrowIfError(const Status& status);

/// Outputs of the next call, allocated while this call's work runs on the device, so that the next
/// one starts without waiting for the allocator.  Off unless asked for: it holds memory between
/// calls.  Used under the engine's mutex.
class NextOutputs {
 public:
  void Enable(bool on);
  bool enabled() const { return enabled_; }
  /// The tensor prepared for output `i`, or an undefined one when there is none of this shape.
  at::Tensor Take(size_t i, const engine::Dims& shape);
  /// Outputs that share an input's memory (`aliased_inputs` not -1) need none.
  void Prepare(const std::vector<at::Tensor>& outputs, const std::vector<int>& aliased_inputs);

 private:
  bool enabled_ = false;
  std::vector<at::Tensor> tensors_;
};

/// torch.classes.tensorrt.Engine: an engine hidden in a package, with its state as packages hold
/// it.  Immutable but for profiling settings; methods are thread-safe.
class TorchEngine : public torch::CustomClassHolder {
 public:
  /// Loads the plan.  Raises c10::Error naming the engine and what is wrong.
  TorchEngine(const StateFields& fields, PlanEncoding encoding);

  engine::Executor& executor() { return *executor_; }
  /// Position among the executor's inputs (outputs) of the graph's i-th input (output).
  const std::vector<int>& input_order() const { return input_order_; }
  const std::vector<int>& output_order() const { return output_order_; }
  /// The graph's input whose memory the graph's i-th output is, or -1.
  int aliased_input(size_t output) const { return aliased_inputs_[output]; }
  const std::vector<int>& aliased_inputs() const { return aliased_inputs_; }
  NextOutputs& next_outputs() { return next_outputs_; }

  std::vector<std::string> Serialize() const;
  /// (field name, value) pairs, as torch.export asks of a torchbind object.
  std::vector<std::tuple<std::string, std::string>> Flatten() const;
  bool SameAs(const TorchEngine& other) const;
  const EngineState& state() const { return state_; }
  std::string engine_id() const { return executor_->id(); }
  std::string ToString() const;

  // This engine's own profiling settings: each wins over the process-wide one until reset.
  void EnableProfiling();
  void DisableProfiling();
  void SetProfileLevel(const std::string& level);
  void SetProfileFormat(const std::string& format);
  void SetProfilePathPrefix(const std::string& folder);
  std::string profile_path_prefix() const;
  void ResetProfiling();

  bool pre_allocated_outputs() const;
  void SetPreAllocatedOutputs(bool on);
  /// Octets of streamable weights to keep resident.  Refused by name where the engine has none.
  void SetWeightStreamingBudget(int64_t bytes);

  /// The inspector's JSON.
  std::string LayerInfo() const;
  void DumpLayerInfo(const std::string& path) const;

 private:
  EngineState state_;  // with the plan, which pickling the engine again needs
  uint64_t plan_hash_;
  std::string profile_path_prefix_;
  std::unique_ptr<engine::Executor> executor_;
  std::vector<int> input_order_, output_order_, aliased_inputs_;
  NextOutputs next_outputs_;
};

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_TORCH_ENGINE_H_
