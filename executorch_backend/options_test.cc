#include "executorch_backend/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/profiling/config.h"
#include "executorch_backend/testing.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;

using profiling::Format;
using profiling::Level;
using testing::CompileSpecs;
using testing::Loaded;
using testing::Options;

class OptionsTest : public ::testing::Test {
 protected:
  ~OptionsTest() override {
    ClearThreadLoadOptions();
    EXPECT_TRUE(profiling::SetLevel(Level::kOff).ok());
    EXPECT_TRUE(profiling::SetFormat("perfetto").ok());
  }
};

std::string ErrorOf(const Options& options, const CompileSpecs& specs = {}) {
  Result<MethodOptions> read = ReadMethodOptions(options.view(), specs.view());
  return read.ok() ? "read" : std::string(read.status().message());
}

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST_F(OptionsTest, NothingGivenIsNothingSet) {
  Result<MethodOptions> read = ReadMethodOptions({}, {});
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->profile.level || read->profile.format || read->profile.path_prefix);
  EXPECT_FALSE(read->weight_streaming_budget || read->target_device);
}

// RFC, unit tests: "Runtime options override compile specs."
TEST_F(OptionsTest, RuntimeOptionsOverrideCompileSpecs) {
  CompileSpecs specs;
  specs.Set(kLevelKey, "layers").Set(kFormatKey, "trex").Set(kWeightStreamingKey, "10");
  Options options;
  options.Set(kLevelKey, "delegate").Set(kWeightStreamingKey, 20);
  Result<MethodOptions> read = ReadMethodOptions(options.view(), specs.view());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->profile.level, Level::kDelegate);
  EXPECT_EQ(read->profile.format, Format::kTrex);  // each key on its own
  EXPECT_EQ(read->weight_streaming_budget, 20);
  // Also when it turns off what the program turns on.
  Options off;
  off.Set(kLevelKey, "off");
  EXPECT_EQ(ReadMethodOptions(off.view(), specs.view())->profile.level, Level::kOff);
}

// RFC, unit tests: "Compile specs provide defaults when runtime options are absent."
TEST_F(OptionsTest, CompileSpecsProvideDefaultsWhenRuntimeOptionsAreAbsent) {
  CompileSpecs specs;
  specs.Set(kLevelKey, "phases").Set(kPathPrefixKey, std::string("/tmp\0", 5));
  specs.Set(kTargetDeviceKey, "cuda:1").Set("somebody_elses", "value");
  Result<MethodOptions> read = ReadMethodOptions({}, specs.view());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->profile.level, Level::kPhases);
  EXPECT_EQ(read->profile.path_prefix, "/tmp");      // without the zero of C
  EXPECT_EQ(read->profile.format, Format::kEtdump);  // no files unless asked for
  EXPECT_EQ(read->target_device, (device::DeviceId{device::DeviceType::kCuda, 1}));

  Loaded loaded(testing::SimplePlan(), {}, specs.Set(kTargetDeviceKey, "cpu"));
  ASSERT_EQ(loaded.error, et::Error::Ok) << LastError();
  EXPECT_EQ(loaded.delegate().executor().profile().level(), Level::kPhases);
}

