#include "executorch_backend/blob.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trtscope::executorch_backend {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string Number(uint64_t value, int octets) {
  std::string text;
  for (int i = 0; i < octets; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A blob by hand, so that the writer is not tested against itself.
struct Parts {
  std::string magic = "TR01";
  std::string metadata = "{}";
  std::string plan = "null{}";
  uint64_t metadata_offset = 32;
  int64_t metadata_size = -1;  // -1: as it is
  int64_t plan_offset = -1;
  int64_t plan_size = -1;
  size_t octets = std::string::npos;  // cut after

  std::string Make() const {
    std::string text = magic;
    const size_t aligned = (32 + metadata.size() + 15) / 16 * 16;
    text += Number(metadata_offset, 4);
    text += Number(metadata_size < 0 ? metadata.size() : static_cast<uint64_t>(metadata_size), 4);
    text += Number(plan_offset < 0 ? aligned : static_cast<uint64_t>(plan_offset), 4);
    text += Number(plan_size == -1 ? plan.size() : static_cast<uint64_t>(plan_size), 8);
    text += std::string(8, '\0') + metadata;
    text.resize(aligned, '\0');
    text += plan;
    return text.substr(0, octets);
  }
};

std::string ErrorOf(const Parts& parts) {
  const std::string text = parts.Make();
  Result<Blob> blob = ParseBlob(Bytes(text));
  if (blob.ok()) return "parsed";
  EXPECT_EQ(blob.status().code(), StatusCode::kDataLoss);
  return std::string(blob.status().message());
}

std::string MetadataError(const std::string& metadata, const std::string& magic = "TR01") {
  Parts parts;
  parts.metadata = metadata;
  parts.magic = magic;
  return ErrorOf(parts);
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string_view::npos) << (text)

TEST(ParseBlob, ReadsEveryField) {
  Parts parts;
  parts.magic = "TR02";
  parts.metadata =
      R"({"name": "enc", "io_bindings": [
           {"name": "x", "dtype": "torch.float16", "shape": [-1, 8], "is_input": true},
           {"name": "cache", "dtype": "float32", "shape": [2], "is_input": true},
           {"name": "y", "dtype": "", "shape": [], "is_input": false},
           {"name": "cache_out", "is_input": false}],
          "aliased_io": [{"output": "cache_out", "input": "cache", "kind": "kv_cache_update"}],
          "hardware_compatible": true, "device_id": 3, "serialized_metadata": "abc",
          "target_platform": "linux_x86_64", "a_later_key": {"deep": [1]}})";
  const std::string text = parts.Make();
  Result<Blob> blob = ParseBlob(Bytes(text));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  EXPECT_FALSE(blob->bare);
  const BlobMetadata& m = blob->metadata;
  EXPECT_EQ(m.name, "enc");
  ASSERT_EQ(m.io_bindings.size(), 4u);
  EXPECT_EQ(m.io_bindings[0].dtype, engine::DataType::kFloat16);
  EXPECT_EQ(m.io_bindings[0].shape, (engine::Dims{-1, 8}));
  EXPECT_TRUE(m.io_bindings[0].is_input);
  EXPECT_EQ(m.io_bindings[1].dtype, engine::DataType::kFloat32);
  EXPECT_FALSE(m.io_bindings[2].dtype.has_value());
  EXPECT_FALSE(m.io_bindings[2].shape.has_value());
  EXPECT_FALSE(m.io_bindings[3].is_input);
  ASSERT_EQ(m.aliased_io.size(), 1u);
  EXPECT_EQ(m.aliased_io[0].output, "cache_out");
  EXPECT_EQ(m.aliased_io[0].input, "cache");
  EXPECT_EQ(m.aliased_io[0].kind, "kv_cache_update");
  EXPECT_TRUE(m.hardware_compatible);
  EXPECT_EQ(m.device_id, 3);
  EXPECT_EQ(m.serialized_metadata, "abc");
  EXPECT_EQ(m.target_platform, "linux_x86_64");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(blob->plan.data()), blob->plan.size()),
            "null{}");
}

TEST(ParseBlob, TakesAPlanAlone) {
  for (const std::string& plan :
       {std::string("null{}"), "ftrt" + std::string(40, '\1'), "vtrt" + std::string(40, '\1'),
        std::string("\x40\0\0\0ET12eh00", 12)}) {
    Result<Blob> blob = ParseBlob(Bytes(plan));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    EXPECT_TRUE(blob->bare);
    EXPECT_EQ(blob->plan.size(), plan.size());
  }
}

