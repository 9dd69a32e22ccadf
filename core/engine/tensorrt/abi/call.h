#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_ABI_CALL_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_ABI_CALL_H_

// How a method of a TensorRT object is called without TensorRT's headers.
//
// A public object (IRuntime, ICudaEngine, ...) is {void** vtable; void* impl}; its own vtable
// holds its two destructors.  Methods are virtuals of *impl, reached by slot.  In the Itanium C++
// ABI a method is a C function whose first argument is the object, and a Dims returned by value
// is a C struct returned by value, so plain function pointers are enough.
//
// abi_generated.h, written from third_party/tensorrt/abi, holds the slots and one typed class an
// interface on top of Object.  Nothing here is thread-safe beyond what TensorRT itself is.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/engine/tensor.h"

namespace trtscope::engine::tensorrt::abi {

/// Releases that share one append-only layout.
enum class Family : uint8_t { k8_6, k10, k11 };
inline constexpr size_t kFamilyCount = 3;

/// Where one family keeps a method.
struct Place {
  int16_t slot = -1;  // -1: the family has no such method
  int16_t since = 0;  // major * 100 + minor of the release that added it
};

struct MethodInfo {
  const char* interface;
  const char* name;
  std::array<Place, kFamilyCount> places;
};

/// What a slot of a callback interface is for.
enum class Role : uint8_t {
  kCompleteDestructor,
  kDeletingDestructor,
  kGetApiLanguage,
  kGetInterfaceInfo,
  kGetInterfaceVersion,
  kLog,
  kReportLayerTime,
  kReallocateOutput,
  kReallocateOutputAsync,
  kNotifyShape,
};
inline constexpr size_t kRoleCount = 10;

/// The vtable of a callback interface, which we implement and TensorRT calls.
struct CallbackLayout {
  int8_t size;
  std::array<int8_t, kRoleCount> slots;  // by Role; -1: not there
  constexpr int slot(Role role) const { return slots[static_cast<size_t>(role)]; }
};

/// Dims as the families pass them.
struct Dims32 {
  int32_t nbDims;
  int32_t d[8];
};
struct Dims64 {
  int32_t nbDims;
  int64_t d[8];
};
static_assert(sizeof(Dims32) == 36 && sizeof(Dims64) == 72);

/// What IVersionedInterface::getInterfaceInfo returns.
struct InterfaceInfo {
  const char* kind;
  int32_t major;
  int32_t minor;
};

/// A rank outside [0, 8], TensorRT's way to say "unknown", becomes -1.
template <typename Wide>
Dims FromAbi(const Wide& wide) {
  Dims dims;
  dims.rank = wide.nbDims < 0 || wide.nbDims > Dims::kMaxRank ? -1 : wide.nbDims;
  for (int32_t i = 0; i < dims.rank; ++i) dims[i] = wide.d[i];
  return dims;
}

template <typename Wide>
Wide ToAbi(const Dims& dims) {
  Wide wide{};
  wide.nbDims = dims.rank;
  for (int32_t i = 0; i < dims.rank; ++i) {
    wide.d[i] = static_cast<std::remove_reference_t<decltype(wide.d[0])>>(dims[i]);
  }
  return wide;
}

enum class Method : uint16_t;  // abi_generated.h

/// The layout of one opened library: its family, narrowed to its release.  Immutable.
class Layout {
 public:
  /// `version` is major * 100 + minor.
  Layout(Family family, int version) : family_(family), version_(version) {}

  Family family() const { return family_; }
  int version() const { return version_; }
  /// 32-bit dimensions: family 8.6 only.
  bool dims32() const { return family_ == Family::k8_6; }

  bool Has(Method method) const;
  /// "TensorRT 8.6 has no ICudaEngine::setWeightStreamingBudgetV2", with the release that added
  /// it where that is known.
  std::string Lacks(Method method) const;
  /// The method's slot.  Calling a method that is not there would jump to a wild address, so it
  /// ends the process with Lacks() instead: callers ask Has() first wherever releases differ.
  int Slot(Method method) const;

 private:
  Family family_;
  int version_;
};

namespace internal {

template <typename Wide, typename T>
struct Argument {
  using Type = T;
  T value;
  T get() const { return value; }
};
template <typename Wide>
struct Argument<Wide, Dims> {
  using Type = Wide;
  explicit Argument(const Dims& dims) : value(ToAbi<Wide>(dims)) {}
  Wide value;
  Wide get() const { return value; }
};
template <typename Wide>
struct Argument<Wide, const Dims&> {
  using Type = const Wide*;
  explicit Argument(const Dims& dims) : value(ToAbi<Wide>(dims)) {}
  Wide value;
  const Wide* get() const { return &value; }
};

template <typename T>
inline constexpr bool kIsDims = std::is_same_v<std::remove_cvref_t<T>, Dims>;

template <typename Wide, typename R, typename... A>
R InvokeAs(void* impl, int slot, A... args) {
  void* entry = (*static_cast<void***>(impl))[slot];
  if constexpr (kIsDims<R>) {
    using Function = Wide (*)(void*, typename Argument<Wide, A>::Type...);
    return FromAbi(reinterpret_cast<Function>(entry)(impl, Argument<Wide, A>{args}.get()...));
  } else {
    using Function = R (*)(void*, typename Argument<Wide, A>::Type...);
    return reinterpret_cast<Function>(entry)(impl, Argument<Wide, A>{args}.get()...);
  }
}

}  // namespace internal

/// A borrowed reference to a TensorRT object.  Copyable; owns nothing.
class Object {
 public:
  Object() = default;
  Object(void* object, const Layout* layout) : object_(object), layout_(layout) {}

  /// Whether there is an object.  TensorRT returns the address of a member of its implementation,
  /// and where that could not be made (no CUDA driver: 8.6, 10.16 and 11.4 alike) a small number
  /// instead of null, so everything in the first page counts as none.
  explicit operator bool() const { return reinterpret_cast<uintptr_t>(object_) >= 4096; }
  /// The public object, as TensorRT's own arguments want it.
  void* get() const { return object_; }
  const Layout& layout() const { return *layout_; }

  /// Deletes the object.  None is fine.
  void Destroy() {
    if (!*this) return;
    using Deleter = void (*)(void*);
    reinterpret_cast<Deleter>((*static_cast<void***>(object_))[1])(object_);
    object_ = nullptr;
  }

 protected:
  template <typename R, typename... A>
  R Invoke(Method method, A... args) const {
    void* impl = static_cast<void**>(object_)[1];
    const int slot = layout_->Slot(method);
    if constexpr (internal::kIsDims<R> || (internal::kIsDims<A> || ...)) {
      if (layout_->dims32()) return internal::InvokeAs<Dims32, R, A...>(impl, slot, args...);
    }
    return internal::InvokeAs<Dims64, R, A...>(impl, slot, args...);
  }

 private:
  void* object_ = nullptr;
  const Layout* layout_ = nullptr;
};

}  // namespace trtscope::engine::tensorrt::abi

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_ABI_CALL_H_
