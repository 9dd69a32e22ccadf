// The fake's execution contexts.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/fakes/fake_objects.h"

namespace trtscope::fakes {

using abi::Method;
using abi::Role;
using engine::Dims;

struct FakeContext {
  void* const* vtable;
  PublicObject api;  // second: PublicContext() counts on it
  FakeEngine* engine;
  bool with_memory;
  int profile = -1;
  std::vector<Dims> shapes;  // inputs: as set; rank -1 otherwise
  std::vector<void*> addresses;
  std::vector<void*> allocators;
  void* workspace = nullptr;
  int64_t workspace_size = 0;
  void* profiler = nullptr;
  bool emits = true;  // TensorRT's default
  int enqueues = 0;
  void* last_stream = nullptr;

  const FakeProgram& program() const { return engine->program; }
  bool Fail(const std::string& message) const {
    return engine->Fail("IExecutionContext: Error Code 3: API Usage Error (" + message + ")");
  }
};

namespace {

const abi::CallbackLayout& AllocatorLayout() {
  return abi::kIOutputAllocator[static_cast<size_t>(kRelease.family)];
}

size_t At(int index) { return static_cast<size_t>(index); }

void ResetShapes(FakeContext* context) {
  const std::vector<FakeTensor>& io = context->program().io;
  for (size_t i = 0; i < io.size(); ++i) {
    context->shapes[i] = io[i].shape;
    if (!io[i].input || io[i].shape.dynamic()) context->shapes[i].rank = -1;
  }
}

bool SetProfile(FakeContext* self, int32_t profile, void*) {
  if (!self->engine->OnDevice()) return false;
  if (profile < 0 || profile >= self->program().profile_count) {
    return self->Fail("profile index " + std::to_string(profile) + " is out of range");
  }
  if (profile == self->profile) return true;
  if (!self->engine->ClaimProfile(profile)) {
    return self->Fail("Profile " + std::to_string(profile) +
                      " has been chosen by another IExecutionContext. Use another profileIndex or "
                      "destroy the IExecutionContext that use this profile.");
  }
  self->engine->LeaveProfile(self->profile);
  self->profile = profile;
  ResetShapes(self);
  return true;
}
int32_t GetProfile(FakeContext* self) { return self->profile; }

template <typename Wide>
bool SetInputShape(FakeContext* self, const char* name, const Wide* wide) {
  ++TheCounters().set_shapes;
  const int index = self->program().Find(name);
  if (index < 0 || !self->program().io[At(index)].input) return self->Fail("no such input");
  const FakeTensor& tensor = self->program().io[At(index)];
  const Dims dims = abi::FromAbi(*wide);
  bool fits = dims.rank == tensor.shape.rank;
  for (int i = 0; fits && i < dims.rank; ++i) {
    fits = dims[i] >= 0 && (tensor.shape[i] < 0 || tensor.shape[i] == dims[i]);
    if (!fits || tensor.profiles.empty()) continue;
    const auto& range = tensor.profiles[At(std::max(self->profile, 0))];
    fits = dims[i] >= range[0][i] && dims[i] <= range[2][i];
  }
  if (!fits) {
    return self->Fail("Given invalid tensor name or dimensions for " + std::string(name) +
                      ": profile " + std::to_string(self->profile) + " does not allow " +
                      engine::ToString(dims));
  }
  self->shapes[At(index)] = dims;
  return true;
}

/// Inputs that still lack a shape or, for shape inputs, values.
int32_t InferShapes(FakeContext* self, int32_t count, const char** names) {
  int32_t missing = 0;
  const std::vector<FakeTensor>& io = self->program().io;
  for (size_t i = 0; i < io.size(); ++i) {
    if (!io[i].input) continue;
    const bool known = self->shapes[i].rank >= 0;
    if (known && (!io[i].shape_input || self->addresses[i] != nullptr)) continue;
    if (missing < count) names[missing] = io[i].name.c_str();
    ++missing;
  }
  return missing;
}

Dims ShapeOf(FakeContext* self, int index) {
  const FakeTensor& tensor = self->program().io[At(index)];
  if (tensor.input)
    return self->shapes[At(index)].rank < 0 ? tensor.shape : self->shapes[At(index)];
  if (InferShapes(self, 0, nullptr) > 0 || tensor.data_dependent) return tensor.shape;
  Dims dims = self->shapes[At(tensor.from)];
  if (tensor.shape_from >= 0) {
    const FakeTensor& source = self->program().io[At(tensor.shape_from)];
    const auto* values = static_cast<const char*>(self->addresses[At(tensor.shape_from)]);
    dims.rank = tensor.shape.rank;
    for (int i = 0; i < dims.rank; ++i) {
      dims[i] = 0;
      std::memcpy(&dims[i], values + At(i) * source.element_octets, source.element_octets);
    }
  }
  if (self->program().faults.wrong_dims && dims.rank < Dims::kMaxRank) dims[dims.rank++] = 1;
  return dims;
}
template <typename Wide>
Wide GetShape(FakeContext* self, const char* name) {
  const int index = self->program().Find(name);
  Wide none{};
  none.nbDims = -1;
  return index < 0 ? none : abi::ToAbi<Wide>(ShapeOf(self, index));
}

bool SetAddress(FakeContext* self, const char* name, void* data) {
  ++TheCounters().set_addresses;
  const int index = self->program().Find(name);
  if (index < 0) return self->Fail("no such tensor");
  self->addresses[At(index)] = data;
  return true;
}
bool SetInputAddress(FakeContext* self, const char* name, const void* data) {
  return SetAddress(self, name, const_cast<void*>(data));
}

bool SetAllocator(FakeContext* self, const char* name, void* allocator) {
  const int index = self->program().Find(name);
  if (index < 0 || self->program().io[At(index)].input) return self->Fail("no such output");
  self->allocators[At(index)] = allocator;
  return true;
}

size_t UpdateMemorySize(FakeContext* self) {
  // As the real one: what the current shapes need, here in proportion to the first input.
  const Dims shape = ShapeOf(self, 0);
  return self->program().workspace * static_cast<size_t>(std::max<int64_t>(shape.elements(), 1));
}
void SetMemory(FakeContext* self, void* data) {
  self->workspace = data;
  self->workspace_size = static_cast<int64_t>(self->program().workspace);
}
void SetMemoryV2(FakeContext* self, void* data, int64_t size) {
  if (reinterpret_cast<uintptr_t>(data) % 256 != 0) {
    self->Fail("device memory must be aligned to 256");
    return;
  }
  self->workspace = data;
  self->workspace_size = size;
}

void SetProfiler(FakeContext* self, void* profiler) {
  if (self->program().faults.no_profiler) return;
  if (profiler == nullptr) {
    self->Fail("Parameter check failed, condition: profiler != nullptr");
    return;
  }
  self->profiler = profiler;
}
void* GetProfiler(FakeContext* self) { return self->profiler; }
void SetEmits(FakeContext* self, bool emits) { self->emits = emits; }
bool GetEmits(FakeContext* self) { return self->emits; }

void ReportLayers(FakeContext* self) {
  const auto& layout = abi::kIProfiler[static_cast<size_t>(kRelease.family)];
  CallFrom(self->program(), [self, &layout] {
    for (size_t i = 0; i < self->program().layers.size(); ++i) {
      CallBack<void, const char*, float>(layout, Role::kReportLayerTime, self->profiler,
                                         self->program().layers[i].c_str(),
                                         static_cast<float>(i + 1) * 1e-3F);
    }
  });
}

bool Report(FakeContext* self) {
  if (!self->engine->OnDevice()) return false;
  if (self->profiler == nullptr || self->enqueues == 0) return self->Fail("nothing to report");
  ++TheCounters().reports;
  // Like the real one, it waits for work that still runs.
  FakeCuda::Get().wait(self->last_stream);
  ReportLayers(self);
  return true;
}

/// One output's computation.
struct Piece {
  const char* from;
  char* to;
  size_t elements;
  size_t octets;
  bool scale;
};
struct Work {
  std::vector<Piece> pieces;
  float factor;
  int delay_us;
};

void Compute(void* argument) {
  const auto* work = static_cast<const Work*>(argument);
  if (work->delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(work->delay_us));
  for (const Piece& piece : work->pieces) {
    if (!piece.scale) {
      std::memmove(piece.to, piece.from, piece.elements * piece.octets);
      continue;
    }
    for (size_t i = 0; i < piece.elements; ++i) {
      float value;
      std::memcpy(&value, piece.from + i * 4, 4);
      value *= work->factor;
      std::memcpy(piece.to + i * 4, &value, 4);
    }
  }
}

/// The elements that are not zero; only here does their number become known.
template <typename Wide>
bool EnqueueDataDependent(FakeContext* self, int index, const Piece& piece, void* stream) {
  FakeCuda::Get().wait(stream);
  std::vector<float> values;
  for (size_t i = 0; i < piece.elements; ++i) {
    float value;
    std::memcpy(&value, piece.from + i * 4, 4);
    if (value != 0) values.push_back(value * self->program().factor);
  }
  void* allocator = self->allocators[At(index)];
  if (allocator == nullptr) return self->Fail("a data-dependent output has no allocator");
  const std::string& name = self->program().io[At(index)].name;
  const bool async = AllocatorLayout().slot(Role::kReallocateOutputAsync) >= 0;
  void* memory = nullptr;
  CallFrom(self->program(), [&] {
    const uint64_t size = values.size() * 4;
    memory = async ? CallBack<void*, const char*, void*, uint64_t, uint64_t, void*>(
                         AllocatorLayout(), Role::kReallocateOutputAsync, allocator, name.c_str(),
                         nullptr, size, 256, stream)
                   : CallBack<void*, const char*, void*, uint64_t, uint64_t>(
                         AllocatorLayout(), Role::kReallocateOutput, allocator, name.c_str(),
                         nullptr, size, 256);
    Dims dims;
    dims.rank = 1;
    dims[0] = static_cast<int64_t>(values.size());
    const Wide wide = abi::ToAbi<Wide>(dims);
    CallBack<void, const char*, const Wide*>(AllocatorLayout(), Role::kNotifyShape, allocator,
                                             name.c_str(), &wide);
  });
  if (memory == nullptr) return self->Fail("the output allocator gave no memory for " + name);
  std::memcpy(memory, values.data(), values.size() * 4);
  return true;
}

template <typename Wide>
bool Enqueue(FakeContext* self, void* stream) {
  if (!self->engine->OnDevice()) return false;
  const FakeProgram& program = self->program();
  ++TheCounters().enqueues;
  if (++self->enqueues == program.faults.enqueue) return self->Fail("the fake enqueue fails");
  if (self->profile < 0) return self->Fail("no optimization profile is set");
  if (InferShapes(self, 0, nullptr) > 0) return self->Fail("input shapes are missing");
  if (!self->with_memory && program.workspace > 0 && self->workspace == nullptr) {
    return self->Fail("device memory is not set");
  }
  auto work = std::make_unique<Work>();
  work->factor = program.factor;
  work->delay_us = program.delay_us;
  std::vector<int> late;
  std::vector<Piece> late_pieces;
  for (size_t i = 0; i < program.io.size(); ++i) {
    const FakeTensor& tensor = program.io[i];
    if (!tensor.data_dependent && self->addresses[i] == nullptr) {
      return self->Fail("Address is not set for tensor " + tensor.name);
    }
    if (tensor.input) continue;
    const size_t elements = static_cast<size_t>(
        tensor.data_dependent ? self->shapes[At(tensor.from)].elements()
                              : std::min(ShapeOf(self, static_cast<int>(i)).elements(),
                                         self->shapes[At(tensor.from)].elements()));
    const Piece piece{static_cast<const char*>(self->addresses[At(tensor.from)]),
                      static_cast<char*>(self->addresses[i]), elements, tensor.element_octets,
                      tensor.dtype == abi::DataType::kFLOAT};
    if (tensor.data_dependent) {
      late.push_back(static_cast<int>(i));
      late_pieces.push_back(piece);
    } else {
      work->pieces.push_back(piece);
    }
  }
  const int result = FakeCuda::Get().launch(stream, &Compute, work.release(),
                                            [](void* w) { delete static_cast<Work*>(w); });
  if (result != 0) return self->Fail("Cuda Driver (" + std::to_string(result) + ")");
  self->last_stream = stream;
  for (size_t i = 0; i < late.size(); ++i) {
    if (!EnqueueDataDependent<Wide>(self, late[i], late_pieces[i], stream)) return false;
  }
  if (self->profiler != nullptr) {
    ++TheCounters().profiled_enqueues;
    if (self->emits) {
      FakeCuda::Get().wait(stream);
      ReportLayers(self);
    }
  }
  return true;
}

void DeleteContext(PublicObject* api) {
  auto* context = static_cast<FakeContext*>(api->impl);
  context->engine->OnDevice();
  context->engine->LeaveProfile(context->profile);
  --context->engine->contexts;
  --TheCounters().contexts;
  delete context;
}
void* const kContextApi[] = {nullptr, reinterpret_cast<void*>(&DeleteContext)};

template <typename Wide>
FakeVTable ContextTable() {
  return FakeVTable(ReleaseLayout())
      .Set(Method::kIExecutionContext_setOptimizationProfileAsync, &SetProfile)
      .Set(Method::kIExecutionContext_getOptimizationProfile, &GetProfile)
      .Set(Method::kIExecutionContext_setInputShape, &SetInputShape<Wide>)
      .Set(Method::kIExecutionContext_inferShapes, &InferShapes)
      .Set(Method::kIExecutionContext_getTensorShape, &GetShape<Wide>)
      .Set(Method::kIExecutionContext_setTensorAddress, &SetAddress)
      .Set(Method::kIExecutionContext_setInputTensorAddress, &SetInputAddress)
      .Set(Method::kIExecutionContext_setOutputAllocator, &SetAllocator)
      .Set(Method::kIExecutionContext_updateDeviceMemorySizeForShapes, &UpdateMemorySize)
      .Set(Method::kIExecutionContext_setDeviceMemory, &SetMemory)
      .Set(Method::kIExecutionContext_setDeviceMemoryV2, &SetMemoryV2)
      .Set(Method::kIExecutionContext_setProfiler, &SetProfiler)
      .Set(Method::kIExecutionContext_getProfiler, &GetProfiler)
      .Set(Method::kIExecutionContext_setEnqueueEmitsProfile, &SetEmits)
      .Set(Method::kIExecutionContext_getEnqueueEmitsProfile, &GetEmits)
      .Set(Method::kIExecutionContext_reportToProfiler, &Report)
      .Set(Method::kIExecutionContext_enqueueV3, &Enqueue<Wide>);
}

}  // namespace

FakeContext* MakeContext(FakeEngine* engine, bool with_memory) {
  if (!engine->OnDevice()) return nullptr;
  if (!engine->program.faults.context.empty()) {
    engine->Fail(engine->program.faults.context);
    return nullptr;
  }
  static const FakeVTable table =
      ReleaseLayout().dims32() ? ContextTable<abi::Dims32>() : ContextTable<abi::Dims64>();
  auto* context = new FakeContext;
  context->vtable = table.get();
  context->api = {kContextApi, context};
  context->engine = engine;
  context->with_memory = with_memory;
  const size_t count = engine->program.io.size();
  context->shapes.resize(count);
  context->addresses.resize(count, nullptr);
  context->allocators.resize(count, nullptr);
  if (engine->ClaimProfile(0)) context->profile = 0;
  ResetShapes(context);
  ++engine->contexts;
  ++TheCounters().contexts;
  return context;
}

}  // namespace trtscope::fakes
