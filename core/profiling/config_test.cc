#include "core/profiling/config.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

using ConfigTest = ProfilingTest;

// The RFC's own validation: set path, format and enabled; check snapshot, getters, generation.
TEST_F(ConfigTest, SettersGiveOneCoherentSnapshotAndEachBumpsTheGeneration) {
  const uint64_t before = Generation();
  ASSERT_TRUE(SetPathPrefix("/tmp/profiles").ok());
  EXPECT_EQ(Generation(), before + 1);
  ASSERT_TRUE(SetFormat("trex").ok());
  EXPECT_EQ(Generation(), before + 2);
  ASSERT_TRUE(SetExecution(true).ok());
  EXPECT_EQ(Generation(), before + 3);

  const Config config = Snapshot();
  EXPECT_EQ(config.path_prefix, "/tmp/profiles");
  EXPECT_EQ(config.format, Format::kTrex);
  EXPECT_EQ(config.level, Level::kLayers);
  EXPECT_EQ(config.generation, before + 3);

  ASSERT_TRUE(SetExecution(false).ok());
  EXPECT_EQ(Generation(), before + 4);
  EXPECT_EQ(Snapshot().level, Level::kOff);
}

TEST_F(ConfigTest, ExecutionKeepsAChosenLevel) {
  ASSERT_TRUE(SetLevel("phases").ok());
  ASSERT_TRUE(SetExecution(true).ok());
  EXPECT_EQ(Snapshot().level, Level::kPhases);
  ASSERT_TRUE(SetExecution(false).ok());
  EXPECT_EQ(Snapshot().level, Level::kOff);
}

TEST_F(ConfigTest, EveryNameInTheTableIsAccepted) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    ASSERT_TRUE(SetLevel(kLevelNames[i]).ok());
    EXPECT_EQ(Snapshot().level, static_cast<Level>(i));
  }
  for (size_t i = 0; i < kFormatNames.size(); ++i) {
    ASSERT_TRUE(SetFormat(kFormatNames[i]).ok());
    EXPECT_EQ(Snapshot().format, static_cast<Format>(i));
  }
}

