#include "core/engine/null/null_engine.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/device/host/host_stream.h"
#include "core/engine/null/null_plan.h"
#include "core/profiling/clock.h"

namespace trtscope::engine {
namespace {

class NullContext final : public ExecutionContext {
 public:
  NullContext(const NullPlan& plan, const std::string& name)
      : plan_(plan),
        name_(name),
        shapes_(static_cast<size_t>(plan.input_count)),
        set_(plan.tensors.size(), false),
        allocators_(plan.tensors.size(), nullptr) {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      shapes_[i] = plan.tensors[i].shape;
      if (shapes_[i].dynamic()) ++missing_shapes_;
    }
    for (const TensorInfo& tensor : plan.tensors) {
      if (tensor.data_dependent) {
        data_dependent_ = true;
      } else {
        ++missing_addresses_;
      }
    }
    slow_ = data_dependent_ || plan.delay_us > 0 || !plan.enqueue_error.empty();
  }

  Status SetOptimizationProfile(int profile, device::StreamRef) override {
    if (profile == 0) return OkStatus();
    return InvalidArgument(name_ + ": optimization profile " + std::to_string(profile) +
                           " was chosen, but a null plan has one, number 0");
  }

  Status SetInputShape(int index, const Dims& shape) override {
    if (index < 0 || index >= plan_.input_count) return NoSuch("input", index);
    if (shape.dynamic()) {
      return InvalidArgument(Label(index) + ": the shape of a call cannot be dynamic, got " +
                             ToString(shape));
    }
    Dims& held = shapes_[static_cast<size_t>(index)];
    if (held.dynamic()) --missing_shapes_;
    held = shape;
    return OkStatus();
  }

  Status SetAddress(int index, void* data) override {
    if (!IsTensor(index)) return NoSuch("tensor", index);
    if (data == nullptr) return InvalidArgument(Label(index) + ": its address is null");
    const auto at = static_cast<size_t>(index);
    if (!set_[at] && !plan_.tensors[at].data_dependent) --missing_addresses_;
    set_[at] = true;
    return OkStatus();
  }

  Result<Dims> OutputShape(int index) override {
    if (!IsTensor(index) || index < plan_.input_count) return NoSuch("output", index);
    const int like = plan_.like[static_cast<size_t>(index - plan_.input_count)];
    if (like < 0) return plan_.tensors[static_cast<size_t>(index)].shape;
    const Dims& shape = shapes_[static_cast<size_t>(like)];
    if (shape.dynamic()) {
      return FailedPrecondition(Label(index) + ": has the shape of " + Label(like) +
                                ", which was not set");
    }
    return shape;
  }

  Status SetOutputAllocator(int index, OutputAllocator* allocator) override {
    if (!IsTensor(index) || index < plan_.input_count) return NoSuch("output", index);
    allocators_[static_cast<size_t>(index)] = allocator;
    return OkStatus();
  }

  Result<size_t> WorkspaceSize() override { return size_t{0}; }
  Status SetWorkspace(void*, size_t) override { return OkStatus(); }

  Status Enqueue(device::StreamRef stream) override {
    if (missing_shapes_ > 0 || missing_addresses_ > 0) [[unlikely]]
      return WhatIsMissing();
    if (sink_ == nullptr && !slow_) [[likely]]
      return OkStatus();
    if (!plan_.enqueue_error.empty()) return Internal(name_ + ": " + plan_.enqueue_error);
    if (data_dependent_) TRTSCOPE_RETURN_IF_ERROR(GiveShapes());
    if (plan_.delay_us == 0) {
      ReportLayers(sink_);
    } else {
      device::RunOn(stream, [this, sink = sink_] {
        std::this_thread::sleep_for(std::chrono::microseconds(plan_.delay_us));
        ReportLayers(sink);
      });
    }
    return OkStatus();
  }

  Status SetLayerSink(profiling::LayerSink* sink) override {
    sink_ = sink;
    return OkStatus();
  }
  Status DeliverLayers() override { return OkStatus(); }

 private:
  bool IsTensor(int index) const {
    return index >= 0 && static_cast<size_t>(index) < plan_.tensors.size();
  }
  std::string Label(int index) const {
    return name_ + ", tensor '" + plan_.tensors[static_cast<size_t>(index)].name + "'";
  }
  Status NoSuch(const char* what, int index) const {
    return InvalidArgument(name_ + ": there is no " + what + " with index " +
                           std::to_string(index));
  }

