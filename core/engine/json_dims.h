#ifndef TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_
#define TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_

// Integers and shapes in JSON that may hold anything, read without exceptions.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::engine {

inline constexpr int64_t kMaxJsonDim = std::numeric_limits<int32_t>::max();
/// Elements of a shape read from JSON stay below this, so that no product of sizes overflows.
inline constexpr int64_t kMaxJsonElements = int64_t{1} << 48;

/// The integer, if it is one from `min` to `max`.
inline std::optional<int64_t> IntegerIn(const nlohmann::json& json, int64_t min, int64_t max) {
  if (!json.is_number_integer()) return std::nullopt;
  // The library keeps unsigned values apart, and reads one above int64's range as negative.
  if (const auto* value = json.get_ptr<const nlohmann::json::number_unsigned_t*>()) {
    if (*value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  }
  const int64_t value = json.get<int64_t>();
  return value < min || value > max ? std::nullopt : std::optional(value);
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
    const std::optional<int64_t> value = IntegerIn(size, smallest, kMaxJsonDim);
    if (!value) {
      return DataLoss(where + " has a size that is not an integer from " +
                      std::to_string(smallest) + " to " + std::to_string(kMaxJsonDim));
    }
    dims[dims.rank++] = *value;
    if (*value > 1 && __builtin_mul_overflow(elements, *value, &elements)) {
      elements = kMaxJsonElements;
    }
    if (elements >= kMaxJsonElements) return DataLoss(where + " has too many elements");
  }
  return dims;
}

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_JSON_DIMS_H_
