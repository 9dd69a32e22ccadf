// Which library runs a plan, and what is said when none does.

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/engine/library_paths.h"
#include "core/engine/tensorrt/doctor.h"
#include "core/engine/tensorrt/implementation.h"
#include "core/engine/tensorrt/plan_facts.h"
#include "core/engine/tensorrt/selection.h"
#include "tests/fakes/fake_setup.h"

namespace trtscope::engine::tensorrt {
namespace {

using fakes::FakePath;
using fakes::FakePlanVersion;

constexpr char kPlain[] = R"({"io": [{"name": "x", "mode": "input", "shape": [8]}]})";
constexpr char kCompatible[] =
    R"({"compatible": true, "io": [{"name": "x", "mode": "input", "shape": [8]}]})";
constexpr char kHostCode[] = R"({"compatible": true, "host_code": true,
    "io": [{"name": "x", "mode": "input", "shape": [8]}]})";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class LoadTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TRTSCOPE_TENSORRT"); }

  /// Names these folders of fakes in TRTSCOPE_TENSORRT.
  static void Offer(const std::vector<std::string>& folders) {
    std::string value;
    for (const std::string& folder : folders) value += FakePath(folder) + ":";
    setenv("TRTSCOPE_TENSORRT", value.c_str(), 1);
  }
  static Result<std::unique_ptr<Engine>> Load(const std::vector<std::byte>& plan,
                                              bool allow_host_code = false) {
    LoadOptions options;
    options.name = "m";
    options.device = {device::DeviceType::kCuda, 0};
    options.allow_host_code = allow_host_code;
    return LoadEngine(plan, options);
  }
  /// "TensorRT 8.6.0 (libnvinfer.so.8)", or the error.
  static std::string Runner(FakePlanVersion version, const std::string& json,
                            bool allow_host_code = false) {
    const auto engine = Load(fakes::MakeFakePlan(version, json), allow_host_code);
    return std::string(engine.ok() ? (*engine)->runtime_version() : engine.status().message());
  }
};

TEST_F(LoadTest, WithoutItsDeviceTheVersionIsSaidAllTheSame) {
  LoadOptions options;
  options.name = "m";
  options.device = {device::DeviceType::kCuda, 99};
  const auto engine = LoadEngine(fakes::MakeFakePlan({8, 6, 0, 12}, kPlain), options);
  ASSERT_FALSE(engine.ok());
  EXPECT_TRUE(engine.status().message().starts_with(
      "engine 'm': this plan was built by TensorRT 8.6.0 and runs on a CUDA device: "))
      << engine.status().message();
}

TEST_F(LoadTest, EachPlanGetsTheVersionThatBuiltIt) {
  Offer({"trt11", "trt10", "trt10_0", "trt8"});
  EXPECT_EQ(Runner({8, 6, 0, 12}, kPlain), "TensorRT 8.6.0 (libnvinfer.so.8)");
  EXPECT_EQ(Runner({10, 0, 1, 6}, kPlain), "TensorRT 10.0.1 (libnvinfer.so.10)");
  EXPECT_EQ(Runner({10, 16, 1, 11}, kPlain), "TensorRT 10.16.1 (libnvinfer.so.10)");
  EXPECT_EQ(Runner({11, 4, 0, 106}, kPlain), "TensorRT 11.4.0 (libnvinfer.so.11)");
  // Also when it is version-compatible and a newer one is asked first.
  EXPECT_EQ(Runner({8, 6, 0, 12}, kCompatible), "TensorRT 8.6.0 (libnvinfer.so.8)");
}

TEST_F(LoadTest, CompatiblePlansRunOnLeanAndNewerLibraries) {
  Offer({"lean11", "lean10"});
  EXPECT_EQ(Runner({8, 6, 0, 12}, kCompatible), "TensorRT 11.4.0 (libnvinfer_lean.so.11)");
  EXPECT_EQ(Runner({10, 3, 0, 0}, kCompatible), "TensorRT 10.16.1 (libnvinfer_lean.so.10)");
  Offer({"trt11", "lean10"});
  EXPECT_EQ(Runner({10, 16, 1, 0}, kCompatible), "TensorRT 10.16.1 (libnvinfer_lean.so.10)");
  Offer({"trt8_patch"});
  EXPECT_EQ(Runner({8, 6, 0, 12}, kCompatible), "TensorRT 8.6.1 (libnvinfer.so.8)");
}

TEST_F(LoadTest, HostCodeOnlyOnRequest) {
  Offer({"dispatch10"});
  EXPECT_TRUE(Contains(Runner({10, 16, 1, 0}, kHostCode), "needs allow_host_code"));
  EXPECT_EQ(Runner({10, 16, 1, 0}, kHostCode, /*allow_host_code=*/true),
            "TensorRT 10.16.1 (libnvinfer_dispatch.so.10)");
  Offer({"lean10"});
  EXPECT_TRUE(Contains(Runner({10, 16, 1, 0}, kHostCode), "host code, which is not allowed"));
  EXPECT_TRUE(Contains(Runner({10, 16, 1, 0}, kHostCode, true), "lean.so.10"));
}

