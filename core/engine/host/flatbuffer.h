#ifndef TRTSCOPE_CORE_ENGINE_HOST_FLATBUFFER_H_
#define TRTSCOPE_CORE_ENGINE_HOST_FLATBUFFER_H_

// Reads flatbuffers whose schema is known by field numbers only, without trusting a single
// offset.  A read that leaves the buffer gives an empty value and marks the reader as failed, so
// that a caller may walk first and ask once.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace trtscope::engine::host {

class FlatReader;

/// A table, or none: then every field is missing.
class FlatTable {
 public:
  FlatTable() = default;
  explicit operator bool() const { return reader_ != nullptr; }

  bool Has(int field) const { return Find(field) != 0; }
  template <typename T>
  T Scalar(int field, T missing = T{}) const;
  FlatTable Table(int field) const;
  std::string_view String(int field) const;

  /// Elements of a vector; 0 if it is missing.
  size_t Size(int field) const;
  template <typename T>
  T ScalarAt(int field, size_t i) const;
  FlatTable TableAt(int field, size_t i) const;

 private:
  friend class FlatReader;
  FlatTable(FlatReader* reader, size_t at, size_t vtable, size_t vtable_size)
      : reader_(reader), at_(at), vtable_(vtable), vtable_size_(vtable_size) {}
  size_t Find(int field) const;  // where the field is; 0: missing

  FlatReader* reader_ = nullptr;
  size_t at_ = 0;
  size_t vtable_ = 0;
  size_t vtable_size_ = 0;
};

class FlatReader {
 public:
  /// `bytes` must outlive the reader and its tables.
  explicit FlatReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  FlatTable Root() { return Follow(0); }
  /// Some read left the buffer.
  bool failed() const { return failed_; }

 private:
  friend class FlatTable;

  template <typename T>
  T Read(size_t at) {
    T value{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) {
      failed_ = true;
      return value;
    }
    static_assert(std::endian::native == std::endian::little, "flatbuffers are little-endian");
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  // The place that the offset at `at` leads to; 0 if it leads out of the buffer.
  size_t Target(size_t at) {
    const size_t target = at + Read<uint32_t>(at);
    if (target < bytes_.size() && target != at) return target;
    failed_ = true;
    return 0;
  }

  FlatTable Follow(size_t at) {
    const size_t table = Target(at);
    if (table == 0) return {};
    const int64_t vtable = static_cast<int64_t>(table) - Read<int32_t>(table);
    if (vtable < 0 || static_cast<size_t>(vtable) >= bytes_.size()) {
      failed_ = true;
      return {};
    }
    const auto start = static_cast<size_t>(vtable);
    return {this, table, start, Read<uint16_t>(start)};
  }

  const std::span<const std::byte> bytes_;
  bool failed_ = false;
};

inline size_t FlatTable::Find(int field) const {
  if (reader_ == nullptr) return 0;
  const size_t slot = 4 + 2 * static_cast<size_t>(field);
  if (slot + 2 > vtable_size_) return 0;
  const uint16_t offset = reader_->Read<uint16_t>(vtable_ + slot);
  return offset == 0 ? 0 : at_ + offset;
}

template <typename T>
T FlatTable::Scalar(int field, T missing) const {
  const size_t at = Find(field);
  return at == 0 ? missing : reader_->Read<T>(at);
}

inline FlatTable FlatTable::Table(int field) const {
  const size_t at = Find(field);
  return at == 0 ? FlatTable() : reader_->Follow(at);
}

inline size_t FlatTable::Size(int field) const {
  const size_t at = Find(field);
  const size_t vector = at == 0 ? 0 : reader_->Target(at);
  if (vector == 0) return 0;
  const size_t size = reader_->Read<uint32_t>(vector);
  // Every element takes at least an octet: a larger count is a lie, and would cost time.
  if (size <= reader_->bytes_.size()) return size;
  reader_->failed_ = true;
  return 0;
}

inline std::string_view FlatTable::String(int field) const {
  const size_t size = Size(field);
  if (size == 0) return {};
  const size_t text = reader_->Target(Find(field)) + 4;
  if (size > reader_->bytes_.size() - text) {
    reader_->failed_ = true;
    return {};
  }
  return {reinterpret_cast<const char*>(reader_->bytes_.data()) + text, size};
}

template <typename T>
T FlatTable::ScalarAt(int field, size_t i) const {
  if (i >= Size(field)) return T{};
  return reader_->Read<T>(reader_->Target(Find(field)) + 4 + i * sizeof(T));
}

inline FlatTable FlatTable::TableAt(int field, size_t i) const {
  if (i >= Size(field)) return {};
  return reader_->Follow(reader_->Target(Find(field)) + 4 + i * 4);
}

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_FLATBUFFER_H_
