#include "core/profiling/diagnostics.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>

namespace trtscope::profiling {
namespace {

struct ProblemList {
  std::mutex mu;
  std::vector<std::string> texts;  // guarded by mu
};

ProblemList& GetProblems() {
  static ProblemList* const list = new ProblemList;
  return *list;
}

}  // namespace

void PrintLine(std::string_view text) {
  std::string line = "trtscope: ";
  line.append(text);
  // One line whatever a path or a name in it holds.
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string ErrorText(int error_number) { return std::generic_category().message(error_number); }

void ReportProblem(const std::string& text) {
  constexpr size_t kMaxKept = 100;
  ProblemList& list = GetProblems();
  {
    std::lock_guard<std::mutex> lock(list.mu);
    if (list.texts.size() >= kMaxKept) return;
    if (std::find(list.texts.begin(), list.texts.end(), text) != list.texts.end()) return;
    list.texts.push_back(text);
  }
  PrintLine(text);
}

std::vector<std::string> Problems() {
  ProblemList& list = GetProblems();
  std::lock_guard<std::mutex> lock(list.mu);
  return list.texts;
}

void ClearProblems() {
  ProblemList& list = GetProblems();
  std::lock_guard<std::mutex> lock(list.mu);
  list.texts.clear();
}

namespace internal {
void LockProblems() { GetProblems().mu.lock(); }
void UnlockProblems() { GetProblems().mu.unlock(); }
}  // namespace internal

}  // namespace trtscope::profiling
