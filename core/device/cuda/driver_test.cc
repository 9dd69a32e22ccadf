#include "core/device/cuda/driver.h"

// CUDA's own declarations, and none of its macros that rename entry points.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace trtscope::device::cuda {
namespace {

/// Whether two parameter types are the same to the calling convention: handles are pointers to
/// different opaque types, enums are integers.
template <typename A, typename B>
constexpr bool SameParameter() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    return true;
  } else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return false;
  } else {
    constexpr bool integers = (std::is_integral_v<A> || std::is_enum_v<A>) &&
                              (std::is_integral_v<B> || std::is_enum_v<B>);
    return integers && sizeof(A) == sizeof(B);
  }
}

template <typename A, typename B>
struct SameFunction : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
struct SameFunction<RA (*)(A...), RB (*)(B...)>
    : std::bool_constant<sizeof...(A) == sizeof...(B) && SameParameter<RA, RB>()> {
  static constexpr bool Parameters() {
    if constexpr (sizeof...(A) == sizeof...(B)) return (SameParameter<A, B>() && ...);
    return false;
  }
};

TEST(Driver, DeclarationsMatchCudasHeaders) {
#define TRTSCOPE_CHECK(name, args)                                             \
  {                                                                            \
    using Same = SameFunction<decltype(Driver::name), decltype(&::name)>;      \
    static_assert(Same::value, #name " returns something else or takes more"); \
    static_assert(Same::Parameters(), #name " takes other arguments");         \
  }
  TRTSCOPE_CUDA_DRIVER_FUNCTIONS(TRTSCOPE_CHECK)
#undef TRTSCOPE_CHECK
  EXPECT_EQ(kSuccess, static_cast<int>(::CUDA_SUCCESS));
  EXPECT_EQ(kOutOfMemory, static_cast<int>(::CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(kNotReady, static_cast<int>(::CUDA_ERROR_NOT_READY));
  EXPECT_EQ(kAttributeComputeMajor,
            static_cast<int>(::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(kAttributeComputeMinor,
            static_cast<int>(::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(kStreamNonBlocking, static_cast<unsigned>(::CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(kEventDisableTiming, static_cast<unsigned>(::CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(kCaptureModeThreadLocal, static_cast<int>(::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

TEST(Driver, VersionText) {
  EXPECT_EQ(VersionText(12080), "12.8");
  EXPECT_EQ(VersionText(13000), "13.0");
}

}  // namespace
}  // namespace trtscope::device::cuda
