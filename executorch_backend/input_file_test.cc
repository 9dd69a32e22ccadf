#include "executorch_backend/input_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace trtscope::executorch_backend {
namespace {

using engine::DataType;
using engine::Dims;

std::vector<std::byte> Octets(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

// As numpy.save writes it.
std::string Npy(const std::string& header, const std::string& data, char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  text += static_cast<char>(header.size());
  text += std::string(version == 1 ? 1 : 3, '\0');
  return text + header + data;
}

std::string ErrorOf(const std::string& text) {
  Result<FileTensor> tensor = ParseTensorFile(Octets(text), "x.npy");
  return tensor.ok() ? "read" : std::string(tensor.status().message());
}

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST(InputFile, ReadsNpyOfEveryVersion) {
  for (char version = 1; version <= 3; ++version) {
    Result<FileTensor> tensor =
        ParseTensorFile(Octets(Npy("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 1), }\n",
                                   "abcdef", version)),
                        "x.npy");
    ASSERT_TRUE(tensor.ok()) << tensor.status().message();
    EXPECT_EQ(tensor->dtype, DataType::kInt16);
    EXPECT_EQ(tensor->shape, (Dims{3, 1}));
    EXPECT_EQ(tensor->data, Octets("abcdef"));
  }
}

TEST(InputFile, OtherFilesAreOctets) {
  Result<FileTensor> tensor = ParseTensorFile(Octets("abcd"), "x.bin");
  ASSERT_TRUE(tensor.ok());
  EXPECT_FALSE(tensor->dtype || tensor->shape);
  EXPECT_EQ(tensor->data.size(), 4u);
}

TEST(InputFile, ErrorsNameTheFileAndWhatIsWrong) {
  EXPECT_SAYS(ErrorOf("\x93NUMPY"), "x.npy: its .npy header is cut short");
  EXPECT_SAYS(ErrorOf(Npy("{}", "", 9)), "version 9");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4'", "").substr(0, 14)), "header takes");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd")),
              "type is '>f4', expected");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", "abcd")),
              "Fortran order");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "abcd")),
              "shape does not parse");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "abcd")),
              "shape does not parse");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999, "
                          "999999999, 999999999)}",
                          "abcd")),
              "shape does not parse");
  EXPECT_SAYS(ErrorOf(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd")),
              "has 4 octets, expected 8 for float32[2]");
  EXPECT_SAYS(ReadTensorFile("/nowhere/x.npy", 4).status().message(),
              "/nowhere/x.npy: cannot be read");
}

TEST(InputFile, WhatIsLargerThanAnyInputIsNotRead) {
  EXPECT_SAYS(ReadTensorFile("/dev/zero", 4).status().message(),
              "/dev/zero: has more than 65568 octets, the program takes 4 at most");
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/sparse.bin";
  std::ofstream(path, std::ios::binary) << 'x';
  std::filesystem::resize_file(path, size_t{1} << 40);  // without a block to it
  EXPECT_SAYS(ReadTensorFile(path, 4).status().message(),
              "has 1099511627776 octets, the program takes 4 at most");
  std::filesystem::remove(path);
}

TEST(InputFile, AFileOfAWiderTypeIsReadToSayItsType) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/wide.npy";
  constexpr size_t kElements = 100'000;
  ASSERT_TRUE(WriteNpy(path, DataType::kInt64, Dims{kElements},
                       std::vector<std::byte>(kElements * sizeof(int64_t)))
                  .ok());
  Result<FileTensor> tensor = ReadTensorFile(path, kElements);
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ(tensor->dtype, DataType::kInt64);
}

TEST(InputFile, WhatIsWrittenIsRead) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/written.npy";
  for (const Dims& shape : {Dims{}, Dims{4}, Dims{2, 2}}) {
    const std::vector<std::byte> data(static_cast<size_t>(shape.elements()) * 4, std::byte{7});
    ASSERT_TRUE(WriteNpy(path, DataType::kFloat32, shape, data).ok());
    Result<FileTensor> tensor = ReadTensorFile(path, data.size());
    ASSERT_TRUE(tensor.ok()) << tensor.status().message();
    EXPECT_EQ(tensor->shape, shape);
    EXPECT_EQ(tensor->data, data);
  }
  EXPECT_EQ(WriteNpy(path, DataType::kBFloat16, Dims{}, {}).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace trtscope::executorch_backend
