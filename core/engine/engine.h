#ifndef TRTSCOPE_CORE_ENGINE_ENGINE_H_
#define TRTSCOPE_CORE_ENGINE_ENGINE_H_

// The one interface to an engine, whatever runs it: TensorRT (tensorrt/), the CPU (host/), or
// nothing at all (null/).  Executor (executor.h) is how a runtime uses it; this is what an
// implementation provides.  CONTRIBUTING.md walks through adding one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/device.h"
#include "core/engine/plan.h"
#include "core/engine/tensor.h"
#include "core/profiling/engine_profile.h"

namespace trtscope::engine {

/// Gives memory to an output whose shape is known only while the engine runs.  Calls may come
/// from a thread of the engine's.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  /// At least `bytes` octets for output `index`, valid until the caller of Enqueue lets go; null
  /// refuses, and the enqueue then fails.
  virtual void* Allocate(int index, size_t bytes) noexcept = 0;
  virtual void OnShape(int index, const Dims& shape) noexcept = 0;
};

/// State of one execution at a time.  Externally synchronized: one thread at once.  Indices count
/// over Engine::tensors().
class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;

  /// Chooses the optimization profile used by later shapes; 0 at first.
  virtual Status SetOptimizationProfile(int profile, device::StreamRef stream) = 0;
  /// Shape of an input.  The executor has checked rank and range already.
  virtual Status SetInputShape(int index, const Dims& shape) = 0;
  /// Memory of an input or output, in place until replaced.  For an empty tensor, any non-null
  /// address.
  virtual Status SetAddress(int index, void* data) = 0;
  /// Shape of an output under the current input shapes; dynamic() where only the enqueue can say.
  virtual Result<Dims> OutputShape(int index) = 0;
  /// Who gives memory to data-dependent outputs.  Borrowed; null takes it away.
  virtual Status SetOutputAllocator(int index, OutputAllocator* allocator) = 0;

  /// Scratch memory needed under the current shapes, for a context made with
  /// ContextOptions::user_managed_workspace; 0 otherwise.
  virtual Result<size_t> WorkspaceSize() = 0;
  virtual Status SetWorkspace(void* data, size_t bytes) = 0;

  /// Starts the work on `stream` and returns; on a null host stream, when it is done.
  virtual Status Enqueue(device::StreamRef stream) = 0;

  /// Where layer times go.  On a context made with ContextOptions::layer_times, set before
  /// Enqueue; borrowed until the records of that enqueue were delivered.
  virtual Status SetLayerSink(profiling::LayerSink* sink) = 0;
  /// Delivers the layers of the last enqueue, whose work must be complete.  For implementations
  /// whose Engine::layers_arrive_late(); a no-op in others.
  virtual Status DeliverLayers() = 0;
};

struct ContextOptions {
  bool layer_times = false;             // this context can measure layers
  bool user_managed_workspace = false;  // SetWorkspace will be called before Enqueue
};

/// A deserialized plan.  Immutable but for the settings below; const methods are thread-safe.
/// Contexts must be destroyed before their engine.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const PlanInfo& plan() const = 0;
  /// What runs it, with its version: "TensorRT 8.6.0 (libnvinfer.so.8)", "ExecuTorch 1.5.1".
  virtual std::string_view runtime_version() const = 0;
  /// Inputs first, then outputs, each in the engine's own order.
  virtual std::span<const TensorInfo> tensors() const = 0;
  virtual int input_count() const = 0;
  virtual int profile_count() const = 0;
  virtual device::DeviceId device() const = 0;

  virtual Result<std::unique_ptr<ExecutionContext>> CreateContext(
      const ContextOptions& options) = 0;

  /// False: layers are reported inside Enqueue (or on its stream) at no more than their own cost,
  /// so one context serves plain and profiled calls.  True: DeliverLayers brings them once the
  /// work is complete, and a context that can measure is slower, so profiled calls use a second.
  virtual bool layers_arrive_late() const = 0;

  /// Octets of weights kept resident, of those that can be streamed.  Refused by name where the
  /// implementation has no weight streaming.
  virtual Status SetWeightStreamingBudget(int64_t bytes) = 0;

  /// The inspector's JSON in TensorRT's form: {"Layers": [...], "Bindings": [...]}.
  virtual Result<std::string> InspectorJson() = 0;
};

struct LoadOptions {
  std::string name;              // for messages
  device::DeviceId device;       // where it shall run; host plans take only the host
  bool allow_host_code = false;  // version-compatible plans carry code: running it is trust
  std::string library_path;      // a runtime library or its folder, looked at before all others
};

/// A way to run plans of one or more kinds.
class Implementation {
 public:
  virtual ~Implementation() = default;
  virtual std::string_view name() const = 0;
  virtual bool Accepts(const PlanInfo& plan) const = 0;
  /// `plan` is borrowed for the call only.
  virtual Result<std::unique_ptr<Engine>> Load(std::span<const std::byte> plan,
                                               const PlanInfo& info,
                                               const LoadOptions& options) = 0;
};

/// Adds an implementation; it must live as long as the process.  Later ones are asked first.
void RegisterImplementation(Implementation* implementation);

/// Recognises the plan and loads it with the first implementation that accepts it.  When there
/// is none, the error names the plan's kind and version and what would run it.
Result<std::unique_ptr<Engine>> LoadEngine(std::span<const std::byte> plan,
                                           const LoadOptions& options);

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_ENGINE_H_
