#include "core/engine/tensor.h"

namespace trtscope::engine {
namespace {

struct TypeRow {
  DataType type;
  std::string_view name;  // torch's spelling
  int bits;
};

// In the enumerators' order, so that a type is its own index.
constexpr TypeRow kTypes[] = {
    {DataType::kFloat32, "float32", 32},
    {DataType::kFloat16, "float16", 16},
    {DataType::kBFloat16, "bfloat16", 16},
    {DataType::kFloat64, "float64", 64},
    {DataType::kInt8, "int8", 8},
    {DataType::kUInt8, "uint8", 8},
    {DataType::kInt16, "int16", 16},
    {DataType::kInt32, "int32", 32},
    {DataType::kInt64, "int64", 64},
    {DataType::kBool, "bool", 8},
    {DataType::kFloat8E4M3, "float8_e4m3fn", 8},
    {DataType::kFloat8E8M0, "float8_e8m0fnu", 8},
    {DataType::kInt4, "int4", 4},
    {DataType::kFloat4, "float4_e2m1fn_x2", 4},
};

constexpr bool InOrder() {
  size_t i = 0;
  for (const TypeRow& row : kTypes)
    if (static_cast<size_t>(row.type) != i++) return false;
  return i == static_cast<size_t>(DataType::kFloat4) + 1;
}
static_assert(InOrder(), "kTypes must list every DataType in order");

}  // namespace

std::string_view Name(DataType type) {
  const auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? kTypes[index].name : "unknown type";
}

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

int BitWidth(DataType type) {
  const auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? kTypes[index].bits : 0;
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

size_t ByteSize(const Dims& dims, DataType type) {
  const auto bits = static_cast<size_t>(dims.elements()) * static_cast<size_t>(BitWidth(type));
  return (bits + 7) / 8;
}

bool InRange(const Dims& shape, const ShapeRange& range) {
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < range.min[i] || shape[i] > range.max[i]) return false;
  }
  return true;
}

}  // namespace trtscope::engine
