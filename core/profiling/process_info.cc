#include "core/profiling/process_info.h"

#include <errno.h>
#include <unistd.h>

namespace trtscope::profiling {

std::string HostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string ProcessName() {
  return program_invocation_short_name != nullptr ? program_invocation_short_name : "process";
}

}  // namespace trtscope::profiling
