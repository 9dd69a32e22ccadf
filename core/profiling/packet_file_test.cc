#include "core/profiling/packet_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

constexpr uint32_t kField = 5;

std::string Payload(size_t bytes) { return std::string(bytes, 'p'); }

TEST(PacketFileTest, GrowsAsPartialAndIsRenamedWhenFinished) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a";
  PacketFile file;
  ASSERT_TRUE(file.Open(path, [](ProtoWriter& writer) { writer.Uint(kField, 1); }).ok());
  EXPECT_EQ(ReadText(path + ".partial"), "\x0a\x02\x28\x01");
  file.Append([](ProtoWriter& writer) { writer.Uint(kField, 2); },
              [](ProtoWriter& writer) { writer.Uint(kField, 3); });
  EXPECT_EQ(ReadText(path + ".partial").size(), 4u);  // not yet
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(folder.Files(), std::vector<std::string>{path});
  EXPECT_EQ(ReadText(path), "\x0a\x02\x28\x01\x0a\x02\x28\x02\x0a\x02\x28\x03");
}

// What a kill leaves is a prefix that ends at a page: every such prefix must be whole packets.
TEST(PacketFileTest, NoPacketCrossesAPageAndFillingIsPackets) {
  const TempFolder folder;
  const std::string path = folder.path() + "/a";
  PacketFile file;
  ASSERT_TRUE(file.Open(path, [](ProtoWriter& writer) { writer.Uint(kField, 1); }).ok());
  std::mt19937 random(11);
  constexpr size_t kLargest = PagedFile::kMaxPiece - 6;  // two tags and lengths of two bytes
  for (int i = 0; i < 20'000; ++i) {
    const std::string payload = Payload(i % 100 == 0 ? random() % kLargest : random() % 40);
    file.Append([&](ProtoWriter& writer) { writer.Bytes(kField, payload); });
  }
  file.Append([&](ProtoWriter& writer) { writer.Bytes(kField, Payload(kLargest)); });
  ASSERT_TRUE(file.Flush().ok());
  const std::string bytes = ReadText(path + ".partial");
  ASSERT_GT(bytes.size(), 100 * PagedFile::kPage);
  for (size_t end = PagedFile::kPage; end <= bytes.size(); end += PagedFile::kPage) {
    // Each page by itself: no packet begins in the one before.
    ASSERT_TRUE(
        WholePackets(std::string_view(bytes).substr(end - PagedFile::kPage, PagedFile::kPage)))
        << "page that ends at " << end;
  }
}

TEST(WholePacketsTest, RefusesWhatIsCut) {
  const std::string_view packets = "\x0a\x02\x28\x01\x0a\x02\x28\x02";
  EXPECT_TRUE(WholePackets(packets));
  for (const size_t cut : {1u, 2u, 3u, 5u, 6u, 7u}) {
    EXPECT_FALSE(WholePackets(packets.substr(0, cut))) << cut;
  }
  EXPECT_FALSE(WholePackets("[\n"));
}

}  // namespace
}  // namespace trtscope::profiling
