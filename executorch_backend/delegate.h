#ifndef TRTSCOPE_EXECUTORCH_BACKEND_DELEGATE_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_DELEGATE_H_

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/span.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/executor.h"
#include "core/engine/stream_order.h"
#include "executorch_backend/blob.h"
#include "executorch_backend/events.h"
#include "executorch_backend/options.h"
#include "executorch_backend/staging.h"
#include "executorch_backend/unknown_output.h"

namespace trtscope::executorch_backend {

/// One region of a method: what the handle of TensorRTBackend points to.
///
/// Arguments of a call are the inputs, then the outputs, in the order of the blob's io_bindings
/// (of the engine, when the plan stands alone).  An output that is an input's memory may have an
/// argument of its own, which is then given a copy unless it is that memory already, or none.
///
/// A tensor that is where the engine needs it is used in place; one that is not is copied.  A call
/// returns when its work is enqueued if the caller gave a stream (caller_stream.h) and nothing had
/// to be copied to or from the host; otherwise when it is done.
///
/// Calls may come from several threads and run one after another.  No exceptions but bad_alloc.
class Delegate {
 public:
  using EValue = ::executorch::runtime::EValue;

  /// `processed` is borrowed for the call.  `method` names the engine if the blob does not.
  static Result<std::unique_ptr<Delegate>> Create(std::span<const std::byte> processed,
                                                  std::string_view method,
                                                  const MethodOptions& options);
  /// Waits for work in flight.
  ~Delegate();

  /// `tracer` may be null.
  Status Execute(::executorch::runtime::EventTracer* tracer,
                 ::executorch::runtime::Span<EValue*> args);

  engine::Executor& executor() { return *executor_; }
  const std::string& id() const { return executor_->id(); }

 private:
  struct Io {
    explicit Io(int i) : index(i) {}
    int index;                         // among the executor's inputs (outputs)
    int alias = -1;                    // outputs: position of the input argument whose memory it is
    std::unique_ptr<Staging> staging;  // made when first needed
    std::unique_ptr<UnknownOutput> unknown;
    // Of the call that runs:
    EValue* value = nullptr;  // outputs: null when it has no argument
    void* data = nullptr;     // what the engine was given
    bool staged = false;      // ... which is not the tensor's own memory
  };

  Delegate() = default;
  Status MatchBindings(const Blob& blob, bool by_position);
  Status MatchAliases(const Blob& blob);
  Status TakeArguments(::executorch::runtime::Span<EValue*> args);
  Status Run(engine::Executor::Call& call, ::executorch::runtime::Span<EValue*> args,
             ::executorch::runtime::EventTracer* tracer);
  Status StageInput(engine::Executor::Call& call, size_t position, device::StreamRef stream);
  Status BindOutput(engine::Executor::Call& call, size_t position);
  Status FinishUnknown(engine::Executor::Call& call, Io& output, size_t position,
                       device::StreamRef stream);
  Status FinishOutput(engine::Executor::Call& call, Io& output, size_t position,
                      device::StreamRef stream);
  Status FinishOutputs(engine::Executor::Call& call, device::StreamRef stream);
  Status Wait(engine::Executor::Call& call, device::StreamRef stream);
  Status Copy(void* to, device::DeviceId to_device, const void* from, device::DeviceId from_device,
              size_t bytes, device::StreamRef stream);
  Result<engine::TensorView> ViewOf(const EValue* value, const engine::TensorInfo& info,
                                    const std::string& label) const;
  Status Resize(EValue* value, const engine::Dims& shape, const std::string& label) const;
  Result<Staging*> StagingOf(Io& io, device::DeviceId place) const;
  std::string InputLabel(size_t position) const;
  std::string OutputLabel(size_t position) const;
  std::string Describe(device::StreamRef stream) const;

  std::vector<Io> inputs_, outputs_;       // in the order of the arguments
  size_t elidable_ = 0;                    // outputs that need no argument
  std::vector<engine::TensorView> views_;  // inputs of the call that runs, in the engine's order
  bool must_wait_ = false;                 // ... whose work must be done when it returns
  device::Device* device_ = nullptr;       // of the engine
  std::optional<engine::StreamOrder> host_order_;  // of calls on streams of the host
  std::unique_ptr<EventLog> events_;               // outlives the executor, which tells it things
  std::unique_ptr<engine::Executor> executor_;
};

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_DELEGATE_H_
