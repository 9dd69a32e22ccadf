#include "core/runtime/torch_engine.h"

#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "core/engine/plan.h"
#include "core/runtime/torch_workspace.h"

namespace trtscope::runtime {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <typename T>
T ValueOrThrow(Result<T> result) {
  ThrowIfError(result.status());
  return *std::move(result);
}

std::string TensorNames(const engine::Engine& engine, engine::IoMode mode) {
  std::string names;
  for (const engine::TensorInfo& tensor : engine.tensors()) {
    if (tensor.mode != mode) continue;
    names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  }
  return names;
}

// The graph's order by name.  A plan made by other means may have lost the names; then the order
// is taken to be the graph's, if the counts agree.
std::vector<int> MatchOrder(const engine::Engine& engine, engine::IoMode mode, bool by_position,
                            const std::vector<std::string>& names, const std::string& id) {
  const char* what = mode == engine::IoMode::kInput ? "inputs" : "outputs";
  std::vector<int> order;
  const auto tensors = engine.tensors();
  const size_t first =
      mode == engine::IoMode::kInput ? 0 : static_cast<size_t>(engine.input_count());
  const size_t count = mode == engine::IoMode::kInput ? static_cast<size_t>(engine.input_count())
                                                      : tensors.size() - first;
  TORCH_CHECK(names.size() == count, "engine '", id, "': its state names ", names.size(), " ", what,
              "; its plan has ", count, ": ", TensorNames(engine, mode));
  for (size_t i = 0; i < count; ++i) {
    size_t at = 0;
    while (at < count && tensors[first + at].name != names[i]) ++at;
    if (at == count && by_position) at = i;
    TORCH_CHECK(at < count, "engine '", id, "': its state names ", what, " '", names[i],
                "', which its plan does not have; the plan has ", TensorNames(engine, mode));
    order.push_back(static_cast<int>(at));
  }
  return order;
}

// Which graph input each graph output shares memory with: as the state says, or as the plan does.
std::vector<int> MatchAliases(const engine::Engine& engine, const EngineState& state,
                              const std::vector<int>& output_order) {
  std::vector<int> aliases;
  for (size_t i = 0; i < state.output_names.size(); ++i) {
    const auto at = static_cast<size_t>(engine.input_count() + output_order[i]);
    std::string input = engine.tensors()[at].aliased_input;
    for (const AliasedIo& alias : state.aliased_io) {
      if (alias.output == state.output_names[i]) input = alias.input;
    }
    const auto found = std::find(state.input_names.begin(), state.input_names.end(), input);
    TORCH_CHECK(input.empty() || found != state.input_names.end(), "engine '", state.name,
                "': output '", state.output_names[i], "' is said to share the memory of input '",
                input, "', which the engine does not have");
    aliases.push_back(input.empty() ? -1 : static_cast<int>(found - state.input_names.begin()));
  }
  return aliases;
}

}  // namespace

void NextOutputs::Enable(bool on) {
  enabled_ = on;
  tensors_.clear();
}

at::Tensor NextOutputs::Take(size_t i, const engine::Dims& shape) {
  if (i >= tensors_.size() || !tensors_[i].defined()) return {};
  at::Tensor tensor = std::move(tensors_[i]);
  const c10::IntArrayRef sizes(shape.d.data(), static_cast<size_t>(shape.rank));
  return tensor.sizes() == sizes ? tensor : at::Tensor();
}

void NextOutputs::Prepare(const std::vector<at::Tensor>& outputs,
                          const std::vector<int>& aliased_inputs) {
  if (!enabled_) return;
  tensors_.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (aliased_inputs[i] < 0) tensors_[i] = at::empty_like(outputs[i]);
  }
}

void ThrowIfError(const Status& status) { TORCH_CHECK(status.ok(), std::string(status.message())); }

