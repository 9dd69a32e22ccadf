#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/profiling/test_util.h"
#include "core/profiling/trtscope.h"

namespace trtscope::profiling {
namespace {

using CInterfaceTest = ProfilingTest;

std::string Take(char* text) {
  EXPECT_NE(text, nullptr);
  const std::string out = text != nullptr ? text : "";
  trtscope_free(text);
  return out;
}

TEST_F(CInterfaceTest, SettersReportThroughCodeAndMessage) {
  EXPECT_EQ(trtscope_set_profile_level("phases"), 0);
  EXPECT_EQ(trtscope_set_profile_format("trex"), 0);
  EXPECT_EQ(trtscope_set_profile_filter("a*"), 0);
  EXPECT_EQ(trtscope_set_profile_path_prefix(folder_.path().c_str()), 0);
  EXPECT_STREQ(trtscope_last_error(), "");
  const Json config = Json::parse(Take(trtscope_get_config()));
  EXPECT_EQ(config.at("level"), "phases");
  EXPECT_EQ(config.at("format"), "trex");
  EXPECT_EQ(config.at("filter"), "a*");
  EXPECT_EQ(config.at("path_prefix"), folder_.path());
  EXPECT_EQ(config.at("generation"), Generation());
  EXPECT_EQ(trtscope_set_profile_execution(0), 0);
  EXPECT_EQ(Snapshot().level, Level::kOff);

  EXPECT_EQ(trtscope_set_profile_level("x"), static_cast<int>(StatusCode::kInvalidArgument));
  EXPECT_NE(std::string(trtscope_last_error()).find("delegate"), std::string::npos);
  std::thread([] { EXPECT_STREQ(trtscope_last_error(), ""); }).join();  // each thread its own
  EXPECT_EQ(trtscope_set_profile_level("off"), 0);
  EXPECT_STREQ(trtscope_last_error(), "");
}

TEST_F(CInterfaceTest, NullPointersAreRefused) {
  for (auto* setter : {&trtscope_set_profile_level, &trtscope_set_profile_format,
                       &trtscope_set_profile_path_prefix, &trtscope_set_profile_filter}) {
    EXPECT_EQ(setter(nullptr), static_cast<int>(StatusCode::kInvalidArgument));
    EXPECT_NE(std::string(trtscope_last_error()).find("null"), std::string::npos);
  }
  trtscope_free(nullptr);
}

TEST_F(CInterfaceTest, TextsAreThoseOfTheReports) {
  const auto engine = NewEngine("c");
  ASSERT_EQ(trtscope_set_profile_level("delegate"), 0);
  RunCall(*engine);
  EXPECT_NE(Take(trtscope_timing_table()).find(engine->id()), std::string::npos);
  EXPECT_EQ(Json::parse(Take(trtscope_timing_json())).at("engines").size(), 1u);
  EXPECT_NE(Take(trtscope_flush_traces()).find(engine->id()), std::string::npos);
  trtscope_reset_timing();
  EXPECT_EQ(Calls(engine->id()), 0u);
  EXPECT_EQ(Json::parse(Take(trtscope_names_json())).at("levels").size(), 4u);
  EXPECT_STRNE(trtscope_version(), "");
}

TEST_F(CInterfaceTest, LongMessagesAreCutNotOverrun) {
  const std::string folder = folder_.path() + "/" + std::string(5000, 'x');
  EXPECT_NE(trtscope_set_profile_path_prefix(folder.c_str()), 0);
  EXPECT_LT(std::string(trtscope_last_error()).size(), 1024u);
}

}  // namespace
}  // namespace trtscope::profiling
