#ifndef TRTSCOPE_EXECUTORCH_BACKEND_STAGING_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_STAGING_H_

#include <bit>
#include <cstddef>

#include "core/base/status.h"
#include "core/device/device.h"

namespace trtscope::executorch_backend {

/// Memory for a tensor that is not where the engine needs it.  Grows and is kept.  Calls that use
/// it wait for their work, so replacing it never takes it from work in flight.
class Staging {
 public:
  explicit Staging(device::Device& device) : device_(device) {}
  ~Staging() { device_.Free(data_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  Result<void*> Reserve(size_t bytes) {
    if (bytes <= bytes_ && data_ != nullptr) return data_;
    const size_t rounded = std::bit_ceil(bytes < 256 ? size_t{256} : bytes);
    device_.Free(data_);
    data_ = nullptr;
    bytes_ = 0;
    TRTSCOPE_ASSIGN_OR_RETURN(data_, device_.Allocate(rounded));
    bytes_ = rounded;
    return data_;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  device::Device& device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_STAGING_H_
