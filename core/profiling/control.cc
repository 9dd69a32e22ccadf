#include "core/profiling/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/profiling/config.h"
#include "core/profiling/diagnostics.h"
#include "core/profiling/quiet_thread.h"
#include "core/profiling/report.h"

namespace trtscope::profiling {
namespace {

constexpr size_t kMaxRequest = 8192;
constexpr timeval kPatience = {2, 0};  // with a peer that does not read or write

struct Server {
  std::string path;
  int listener = -1;
  int stop = -1;  // eventfd
  pthread_t thread{};

  ~Server() {
    if (listener >= 0) ::close(listener);
    if (stop >= 0) ::close(stop);
  }
};

constinit std::mutex server_mu;
constinit Server* server = nullptr;  // guarded by server_mu

Status SystemError(const std::string& what) { return Internal(what + ": " + ErrorText(errno)); }

// Whoever may write into the folder could put another socket into our place.
Status MakeOwnFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError("control folder " + folder);
  }
  struct stat info;
  if (::lstat(folder.c_str(), &info) != 0) return SystemError("control folder " + folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0) {
    return FailedPrecondition("control folder " + folder +
                              ": expected a folder that is this user's alone (mode 700)");
  }
  return OkStatus();
}

bool IsOwner(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// The line, without its end; empty when none came in time.
std::string ReadLine(int connection) {
  std::string line;
  char part[512];
  while (line.size() < kMaxRequest) {
    const ssize_t got = ::recv(connection, part, sizeof part, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return "";
    line.append(part, static_cast<size_t>(got));
    if (const size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
  }
  return "";
}

void WriteAll(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the peer has gone: nobody is left to be told
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

void Serve(int connection) {
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (!IsOwner(connection)) {
    WriteAll(connection, "error\nthis process belongs to another user");
    return;
  }
  try {
    const Result<std::string> answer = Answer(ReadLine(connection));
    WriteAll(connection,
             answer.ok() ? "ok\n" + *answer : "error\n" + std::string(answer.status().message()));
  } catch (const std::exception& error) {
    WriteAll(connection, std::string("error\n") + error.what());
  }
}

void* Main(void* argument) {
  const Server& own = *static_cast<Server*>(argument);
  ::pthread_setname_np(::pthread_self(), "trtscope-control");
  while (true) {
    pollfd wait[] = {{own.listener, POLLIN, 0}, {own.stop, POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) break;
    if (wait[1].revents != 0) break;
    if ((wait[0].revents & POLLIN) == 0) continue;
    const int connection = ::accept4(own.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Serve(connection);
    ::close(connection);
  }
  return nullptr;
}

Status Listen(Server& made) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (made.path.size() >= sizeof address.sun_path) {
    return InvalidArgument("control socket " + made.path + ": longer than the " +
                           std::to_string(sizeof address.sun_path - 1) +
                           " octets that a socket's path may have");
  }
  std::memcpy(address.sun_path, made.path.data(), made.path.size());
  made.listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  made.stop = ::eventfd(0, EFD_CLOEXEC);
  if (made.listener < 0 || made.stop < 0) return SystemError("control socket");
  ::unlink(made.path.c_str());  // of a process that had this number and was killed
  if (::bind(made.listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(made.path.c_str(), 0600) != 0 || ::listen(made.listener, 8) != 0) {
    return SystemError("control socket " + made.path);
  }
  return OkStatus();
}

[[maybe_unused]] const bool started = [] {
  const char* const wanted = std::getenv(kEnvControl);
  if (wanted == nullptr || *wanted == '\0' || std::string_view(wanted) == "0") return false;
  if (std::string_view(wanted) != "1") {
    PrintLine("environment variable " + std::string(kEnvControl) +
              " is ignored: expected 0 or 1, got '" + wanted + "'");
    return false;
  }
  const Result<std::string> path = StartControl();
  if (!path.ok()) PrintLine(std::string(path.status().message()));
  return path.ok();
}();

}  // namespace

std::string ControlFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return std::string(runtime) + "/trtscope";
  return "/tmp/trtscope-" + std::to_string(::geteuid());
}

Result<std::string> StartControl() {
  const std::lock_guard<std::mutex> lock(server_mu);
  if (server != nullptr) return server->path;
  auto made = std::make_unique<Server>();
  const std::string folder = ControlFolder();
  TRTSCOPE_RETURN_IF_ERROR(MakeOwnFolder(folder));
  made->path = folder + "/" + std::to_string(::getpid()) + ".sock";
  TRTSCOPE_RETURN_IF_ERROR(Listen(*made));
  if (const int error = StartQuietThread(&made->thread, &Main, made.get()); error != 0) {
    ::unlink(made->path.c_str());
    return Internal("control socket: no thread for it: " + ErrorText(error));
  }
  static const int at_exit = std::atexit(&StopControl);
  static_cast<void>(at_exit);
  server = made.release();
  return server->path;
}

void StopControl() {
  const std::lock_guard<std::mutex> lock(server_mu);
  const std::unique_ptr<Server> old(std::exchange(server, nullptr));
  if (old == nullptr) return;
  ::unlink(old->path.c_str());
  const uint64_t one = 1;
  if (::write(old->stop, &one, sizeof one) == sizeof one) ::pthread_join(old->thread, nullptr);
}

Result<std::string> Answer(const std::string& request) {
  if (request == "config") return ConfigJson();
  if (request == "timing") return TimingJson();
  if (request == "table") return TimingTable();
  if (request == "flush") return FlushTraces();
  if (request == "reset") {
    ResetTiming();
    return std::string();
  }
  constexpr std::string_view kSet = "set ";
  if (request.starts_with(kSet)) {
    const size_t end = request.find(' ', kSet.size());
    const std::string name = request.substr(kSet.size(), end - kSet.size());
    const std::string value = end == std::string::npos ? "" : request.substr(end + 1);
    TRTSCOPE_RETURN_IF_ERROR(SetByName(name, value));
    return ConfigJson();
  }
  return InvalidArgument("request '" + request.substr(0, 100) +
                         "': expected config, timing, table, flush, reset, or set NAME VALUE");
}

namespace internal {

void LockControl() { server_mu.lock(); }
void UnlockControl() { server_mu.unlock(); }

// The thread stayed in the parent, and so does the socket's file.
void AbandonControlInChild() { delete std::exchange(server, nullptr); }

}  // namespace internal
}  // namespace trtscope::profiling
