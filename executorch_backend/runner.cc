// The native runner: runs a .pte, mixed programs too, without LibTorch; prints where the time of
// its engines goes; writes ExecuTorch's trace.

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/library_paths.h"
#include "core/profiling/clock.h"
#include "core/profiling/config.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/report.h"
#include "core/profiling/statistics.h"
#include "executorch_backend/backend.h"
#include "executorch_backend/convert.h"
#include "executorch_backend/input_file.h"
#include "executorch_backend/interrupt.h"
#include "executorch_backend/last_error.h"
#include "executorch_backend/options.h"
#include "executorch_backend/program_file.h"
#include "executorch_backend/runner_flags.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;
using ::executorch::extension::Module;
using ::executorch::extension::TensorPtr;

// An error of ExecuTorch's as a message; the delegate's own message where the failure is its.
Status Failed(const std::string& what, et::Error error, const std::string& more = "") {
  std::string message = what + ": " + et::to_string(error);
  if (*LastError() != '\0') message += std::string(": ") + LastError();
  return Internal(message + more);
}

Status SetOptions(const RunnerFlags& flags, std::vector<et::BackendOption>& options) {
  const std::pair<const char*, const std::string*> given[] = {
      {kLevelKey, &flags.profile_level},
      {kFormatKey, &flags.profile_format},
      {kPathPrefixKey, &flags.profile_path},
      {kFilterKey, &flags.profile_filter},
      {kWeightStreamingKey, &flags.weight_streaming_budget},
  };
  for (const auto& [key, text] : given) {
    if (text->empty()) continue;
    et::BackendOption option;
    std::array<char, et::kMaxOptionValueLength> value{};
    if (text->size() >= value.size() - 1) {
      return InvalidArgument(std::string(key) + ": expected at most " +
                             std::to_string(value.size() - 2) + " characters, got " +
                             std::to_string(text->size()));
    }
    std::memcpy(option.key, key, std::strlen(key));
    std::memcpy(value.data(), text->data(), text->size());
    option.value = value;
    options.push_back(option);
  }
  return OkStatus();
}

// The first input of a call whose shape is not the planned one, for when the call failed: such a
// shape may be right, and the metadata does not say which sizes vary.
std::string UnlikePlanned(const et::MethodMeta& meta, const std::vector<TensorPtr>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto planned = meta.input_tensor_meta(i);
    const auto sizes = inputs[i]->sizes();
    if (!planned.ok() ||
        std::equal(sizes.begin(), sizes.end(), planned->sizes().begin(), planned->sizes().end())) {
      continue;
    }
    return "; input " + std::to_string(i) + " has shape " + ToString(DimsOf(sizes)) +
           ", the program planned for " + ToString(DimsOf(planned->sizes())) + " at most";
  }
  return "";
}

Result<TensorPtr> MakeInput(const et::TensorInfo& planned, size_t index, FileTensor* file,
                            const std::string& path) {
  const std::optional<engine::DataType> type = FromExecuTorch(planned.scalar_type());
  const std::string label = "input " + std::to_string(index);
  if (!type) {
    return Unsupported(label + ": tensors of type " + TypeName(planned.scalar_type()) +
                       " are not supported here");
  }
  std::vector<int32_t> sizes(planned.sizes().begin(), planned.sizes().end());
  std::vector<uint8_t> data(planned.nbytes());
  if (file != nullptr) {
    if (file->dtype && *file->dtype != *type) {
      return InvalidArgument(label + ": " + path + " holds " +
                             std::string(engine::Name(*file->dtype)) + ", the program takes " +
                             std::string(engine::Name(*type)));
    }
    if (file->shape) {
      if (static_cast<size_t>(file->shape->rank) != planned.sizes().size()) {
        return InvalidArgument(label + ": " + path + " has shape " + ToString(*file->shape) +
                               ", the program takes " + ToString(DimsOf(planned.sizes())));
      }
      sizes.clear();
      for (int d = 0; d < file->shape->rank; ++d) {
        sizes.push_back(static_cast<int32_t>((*file->shape)[d]));
      }
    } else if (file->data.size() != planned.nbytes()) {
      return InvalidArgument(label + ": " + path + " has " + std::to_string(file->data.size()) +
                             " octets, the program plans " + std::to_string(planned.nbytes()));
    }
    data.resize(file->data.size());
    if (!data.empty()) std::memcpy(data.data(), file->data.data(), data.size());
  }
  return ::executorch::extension::make_tensor_ptr(std::move(sizes), std::move(data), {}, {},
                                                  planned.scalar_type());
}

