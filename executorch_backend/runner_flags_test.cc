#include "executorch_backend/runner_flags.h"

#include <gtest/gtest.h>

#include <string>

namespace trtscope::executorch_backend {
namespace {

std::string ErrorOf(const std::vector<std::string>& args) {
  Result<RunnerFlags> flags = ParseRunnerFlags(args);
  return flags.ok() ? "parsed" : std::string(flags.status().message());
}

TEST(RunnerFlags, ReadsBothForms) {
  Result<RunnerFlags> flags = ParseRunnerFlags({"--model",
                                                "m.pte",
                                                "--inputs=a.npy,b.bin",
                                                "--iterations",
                                                "5",
                                                "--warmup=2",
                                                "--method",
                                                "decode",
                                                "--etdump=t.etdp",
                                                "--profile-level",
                                                "layers",
                                                "--profile-format",
                                                "trex",
                                                "--profile-path",
                                                "out",
                                                "--profile-filter=*enc*",
                                                "--weight-streaming-budget",
                                                "7",
                                                "--library-path",
                                                "x",
                                                "--library-path=y",
                                                "--sample-interval=3",
                                                "--outputs",
                                                "o"});
  ASSERT_TRUE(flags.ok()) << flags.status().message();
  EXPECT_EQ(flags->model, "m.pte");
  EXPECT_EQ(flags->inputs, (std::vector<std::string>{"a.npy", "b.bin"}));
  EXPECT_EQ(flags->iterations, 5);
  EXPECT_EQ(flags->warmup, 2);
  EXPECT_EQ(flags->method, "decode");
  EXPECT_EQ(flags->etdump, "t.etdp");
  EXPECT_EQ(flags->profile_level, "layers");
  EXPECT_EQ(flags->profile_format, "trex");
  EXPECT_EQ(flags->profile_path, "out");
  EXPECT_EQ(flags->profile_filter, "*enc*");
  EXPECT_EQ(flags->weight_streaming_budget, "7");
  EXPECT_EQ(flags->library_paths, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(flags->outputs, "o");
  EXPECT_EQ(flags->sample_interval, 3);
  EXPECT_EQ(ParseRunnerFlags({"--model=m"})->sample_interval, 1);
}

TEST(RunnerFlags, ErrorsSayWhatIsExpected) {
  EXPECT_EQ(ErrorOf({}), "--model: expected the .pte file to run");
  EXPECT_EQ(ErrorOf({"--model"}), "--model: expected a value after it (--help lists the options)");
  EXPECT_EQ(ErrorOf({"--modle", "m"}), "--modle: unknown option (--help lists them)");
  EXPECT_EQ(ErrorOf({"--model=m", "--iterations=0"}),
            "--iterations: expected a number from 1 to 1000000000, got '0'");
  EXPECT_EQ(ErrorOf({"--model=m", "--warmup=x"}),
            "--warmup: expected a number from 0 to 1000000000, got 'x'");
  EXPECT_EQ(ErrorOf({"--model=m", "--sample-interval=-1"}),
            "--sample-interval: expected a number from 0 to 1000000, got '-1'");
  EXPECT_EQ(ErrorOf({"--bogus"}), "--bogus: unknown option (--help lists them)");
  EXPECT_EQ(ErrorOf({"--model="}), "--model: its value is empty");
  for (const char* files : {",", "a,", ",a", "a,,b"}) {
    EXPECT_EQ(ErrorOf({"--model=m", "--inputs", files}),
              std::string("--inputs: expected names of files with commas between them, got '") +
                  files + "'");
  }
  EXPECT_TRUE(ParseRunnerFlags({"--help"})->help);
}

}  // namespace
}  // namespace trtscope::executorch_backend
