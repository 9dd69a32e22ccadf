#include "executorch_backend/options.h"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <variant>

#include "core/profiling/config.h"

namespace trtscope::executorch_backend {
namespace {

using ::executorch::runtime::kMaxOptionValueLength;
using OptionText = std::array<char, kMaxOptionValueLength>;

constexpr std::string_view kOwnPrefix = "torchtrt_";
constexpr std::array<std::string_view, 4> kProfileKeys = {kLevelKey, kFormatKey, kPathPrefixKey,
                                                          kFilterKey};

// "a, b or c"
std::string ProfileKeys() {
  std::string known;
  for (size_t i = 0; i < kProfileKeys.size(); ++i) {
    if (i > 0) known += i + 1 == kProfileKeys.size() ? " or " : ", ";
    known += kProfileKeys[i];
  }
  return known;
}

// Where an option came from, for messages, and what it says.
struct Given {
  std::string_view source;
  std::string_view key;
  std::string text;
};

std::string Label(std::string_view source, std::string_view key) {
  return std::string(source) + " '" + std::string(key) + "'";
}

Status Wrong(const Given& given, std::string_view why) {
  return InvalidArgument(Label(given.source, given.key) + ": " + std::string(why));
}

bool IsOwn(std::string_view key) {
  return key.substr(0, kOwnPrefix.size()) == kOwnPrefix || key == kWeightStreamingKey ||
         key == kTargetDeviceKey;
}

// The key, which may fill its array without a zero.
std::string_view KeyOf(const BackendOption& option) {
  return {option.key, strnlen(option.key, sizeof(option.key))};
}

// ExecuTorch cuts strings to fit the array without a word, so one that fills it may be the start
// of something longer.
Result<Given> FromBackendOption(std::string_view source, const BackendOption& option) {
  Given given{source, KeyOf(option), ""};
  if (const auto* text = std::get_if<OptionText>(&option.value)) {
    const size_t length = strnlen(text->data(), text->size());
    if (length >= kMaxOptionValueLength - 1) {
      return Wrong(given, "its value takes " + std::to_string(kMaxOptionValueLength - 1) +
                              " characters or more, which ExecuTorch cuts off; expected at most " +
                              std::to_string(kMaxOptionValueLength - 2));
    }
    given.text.assign(text->data(), length);
  } else if (const auto* number = std::get_if<int>(&option.value)) {
    if (given.key != kWeightStreamingKey) {
      return Wrong(given, "expected a string, got the integer " + std::to_string(*number));
    }
    given.text = std::to_string(*number);
  } else {
    const bool value = std::get<bool>(option.value);
    return Wrong(given, std::string("expected ") +
                            (given.key == kWeightStreamingKey ? "an integer" : "a string") +
                            ", got the bool " + (value ? "true" : "false"));
  }
  return given;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<device::DeviceId> ParseDevice(const Given& given) {
  const std::string_view text = given.text;
  if (text == "cpu" || text == "host") return device::DeviceId{};
  constexpr std::string_view kCuda = "cuda";
  if (text.substr(0, kCuda.size()) == kCuda) {
    const std::string_view rest = text.substr(kCuda.size());
    if (rest.empty()) return device::DeviceId{device::DeviceType::kCuda, 0};
    const auto index =
        rest[0] == ':' ? ParseInteger(rest.substr(1)) : std::optional<int64_t>(std::nullopt);
    if (index && *index >= 0 && *index <= 1023) {
      return device::DeviceId{device::DeviceType::kCuda, static_cast<int>(*index)};
    }
  }
  return Wrong(given, "expected cuda:N or cpu, got '" + given.text + "'");
}

Status Apply(const Given& given, MethodOptions& options) {
  if (given.key == kLevelKey) {
    Result<profiling::Level> level = profiling::ParseLevel(given.text);
    if (!level.ok()) return Wrong(given, level.status().message());
    options.profile.level = *level;
  } else if (given.key == kFormatKey) {
    Result<profiling::Format> format = profiling::ParseFormat(given.text);
    if (!format.ok()) return Wrong(given, format.status().message());
    options.profile.format = *format;
  } else if (given.key == kPathPrefixKey) {
    if (Status status = profiling::CheckPathPrefix(given.text); !status.ok()) {
      return Wrong(given, status.message());
    }
    options.profile.path_prefix = given.text;
  } else if (given.key == kFilterKey) {
    if (given.text.empty()) return Wrong(given, "expected a glob over engine ids, got nothing");
    options.filter = given.text;
  } else if (given.key == kWeightStreamingKey) {
    const std::optional<int64_t> budget = ParseInteger(given.text);
    if (!budget || *budget < 0) {
      return Wrong(given, "expected octets, an integer of 0 or more, got '" + given.text + "'");
    }
    options.weight_streaming_budget = *budget;
  } else if (given.key == kTargetDeviceKey) {
    TRTSCOPE_ASSIGN_OR_RETURN(options.target_device, ParseDevice(given));
  } else {
    return Wrong(given, "unknown; expected " + ProfileKeys());
  }
  return OkStatus();
}

std::vector<std::pair<std::string, std::string>>& ThreadLoadOptions() {
  thread_local std::vector<std::pair<std::string, std::string>> options;
  return options;
}

OptionText ToOptionText(std::string_view text) {
  OptionText out{};
  std::memcpy(out.data(), text.data(), text.size());
  return out;
}

}  // namespace

Result<MethodOptions> ReadMethodOptions(
    ::executorch::runtime::Span<const BackendOption> runtime,
    ::executorch::runtime::ArrayRef<CompileSpec> compile_specs) {
  MethodOptions options;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key == nullptr || !IsOwn(spec.key)) continue;
    Given given{"compile spec", spec.key, ""};
    if (spec.value.buffer != nullptr) {
      given.text.assign(static_cast<const char*>(spec.value.buffer), spec.value.nbytes);
    }
    // Written from C, a string comes with its zero.
    if (!given.text.empty() && given.text.back() == '\0') given.text.pop_back();
    TRTSCOPE_RETURN_IF_ERROR(Apply(given, options));
  }
  for (const auto& [key, value] : ThreadLoadOptions()) {
    if (!IsOwn(key)) continue;
    TRTSCOPE_RETURN_IF_ERROR(Apply(Given{"load-time option", key, value}, options));
  }
  for (const BackendOption& option : runtime) {
    if (!IsOwn(KeyOf(option))) continue;
    TRTSCOPE_ASSIGN_OR_RETURN(const Given given, FromBackendOption("load-time option", option));
    TRTSCOPE_RETURN_IF_ERROR(Apply(given, options));
  }
  if (options.profile.level && !options.profile.format) {
    options.profile.format = profiling::Format::kEtdump;
  }
  return options;
}

