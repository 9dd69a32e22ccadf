#ifndef TRTSCOPE_EXECUTORCH_BACKEND_BACKEND_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_BACKEND_H_

#include <executorch/runtime/backend/interface.h>

namespace trtscope::executorch_backend {

inline constexpr char kBackendId[] = "TensorRTBackend";

/// ExecuTorch's delegate for serialized engines: TensorRT's, the host's, the null engine's.
///
/// Thread-safe.  Nothing throws; errors go to ExecuTorch's log and to LastError of the thread, and
/// come back as
///   InvalidArgument               an option, argument or shape that does not fit
///   NotFound                      a runtime library that is not there
///   DelegateInvalidCompatibility  a blob or plan that does not parse or cannot run here
///   NotSupported                  a call that this engine cannot serve
///   InvalidState, MemoryAllocationFailed, Internal
/// core/base/status.h says what each class means.
class TensorRTBackend final : public ::executorch::runtime::BackendInterface {
 public:
  /// Always: what runs a plan is looked for when the plan is known, and its absence has a better
  /// message there than a "no" here could have.
  bool is_available() const override { return true; }

  /// Options: options.h.
  ::executorch::runtime::Result<::executorch::runtime::DelegateHandle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* processed,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> compile_specs)
      const override;
  ::executorch::runtime::Error execute(
      ::executorch::runtime::BackendExecutionContext& context,
      ::executorch::runtime::DelegateHandle* handle,
      ::executorch::runtime::Span<::executorch::runtime::EValue*> args) const override;
  ::executorch::runtime::Error set_option(
      ::executorch::runtime::BackendOptionContext& context,
      const ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override;
  ::executorch::runtime::Error get_option(
      ::executorch::runtime::BackendOptionContext& context,
      ::executorch::runtime::Span<::executorch::runtime::BackendOption>& options) override;
  /// Waits for work in flight.
  void destroy(::executorch::runtime::DelegateHandle* handle) const override;
};

/// The one that is registered when this library is loaded.
TensorRTBackend& TheBackend();

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_BACKEND_H_
