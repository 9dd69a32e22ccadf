#include "core/engine/engine.h"

#include <gtest/gtest.h>

#include <string>

namespace trtscope::engine {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

const std::string kTensorRt = "ftrt" + std::string(20, '\1') + std::string("\x08\x06\x00\x0c", 4);

// Accepts one kind and fails with its own name, which tells who was asked.
class Fake final : public Implementation {
 public:
  Fake(PlanKind kind, std::string name, std::string message)
      : kind_(kind), name_(std::move(name)), message_(std::move(message)) {}
  std::string_view name() const override { return name_; }
  bool Accepts(const PlanInfo& plan) const override { return plan.kind == kind_; }
  Result<std::unique_ptr<Engine>> Load(std::span<const std::byte>, const PlanInfo&,
                                       const LoadOptions&) override {
    return Internal(message_);
  }

 private:
  PlanKind kind_;
  std::string name_, message_;
};

LoadOptions Named(std::string name) {
  LoadOptions options;
  options.name = std::move(name);
  return options;
}

// The registry has no removal, so the steps are one test.
TEST(LoadEngine, ChoosesAndSaysWhyNot) {
  Status status = LoadEngine(Bytes(kTensorRt), Named("x")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message().find("engine 'x': this is a TensorRT 8.6.0.12 plan; no TensorRT "
                                  "implementation is present"),
            0u)
      << status.message();
  EXPECT_NE(status.message().find("libnvinfer.so.8"), std::string_view::npos);

  status = LoadEngine(Bytes("vtrt" + kTensorRt.substr(4)), Named("x")).status();
  EXPECT_NE(status.message().find("libtensorrt_rtx"), std::string_view::npos);
  status = LoadEngine(Bytes("1234ET12"), Named("x")).status();
  EXPECT_NE(status.message().find("pip install executorch"), std::string_view::npos);
  status = LoadEngine(Bytes("null{}"), Named("x")).status();
  EXPECT_NE(status.message().find("null_engine"), std::string_view::npos);

  RegisterImplementation(new Fake(PlanKind::kTensorRt, "first", "engine 'x': first"));
  status = LoadEngine(Bytes(kTensorRt), Named("x")).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message(), "engine 'x': first");  // named once

  RegisterImplementation(new Fake(PlanKind::kTensorRt, "second", "second"));
  RegisterImplementation(new Fake(PlanKind::kHost, "host", "host"));
  EXPECT_EQ(LoadEngine(Bytes(kTensorRt), Named("x")).status().message(), "engine 'x': second");
  EXPECT_EQ(LoadEngine(Bytes("1234ET12"), Named("y")).status().message(), "engine 'y': host");
}

TEST(LoadEngine, NamesTheEngineOfABadPlan) {
  Status status = LoadEngine({}, Named("empty one")).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "engine 'empty one': plan is empty: 0 octets");
}

}  // namespace
}  // namespace trtscope::engine