TEST_F(LoadTest, RtxPlansNeedRtx) {
  Offer({"trt11", "rtx"});
  const auto engine = Load(fakes::MakeFakePlan({1, 7, 1, 116}, kPlain, 90, "vtrt"));
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ((*engine)->runtime_version(), "TensorRT-RTX 1.7.1 (libtensorrt_rtx.so.1)");
  Offer({"trt11"});
  const auto none = Load(fakes::MakeFakePlan({1, 7, 1, 116}, kPlain, 90, "vtrt"));
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(
      Contains(none.status().message(), "install TensorRT-RTX 1.7.1 (libtensorrt_rtx.so.1)"))
      << none.status().message();
}

TEST_F(LoadTest, OneSentenceSaysWhy) {
  Offer({"trt8"});
  const std::string none = Runner({10, 3, 0, 5}, kPlain);
  EXPECT_TRUE(
      none.starts_with("engine 'm': this plan was built by TensorRT 10.3.0 for SM 9.0; "
                       "found TensorRT 8.6.0 (libnvinfer.so.8) in "))
      << none;
  EXPECT_TRUE(Contains(none,
                       "install TensorRT 10.3.0 (libnvinfer.so.10) and name its folder in "
                       "TRTSCOPE_TENSORRT, or rebuild the plan with TensorRT 8.6.0"))
      << none;

  Offer({"lean10"});
  const std::string lean = Runner({8, 6, 0, 12}, kPlain);
  EXPECT_TRUE(Contains(lean, "or rebuild the plan with TensorRT 10.16.1 as version-compatible"))
      << lean;
  EXPECT_TRUE(Contains(lean,
                       "TensorRT 10.16.1 (libnvinfer_lean.so.10) said: "
                       "IRuntime::deserializeCudaEngine"))
      << lean;
  EXPECT_TRUE(Contains(lean, "Version tag does not match")) << lean;
  EXPECT_EQ(std::count(lean.begin(), lean.end(), '\n'), 0);
}

TEST_F(LoadTest, AnotherGpuAndATruncatedPlanAreNamed) {
  Offer({"trt8"});
  const auto other = Load(fakes::MakeFakePlan({8, 6, 0, 12}, kPlain, /*sm=*/86));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(Contains(other.status().message(), "built by TensorRT 8.6.0 for SM 8.6"));
  EXPECT_TRUE(Contains(other.status().message(), "rebuild it for the SM 9.0 of 'Fake GPU 0'"))
      << other.status().message();

  std::vector<std::byte> cut = fakes::MakeFakePlan({8, 6, 0, 12}, kPlain);
  const size_t whole = cut.size();
  // At every length, an error and no crash.
  for (size_t size = 1; size < whole; ++size) {
    cut = fakes::MakeFakePlan({8, 6, 0, 12}, kPlain);
    cut.resize(size);
    const auto engine = Load(cut);
    ASSERT_FALSE(engine.ok()) << size;
    if (size >= 32) {
      EXPECT_TRUE(Contains(engine.status().message(),
                           "cut short: its header announces " + std::to_string(whole)))
          << engine.status().message();
    }
  }
}

TEST_F(LoadTest, UnusableLibrariesAreNamed) {
  Offer({"trt9"});
  const std::string text = Runner({9, 3, 0, 0}, kPlain);
  EXPECT_TRUE(Contains(text, "is TensorRT 9.3.0, whose interfaces this trtscope does not know"))
      << text;

  setenv("TRTSCOPE_TENSORRT", "/nonexistent/libnvinfer.so.10", 1);
  EXPECT_TRUE(Contains(Runner({10, 3, 0, 0}, kPlain),
                       "TRTSCOPE_TENSORRT names '/nonexistent/libnvinfer.so.10', which does not "
                       "exist"));
  setenv("TRTSCOPE_TENSORRT", FakePath("cuda").c_str(), 1);
  EXPECT_TRUE(Contains(Runner({10, 3, 0, 0}, kPlain), "which holds no libnvinfer.so.*"));
  setenv("TRTSCOPE_TENSORRT", FakePath("cuda/libcuda.so.1").c_str(), 1);
  EXPECT_TRUE(Contains(Runner({10, 3, 0, 0}, kPlain), "by its name is no TensorRT library"));
}

TEST_F(LoadTest, FoldersOfTheApplicationAreSearched) {
  trtscope_add_library_path("/nonexistent/libraries");
  const std::string none = Runner({10, 16, 1, 11}, kPlain);
  EXPECT_TRUE(
      Contains(none, "; /nonexistent/libraries, which the application named, is no folder; "))
      << none;
  trtscope_add_library_path(FakePath("trt10").c_str());
  EXPECT_EQ(Runner({10, 16, 1, 11}, kPlain), "TensorRT 10.16.1 (libnvinfer.so.10)");
}

