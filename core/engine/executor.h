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
// On a device, a call returns when its work is enqueued; nothing here waits for it.  GPU spans and
// layer times of earlier calls are collected at later ones (gpu_timeline.h, late_layers.h).  Calls
// on different streams are put in order on the device (stream_order.h); not so those that a caller
// captures into a graph of its own, which only the caller can order.  On the host, a call on
// the calling thread is done when it returns; layers of one on a HostStream are not measured.
//
// Each step opens its phase of names.h.  Shapes and addresses reach the context only when they
// changed.  Errors name the engine and the tensor, what came and what was expected; no string is
// made on the path that succeeds.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/bound_context.h"
#include "core/engine/call_sampler.h"
#include "core/engine/engine.h"
#include "core/engine/gpu_timeline.h"
#include "core/engine/late_layers.h"
#include "core/engine/stream_order.h"
#include "core/engine/workspace.h"

namespace trtscope::engine {

struct ExecutorOptions {
  /// Where scratch memory comes from; the device itself when null.
  std::unique_ptr<Workspace> workspace;
  /// Octets of streamable weights to keep resident (Engine::SetWeightStreamingBudget).
  std::optional<int64_t> weight_streaming_budget;
};

class Executor {
 public:
  /// Takes the engine; makes its first context.
  static Result<std::unique_ptr<Executor>> Create(std::unique_ptr<Engine> engine,
                                                  std::shared_ptr<profiling::EngineProfile> profile,
                                                  ExecutorOptions options = {});
  /// Waits for work in flight, so that the contexts may go.
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
  /// Changes the budget of a loaded engine: waits for work in flight and makes the contexts anew,
  /// also when the engine refuses it.  Takes the mutex.
  Status SetWeightStreamingBudget(int64_t bytes);

  class Call;

 private:
  // What only an engine on a device has: work that outlives its call.
  struct OnDevice {
    OnDevice(device::Device& on, Engine& engine, profiling::EngineProfile& profile)
        : device(on),
          order(device),
          timeline(device, profile),
          layers(device, engine, profile),
          graphs(device) {}
    device::Device& device;
    StreamOrder order;
    CallSampler spans;         // which calls have a GPU span
    int64_t span_read_ns = 0;  // what reading one took, lately
    GpuTimeline timeline;
    LateLayers layers;
    GraphCache graphs;  // of the plain context
  };

  Executor(std::unique_ptr<Engine> engine, std::shared_ptr<profiling::EngineProfile> profile);
  Status CheckInput(const BoundContext& context, int i, const TensorView& view) const;
  Status ProvideWorkspace(BoundContext& context, device::StreamRef stream,
                          profiling::CallRecorder& recorder);
  Status MakeContext();
  /// The graphs of `context`, or null on the host.
  GraphCache* GraphsOf(const BoundContext& context);
  void Inspect();
  void CollectFinished();

  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<profiling::EngineProfile> profile_;
  int input_count_;
  bool has_shape_tensors_ = false;        // values of inputs decide shapes: infer on every call
  bool inspected_ = false;                // the profile has the inspector's JSON
  std::unique_ptr<Workspace> workspace_;  // before the contexts that use it
  void* workspace_data_ = nullptr;
  size_t workspace_bytes_ = 0;
  device::StreamRef workspace_stream_;
  std::unique_ptr<BoundContext> context_;
  std::unique_ptr<OnDevice> on_device_;
};

class Executor::Call {
 public:
  explicit Call(Executor& executor);
  ~Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

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
  /// Reads the device times that are known by now: for a runtime whose contract made it wait for
  /// the work.  Never waits itself.
  void CollectFinished() {
    if (executor_.on_device_ != nullptr) executor_.CollectFinished();
  }

 private:
  Status BindInputsOrFail(std::span<const TensorView> inputs, device::StreamRef stream);
  Status EnqueueOrFail(device::StreamRef stream);
  Status EnqueueOnDevice(device::StreamRef stream);
  void ObserveCost(bool measured_layers, int64_t span_ns);
  Status Failed(Status status);  // marks the call when the status is an error

  Executor& executor_;
  std::lock_guard<std::mutex> lock_;
  profiling::CallRecorder recorder_;
  BoundContext* context_;   // that serves this call
  bool capturing_ = false;  // the caller captures its stream into a graph of its own
  int64_t begin_ns_ = 0;    // read where the device may be measured, for the samplers
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_EXECUTOR_H_
