#include "executorch_backend/blob.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/engine/json_dims.h"
#include "core/engine/plan.h"
#include "executorch_backend/little_endian.h"

namespace trtscope::executorch_backend {
namespace {

using Json = nlohmann::json;
using Bytes = std::span<const std::byte>;

constexpr size_t kHeaderSize = 32;
constexpr size_t kPlanAlignment = 16;
constexpr size_t kMagicSize = 4;
constexpr std::string_view kMagic = "TR01";
constexpr std::string_view kMagicAliased = "TR02";
constexpr size_t kMetadataOffsetAt = 4;
constexpr size_t kMetadataSizeAt = 8;
constexpr size_t kPlanOffsetAt = 12;
constexpr size_t kPlanSizeAt = 16;
constexpr int64_t kMaxDeviceId = 1023;
// Far above any real model's; keeps a hostile blob from costing more than its own size.
constexpr size_t kMaxBindings = 1 << 16;

std::string_view Text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status Bad(const std::string& field, const std::string& what) {
  return DataLoss("delegate blob: " + field + " " + what);
}

// As much of the value as a message needs.
std::string Shown(const Json& json) {
  if (json.is_structured()) return json.is_array() ? "a list" : "an object";
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return text;
}

Status WrongType(const std::string& field, const char* expected, const Json& found) {
  return Bad("'" + field + "'", "is " + Shown(found) + ", expected " + expected);
}

// Each of these reads one key of an object, where it is there; null counts as not there.
Status ReadString(const Json& object, const char* key, const std::string& prefix,
                  std::string& out) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return OkStatus();
  const auto* text = it->get_ptr<const std::string*>();
  if (text == nullptr) return WrongType(prefix + key, "a string", *it);
  out = *text;
  return OkStatus();
}

Status ReadBool(const Json& object, const char* key, const std::string& prefix, bool& out) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return OkStatus();
  const auto* value = it->get_ptr<const bool*>();
  if (value == nullptr) return WrongType(prefix + key, "true or false", *it);
  out = *value;
  return OkStatus();
}

// The list under `key`, or null where there is none.
Result<const Json*> FindList(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return static_cast<const Json*>(nullptr);
  if (!it->is_array()) return WrongType(key, "a list", *it);
  if (it->size() > kMaxBindings) {
    return Bad("'" + std::string(key) + "'", "has " + std::to_string(it->size()) +
                                                 " entries, expected at most " +
                                                 std::to_string(kMaxBindings));
  }
  return &*it;
}

Result<IoBinding> ParseBinding(const Json& json, const std::string& where) {
  if (!json.is_object()) return WrongType(where, "an object", json);
  const std::string prefix = where + ".";
  IoBinding binding;
  TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "name", prefix, binding.name));
  if (binding.name.empty()) return Bad("'" + where + ".name'", "is missing or empty");
  const auto is_input = json.find("is_input");
  if (is_input == json.end()) return Bad("'" + where + ".is_input'", "is missing");
  TRTSCOPE_RETURN_IF_ERROR(ReadBool(json, "is_input", prefix, binding.is_input));
  std::string dtype;
  TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "dtype", prefix, dtype));
  if (dtype.rfind("torch.", 0) == 0) dtype.erase(0, std::strlen("torch."));
  if (!dtype.empty()) {
    binding.dtype = engine::DataTypeFromName(dtype);
    if (!binding.dtype) {
      return Bad("'" + where + ".dtype'",
                 "is " + Shown(dtype) + ", expected a type as torch spells it, such as float32");
    }
  }
  const auto shape = json.find("shape");
  // An empty list is what exporters write that did not record shapes, as well as a scalar's.
  if (shape != json.end() && !shape->is_null() && !(shape->is_array() && shape->empty())) {
    TRTSCOPE_ASSIGN_OR_RETURN(
        binding.shape, engine::DimsFromJson(*shape, "delegate blob: '" + where + ".shape'", -1));
  }
  return binding;
}

Status ParseBindings(const Json& object, BlobMetadata& metadata) {
  TRTSCOPE_ASSIGN_OR_RETURN(const Json* const list, FindList(object, "io_bindings"));
  if (list == nullptr) return OkStatus();
  std::set<std::pair<bool, std::string>> seen;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = "io_bindings[" + std::to_string(i) + "]";
    TRTSCOPE_ASSIGN_OR_RETURN(IoBinding binding, ParseBinding((*list)[i], where));
    if (!seen.emplace(binding.is_input, binding.name).second) {
      return Bad("'" + where + ".name'", "is " + Shown(binding.name) +
                                             ", which is the name of an " + "earlier " +
                                             (binding.is_input ? "input" : "output") + " too");
    }
    metadata.io_bindings.push_back(std::move(binding));
  }
  return OkStatus();
}

