#include "core/engine/tensorrt/version.h"

#include <charconv>

namespace trtscope::engine::tensorrt {

std::string_view Name(Flavour flavour) {
  switch (flavour) {
    case Flavour::kFull:
      return "full";
    case Flavour::kLean:
      return "lean";
    case Flavour::kDispatch:
      return "dispatch";
    case Flavour::kRtx:
      return "rtx";
  }
  return "unknown";
}

std::string ToString(const Version& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

Version DecodeLibraryVersion(int32_t number) {
  const int32_t unit = number < 10000 ? 1000 : 10000;
  return {number / unit, number % unit / 100, number % 100};
}

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *part);
    if (error != std::errc() || *part < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (part == &version.patch) return version;
    if (text.empty() || text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace trtscope::engine::tensorrt
