#ifndef TRTSCOPE_CORE_PROFILING_CONTROL_H_
#define TRTSCOPE_CORE_PROFILING_CONTROL_H_

// A local socket through which the owner of this process sees what is measured and changes the
// settings from outside.  Off unless asked for: by kEnvControl=1 when the library loads, or by
// StartControl.
//
// The socket is PID.sock in a folder that only the user may enter (ControlFolder); a peer of
// another user is refused.  One request a connection, a line:
//   config | timing | table | flush | reset
//   set level|format|path_prefix|filter|sample_interval VALUE
// and one answer: "ok" or "error", a newline, and the text, to the end of the connection.
//
// Requests are served one at a time by a thread of its own, never on an engine's path.  A forked
// child does not serve.

#include <string>

#include "core/base/status.h"

namespace trtscope::profiling {

/// Environment variable that starts it when the library loads.
inline constexpr char kEnvControl[] = "TRTSCOPE_CONTROL";

/// XDG_RUNTIME_DIR/trtscope, or /tmp/trtscope-UID.
std::string ControlFolder();

/// Starts serving; the socket's path.  Again: the same.
Result<std::string> StartControl();
/// Stops, after the request that is being served.
void StopControl();

/// The answer's text to one request.
Result<std::string> Answer(const std::string& request);

namespace internal {
// For the fork handlers.
void LockControl();
void UnlockControl();
void AbandonControlInChild();
}  // namespace internal

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_CONTROL_H_
