// A tool that listens through NVTX: writes what it hears to the file that FAKE_NVTX_LOG names,
// one line an event,
//
//   THREAD DOMAIN push TEXT
//   THREAD DOMAIN pop
//
// with backslashes and line ends of TEXT escaped.

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>

// A domain and a registered string are pointers to the text that made them.
struct nvtxDomainRegistration_st {
  std::string name;
};
struct nvtxStringRegistration_st {
  std::string text;
};

namespace {

std::mutex mutex;
std::FILE* out = nullptr;

void Say(nvtxDomainHandle_t domain, const std::string& event) {
  const std::lock_guard lock(mutex);
  std::fprintf(out, "%ld %s %s\n", ::syscall(SYS_gettid), domain->name.c_str(), event.c_str());
  std::fflush(out);
}

// Kept until the process ends, as NVTX promises.
nvtxDomainHandle_t CreateDomain(const char* name) {
  static auto* const domains = new std::deque<nvtxDomainRegistration_st>;
  const std::lock_guard lock(mutex);
  return &domains->emplace_back(nvtxDomainRegistration_st{name});
}

nvtxStringHandle_t RegisterString(nvtxDomainHandle_t, const char* text) {
  static auto* const strings = new std::deque<nvtxStringRegistration_st>;
  const std::lock_guard lock(mutex);
  return &strings->emplace_back(nvtxStringRegistration_st{text});
}

int Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  std::string text = "push ";
  if (event->version != NVTX_VERSION || event->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE ||
      event->messageType != NVTX_MESSAGE_TYPE_REGISTERED) {
    text += "(attributes that are not those expected)";
  } else {
    for (const char c : event->message.registered->text) {
      if (c == '\\') text += '\\';
      text += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
  }
  Say(domain, text);
  return 0;
}

int Pop(nvtxDomainHandle_t domain) {
  Say(domain, "pop");
  return 0;
}

template <typename Function>
void Set(NvtxFunctionTable table, int at, Function function) {
  *table[at] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get) {
  const char* path = std::getenv("FAKE_NVTX_LOG");
  out = path != nullptr ? std::fopen(path, "w") : nullptr;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (out == nullptr || callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainCreateA) {
    return 0;
  }
  Set(table, NVTX_CBID_CORE2_DomainCreateA, &CreateDomain);
  Set(table, NVTX_CBID_CORE2_DomainRegisterStringA, &RegisterString);
  Set(table, NVTX_CBID_CORE2_DomainRangePushEx, &Push);
  Set(table, NVTX_CBID_CORE2_DomainRangePop, &Pop);
  return 1;
}
