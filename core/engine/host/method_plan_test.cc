#include "core/engine/host/method_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace trtscope::engine::host {
namespace {

std::string ReadProgram(const std::string& name) {
  const char* folder = std::getenv("TRTSCOPE_TEST_PROGRAMS");
  const std::string path = (folder != nullptr ? std::string(folder) : ".") + "/" + name + ".pte";
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// From memory that is exactly as long, so that ASan sees every octet read past it.
Result<MethodPlan> Read(const std::string& bytes, std::string_view method = "forward") {
  const auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return ReadMethodPlan({copy.get(), bytes.size()}, method);
}

TEST(MethodPlan, NamesInstructions) {
  Result<MethodPlan> plan = Read(ReadProgram("mlp"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->chains.size(), 1u);
  const auto& chain = plan->chains[0];
  ASSERT_FALSE(chain.empty());
  bool relu = false;
  for (size_t i = 0; i < chain.size(); ++i) {
    EXPECT_EQ(chain[i].kind, PlanInstruction::Kind::kKernel);
    EXPECT_EQ(chain[i].name, chain[i].type + " #" + std::to_string(i));
    EXPECT_FALSE(chain[i].args.empty());
    relu |= chain[i].type == "aten::relu.out";
  }
  EXPECT_TRUE(relu);
  EXPECT_FALSE(plan->delegates);
  EXPECT_FALSE(plan->mutable_state);
  EXPECT_EQ(plan->outputs_resized, (std::vector<bool>{true}));
}

TEST(MethodPlan, DescribesTensors) {
  Result<MethodPlan> plan = Read(ReadProgram("ties"));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  bool input = false, constant = false;
  for (const PlanValue& value : plan->values) {
    if (!value.tensor) continue;
    ASSERT_TRUE(value.shape.has_value());
    input |= *value.shape == Dims{4, 8} && value.dtype == DataType::kFloat32;
    constant |= *value.shape == Dims{6} && value.dtype == DataType::kInt64;
  }
  EXPECT_TRUE(input);
  EXPECT_TRUE(constant);
}

TEST(MethodPlan, SeesDelegatesAndState) {
  Result<MethodPlan> xnnpack = Read(ReadProgram("mlp_xnnpack"));
  ASSERT_TRUE(xnnpack.ok());
  EXPECT_TRUE(xnnpack->delegates);
  EXPECT_EQ(xnnpack->chains[0][0].name, "XnnpackBackend #0");
  EXPECT_EQ(xnnpack->chains[0][0].kind, PlanInstruction::Kind::kDelegate);
  Result<MethodPlan> counter = Read(ReadProgram("counter"));
  ASSERT_TRUE(counter.ok());
  EXPECT_TRUE(counter->mutable_state);
  for (const char* name :
       {"mlp", "mlp_planned", "mlp_xnnpack", "mix", "ties", "ties_planned", "nonzero", "scalar"}) {
    EXPECT_FALSE(Read(ReadProgram(name))->mutable_state) << name;
  }
}

TEST(MethodPlan, ReadsTheMethodThatWasAskedFor) {
  const std::string bytes = ReadProgram("mlp");
  Result<MethodPlan> bindings = Read(bytes, "trtscope_bindings");
  ASSERT_TRUE(bindings.ok());
  EXPECT_EQ(bindings->values.size(), 1u);
  Result<MethodPlan> none = Read(bytes, "backward");
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_NE(none.status().message().find("'backward'"), std::string_view::npos);
}

TEST(MethodPlan, SurvivesEveryTruncation) {
  for (const char* name : {"mlp", "ties", "mlp_xnnpack"}) {
    const std::string bytes = ReadProgram(name);
    for (size_t size = 0; size < 200; ++size) EXPECT_FALSE(Read(bytes.substr(0, size)).ok());
    for (size_t size = 200; size < bytes.size(); size += 3) (void)Read(bytes.substr(0, size));
  }
}

// Every result is an error or a plan whose references are in range.
TEST(MethodPlan, SurvivesDamage) {
  size_t refused = 0, read = 0;
  for (const char* name : {"scalar", "counter", "ties"}) {
    const std::string bytes = ReadProgram(name);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bits : {0x01, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ bits);
        Result<MethodPlan> plan = Read(damaged);
        if (!plan.ok()) {
          ++refused;
          continue;
        }
        ++read;
        for (const auto& chain : plan->chains) {
          for (const PlanInstruction& instruction : chain) {
            for (int arg : instruction.args) {
              ASSERT_GE(arg, 0);
              ASSERT_LT(static_cast<size_t>(arg), plan->values.size());
            }
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(read, 0u);
}

TEST(MethodPlan, RefusesWhatIsNoProgram) {
  for (const std::string& bytes : {std::string(), std::string(3, '\0'), std::string(64, '\0'),
                                   std::string(64, '\xff'), std::string(64, '\x04')}) {
    EXPECT_FALSE(Read(bytes).ok()) << bytes.size();
  }
}

TEST(DataTypeFromScalarType, KnowsWhatTensorsOfOursHave) {
  EXPECT_EQ(DataTypeFromScalarType(6), DataType::kFloat32);
  EXPECT_EQ(DataTypeFromScalarType(11), DataType::kBool);
  EXPECT_EQ(DataTypeFromScalarType(15), DataType::kBFloat16);
  EXPECT_EQ(DataTypeFromScalarType(8), std::nullopt);  // a complex type
  EXPECT_EQ(DataTypeFromScalarType(-1), std::nullopt);
}

}  // namespace
}  // namespace trtscope::engine::host
