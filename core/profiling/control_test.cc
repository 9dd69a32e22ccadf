// The control socket: who may ask, what is answered, and that nobody can hold it up.

#include "core/profiling/control.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "core/profiling/test_util.h"

namespace trtscope::profiling {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

int Connect(const std::string& path) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    return connection;
  }
  ::close(connection);
  return -1;
}

std::string Ask(const std::string& path, const std::string& request) {
  const int connection = Connect(path);
  if (connection < 0) return "no connection";
  EXPECT_EQ(::send(connection, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = ::recv(connection, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<size_t>(got));
  }
  ::close(connection);
  return answer;
}

class ControlTest : public ::testing::Test {
 protected:
  ControlTest() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~ControlTest() override {
    StopControl();
    EXPECT_TRUE(SetLevel(Level::kOff).ok());
    EXPECT_TRUE(SetFilter("*").ok());
  }
  std::string Start() {
    const Result<std::string> path = StartControl();
    EXPECT_TRUE(path.ok()) << path.status().message();
    return path.ok() ? *path : "";
  }
  TempFolder folder_{"/tmp"};  // a socket's path is short
};

TEST_F(ControlTest, ReadsAndSets) {
  const std::string path = Start();
  EXPECT_EQ(path, folder_.path() + "/trtscope/" + std::to_string(::getpid()) + ".sock");
  ASSERT_TRUE(SetPathPrefix(folder_.path()).ok());
  EXPECT_SAYS(Ask(path, "set filter enc*\n"), "\"enc*\"");
  EXPECT_SAYS(Ask(path, "set sample_interval 7\n"), "\"sample_interval\":7");
  EXPECT_SAYS(Ask(path, "set level phases\n"), "ok\n");
  EXPECT_EQ(Snapshot().level, Level::kPhases);
  EXPECT_EQ(Snapshot().filter, "enc*");
  const auto engine = NewEngine("encoder");
  RunCall(*engine, 1);
  const std::string timing = Ask(path, "timing\n");
  ASSERT_TRUE(timing.starts_with("ok\n"));
  EXPECT_FALSE(Json::parse(timing.substr(3)).at("engines").empty());
  EXPECT_SAYS(Ask(path, "table\n"), "encoder");
  EXPECT_SAYS(Ask(path, "set level off\n"), "\"off\"");
  EXPECT_SAYS(Ask(path, "flush\n"), "_engine_execution_profile.trace");
  EXPECT_EQ(Ask(path, "reset\n"), "ok\n");
  EXPECT_TRUE(SetSampleInterval(0).ok());
}

TEST_F(ControlTest, RefusesWhatItDoesNotKnowAndChangesNothing) {
  const std::string path = Start();
  const Config before = Snapshot();
  EXPECT_SAYS(Ask(path, "set level loud\n"), "error\nprofile level 'loud' is not one of: off");
  EXPECT_SAYS(Ask(path, "set sample_interval x\n"), "error\nsample interval 'x' is not an integer");
  EXPECT_SAYS(Ask(path, "set color red\n"), "error\nsetting 'color' is not one of: level");
  EXPECT_SAYS(Ask(path, "set filter\n"), "error\nprofile filter is empty");
  EXPECT_SAYS(Ask(path, "stop\n"), "error\nrequest 'stop': expected config");
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(ControlTest, OnlyItsUserMayEnter) {
  const std::string path = Start();
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(ControlFolder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user, to be refused as one";
  // Let another user reach the socket's file: the peer is still refused.
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(ControlFolder().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(3);
    const std::string answer = Ask(path, "set level layers\n");
    // A folder above may keep it out already.
    const bool refused = answer == "no connection" || answer.starts_with("error\nthis process");
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "this sandbox knows one user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Snapshot().level, Level::kOff);
}

TEST_F(ControlTest, AFolderThatOthersMayEnterIsRefused) {
  ASSERT_EQ(::mkdir(ControlFolder().c_str(), 0755), 0);
  const Result<std::string> path = StartControl();
  ASSERT_FALSE(path.ok());
  EXPECT_SAYS(path.status().message(), "expected a folder that is this user's alone (mode 700)");
}

TEST_F(ControlTest, APathThatIsTooLongIsRefused) {
  const std::string longer = folder_.path() + "/" + std::string(120, 'x');
  ASSERT_EQ(::mkdir(longer.c_str(), 0700), 0);
  ::setenv("XDG_RUNTIME_DIR", longer.c_str(), 1);
  const Result<std::string> path = StartControl();
  ASSERT_FALSE(path.ok());
  EXPECT_SAYS(path.status().message(), "longer than the 107 octets");
}

TEST_F(ControlTest, StartsAndStopsAgain) {
  const std::string path = Start();
  EXPECT_EQ(Start(), path);
  StopControl();
  StopControl();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_EQ(Ask(path, "config\n"), "no connection");
  EXPECT_EQ(Start(), path);
  EXPECT_SAYS(Ask(path, "config\n"), "ok\n");
}

TEST_F(ControlTest, AFileThatAKilledProcessLeftIsReplaced) {
  ASSERT_EQ(::mkdir(ControlFolder().c_str(), 0700), 0);
  const std::string left = ControlFolder() + "/" + std::to_string(::getpid()) + ".sock";
  std::ofstream(left) << "left";
  EXPECT_EQ(Start(), left);
  EXPECT_SAYS(Ask(left, "config\n"), "ok\n");
}

TEST_F(ControlTest, PeersThatSayNothingGoAndOthersAreServed) {
  const std::string path = Start();
  const int gone = Connect(path);
  ASSERT_GE(gone, 0);
  ::close(gone);
  EXPECT_SAYS(Ask(path, std::string(20'000, 'x')), "error\n");  // longer than a request may be
  const int silent = Connect(path);
  ASSERT_GE(silent, 0);
  EXPECT_SAYS(Ask(path, "config\n"), "ok\n");  // after its patience with the silent one
  ::close(silent);
}

TEST_F(ControlTest, AForkedChildDoesNotServeAndLeavesTheParentsSocket) {
  const std::string path = Start();
  const pid_t child = ::fork();
  if (child == 0) {
    StopControl();
    std::exit(::access(path.c_str(), F_OK) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_SAYS(Ask(path, "config\n"), "ok\n");
}

}  // namespace
}  // namespace trtscope::profiling
