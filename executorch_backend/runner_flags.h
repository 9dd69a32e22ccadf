#ifndef TRTSCOPE_EXECUTORCH_BACKEND_RUNNER_FLAGS_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_RUNNER_FLAGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace trtscope::executorch_backend {

inline constexpr std::string_view kRunnerUsage =
    "usage: runner --model FILE.pte [options]\n"
    "  --method NAME            method to run (forward)\n"
    "  --inputs FILE[,FILE...]  .npy, or octets of the planned size; by default zeros\n"
    "  --outputs FOLDER         write results there as output_N.npy\n"
    "  --iterations N           calls measured (1)\n"
    "  --warmup N               calls before (0)\n"
    "  --etdump FILE            write ExecuTorch's trace of the measured calls\n"
    "  --profile-level LEVEL    off, delegate, phases, layers\n"
    "  --profile-format FORMAT  etdump, perfetto, trex\n"
    "  --profile-path FOLDER    folder of the files of perfetto and trex\n"
    "  --profile-filter GLOB    only engines whose id matches\n"
    "  --sample-interval N      measure one call in N on the GPU (1); 0 chooses by cost\n"
    "  --weight-streaming-budget OCTETS  of streamable weights on the device\n"
    "  --library-path FOLDER    where runtime libraries (TensorRT) are looked for; may repeat\n";

struct RunnerFlags {
  std::string model, method = "forward", outputs, etdump;
  std::string profile_level, profile_format, profile_path, profile_filter, weight_streaming_budget;
  std::vector<std::string> inputs, library_paths;
  int iterations = 1, warmup = 0, sample_interval = 1;
  bool help = false;
};

/// `--flag value` and `--flag=value`.
Result<RunnerFlags> ParseRunnerFlags(const std::vector<std::string>& args);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_RUNNER_FLAGS_H_
