#ifndef TRTSCOPE_CORE_PROFILING_PROTO_WRITER_H_
#define TRTSCOPE_CORE_PROFILING_PROTO_WRITER_H_

// The protobuf wire format, written: as much of it as a trace needs, without the library.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace trtscope::profiling {

/// Appends fields to a string that the caller owns.  Fields appear in the order of the calls.
/// Threads: one at a time.
class ProtoWriter {
 public:
  explicit ProtoWriter(std::string& out) : out_(out) {}

  /// uint32, uint64, bool and enum fields, and int64 ones, whose sign goes through the cast.
  void Uint(uint32_t field, uint64_t value) {
    AppendVarint(Tag(field, kVarint));
    AppendVarint(value);
  }
  void Fixed64(uint32_t field, uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    AppendVarint(Tag(field, kFixed64));
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof bytes);
  }
  /// string and bytes fields; a string must be valid UTF-8.
  void Bytes(uint32_t field, std::string_view bytes) {
    AppendVarint(Tag(field, kLengthDelimited));
    AppendVarint(bytes.size());
    out_ += bytes;
  }
  /// A message field, whose own fields `fill()` appends through this writer.
  template <typename Fill>
  void Message(uint32_t field, Fill fill) {
    AppendVarint(Tag(field, kLengthDelimited));
    const size_t at = out_.size();
    out_ += '\0';  // the length of nearly all: what is longer moves
    fill();
    const size_t length = out_.size() - at - 1;
    if (length < 0x80) {
      out_[at] = static_cast<char>(length);
      return;
    }
    char bytes[kMaxVarint];
    const size_t used = EncodeVarint(length, bytes);
    out_.replace(at, 1, bytes, used);
  }

 private:
  static constexpr uint32_t kVarint = 0;
  static constexpr uint32_t kFixed64 = 1;
  static constexpr uint32_t kLengthDelimited = 2;
  static constexpr size_t kMaxVarint = 10;

  static constexpr uint64_t Tag(uint32_t field, uint32_t type) {
    return (uint64_t{field} << 3) | type;
  }
  static size_t EncodeVarint(uint64_t value, char* to) {
    size_t used = 0;
    for (; value >= 0x80; value >>= 7) to[used++] = static_cast<char>(value | 0x80);
    to[used++] = static_cast<char>(value);
    return used;
  }
  void AppendVarint(uint64_t value) {
    if (value < 0x80) {
      out_ += static_cast<char>(value);
      return;
    }
    char bytes[kMaxVarint];
    out_.append(bytes, EncodeVarint(value, bytes));
  }

  std::string& out_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PROTO_WRITER_H_
