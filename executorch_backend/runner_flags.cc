#include "executorch_backend/runner_flags.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace trtscope::executorch_backend {
namespace {

constexpr int kMaxCalls = 1'000'000'000;
constexpr int kMaxInterval = 1'000'000;  // SetSampleInterval's (core/profiling/config.h)

struct TextFlag {
  std::string_view name;
  std::string* out;
};

struct CountFlag {
  std::string_view name;
  int min, max;
  int* out;
};

Status ParseCount(const CountFlag& flag, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < flag.min ||
      value > flag.max) {
    return InvalidArgument(std::string(flag.name) + ": expected a number from " +
                           std::to_string(flag.min) + " to " + std::to_string(flag.max) +
                           ", got '" + text + "'");
  }
  *flag.out = value;
  return OkStatus();
}

Status ParseFiles(const std::string& text, std::vector<std::string>& files) {
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    if (comma == start) {
      return InvalidArgument("--inputs: expected names of files with commas between them, got '" +
                             text + "'");
    }
    files.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return OkStatus();
}

}  // namespace

Result<RunnerFlags> ParseRunnerFlags(const std::vector<std::string>& args) {
  RunnerFlags flags;
  const TextFlag texts[] = {
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
  const CountFlag counts[] = {
      {"--iterations", 1, kMaxCalls, &flags.iterations},
      {"--warmup", 0, kMaxCalls, &flags.warmup},
      {"--sample-interval", 0, kMaxInterval, &flags.sample_interval},
  };
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help" || args[i] == "-h") {
      flags.help = true;
      return flags;
    }
    const size_t equals = std::min(args[i].find('='), args[i].size());
    const std::string flag = args[i].substr(0, equals);
    const auto is_flag = [&](const auto& known) { return known.name == flag; };
    const auto text = std::find_if(std::begin(texts), std::end(texts), is_flag);
    const auto count = std::find_if(std::begin(counts), std::end(counts), is_flag);
    const bool list = flag == "--library-path" || flag == "--inputs";
    if (text == std::end(texts) && count == std::end(counts) && !list) {
      return InvalidArgument(flag + ": unknown option (--help lists them)");
    }
    const bool attached = equals < args[i].size();
    if (!attached && i + 1 == args.size()) {
      return InvalidArgument(flag + ": expected a value after it (--help lists the options)");
    }
    const std::string value = attached ? args[i].substr(equals + 1) : args[++i];
    if (value.empty()) return InvalidArgument(flag + ": its value is empty");
    if (text != std::end(texts)) *text->out = value;
    if (count != std::end(counts)) TRTSCOPE_RETURN_IF_ERROR(ParseCount(*count, value));
    if (flag == "--library-path") flags.library_paths.push_back(value);
    if (flag == "--inputs") TRTSCOPE_RETURN_IF_ERROR(ParseFiles(value, flags.inputs));
  }
  if (flags.model.empty()) return InvalidArgument("--model: expected the .pte file to run");
  return flags;
}

}  // namespace trtscope::executorch_backend
