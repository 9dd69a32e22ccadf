#ifndef TRTSCOPE_TESTS_FAKES_FAKE_VTABLE_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_VTABLE_H_

// TensorRT's objects from the other side: vtables filled by method, and calls of callbacks.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/engine/tensorrt/abi/abi_generated.h"

namespace trtscope::fakes {

namespace abi = engine::tensorrt::abi;

/// What the caller of a TensorRT function gets: the first two words of a public class.
struct PublicObject {
  void* const* vtable;
  void* impl;
};

template <size_t kSlot>
void NotFaked(void*) {
  std::fprintf(stderr, "fake TensorRT: slot %zu, which the fake does not have, was called\n",
               kSlot);
  std::abort();
}

/// A vtable in which every slot ends the process, until it is filled.
class FakeVTable {
 public:
  static constexpr size_t kSlots = 64;

  explicit FakeVTable(abi::Layout layout) : layout_(layout) {
    Fill(std::make_index_sequence<kSlots>());
  }
  /// Ignored where this release has no such method.
  template <typename R, typename Self, typename... A>
  FakeVTable& Set(abi::Method method, R (*function)(Self*, A...)) {
    if (layout_.Has(method)) {
      slots_[static_cast<size_t>(layout_.Slot(method))] = reinterpret_cast<void*>(function);
    }
    return *this;
  }
  void* const* get() const { return slots_.data(); }

 private:
  template <size_t... kSlot>
  void Fill(std::index_sequence<kSlot...>) {
    slots_ = {reinterpret_cast<void*>(&NotFaked<kSlot>)...};
  }
  abi::Layout layout_;
  std::array<void*, kSlots> slots_;
};

/// Calls a callback object of the application by its role.
template <typename R, typename... A>
R CallBack(const abi::CallbackLayout& layout, abi::Role role, void* object, A... arguments) {
  void* function = (*static_cast<void***>(object))[layout.slot(role)];
  return reinterpret_cast<R (*)(void*, A...)>(function)(object, arguments...);
}

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_VTABLE_H_
