#include "core/engine/bound_context.h"

#include <string>
#include <utility>

namespace trtscope::engine {
namespace {

// An empty tensor may come with a null pointer, which an engine takes for "not set".
char empty_tensor_storage;

bool Admits(const TensorInfo& input, int profile, const Dims& shape) {
  const auto at = static_cast<size_t>(profile);
  return at >= input.profiles.size() || InRange(shape, input.profiles[at]);
}

}  // namespace

BoundContext::BoundContext(Engine& engine, std::unique_ptr<ExecutionContext> context,
                           bool user_managed_workspace)
    : engine_(engine),
      context_(std::move(context)),
      shapes_(engine.tensors().size()),
      addresses_(engine.tensors().size(), nullptr),
      allocators_(engine.tensors().size(), nullptr),
      user_managed_workspace_(user_managed_workspace) {
  ForgetInputShapes();
}

Result<std::unique_ptr<BoundContext>> BoundContext::Create(Engine& engine,
                                                           const ContextOptions& options) {
  TRTSCOPE_ASSIGN_OR_RETURN(auto context, engine.CreateContext(options));
  return std::unique_ptr<BoundContext>(
      new BoundContext(engine, std::move(context), options.user_managed_workspace));
}

void BoundContext::ForgetInputShapes() {
  for (int i = 0; i < engine_.input_count(); ++i) shapes_[static_cast<size_t>(i)].rank = -1;
}

// One profile must admit the shapes of all inputs together.  The one in use is tried first:
// changing it costs the context a re-initialisation.
Result<int> BoundContext::ChooseProfile(std::span<const TensorView> inputs,
                                        const std::string& id) const {
  const int count = engine_.profile_count();
  for (int k = 0; k < count; ++k) {
    const int profile = (profile_ + k) % count;
    bool fits = true;
    for (size_t i = 0; i < inputs.size() && fits; ++i) {
      fits = Admits(engine_.tensors()[i], profile, inputs[i].shape);
    }
    if (fits) return profile;
  }
  std::string shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes += (i > 0 ? ", " : "") + engine_.tensors()[i].name + " " + ToString(inputs[i].shape);
  }
  return InvalidArgument("engine '" + id + "': none of its " + std::to_string(count) +
                         " optimization profiles admits these input shapes together: " + shapes);
}

Status BoundContext::SetShapes(std::span<const TensorView> inputs, device::StreamRef stream,
                               const std::string& id) {
  shapes_known_ = false;
  if (engine_.profile_count() > 1) {
    TRTSCOPE_ASSIGN_OR_RETURN(const int profile, ChooseProfile(inputs, id));
    if (profile != profile_) {
      ForgetInputShapes();  // as the context does
      TRTSCOPE_RETURN_IF_ERROR(context_->SetOptimizationProfile(profile, stream));
      profile_ = profile;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape == shapes_[i]) continue;
    shapes_[i].rank = -1;
    TRTSCOPE_RETURN_IF_ERROR(context_->SetInputShape(static_cast<int>(i), inputs[i].shape));
    shapes_[i] = inputs[i].shape;
  }
  return OkStatus();
}

Status BoundContext::InferOutputs() {
  shapes_known_ = false;
  for (size_t i = static_cast<size_t>(engine_.input_count()); i < shapes_.size(); ++i) {
    TRTSCOPE_ASSIGN_OR_RETURN(shapes_[i], context_->OutputShape(static_cast<int>(i)));
  }
  if (user_managed_workspace_) {
    TRTSCOPE_ASSIGN_OR_RETURN(workspace_bytes_, context_->WorkspaceSize());
  }
  shapes_known_ = true;
  return OkStatus();
}

Status BoundContext::SetWorkspace(void* data, size_t bytes) {
  if (data == workspace_ && bytes == workspace_size_) return OkStatus();
  workspace_ = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetWorkspace(data, bytes));
  workspace_ = data;
  workspace_size_ = bytes;
  return OkStatus();
}

Status BoundContext::SetAddress(int index, void* data) {
  void* const address = data != nullptr ? data : &empty_tensor_storage;
  void*& held = addresses_[static_cast<size_t>(index)];
  if (address == held) return OkStatus();
  held = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetAddress(index, address));
  held = address;
  return OkStatus();
}

Status BoundContext::SetAllocator(int index, OutputAllocator* allocator) {
  OutputAllocator*& held = allocators_[static_cast<size_t>(index)];
  if (held == allocator) return OkStatus();
  allocator_count_ -= held != nullptr;
  held = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetOutputAllocator(index, allocator));
  allocator_count_ += allocator != nullptr;
  held = allocator;
  return OkStatus();
}

Status BoundContext::Enqueue(device::StreamRef stream, GraphCache* graphs) {
  // A shape that only the enqueue knows cannot be part of a graph.
  if (graphs == nullptr || allocator_count_ > 0) return context_->Enqueue(stream);
  return graphs->Enqueue(*context_, addresses_, workspace_, stream);
}

Status BoundContext::SetLayerSink(profiling::LayerSink* sink) {
  if (sink == sink_) return OkStatus();
  sink_ = nullptr;
  TRTSCOPE_RETURN_IF_ERROR(context_->SetLayerSink(sink));
  sink_ = sink;
  return OkStatus();
}

}  // namespace trtscope::engine
