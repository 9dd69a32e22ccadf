#include "core/engine/host/bindings.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/engine/json_dims.h"

namespace trtscope::engine::host {
namespace {

using Json = nlohmann::json;

constexpr char kWhere[] = "the program's trtscope_bindings: ";

Status Bad(const std::string& where, const std::string& what) {
  return DataLoss(kWhere + where + " " + what);
}

Result<Dims> DimsAt(const Json& object, const char* key, const std::string& where,
                    int64_t smallest) {
  return DimsFromJson(object[key], kWhere + where + ": '" + key + "'", smallest);
}

bool IsName(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// Name, type and shape; `where` becomes a name for messages.
Result<Binding> ParseBinding(const Json& object, std::string& where) {
  if (!object.is_object()) return Bad(where, "is not an object");
  Binding binding;
  const auto name = object.find("name");
  if (name == object.end() || !name->is_string()) return Bad(where, "has no 'name'");
  binding.name = *name->get_ptr<const std::string*>();
  where += " '" + binding.name + "'";
  if (const auto dtype = object.find("dtype"); dtype != object.end()) {
    const auto* text = dtype->get_ptr<const std::string*>();
    if (text != nullptr) binding.dtype = DataTypeFromName(*text);
    if (!binding.dtype) return Bad(where, "has an unknown 'dtype'");
  }
  if (!object.contains("shape")) return Bad(where, "has no 'shape'");
  TRTSCOPE_ASSIGN_OR_RETURN(binding.shape, DimsAt(object, "shape", where, -1));
  if (const auto dims = object.find("dims"); dims != object.end()) {
    if (!dims->is_array() || dims->size() != static_cast<size_t>(binding.shape.rank)) {
      return Bad(where, "has 'dims' that are not a list as long as 'shape'");
    }
  }
  return binding;
}

Status ParseRange(const Json& object, const std::string& where, Binding& binding) {
  if (!binding.shape.dynamic()) return OkStatus();
  if (!object.contains("min") || !object.contains("max")) {
    return Bad(where, "has a moving dimension and not both of 'min' and 'max'");
  }
  ShapeRange range;
  TRTSCOPE_ASSIGN_OR_RETURN(range.min, DimsAt(object, "min", where, 0));
  TRTSCOPE_ASSIGN_OR_RETURN(range.max, DimsAt(object, "max", where, 0));
  range.opt = range.max;
  if (object.contains("opt")) {
    TRTSCOPE_ASSIGN_OR_RETURN(range.opt, DimsAt(object, "opt", where, 0));
  }
  for (const Dims* dims : {&range.min, &range.opt, &range.max}) {
    bool fits = dims->rank == binding.shape.rank;
    for (int d = 0; fits && d < dims->rank; ++d) {
      fits = binding.shape[d] < 0 ? (*dims)[d] >= range.min[d] && (*dims)[d] <= range.max[d]
                                  : (*dims)[d] == binding.shape[d];
    }
    if (!fits) {
      return Bad(where, "has a range from " + ToString(range.min) + " to " + ToString(range.max) +
                            " that does not fit its shape " + ToString(binding.shape));
    }
  }
  binding.range = range;
  return OkStatus();
}

Status ParseOutputDims(const Json& object, const std::string& where,
                       std::span<const std::string> symbols, Binding& binding) {
  const bool known = object.contains("dims");
  if (!known && binding.shape.dynamic()) return OkStatus();
  for (int d = 0; d < binding.shape.rank; ++d) {
    const Json& dim = known ? object["dims"][static_cast<size_t>(d)] : Json();
    if (const auto* text = dim.get_ptr<const std::string*>();
        text != nullptr && binding.shape[d] < 0) {
      Result<DimExpression> expression = DimExpression::Parse(*text, symbols);
      if (!expression.ok()) return Bad(where + ":", std::string(expression.status().message()));
      binding.dims.push_back(*std::move(expression));
    } else if (binding.shape[d] >= 0) {
      binding.dims.emplace_back(binding.shape[d]);
    } else {
      return Bad(where, "has 'dims' that say nothing about dimension " + std::to_string(d));
    }
  }
  return OkStatus();
}

}  // namespace

Result<Bindings> ParseBindings(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Bad("it", "is not a JSON object");
  if (const auto version = json.find("version"); version != json.end() && *version != 1) {
    return Unsupported(std::string(kWhere) + "it has version " +
                       version->dump(-1, ' ', true, Json::error_handler_t::replace) +
                       "; this release reads version 1");
  }
  for (const char* key : {"inputs", "outputs"}) {
    if (!json.contains(key) || !json[key].is_array()) {
      return Bad("it", "has no list '" + std::string(key) + "'");
    }
  }
  Bindings bindings;
  std::vector<std::string> symbols;
  for (const Json& object : json["inputs"]) {
    const int index = static_cast<int>(bindings.inputs.size());
    std::string where = "input " + std::to_string(index);
    TRTSCOPE_ASSIGN_OR_RETURN(Binding binding, ParseBinding(object, where));
    TRTSCOPE_RETURN_IF_ERROR(ParseRange(object, where, binding));
    for (int d = 0; object.contains("dims") && d < binding.shape.rank; ++d) {
      const auto* symbol = object["dims"][static_cast<size_t>(d)].get_ptr<const std::string*>();
      if (symbol == nullptr || !IsName(*symbol)) continue;
      if (std::find(symbols.begin(), symbols.end(), *symbol) != symbols.end()) continue;
      symbols.push_back(*symbol);
      bindings.symbols.push_back({index, d});
    }
    bindings.inputs.push_back(std::move(binding));
  }
  for (const Json& object : json["outputs"]) {
    std::string where = "output " + std::to_string(bindings.outputs.size());
    TRTSCOPE_ASSIGN_OR_RETURN(Binding binding, ParseBinding(object, where));
    TRTSCOPE_RETURN_IF_ERROR(ParseOutputDims(object, where, symbols, binding));
    bindings.outputs.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace trtscope::engine::host
