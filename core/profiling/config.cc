#include "core/profiling/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "core/profiling/config_internal.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/tracer.h"

namespace trtscope::profiling {

namespace internal {
constinit std::atomic<uint64_t> global_generation{0};
}

namespace {

template <size_t N>
std::string List(const std::array<std::string_view, N>& names) {
  std::string out;
  for (std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

/// A value as it appears in a message: quoted and cut, since it may be anything.
std::string Quoted(std::string_view value) {
  constexpr size_t kMax = 200;
  std::string out = "'";
  out.append(value.substr(0, kMax));
  out += value.size() > kMax ? "...'" : "'";
  return out;
}

Result<uint32_t> CheckSampleInterval(int64_t calls) {
  constexpr int64_t kMax = 1'000'000;
  if (calls >= 0 && calls <= kMax) return static_cast<uint32_t>(calls);
  return InvalidArgument("sample interval " + std::to_string(calls) +
                         " is not a number of calls: expected 1 to " + std::to_string(kMax) +
                         ", or 0 to choose by cost");
}

Result<uint32_t> ParseSampleInterval(std::string_view text) {
  int64_t calls = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), calls);
  if (error == std::errc() && end == text.data() + text.size()) return CheckSampleInterval(calls);
  return InvalidArgument("sample interval " + Quoted(text) + " is not an integer");
}

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

/// The configuration and its mutex.  Never destroyed: engines may outlive every static object.
struct Store {
  std::mutex mu;
  Config config;  // guarded by mu

  Store() {
    config.path_prefix = TemporaryFolder();
    ReadEnvironment();
  }

  void ReadEnvironment() {
    const auto read = [](std::string_view variable, const std::function<Status(const char*)>& set) {
      const char* value = std::getenv(std::string(variable).c_str());
      if (value == nullptr || *value == '\0') return;
      if (Status status = set(value); !status.ok()) {
        PrintLine("environment variable " + std::string(variable) +
                  " is ignored: " + std::string(status.message()));
      }
    };
    read(kEnvLevel, [this](const char* value) -> Status {
      TRTSCOPE_ASSIGN_OR_RETURN(config.level, ParseLevel(value));
      return OkStatus();
    });
    read(kEnvFormat, [this](const char* value) -> Status {
      TRTSCOPE_ASSIGN_OR_RETURN(config.format, ParseFormat(value));
      return OkStatus();
    });
    read(kEnvPathPrefix, [this](const char* value) -> Status {
      TRTSCOPE_RETURN_IF_ERROR(CheckPathPrefix(value));
      config.path_prefix = value;
      return OkStatus();
    });
    read(kEnvFilter, [this](const char* value) -> Status {
      config.filter = value;
      return OkStatus();
    });
    read(kEnvSampleInterval, [this](const char* value) -> Status {
      TRTSCOPE_ASSIGN_OR_RETURN(config.sample_interval, ParseSampleInterval(value));
      return OkStatus();
    });
  }
};

Store& GetStore() {
  static Store* const store = new Store;
  return *store;
}

// Reads the environment when the library is loaded, before anything can change it.
[[maybe_unused]] const Store& load_time_read = GetStore();

/// Changes the configuration with `change`, which returns whether a value became another one,
/// publishes a new generation, and then finishes the traces that the change ends.
template <typename Change>
void Update(Change change) {
  Store& store = GetStore();
  bool changed;
  {
    std::lock_guard<std::mutex> lock(store.mu);
    changed = change(store.config);
    ++store.config.generation;
    internal::global_generation.store(store.config.generation, std::memory_order_release);
  }
  // Outside the mutex: this drains rings and writes files.
  if (changed) Tracer::Get().FinishAfterGlobalChange();
}

template <typename T>
bool Assign(T& field, T value) {
  if (field == value) return false;
  field = std::move(value);
  return true;
}

/// Matches one `[...]` class at glob[at]; sets `next` past it.  An unclosed one is a literal '['.
bool ClassMatches(std::string_view glob, size_t at, char c, size_t& next, bool& closed) {
  size_t i = at + 1;
  const bool negated = i < glob.size() && (glob[i] == '!' || glob[i] == '^');
  if (negated) ++i;
  bool found = false;
  const size_t first = i;
  for (; i < glob.size() && (glob[i] != ']' || i == first); ++i) {
    const auto low = static_cast<unsigned char>(glob[i]);
    if (i + 2 < glob.size() && glob[i + 1] == '-' && glob[i + 2] != ']') {
      const auto high = static_cast<unsigned char>(glob[i + 2]);
      const auto value = static_cast<unsigned char>(c);
      found |= low <= value && value <= high;
      i += 2;
    } else {
      found |= glob[i] == c;
    }
  }
  closed = i < glob.size();
  next = i + 1;
  return found != negated;
}

}  // namespace

namespace internal {

void LockConfig() { GetStore().mu.lock(); }
void UnlockConfig() { GetStore().mu.unlock(); }
void BumpGenerationLocked() {
  Store& store = GetStore();
  ++store.config.generation;
  global_generation.store(store.config.generation, std::memory_order_release);
}

}  // namespace internal

Config Snapshot() {
  Store& store = GetStore();
  std::lock_guard<std::mutex> lock(store.mu);
  return store.config;
}

Result<Level> ParseLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<Level>(i);
  }
  return InvalidArgument("profile level " + Quoted(name) + " is not one of: " + List(kLevelNames));
}

