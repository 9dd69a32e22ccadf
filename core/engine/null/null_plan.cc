#include "core/engine/null/null_plan.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/engine/json_dims.h"

namespace trtscope::engine {
namespace {

using Json = nlohmann::json;

constexpr size_t kMagic = 4;  // "null"
constexpr int64_t kMaxLayers = 1'000'000;

Status Bad(const std::string& where, const std::string& what) {
  return DataLoss("null plan: " + where + " " + what);
}

// An integer of the object, or `fallback` where there is none.
Result<int64_t> Integer(const Json& object, const char* key, int64_t fallback, int64_t min,
                        int64_t max) {
  const auto it = object.find(key);
  if (it == object.end()) return fallback;
  int64_t value = 0;
  if (!ReadInteger(*it, min, max, value)) {
    return Bad("'" + std::string(key) + "'",
               "must be an integer from " + std::to_string(min) + " to " + std::to_string(max) +
                   ", got " + it->dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  return value;
}

Result<Dims> Shape(const Json& list, const std::string& where, int64_t smallest) {
  return DimsFromJson(list, "null plan: " + where, smallest);
}

// Name and type; `where` becomes a name for messages.
Result<TensorInfo> Named(const Json& object, std::string& where) {
  if (!object.is_object()) return Bad(where, "is not an object");
  TensorInfo info;
  const auto name = object.find("name");
  if (name == object.end() || !name->is_string()) return Bad(where, "has no 'name'");
  info.name = *name->get_ptr<const std::string*>();
  where += " '" + info.name + "'";
  if (const auto dtype = object.find("dtype"); dtype != object.end()) {
    const auto* text = dtype->get_ptr<const std::string*>();
    const std::optional<DataType> type = text ? DataTypeFromName(*text) : std::nullopt;
    if (!type) return Bad(where, "has an unknown 'dtype'" + (text ? " '" + *text + "'" : ""));
    info.dtype = *type;
  }
  return info;
}

Status ParseInput(const Json& object, size_t index, device::DeviceType location, NullPlan& plan) {
  std::string where = "input " + std::to_string(index);
  TRTSCOPE_ASSIGN_OR_RETURN(TensorInfo info, Named(object, where));
  info.mode = IoMode::kInput;
  info.location = location;
  if (!object.contains("shape")) return Bad(where, "has no 'shape'");
  TRTSCOPE_ASSIGN_OR_RETURN(info.shape, Shape(object["shape"], where + ": 'shape'", -1));

  ShapeRange range{info.shape, info.shape, info.shape};
  for (int d = 0; d < info.shape.rank; ++d) {
    if (info.shape[d] >= 0) continue;
    range.min[d] = 0;
    range.opt[d] = 1;
    range.max[d] = kMaxJsonDim;
  }
  const std::pair<const char*, Dims*> parts[] = {
      {"min", &range.min}, {"opt", &range.opt}, {"max", &range.max}};
  for (const auto& [key, dims] : parts) {
    if (!object.contains(key)) continue;
    TRTSCOPE_ASSIGN_OR_RETURN(*dims, Shape(object[key], where + ": '" + key + "'", 0));
    bool fits = dims->rank == info.shape.rank;
    for (int d = 0; fits && d < dims->rank; ++d) {
      fits = info.shape[d] < 0 || (*dims)[d] == info.shape[d];
    }
    if (!fits) return Bad(where + ": '" + key + "'", "does not fit " + ToString(info.shape));
  }
  for (int d = 0; d < info.shape.rank; ++d) {
    if (range.min[d] > range.max[d]) return Bad(where, "has a 'min' above its 'max'");
  }
  info.profiles.push_back(range);
  plan.tensors.push_back(std::move(info));
  return OkStatus();
}

Status ParseOutput(const Json& object, size_t index, device::DeviceType location, NullPlan& plan) {
  std::string where = "output " + std::to_string(index);
  TRTSCOPE_ASSIGN_OR_RETURN(TensorInfo info, Named(object, where));
  info.mode = IoMode::kOutput;
  info.location = location;
  int64_t like = -1;
  Dims actual;
  if (object.contains("like")) {
    TRTSCOPE_ASSIGN_OR_RETURN(like, Integer(object, "like", -1, 0, plan.input_count - 1));
    info.shape = plan.tensors[static_cast<size_t>(like)].shape;
  } else if (object.contains("shape")) {
    TRTSCOPE_ASSIGN_OR_RETURN(info.shape, Shape(object["shape"], where + ": 'shape'", -1));
    info.data_dependent = object.contains("data_dependent");
    if (info.data_dependent) {
      TRTSCOPE_ASSIGN_OR_RETURN(actual,
                                Shape(object["data_dependent"], where + ": 'data_dependent'", 0));
    } else if (info.shape.dynamic()) {
      return Bad(where, "has the dynamic shape " + ToString(info.shape) +
                            " and neither 'like' nor 'data_dependent'");
    }
  } else {
    return Bad(where, "has neither 'shape' nor 'like'");
  }
  plan.tensors.push_back(std::move(info));
  plan.like.push_back(static_cast<int>(like));
  plan.actual.push_back(actual);
  return OkStatus();
}

}  // namespace

Result<NullPlan> ParseNullPlan(std::span<const std::byte> bytes, device::DeviceType location) {
  if (bytes.size() < kMagic) return Bad("it", "is shorter than its magic");
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const Json json = Json::parse(text + kMagic, text + bytes.size(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return Bad("what follows 'null'", "is not a JSON object");

  NullPlan plan;
  for (const char* key : {"inputs", "outputs"}) {
    if (json.contains(key) && !json[key].is_array()) {
      return Bad("'" + std::string(key) + "'", "is not a list");
    }
  }
  if (json.contains("inputs")) {
    for (const Json& input : json["inputs"]) {
      TRTSCOPE_RETURN_IF_ERROR(ParseInput(input, plan.tensors.size(), location, plan));
    }
  }
  plan.input_count = static_cast<int>(plan.tensors.size());
  if (json.contains("outputs")) {
    for (const Json& output : json["outputs"]) {
      TRTSCOPE_RETURN_IF_ERROR(ParseOutput(output, plan.like.size(), location, plan));
    }
  }

  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  TRTSCOPE_ASSIGN_OR_RETURN(const int64_t layers, Integer(json, "layers", 0, 0, kMaxLayers));
  TRTSCOPE_ASSIGN_OR_RETURN(plan.layer_ns, Integer(json, "layer_ns", 1000, 0, kMax));
  TRTSCOPE_ASSIGN_OR_RETURN(plan.delay_us, Integer(json, "delay_us", 0, 0, kMax));
  if (plan.delay_us > 0 && location != device::DeviceType::kHost) {
    return Unsupported("null plan: 'delay_us' works on the host only");
  }
  for (int64_t i = 0; i < layers; ++i) plan.layers.push_back("layer_" + std::to_string(i));
  if (json.contains("enqueue_error")) {
    const auto* error = json["enqueue_error"].get_ptr<const std::string*>();
    if (error == nullptr) return Bad("'enqueue_error'", "is not a string");
    plan.enqueue_error = *error;
  }
  return plan;
}

}  // namespace trtscope::engine
