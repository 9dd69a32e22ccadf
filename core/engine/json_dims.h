#ifndef TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_
#define TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_

// Integers and shapes in JSON that may hold anything, read without exceptions.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::engine {

inline constexpr int64_t kMaxJsonDim = std::numeric_limits<int32_t>::max();
/// Elements of a shape read from JSON stay below this, so that no product of sizes overflows.
inline constexpr int64_t kMaxJsonElements = int64_t{1} << 48;

/// Whether it is an integer from `min` to `max`; then `value` takes it.
inline bool ReadInteger(const nlohmann::json& json, int64_t min, int64_t max, int64_t& value) {
  if (!json.is_number_integer()) return false;
  // The library keeps unsigned values apart, and reads one above int64's range as negative.
  if (const auto* large = json.get_ptr<const nlohmann::json::number_unsigned_t*>()) {
    if (*large > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
  }
  const int64_t read = json.get<int64_t>();
  if (read < min || read > max) return false;
  value = read;
  return true;
}

/// A list of sizes, each at least `smallest` (-1 admits dynamic ones, which count as 1 element).
/// `where` starts the message.
inline Result<Dims> DimsFromJson(const nlohmann::json& list, const std::string& where,
                                 int64_t smallest) {
  if (!list.is_array() || list.size() > Dims::kMaxRank) {
    return DataLoss(where + " must be a list of at most " + std::to_string(Dims::kMaxRank) +
                    " sizes");
  }
  Dims dims;
  int64_t elements = 1;
  for (const nlohmann::json& size : list) {
    int64_t value = 0;
    if (!ReadInteger(size, smallest, kMaxJsonDim, value)) {
      return DataLoss(where + " has a size that is not an integer from " +
                      std::to_string(smallest) + " to " + std::to_string(kMaxJsonDim));
    }
    dims[dims.rank++] = value;
    if (value > 1 && __builtin_mul_overflow(elements, value, &elements)) {
      elements = kMaxJsonElements;
    }
    if (elements >= kMaxJsonElements) return DataLoss(where + " has too many elements");
  }
  return dims;
}

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_
