#ifndef TRTSCOPE_CORE_PROFILING_PROCESS_INFO_H_
#define TRTSCOPE_CORE_PROFILING_PROCESS_INFO_H_

#include <string>

namespace trtscope::profiling {

std::string HostName();
/// The program's name, without its folder.
std::string ProcessName();

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_PROCESS_INFO_H_
