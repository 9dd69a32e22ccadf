#ifndef TRTSCOPE_CORE_PROFILING_FILES_H_
#define TRTSCOPE_CORE_PROFILING_FILES_H_

// What the sinks need of the file system.  Threads: any.

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::profiling {

/// "cannot <action> <path>: <why>"; kFailedPrecondition when a file is in the way,
/// kResourceExhausted when there is no room.
Status FileError(std::string_view action, const std::string& path, int error_number);
/// Makes `folder` and its missing parents.
Status MakeFolders(const std::string& folder);
/// Writes a whole file: a temporary one beside it, then rename.
Status WriteFileAtomically(const std::string& path, std::string_view bytes);
bool FileExists(const std::string& path);
/// `folder` and `name` with one slash between them.
std::string JoinPath(const std::string& folder, std::string_view name);

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_FILES_H_
