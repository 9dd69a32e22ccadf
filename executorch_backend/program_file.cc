#include "executorch_backend/program_file.h"

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/executor/program.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "core/base/checksum.h"
#include "executorch_backend/little_endian.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;
using ::executorch::extension::MmapDataLoader;

// A program begins with the flatbuffer's root offset and "ET" with a version of two digits; most
// have a header after it that says where tables and segments lie.
constexpr size_t kHeadSize = 40;
constexpr size_t kMagicAt = 4;
constexpr size_t kHeaderAt = 8;
constexpr size_t kHeaderLengthAt = 12;
constexpr size_t kTablesSizeAt = 16;
constexpr size_t kSegmentsAt = 24;
constexpr size_t kSegmentsSizeAt = 32;
constexpr uint32_t kHeaderLengthWithSegmentsSize = 32;

// As much of the octets as a message needs, those that are no characters by number.
std::string Shown(std::string_view octets) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : octets) {
    const auto octet = static_cast<uint8_t>(c);
    if (octet >= ' ' && octet < 127) {
      text += c;
    } else {
      text += std::string("\\x") + kDigits[octet >> 4] + kDigits[octet & 15];
    }
  }
  return "'" + text + "'";
}

Status CheckHead(const std::string& path, std::string_view head, uint64_t file_size) {
  if (head.size() < kHeaderAt || head.substr(kMagicAt, 2) != "ET") {
    return DataLoss(path + ": is no ExecuTorch program: it begins with " +
                    (head.empty() ? "nothing" : Shown(head.substr(0, kHeaderAt))) +
                    ", expected 'ET' and a version after 4 octets");
  }
  if (head.size() < kHeadSize || head.substr(kHeaderAt, 4) != "eh00") return OkStatus();
  const auto octets = std::as_bytes(std::span(head));
  const auto tables = ReadLittleEndian<uint64_t>(octets, kTablesSizeAt);
  const auto segments = ReadLittleEndian<uint64_t>(octets, kSegmentsAt);
  const auto length = ReadLittleEndian<uint32_t>(octets, kHeaderLengthAt);
  const uint64_t segments_size = length < kHeaderLengthWithSegmentsSize
                                     ? 0
                                     : ReadLittleEndian<uint64_t>(octets, kSegmentsSizeAt);
  if (tables > file_size || segments > file_size || segments_size > file_size - segments) {
    return DataLoss(path + ": is damaged or cut short: it has " + std::to_string(file_size) +
                    " octets, and by its header " + std::to_string(tables) +
                    " of tables, and segments of " + std::to_string(segments_size) + " at " +
                    std::to_string(segments));
  }
  return OkStatus();
}

// ExecuTorch's verifier sees that tables are well-formed, not that they are what was written.
Status CheckChecksum(const std::string& path, const MmapDataLoader& loader) {
  const et::DataLoader::SegmentInfo whole(et::DataLoader::SegmentInfo::Type::Program);
  const auto size = loader.size();
  const auto octets =
      size.ok() ? loader.load(0, *size, whole) : et::Result<et::FreeableBuffer>(size.error());
  if (!octets.ok()) return Internal(path + ": cannot be read: " + et::to_string(octets.error()));
  const auto checked =
      CheckedProgram({static_cast<const std::byte*>(octets->data()), octets->size()});
  return checked.ok() ? OkStatus()
                      : DataLoss(path + ": " + std::string(checked.status().message()));
}

}  // namespace

Status CheckProgramFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument(path + ": is a folder, expected an ExecuTorch program");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path + ": cannot be read: " + std::strerror(errno));
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return NotFound(path + ": cannot be read: " + error.message());
  std::array<char, kHeadSize> head{};
  file.read(head.data(), head.size());
  TRTSCOPE_RETURN_IF_ERROR(
      CheckHead(path, {head.data(), static_cast<size_t>(file.gcount())}, size));

  auto loader = MmapDataLoader::from(path.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    return Internal(path + ": cannot be read: " + et::to_string(loader.error()));
  }
  TRTSCOPE_RETURN_IF_ERROR(CheckChecksum(path, *loader));
  constexpr auto kChecked = et::Program::Verification::InternalConsistency;
  if (const auto program = et::Program::load(&*loader, kChecked); !program.ok()) {
    return DataLoss(path + ": its tables are damaged, or of another version of ExecuTorch: " +
                    et::to_string(program.error()));
  }
  return OkStatus();
}

}  // namespace trtscope::executorch_backend
