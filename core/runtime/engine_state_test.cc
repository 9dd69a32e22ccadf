#include "core/runtime/engine_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/runtime/base64.h"

namespace trtscope::runtime {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Fields() {
  return {"10", "encoder", "0%9%0%0%NVIDIA H200",          "plan-octets", "x%mask", "y",
          "0",  "meta",    std::string(CurrentPlatform()), "0",           "0",      "0",
          ""};
}

Result<EngineState> Parse(const std::vector<std::string>& fields, PlanEncoding encoding) {
  return ParseEngineState({fields.begin(), fields.end()}, encoding);
}

std::string ErrorOf(const std::vector<std::string>& fields,
                    PlanEncoding encoding = PlanEncoding::kRaw) {
  auto state = Parse(fields, encoding);
  return state.ok() ? "" : std::string(state.status().message());
}

TEST(Base64, KnownVectors) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(Base64Encode(plain), coded);
    auto decoded = Base64Decode(coded);
    ASSERT_TRUE(decoded.ok()) << coded;
    EXPECT_EQ(*decoded, plain);
  }
}

TEST(Base64, EveryOctetSurvives) {
  std::mt19937 random(7);
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    auto decoded = Base64Decode(Base64Encode(bytes));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64, RefusesWhatWasNeverEncoded) {
  for (const char* text : {"Zg=", "Z", "Zg==Zg==", "Z===", "====", "Zm9v\n", "Zm 9",
                           "Zh==", "Zm9=", "Zm8=AAAA", "\xff\xff\xff\xff"}) {
    EXPECT_FALSE(Base64Decode(text).ok()) << text;
  }
  EXPECT_THAT(std::string(Base64Decode("Zm9vYm*y").status().message()),
              HasSubstr("0x2a at offset 6"));
}

TEST(EngineState, ReadsTheCurrentVersion) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kAliasedIo] = "y@x@kv%z@mask@kv";
  auto state = Parse(fields, PlanEncoding::kRaw);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->name, "encoder");
  EXPECT_EQ(state->device_id, 0);
  EXPECT_EQ(state->plan, "plan-octets");
  EXPECT_THAT(state->input_names, ::testing::ElementsAre("x", "mask"));
  EXPECT_THAT(state->output_names, ::testing::ElementsAre("y"));
  ASSERT_EQ(state->aliased_io.size(), 2u);
  EXPECT_EQ(state->aliased_io[1].output, "z");
  EXPECT_EQ(state->aliased_io[1].input, "mask");
  EXPECT_EQ(state->aliased_io[1].kind, "kv");
}

TEST(EngineState, ReadsVersion8WithElevenStrings) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kAbiVersion] = "8";
  fields.resize(kOldStateFieldCount);
  fields[StateField::kPlan] = Base64Encode("plan-octets");
  auto state = Parse(fields, PlanEncoding::kBase64);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->plan, "plan-octets");
  EXPECT_TRUE(state->aliased_io.empty());
}

TEST(EngineState, SerializesToWhatItReads) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kPlan] = std::string("\0\xff raw", 6);
  fields[StateField::kHardwareCompatible] = "1";
  fields[StateField::kAliasedIo] = "y@x@kv";
  auto state = Parse(fields, PlanEncoding::kRaw);
  ASSERT_TRUE(state.ok());
  std::vector<std::string> again = SerializeEngineState(*state);
  fields[StateField::kPlan] = Base64Encode(fields[StateField::kPlan]);
  EXPECT_EQ(again, fields);
}

TEST(EngineState, OtherVersionsAreRefusedWithTheVersionFound) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kAbiVersion] = "9";
  EXPECT_THAT(ErrorOf(fields), HasSubstr("version '9' and 13 strings"));
  fields[StateField::kAbiVersion] = "";
  EXPECT_THAT(ErrorOf(fields), HasSubstr("version ''"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("empty list"));
}

TEST(EngineState, ShortAndLongListsAreRefusedWithTheirLength) {
  for (size_t size = 1; size < 20; ++size) {
    if (size == StateField::kCount) continue;
    std::vector<std::string> fields = Fields();
    fields.resize(size);
    EXPECT_THAT(ErrorOf(fields), HasSubstr(std::to_string(size) + " strings; expected 13"));
  }
}

TEST(EngineState, AForeignPlatformIsRefusedWithBothNames) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kTargetPlatform] = "windows_x86_64";
  EXPECT_THAT(ErrorOf(fields), HasSubstr("'windows_x86_64'"));
  EXPECT_THAT(ErrorOf(fields), HasSubstr(std::string(CurrentPlatform())));
}

struct BadField {
  StateField::Index index;
  std::string value;
};

TEST(EngineState, EveryMalformedFieldIsNamed) {
  const BadField cases[] = {
      {StateField::kDevice, ""},
      {StateField::kDevice, "0%9%0%0"},
      {StateField::kDevice, "-1%9%0%0%x"},
      {StateField::kDevice, "zero%9%0%0%x"},
      {StateField::kDevice, "99999999999999999999%9%0%0%x"},
      {StateField::kInputNames, "x%%y"},
      {StateField::kInputNames, "x%x"},
      {StateField::kOutputNames, ""},
      {StateField::kOutputNames, "y%"},
      {StateField::kHardwareCompatible, "yes"},
      {StateField::kRequiresOutputAllocator, ""},
      {StateField::kMultiDevice, "1"},
      {StateField::kAliasedIo, "y@x"},
      {StateField::kAliasedIo, "@x@kv"},
      {StateField::kPlan, ""},
  };
  for (const BadField& bad : cases) {
    std::vector<std::string> fields = Fields();
    fields[bad.index] = bad.value;
    const std::string error = ErrorOf(fields);
    EXPECT_THAT(error, HasSubstr("'encoder'")) << bad.value;
    EXPECT_THAT(error, HasSubstr(std::string(kStateFieldNames[bad.index]))) << bad.value;
  }
}

TEST(EngineState, ABadPlanNamesTheEngine) {
  std::vector<std::string> fields = Fields();
  EXPECT_THAT(ErrorOf(fields, PlanEncoding::kBase64), HasSubstr("'encoder'"));
}

TEST(EngineState, AnEngineMayHaveNoInputs) {
  std::vector<std::string> fields = Fields();
  fields[StateField::kInputNames] = "";
  EXPECT_EQ(ErrorOf(fields), "");
}

// Any bytes in any field: an error or a state, never a crash.
TEST(EngineState, RandomFieldsNeverCrash) {
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> fields = Fields();
    const size_t changes = 1 + random() % 3;
    for (size_t c = 0; c < changes; ++c) {
      std::string& field = fields[random() % fields.size()];
      if (field.empty() || random() % 2) field.push_back(static_cast<char>(random()));
      field[random() % field.size()] = static_cast<char>(random());
      if (random() % 4 == 0) field.resize(random() % (field.size() + 1));
    }
    if (random() % 8 == 0) fields.resize(random() % 15);
    const auto encoding = random() % 2 ? PlanEncoding::kRaw : PlanEncoding::kBase64;
    (void)Parse(fields, encoding).ok();
  }
}

}  // namespace
}  // namespace trtscope::runtime
