#ifndef TRTSCOPE_EXECUTORCH_BACKEND_TESTING_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_TESTING_H_

// For tests of the backend without a .pte: a tracer that remembers, tensors with their memory,
// and a method that is one delegate.

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "executorch_backend/backend.h"
#include "executorch_backend/delegate.h"
#include "executorch_backend/last_error.h"

namespace trtscope::executorch_backend::testing {

namespace et = ::executorch::runtime;

struct LoggedEvent {
  std::string name;
  et::DelegateDebugIntId id;
  et_timestamp_t start, end;
  nlohmann::json metadata;
};

/// Keeps delegate events; refuses, as ETDump does, a name that comes with an id.
class FakeTracer final : public et::EventTracer {
 public:
  std::vector<LoggedEvent> events;
  int other_calls = 0;

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const LoggedEvent& event : events) list.push_back(event.name);
    return list;
  }
  const LoggedEvent* find(const std::string& name) const {
    for (const LoggedEvent& event : events) {
      if (event.name == name) return &event;
    }
    return nullptr;
  }

  void log_profiling_delegate(const char* name, et::DelegateDebugIntId id, et_timestamp_t start,
                              et_timestamp_t end, const void* metadata, size_t size) override {
    const std::string text(static_cast<const char*>(metadata), size);
    events.push_back({name != nullptr ? name : "(null)", id, start, end,
                      nlohmann::json::parse(text, nullptr, false)});
  }
  et::EventTracerEntry start_profiling_delegate(const char*, et::DelegateDebugIntId) override {
    ++other_calls;
    return {};
  }
  void end_profiling_delegate(et::EventTracerEntry, const void*, size_t) override { ++other_calls; }
  void create_event_block(const char*) override { ++other_calls; }
  et::EventTracerEntry start_profiling(const char*, et::ChainID, et::DebugHandle) override {
    ++other_calls;
    return {};
  }
  void end_profiling(et::EventTracerEntry) override { ++other_calls; }
  void track_allocation(et::AllocatorID, size_t) override { ++other_calls; }
  et::AllocatorID track_allocator(const char*) override { return 0; }
  et::Result<bool> log_evalue(const et::EValue&, et::LoggedEValueType) override { return true; }
  void set_delegation_intermediate_output_filter(et::EventTracerFilterBase*) override {}
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const et::etensor::Tensor&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(
      const char*, et::DelegateDebugIntId, const et::ArrayRef<et::etensor::Tensor>) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const int&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const bool&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const double&) override {
    return true;
  }
};

/// A float tensor with memory of its own, or with memory that is given.
class FloatTensor {
 public:
  explicit FloatTensor(std::vector<int32_t> sizes, float value = 0, void* data = nullptr,
                       et::etensor::DeviceType device = et::etensor::DeviceType::CPU)
      : sizes_(std::move(sizes)), order_(sizes_.size()), strides_(sizes_.size(), 1) {
    std::iota(order_.begin(), order_.end(), uint8_t{0});
    int32_t count = 1;
    for (size_t i = sizes_.size(); i-- > 0;) {
      strides_[i] = count;
      count *= sizes_[i];
    }
    if (data == nullptr) {
      values_.assign(static_cast<size_t>(count), value);
      data = values_.data();
    }
    impl_ = std::make_unique<et::etensor::TensorImpl>(
        et::etensor::ScalarType::Float, static_cast<ssize_t>(sizes_.size()), sizes_.data(), data,
        order_.data(), strides_.data(), et::TensorShapeDynamism::DYNAMIC_BOUND, device);
    value_ = std::make_unique<et::EValue>(et::etensor::Tensor(impl_.get()));
  }
  et::EValue* value() { return value_.get(); }
  std::vector<float>& values() { return values_; }
  std::vector<int32_t> sizes() const {
    const auto sizes = value_->toTensor().sizes();
    return {sizes.begin(), sizes.end()};
  }

 private:
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int32_t> strides_;
  std::vector<float> values_;
  std::unique_ptr<et::etensor::TensorImpl> impl_;
  std::unique_ptr<et::EValue> value_;
};

/// Load-time options by key: strings and ints.
class Options {
 public:
  Options& Set(const std::string& key, const std::string& text) {
    std::array<char, et::kMaxOptionValueLength> value{};
    std::memcpy(value.data(), text.data(), std::min(text.size(), value.size() - 1));
    return Add(key, value);
  }
  Options& Set(const std::string& key, int number) { return Add(key, number); }
  Options& SetBool(const std::string& key, bool flag) { return Add(key, flag); }
  et::Span<const et::BackendOption> view() const { return {list_.data(), list_.size()}; }
  et::Span<et::BackendOption> mutable_view() { return {list_.data(), list_.size()}; }

 private:
  Options& Add(const std::string& key, et::OptionValue value) {
    et::BackendOption option;
    std::memcpy(option.key, key.data(), std::min(key.size(), sizeof(option.key)));
    option.value = value;
    list_.push_back(option);
    return *this;
  }
  std::vector<et::BackendOption> list_;
};

/// Compile specs by key; they borrow the strings.
class CompileSpecs {
 public:
  CompileSpecs& Set(const std::string& key, const std::string& text) {
    texts_.push_back(std::make_unique<std::pair<std::string, std::string>>(key, text));
    auto& [k, t] = *texts_.back();
    specs_.push_back({k.c_str(), {t.data(), t.size()}});
    return *this;
  }
  et::ArrayRef<et::CompileSpec> view() const { return {specs_.data(), specs_.size()}; }

 private:
  std::vector<std::unique_ptr<std::pair<std::string, std::string>>> texts_;
  std::vector<et::CompileSpec> specs_;
};

/// A loaded delegate, destroyed with this.
class Loaded {
 public:
  explicit Loaded(const std::string& blob, const Options& options = {},
                  const CompileSpecs& specs = {}, const char* method = "forward") {
    et::MemoryAllocator allocator(0, nullptr);
    et::BackendInitContext context(&allocator, nullptr, method, nullptr, options.view());
    et::FreeableBuffer processed(blob.data(), blob.size(), nullptr);
    auto result = TheBackend().init(context, &processed, specs.view());
    error = result.error();
    if (result.ok()) handle = *result;
  }
  ~Loaded() { Destroy(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  void Destroy() {
    if (handle != nullptr) TheBackend().destroy(std::exchange(handle, nullptr));
  }
  Delegate& delegate() { return *static_cast<Delegate*>(handle); }

  et::Error Execute(std::vector<et::EValue*> args, et::EventTracer* tracer = nullptr) {
    et::BackendExecutionContext context(tracer);
    return TheBackend().execute(context, handle, {args.data(), args.size()});
  }

  et::Error error = et::Error::Ok;
  et::DelegateHandle* handle = nullptr;
};

/// The blob of a null plan (core/engine/null/null_plan.h).
inline std::string NullPlan(const std::string& json) { return "null" + json; }

/// One input x [-1, 8] up to 16 rows, one output y of its shape, three layers.
inline std::string SimplePlan() {
  return NullPlan(
      R"({"inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 8], "min": [1, 8],
                      "max": [16, 8]}],
          "outputs": [{"name": "y", "dtype": "float32", "like": 0}],
          "layers": 3, "layer_ns": 1000})");
}

}  // namespace trtscope::executorch_backend::testing

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_TESTING_H_
