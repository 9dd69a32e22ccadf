#include "core/profiling/json_array_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/profiling/diagnostics.h"

namespace trtscope::profiling {
namespace {

constexpr size_t kPage = 4096;  // the smallest page there is: right for larger ones too
constexpr size_t kWriteAt = 16 * kPage;

std::atomic<int> descriptors{0};  // held by all files

Status FileError(std::string_view action, const std::string& path, int error_number) {
  const StatusCode code = error_number == ENOSPC || error_number == EFBIG || error_number == EDQUOT
                              ? StatusCode::kResourceExhausted
                          : error_number == EEXIST ? StatusCode::kFailedPrecondition
                                                   : StatusCode::kInternal;
  return Status(code,
                "cannot " + std::string(action) + " " + path + ": " + ErrorText(error_number));
}

int OpenNew(const std::string& path) {
  int fd;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

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

Status JsonArrayFile::Open(const std::string& path, std::string_view first_element) {
  // Under a name of its own until the first element is in, for an empty file is not an array.
  const std::string opening = path + ".opening";
  const std::string partial = path + ".partial";
  const int fd = OpenNew(opening);
  if (fd < 0) return FileError("create", opening, errno);
  // Checked after the exclusive create: whoever held this name before has renamed by now.
  if (FileExists(path) || FileExists(partial)) {
    ::close(fd);
    ::unlink(opening.c_str());
    return FileError("create", path, EEXIST);
  }
  open_ = true;
  fd_ = fd;
  descriptors.fetch_add(1, std::memory_order_relaxed);
  path_ = path;
  written_ = 0;
  failure_ = OkStatus();
  buffer_ = "[\n";
  buffer_ += first_element;
  Status status = Flush();
  if (status.ok() && ::rename(opening.c_str(), partial.c_str()) != 0) {
    status = FileError("rename to", partial, errno);
  }
  if (!status.ok()) {
    Abandon();
    ::unlink(opening.c_str());
  }
  return status;
}

void JsonArrayFile::Append(std::string_view element) {
  if (!open_ || !failure_.ok()) return;
  const size_t in_page = static_cast<size_t>(size() % kPage);
  const size_t needed = element.size() + 2;
  if (in_page + needed > kPage) buffer_.append(kPage - in_page, ' ');
  buffer_ += ",\n";
  buffer_ += element;
  // On its way early: what a long round of the writer still holds is lost by a kill.
  if (buffer_.size() >= kWriteAt) failure_ = WriteBuffer();
}

Status JsonArrayFile::Reopen() {
  if (fd_ >= 0) return OkStatus();
  const std::string partial = path_ + ".partial";
  do {
    fd_ = ::open(partial.c_str(), O_WRONLY | O_CLOEXEC);
  } while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) return FileError("open again", partial, errno);
  descriptors.fetch_add(1, std::memory_order_relaxed);
  if (::lseek(fd_, static_cast<off_t>(written_), SEEK_SET) < 0) {
    return FileError("find the end of", partial, errno);
  }
  return OkStatus();
}

void JsonArrayFile::CloseDescriptor() {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  descriptors.fetch_sub(1, std::memory_order_relaxed);
}

Status JsonArrayFile::WriteAll(std::string_view bytes) {
  TRTSCOPE_RETURN_IF_ERROR(Reopen());
  while (!bytes.empty()) {
    const size_t to_page_end = kPage - static_cast<size_t>(written_ % kPage);
    const size_t wanted = std::min(bytes.size(), to_page_end);
    for (size_t done = 0; done < wanted;) {
      const ssize_t n = ::write(fd_, bytes.data() + done, wanted - done);
      if (n > 0) {
        done += static_cast<size_t>(n);
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      const int error_number = n < 0 ? errno : ENOSPC;
      // Everything up to `written_` is whole elements; what this page got of its share is not.
      const auto whole = static_cast<off_t>(written_);
      if (::ftruncate(fd_, whole) != 0 || ::lseek(fd_, whole, SEEK_SET) < 0) {
        return FileError("cut back after a failed write", path_ + ".partial", errno);
      }
      return FileError("write", path_ + ".partial", error_number);
    }
    bytes.remove_prefix(wanted);
    written_ += wanted;
  }
  return OkStatus();
}

Status JsonArrayFile::Flush() {
  if (!open_) return FailedPrecondition("trace file " + path_ + " is not open");
  if (failure_.ok() && !buffer_.empty()) failure_ = WriteBuffer();
  if (descriptors.load(std::memory_order_relaxed) > kMaxDescriptors) CloseDescriptor();
  return failure_;
}

Status JsonArrayFile::WriteBuffer() {
  Status status = WriteAll(buffer_);
  buffer_.clear();
  return status;
}

Status JsonArrayFile::Finish() {
  const Status status = Flush();
  if (!open_) return status;
  // Also after a failure: the file was cut back, and there may be room for three bytes.
  const Status closed = WriteAll("\n]\n");
  Abandon();
  if (!closed.ok()) return closed;
  if (::rename((path_ + ".partial").c_str(), path_.c_str()) != 0) {
    return FileError("rename to", path_, errno);
  }
  return status;
}

void JsonArrayFile::Abandon() {
  CloseDescriptor();
  open_ = false;
  buffer_.clear();
}

}  // namespace trtscope::profiling
