#ifndef TRTSCOPE_EXECUTORCH_BACKEND_INPUT_FILE_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_INPUT_FILE_H_

// Tensors in files, for the native runner: NumPy's .npy, and bare octets.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::executorch_backend {

struct FileTensor {
  // Where the file says them: an .npy does, bare octets do not.
  std::optional<engine::DataType> dtype;
  std::optional<engine::Dims> shape;
  std::vector<std::byte> data;
};

/// Reads an .npy file by its first octets (little-endian, C order), or else the octets as they are.
/// `planned` is what the program takes, in octets: of a file that holds far more, or of a device
/// or pipe that never ends, no more than tells that is read.
Result<FileTensor> ReadTensorFile(const std::string& path, size_t planned);
/// The same of octets in memory.  `path` is for messages.
Result<FileTensor> ParseTensorFile(std::vector<std::byte> octets, const std::string& path);

/// Writes an .npy file.  Refused for types that NumPy does not have.
Status WriteNpy(const std::string& path, engine::DataType dtype, const engine::Dims& shape,
                std::span<const std::byte> data);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_INPUT_FILE_H_
