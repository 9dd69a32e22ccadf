#include "tests/fakes/fake_program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace trtscope::fakes {
namespace {

using Json = nlohmann::json;
using engine::Dims;
using engine::tensorrt::abi::DataType;

struct TypeName {
  std::string_view name;
  DataType type;
  size_t octets;
};
constexpr TypeName kTypes[] = {
    {"float32", DataType::kFLOAT, 4},     {"float16", DataType::kHALF, 2},
    {"bfloat16", DataType::kBF16, 2},     {"int8", DataType::kINT8, 1},
    {"uint8", DataType::kUINT8, 1},       {"int32", DataType::kINT32, 4},
    {"int64", DataType::kINT64, 8},       {"bool", DataType::kBOOL, 1},
    {"float8_e4m3fn", DataType::kFP8, 1}, {"unknown", static_cast<DataType>(99), 4},
};

Dims ReadDims(const Json& json) {
  Dims dims;
  for (const Json& size : json) {
    if (dims.rank < Dims::kMaxRank) dims[dims.rank++] = size.get<int64_t>();
  }
  return dims;
}

FakeTensor ReadTensor(const Json& json) {
  FakeTensor tensor;
  tensor.name = json.at("name");
  tensor.input = json.at("mode") == "input";
  tensor.shape = ReadDims(json.at("shape"));
  const std::string dtype = json.value("dtype", "float32");
  for (const TypeName& known : kTypes) {
    if (known.name != dtype) continue;
    tensor.dtype = known.type;
    tensor.element_octets = known.octets;
  }
  tensor.shape_input = json.value("shape_input", false);
  tensor.data_dependent = json.value("data_dependent", false);
  tensor.alias = json.value("alias", "");
  for (const Json& profile : json.value("profiles", Json::array())) {
    tensor.profiles.push_back(
        {ReadDims(profile.at(0)), ReadDims(profile.at(1)), ReadDims(profile.at(2))});
  }
  return tensor;
}

FakeProgram ReadProgram(const Json& json) {
  FakeProgram program;
  for (const Json& tensor : json.at("io")) program.io.push_back(ReadTensor(tensor));
  for (size_t i = 0; i < program.io.size(); ++i) {
    FakeTensor& tensor = program.io[i];
    program.profile_count =
        std::max(program.profile_count, static_cast<int>(tensor.profiles.size()));
    if (tensor.input) continue;
    const Json& source = json.at("io").at(i);
    tensor.from = program.Find(source.value("from", program.io.at(0).name));
    tensor.shape_from = program.Find(source.value("shape_from", ""));
  }
  program.layers = json.value("layers", std::vector<std::string>{"layer"});
  program.factor = json.value("factor", 2.0F);
  program.compatible = json.value("compatible", false);
  program.host_code = json.value("host_code", false);
  program.shared_profiles = json.value("shared_profiles", false);
  program.workspace = json.value("workspace", size_t{0});
  program.streamable = json.value("streamable", int64_t{0});
  program.delay_us = json.value("delay_us", 0);
  const Json faults = json.value("faults", Json::object());
  program.faults.deserialize = faults.value("deserialize", "");
  program.faults.context = faults.value("context", "");
  program.faults.enqueue = faults.value("enqueue", 0);
  program.faults.wrong_dims = faults.value("wrong_dims", false);
  program.faults.threads = faults.value("threads", false);
  program.faults.silent = faults.value("silent", false);
  program.faults.no_profiler = faults.value("no_profiler", false);
  program.faults.serialize = faults.value("serialize", false);
  return program;
}

}  // namespace

Result<FakeProgram> ReadFakeProgram(std::span<const std::byte> json) {
  try {
    return ReadProgram(Json::parse(reinterpret_cast<const char*>(json.data()),
                                   reinterpret_cast<const char*>(json.data()) + json.size()));
  } catch (const std::exception& error) {
    return DataLoss(error.what());
  }
}

}  // namespace trtscope::fakes
