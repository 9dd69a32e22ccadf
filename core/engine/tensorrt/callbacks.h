#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_CALLBACKS_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_CALLBACKS_H_

// The objects that TensorRT calls: their vtables are built by hand in the family's layout.
//
// TensorRT borrows them and never deletes them; each outlives the TensorRT object it is given to.

#include <cstdint>

#include "core/engine/engine.h"
#include "core/engine/tensorrt/abi/abi_generated.h"
#include "core/profiling/engine_profile.h"

namespace trtscope::engine::tensorrt {

/// ILogger of one library.  Thread-safe; lives as long as the process.
class LoggerCallback {
 public:
  /// `label` names the library in what goes to stderr.
  LoggerCallback(abi::Family family, std::string label);
  void* abi_object() { return &vptr_; }
  const std::string& label() const { return label_; }

 private:
  void* const* vptr_;  // must be first: this object is what TensorRT sees
  std::string label_;
};

/// IProfiler of one execution context.  Records that arrive while no sink is set are dropped.
class ProfilerCallback {
 public:
  explicit ProfilerCallback(abi::Family family);
  void* abi_object() { return &vptr_; }
  /// Borrowed.  (the context's thread)
  void set_sink(profiling::LayerSink* sink) { sink_ = sink; }
  profiling::LayerSink* sink() const { return sink_; }

 private:
  void* const* vptr_;
  profiling::LayerSink* sink_ = nullptr;
};

/// IOutputAllocator of one output.
class AllocatorCallback {
 public:
  AllocatorCallback(abi::Family family, int index, OutputAllocator* allocator);
  void* abi_object() { return &vptr_; }
  int index() const { return index_; }
  OutputAllocator* allocator() const { return allocator_; }

 private:
  void* const* vptr_;
  int index_;
  OutputAllocator* allocator_;
};

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_CALLBACKS_H_
