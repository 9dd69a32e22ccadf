#include "core/runtime/engine_state.h"

#include <charconv>
#include <utility>

#include "core/runtime/base64.h"

namespace trtscope::runtime {
namespace {

constexpr char kSeparator = '%';
constexpr char kAliasSeparator = '@';

// What came, short enough for one line.
std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 48;
  if (text.size() <= kLongest) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kLongest)) + "...' (" + std::to_string(text.size()) +
         " octets)";
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += kSeparator;
    text += parts[i];
  }
  return text;
}

// Reads the fields of one state; every error begins with the engine's name.
class Reader {
 public:
  explicit Reader(const StateFields& fields) : fields_(fields) {}

  Status Bad(StateField::Index field, std::string_view expected) const {
    return InvalidArgument("engine " + Quote(fields_[StateField::kName]) + ": state field " +
                           std::to_string(field) + " (" + std::string(kStateFieldNames[field]) +
                           ") is " + Quote(fields_[field]) + "; expected " + std::string(expected));
  }

  Result<bool> Flag(StateField::Index field) const {
    if (fields_[field] == "0") return false;
    if (fields_[field] == "1") return true;
    return Bad(field, "0 or 1");
  }

  Result<std::vector<std::string>> Names(StateField::Index field) const {
    std::vector<std::string> names = Split(fields_[field], kSeparator);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) return Bad(field, "names joined by '%', none of them empty");
      for (size_t j = 0; j < i; ++j) {
        if (names[i] == names[j]) return Bad(field, "names joined by '%', each once");
      }
    }
    return names;
  }

  Result<int> DeviceOrdinal() const {
    constexpr std::string_view kExpected =
        "id%major%minor%type%name, such as '0%9%0%0%NVIDIA H200'";
    const std::vector<std::string> parts = Split(fields_[StateField::kDevice], kSeparator);
    if (parts.size() < 5) return Bad(StateField::kDevice, kExpected);
    int numbers[4];
    for (int i = 0; i < 4; ++i) {
      const std::string& part = parts[static_cast<size_t>(i)];
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), numbers[i]);
      if (error != std::errc() || end != part.data() + part.size()) {
        return Bad(StateField::kDevice, kExpected);
      }
    }
    if (numbers[0] < 0) return Bad(StateField::kDevice, kExpected);
    return numbers[0];
  }

  Result<std::vector<AliasedIo>> Aliases() const {
    std::vector<AliasedIo> aliases;
    for (const std::string& entry : Split(fields_[StateField::kAliasedIo], kSeparator)) {
      std::vector<std::string> parts = Split(entry, kAliasSeparator);
      if (parts.size() != 3 || parts[0].empty() || parts[1].empty()) {
        return Bad(StateField::kAliasedIo, "out@in@kind entries joined by '%'");
      }
      aliases.push_back({std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
    }
    return aliases;
  }

 private:
  const StateFields& fields_;
};

Status CheckVersion(const StateFields& fields) {
  const std::string versions = "version " + std::string(kStateAbiVersion) + " with " +
                               std::to_string(StateField::kCount) + " strings or version " +
                               std::string(kOldStateAbiVersion) + " with " +
                               std::to_string(kOldStateFieldCount);
  if (fields.empty()) return DataLoss("engine state is an empty list; expected " + versions);
  const std::string_view version = fields[StateField::kAbiVersion];
  const size_t expected = version == kStateAbiVersion      ? size_t{StateField::kCount}
                          : version == kOldStateAbiVersion ? kOldStateFieldCount
                                                           : 0;
  if (expected == 0) {
    return Unsupported("engine state has version " + Quote(version) + " and " +
                       std::to_string(fields.size()) + " strings; this build reads " + versions);
  }
  if (fields.size() != expected) {
    return DataLoss("engine state of version " + std::string(version) + " has " +
                    std::to_string(fields.size()) + " strings; expected " +
                    std::to_string(expected));
  }
  return OkStatus();
}

}  // namespace

