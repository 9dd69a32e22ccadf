#include "core/profiling/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace trtscope::profiling {
namespace {

std::string Quote(std::string_view raw, size_t max = ~size_t{0}) {
  std::string out;
  AppendJsonString(out, raw, max);
  return out;
}

TEST(JsonTextTest, ValidTextSurvives) {
  for (const std::string& text :
       {std::string(), std::string("plain"), std::string("q\"b\\s/"),
        std::string("\n\t\r\b\f\x01\x7f"), std::string("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
        std::string("a\0b", 3)}) {
    EXPECT_EQ(nlohmann::json::parse(Quote(text)).get<std::string>(), text);
  }
}

TEST(JsonTextTest, InvalidUtf8IsReplaced) {
  const std::string kBad = "\xEF\xBF\xBD";
  EXPECT_EQ(Quote("a\xFFz"), "\"a" + kBad + "z\"");
  EXPECT_EQ(Quote("\xC0\xAF"), "\"" + kBad + kBad + "\"");             // overlong
  EXPECT_EQ(Quote("\xED\xA0\x80"), "\"" + kBad + kBad + kBad + "\"");  // surrogate
  EXPECT_EQ(Quote("\xF4\x90\x80\x80"), "\"" + kBad + kBad + kBad + kBad + "\"");
  EXPECT_EQ(Quote("\xE2\x82"), "\"" + kBad + kBad + "\"");  // cut short
}

TEST(JsonTextTest, RandomBytesAlwaysParse) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string raw(random() % 40, '\0');
    for (char& c : raw) c = static_cast<char>(random());
    const std::string quoted = Quote(raw, random() % 2 ? ~size_t{0} : 10);
    EXPECT_TRUE(nlohmann::json::accept(quoted)) << quoted;
  }
}

TEST(JsonTextTest, LongTextIsCutAtACharacter) {
  std::string raw;
  for (int i = 0; i < 5000; ++i) raw += "\xE2\x82\xAC";
  const std::string quoted = Quote(raw, 100);
  EXPECT_LT(quoted.size(), 112u);
  const std::string text = nlohmann::json::parse(quoted).get<std::string>();
  EXPECT_TRUE(text.ends_with("\xE2\x82\xAC..."));
}

TEST(JsonTextTest, TimesAreExact) {
  const auto micros = [](int64_t ns) {
    std::string out;
    AppendMicros(out, ns);
    return out;
  };
  EXPECT_EQ(micros(0), "0.000");
  EXPECT_EQ(micros(1), "0.001");
  EXPECT_EQ(micros(999), "0.999");
  EXPECT_EQ(micros(1000), "1.000");
  EXPECT_EQ(micros(-1), "-0.001");
  EXPECT_EQ(micros(1'234'567'890'123'456'789), "1234567890123456.789");
  EXPECT_EQ(micros(std::numeric_limits<int64_t>::min()), "-9223372036854775.808");
  std::string ms;
  AppendMillis(ms, 1'000'001);
  EXPECT_EQ(ms, "1.000001");
}

TEST(JsonTextTest, SafeFileNames) {
  EXPECT_EQ(SafeFileName("_run_on_acc_0.engine-1"), "_run_on_acc_0.engine-1");
  EXPECT_EQ(SafeFileName(""), "engine");
  EXPECT_EQ(SafeFileName("../../etc/passwd"), "_._.._etc_passwd");
  EXPECT_EQ(SafeFileName("a b\n\"\xFF"), "a_b___");
  EXPECT_EQ(SafeFileName(std::string(10'000, 'x')).size(), 80u);
}

}  // namespace
}  // namespace trtscope::profiling