Status CheckOption(const std::string& key, const std::string& value) {
  MethodOptions ignored;
  return Apply(Given{"option", key, value}, ignored);
}

void SetThreadLoadOption(std::string key, std::string value) {
  for (auto& [known, old] : ThreadLoadOptions()) {
    if (known == key) {
      old = std::move(value);
      return;
    }
  }
  ThreadLoadOptions().emplace_back(std::move(key), std::move(value));
}

void ClearThreadLoadOptions() { ThreadLoadOptions().clear(); }

Status SetProcessOptions(::executorch::runtime::Span<const BackendOption> options) {
  MethodOptions wanted;
  for (const BackendOption& option : options) {
    const std::string_view key = KeyOf(option);
    if (key == kWeightStreamingKey || key == kTargetDeviceKey) {
      return Unsupported("option '" + std::string(key) +
                         "' is for one method: give it when the method is loaded");
    }
    if (!IsOwn(key)) {
      return InvalidArgument("option '" + std::string(key) + "' is unknown; expected " +
                             ProfileKeys());
    }
    TRTSCOPE_ASSIGN_OR_RETURN(const Given given, FromBackendOption("option", option));
    TRTSCOPE_RETURN_IF_ERROR(Apply(given, wanted));
  }
  // The level last: engines open their traces under the new format and path.
  if (wanted.profile.path_prefix) {
    TRTSCOPE_RETURN_IF_ERROR(profiling::SetPathPrefix(*wanted.profile.path_prefix));
  }
  if (wanted.profile.format) {
    TRTSCOPE_RETURN_IF_ERROR(profiling::SetFormat(profiling::Name(*wanted.profile.format)));
  }
  if (wanted.filter) TRTSCOPE_RETURN_IF_ERROR(profiling::SetFilter(*wanted.filter));
  if (wanted.profile.level) TRTSCOPE_RETURN_IF_ERROR(profiling::SetLevel(*wanted.profile.level));
  return OkStatus();
}

Status GetProcessOptions(::executorch::runtime::Span<BackendOption> options) {
  const profiling::Config config = profiling::Snapshot();
  for (BackendOption& option : options) {
    const std::string_view key = KeyOf(option);
    std::string_view value;
    if (key == kLevelKey) {
      value = profiling::Name(config.level);
    } else if (key == kFormatKey) {
      value = profiling::Name(config.format);
    } else if (key == kPathPrefixKey) {
      value = config.path_prefix;
    } else if (key == kFilterKey) {
      value = config.filter;
    } else {
      return NotFound("option '" + std::string(key) + "' is unknown; expected " + ProfileKeys());
    }
    if (value.size() >= kMaxOptionValueLength - 1) {
      return Unsupported(Label("option", key) + ": its value has " + std::to_string(value.size()) +
                         " characters, more than an ExecuTorch option holds");
    }
    option.value = ToOptionText(value);
  }
  return OkStatus();
}

}  // namespace trtscope::executorch_backend