// RFC, unit tests: "Invalid levels, formats, and empty paths fail with actionable errors."
TEST_F(OptionsTest, InvalidLevelsFormatsAndEmptyPathsFailWithActionableErrors) {
  const std::string level = ErrorOf(Options().Set(kLevelKey, "verbose"));
  EXPECT_SAYS(level, "load-time option 'torchtrt_profile_level'");
  EXPECT_SAYS(level, "verbose");
  EXPECT_SAYS(level, "off, delegate, phases, layers");
  const std::string format = ErrorOf({}, CompileSpecs().Set(kFormatKey, "json"));
  EXPECT_SAYS(format, "compile spec 'torchtrt_profile_format'");
  EXPECT_SAYS(format, "json");
  EXPECT_SAYS(format, "etdump");
  EXPECT_SAYS(ErrorOf(Options().Set(kPathPrefixKey, "")), "'torchtrt_profile_path_prefix'");
  EXPECT_SAYS(ErrorOf(Options().Set(kPathPrefixKey, "")), "empty");
  EXPECT_SAYS(ErrorOf(Options().Set(kPathPrefixKey, "/dev/null")), "/dev/null");
  EXPECT_SAYS(ErrorOf(Options().Set(kLevelKey, 3)), "expected a string, got the integer 3");
  EXPECT_SAYS(ErrorOf(Options().SetBool(kLevelKey, true)), "got the bool true");
  EXPECT_SAYS(ErrorOf(Options().Set(kWeightStreamingKey, -1)), "0 or more, got '-1'");
  EXPECT_SAYS(ErrorOf(Options().Set(kWeightStreamingKey, "many")), "got 'many'");
  EXPECT_SAYS(ErrorOf(Options().Set(kTargetDeviceKey, "cuda:x")), "expected cuda:N");
  EXPECT_SAYS(ErrorOf(Options().Set(kFilterKey, "")), "'torchtrt_profile_filter': expected a glob");
  EXPECT_SAYS(ErrorOf(Options().Set("torchtrt_profile_levle", "off")),
              "unknown; expected torchtrt_profile_level, torchtrt_profile_format, "
              "torchtrt_profile_path_prefix or torchtrt_profile_filter");
  EXPECT_SAYS(ErrorOf({}, CompileSpecs().Set("torchtrt_x", "")), "torchtrt_profile_level");

  Loaded loaded(testing::SimplePlan(), Options().Set(kLevelKey, "verbose"));
  EXPECT_EQ(loaded.error, et::Error::InvalidArgument);
  EXPECT_SAYS(LastError(), "verbose");
}

TEST_F(OptionsTest, StringsThatExecuTorchMayHaveCutAreRefused) {
  const std::string longest(254, 'a');
  EXPECT_SAYS(ErrorOf(Options().Set(kPathPrefixKey, "/tmp/" + longest)), "cuts off");
  EXPECT_SAYS(ErrorOf(Options().Set(kPathPrefixKey, longest + "a")), "cuts off");
  EXPECT_EQ(ErrorOf(Options().Set(kPathPrefixKey, "/tmp/" + std::string(249, 'a'))), "read");
  // A compile spec has no such limit.
  EXPECT_EQ(ErrorOf({}, CompileSpecs().Set(kPathPrefixKey, "/tmp/" + longest)), "read");
}

TEST_F(OptionsTest, ThreadLoadOptionsAreRuntimeOptions) {
  CompileSpecs specs;
  specs.Set(kLevelKey, "layers");
  SetThreadLoadOption(kLevelKey, "delegate");
  SetThreadLoadOption(kLevelKey, "phases");
  EXPECT_EQ(ReadMethodOptions({}, specs.view())->profile.level, Level::kPhases);
  EXPECT_EQ(ReadMethodOptions(Options().Set(kLevelKey, "off").view(), {})->profile.level,
            Level::kOff);
  SetThreadLoadOption(kLevelKey, "wrong");
  EXPECT_SAYS(ErrorOf({}), "load-time option 'torchtrt_profile_level'");
  ClearThreadLoadOptions();
  EXPECT_FALSE(ReadMethodOptions({}, {})->profile.level.has_value());
}

