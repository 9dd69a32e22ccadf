#ifndef TRTSCOPE_TESTS_FAKES_FAKE_PROGRAM_H_
#define TRTSCOPE_TESTS_FAKES_FAKE_PROGRAM_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"
#include "core/engine/tensorrt/abi/abi_generated.h"

namespace trtscope::fakes {

/// A fake plan's JSON (fake_plan.h), read.
struct FakeTensor {
  std::string name;
  bool input = false;
  engine::tensorrt::abi::DataType dtype = engine::tensorrt::abi::DataType::kFLOAT;
  size_t element_octets = 4;
  engine::Dims shape;
  bool shape_input = false;
  bool data_dependent = false;
  int from = -1;        // outputs: the input it is made of
  int shape_from = -1;  // outputs: the shape input that holds its shape
  std::string alias;
  std::vector<std::array<engine::Dims, 3>> profiles;
};

struct FakeProgram {
  std::vector<FakeTensor> io;
  std::vector<std::string> layers;
  float factor = 2;
  int profile_count = 1;
  bool compatible = false;
  bool host_code = false;
  bool shared_profiles = false;
  size_t workspace = 0;
  int64_t streamable = 0;
  int delay_us = 0;
  struct Faults {
    std::string deserialize, context;
    int enqueue = 0;
    bool wrong_dims = false;
    bool threads = false;
    bool silent = false;
    bool no_profiler = false;
    bool serialize = false;
  } faults;

  int Find(const std::string& name) const {
    for (size_t i = 0; i < io.size(); ++i) {
      if (io[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }
};

Result<FakeProgram> ReadFakeProgram(std::span<const std::byte> json);

}  // namespace trtscope::fakes

#endif  // TRTSCOPE_TESTS_FAKES_FAKE_PROGRAM_H_
