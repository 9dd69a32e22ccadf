// What the loader says when a piece is missing.  Each case runs in a process of its own (a death
// test), for a plugin that was opened once stays open.

#include "core/engine/host/loader.h"

#include <dlfcn.h>
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
  // Any library will do for the one that is there.  A copy: under an emulator a link would lead to
  // where the machine that emulates has none.
  void* const libm = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_NE(libm, nullptr);
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(libm, "cos"), &info), 0);
  fs::copy_file(fs::canonical(info.dli_fname), folder_ / "libexecutorch.so",
                fs::copy_options::overwrite_existing);
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
