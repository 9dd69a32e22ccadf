// Expected bytes are those of the encoding guide and of Python's protobuf, not of the code under
// test.  tests/perfetto reads whole traces with the real library.

#include "core/profiling/proto_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace trtscope::profiling {
namespace {

using namespace std::string_literals;  // strings with zeros in them

std::string Uint(uint32_t field, uint64_t value) {
  std::string out;
  ProtoWriter(out).Uint(field, value);
  return out;
}

TEST(ProtoWriterTest, Varints) {
  EXPECT_EQ(Uint(1, 0), "\x08\x00"s);
  EXPECT_EQ(Uint(1, 127), "\x08\x7f"s);
  EXPECT_EQ(Uint(1, 128), "\x08\x80\x01"s);
  EXPECT_EQ(Uint(1, 150), "\x08\x96\x01"s);
  EXPECT_EQ(Uint(1, ~uint64_t{0}), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
  EXPECT_EQ(Uint(1, static_cast<uint64_t>(int64_t{-2})),
            "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(ProtoWriterTest, TagsOfMoreThanOneByte) {
  EXPECT_EQ(Uint(15, 1), "\x78\x01"s);
  EXPECT_EQ(Uint(16, 1), "\x80\x01\x01"s);
  EXPECT_EQ(Uint(536'870'911, 1), "\xf8\xff\xff\xff\x0f\x01"s);
}

TEST(ProtoWriterTest, Fixed64IsLittleEndian) {
  std::string out;
  ProtoWriter(out).Fixed64(47, 0x0102'0304'0506'0708);
  EXPECT_EQ(out, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01"s);
}

TEST(ProtoWriterTest, BytesMayHoldZeros) {
  std::string out;
  ProtoWriter writer(out);
  writer.Bytes(2, "testing");
  writer.Bytes(2, "a\0b"s);
  writer.Bytes(2, "");
  EXPECT_EQ(out,
            "\x12\x07testing\x12\x03"
            "a\0b\x12\x00"s);
}

TEST(ProtoWriterTest, MessagesNestAndLongOnesGetLongLengths) {
  std::string out;
  ProtoWriter writer(out);
  writer.Message(3, [&] { writer.Uint(1, 150); });
  EXPECT_EQ(out, "\x1a\x03\x08\x96\x01"s);

  for (const size_t size : {0u, 125u, 126u, 127u, 16'379u, 16'380u, 16'381u, 3'000'000u}) {
    const std::string text(size, 'x');
    std::string inner;
    ProtoWriter(inner).Bytes(2, text);
    std::string middle;
    ProtoWriter(middle).Bytes(5, inner);
    std::string expected = "before";
    ProtoWriter(expected).Bytes(4, middle);
    expected += "\x08\x01";

    std::string got = "before";
    ProtoWriter nested(got);
    nested.Message(4, [&] { nested.Message(5, [&] { nested.Bytes(2, text); }); });
    nested.Uint(1, 1);
    EXPECT_EQ(got, expected) << size;
  }
}

}  // namespace
}  // namespace trtscope::profiling
