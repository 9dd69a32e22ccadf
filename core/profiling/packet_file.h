#ifndef TRTSCOPE_CORE_PROFILING_PACKET_FILE_H_
#define TRTSCOPE_CORE_PROFILING_PACKET_FILE_H_

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "core/profiling/paged_file.h"
#include "core/profiling/perfetto_fields.h"
#include "core/profiling/proto_writer.h"

namespace trtscope::profiling {

/// A Perfetto trace on disk: a row of packets, whole ones at every moment (paged_file.h).
/// Threads: as PagedFile.
class PacketFile {
 public:
  /// From its first moment on it holds the packets that each `fill(ProtoWriter&)` writes.
  template <typename... Fill>
  Status Open(const std::string& path, Fill... fill) {
    packet_.clear();
    (Encode(fill), ...);
    return file_.Open(path, packet_);
  }
  bool is_open() const { return file_.is_open(); }
  const std::string& path() const { return file_.path(); }
  uint64_t size() const { return file_.size(); }

  /// Adds the packets that each `fill(ProtoWriter&)` writes, PagedFile::kMaxPiece bytes at most:
  /// all of them, or, in a process that is killed, none.
  template <typename... Fill>
  void Append(Fill... fill) {
    packet_.clear();
    (Encode(fill), ...);
    file_.Append(packet_);
  }
  Status Flush() { return file_.Flush(); }
  Status Finish() { return file_.Finish(); }
  void Abandon() { file_.Abandon(); }

 private:
  template <typename Fill>
  void Encode(Fill& fill) {
    ProtoWriter writer(packet_);
    writer.Message(pf::kPacket, [&] { fill(writer); });
  }
  /// A packet of exactly `bytes`, with nothing in it that a reader knows.
  static void FillPacket(std::string& out, size_t bytes) {
    // Each length takes two bytes, whatever it is: a varint may be longer than it has to be.
    const auto length = [&](size_t rest) {
      out += static_cast<char>((rest & 0x7f) | 0x80);
      out += static_cast<char>(rest >> 7);
    };
    const size_t end = out.size() + bytes;
    out += static_cast<char>(pf::kPacket << 3 | 2);
    length(bytes - 3);
    constexpr uint32_t kTag = pf::kFilling << 3 | 2;
    out += static_cast<char>((kTag & 0x7f) | 0x80);
    out += static_cast<char>(kTag >> 7);
    length(bytes - 7);
    out.resize(end, '\0');
  }

  PagedFile file_{&FillPacket};
  std::string packet_;  // reused
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PACKET_FILE_H_
