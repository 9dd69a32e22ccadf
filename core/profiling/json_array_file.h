#ifndef TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_
#define TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_

// JsonArrayFile: a JSON array on disk, one element a line, that is whole at every moment.
//
// It grows as `<path>.partial` and gets its name, by rename, when it is finished.  Whenever the
// process dies, even by SIGKILL inside a write, the partial file is a valid array but for the
// closing bracket: a fatal signal can cut a write(2) short only between pages, so no element
// crosses a page (blanks fill the page instead) and no write does either.
//
// Threads: none of its own; the writer's mutex guards it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::profiling {

class JsonArrayFile {
 public:
  /// No element may be longer, or a kill in its write could leave half of it.
  static constexpr size_t kMaxElement = 4096 - 8;

  static constexpr int kMaxDescriptors = 128;

  JsonArrayFile() = default;
  ~JsonArrayFile() { Abandon(); }
  JsonArrayFile(const JsonArrayFile&) = delete;
  JsonArrayFile& operator=(const JsonArrayFile&) = delete;

  /// Makes `<path>.partial`, holding `first_element` from the first moment it exists.  Refused
  /// with kFailedPrecondition when another file holds the name; the caller picks another one.
  Status Open(const std::string& path, std::string_view first_element);
  bool is_open() const { return open_; }
  const std::string& path() const { return path_; }

  /// May write; a failure is told by the next Flush.
  void Append(std::string_view element);
  /// Writes what was appended.  Beyond kMaxDescriptors of these files, the descriptor is closed
  /// until the next write: a process of many engines keeps its descriptors.  After a failure (a
  /// full disk) the file is cut back to its last whole element, everything later is refused with
  /// the same status, and Finish still works.
  Status Flush();
  /// Bytes appended so far.
  uint64_t size() const { return written_ + buffer_.size(); }

  /// Writes the rest and the closing bracket, and renames the file to `path`.
  Status Finish();
  /// Closes the descriptor and writes nothing: the file belongs to the parent of this process.
  void Abandon();

 private:
  Status WriteAll(std::string_view bytes);
  Status WriteBuffer();
  Status Reopen();
  void CloseDescriptor();

  bool open_ = false;
  int fd_ = -1;  // also closed between writes
  std::string path_;
  std::string buffer_;    // whole elements, not yet written
  uint64_t written_ = 0;  // bytes in the file, which end with an element
  Status failure_;
};

/// Makes `folder` and its missing parents.
Status MakeFolders(const std::string& folder);
/// Writes a whole file: a temporary one beside it, then rename.
Status WriteFileAtomically(const std::string& path, std::string_view bytes);
bool FileExists(const std::string& path);

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_
