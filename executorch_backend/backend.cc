#include "executorch_backend/backend.h"

#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "executorch_backend/delegate.h"
#include "executorch_backend/last_error.h"
#include "executorch_backend/options.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

// The border: what is inside may run out of memory, and nothing may be thrown across.
template <typename Body>
Status Guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of memory");
  } catch (const std::exception& error) {
    return Internal(error.what());
  } catch (...) {
    return Internal("an exception of an unknown kind");
  }
}

// Without ET_EVENT_TRACER_ENABLED ExecuTorch's hooks are compiled out: nobody listens, and nothing
// is prepared for a listener.
et::EventTracer* TracerOf([[maybe_unused]] et::BackendExecutionContext& context) {
#ifdef ET_EVENT_TRACER_ENABLED
  return context.event_tracer();
#else
  return nullptr;
#endif
}

}  // namespace

et::Result<et::DelegateHandle*> TensorRTBackend::init(
    et::BackendInitContext& context, et::FreeableBuffer* processed,
    et::ArrayRef<et::CompileSpec> compile_specs) const {
  std::unique_ptr<Delegate> delegate;
  const Status status = Guarded([&]() -> Status {
    if (processed == nullptr || processed->data() == nullptr) {
      return DataLoss("delegate blob: it is empty: 0 octets");
    }
    const char* const method = context.get_method_name();
    TRTSCOPE_ASSIGN_OR_RETURN(const MethodOptions options,
                              ReadMethodOptions(context.runtime_specs(), compile_specs));
    const std::span bytes(static_cast<const std::byte*>(processed->data()), processed->size());
    TRTSCOPE_ASSIGN_OR_RETURN(delegate,
                              Delegate::Create(bytes, method != nullptr ? method : "", options));
    processed->Free();  // the engine has what it needs of it
    return OkStatus();
  });
  if (!status.ok()) return Report(status, Stage::kInit);
  return static_cast<et::DelegateHandle*>(delegate.release());
}

et::Error TensorRTBackend::execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                                   et::Span<et::EValue*> args) const {
  if (handle == nullptr) return et::Error::DelegateInvalidHandle;
  const Status status =
      Guarded([&] { return static_cast<Delegate*>(handle)->Execute(TracerOf(context), args); });
  return status.ok() ? et::Error::Ok : Report(status, Stage::kExecute);
}

et::Error TensorRTBackend::set_option(et::BackendOptionContext&,
                                      const et::Span<et::BackendOption>& options) {
  const Status status =
      Guarded([&] { return SetProcessOptions({options.data(), options.size()}); });
  return status.ok() ? et::Error::Ok : Report(status, Stage::kExecute);
}

et::Error TensorRTBackend::get_option(et::BackendOptionContext&,
                                      et::Span<et::BackendOption>& options) {
  const Status status = Guarded([&] { return GetProcessOptions(options); });
  return status.ok() ? et::Error::Ok : Report(status, Stage::kExecute);
}

void TensorRTBackend::destroy(et::DelegateHandle* handle) const {
  delete static_cast<Delegate*>(handle);
}

TensorRTBackend& TheBackend() {
  // Never destroyed: methods may outlive static destructors.
  static TensorRTBackend* const backend = new TensorRTBackend();
  return *backend;
}

}  // namespace trtscope::executorch_backend
