#ifndef TRTSCOPE_TESTS_GPU_NPZ_H_
#define TRTSCOPE_TESTS_GPU_NPZ_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::gpu_test {

/// One float32 array of an .npz file.
struct Array {
  engine::Dims shape;
  std::vector<float> values;
};

/// The arrays of an .npz file that numpy.savez wrote (not compressed, little-endian float32, C
/// order), by name.  Anything else is refused by name.
Result<std::map<std::string, Array>> ReadNpz(const std::string& path);

/// A whole file.
Result<std::vector<std::byte>> ReadFile(const std::string& path);

}  // namespace trtscope::gpu_test

#endif  // TRTSCOPE_TESTS_GPU_NPZ_H_
