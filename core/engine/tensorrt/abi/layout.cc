#include <cstdio>
#include <cstdlib>

#include "core/engine/tensorrt/abi/abi_generated.h"

namespace trtscope::engine::tensorrt::abi {
namespace {

std::string Release(int version) {
  return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

const MethodInfo& Info(Method method) { return kMethods[static_cast<size_t>(method)]; }

}  // namespace

bool Layout::Has(Method method) const {
  const Place& place = Info(method).places[static_cast<size_t>(family_)];
  return place.slot >= 0 && place.since <= version_;
}

std::string Layout::Lacks(Method method) const {
  const MethodInfo& info = Info(method);
  std::string text =
      "TensorRT " + Release(version_) + " has no " + info.interface + "::" + info.name;
  // The first release, in this family or a later one, that has it.
  for (size_t f = static_cast<size_t>(family_); f < kFamilyCount; ++f) {
    if (info.places[f].slot < 0) continue;
    return text + " (added in " + Release(info.places[f].since) + ")";
  }
  return text;
}

int Layout::Slot(Method method) const {
  if (!Has(method)) [[unlikely]] {
    std::fprintf(stderr, "trtscope: %s, but it was called\n", Lacks(method).c_str());
    std::abort();
  }
  return Info(method).places[static_cast<size_t>(family_)].slot;
}

}  // namespace trtscope::engine::tensorrt::abi
