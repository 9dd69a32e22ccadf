#include "core/engine/c_api.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trtscope::engine {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPlan =
    "null"
    R"({"inputs": [{"name": "x", "shape": [-1, 8], "min": [1, 8], "max": [16, 8]}],)"
    R"( "outputs": [{"name": "y", "dtype": "int64", "shape": [-1], "data_dependent": [5]}]})";

Json Take(char* text) {
  EXPECT_NE(text, nullptr) << trtscope_last_error();
  Json json = Json::parse(text != nullptr ? text : "{}");
  trtscope_free(text);
  return json;
}

TEST(CApiTest, APlansOctetsSayWhatItIs) {
  const Json info = Take(trtscope_plan_info(kPlan.data(), kPlan.size()));
  EXPECT_EQ(info.at("kind"), "null");
  EXPECT_EQ(info.at("size"), kPlan.size());
  EXPECT_NE(info.at("hash").get<uint64_t>(), 0u);
}

TEST(CApiTest, ALoadedPlanTellsItsTensors) {
  const Json loaded = Take(trtscope_load_plan(kPlan.data(), kPlan.size(), "m", 0));
  EXPECT_EQ(loaded.at("kind"), "null");
  const Json& x = loaded.at("tensors").at(0);
  EXPECT_EQ(x.at("name"), "x");
  EXPECT_EQ(x.at("dtype"), "float32");
  EXPECT_EQ(x.at("shape"), Json({-1, 8}));
  EXPECT_EQ(x.at("is_input"), true);
  EXPECT_EQ(x.at("location"), "host");
  EXPECT_EQ(x.at("profiles").at(0).at("max"), Json({16, 8}));
  const Json& y = loaded.at("tensors").at(1);
  EXPECT_EQ(y.at("data_dependent"), true);
  EXPECT_EQ(y.at("is_input"), false);
}

TEST(CApiTest, WhatIsNoPlanIsRefusedWithTheEnginesName) {
  EXPECT_EQ(trtscope_plan_info("junk of no kind", 15), nullptr);
  EXPECT_NE(std::string_view(trtscope_last_error()), "");
  // Names are octets: what is no UTF-8 comes back as it is.
  EXPECT_EQ(trtscope_load_plan("junk of no kind", 15, "m\xff", 0), nullptr);
  EXPECT_NE(std::string_view(trtscope_last_error()).find("engine 'm\xff': "),
            std::string_view::npos);
  Take(trtscope_plan_info(kPlan.data(), kPlan.size()));
  EXPECT_STREQ(trtscope_last_error(), "");
}

TEST(CApiTest, NullPointersAreRefused) {
  EXPECT_EQ(trtscope_plan_info(nullptr, 15), nullptr);
  EXPECT_EQ(trtscope_load_plan(kPlan.data(), kPlan.size(), nullptr, 0), nullptr);
  EXPECT_NE(std::string_view(trtscope_last_error()).find("null pointer"), std::string_view::npos);
}

}  // namespace
}  // namespace trtscope::engine
