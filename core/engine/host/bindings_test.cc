#include "core/engine/host/bindings.h"

#include <gtest/gtest.h>

#include <string>

namespace trtscope::engine::host {
namespace {

TEST(Bindings, ReadsAll) {
  Result<Bindings> bindings = ParseBindings(R"({"version": 1, "more": [],
      "inputs": [{"name": "x", "dtype": "float32", "shape": [-1, 8, -1], "dims": ["s1", 8, "s2"],
                  "min": [1, 8, 2], "max": [16, 8, 32]},
                 {"name": "m", "dtype": "bool", "shape": [-1], "dims": ["s1"],
                  "min": [1], "opt": [4], "max": [16]},
                 {"name": "c", "shape": [3]}],
      "outputs": [{"name": "y", "shape": [-1, 4], "dims": ["2*s1 + s2", 4]},
                  {"name": "i", "dtype": "int64", "shape": [-1, 2]},
                  {"name": "s", "shape": []}]})");
  ASSERT_TRUE(bindings.ok()) << bindings.status().message();
  ASSERT_EQ(bindings->inputs.size(), 3u);
  const Binding& x = bindings->inputs[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DataType::kFloat32);
  EXPECT_EQ(x.shape, (Dims{-1, 8, -1}));
  ASSERT_TRUE(x.range.has_value());
  EXPECT_EQ(x.range->min, (Dims{1, 8, 2}));
  EXPECT_EQ(x.range->opt, (Dims{16, 8, 32}));
  EXPECT_EQ(bindings->inputs[1].range->opt, (Dims{4}));
  EXPECT_FALSE(bindings->inputs[2].range.has_value());
  EXPECT_FALSE(bindings->inputs[2].dtype.has_value());

  ASSERT_EQ(bindings->symbols.size(), 2u);  // s1 once
  EXPECT_EQ(bindings->symbols[0].input, 0);
  EXPECT_EQ(bindings->symbols[0].dim, 0);
  EXPECT_EQ(bindings->symbols[1].dim, 2);

  ASSERT_EQ(bindings->outputs.size(), 3u);
  const int64_t values[] = {5, 7};
  ASSERT_EQ(bindings->outputs[0].dims.size(), 2u);
  EXPECT_EQ(*bindings->outputs[0].dims[0].Evaluate(values), 17);
  EXPECT_EQ(*bindings->outputs[0].dims[1].Evaluate(values), 4);
  EXPECT_TRUE(bindings->outputs[1].dims.empty());  // data dependent
  EXPECT_EQ(bindings->outputs[2].shape.rank, 0);
}

std::string WithInput(const std::string& input) {
  return R"({"inputs": [)" + input + R"(], "outputs": []})";
}
std::string WithOutput(const std::string& output) {
  return R"({"inputs": [], "outputs": [)" + output + "]}";
}

TEST(Bindings, RefusesMalformedOnes) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{}", "no list 'inputs'"},
      {R"({"inputs": []})", "no list 'outputs'"},
      {R"({"inputs": {}, "outputs": []})", "no list 'inputs'"},
      {WithInput("7"), "input 0 is not an object"},
      {WithInput(R"({"shape": []})"), "input 0 has no 'name'"},
      {WithInput(R"({"name": "x"})"), "input 0 'x' has no 'shape'"},
      {WithInput(R"({"name": "x", "shape": [1], "dtype": "half"})"), "unknown 'dtype'"},
      {WithInput(R"({"name": "x", "shape": ["s"]})"), "not an integer"},
      {WithInput(R"({"name": "x", "shape": [1], "dims": []})"), "as long as 'shape'"},
      {WithInput(R"({"name": "x", "shape": [-1], "min": [1]})"), "not both of"},
      {WithInput(R"({"name": "x", "shape": [-1], "min": [1, 1], "max": [2, 2]})"), "does not fit"},
      {WithInput(R"({"name": "x", "shape": [-1, 3], "min": [1, 2], "max": [2, 3]})"),
       "does not fit"},
      {WithInput(R"({"name": "x", "shape": [-1], "min": [3], "max": [2]})"), "does not fit"},
      {WithInput(R"({"name": "x", "shape": [-1], "min": [1], "opt": [9], "max": [2]})"),
       "does not fit"},
      {WithOutput(R"({"name": "y", "shape": [-1], "dims": ["s1"]})"), "symbol 's1'"},
      {WithOutput(R"({"name": "y", "shape": [-1], "dims": [4]})"), "nothing about dimension 0"},
      {WithOutput(R"({"name": "y", "shape": [-1], "dims": "s"})"), "as long as 'shape'"},
  };
  for (const auto& [json, expected] : cases) {
    Result<Bindings> bindings = ParseBindings(json);
    ASSERT_FALSE(bindings.ok()) << json;
    EXPECT_EQ(bindings.status().code(), StatusCode::kDataLoss) << json;
    EXPECT_NE(bindings.status().message().find(expected), std::string_view::npos)
        << json << ": " << bindings.status().message();
  }
  Result<Bindings> later = ParseBindings(R"({"version": 2, "inputs": [], "outputs": []})");
  EXPECT_EQ(later.status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace trtscope::engine::host
