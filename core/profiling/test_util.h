#ifndef TRTSCOPE_CORE_PROFILING_TEST_UTIL_H_
#define TRTSCOPE_CORE_PROFILING_TEST_UTIL_H_

// Shared by the tests of this room: a folder of one's own, settings that are put back, and
// traces read back through a JSON library that is not the code under test.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/profiling/config.h"
#include "core/profiling/engine_profile.h"
#include "core/profiling/names.h"
#include "core/profiling/report.h"

namespace trtscope::profiling {

using Json = nlohmann::json;

inline std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A folder that is removed with everything in it.
class TempFolder {
 public:
  TempFolder() : TempFolder(::getenv("TEST_TMPDIR")) {}
  /// In another folder than the test's own, whose path may be too long; null: /tmp.
  explicit TempFolder(const char* base) {
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/profilingXXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

  /// Full paths of the files in it whose names end in `suffix`, sorted.
  std::vector<std::string> Files(std::string_view suffix = "") const { return In(path_, suffix); }
  static std::vector<std::string> In(const std::string& folder, std::string_view suffix) {
    std::vector<std::string> out;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      if (entry.path().string().ends_with(suffix)) out.push_back(entry.path().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::string path_;
};

/// Starts from the defaults with traces in a folder of its own, and puts the defaults back.
class ProfilingTest : public testing::Test {
 protected:
  ProfilingTest() {
    Defaults();
    EXPECT_TRUE(SetPathPrefix(folder_.path()).ok());
    FlushTraces();
    ResetTiming();
  }
  ~ProfilingTest() override {
    Defaults();
    FlushTraces();
    ResetTiming();
  }
  static void Defaults() {
    EXPECT_TRUE(SetLevel(Level::kOff).ok());
    EXPECT_TRUE(SetFormat("perfetto").ok());
    EXPECT_TRUE(SetFilter("*").ok());
    EXPECT_TRUE(SetPathPrefix("/tmp").ok());
  }

  TempFolder folder_;
};

inline std::shared_ptr<EngineProfile> NewEngine(const std::string& name, uint64_t hash = 0xabcdef) {
  return EngineProfile::Register({name, hash, "null", "torch"});
}

/// One call as an executor makes it.
inline void RunCall(EngineProfile& engine, int layers = 0, bool failed = false) {
  CallRecorder recorder(engine);
  recorder.Enter(Phase::kInputBinding);
  recorder.Enter(Phase::kOutputBinding);
  recorder.Enter(Phase::kEnqueueHost);
  if (recorder.layers()) {
    for (int i = 0; i < layers; ++i) {
      recorder.layer_sink().OnLayer(("layer" + std::to_string(i)).c_str(), -1, 1000 + i);
    }
  }
  recorder.Leave();
  if (failed) recorder.MarkFailed();
}

/// The row of the engine in TimingJson(), or null.
inline Json EngineRow(const std::string& id) {
  const Json timing = Json::parse(TimingJson());
  for (const Json& row : timing.at("engines")) {
    if (row.at("id") == id) return row;
  }
  return nullptr;
}

inline uint64_t Calls(const std::string& id) {
  const Json row = EngineRow(id);
  return row.is_null() ? 0 : row.at("calls").get<uint64_t>();
}

/// Whether `bytes` are packets of a Perfetto trace, all of them whole; what is in them is looked
/// at in //tests/perfetto.
inline bool WholePackets(std::string_view bytes) {
  while (!bytes.empty()) {
    if (bytes[0] != '\x0a') return false;
    size_t length = 0;
    size_t at = 1;
    for (bool more = true; more; ++at) {
      if (at == bytes.size() || at > 5) return false;
      length |= static_cast<size_t>(bytes[at] & 0x7f) << (7 * (at - 1));
      more = (bytes[at] & 0x80) != 0;
    }
    if (bytes.size() - at < length) return false;
    bytes.remove_prefix(at + length);
  }
  return true;
}

/// Whether a finished file of any kind is valid in form.
inline bool IsWhole(const std::string& path) {
  const std::string bytes = ReadText(path);
  return path.ends_with(kProcessTraceSuffix) ? !bytes.empty() && WholePackets(bytes)
                                             : Json::accept(bytes);
}

/// The events of a finished trace with this phase letter ("X", "M", ...); all when empty.
inline std::vector<Json> Events(const std::string& path, std::string_view ph = "X") {
  std::vector<Json> out;
  const Json all = Json::parse(ReadText(path), nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(all.is_array()) << path;
  if (!all.is_array()) return out;
  for (const Json& event : all) {
    if (ph.empty() || event.at("ph") == ph) out.push_back(event);
  }
  return out;
}

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_TEST_UTIL_H_
