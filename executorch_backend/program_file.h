#ifndef TRTSCOPE_EXECUTORCH_BACKEND_PROGRAM_FILE_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_PROGRAM_FILE_H_

#include <string>

#include "core/base/status.h"

namespace trtscope::executorch_backend {

/// Whether a file can be given to ExecuTorch: it is read and is a whole program, as its checksum
/// says where it has one, whose tables ExecuTorch's verifier accepts.  ExecuTorch itself follows
/// them unchecked unless asked, and calls all of these by the number of an error.
Status CheckProgramFile(const std::string& path);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_PROGRAM_FILE_H_
