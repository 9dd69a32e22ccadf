// Registers the backend and the GPUs' memory when the library is loaded, and the C interface.

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include <string>

#include "executorch_backend/backend.h"
#include "executorch_backend/caller_stream.h"
#include "executorch_backend/cuda_allocator.h"
#include "executorch_backend/last_error.h"
#include "executorch_backend/options.h"
#include "executorch_backend/program_file.h"
#include "executorch_backend/trtscope_executorch.h"

namespace {

namespace et = ::executorch::runtime;
namespace backend = trtscope::executorch_backend;

et::Error Register() {
  // Anything of ExecuTorch's may be used before main: the log, the clock.
  et::runtime_init();
  backend::RegisterCudaAllocator();
  return et::register_backend(et::Backend{backend::kBackendId, &backend::TheBackend()});
}

const et::Error registered = Register();

int Kept(const trtscope::Status& status) {
  backend::Keep(status);
  return status.ok() ? 1 : 0;
}

}  // namespace

extern "C" {

const char* trtscope_executorch_load_error(void) {
  if (registered == et::Error::Ok) return nullptr;
  if (registered == et::Error::InvalidArgument) {
    return "another library has registered the backend TensorRTBackend in this process, or 16 "
           "backends are registered already";
  }
  static const std::string* const message =
      new std::string("ExecuTorch refused the backend TensorRTBackend with error " +
                      std::to_string(static_cast<unsigned>(registered)));
  return message->c_str();
}

const char* trtscope_executorch_last_error(void) { return backend::LastError(); }
void trtscope_executorch_clear_last_error(void) { backend::ClearLastError(); }

int trtscope_executorch_check_program(const char* path) {
  if (path == nullptr) return Kept(trtscope::InvalidArgument("the program's path is null"));
  return Kept(backend::CheckProgramFile(path));
}

int trtscope_executorch_check_option(const char* key, const char* value) {
  if (key == nullptr || value == nullptr) {
    return Kept(trtscope::InvalidArgument("an option's key or value is null"));
  }
  return Kept(backend::CheckOption(key, value));
}

void trtscope_executorch_set_load_option(const char* key, const char* value) {
  if (key != nullptr && value != nullptr) backend::SetThreadLoadOption(key, value);
}

void trtscope_executorch_clear_load_options(void) { backend::ClearThreadLoadOptions(); }

void trtscope_executorch_set_cuda_stream(void* stream) {
  backend::CallerStream() =
      trtscope::device::StreamRef{trtscope::device::DeviceType::kCuda, stream};
}

void trtscope_executorch_clear_stream(void) { backend::CallerStream().reset(); }

}  // extern "C"
