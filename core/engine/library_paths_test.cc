#include "core/engine/library_paths.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace trtscope::engine {
namespace {

TEST(LibraryPaths, KeepsOrderAndDropsRepeats) {
  const size_t before = LibraryPaths().size();
  trtscope_add_library_path("/a/first/");
  trtscope_add_library_path("/a/second");
  trtscope_add_library_path("/a/first");
  trtscope_add_library_path("");
  trtscope_add_library_path(nullptr);
  const std::vector<std::string> paths = LibraryPaths();
  ASSERT_EQ(paths.size(), before + 2);
  EXPECT_EQ(paths[before], "/a/first");
  EXPECT_EQ(paths[before + 1], "/a/second");
}

TEST(LibraryPaths, ManyThreads) {
  const size_t before = LibraryPaths().size();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        AddLibraryPath("/thread/" + std::to_string(i));
        (void)LibraryPaths();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(LibraryPaths().size(), before + 100);
}

}  // namespace
}  // namespace trtscope::engine
