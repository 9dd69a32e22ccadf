#include "core/profiling/nvtx.h"

#include <mutex>
#include <string>

// CUDA is opened where TRTSCOPE_CUDA says and by nobody else: not to look for a tool in it.
#define NVTX_SUPPORT_CUDA_DRIVER_INJECTION_LIBRARY 0
#include <nvtx3/nvToolsExt.h>

#include "core/profiling/paged_file.h"
#include "core/profiling/utf8.h"

namespace trtscope::profiling::nvtx {

constinit std::atomic<void*> internal::domain{nullptr};

namespace {

nvtxDomainHandle_t Domain() {
  return static_cast<nvtxDomainHandle_t>(internal::domain.load(std::memory_order_acquire));
}

}  // namespace

void Open() {
  static std::once_flag once;
  std::call_once(once, [] { internal::domain.store(nvtxDomainCreateA("trtscope")); });
}

Name Register(std::string_view text) {
  // It travels as a C string, which a zero byte would end.
  std::string valid = ValidUtf8(text, kMaxNameBytes);
  for (char& c : valid) {
    if (c == '\0') c = ' ';
  }
  return Name{nvtxDomainRegisterStringA(Domain(), valid.c_str())};
}

void Push(Name name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = static_cast<nvtxStringHandle_t>(name.handle);
  nvtxDomainRangePushEx(Domain(), &attributes);
}

void Pop() { nvtxDomainRangePop(Domain()); }

}  // namespace trtscope::profiling::nvtx