Status ParseAliases(const Json& object, bool aliased, BlobMetadata& metadata) {
  TRTSCOPE_ASSIGN_OR_RETURN(const Json* const list, FindList(object, "aliased_io"));
  if (list == nullptr) return OkStatus();
  if (!aliased && !list->empty()) {
    return Bad("'aliased_io'", "has entries, but the magic is TR01; expected TR02");
  }
  const auto has = [&metadata](const std::string& name, bool is_input) {
    for (const IoBinding& binding : metadata.io_bindings) {
      if (binding.name == name && binding.is_input == is_input) return true;
    }
    return false;
  };
  std::set<std::string> outputs;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string where = "aliased_io[" + std::to_string(i) + "]";
    const Json& json = (*list)[i];
    if (!json.is_object()) return WrongType(where, "an object", json);
    AliasedIo alias;
    TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "output", where + ".", alias.output));
    TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "input", where + ".", alias.input));
    TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "kind", where + ".", alias.kind));
    for (const auto& [key, name, is_input] :
         {std::tuple{"output", &alias.output, false}, std::tuple{"input", &alias.input, true}}) {
      if (!has(*name, is_input)) {
        return Bad("'" + where + "." + key + "'",
                   "is " + Shown(*name) + ", expected the name of an " + key + " in io_bindings");
      }
    }
    if (!outputs.insert(alias.output).second) {
      return Bad("'" + where + ".output'",
                 "is " + Shown(alias.output) + ", which is aliased twice");
    }
    metadata.aliased_io.push_back(std::move(alias));
  }
  return OkStatus();
}

Result<BlobMetadata> ParseMetadata(std::string_view text, bool aliased) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Bad("metadata", "is not JSON");
  if (!json.is_object()) return Bad("metadata", "is " + Shown(json) + ", expected an object");
  BlobMetadata metadata;
  TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "name", "", metadata.name));
  TRTSCOPE_RETURN_IF_ERROR(ParseBindings(json, metadata));
  TRTSCOPE_RETURN_IF_ERROR(ParseAliases(json, aliased, metadata));
  TRTSCOPE_RETURN_IF_ERROR(ReadBool(json, "hardware_compatible", "", metadata.hardware_compatible));
  if (const auto id = json.find("device_id"); id != json.end() && !id->is_null()) {
    int64_t value = 0;
    if (!engine::ReadInteger(*id, 0, kMaxDeviceId, value)) {
      return WrongType("device_id",
                       ("an integer from 0 to " + std::to_string(kMaxDeviceId)).c_str(), *id);
    }
    metadata.device_id = static_cast<int>(value);
  }
  TRTSCOPE_RETURN_IF_ERROR(
      ReadString(json, "serialized_metadata", "", metadata.serialized_metadata));
  TRTSCOPE_RETURN_IF_ERROR(ReadString(json, "target_platform", "", metadata.target_platform));
  return metadata;
}

