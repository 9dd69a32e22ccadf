#ifndef TRTSCOPE_TESTS_FAKES_FAKE_PLAN_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_PLAN_H_

// Plans for the fake TensorRT: a header like the real one, then JSON that says what the engine is
// and what shall go wrong.  fake_plan.py makes the same.
//
//   io          [{name, mode: "input" | "output", dtype, shape, and
//                 inputs:  profiles: [[min, opt, max]], shape_input: true (values on the host)
//                 outputs: from: the input it is made of, alias: the input whose memory it is,
//                          data_dependent: true (the elements that are not zero),
//                          shape_from: the shape input whose values are its shape}]
//   factor      float32 outputs are their input times this; other types are copied (2)
//   layers      names, in execution order; layer i takes i + 1 microseconds
//   compatible  version-compatible: newer and lean libraries take it (false)
//   host_code   refused unless host code is allowed (false)
//   shared_profiles  8.6: a profile serves several contexts (false)
//   workspace   octets of scratch memory (0)
//   streamable  octets of weights that can be streamed (0)
//   delay_us    every enqueue's work takes this long on its stream (0)
//   faults      {deserialize | context: the message it fails with,
//                enqueue: the number of the enqueue that fails, from 1,
//                wrong_dims: outputs claim one dimension too many,
//                threads: layer records, allocator calls and errors come from another thread,
//                silent: failures log nothing,
//                no_profiler: setProfiler is ignored,
//                serialize: the engine cannot be serialized}

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace trtscope::fakes {

inline constexpr size_t kFakePlanHeader = 160;

struct FakePlanVersion {
  uint8_t major, minor, patch, build;
};

inline std::vector<std::byte> MakeFakePlan(FakePlanVersion version, const std::string& json,
                                           int sm = 90, const char* magic = "ftrt") {
  std::vector<std::byte> plan(kFakePlanHeader + json.size());
  const auto put = [&plan](size_t offset, const auto& value) {
    std::memcpy(plan.data() + offset, &value, sizeof(value));
  };
  std::memcpy(plan.data(), magic, 4);
  put(16, static_cast<uint64_t>(plan.size()));
  put(24, version);
  std::memcpy(plan.data() + 56, "ptrt", 4);
  put(120, uint32_t{0x00018007});
  put(124, int32_t{sm / 10});
  put(128, uint32_t{0x00018007});
  put(132, int32_t{sm % 10});
  std::memcpy(plan.data() + kFakePlanHeader, json.data(), json.size());
  return plan;
}

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_PLAN_H_
