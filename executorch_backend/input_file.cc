#include "executorch_backend/input_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace trtscope::executorch_backend {
namespace {

using engine::DataType;
using engine::Dims;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr int64_t kMaxDim = int64_t{1} << 31;
constexpr int64_t kMaxElements = int64_t{1} << 40;
// Beyond what a program takes a file may have a header, and elements of the widest type instead of
// the narrowest one: what is wrong with such a file is its type, which its header says.
constexpr size_t kMaxHeader = size_t{1} << 16;
constexpr size_t kWidest = 8;

struct NumpyType {
  DataType type;
  std::string_view descr;
};
constexpr NumpyType kTypes[] = {
    {DataType::kFloat32, "<f4"}, {DataType::kFloat16, "<f2"}, {DataType::kFloat64, "<f8"},
    {DataType::kInt8, "|i1"},    {DataType::kUInt8, "|u1"},   {DataType::kInt16, "<i2"},
    {DataType::kInt32, "<i4"},   {DataType::kInt64, "<i8"},   {DataType::kBool, "|b1"}};

Status Bad(const std::string& path, const std::string& what) {
  return DataLoss(path + ": " + what);
}

// What follows 'key': in the header's Python dict; empty when it is not there.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  const size_t value = header.find_first_not_of(' ', colon + 1);
  return value == std::string_view::npos ? std::string_view() : header.substr(value);
}

std::optional<Dims> ParseShape(std::string_view text) {
  const size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  Dims dims;
  int64_t elements = 1;
  while (true) {
    const size_t start = text.find_first_not_of(", ");
    if (start == std::string_view::npos) return dims;
    text.remove_prefix(start);
    int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0 || size >= kMaxDim || dims.rank == Dims::kMaxRank) {
      return std::nullopt;
    }
    if (size != 0 && elements > kMaxElements / size) return std::nullopt;
    elements *= size == 0 ? 1 : size;
    dims[dims.rank++] = size;
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
  }
}

}  // namespace

Result<FileTensor> ParseTensorFile(std::vector<std::byte> octets, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
  FileTensor tensor;
  if (text.substr(0, kMagic.size()) != kMagic) {
    tensor.data = std::move(octets);
    return tensor;
  }
  const auto octet = [&](size_t i) {
    return static_cast<size_t>(std::to_integer<uint8_t>(octets[i]));
  };
  const size_t version = octets.size() > 6 ? octet(6) : 0;
  const size_t start = version == 1 ? 10 : 12;
  if (octets.size() < start || version < 1 || version > 3) {
    return Bad(path, "its .npy header is cut short, or of version " + std::to_string(version) +
                         ", expected 1 to 3");
  }
  size_t length = octet(8) | octet(9) << 8;
  if (version != 1) length |= octet(10) << 16 | octet(11) << 24;
  if (length > octets.size() - start) {
    return Bad(path, "its .npy header takes " + std::to_string(length) + " octets of " +
                         std::to_string(octets.size() - start));
  }
  const std::string_view header = text.substr(start, length);
  const std::string_view descr = ValueOf(header, "descr");
  for (const NumpyType& type : kTypes) {
    if (descr.substr(0, 5) == "'" + std::string(type.descr) + "'") tensor.dtype = type.type;
  }
  if (!tensor.dtype) {
    const std::string_view quoted = descr.substr(0, descr.find('\'', 1));
    return Bad(path, "its .npy type is " + std::string(quoted.substr(0, 16)) +
                         "', expected little-endian floats, integers or bools");
  }
  if (ValueOf(header, "fortran_order").substr(0, 5) != "False") {
    return Bad(path,
               "its .npy array is in Fortran order; expected C order "
               "(numpy.ascontiguousarray)");
  }
  tensor.shape = ParseShape(ValueOf(header, "shape"));
  if (!tensor.shape) return Bad(path, "its .npy shape does not parse");
  const size_t expected = ByteSize(*tensor.shape, *tensor.dtype);
  if (octets.size() - start - length != expected) {
    return Bad(path, "its .npy data has " + std::to_string(octets.size() - start - length) +
                         " octets, expected " + std::to_string(expected) + " for " +
                         std::string(engine::Name(*tensor.dtype)) + ToString(*tensor.shape));
  }
  octets.erase(octets.begin(), octets.begin() + static_cast<ptrdiff_t>(start + length));
  tensor.data = std::move(octets);
  return tensor;
}

Result<FileTensor> ReadTensorFile(const std::string& path, size_t planned) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    return InvalidArgument(path + ": is a folder; expected a file of a tensor");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path + ": cannot be read: " + std::strerror(errno));
  const size_t most = planned * kWidest + kMaxHeader;
  const auto too_large = [&](const std::string& size) {
    return InvalidArgument(path + ": has " + size + " octets, the program takes " +
                           std::to_string(planned) + " at most");
  };
  std::error_code no_size;
  const uintmax_t size = std::filesystem::file_size(path, no_size);  // of regular files alone
  if (!no_size && size > most) return too_large(std::to_string(size));
  std::vector<std::byte> octets(no_size ? most + 1 : static_cast<size_t>(size) + 1);
  file.read(reinterpret_cast<char*>(octets.data()), static_cast<std::streamsize>(octets.size()));
  if (file.bad()) return Internal(path + ": reading failed: " + std::strerror(errno));
  octets.resize(static_cast<size_t>(file.gcount()));
  if (octets.size() > most) return too_large("more than " + std::to_string(most));
  return ParseTensorFile(std::move(octets), path);
}

Status WriteNpy(const std::string& path, DataType dtype, const Dims& shape,
                std::span<const std::byte> data) {
  std::string_view descr;
  for (const NumpyType& type : kTypes) {
    if (type.type == dtype) descr = type.descr;
  }
  if (descr.empty()) {
    return Unsupported(path + ": NumPy has no " + std::string(engine::Name(dtype)));
  }
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < shape.rank; ++i) header += std::to_string(shape[i]) + ",";
  header += "), }";
  constexpr size_t kStart = 10;
  const size_t end = (kStart + header.size() + 1 + 63) / 64 * 64;
  header.resize(end - kStart - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\1' << '\0' << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  if (!file) return Internal(path + ": cannot be written: " + std::strerror(errno));
  return OkStatus();
}

}  // namespace trtscope::executorch_backend