Result<std::vector<TensorPtr>> MakeInputs(const et::MethodMeta& meta, const RunnerFlags& flags) {
  const size_t count = meta.num_inputs();
  if (!flags.inputs.empty() && flags.inputs.size() != count) {
    return InvalidArgument("--inputs: " + flags.model + " takes " + std::to_string(count) +
                           " inputs, got " + std::to_string(flags.inputs.size()));
  }
  std::vector<TensorPtr> inputs;
  for (size_t i = 0; i < count; ++i) {
    auto planned = meta.input_tensor_meta(i);
    if (!planned.ok()) {
      return Unsupported("input " + std::to_string(i) + " is no tensor: the runner gives tensors");
    }
    FileTensor file;
    const bool given = !flags.inputs.empty();
    if (given) {
      TRTSCOPE_ASSIGN_OR_RETURN(file, ReadTensorFile(flags.inputs[i], planned->nbytes()));
    }
    TRTSCOPE_ASSIGN_OR_RETURN(TensorPtr tensor, MakeInput(*planned, i, given ? &file : nullptr,
                                                          given ? flags.inputs[i] : ""));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Memory for the outputs that the program leaves to its caller: kernels write to them unchecked.
Result<std::vector<TensorPtr>> ProvideOutputs(Module& module, const et::MethodMeta& meta,
                                              const RunnerFlags& flags) {
  std::vector<TensorPtr> outputs;
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto planned = meta.output_tensor_meta(i);
    if (!planned.ok() || planned->is_memory_planned()) continue;
    outputs.push_back(::executorch::extension::make_tensor_ptr(
        std::vector<int32_t>(planned->sizes().begin(), planned->sizes().end()),
        std::vector<uint8_t>(planned->nbytes()), {}, {}, planned->scalar_type()));
    if (et::Error error = module.set_output(flags.method, et::EValue(*outputs.back()), i);
        error != et::Error::Ok) {
      return Failed(flags.model + ": output " + std::to_string(i), error);
    }
  }
  return outputs;
}

// Whether a file can be written, before there is anything to write.
Status CheckWritable(const std::string& path) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) {
    return InvalidArgument(path + ": cannot be written: " + std::strerror(errno));
  }
  if (!existed) std::filesystem::remove(path, ignored);
  return OkStatus();
}

// What of the options can be known to be wrong before the program runs.
Status CheckFlags(const RunnerFlags& flags) {
  std::error_code error;
  for (const std::string& folder : flags.library_paths) {
    if (!std::filesystem::is_directory(folder, error)) {
      return InvalidArgument("--library-path: " + folder + " is no folder");
    }
  }
  if (!flags.outputs.empty()) {
    std::filesystem::create_directories(flags.outputs, error);
    if (!std::filesystem::is_directory(flags.outputs)) {
      return InvalidArgument("--outputs: " + flags.outputs +
                             " cannot be made a folder: " + error.message());
    }
    TRTSCOPE_RETURN_IF_ERROR(CheckWritable(flags.outputs + "/output_0.npy"));
  }
  if (!flags.etdump.empty()) TRTSCOPE_RETURN_IF_ERROR(CheckWritable(flags.etdump));
  return CheckProgramFile(flags.model);
}

Status CheckMethod(Module& module, const RunnerFlags& flags) {
  const auto names = module.method_names();
  if (!names.ok()) return Failed(flags.model, names.error());
  if (names->count(flags.method) != 0) return OkStatus();
  const std::set<std::string> sorted(names->begin(), names->end());
  std::string known;
  for (const std::string& name : sorted) known += (known.empty() ? "" : ", ") + name;
  return InvalidArgument(flags.model + ": has no method '" + flags.method + "'; it has " + known);
}

// Whether a filter left anything of the profile that was asked for.
Status CheckMeasured(const RunnerFlags& flags) {
  if (flags.profile_filter.empty() || flags.profile_level.empty()) return OkStatus();
  for (const auto& engine : profiling::EngineTable::Get().All()) {
    if (engine->Copy().calls != 0) return OkStatus();
  }
  return NotFound("no engine was measured: --profile-filter '" + flags.profile_filter +
                  "' matches none of their ids, or method '" + flags.method + "' calls none");
}

Status WriteOutputs(const std::vector<et::EValue>& outputs, const std::string& folder) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) continue;
    const et::etensor::Tensor& tensor = outputs[i].toTensor();
    const auto type = FromExecuTorch(tensor.scalar_type());
    const std::string path = folder + "/output_" + std::to_string(i) + ".npy";
    if (!type || tensor.dim() > engine::Dims::kMaxRank) {
      return Unsupported(path + ": a tensor of type " + TypeName(tensor.scalar_type()) +
                         " cannot be written");
    }
    TRTSCOPE_RETURN_IF_ERROR(
        WriteNpy(path, *type, DimsOf(tensor.sizes()),
                 {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}));
  }
  return OkStatus();
}

Status WriteEtdump(::executorch::etdump::ETDumpGen& tracer, const std::string& path) {
  const auto result = tracer.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> data(result.buf, &std::free);
  if (result.buf == nullptr || result.size == 0) {
    return Internal(path + ": ExecuTorch gave no trace");
  }
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(result.buf), static_cast<std::streamsize>(result.size));
  file.close();
  if (!file) return Internal(path + ": cannot be written: " + std::strerror(errno));
  std::printf("wrote %s (%zu octets)\n", path.c_str(), result.size);
  return OkStatus();
}

