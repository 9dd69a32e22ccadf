// A TensorRT library that needs no GPU: runtime, engine and inspector of one release, in that
// release's layout.  fake_plan.h says what its engines do; fake_context.cc runs them.

#include "tests/fakes/fake_tensorrt.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/fakes/fake_objects.h"
#include "tests/fakes/fake_plan.h"

#define TRTSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace trtscope::fakes {

using abi::Method;
using engine::tensorrt::Flavour;
using engine::tensorrt::Version;

const abi::Layout& ReleaseLayout() {
  static const abi::Layout layout(kRelease.family, kRelease.layout_version);
  return layout;
}

Counters& TheCounters() {
  static Counters counters;
  return counters;
}

void CallFrom(const FakeProgram& program, const std::function<void()>& work) {
  if (program.faults.threads) {
    std::thread(work).join();
  } else {
    work();
  }
}

void FakeRuntime::Log(abi::Severity severity, const std::string& message) const {
  CallBack<void, int32_t, const char*>(abi::kILogger[static_cast<size_t>(kRelease.family)],
                                       abi::Role::kLog, logger, static_cast<int32_t>(severity),
                                       message.c_str());
}

bool FakeEngine::Fail(const std::string& message) const {
  if (program.faults.silent) return false;
  CallFrom(program, [this, &message] { runtime->Log(abi::Severity::kERROR, message); });
  return false;
}

bool FakeEngine::OnDevice() const {
  if (FakeCuda::Get().current_device() == device) return true;
  ++TheCounters().wrong_device;
  return Fail("the engine's device is not current");
}

bool FakeEngine::ClaimProfile(int profile) {
  std::lock_guard<std::mutex> lock(mutex);
  int& users = profile_users[profile];
  const bool exclusive = ReleaseLayout().dims32() && !program.shared_profiles;
  if (exclusive && users > 0) return false;
  ++users;
  return true;
}

void FakeEngine::LeaveProfile(int profile) {
  std::lock_guard<std::mutex> lock(mutex);
  if (profile >= 0) --profile_users[profile];
}