  Status WhatIsMissing() const {
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      if (i < shapes_.size() && shapes_[i].dynamic()) {
        return FailedPrecondition(Label(static_cast<int>(i)) + ": its shape was not set");
      }
      if (!set_[i] && !plan_.tensors[i].data_dependent) {
        return FailedPrecondition(Label(static_cast<int>(i)) + ": its address was not set");
      }
    }
    return Internal(name_ + ": lost count of what was set");
  }

  Status GiveShapes() {
    for (size_t i = static_cast<size_t>(plan_.input_count); i < plan_.tensors.size(); ++i) {
      const TensorInfo& info = plan_.tensors[i];
      if (!info.data_dependent) continue;
      const int index = static_cast<int>(i);
      if (allocators_[i] == nullptr) {
        return FailedPrecondition(Label(index) +
                                  ": its shape depends on data, but it has no output allocator");
      }
      const Dims& shape = plan_.actual[i - static_cast<size_t>(plan_.input_count)];
      const size_t bytes = ByteSize(shape, info.dtype);
      if (allocators_[i]->Allocate(index, bytes) == nullptr) {
        return ResourceExhausted(Label(index) + ": the output allocator refused " +
                                 std::to_string(bytes) + " octets");
      }
      allocators_[i]->OnShape(index, shape);
    }
    return OkStatus();
  }

  // Layers that end now and fill the time before: nothing in a trace lies in the future.
  void ReportLayers(profiling::LayerSink* sink) const {
    if (sink == nullptr) return;
    int64_t start = profiling::NowNs() - static_cast<int64_t>(plan_.layers.size()) * plan_.layer_ns;
    for (const std::string& name : plan_.layers) {
      sink->OnLayer(name.c_str(), start, plan_.layer_ns);
      start += plan_.layer_ns;
    }
  }

  const NullPlan& plan_;
  const std::string& name_;   // "engine 'x'"
  std::vector<Dims> shapes_;  // of the inputs
  std::vector<bool> set_;     // which tensors have an address
  std::vector<OutputAllocator*> allocators_;
  profiling::LayerSink* sink_ = nullptr;
  int missing_shapes_ = 0;
  int missing_addresses_ = 0;
  bool data_dependent_ = false;
  bool slow_ = false;
};

class NullEngine final : public Engine {
 public:
  NullEngine(PlanInfo info, NullPlan plan, const LoadOptions& options)
      : info_(std::move(info)),
        plan_(std::move(plan)),
        name_("engine '" + options.name + "'"),
        device_(options.device) {}

  const PlanInfo& plan() const override { return info_; }
  std::string_view runtime_version() const override { return "null"; }
  std::span<const TensorInfo> tensors() const override { return plan_.tensors; }
  int input_count() const override { return plan_.input_count; }
  int profile_count() const override { return 1; }
  device::DeviceId device() const override { return device_; }

  Result<std::unique_ptr<ExecutionContext>> CreateContext(const ContextOptions&) override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<NullContext>(plan_, name_));
  }
  bool layers_arrive_late() const override { return false; }

  Status SetWeightStreamingBudget(int64_t) override {
    return Unsupported(name_ + ": the null engine has no weights to stream");
  }

  Result<std::string> InspectorJson() override {
    nlohmann::json json{{"Layers", nlohmann::json::array()}, {"Bindings", nlohmann::json::array()}};
    for (const std::string& layer : plan_.layers) {
      json["Layers"].push_back({{"Name", layer},
                                {"LayerType", "Null"},
                                {"Inputs", nlohmann::json::array()},
                                {"Outputs", nlohmann::json::array()}});
    }
    for (const TensorInfo& tensor : plan_.tensors) json["Bindings"].push_back(tensor.name);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  const PlanInfo info_;
  const NullPlan plan_;
  const std::string name_;
  const device::DeviceId device_;
};

class NullImplementationImpl final : public Implementation {
 public:
  std::string_view name() const override { return "null"; }
  bool Accepts(const PlanInfo& plan) const override { return plan.kind == PlanKind::kNull; }
  Result<std::unique_ptr<Engine>> Load(std::span<const std::byte> bytes, const PlanInfo& info,
                                       const LoadOptions& options) override {
    TRTSCOPE_ASSIGN_OR_RETURN(NullPlan plan, ParseNullPlan(bytes, options.device.type));
    return std::unique_ptr<Engine>(std::make_unique<NullEngine>(info, std::move(plan), options));
  }
};

[[maybe_unused]] const bool registered = [] {
  RegisterImplementation(&NullImplementation());
  return true;
}();

}  // namespace

Implementation& NullImplementation() {
  static NullImplementationImpl* implementation = new NullImplementationImpl();
  return *implementation;
}

}  // namespace trtscope::engine
