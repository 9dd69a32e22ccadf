#ifndef TRTSCOPE_CORE_ENGINE_EXECUTOR_H_
#define TRTSCOPE_CORE_ENGINE_EXECUTOR_H_

// Executor: one engine in use.  Both runtimes call it; it owns the execution contexts, the cache
// of what is already set on them, the engine's mutex and its profile.
//
// One call, in order, on one thread:
//
//   Executor::Call call(executor);            // lock, then sync the profiling generation
//   call.BindInputs(views, stream)            // checks, shapes, addresses
//   for each output: call.OutputShape(i), call.BindOutput(i, data)
//   call.Enqueue(stream)
//   // ~Call: commit what was measured, unlock
//
// Each step opens its phase of names.h.  Shapes and addresses reach the context only when they
// changed.  Errors name the engine and the tensor, what came and what was expected; no string is
// made on the path that succeeds.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/engine/bound_context.h"
#include "core/engine/engine.h"

namespace trtscope::engine {

class Executor {
 public:
  /// Takes the engine; makes its first context.
  static Result<std::unique_ptr<Executor>> Create(
      std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Engine& engine() const { return *engine_; }
  profiling::EngineProfile& profile() { return *profile_; }
  const std::string& id() const { return profile_->id(); }
  int input_count() const { return input_count_; }
  int output_count() const { return static_cast<int>(engine_->tensors().size()) - input_count_; }
  /// Where a tensor's data must be.
  device::DeviceId DeviceOf(const TensorInfo& tensor) const {
    return tensor.location == device::DeviceType::kHost ? device::DeviceId{} : engine_->device();
  }
  const TensorInfo& input(int i) const { return engine_->tensors()[static_cast<size_t>(i)]; }
  const TensorInfo& output(int i) const {
    return engine_->tensors()[static_cast<size_t>(input_count_ + i)];
  }

  /// Held during a call.  A caller takes it only to change the profile's own settings.
  std::mutex& mutex() { return mutex_; }

  /// The engine's inspector JSON.  Takes the mutex.
  Result<std::string> InspectorJson();

  class Call;

 private:
  Executor(std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile);
  Status CheckInput(int i, const TensorView& view) const;
  Status ListenToLayers(profiling::CallRecorder& recorder);

  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<profiling::EngineProfile> profile_;
  int input_count_;
  std::unique_ptr<BoundContext> context_;
  bool inspected_ = false;          // the profile has the inspector's JSON
  bool has_shape_tensors_ = false;  // values of inputs decide shapes: infer on every call
};

class Executor::Call {
 public:
  explicit Call(Executor& executor);
  ~Call() = default;

  profiling::CallRecorder& recorder() { return recorder_; }

  /// `inputs` in the engine's order.  Opens input_binding, and shape_inference if a shape changed.
  /// `stream` is where a change of the optimization profile happens.
  Status BindInputs(std::span<const TensorView> inputs, device::StreamRef stream);
  /// After BindInputs.  dynamic() for a data-dependent output: give it to `UseAllocator`.
  const Dims& OutputShape(int i) const;
  /// `data` must hold ByteSize of the output's shape.  The runtime opens output_binding itself,
  /// around its allocation and this.
  Status BindOutput(int i, void* data);
  Status UseAllocator(int i, OutputAllocator* allocator);
  /// Opens enqueue_host.
  Status Enqueue(device::StreamRef stream);

 private:
  Status BindInputsOrFail(std::span<const TensorView> inputs, device::StreamRef stream);
  Status Failed(Status status);  // marks the call when the status is an error

  Executor& executor_;
  std::lock_guard<std::mutex> lock_;
  profiling::CallRecorder recorder_;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_EXECUTOR_H_
