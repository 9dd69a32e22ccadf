#include "core/base/checksum.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

namespace trtscope {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

// Table k advances a CRC over an octet and k more octets of zero, so that eight octets take eight
// independent look-ups.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

template <typename T>
T ReadAt(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::string Hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08x", value);
  return text;
}

}  // namespace

uint32_t Crc32(std::span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  size_t at = 0;
  for (; bytes.size() - at >= 8; at += 8) {
    const uint64_t word = ReadAt<uint64_t>(bytes, at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; at < bytes.size(); ++at) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<uint32_t>(bytes[at])) & 0xff];
  }
  return ~crc;
}

Result<std::span<const std::byte>> CheckedProgram(std::span<const std::byte> octets) {
  if (octets.size() < kTrailerSize) return octets;
  const size_t size = octets.size() - kTrailerSize;
  if (std::memcmp(octets.data() + size, "TSCK", 4) != 0 ||
      ReadAt<uint64_t>(octets, size + 8) != size) {
    return octets;
  }
  const auto program = octets.first(size);
  const uint32_t expected = ReadAt<uint32_t>(octets, size + 4), found = Crc32(program);
  if (found != expected) {
    return DataLoss("damaged since it was written: the checksum of its " + std::to_string(size) +
                    " octets is " + Hex(found) + ", expected " + Hex(expected));
  }
  return program;
}

}  // namespace trtscope
