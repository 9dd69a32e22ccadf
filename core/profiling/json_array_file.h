#ifndef TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_
#define TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/profiling/paged_file.h"

namespace trtscope::profiling {

/// A JSON array on disk, one element a line.  While it grows (paged_file.h), and whenever the
/// process dies, it is a valid array but for the closing bracket.  Threads: as PagedFile.
class JsonArrayFile {
 public:
  static constexpr size_t kMaxElement = PagedFile::kMaxPiece - 2;

  /// From its first moment on it holds `elements`: one, or more with ",\n" between them.
  Status Open(const std::string& path, std::string_view elements) {
    return file_.Open(path, "[\n" + std::string(elements));
  }
  bool is_open() const { return file_.is_open(); }
  const std::string& path() const { return file_.path(); }
  void Append(std::string_view element) { file_.Append(",\n", element); }
  Status Flush() { return file_.Flush(); }
  uint64_t size() const { return file_.size(); }
  Status Finish() { return file_.Finish("\n]\n"); }
  void Abandon() { file_.Abandon(); }

 private:
  static void Blanks(std::string& out, size_t bytes) { out.append(bytes, ' '); }
  PagedFile file_{&Blanks};
};

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_JSON_ARRAY_FILE_H_