std::string_view CurrentPlatform() {
#if defined(__x86_64__)
  return "linux_x86_64";
#elif defined(__aarch64__)
  return "linux_aarch64";
#else
#error "trtscope runs on Linux, x86_64 and aarch64"
#endif
}

Result<EngineState> ParseEngineState(StateFields fields, PlanEncoding encoding) {
  TRTSCOPE_RETURN_IF_ERROR(CheckVersion(fields));
  const bool old = fields.size() == kOldStateFieldCount;
  if (old) fields.resize(StateField::kCount);
  if (old) fields[StateField::kMultiDevice] = "0";

  const Reader reader(fields);
  EngineState state;
  TRTSCOPE_ASSIGN_OR_RETURN(state.device_id, reader.DeviceOrdinal());
  TRTSCOPE_ASSIGN_OR_RETURN(state.input_names, reader.Names(StateField::kInputNames));
  TRTSCOPE_ASSIGN_OR_RETURN(state.output_names, reader.Names(StateField::kOutputNames));
  if (state.output_names.empty()) {
    return reader.Bad(StateField::kOutputNames, "the name of at least one output");
  }
  TRTSCOPE_ASSIGN_OR_RETURN(state.hardware_compatible,
                            reader.Flag(StateField::kHardwareCompatible));
  TRTSCOPE_ASSIGN_OR_RETURN(state.requires_output_allocator,
                            reader.Flag(StateField::kRequiresOutputAllocator));
  TRTSCOPE_ASSIGN_OR_RETURN(bool multi_device, reader.Flag(StateField::kMultiDevice));
  if (multi_device) {
    return reader.Bad(StateField::kMultiDevice, "0: engines that span devices are not supported");
  }
  TRTSCOPE_ASSIGN_OR_RETURN(state.aliased_io, reader.Aliases());
  if (fields[StateField::kTargetPlatform] != CurrentPlatform()) {
    return reader.Bad(StateField::kTargetPlatform,
                      "'" + std::string(CurrentPlatform()) + "', the platform of this process");
  }
  if (fields[StateField::kPlan].empty()) return reader.Bad(StateField::kPlan, "a serialized plan");
  if (encoding == PlanEncoding::kBase64) {
    auto plan = Base64Decode(fields[StateField::kPlan]);
    if (!plan.ok()) {
      return DataLoss("engine " + Quote(fields[StateField::kName]) +
                      ": state field 3 (plan): " + std::string(plan.status().message()));
    }
    state.plan = *std::move(plan);
  } else {
    state.plan = fields[StateField::kPlan];
  }
  state.name = fields[StateField::kName];
  state.device = fields[StateField::kDevice];
  state.metadata = fields[StateField::kMetadata];
  state.target_platform = fields[StateField::kTargetPlatform];
  state.resource_strategy = fields[StateField::kResourceStrategy];
  return state;
}

std::vector<std::string> SerializeEngineState(const EngineState& state) {
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  std::vector<std::string> aliases;
  for (const AliasedIo& alias : state.aliased_io) {
    aliases.push_back(alias.output + kAliasSeparator + alias.input + kAliasSeparator + alias.kind);
  }
  std::vector<std::string> fields(StateField::kCount);
  fields[StateField::kAbiVersion] = kStateAbiVersion;
  fields[StateField::kName] = state.name;
  fields[StateField::kDevice] = state.device;
  fields[StateField::kPlan] = Base64Encode(state.plan);
  fields[StateField::kInputNames] = Join(state.input_names);
  fields[StateField::kOutputNames] = Join(state.output_names);
  fields[StateField::kHardwareCompatible] = flag(state.hardware_compatible);
  fields[StateField::kMetadata] = state.metadata;
  fields[StateField::kTargetPlatform] = state.target_platform;
  fields[StateField::kRequiresOutputAllocator] = flag(state.requires_output_allocator);
  fields[StateField::kResourceStrategy] = state.resource_strategy;
  fields[StateField::kMultiDevice] = flag(false);
  fields[StateField::kAliasedIo] = Join(aliases);
  return fields;
}

}  // namespace trtscope::runtime