std::string Escaped(std::string_view bytes) {
  return Json(bytes).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

Result<Blob> ParseBlob(Bytes bytes) {
  if (bytes.empty()) return Bad("it", "is empty: 0 octets");
  const std::string_view magic = Text(bytes).substr(0, kMagicSize);
  Blob blob;
  if (magic != kMagic && magic != kMagicAliased) {
    if (Result<engine::PlanInfo> plan = engine::InspectPlan(bytes); plan.ok()) {
      blob.plan = bytes;
      blob.bare = true;
      return blob;
    }
    return Bad("magic", "is " + Escaped(magic) + ", expected \"TR01\", \"TR02\", or a plan alone");
  }
  if (bytes.size() < kHeaderSize) {
    return Bad("header", "is cut short: the blob has " + std::to_string(bytes.size()) +
                             " octets, expected at least " + std::to_string(kHeaderSize));
  }
  // 64 bits hold the sum of any two of the 32-bit fields; the plan's size is checked by
  // subtraction.
  const uint64_t metadata_offset = ReadLittleEndian<uint32_t>(bytes, kMetadataOffsetAt);
  const uint64_t metadata_size = ReadLittleEndian<uint32_t>(bytes, kMetadataSizeAt);
  const uint64_t plan_offset = ReadLittleEndian<uint32_t>(bytes, kPlanOffsetAt);
  const uint64_t plan_size = ReadLittleEndian<uint64_t>(bytes, kPlanSizeAt);
  const uint64_t size = bytes.size();
  if (metadata_offset < kHeaderSize || metadata_offset > size) {
    return Bad("metadata_offset", "is " + std::to_string(metadata_offset) + ", expected " +
                                      std::to_string(kHeaderSize) + " to the blob's size, " +
                                      std::to_string(size));
  }
  if (metadata_size > size - metadata_offset) {
    return Bad("metadata_size", "is " + std::to_string(metadata_size) + ", but only " +
                                    std::to_string(size - metadata_offset) +
                                    " octets follow metadata_offset " +
                                    std::to_string(metadata_offset));
  }
  if (plan_offset % kPlanAlignment != 0) {
    return Bad("engine_offset", "is " + std::to_string(plan_offset) + ", expected a multiple of " +
                                    std::to_string(kPlanAlignment));
  }
  if (plan_offset < metadata_offset + metadata_size || plan_offset > size) {
    return Bad("engine_offset", "is " + std::to_string(plan_offset) +
                                    ", expected the end of the metadata, " +
                                    std::to_string(metadata_offset + metadata_size) +
                                    ", to the blob's size, " + std::to_string(size));
  }
  if (plan_size == 0 || plan_size > size - plan_offset) {
    return Bad("engine_size", "is " + std::to_string(plan_size) + ", expected 1 to the " +
                                  std::to_string(size - plan_offset) +
                                  " octets that follow engine_offset " +
                                  std::to_string(plan_offset));
  }
  TRTSCOPE_ASSIGN_OR_RETURN(
      blob.metadata,
      ParseMetadata(Text(bytes.subspan(metadata_offset, metadata_size)), magic == kMagicAliased));
  blob.plan = bytes.subspan(plan_offset, plan_size);
  if (Result<engine::PlanInfo> plan = engine::InspectPlan(blob.plan); !plan.ok()) {
    return Bad("engine:", std::string(plan.status().message()));
  }
  return blob;
}

std::vector<std::byte> WriteBlob(const BlobMetadata& metadata, Bytes plan) {
  Json json;
  if (!metadata.name.empty()) json["name"] = metadata.name;
  json["io_bindings"] = Json::array();
  for (const IoBinding& binding : metadata.io_bindings) {
    Json entry = {{"name", binding.name}, {"is_input", binding.is_input}};
    entry["dtype"] = binding.dtype ? std::string(engine::Name(*binding.dtype)) : "";
    entry["shape"] = Json::array();
    if (binding.shape) {
      for (int d = 0; d < binding.shape->rank; ++d) entry["shape"].push_back((*binding.shape)[d]);
    }
    json["io_bindings"].push_back(std::move(entry));
  }
  json["aliased_io"] = Json::array();
  for (const AliasedIo& alias : metadata.aliased_io) {
    json["aliased_io"].push_back(
        {{"output", alias.output}, {"input", alias.input}, {"kind", alias.kind}});
  }
  json["hardware_compatible"] = metadata.hardware_compatible;
  json["device_id"] = metadata.device_id;
  json["serialized_metadata"] = metadata.serialized_metadata;
  json["target_platform"] = metadata.target_platform;
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);

  const size_t plan_offset =
      (kHeaderSize + text.size() + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
  std::vector<std::byte> blob(plan_offset + plan.size());
  const std::string_view magic = metadata.aliased_io.empty() ? kMagic : kMagicAliased;
  std::memcpy(blob.data(), magic.data(), kMagicSize);
  WriteLittleEndian(static_cast<uint32_t>(kHeaderSize), &blob[kMetadataOffsetAt]);
  WriteLittleEndian(static_cast<uint32_t>(text.size()), &blob[kMetadataSizeAt]);
  WriteLittleEndian(static_cast<uint32_t>(plan_offset), &blob[kPlanOffsetAt]);
  WriteLittleEndian(static_cast<uint64_t>(plan.size()), &blob[kPlanSizeAt]);
  std::memcpy(&blob[kHeaderSize], text.data(), text.size());
  if (!plan.empty()) std::memcpy(&blob[plan_offset], plan.data(), plan.size());
  return blob;
}

std::string_view ThisPlatform() {
#if defined(__x86_64__)
  return "linux_x86_64";
#elif defined(__aarch64__)
  return "linux_aarch64";
#else
#error "add this processor's name here"
#endif
}

Status CheckPlatform(const Blob& blob) {
  const std::string& built_for = blob.metadata.target_platform;
  if (built_for.empty() || built_for == ThisPlatform()) return OkStatus();
  TRTSCOPE_ASSIGN_OR_RETURN(const engine::PlanInfo plan, engine::InspectPlan(blob.plan));
  if (plan.kind == engine::PlanKind::kHost || plan.kind == engine::PlanKind::kNull) {
    return OkStatus();
  }
  return Unsupported("delegate blob: 'target_platform' is " + Escaped(built_for) +
                     ", expected this platform, \"" + std::string(ThisPlatform()) +
                     "\": build the engine again for it");
}

}  // namespace trtscope::executorch_backend
