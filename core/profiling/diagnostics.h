#ifndef TRTSCOPE_CORE_PROFILING_DIAGNOSTICS_H_
#define TRTSCOPE_CORE_PROFILING_DIAGNOSTICS_H_

// Problems that no caller is there to be told of: one line on stderr, and a list for the tables.
// Threads: any.

#include <string>
#include <string_view>
#include <vector>

namespace trtscope::profiling {

/// Writes "trtscope: <text>" and a newline to stderr in one write(2): no stream, no lock.
void PrintLine(std::string_view text);

/// strerror without its static buffer.
std::string ErrorText(int error_number);

/// Prints `text` and keeps it for Problems(), unless the same text was reported before.
void ReportProblem(const std::string& text);
/// What was reported in this process, oldest first; at most 100 are kept.
std::vector<std::string> Problems();
void ClearProblems();

namespace internal {
/// For the fork handlers: held across fork().
void LockProblems();
void UnlockProblems();
}  // namespace internal

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_DIAGNOSTICS_H_
