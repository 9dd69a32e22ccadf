#include "core/profiling/paged_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/profiling/files.h"

namespace trtscope::profiling {
namespace {

constexpr size_t kWriteAt = 16 * PagedFile::kPage;

std::atomic<int> descriptors{0};  // held by all files

int OpenNew(const std::string& path) {
  int fd;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

Status PagedFile::Open(const std::string& path, std::string_view first) {
  // Under a name of its own until the first piece is in: viewers refuse an empty file.
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
  buffer_ = first;
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

void PagedFile::Append(std::string_view head, std::string_view body) {
  if (!open_ || !failure_.ok()) return;
  const size_t rest = kPage - static_cast<size_t>(size() % kPage);
  const size_t needed = head.size() + body.size();
  // It also goes to the next page when the filling after it would have no room.
  if (needed > rest || (needed < rest && rest - needed < kLeastFill)) fill_(buffer_, rest);
  buffer_ += head;
  buffer_ += body;
  // On its way early: what a long round of the writer still holds is lost by a kill.
  if (buffer_.size() >= kWriteAt) failure_ = WriteBuffer();
}

Status PagedFile::Reopen() {
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

void PagedFile::CloseDescriptor() {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  descriptors.fetch_sub(1, std::memory_order_relaxed);
}

Status PagedFile::WriteAll(std::string_view bytes) {
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
      // Everything up to `written_` is whole pieces; what this page got of its share is not.
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

Status PagedFile::Flush() {
  if (!open_) return FailedPrecondition("trace file " + path_ + " is not open");
  if (failure_.ok() && !buffer_.empty()) failure_ = WriteBuffer();
  if (descriptors.load(std::memory_order_relaxed) > kMaxDescriptors) CloseDescriptor();
  return failure_;
}

Status PagedFile::WriteBuffer() {
  Status status = WriteAll(buffer_);
  buffer_.clear();
  return status;
}

Status PagedFile::Finish(std::string_view tail) {
  const Status status = Flush();
  if (!open_) return status;
  // Also after a failure: the file was cut back, and there may be room for the tail.
  const Status closed = WriteAll(tail);
  Abandon();
  if (!closed.ok()) return closed;
  if (::rename((path_ + ".partial").c_str(), path_.c_str()) != 0) {
    return FileError("rename to", path_, errno);
  }
  return status;
}

void PagedFile::Abandon() {
  CloseDescriptor();
  open_ = false;
  buffer_.clear();
}

}  // namespace trtscope::profiling
