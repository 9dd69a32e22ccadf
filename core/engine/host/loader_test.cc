// What the loader says when a piece is missing.  Each case runs in a process of its own (a death
// test), for a plugin that was opened once stays open.

#include "core/engine/host/loader.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/engine/library_paths.h"

namespace trtscope::engine::host {
namespace {

namespace fs = std::filesystem;

class LoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const char* folder = std::getenv("TEST_TMPDIR");
    // The same in the process that a death test starts, which runs this again.
    folder_ = fs::path(folder != nullptr ? folder : "/tmp") / "loader_test" /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void Touch(const std::string& name, const std::string& content = "no library") {
    std::ofstream(folder_ / name) << content;
  }
  // Prints the error of a Load and leaves: what a death test looks at.
  static void LoadAndExit() {
    const std::string plan = "1234ET12";
    LoadOptions options;
    options.name = "x";
    auto engine = LoadEngine(std::as_bytes(std::span(plan.data(), plan.size())), options);
    std::fprintf(stderr, "%s\n", std::string(engine.status().message()).c_str());
    std::_Exit(static_cast<int>(engine.status().code()));
  }
  static testing::ExitedWithCode Exits(StatusCode code) {
    return testing::ExitedWithCode(static_cast<int>(code));
  }
  fs::path folder_;
};

TEST_F(LoaderTest, SaysWhereItLookedForThePlugin) {
  EXPECT_EXIT(
      {
        setenv(kPluginDirVariable, "/nowhere/plugins", 1);
        AddLibraryPath("/nowhere/else");
        LoadAndExit();
      },
      Exits(StatusCode::kNotFound),
      "engine 'x': host engine: libtrtscope_host.so is not in /nowhere/plugins .there is no such "
      "folder., .*/nowhere/else .there is no such folder.; set TRTSCOPE_PLUGIN_DIR");
}

TEST_F(LoaderTest, SaysWhichLibraryOfThePackageIsMissing) {
  Touch("libtrtscope_host.so");
  // Any library will do for the one that is there.
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &libc), 0);
  fs::remove(folder_ / "libexecutorch.so");
  fs::create_symlink(fs::canonical(libc.dli_fname), folder_ / "libexecutorch.so");
  EXPECT_EXIT(
      {
        setenv(kPluginDirVariable, folder_.c_str(), 1);
        setenv(kExecutorchLibVariable, folder_.c_str(), 1);
        LoadAndExit();
      },
      Exits(StatusCode::kNotFound),
      "has libexecutorch.so but not libexecutorch_threadpool.so: .*pip install executorch==");
}

TEST_F(LoaderTest, SaysWhichLibraryCannotBeOpened) {
  Touch("libtrtscope_host.so");
  Touch("libexecutorch.so");
  EXPECT_EXIT(
      {
        setenv(kPluginDirVariable, folder_.c_str(), 1);
        setenv(kExecutorchLibVariable, folder_.c_str(), 1);
        LoadAndExit();
      },
      Exits(StatusCode::kNotFound), "host engine: .*libexecutorch.so cannot be opened: ");
}

TEST_F(LoaderTest, SaysWhatToInstall) {
  Touch("libtrtscope_host.so");
  EXPECT_EXIT(
      {
        setenv(kPluginDirVariable, folder_.c_str(), 1);
        LoadAndExit();
      },
      Exits(StatusCode::kFailedPrecondition),
      "libtrtscope_host.so cannot be opened: .*pip install "
      "executorch==");
}

}  // namespace
}  // namespace trtscope::engine::host
