#ifndef TRTSCOPE_CORE_ENGINE_HOST_HOST_PROGRAM_H_
#define TRTSCOPE_CORE_ENGINE_HOST_HOST_PROGRAM_H_

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace trtscope::engine::host {

/// "Error::InvalidArgument (0x12)".
std::string ErrorText(executorch::runtime::Error error);

/// The bytes of an ExecuTorch program and the runtime's view of them.  Immutable once loaded, and
/// thread-safe.
class HostProgram {
 public:
  /// Copies `bytes`.  The program's structure is verified first.
  static Result<std::unique_ptr<HostProgram>> Load(std::span<const std::byte> bytes);

  const executorch::runtime::Program& program() const { return *program_; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  bool HasMethod(const char* name) const;

 private:
  struct Freer {
    void operator()(std::byte* data) const { std::free(data); }
  };
  HostProgram() = default;

  std::unique_ptr<std::byte, Freer> data_;
  size_t size_ = 0;
  std::optional<executorch::extension::BufferDataLoader> loader_;
  std::optional<executorch::runtime::Program> program_;
};

/// A loaded method with the memory that its plan asks for.  One execution at a time.
class MethodInstance {
 public:
  /// `tracer` may be null.  Both are borrowed.
  static Result<std::unique_ptr<MethodInstance>> Load(const HostProgram& program, const char* name,
                                                      executorch::runtime::EventTracer* tracer);

  executorch::runtime::Method& method() { return *method_; }

 private:
  struct Freer {
    void operator()(uint8_t* data) const { std::free(data); }
  };
  MethodInstance() = default;
  Status AllocatePlanned(const executorch::runtime::MethodMeta& meta);

  // In this order: the method lives in what stands before it.
  executorch::extension::MallocMemoryAllocator method_memory_;
  executorch::extension::MallocMemoryAllocator temporary_memory_;
  std::vector<std::unique_ptr<uint8_t, Freer>> planned_;
  std::vector<executorch::runtime::Span<uint8_t>> spans_;
  std::optional<executorch::runtime::HierarchicalAllocator> planned_memory_;
  std::optional<executorch::runtime::MemoryManager> memory_;
  std::optional<executorch::runtime::Method> method_;
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_HOST_PROGRAM_H_
