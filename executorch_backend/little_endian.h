#ifndef TRTSCOPE_EXECUTORCH_BACKEND_LITTLE_ENDIAN_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_LITTLE_ENDIAN_H_

// Numbers of files, octet by octet: the same on every machine, at any alignment.

#include <cstddef>
#include <cstdint>
#include <span>

namespace trtscope::executorch_backend {

/// The number at octet `at`; all of its octets must be there.
template <typename T>
T ReadLittleEndian(std::span<const std::byte> bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value =
        static_cast<T>(value | static_cast<T>(std::to_integer<uint8_t>(bytes[at + i])) << (8 * i));
  }
  return value;
}

template <typename T>
void WriteLittleEndian(T value, std::byte* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_LITTLE_ENDIAN_H_