TorchEngine::TorchEngine(const StateFields& fields, PlanEncoding encoding)
    : state_(ValueOrThrow(ParseEngineState(fields, encoding))) {
  const auto inspected = engine::InspectPlan(Bytes(state_.plan));
  TORCH_CHECK(inspected.ok(), "engine '", state_.name, "': ", inspected.status().message());
  const engine::PlanInfo& info = *inspected;
  plan_hash_ = info.hash;

  engine::LoadOptions options;
  options.name = state_.name;
  const bool on_device =
      info.kind == engine::PlanKind::kTensorRt || info.kind == engine::PlanKind::kTensorRtRtx;
  if (on_device) options.device = {device::DeviceType::kCuda, state_.device_id};
  auto engine = ValueOrThrow(engine::LoadEngine(Bytes(state_.plan), options));

  const bool by_position = info.kind == engine::PlanKind::kHost;
  input_order_ =
      MatchOrder(*engine, engine::IoMode::kInput, by_position, state_.input_names, state_.name);
  output_order_ =
      MatchOrder(*engine, engine::IoMode::kOutput, by_position, state_.output_names, state_.name);

  aliased_inputs_ = MatchAliases(*engine, state_, output_order_);

  profiling::EngineIdentity identity;
  identity.name = state_.name;
  identity.plan_hash = info.hash;
  identity.implementation = std::string(engine::Name(info.kind));
  identity.runtime = "torch";
  engine::ExecutorOptions executor_options;
  if (on_device) executor_options.workspace = std::make_unique<TorchWorkspace>(engine->device());
  executor_ = ValueOrThrow(engine::Executor::Create(
      std::move(engine), profiling::EngineProfile::Register(std::move(identity)),
      std::move(executor_options)));
}

std::vector<std::string> TorchEngine::Serialize() const { return SerializeEngineState(state_); }

std::vector<std::tuple<std::string, std::string>> TorchEngine::Flatten() const {
  std::vector<std::string> fields = Serialize();
  std::vector<std::tuple<std::string, std::string>> pairs;
  for (size_t i = 0; i < fields.size(); ++i) {
    pairs.emplace_back(std::string(kStateFieldNames[i]), std::move(fields[i]));
  }
  return pairs;
}

bool TorchEngine::SameAs(const TorchEngine& other) const {
  return plan_hash_ == other.plan_hash_ && state_.plan == other.state_.plan &&
         state_.name == other.state_.name && state_.device == other.state_.device &&
         state_.input_names == other.state_.input_names &&
         state_.output_names == other.state_.output_names &&
         state_.metadata == other.state_.metadata;
}

std::string TorchEngine::ToString() const {
  const engine::Engine& engine = executor_->engine();
  std::string text = "Engine(" + engine_id() + ", " + std::string(engine.runtime_version());
  for (const engine::TensorInfo& tensor : engine.tensors()) {
    text += tensor.mode == engine::IoMode::kInput ? ", in " : ", out ";
    text += tensor.name + " " + std::string(engine::Name(tensor.dtype)) +
            engine::ToString(tensor.shape);
  }
  return text + ")";
}

void TorchEngine::EnableProfiling() {
  SetProfileLevel(std::string(Name(profiling::Level::kLayers)));
}
void TorchEngine::DisableProfiling() { SetProfileLevel(std::string(Name(profiling::Level::kOff))); }

void TorchEngine::SetProfileLevel(const std::string& level) {
  const profiling::Level parsed = ValueOrThrow(profiling::ParseLevel(level));
  std::lock_guard lock(executor_->mutex());
  executor_->profile().SetOwnLevel(parsed);
}

void TorchEngine::SetProfileFormat(const std::string& format) {
  std::lock_guard lock(executor_->mutex());
  ThrowIfError(executor_->profile().SetOwnFormat(format));
}

void TorchEngine::SetProfilePathPrefix(const std::string& folder) {
  std::lock_guard lock(executor_->mutex());
  ThrowIfError(executor_->profile().SetOwnPathPrefix(folder));
  profile_path_prefix_ = folder;
}

std::string TorchEngine::profile_path_prefix() const {
  std::lock_guard lock(executor_->mutex());
  return profile_path_prefix_.empty() ? profiling::Snapshot().path_prefix : profile_path_prefix_;
}

void TorchEngine::ResetProfiling() {
  std::lock_guard lock(executor_->mutex());
  executor_->profile().ResetOwnSettings();
  profile_path_prefix_.clear();
}

bool TorchEngine::pre_allocated_outputs() const {
  std::lock_guard lock(executor_->mutex());
  return next_outputs_.enabled();
}

void TorchEngine::SetPreAllocatedOutputs(bool on) {
  std::lock_guard lock(executor_->mutex());
  next_outputs_.Enable(on);
}

void TorchEngine::SetWeightStreamingBudget(int64_t bytes) {
  ThrowIfError(executor_->SetWeightStreamingBudget(bytes));
}

std::string TorchEngine::LayerInfo() const { return ValueOrThrow(executor_->InspectorJson()); }

void TorchEngine::DumpLayerInfo(const std::string& path) const {
  const std::string json = LayerInfo();
  std::ofstream file(path, std::ios::binary);
  file << json;
  file.close();
  TORCH_CHECK(file, "engine '", engine_id(), "': cannot write layer information to ", path, ": ",
              std::strerror(errno));
}

}  // namespace trtscope::runtime