TEST_F(LoadTest, TheDoctorSeesEverything) {
  Offer({"trt8", "lean11", "trt9"});
  char* text = trtscope_doctor_json();
  const auto json = nlohmann::json::parse(text);
  std::free(text);
  EXPECT_EQ(json["cuda"]["driver"]["version"], "13.0");
  EXPECT_EQ(json["cuda"]["devices"][0]["name"], "Fake GPU 0");
  EXPECT_EQ(json["cuda"]["devices"][0]["sm"], "9.0");
  ASSERT_GE(json["tensorrt"].size(), 3u);
  EXPECT_EQ(json["tensorrt"][0]["path"], FakePath("trt8") + "/libnvinfer.so.8");
  EXPECT_EQ(json["tensorrt"][0]["origin"], "TRTSCOPE_TENSORRT");
  EXPECT_EQ(json["tensorrt"][0]["version"], "8.6.0");
  EXPECT_EQ(json["tensorrt"][0]["family"], "8.6");
  EXPECT_EQ(json["tensorrt"][1]["flavour"], "lean");
  EXPECT_EQ(json["tensorrt"][1]["runs"], "version-compatible plans of TensorRT 11.4.0 and older");
  EXPECT_TRUE(Contains(json["tensorrt"][2]["error"].get<std::string>(), "TensorRT 9.3.0"));
}

TEST(Discovery, ReadsNames) {
  Candidate c;
  EXPECT_TRUE(ParseLibraryName("/a/libnvinfer.so.10.3.0", &c));
  EXPECT_EQ(c.flavour, Flavour::kFull);
  EXPECT_EQ(c.major, 10);
  EXPECT_TRUE(ParseLibraryName("libnvinfer_lean.so.11", &c));
  EXPECT_EQ(c.flavour, Flavour::kLean);
  EXPECT_TRUE(ParseLibraryName("libnvinfer_dispatch.so", &c));
  EXPECT_EQ(c.major, 0);
  EXPECT_TRUE(ParseLibraryName("libtensorrt_rtx.so.1", &c));
  EXPECT_EQ(c.flavour, Flavour::kRtx);
  for (const char* other : {"libnvinfer_plugin.so.10", "libnvinfer_vc_plugin.so.10", "libnvinfer.a",
                            "libnvinfer.so.10.xz", "libnvinfer.so.", "libnvinfer.sox", "x", ""}) {
    EXPECT_FALSE(ParseLibraryName(other, &c)) << other;
  }
}

TEST(Selection, Fits) {
  const Version v10_3{10, 3, 0};
  const auto fit = [&](Flavour flavour, Version library) {
    return FitOf(PlanKind::kTensorRt, v10_3, flavour, library);
  };
  EXPECT_EQ(fit(Flavour::kFull, {10, 3, 0}), Fit::kExact);
  EXPECT_EQ(fit(Flavour::kFull, {10, 3, 1}), Fit::kOtherPatch);
  EXPECT_EQ(fit(Flavour::kLean, {10, 3, 0}), Fit::kLean);
  EXPECT_EQ(fit(Flavour::kFull, {10, 4, 0}), Fit::kNewer);
  EXPECT_EQ(fit(Flavour::kFull, {11, 0, 0}), Fit::kNewerMajor);
  EXPECT_EQ(fit(Flavour::kFull, {10, 2, 9}), Fit::kNone);
  EXPECT_EQ(fit(Flavour::kFull, {8, 6, 1}), Fit::kNone);
  EXPECT_EQ(fit(Flavour::kRtx, {10, 3, 0}), Fit::kNone);
}

TEST(Version, Numbers) {
  EXPECT_EQ(ToString(DecodeLibraryVersion(8601)), "8.6.1");
  EXPECT_EQ(ToString(DecodeLibraryVersion(101601)), "10.16.1");
  EXPECT_EQ(ToString(DecodeLibraryVersion(110400)), "11.4.0");
  EXPECT_EQ(ToString(DecodeLibraryVersion(10701)), "1.7.1");
  EXPECT_EQ(ParseVersion("8.6.0.12"), (Version{8, 6, 0}));
  EXPECT_EQ(ParseVersion("10.16.1"), (Version{10, 16, 1}));
  for (const char* bad : {"", "10", "10.3", "10..3", "a.b.c", "10.3.", "-1.2.3"}) {
    EXPECT_FALSE(ParseVersion(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace trtscope::engine::tensorrt

int main(int argc, char** argv) {
  trtscope::fakes::UseFakeCuda(1);
  // What this machine has must not change what is found.
  unsetenv("LD_LIBRARY_PATH");
  unsetenv("VIRTUAL_ENV");
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