Result<Format> ParseFormat(std::string_view name) {
  for (size_t i = 0; i < kFormatNames.size(); ++i) {
    if (kFormatNames[i] == name) return static_cast<Format>(i);
  }
  return InvalidArgument("profile format " + Quoted(name) +
                         " is not one of: " + List(kFormatNames));
}

Status CheckPathPrefix(std::string_view folder) {
  if (folder.empty()) {
    return InvalidArgument("profile path prefix is empty: expected the folder for trace files");
  }
  if (folder.find('\0') != std::string_view::npos) {
    return InvalidArgument("profile path prefix holds a zero byte: " +
                           Quoted(folder.substr(0, folder.find('\0'))));
  }
  // The closest ancestor that exists decides, since the rest is made with the first file.
  std::string at(folder);
  for (;;) {
    struct stat info;
    if (::stat(at.c_str(), &info) == 0) {
      if (!S_ISDIR(info.st_mode)) {
        return InvalidArgument("profile path prefix " + Quoted(folder) + ": " + Quoted(at) +
                               " is a file, expected a folder");
      }
      if (::faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        return InvalidArgument("profile path prefix " + Quoted(folder) + ": folder " + Quoted(at) +
                               " cannot be written to (" + ErrorText(errno) + ")");
      }
      return OkStatus();
    }
    if (errno != ENOENT && errno != ENOTDIR) {
      return InvalidArgument("profile path prefix " + Quoted(folder) + ": " + Quoted(at) + ": " +
                             ErrorText(errno));
    }
    if (at == "." || at == "/") return OkStatus();  // not reachable on a sane system
    if (at.size() > 1 && at.back() == '/') {
      at.pop_back();  // "file/" is not there, but "file" may be
      continue;
    }
    const size_t slash = at.rfind('/');
    if (slash == std::string::npos) {
      at = ".";
    } else {
      at.resize(slash == 0 ? 1 : slash);
    }
  }
}

Status SetLevel(Level level) {
  if (static_cast<size_t>(level) >= kLevelNames.size()) {
    return InvalidArgument("profile level " + std::to_string(static_cast<int>(level)) +
                           " is not one of: " + List(kLevelNames));
  }
  Update([&](Config& config) { return Assign(config.level, level); });
  return OkStatus();
}

Status SetLevel(std::string_view name) {
  TRTSCOPE_ASSIGN_OR_RETURN(const Level level, ParseLevel(name));
  return SetLevel(level);
}

Status SetFormat(std::string_view name) {
  TRTSCOPE_ASSIGN_OR_RETURN(const Format format, ParseFormat(name));
  Update([&](Config& config) { return Assign(config.format, format); });
  return OkStatus();
}

Status SetPathPrefix(std::string_view folder) {
  TRTSCOPE_RETURN_IF_ERROR(CheckPathPrefix(folder));
  Update([&](Config& config) { return Assign(config.path_prefix, std::string(folder)); });
  return OkStatus();
}

Status SetFilter(std::string_view glob) {
  if (glob.empty()) {
    return InvalidArgument("profile filter is empty: expected a glob over engine ids, such as *");
  }
  Update([&](Config& config) { return Assign(config.filter, std::string(glob)); });
  return OkStatus();
}

Status SetSampleInterval(int64_t calls) {
  TRTSCOPE_ASSIGN_OR_RETURN(const uint32_t interval, CheckSampleInterval(calls));
  Update([&](Config& config) { return Assign(config.sample_interval, interval); });
  return OkStatus();
}

Status SetByName(std::string_view name, std::string_view value) {
  if (name == "level") return SetLevel(value);
  if (name == "format") return SetFormat(value);
  if (name == "path_prefix") return SetPathPrefix(value);
  if (name == "filter") return SetFilter(value);
  if (name == "sample_interval") {
    TRTSCOPE_ASSIGN_OR_RETURN(const uint32_t interval, ParseSampleInterval(value));
    return SetSampleInterval(interval);
  }
  return InvalidArgument("setting " + Quoted(name) +
                         " is not one of: level, format, path_prefix, filter, sample_interval");
}

Status SetExecution(bool enabled) {
  Update([&](Config& config) {
    if (enabled && config.level != Level::kOff) return false;
    return Assign(config.level, enabled ? Level::kLayers : Level::kOff);
  });
  return OkStatus();
}

bool GlobMatches(std::string_view glob, std::string_view id) {
  // Greedy with one backtracking point, the last star: linear in practice, never exponential.
  size_t g = 0;
  size_t i = 0;
  size_t star = std::string_view::npos;
  size_t star_i = 0;
  while (i < id.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_i = i;
      continue;
    }
    if (g < glob.size()) {
      size_t next = g + 1;
      bool matches;
      if (glob[g] == '[') {
        bool closed;
        matches = ClassMatches(glob, g, id[i], next, closed);
        if (!closed) {
          matches = id[i] == '[';
          next = g + 1;
        }
      } else {
        matches = glob[g] == '?' || glob[g] == id[i];
      }
      if (matches) {
        g = next;
        ++i;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    g = star + 1;
    i = ++star_i;
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace trtscope::profiling