namespace {

template <typename T>
PublicObject* Publish(T* object, void* const* vtable) {
  object->api = {vtable, object};
  return &object->api;
}

// --- inspector ---

struct FakeInspector {
  void* const* vtable;
  PublicObject api;
  std::string json;
};

const char* EngineInformation(FakeInspector* self, int32_t format) {
  return format == static_cast<int32_t>(abi::LayerInformationFormat::kJSON) ? self->json.c_str()
                                                                            : "";
}

void DeleteInspector(PublicObject* api) { delete static_cast<FakeInspector*>(api->impl); }
void* const kInspectorApi[] = {nullptr, reinterpret_cast<void*>(&DeleteInspector)};

void* CreateInspector(FakeEngine* engine) {
  static const FakeVTable table =
      FakeVTable(ReleaseLayout())
          .Set(Method::kIEngineInspector_getEngineInformation, &EngineInformation);
  nlohmann::ordered_json json;
  json["Layers"] = nlohmann::ordered_json::array();
  for (const std::string& layer : engine->program.layers) {
    json["Layers"].push_back({{"Name", layer}, {"LayerType", "fake"}});
  }
  auto& bindings = json[kRelease.family == abi::Family::k11 ? "I/O Tensors" : "Bindings"];
  for (const FakeTensor& tensor : engine->program.io) bindings.push_back(tensor.name);
  auto* inspector = new FakeInspector{
      table.get(), {}, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  return Publish(inspector, kInspectorApi);
}

// --- engine ---

const FakeTensor* Find(FakeEngine* engine, const char* name) {
  const int index = engine->program.Find(name);
  return index >= 0 ? &engine->program.io[static_cast<size_t>(index)] : nullptr;
}

int32_t NbTensors(FakeEngine* self) { return static_cast<int32_t>(self->program.io.size()); }
const char* TensorName(FakeEngine* self, int32_t index) {
  return self->program.io[static_cast<size_t>(index)].name.c_str();
}
int32_t TensorMode(FakeEngine* self, const char* name) {
  const FakeTensor* tensor = Find(self, name);
  if (tensor == nullptr) return static_cast<int32_t>(abi::TensorIOMode::kNONE);
  return static_cast<int32_t>(tensor->input ? abi::TensorIOMode::kINPUT
                                            : abi::TensorIOMode::kOUTPUT);
}
int32_t TensorType(FakeEngine* self, const char* name) {
  return static_cast<int32_t>(Find(self, name)->dtype);
}
int32_t TensorLocation(FakeEngine* self, const char* name) {
  return static_cast<int32_t>(Find(self, name)->shape_input ? abi::TensorLocation::kHOST
                                                            : abi::TensorLocation::kDEVICE);
}
bool IsShapeIo(FakeEngine* self, const char* name) { return Find(self, name)->shape_input; }
template <typename Wide>
Wide TensorShape(FakeEngine* self, const char* name) {
  return abi::ToAbi<Wide>(Find(self, name)->shape);
}
template <typename Wide>
Wide ProfileShape(FakeEngine* self, const char* name, int32_t profile, int32_t selector) {
  const FakeTensor* tensor = Find(self, name);
  if (static_cast<size_t>(profile) >= tensor->profiles.size()) {
    Wide none{};
    none.nbDims = tensor->input && !tensor->shape.dynamic() ? tensor->shape.rank : -1;
    return none.nbDims < 0 ? none : abi::ToAbi<Wide>(tensor->shape);
  }
  return abi::ToAbi<Wide>(
      tensor->profiles[static_cast<size_t>(profile)][static_cast<size_t>(selector)]);
}
int32_t NbProfiles(FakeEngine* self) { return self->program.profile_count; }
int32_t BindingIndex(FakeEngine* self, const char* name) { return self->program.Find(name); }
// Every shape input's best-liked values are 2, 2, ...
const int32_t* ShapeValues8(FakeEngine*, int32_t, int32_t, int32_t) {
  static const int32_t values[8] = {2, 2, 2, 2, 2, 2, 2, 2};
  return values;
}
const int32_t* ShapeValues10(FakeEngine* self, const char*, int32_t profile, int32_t selector) {
  return ShapeValues8(self, 0, profile, selector);
}
const int64_t* ShapeValuesV2(FakeEngine*, const char*, int32_t, int32_t) {
  static const int64_t values[8] = {2, 2, 2, 2, 2, 2, 2, 2};
  return values;
}
size_t WorkspaceSize(FakeEngine* self) { return self->program.workspace; }
const char* AliasedInput(FakeEngine* self, const char* name) {
  const std::string& alias = Find(self, name)->alias;
  return alias.empty() ? nullptr : alias.c_str();
}
int64_t StreamableSize(FakeEngine* self) { return self->program.streamable; }
bool SetBudget(FakeEngine* self, int64_t budget) {
  if (self->contexts > 0) return self->Fail("the budget cannot change while a context is alive");
  if (budget < 0 || budget > self->program.streamable) return self->Fail("budget out of range");
  self->budget = budget;
  return true;
}

// --- host memory ---

struct FakeHostMemory {
  void* const* vtable;
  PublicObject api;
  std::vector<std::byte> plan;
};
void* MemoryData(FakeHostMemory* self) { return self->plan.data(); }
size_t MemorySize(FakeHostMemory* self) { return self->plan.size(); }
void DeleteMemory(PublicObject* api) { delete static_cast<FakeHostMemory*>(api->impl); }
void* const kMemoryApi[] = {nullptr, reinterpret_cast<void*>(&DeleteMemory)};

void* Serialize(FakeEngine* self) {
  static const FakeVTable table = FakeVTable(ReleaseLayout())
                                      .Set(Method::kIHostMemory_data, &MemoryData)
                                      .Set(Method::kIHostMemory_size, &MemorySize);
  if (self->program.faults.serialize) {
    self->Fail("out of memory");
    return nullptr;
  }
  return Publish(new FakeHostMemory{table.get(), {}, self->plan}, kMemoryApi);
}

void* PublicContext(FakeContext* context) {
  // A context starts with its vtable too, and its public part comes next.
  return context == nullptr ? nullptr : reinterpret_cast<void**>(context) + 1;
}
void* CreateContext8(FakeEngine* self) { return PublicContext(MakeContext(self, true)); }
void* CreateContextBare(FakeEngine* self) { return PublicContext(MakeContext(self, false)); }
void* CreateContext10(FakeEngine* self, int32_t strategy) {
  return PublicContext(MakeContext(
      self,
      strategy != static_cast<int32_t>(abi::ExecutionContextAllocationStrategy::kUSER_MANAGED)));
}

void DeleteEngine(PublicObject* api) {
  auto* engine = static_cast<FakeEngine*>(api->impl);
  if (engine->contexts > 0) ++TheCounters().teardown_errors;
  engine->OnDevice();
  --engine->runtime->engines;
  --TheCounters().engines;
  delete engine;
}
void* const kEngineApi[] = {nullptr, reinterpret_cast<void*>(&DeleteEngine)};

template <typename Wide>
FakeVTable EngineTable() {
  return FakeVTable(ReleaseLayout())
      .Set(Method::kICudaEngine_getNbIOTensors, &NbTensors)
      .Set(Method::kICudaEngine_getIOTensorName, &TensorName)
      .Set(Method::kICudaEngine_getTensorIOMode, &TensorMode)
      .Set(Method::kICudaEngine_getTensorDataType, &TensorType)
      .Set(Method::kICudaEngine_getTensorLocation, &TensorLocation)
      .Set(Method::kICudaEngine_isShapeInferenceIO, &IsShapeIo)
      .Set(Method::kICudaEngine_getTensorShape, &TensorShape<Wide>)
      .Set(Method::kICudaEngine_getProfileShape, &ProfileShape<Wide>)
      .Set(Method::kICudaEngine_getNbOptimizationProfiles, &NbProfiles)
      .Set(Method::kICudaEngine_getBindingIndex, &BindingIndex)
      .Set(Method::kICudaEngine_getProfileShapeValues, &ShapeValues8)
      .Set(Method::kICudaEngine_getProfileTensorValues, &ShapeValues10)
      .Set(Method::kICudaEngine_getProfileTensorValuesV2, &ShapeValuesV2)
      .Set(Method::kICudaEngine_getDeviceMemorySize, &WorkspaceSize)
      .Set(Method::kICudaEngine_getAliasedInputTensor, &AliasedInput)
      .Set(Method::kICudaEngine_getStreamableWeightsSize, &StreamableSize)
      .Set(Method::kICudaEngine_setWeightStreamingBudget, &SetBudget)
      .Set(Method::kICudaEngine_setWeightStreamingBudgetV2, &SetBudget)
      .Set(Method::kICudaEngine_serialize, &Serialize)
      .Set(Method::kICudaEngine_createExecutionContext_0, &CreateContext8)
      .Set(Method::kICudaEngine_createExecutionContextWithoutDeviceMemory, &CreateContextBare)
      .Set(Method::kICudaEngine_createExecutionContext, &CreateContext10)
      .Set(Method::kICudaEngine_createEngineInspector, &CreateInspector);
}

// --- runtime ---

/// Why this library does not take the plan; empty when it does.
std::string Objection(const FakeRuntime& runtime, std::span<const std::byte> plan,
                      const FakeProgram& program) {
  const auto octet = [&plan](size_t at) { return std::to_integer<int>(plan[at]); };
  const Version built{octet(24), octet(25), octet(26)};
  const bool newer = kRelease.version >= built;
  const bool exact = kRelease.version == built;
  const bool full = kRelease.flavour == Flavour::kFull || kRelease.flavour == Flavour::kRtx;
  if (!(exact && full) && !(program.compatible && newer)) {
    return "Version tag does not match. Note: Current Version: " +
           engine::tensorrt::ToString(kRelease.version) +
           ", Serialized Engine Version: " + engine::tensorrt::ToString(built);
  }
  if (program.host_code && !runtime.host_code) {
    return "the plan carries host code, which is not allowed (setEngineHostCodeAllowed)";
  }
  int32_t sm[3];
  std::memcpy(sm, plan.data() + 124, sizeof(sm));
  const char* here = std::getenv("TRTSCOPE_FAKE_CUDA_SM");
  if (sm[0] * 10 + sm[2] != (here != nullptr ? std::atoi(here) : 90)) {
    return "The engine plan file is generated on an incompatible device, expecting compute " +
           std::to_string(sm[0]) + "." + std::to_string(sm[2]) + ", please rebuild.";
  }
  return program.faults.deserialize;
}

void* Deserialize(FakeRuntime* self, const void* data, size_t size) {
  const std::span plan(static_cast<const std::byte*>(data), size);
  if (size <= kFakePlanHeader) {
    self->Log(abi::Severity::kERROR, "the plan is truncated");
    return nullptr;
  }
  Result<FakeProgram> program = ReadFakeProgram(plan.subspan(kFakePlanHeader));
  if (!program.ok()) {
    self->Log(abi::Severity::kERROR, std::string(program.status().message()));
    return nullptr;
  }
  auto engine = std::make_unique<FakeEngine>();
  engine->runtime = self;
  engine->program = *std::move(program);
  engine->plan.assign(plan.begin(), plan.end());
  engine->device = FakeCuda::Get().current_device();
  const std::string objection = Objection(*self, plan, engine->program);
  if (!objection.empty()) {
    engine->Fail("IRuntime::deserializeCudaEngine: Error Code 1: Serialization (" + objection +
                 ")");
    return nullptr;
  }
  static const FakeVTable table =
      ReleaseLayout().dims32() ? EngineTable<abi::Dims32>() : EngineTable<abi::Dims64>();
  engine->vtable = table.get();
  ++self->engines;
  ++TheCounters().engines;
  return Publish(engine.release(), kEngineApi);
}
void* Deserialize8(FakeRuntime* self, const void* data, size_t size, void*) {
  return Deserialize(self, data, size);
}
void AllowHostCode(FakeRuntime* self, bool allowed) { self->host_code = allowed; }
void* GetLogger(FakeRuntime* self) { return self->logger; }

void DeleteRuntime(PublicObject* api) {
  auto* runtime = static_cast<FakeRuntime*>(api->impl);
  if (runtime->engines > 0) ++TheCounters().teardown_errors;
  --TheCounters().runtimes;
  delete runtime;
}
void* const kRuntimeApi[] = {nullptr, reinterpret_cast<void*>(&DeleteRuntime)};

/// Versioned callback interfaces say what they are: a vtable in a wrong layout does not get past.
bool IsA(const abi::CallbackLayout& layout, void* object, const char* kind) {
  if (layout.slot(abi::Role::kGetInterfaceInfo) < 0) return true;
  const auto info = CallBack<abi::InterfaceInfo>(layout, abi::Role::kGetInterfaceInfo, object);
  return std::strcmp(info.kind, kind) == 0 && info.major == 1 && info.minor == 0 &&
         CallBack<int32_t>(layout, abi::Role::kGetApiLanguage, object) == 0;
}

int32_t VersionNumber() {
  const Version& v = kRelease.version;
  return v.major * (v.major == 8 || v.major == 9 ? 1000 : 10000) + v.minor * 100 + v.patch;
}

}  // namespace
}  // namespace trtscope::fakes