TEST_F(OptionsTest, AFilterTurnsOffTheEnginesThatItDoesNotMatch) {
  Options options;
  options.Set(kLevelKey, "phases").Set(kFilterKey, "decode-*");
  CompileSpecs specs;
  specs.Set(kLevelKey, "layers");
  Loaded other(testing::SimplePlan(), options, specs, "prefill");
  Loaded wanted(testing::SimplePlan(), options, specs, "decode");
  ASSERT_EQ(other.error, et::Error::Ok) << LastError();
  ASSERT_EQ(wanted.error, et::Error::Ok) << LastError();
  EXPECT_EQ(other.delegate().executor().profile().level(), Level::kOff);
  EXPECT_EQ(wanted.delegate().executor().profile().level(), Level::kPhases);
  // Nor does the process's level reach what a filter leaves out.
  Options filter;
  filter.Set(kFilterKey, "decode-*");
  Loaded follower(testing::SimplePlan(), filter, {}, "decode");
  Loaded left_out(testing::SimplePlan(), filter, {}, "prefill");
  ASSERT_TRUE(profiling::SetFormat("etdump").ok());
  ASSERT_TRUE(profiling::SetLevel(Level::kPhases).ok());
  testing::FloatTensor x({2, 8}), y({16, 8});
  testing::FakeTracer tracer;
  ASSERT_EQ(left_out.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  EXPECT_TRUE(tracer.events.empty());
  ASSERT_EQ(follower.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  EXPECT_FALSE(tracer.events.empty());
}

TEST_F(OptionsTest, SetOptionReachesLoadedMethodsWithoutOwnSettings) {
  Loaded plain(testing::SimplePlan());
  Loaded own(testing::SimplePlan(), Options().Set(kLevelKey, "delegate"));
  testing::FloatTensor x({2, 8}), y({16, 8});
  et::BackendOptionContext context;
  Options changes;
  changes.Set(kFormatKey, "etdump").Set(kLevelKey, "phases");
  const et::Span<et::BackendOption> change = changes.mutable_view();
  ASSERT_EQ(TheBackend().set_option(context, change), et::Error::Ok) << LastError();
  testing::FakeTracer tracer;
  ASSERT_EQ(plain.Execute({x.value(), y.value()}, &tracer), et::Error::Ok) << LastError();
  EXPECT_NE(tracer.find("torchtrt.enqueue_host"), nullptr);
  tracer.events.clear();
  ASSERT_EQ(own.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  EXPECT_EQ(tracer.names(), std::vector<std::string>{"torchtrt.delegate"});

  Options asked;
  asked.Set(kLevelKey, "").Set(kFormatKey, "").Set(kPathPrefixKey, "").Set(kFilterKey, "");
  et::Span<et::BackendOption> view = asked.mutable_view();
  ASSERT_EQ(TheBackend().get_option(context, view), et::Error::Ok) << LastError();
  using Text = std::array<char, et::kMaxOptionValueLength>;
  EXPECT_STREQ(std::get<Text>(view[0].value).data(), "phases");
  EXPECT_STREQ(std::get<Text>(view[1].value).data(), "etdump");
  EXPECT_STRNE(std::get<Text>(view[2].value).data(), "");
  EXPECT_STREQ(std::get<Text>(view[3].value).data(), "*");
  Options narrowed;
  narrowed.Set(kFilterKey, "no such engine");
  ASSERT_EQ(TheBackend().set_option(context, narrowed.mutable_view()), et::Error::Ok);
  tracer.events.clear();
  ASSERT_EQ(plain.Execute({x.value(), y.value()}, &tracer), et::Error::Ok);
  EXPECT_TRUE(tracer.events.empty());
  ASSERT_TRUE(profiling::SetFilter("*").ok());

  // One wrong option changes nothing.
  Options wrong;
  wrong.Set(kLevelKey, "off").Set(kFormatKey, "json");
  EXPECT_EQ(TheBackend().set_option(context, wrong.mutable_view()), et::Error::InvalidArgument);
  EXPECT_EQ(profiling::Snapshot().level, Level::kPhases);
  Options method_only;
  method_only.Set(kWeightStreamingKey, 1);
  EXPECT_EQ(TheBackend().set_option(context, method_only.mutable_view()), et::Error::NotSupported);
  Options unknown;
  unknown.Set("x", 1);
  et::Span<et::BackendOption> unknown_view = unknown.mutable_view();
  EXPECT_EQ(TheBackend().set_option(context, unknown_view), et::Error::InvalidArgument);
  EXPECT_EQ(TheBackend().get_option(context, unknown_view), et::Error::NotFound);
}

}  // namespace
}  // namespace trtscope::executorch_backend
