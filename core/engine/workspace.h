#ifndef TRTSCOPE_CORE_ENGINE_WORKSPACE_H_
#define TRTSCOPE_CORE_ENGINE_WORKSPACE_H_

#include <bit>
#include <cstddef>
#include <vector>

#include "core/base/status.h"
#include "core/device/device.h"

namespace trtscope::engine {

/// An engine's scratch memory, from wherever its runtime takes memory.  The executor orders the
/// calls that use it, also across streams.  Externally synchronized (the engine's mutex).
class Workspace {
 public:
  virtual ~Workspace() = default;
  /// At least `bytes` octets, valid until the next Reserve; work that was enqueued before may still
  /// use what this replaces.  `stream` is where it will be used next.
  virtual Result<void*> Reserve(size_t bytes, device::StreamRef stream) = 0;
  /// The memory reserved last will be used on another stream from here on.
  virtual Status UseOn(device::StreamRef stream) = 0;
};

/// Workspace from the device itself, for runtimes without an allocator of their own.  What it
/// replaced is freed with it: freeing sooner would wait for the device.  Sizes are rounded up to
/// powers of two, so that all it ever replaced is less than what it holds.
class DeviceWorkspace final : public Workspace {
 public:
  explicit DeviceWorkspace(device::Device& device) : device_(device) {}
  ~DeviceWorkspace() override {
    for (void* block : blocks_) device_.Free(block);
  }
  Result<void*> Reserve(size_t bytes, device::StreamRef) override {
    TRTSCOPE_ASSIGN_OR_RETURN(void* block, device_.Allocate(std::bit_ceil(bytes)));
    blocks_.push_back(block);
    return block;
  }
  Status UseOn(device::StreamRef) override { return OkStatus(); }

 private:
  device::Device& device_;
  std::vector<void*> blocks_;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_WORKSPACE_H_
