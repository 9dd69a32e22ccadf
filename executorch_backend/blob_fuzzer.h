#ifndef TRTSCOPE_EXECUTORCH_BACKEND_BLOB_FUZZER_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_BLOB_FUZZER_H_

#include <cstddef>
#include <span>

namespace trtscope::executorch_backend {

/// Aborts when the parser breaks a promise: any bytes give an error that names a field, or a blob
/// within the bytes that survives being written and read again.  Returns whether they parsed.
bool FuzzBlob(std::span<const std::byte> bytes);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_BLOB_FUZZER_H_
