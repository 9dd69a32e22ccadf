#ifndef TRTSCOPE_CORE_ENGINE_TENSOR_H_
#define TRTSCOPE_CORE_ENGINE_TENSOR_H_

// Shapes, types and bindings: how an engine describes its tensors.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"

namespace trtscope::engine {

enum class DataType : uint8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat64,
  kInt8,
  kUInt8,
  kInt16,
  kInt32,
  kInt64,
  kBool,
  kFloat8E4M3,
  kFloat8E8M0,
  kInt4,    // packed, two an octet
  kFloat4,  // packed, two an octet
};

/// "float32", as torch spells it.
std::string_view Name(DataType type);
std::optional<DataType> DataTypeFromName(std::string_view name);
/// Bits of one element.
int BitWidth(DataType type);

/// A shape of at most 8 dimensions, held in place: comparing or copying one never allocates.  In
/// a binding, -1 is a dimension that the call decides.
struct Dims {
  static constexpr int kMaxRank = 8;
  int32_t rank = 0;
  std::array<int64_t, kMaxRank> d{};

  Dims() = default;
  Dims(std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) d[static_cast<size_t>(rank++)] = size;
  }
  /// `rank` must be at most kMaxRank.
  Dims(const int64_t* sizes, int32_t n) : rank(n) {
    for (int32_t i = 0; i < n; ++i) d[static_cast<size_t>(i)] = sizes[i];
  }
  int64_t operator[](int i) const { return d[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return d[static_cast<size_t>(i)]; }
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  bool dynamic() const {
    for (int32_t i = 0; i < rank; ++i)
      if (d[static_cast<size_t>(i)] < 0) return true;
    return false;
  }
  /// Number of elements; 1 for a scalar.  Meaningless when dynamic().
  int64_t elements() const {
    int64_t n = 1;
    for (int32_t i = 0; i < rank; ++i) n *= d[static_cast<size_t>(i)];
    return n;
  }
};

/// "[2, -1, 64]".
std::string ToString(const Dims& dims);
/// Octets that a dense tensor takes.
size_t ByteSize(const Dims& dims, DataType type);

enum class IoMode : uint8_t { kInput, kOutput };

/// Shapes that one optimization profile admits for one input.
struct ShapeRange {
  Dims min, opt, max;
};
/// Whether every dimension of `shape`, which has the range's rank, lies within it.
bool InRange(const Dims& shape, const ShapeRange& range);

/// One input or output of an engine.
struct TensorInfo {
  std::string name;
  DataType dtype = DataType::kFloat32;
  Dims shape;  // -1: dynamic
  IoMode mode = IoMode::kInput;
  device::DeviceType location = device::DeviceType::kHost;  // where its data must be
  bool shape_tensor = false;    // the engine reads its values on the host to work out shapes
  bool data_dependent = false;  // output whose shape is known only after the enqueue
  std::string aliased_input;    // output that is this input's memory (KV caches); usually empty
  std::vector<ShapeRange> profiles;  // inputs: one an optimization profile, in profile order
};

/// A tensor that a caller brings.  Borrowed: the data stays the caller's.
struct TensorView {
  void* data = nullptr;
  DataType dtype = DataType::kFloat32;
  Dims shape;
  device::DeviceId device;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_TENSOR_H_
