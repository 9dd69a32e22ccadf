#include "core/profiling/json_array_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <string>

#include "core/profiling/files.h"
#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

std::string Element(int n, size_t padding) {
  return "{\"n\":" + std::to_string(n) + ",\"pad\":\"" + std::string(padding, 'x') + "\"}";
}

TEST(JsonArrayFileTest, GrowsAsPartialAndIsRenamedWhenFinished) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.trace";
  JsonArrayFile file;
  ASSERT_TRUE(file.Open(path, "{\"first\":1}").ok());
  EXPECT_FALSE(FileExists(path));
  EXPECT_EQ(Json::parse(ReadText(path + ".partial") + "]").size(), 1u);
  file.Append("{\"second\":2}");
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(folder.Files(), std::vector<std::string>{path});
  EXPECT_EQ(Json::parse(ReadText(path)), Json::parse(R"([{"first":1},{"second":2}])"));
}

// What a kill leaves is a prefix that ends at a page: every such prefix must be an array but for
// its bracket.
TEST(JsonArrayFileTest, NoElementCrossesAPage) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.trace";
  JsonArrayFile file;
  ASSERT_TRUE(file.Open(path, "{}").ok());
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    file.Append(Element(i, random() % (i % 50 ? 300 : 4000)));
    if (i % 7 == 0) {
      ASSERT_TRUE(file.Flush().ok());
    }
  }
  const std::string last = Element(2000, JsonArrayFile::kMaxElement - 20);
  ASSERT_LE(last.size(), JsonArrayFile::kMaxElement);
  file.Append(last);
  ASSERT_TRUE(file.Flush().ok());
  const std::string text = ReadText(path + ".partial");
  for (size_t end = 4096; end <= text.size(); end += 4096) {
    ASSERT_TRUE(Json::accept(text.substr(0, end) + "]")) << "cut at " << end;
  }
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(Json::parse(ReadText(path)).size(), 2002u);
}

TEST(JsonArrayFileTest, NeverTakesAnExistingName) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.trace";
  for (const char* suffix : {"", ".partial", ".opening"}) {
    std::ofstream(path + suffix) << "precious";
    JsonArrayFile file;
    EXPECT_EQ(file.Open(path, "{}").code(), StatusCode::kFailedPrecondition) << suffix;
    EXPECT_EQ(ReadText(path + suffix), "precious");
    std::filesystem::remove(path + suffix);
    EXPECT_TRUE(folder.Files().empty());
  }
}

TEST(JsonArrayFileTest, AbandonWritesNothing) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.trace";
  JsonArrayFile file;
  ASSERT_TRUE(file.Open(path, "{}").ok());
  file.Append("{\"never\":1}");
  file.Abandon();
  EXPECT_EQ(ReadText(path + ".partial"), "[\n{}");
  EXPECT_FALSE(file.Flush().ok());
}

// Four files an engine: a model of a hundred engines must not take the process's descriptors.
TEST(JsonArrayFileTest, ManyFilesHoldFewDescriptors) {
  const TempFolder folder;
  constexpr size_t kFiles = 400;
  const auto descriptors = [] { return TempFolder::In("/proc/self/fd", "").size(); };
  const size_t before = descriptors();
  std::vector<JsonArrayFile> files(kFiles);
  for (size_t i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(files[i].Open(folder.path() + "/" + std::to_string(i), "{}").ok());
  }
  EXPECT_LE(descriptors(), before + PagedFile::kMaxDescriptors + 1);
  for (int round = 0; round < 3; ++round) {
    for (auto& file : files) {
      file.Append(Element(round, 2000));
      ASSERT_TRUE(file.Flush().ok());
    }
  }
  for (auto& file : files) ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(descriptors(), before);
  for (const auto& path : folder.Files()) EXPECT_EQ(Json::parse(ReadText(path)).size(), 4u);
}

TEST(JsonArrayFileTest, AFullDiskCutsBackToWholeElements) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a.trace";
  // A limit on file size fails a write in its middle just as a full disk does.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    JsonArrayFile file;
    if (!file.Open(path, "{}").ok()) ::_exit(1);
    for (int i = 0; i < 500; ++i) file.Append(Element(i, 30));
    const Status flushed = file.Flush();
    if (flushed.code() != StatusCode::kResourceExhausted) ::_exit(2);
    if (flushed.message().find("a.trace") == std::string_view::npos) ::_exit(3);
    file.Append("{\"late\":1}");
    if (file.Flush().ok()) ::_exit(4);
    ::_exit(FileExists(path + ".partial") && !file.Finish().ok() ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);
  // There was room for the bracket, so the file is complete in form and has its name.
  const Json events = Json::parse(ReadText(path));
  EXPECT_GT(events.size(), 50u);
  EXPECT_EQ(events.back().at("n"), events.size() - 2);
}

TEST(MakeFoldersTest, MakesParentsAndSaysWhatIsInTheWay) {
  const TempFolder folder;
  EXPECT_TRUE(MakeFolders(folder.path() + "/a/b//c/").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/a/b/c"));
  EXPECT_TRUE(MakeFolders(folder.path() + "/a/b").ok());
  std::ofstream(folder.path() + "/file") << "x";
  const Status status = MakeFolders(folder.path() + "/file/below");
  EXPECT_NE(status.message().find(folder.path() + "/file"), std::string_view::npos);
}

}  // namespace
}  // namespace trtscope::profiling