TEST(ParseBlob, UnknownMagicNamesWhatWasFoundAndExpected) {
  const std::string error = ErrorOf({.magic = "TR99"});
  EXPECT_SAYS(error, "magic is \"TR99\"");
  EXPECT_SAYS(error, "expected \"TR01\", \"TR02\"");
  EXPECT_SAYS(ErrorOf({.octets = 0}), "0 octets");
  EXPECT_SAYS(ErrorOf({.octets = 3}), "magic is \"TR0\"");
}

TEST(ParseBlob, EveryHeaderFieldIsChecked) {
  EXPECT_SAYS(ErrorOf({.octets = 31}), "header is cut short: the blob has 31 octets, expected at");
  EXPECT_SAYS(ErrorOf({.metadata_offset = 31}), "metadata_offset is 31, expected 32 to");
  EXPECT_SAYS(ErrorOf({.metadata_offset = 0xffffffff}), "metadata_offset is 4294967295");
  EXPECT_SAYS(ErrorOf({.metadata_size = 0xffffffff}), "metadata_size is 4294967295, but only");
  EXPECT_SAYS(ErrorOf({.plan_offset = 49}), "engine_offset is 49, expected a multiple of 16");
  EXPECT_SAYS(ErrorOf({.plan_offset = 32}),
              "engine_offset is 32, expected the end of the metadata, 34");
  EXPECT_SAYS(ErrorOf({.plan_offset = 0xfffffff0}), "engine_offset is 4294967280");
  EXPECT_SAYS(ErrorOf({.plan_size = 0}), "engine_size is 0, expected 1 to the 6");
  EXPECT_SAYS(ErrorOf({.plan_size = 7}), "engine_size is 7");
  // Sums of 64-bit fields must not wrap around.
  EXPECT_SAYS(ErrorOf({.plan_size = -16}), "engine_size is 18446744073709551600");
  EXPECT_SAYS(ErrorOf({.plan = "what is this"}), "engine: ");
  EXPECT_SAYS(ErrorOf({.octets = 50}), "engine_size is 6, expected 1 to the 2 octets");
}

TEST(ParseBlob, EveryMetadataFieldIsChecked) {
  EXPECT_SAYS(MetadataError("{"), "metadata is not JSON");
  EXPECT_SAYS(MetadataError("\xff"), "metadata is not JSON");
  EXPECT_SAYS(MetadataError("[]"), "metadata is a list, expected an object");
  EXPECT_SAYS(MetadataError(R"({"name": 3})"), "'name' is 3, expected a string");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": {}})"),
              "'io_bindings' is an object, expected a list");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [7]})"),
              "'io_bindings[0]' is 7, expected an object");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"is_input": true}]})"),
              "'io_bindings[0].name' is missing or empty");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"name": "x"}]})"),
              "'io_bindings[0].is_input' is missing");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"name": "x", "is_input": 1}]})"),
              "'io_bindings[0].is_input' is 1, expected true or false");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"name": "x", "is_input": true, "dtype": "f"}]})"),
              "'io_bindings[0].dtype' is \"f\"");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"name": "x", "is_input": true, "shape": [-2]}]})"),
              "'io_bindings[0].shape'");
  EXPECT_SAYS(MetadataError(R"({"io_bindings": [{"name": "x", "is_input": true},
                                                {"name": "x", "is_input": true}]})"),
              "'io_bindings[1].name' is \"x\", which is the name of an earlier input too");
  EXPECT_SAYS(MetadataError(R"({"hardware_compatible": "yes"})"),
              "'hardware_compatible' is \"yes\"");
  EXPECT_SAYS(MetadataError(R"({"device_id": -1})"),
              "'device_id' is -1, expected an integer from 0");
  EXPECT_SAYS(MetadataError(R"({"device_id": 1e30})"), "'device_id'");
  EXPECT_SAYS(MetadataError(R"({"device_id": 18446744073709551615})"), "'device_id'");
  EXPECT_SAYS(MetadataError(R"({"target_platform": []})"), "'target_platform' is a list");
  EXPECT_SAYS(MetadataError(R"({"serialized_metadata": false})"), "'serialized_metadata' is false");
}

