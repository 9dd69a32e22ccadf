#include "tests/gpu/npz.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

namespace trtscope::gpu_test {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr size_t kCentralSize = 46;
constexpr size_t kLocalSize = 30;

template <typename T>
T Read(std::span<const std::byte> bytes, size_t offset) {
  T value{};
  if (offset + sizeof(value) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
  }
  return value;
}

std::string_view Text(std::span<const std::byte> bytes, size_t offset, size_t size) {
  if (offset + size > bytes.size()) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + offset, size};
}

Result<Array> ReadNpy(std::span<const std::byte> bytes, const std::string& name) {
  if (Text(bytes, 1, 5) != "NUMPY") return DataLoss("'" + name + "' is no .npy");
  const size_t header = Read<uint16_t>(bytes, 8);
  const std::string text(Text(bytes, 10, header));
  if (text.find("'<f4'") == text.npos || text.find("False") == text.npos) {
    return Unsupported("'" + name + "' is not float32 in C order: " + text);
  }
  Array array;
  const char* at = std::strchr(text.c_str(), '(');
  for (at = at != nullptr ? at + 1 : ""; *at != ')' && *at != '\0';) {
    char* end = nullptr;
    const int64_t size = std::strtoll(at, &end, 10);
    if (end == at) break;
    array.shape[array.shape.rank++] = size;
    for (at = end; *at == ',' || *at == ' ';) ++at;
  }
  array.values.resize(static_cast<size_t>(array.shape.elements()));
  const size_t octets = array.values.size() * sizeof(float);
  if (10 + header + octets > bytes.size()) return DataLoss("'" + name + "' is cut short");
  std::memcpy(array.values.data(), bytes.data() + 10 + header, octets);
  return array;
}

}  // namespace

Result<std::vector<std::byte>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return NotFound("'" + path + "' cannot be read");
  std::vector<std::byte> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return DataLoss("'" + path + "' cannot be read to its end");
  return bytes;
}

Result<std::map<std::string, Array>> ReadNpz(const std::string& path) {
  TRTSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> file, ReadFile(path));
  const std::span<const std::byte> bytes(file);
  std::map<std::string, Array> arrays;
  // The central directory, which has the sizes that a local header may leave open.
  if (bytes.size() < 22) return DataLoss("'" + path + "' is no .npz");
  const size_t end = bytes.size() - 22;
  size_t at = Read<uint32_t>(bytes, end + 16);
  for (int entry = Read<uint16_t>(bytes, end + 10); entry > 0; --entry) {
    if (Read<uint32_t>(bytes, at) != kCentralHeader) return DataLoss("'" + path + "' is no .npz");
    const size_t name_size = Read<uint16_t>(bytes, at + 28);
    std::string name(Text(bytes, at + kCentralSize, name_size));
    const size_t size = Read<uint32_t>(bytes, at + 24);
    const size_t local = Read<uint32_t>(bytes, at + 42);
    if (Read<uint16_t>(bytes, at + 10) != 0) {
      return Unsupported("'" + path + "': '" + name + "' is compressed");
    }
    if (Read<uint32_t>(bytes, local) != kLocalHeader) return DataLoss("'" + path + "' is damaged");
    const size_t data =
        local + kLocalSize + Read<uint16_t>(bytes, local + 26) + Read<uint16_t>(bytes, local + 28);
    if (data + size > bytes.size()) return DataLoss("'" + path + "' is cut short");
    TRTSCOPE_ASSIGN_OR_RETURN(Array array, ReadNpy(bytes.subspan(data, size), name));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays[name] = std::move(array);
    at +=
        kCentralSize + name_size + Read<uint16_t>(bytes, at + 30) + Read<uint16_t>(bytes, at + 32);
  }
  return arrays;
}

}  // namespace trtscope::gpu_test
