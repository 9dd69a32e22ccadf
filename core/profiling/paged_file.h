#ifndef TRTSCOPE_CORE_PROFILING_PAGED_FILE_H_
#define TRTSCOPE_CORE_PROFILING_PAGED_FILE_H_

// PagedFile: a trace file of whole pieces (JSON elements, packets) that is whole at every moment.
//
// It grows as `<path>.partial` and gets its name, by rename, when it is finished.  Whenever the
// process dies, even by SIGKILL inside a write, the partial file ends with a whole piece: a fatal
// signal can cut a write(2) short only between pages, so no piece crosses a page (filling that
// readers skip takes the rest of the page instead) and no write does either.
//
// Threads: none of its own; the writer's mutex guards it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::profiling {

/// A piece must fit a page, so the text in it is cut: the tables hold whole names.
inline constexpr size_t kMaxNameBytes = 1024;
inline constexpr size_t kMaxIdBytes = 512;

class PagedFile {
 public:
  /// Appends exactly `bytes` (kLeastFill to a page) that a reader of the format skips.
  using Fill = void (*)(std::string& out, size_t bytes);

  static constexpr size_t kPage = 4096;  // the smallest page there is: right for larger ones too
  static constexpr size_t kLeastFill = 8;
  /// No piece may be longer, or a kill in its write could leave half of it.
  static constexpr size_t kMaxPiece = kPage - kLeastFill;
  static constexpr int kMaxDescriptors = 128;

  explicit PagedFile(Fill fill) : fill_(fill) {}
  ~PagedFile() { Abandon(); }
  PagedFile(const PagedFile&) = delete;
  PagedFile& operator=(const PagedFile&) = delete;

  /// Makes `<path>.partial`, holding the piece `first` from the first moment it exists.  Refused
  /// with kFailedPrecondition when another file holds the name; the caller picks another one.
  Status Open(const std::string& path, std::string_view first);
  bool is_open() const { return open_; }
  const std::string& path() const { return path_; }

  /// Appends `head` and `body` as one piece.  May write; a failure is told by the next Flush.
  void Append(std::string_view head, std::string_view body = {});
  /// Writes what was appended.  Beyond kMaxDescriptors of these files, the descriptor is closed
  /// until the next write: a process of many engines keeps its descriptors.  After a failure (a
  /// full disk) the file is cut back to its last whole piece, everything later is refused with
  /// the same status, and Finish still works.
  Status Flush();
  /// Bytes appended so far.
  uint64_t size() const { return written_ + buffer_.size(); }

  /// Writes the rest and `tail`, and renames the file to `path`.
  Status Finish(std::string_view tail = {});
  /// Closes the descriptor and writes nothing: the file belongs to the parent of this process.
  void Abandon();

 private:
  Status WriteAll(std::string_view bytes);
  Status WriteBuffer();
  Status Reopen();
  void CloseDescriptor();

  const Fill fill_;
  bool open_ = false;
  int fd_ = -1;  // also closed between writes
  std::string path_;
  std::string buffer_;    // whole pieces, not yet written
  uint64_t written_ = 0;  // bytes in the file, which end with a piece
  Status failure_;
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PAGED_FILE_H_