using namespace trtscope::fakes;  // NOLINT: the library's own entry points

TRTSCOPE_EXPORT int32_t getInferLibVersion() { return VersionNumber(); }

TRTSCOPE_EXPORT void* createInferRuntime_INTERNAL(void* logger, int32_t version) {
  // What real ones return where CUDA does not work: the offset of a member of null.
  void* const none = reinterpret_cast<void*>(0x228);
  if (version != VersionNumber()) return none;
  if (!IsA(abi::kILogger[static_cast<size_t>(kRelease.family)], logger, "ILogger")) return none;
  static const FakeVTable table =
      FakeVTable(ReleaseLayout())
          .Set(Method::kIRuntime_deserializeCudaEngine, &Deserialize)
          .Set(Method::kIRuntime_deserializeCudaEngine_void_const__std_size_t_IPluginFactory,
               &Deserialize8)
          .Set(Method::kIRuntime_setEngineHostCodeAllowed, &AllowHostCode)
          .Set(Method::kIRuntime_getLogger, &GetLogger);
  auto runtime = std::make_unique<FakeRuntime>();
  runtime->vtable = table.get();
  runtime->logger = logger;
  const FakeCuda* cuda = FakeCuda::Find();
  if (cuda == nullptr || cuda->current_device() < 0) {
    runtime->Log(abi::Severity::kERROR, "CUDA initialization failure with error: 35");
    return none;
  }
  runtime->Log(abi::Severity::kVERBOSE, "the fake runtime is up");
  ++TheCounters().runtimes;
  return Publish(runtime.release(), kRuntimeApi);
}

TRTSCOPE_EXPORT void trtscope_fake_tensorrt_stats(FakeTensorRtStats* stats) {
  const Counters& c = TheCounters();
  *stats = {c.runtimes,   c.engines,       c.contexts, c.teardown_errors,   c.wrong_device,
            c.set_shapes, c.set_addresses, c.enqueues, c.profiled_enqueues, c.reports};
}
