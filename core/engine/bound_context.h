#ifndef TRTSCOPE_CORE_ENGINE_BOUND_CONTEXT_H_
#define TRTSCOPE_CORE_ENGINE_BOUND_CONTEXT_H_

#include <memory>
#include <span>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/graph_cache.h"

namespace trtscope::engine {

/// An execution context together with what is already set on it, so that only changes reach the
/// engine: setting an unchanged shape or address again costs more than comparing it.
///
/// After a failure the part that failed counts as unset and is set again by the next call.
/// Externally synchronized.
class BoundContext {
 public:
  /// `engine` must outlive this.
  static Result<std::unique_ptr<BoundContext>> Create(Engine& engine,
                                                      const ContextOptions& options);

  /// Whether the input has exactly this shape here already.
  bool HasShape(int input, const Dims& shape) const {
    return shape == shapes_[static_cast<size_t>(input)];
  }
  /// Whether the output shapes follow from the input shapes that are set.
  bool shapes_known() const { return shapes_known_; }

  /// Sets the input shapes that differ, choosing the optimization profile that admits them all;
  /// a change of profile happens on `stream`.  `id` is for messages.
  Status SetShapes(std::span<const TensorView> inputs, device::StreamRef stream,
                   const std::string& id);
  /// Works out the output shapes.  After SetShapes and, for shape tensors, SetAddress.
  Status InferOutputs();
  /// Of any tensor; an output's after InferOutputs.
  const Dims& shape(int index) const { return shapes_[static_cast<size_t>(index)]; }

  /// A null `data` (an empty tensor's) is given an address of no meaning.
  Status SetAddress(int index, void* data);
  Status SetAllocator(int index, OutputAllocator* allocator);
  Status SetLayerSink(profiling::LayerSink* sink);

  /// Scratch octets needed under the current shapes, as asked of the context by InferOutputs.
  size_t workspace_bytes() const { return workspace_bytes_; }
  Status SetWorkspace(void* data, size_t bytes);

  /// Starts the work on `stream`; with `graphs`, by replaying what was captured for these
  /// addresses before (graph_cache.h).
  Status Enqueue(device::StreamRef stream, GraphCache* graphs);

  ExecutionContext& context() { return *context_; }

 private:
  BoundContext(Engine& engine, std::unique_ptr<ExecutionContext> context,
               bool user_managed_workspace);
  Result<int> ChooseProfile(std::span<const TensorView> inputs, const std::string& id) const;
  void ForgetInputShapes();

  Engine& engine_;
  std::unique_ptr<ExecutionContext> context_;
  std::vector<Dims> shapes_;      // rank -1: unset, a shape that no tensor has
  std::vector<void*> addresses_;  // null: unset
  std::vector<OutputAllocator*> allocators_;
  int allocator_count_ = 0;  // data-dependent outputs in use
  profiling::LayerSink* sink_ = nullptr;
  size_t workspace_bytes_ = 0;
  void* workspace_ = nullptr;  // null: unset
  size_t workspace_size_ = 0;
  int profile_ = 0;
  bool user_managed_workspace_;
  bool shapes_known_ = false;
};

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_BOUND_CONTEXT_H_