TEST_F(ConfigTest, RefusalsSayWhatIsAllowedAndChangeNothing) {
  const Config before = Snapshot();
  const auto refused = [](const Status& status, std::string_view part) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.message();
  };
  refused(SetLevel("Layers"), "off, delegate, phases, layers");
  refused(SetLevel(""), "off, delegate, phases, layers");
  refused(SetLevel(static_cast<Level>(9)), "off, delegate, phases, layers");
  refused(SetFormat("json"), "perfetto, trex, etdump");
  refused(SetFormat(std::string(100'000, 'x')), "perfetto, trex, etdump");
  refused(SetPathPrefix(""), "empty");
  refused(SetPathPrefix(std::string_view("/tmp/a\0b", 8)), "zero byte");
  refused(SetFilter(""), "empty");
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(ConfigTest, PathMayBeMissingButNotAFile) {
  EXPECT_TRUE(SetPathPrefix(folder_.path() + "/a/b/c").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/a"));  // made with the first file only
  const std::string file = folder_.path() + "/file";
  std::ofstream(file) << "x";
  for (const std::string& path : {file, file + "/below", file + "/"}) {
    const Status status = SetPathPrefix(path);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << path;
    EXPECT_NE(status.message().find(file), std::string_view::npos) << status.message();
  }
  EXPECT_FALSE(SetPathPrefix(folder_.path() + "/" + std::string(5000, 'x')).ok());
  EXPECT_TRUE(SetPathPrefix("relative/folder").ok());
  EXPECT_TRUE(SetPathPrefix("relative").ok());
}

TEST_F(ConfigTest, PathThatCannotBeWrittenToIsRefused) {
  const std::string closed = folder_.path() + "/closed";
  ASSERT_EQ(::mkdir(closed.c_str(), 0555), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Root writes everywhere by a capability, which a sandboxed root can drop though it cannot
    // become another user.
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capset, &header, none) != 0) ::_exit(1);
    const Status status = CheckPathPrefix(closed + "/x");
    const bool named = status.message().find("cannot be written to") != std::string_view::npos &&
                       status.message().find(closed) != std::string_view::npos;
    ::_exit(named ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(GlobTest, Matches) {
  struct Case {
    const char* glob;
    const char* id;
    bool matches;
  };
  constexpr std::array cases = {
      Case{"*", "", true},
      Case{"*", "anything-0", true},
      Case{"", "", true},
      Case{"", "a", false},
      Case{"a", "a", true},
      Case{"a", "ab", false},
      Case{"a*", "ab", true},
      Case{"*b", "aab", true},
      Case{"*b", "aba", false},
      Case{"a*c*e", "abcde", true},
      Case{"a*c*e", "abcdf", false},
      Case{"a?c", "abc", true},
      Case{"a?c", "ac", false},
      Case{"*encoder.layer.[0-3]*", "run_encoder.layer.2-abc-0", true},
      Case{"*encoder.layer.[0-3]*", "run_encoder.layer.4-abc-0", false},
      Case{"[!a]b", "cb", true},
      Case{"[!a]b", "ab", false},
      Case{"[^a]b", "ab", false},
      Case{"[]a]", "]", true},
      Case{"[a-]", "-", true},
      Case{"[", "[", true},
      Case{"[ab", "a", false},
      Case{"x[ab", "x[ab", true},
      Case{"**", "abc", true},
  };
  for (const Case& c : cases) EXPECT_EQ(GlobMatches(c.glob, c.id), c.matches) << c.glob << c.id;
}

TEST(GlobTest, ManyStarsAreNotExponential) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "a*";
  EXPECT_FALSE(GlobMatches(glob + "b", std::string(5000, 'a')));
}

// Readers while setters run: a snapshot never mixes two states of one field, and the generation
// in it never goes back.
TEST_F(ConfigTest, SnapshotsAreCoherentUnderConcurrentSetters) {
  std::atomic<bool> stop{false};
  const std::string a = folder_.path() + "/" + std::string(100, 'a');
  const std::string b = folder_.path() + "/" + std::string(100, 'b');
  ASSERT_TRUE(SetPathPrefix(a).ok());
  std::thread reader([&] {
    uint64_t last = 0;
    while (!stop) {
      const Config config = Snapshot();
      EXPECT_TRUE(config.path_prefix == a || config.path_prefix == b);
      EXPECT_GE(config.generation, last);
      EXPECT_GE(Generation(), config.generation);
      last = config.generation;
    }
  });
  const uint64_t before = Generation();
  std::thread writer([&] {
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(SetPathPrefix(i % 2 ? a : b).ok());
  });
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(SetFormat(i % 2 ? "trex" : "perfetto").ok());
  writer.join();
  stop = true;
  reader.join();
  EXPECT_EQ(Generation(), before + 1000);
}

// --- the environment, read when the library loads: in a process of its own ---

/// Runs only as a child of the tests below.
TEST(EnvironmentChild, DISABLED_PrintsItsConfiguration) {
  std::cout << "CONFIG " << ConfigJson() << std::endl;
}

struct ChildOutput {
  Json config;
  std::vector<std::string> complaints;
};

ChildOutput RunWithEnvironment(const std::string& assignments) {
  // Not /proc/self/exe: under an emulator that is what this machine cannot run.
  const std::string command = "env " + assignments + " " + program_invocation_name +
                              " --gtest_also_run_disabled_tests"
                              " --gtest_filter=EnvironmentChild.* 2>&1";
  ChildOutput out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> line;
  while (::fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text = line.data();
    if (text.starts_with("CONFIG ")) out.config = Json::parse(text.substr(7));
    if (text.starts_with("trtscope: ")) out.complaints.push_back(text);
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return out;
}

TEST(SampleIntervalTest, TakesCallsAndRefusesTheRest) {
  for (const int64_t calls : {1, 1'000'000, 0}) {
    EXPECT_TRUE(SetSampleInterval(calls).ok());
    EXPECT_EQ(Snapshot().sample_interval, calls);
  }
  for (const int64_t calls : {-1, 1'000'001}) {
    const Status refused = SetSampleInterval(calls);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(refused.message().find(std::to_string(calls)), std::string_view::npos);
    EXPECT_EQ(Snapshot().sample_interval, 0u);
  }
}

TEST(EnvironmentTest, GivesTheInitialValues) {
  const TempFolder folder;
  const ChildOutput child = RunWithEnvironment(
      "TORCHTRT_PROFILE_LEVEL=phases TORCHTRT_PROFILE_FORMAT=trex TORCHTRT_PROFILE_FILTER='a*' "
      "TORCHTRT_PROFILE_SAMPLE_INTERVAL=7 "
      "TORCHTRT_PROFILE_PATH_PREFIX=" +
      folder.path() + "/new");
  EXPECT_EQ(child.config.at("level"), "phases");
  EXPECT_EQ(child.config.at("format"), "trex");
  EXPECT_EQ(child.config.at("filter"), "a*");
  EXPECT_EQ(child.config.at("sample_interval"), 7);
  EXPECT_EQ(child.config.at("path_prefix"), folder.path() + "/new");
  EXPECT_TRUE(child.complaints.empty());
}

TEST(EnvironmentTest, BadValuesAreNamedOnceAndIgnored) {
  const ChildOutput child = RunWithEnvironment(
      "TORCHTRT_PROFILE_LEVEL=loud TORCHTRT_PROFILE_FORMAT=trex "
      "TORCHTRT_PROFILE_SAMPLE_INTERVAL=often "
      "TORCHTRT_PROFILE_PATH_PREFIX=/dev/null/x");
  EXPECT_EQ(child.config.at("level"), "off");
  EXPECT_EQ(child.config.at("format"), "trex");
  EXPECT_NE(child.config.at("path_prefix"), "/dev/null/x");
  EXPECT_EQ(child.config.at("sample_interval"), 0);
  ASSERT_EQ(child.complaints.size(), 3u);
  EXPECT_NE(child.complaints[0].find("TORCHTRT_PROFILE_LEVEL"), std::string::npos);
  EXPECT_NE(child.complaints[0].find("'loud'"), std::string::npos);
  EXPECT_NE(child.complaints[0].find("off, delegate, phases, layers"), std::string::npos);
  EXPECT_NE(child.complaints[1].find("TORCHTRT_PROFILE_PATH_PREFIX"), std::string::npos);
  EXPECT_NE(child.complaints[2].find("TORCHTRT_PROFILE_SAMPLE_INTERVAL"), std::string::npos);
  EXPECT_NE(child.complaints[2].find("'often'"), std::string::npos);
}

TEST(EnvironmentTest, UnsetAndEmptyMeanTheDefaults) {
  const ChildOutput child = RunWithEnvironment("-u TMPDIR TORCHTRT_PROFILE_LEVEL=");
  EXPECT_EQ(child.config.at("level"), "off");
  EXPECT_EQ(child.config.at("format"), "perfetto");
  EXPECT_EQ(child.config.at("filter"), "*");
  EXPECT_EQ(child.config.at("path_prefix"), "/tmp");
  EXPECT_TRUE(child.complaints.empty());
}

}  // namespace
}  // namespace trtscope::profiling