Status Run(const RunnerFlags& flags) {
  TRTSCOPE_RETURN_IF_ERROR(CheckFlags(flags));
  for (const std::string& folder : flags.library_paths) engine::AddLibraryPath(folder);
  TRTSCOPE_RETURN_IF_ERROR(profiling::SetSampleInterval(flags.sample_interval));
  std::unique_ptr<::executorch::etdump::ETDumpGen> owned;
  if (!flags.etdump.empty()) owned = std::make_unique<::executorch::etdump::ETDumpGen>();
  ::executorch::etdump::ETDumpGen* const tracer = owned.get();
  Module module(flags.model, Module::LoadMode::Mmap, std::move(owned));
  std::vector<et::BackendOption> options;
  TRTSCOPE_RETURN_IF_ERROR(SetOptions(flags, options));
  et::LoadBackendOptionsMap map;
  if (et::Error error = map.set_options(kBackendId, {options.data(), options.size()});
      error != et::Error::Ok) {
    return Failed("load-time options", error);
  }
  if (et::Error error = module.load(); error != et::Error::Ok) return Failed(flags.model, error);
  TRTSCOPE_RETURN_IF_ERROR(CheckMethod(module, flags));
  if (et::Error error = module.load_method(flags.method, nullptr, nullptr, &map);
      error != et::Error::Ok) {
    return Failed(flags.model + ": method '" + flags.method + "'", error);
  }
  const auto meta = module.method_meta(flags.method);
  if (!meta.ok()) return Failed(flags.model + ": method '" + flags.method + "'", meta.error());
  TRTSCOPE_ASSIGN_OR_RETURN(const std::vector<TensorPtr> tensors, MakeInputs(*meta, flags));
  TRTSCOPE_ASSIGN_OR_RETURN(const std::vector<TensorPtr> memory,
                            ProvideOutputs(module, *meta, flags));
  std::vector<et::EValue> inputs;
  for (const TensorPtr& tensor : tensors) inputs.emplace_back(*tensor);
  if (flags.inputs.empty()) std::printf("inputs are zeros: pass --inputs for real ones\n");

  std::vector<int64_t> times;
  std::vector<et::EValue> outputs;
  const Interrupt interrupt;  // what was measured until then is reported and written all the same
  for (int i = 0; i < flags.warmup + flags.iterations && Interrupt::signal() == 0; ++i) {
    if (i == flags.warmup && i > 0) {
      profiling::ResetTiming();
      if (tracer != nullptr) tracer->reset();
    }
    const int64_t start = profiling::NowNs();
    auto result = module.execute(flags.method, inputs);
    const int64_t end = profiling::NowNs();
    if (!result.ok()) {
      return Failed(flags.model + ": call " + std::to_string(i), result.error(),
                    UnlikePlanned(*meta, tensors));
    }
    if (i >= flags.warmup) times.push_back(end - start);
    outputs = std::move(*result);
  }
  if (times.empty()) return FailedPrecondition("interrupted in the calls before the measured ones");
  if (Interrupt::signal() != 0) {
    std::fprintf(stderr, "runner: interrupted after %zu of %d calls\n", times.size(),
                 flags.iterations);
  }
  std::sort(times.begin(), times.end());
  std::printf("%s: %zu calls, median %.3f ms, min %.3f ms, max %.3f ms\n", flags.model.c_str(),
              times.size(), static_cast<double>(times[times.size() / 2]) / 1e6,
              static_cast<double>(times.front()) / 1e6, static_cast<double>(times.back()) / 1e6);
  if (!flags.outputs.empty()) TRTSCOPE_RETURN_IF_ERROR(WriteOutputs(outputs, flags.outputs));
  if (tracer != nullptr) TRTSCOPE_RETURN_IF_ERROR(WriteEtdump(*tracer, flags.etdump));
  const Status measured = CheckMeasured(flags);
  if (!flags.profile_level.empty() && measured.ok()) {
    std::printf("%s", profiling::TimingTable().c_str());
  }
  module.unload_method(flags.method);
  const std::string files = profiling::FlushTraces();
  if (!files.empty()) std::printf("traces:\n%s", files.c_str());
  const std::vector<std::string> problems = profiling::Problems();
  return problems.empty() ? measured : Internal(problems.front());
}

}  // namespace
}  // namespace trtscope::executorch_backend

int main(int argc, char** argv) {
  namespace backend = trtscope::executorch_backend;
  ::executorch::runtime::runtime_init();
  auto flags = backend::ParseRunnerFlags({argv + 1, argv + argc});
  if (!flags.ok()) {
    std::fprintf(stderr, "runner: %s\n", std::string(flags.status().message()).c_str());
    return 2;
  }
  if (flags->help) {
    std::printf("%s", std::string(backend::kRunnerUsage).c_str());
    return 0;
  }
  const trtscope::Status status = backend::Run(*flags);
  if (!status.ok()) std::fprintf(stderr, "runner: %s\n", std::string(status.message()).c_str());
  // As of a process that the signal ended.
  if (backend::Interrupt::signal() != 0) return 128 + backend::Interrupt::signal();
  return status.ok() ? 0 : 1;
}
