#include "core/profiling/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/profiling/diagnostics.h"

namespace trtscope::profiling {

Status FileError(std::string_view action, const std::string& path, int error_number) {
  const StatusCode code = error_number == ENOSPC || error_number == EFBIG || error_number == EDQUOT
                              ? StatusCode::kResourceExhausted
                          : error_number == EEXIST ? StatusCode::kFailedPrecondition
                                                   : StatusCode::kInternal;
  return Status(code,
                "cannot " + std::string(action) + " " + path + ": " + ErrorText(error_number));
}

bool FileExists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

Status MakeFolders(const std::string& folder) {
  for (size_t at = 1; at <= folder.size(); ++at) {
    if (at != folder.size() && folder[at] != '/') continue;
    const std::string part = folder.substr(0, at);
    if (::mkdir(part.c_str(), 0777) == 0) continue;
    const int error_number = errno;
    struct stat info;
    if (::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
    return FileError("make folder", part, error_number == EEXIST ? ENOTDIR : error_number);
  }
  return OkStatus();
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return FileError("create", temporary, errno);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      Status status = FileError("write", path, n < 0 ? errno : ENOSPC);
      ::close(fd);
      ::unlink(temporary.c_str());
      return status;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  ::close(fd);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    Status status = FileError("rename to", path, errno);
    ::unlink(temporary.c_str());
    return status;
  }
  return OkStatus();
}

std::string JoinPath(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.ends_with('/')) path += '/';
  return path += name;
}

}  // namespace trtscope::profiling