TEST(ParseBlob, AliasesNameBindingsAndNeedTr02) {
  const std::string bindings =
      R"("io_bindings": [{"name": "c", "is_input": true}, {"name": "o", "is_input": false}])";
  const auto with = [&](const std::string& aliases) {
    return "{" + bindings + ", \"aliased_io\": " + aliases + "}";
  };
  EXPECT_EQ(MetadataError(with(R"([{"output": "o", "input": "c"}])"), "TR02"), "parsed");
  EXPECT_EQ(MetadataError(with("[]")), "parsed");
  EXPECT_SAYS(MetadataError(with(R"([{"output": "o", "input": "c"}])")), "expected TR02");
  EXPECT_SAYS(MetadataError(with(R"([{"output": "c", "input": "c"}])"), "TR02"),
              "'aliased_io[0].output' is \"c\", expected the name of an output in io_bindings");
  EXPECT_SAYS(MetadataError(with(R"([{"output": "o", "input": "z"}])"), "TR02"),
              "'aliased_io[0].input' is \"z\", expected the name of an input");
  EXPECT_SAYS(
      MetadataError(with(R"([{"output": "o", "input": "c"}, {"output": "o", "input": "c"}])"),
                    "TR02"),
      "aliased twice");
}

TEST(ParseBlob, EscapedNamesAreRead) {
  Parts parts;
  parts.metadata = R"({"io_bindings": [{"name": "\u00e9\ud83d\ude00", "is_input": true}]})";
  const std::string text = parts.Make();
  Result<Blob> blob = ParseBlob(Bytes(text));
  ASSERT_TRUE(blob.ok());
  EXPECT_EQ(blob->metadata.io_bindings[0].name, "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_SAYS(MetadataError(R"({"name": "\ud83d"})"), "metadata is not JSON");
}

TEST(ParseBlob, DeepNestingIsNotACrash) {
  EXPECT_SAYS(MetadataError(std::string(1'000'000, '[')), "metadata is not JSON");
  EXPECT_EQ(MetadataError("{\"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
            "parsed");
}

TEST(WriteBlob, RoundTrips) {
  BlobMetadata metadata;
  metadata.name = "e\xc3\xa9";
  metadata.io_bindings = {{"x", engine::DataType::kInt64, engine::Dims{2, -1}, true},
                          {"y", std::nullopt, std::nullopt, false}};
  metadata.aliased_io = {{"y", "x", "kv_cache_update"}};
  metadata.hardware_compatible = true;
  metadata.device_id = 2;
  metadata.serialized_metadata = "{\"a\": 1}";
  metadata.target_platform = "linux_aarch64";
  const std::string plan = "null{}";
  const std::vector<std::byte> bytes = WriteBlob(metadata, Bytes(plan));
  EXPECT_EQ(std::to_integer<char>(bytes[3]), '2');
  Result<Blob> blob = ParseBlob(bytes);
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  EXPECT_EQ((blob->plan.data() - bytes.data()) % 16, 0);
  EXPECT_EQ(blob->metadata.name, metadata.name);
  EXPECT_EQ(blob->metadata.io_bindings[0].shape, metadata.io_bindings[0].shape);
  EXPECT_EQ(blob->metadata.io_bindings[0].dtype, metadata.io_bindings[0].dtype);
  EXPECT_FALSE(blob->metadata.io_bindings[1].shape.has_value());
  EXPECT_EQ(blob->metadata.aliased_io[0].kind, "kv_cache_update");
  EXPECT_EQ(blob->metadata.device_id, 2);
  EXPECT_EQ(blob->metadata.serialized_metadata, metadata.serialized_metadata);
  metadata.aliased_io.clear();
  EXPECT_EQ(std::to_integer<char>(WriteBlob(metadata, Bytes(plan))[3]), '1');
}

TEST(CheckPlatform, RefusesPlansOfOtherPlatforms) {
  const std::string tensorrt = "ftrt" + std::string(40, '\1');
  Blob blob;
  blob.plan = Bytes(tensorrt);
  EXPECT_TRUE(CheckPlatform(blob).ok());
  blob.metadata.target_platform = std::string(ThisPlatform());
  EXPECT_TRUE(CheckPlatform(blob).ok());
  blob.metadata.target_platform = "windows_x86_64";
  const Status status = CheckPlatform(blob);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_SAYS(status.message(), "'target_platform' is \"windows_x86_64\", expected this platform");
  const std::string null_plan = "null{}";
  blob.plan = Bytes(null_plan);
  EXPECT_TRUE(CheckPlatform(blob).ok());
}

}  // namespace
}  // namespace trtscope::executorch_backend
