#include "executorch_backend/runner_flags.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace trtscope::executorch_backend {
namespace {

constexpr int kMaxCalls = 1'000'000'000;
constexpr int kMaxInterval = 1'000'000;  // SetSampleInterval's (core/profiling/config.h)

Status ParseCount(const std::string& flag, const std::string& text, int min, int max, int& out) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < min || value > max) {
    return InvalidArgument(flag + ": expected a number from " + std::to_string(min) + " to " +
                           std::to_string(max) + ", got '" + text + "'");
  }
  out = value;
  return OkStatus();
}

}  // namespace

Result<RunnerFlags> ParseRunnerFlags(const std::vector<std::string>& args) {
  RunnerFlags flags;
  const std::pair<std::string_view, std::string*> texts[] = {
      {"--model", &flags.model},
      {"--method", &flags.method},
      {"--outputs", &flags.outputs},
      {"--etdump", &flags.etdump},
      {"--profile-level", &flags.profile_level},
      {"--profile-format", &flags.profile_format},
      {"--profile-path", &flags.profile_path},
      {"--profile-filter", &flags.profile_filter},
      {"--weight-streaming-budget", &flags.weight_streaming_budget},
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help" || args[i] == "-h") {
      flags.help = true;
      return flags;
    }
    std::string flag = args[i], value;
    if (const size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (++i < args.size()) {
      value = args[i];
    } else {
      return InvalidArgument(flag + ": expected a value after it (--help lists the options)");
    }
    bool known = false;
    for (const auto& [name, text] : texts) {
      if (flag != name) continue;
      *text = value;
      known = true;
    }
    if (flag == "--iterations") {
      TRTSCOPE_RETURN_IF_ERROR(ParseCount(flag, value, 1, kMaxCalls, flags.iterations));
    } else if (flag == "--warmup") {
      TRTSCOPE_RETURN_IF_ERROR(ParseCount(flag, value, 0, kMaxCalls, flags.warmup));
    } else if (flag == "--sample-interval") {
      TRTSCOPE_RETURN_IF_ERROR(ParseCount(flag, value, 0, kMaxInterval, flags.sample_interval));
    } else if (flag == "--library-path") {
      flags.library_paths.push_back(value);
    } else if (flag == "--inputs") {
      for (size_t start = 0; start <= value.size();) {
        const size_t comma = std::min(value.find(',', start), value.size());
        flags.inputs.push_back(value.substr(start, comma - start));
        start = comma + 1;
      }
    } else if (!known) {
      return InvalidArgument(flag + ": unknown option (--help lists them)");
    }
  }
  if (flags.model.empty()) return InvalidArgument("--model: expected the .pte file to run");
  return flags;
}

}  // namespace trtscope::executorch_backend
