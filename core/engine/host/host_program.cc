#include "core/engine/host/host_program.h"

#include <executorch/runtime/platform/runtime.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <utility>

namespace trtscope::engine::host {
namespace {

using executorch::runtime::Error;
using executorch::runtime::Program;

// Segments of a program are aligned to at most this in the file, and kernels read them in place.
constexpr size_t kAlignment = 4096;
// Of a planned buffer: no kernel asks for more.
constexpr size_t kPlannedAlignment = 64;

size_t RoundUp(size_t size, size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// A plan that asks for more cannot run here, and must not bring the machine down while it tries.
uint64_t MachineMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

std::string ErrorText(Error error) {
  char number[16];
  std::snprintf(number, sizeof(number), " (0x%x)", static_cast<unsigned>(error));
  return executorch::runtime::to_string(error) + std::string(number);
}

Result<std::unique_ptr<HostProgram>> HostProgram::Load(std::span<const std::byte> bytes) {
  static std::once_flag once;
  std::call_once(once, [] { executorch::runtime::runtime_init(); });

  std::unique_ptr<HostProgram> program(new HostProgram());
  program->size_ = bytes.size();
  program->data_.reset(static_cast<std::byte*>(
      std::aligned_alloc(kAlignment, RoundUp(std::max<size_t>(bytes.size(), 1), kAlignment))));
  if (program->data_ == nullptr) {
    return ResourceExhausted("no memory for a plan of " + std::to_string(bytes.size()) + " octets");
  }
  std::memcpy(program->data_.get(), bytes.data(), bytes.size());

  switch (Program::check_header(bytes.data(), bytes.size())) {
    case Program::HeaderStatus::CompatibleVersion:
      break;
    case Program::HeaderStatus::IncompatibleVersion:
      return Unsupported("ExecuTorch 1.5.1 does not read this version of programs");
    case Program::HeaderStatus::NotPresent:
      return DataLoss("there is no header of an ExecuTorch program");
    case Program::HeaderStatus::ShortData:
      return DataLoss("the program is cut short: " + std::to_string(bytes.size()) +
                      " octets, but its header takes " + std::to_string(Program::kMinHeadBytes));
  }
  program->loader_.emplace(program->data_.get(), program->size_);
  auto loaded = Program::load(&*program->loader_, Program::Verification::InternalConsistency);
  if (!loaded.ok()) {
    return DataLoss("ExecuTorch refuses the program of " + std::to_string(bytes.size()) +
                    " octets: " + ErrorText(loaded.error()));
  }
  program->program_.emplace(std::move(*loaded));
  return program;
}

bool HostProgram::HasMethod(const char* name) const {
  for (size_t i = 0; i < program_->num_methods(); ++i) {
    const auto method = program_->get_method_name(i);
    if (method.ok() && std::strcmp(*method, name) == 0) return true;
  }
  return false;
}

Status MethodInstance::AllocatePlanned(const executorch::runtime::MethodMeta& meta) {
  uint64_t total = 0;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (!size.ok() || *size < 0) {
      return DataLoss("the memory plan of its method '" + std::string(meta.name()) +
                      "' has no size for buffer " + std::to_string(i));
    }
    const auto bytes = static_cast<uint64_t>(*size);
    if (__builtin_add_overflow(total, bytes, &total) || total > MachineMemory()) {
      return ResourceExhausted("the memory plan of its method '" + std::string(meta.name()) +
                               "' asks for at least " + std::to_string(bytes) +
                               " octets; this machine has " + std::to_string(MachineMemory()));
    }
    // Zeroed, for a fault in a program must not show other memory; by the system, which costs
    // nothing until it is used.
    planned_.emplace_back(static_cast<uint8_t*>(std::calloc(bytes + kPlannedAlignment, 1)));
    if (planned_.back() == nullptr) {
      return ResourceExhausted("no memory for the " + std::to_string(bytes) +
                               " octets of a planned buffer");
    }
    const auto address = reinterpret_cast<uintptr_t>(planned_.back().get());
    spans_.emplace_back(planned_.back().get() + (RoundUp(address, kPlannedAlignment) - address),
                        bytes);
  }
  return OkStatus();
}

Result<std::unique_ptr<MethodInstance>> MethodInstance::Load(
    const HostProgram& program, const char* name, executorch::runtime::EventTracer* tracer) {
  const auto meta = program.program().method_meta(name);
  if (!meta.ok()) {
    return DataLoss("ExecuTorch cannot describe its method '" + std::string(name) +
                    "': " + ErrorText(meta.error()));
  }
  std::unique_ptr<MethodInstance> instance(new MethodInstance());
  TRTSCOPE_RETURN_IF_ERROR(instance->AllocatePlanned(*meta));
  instance->planned_memory_.emplace(executorch::runtime::Span<executorch::runtime::Span<uint8_t>>(
      instance->spans_.data(), instance->spans_.size()));
  instance->memory_.emplace(&instance->method_memory_, &*instance->planned_memory_,
                            &instance->temporary_memory_);
  auto method = program.program().load_method(name, &*instance->memory_, tracer);
  if (!method.ok()) {
    const std::string text = "ExecuTorch cannot load its method '" + std::string(name) +
                             "': " + ErrorText(method.error());
    // What is not registered: an operator without a kernel, or a backend that is not linked in.
    if (method.error() == Error::OperatorMissing || method.error() == Error::NotFound) {
      return Unsupported(text +
                         "; an operator or a backend of it is not in the libraries of the "
                         "executorch package (its log on stderr names it)");
    }
    return DataLoss(text);
  }
  instance->method_.emplace(std::move(*method));
  return instance;
}

}  // namespace trtscope::engine::host
