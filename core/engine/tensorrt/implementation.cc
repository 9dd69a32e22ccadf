#include "core/engine/tensorrt/implementation.h"

#include <string>
#include <utility>
#include <vector>

#include "core/device/cuda/cuda_device.h"
#include "core/engine/tensorrt/discovery.h"
#include "core/engine/tensorrt/plan_facts.h"
#include "core/engine/tensorrt/selection.h"
#include "core/engine/tensorrt/tensorrt_engine.h"

namespace trtscope::engine::tensorrt {
namespace {

using device::cuda::CudaDevice;

std::string SmText(int sm) {
  return "SM " + std::to_string(sm / 10) + "." + std::to_string(sm % 10);
}

std::string Product(PlanKind kind) {
  return kind == PlanKind::kTensorRtRtx ? "TensorRT-RTX " : "TensorRT ";
}

std::string LibraryName(PlanKind kind, int major) {
  return (kind == PlanKind::kTensorRtRtx ? "libtensorrt_rtx.so." : "libnvinfer.so.") +
         std::to_string(major);
}

/// One library that was tried and did not take the plan.
struct Refusal {
  const Library* library;
  std::string message;
};

/// Puts the one sentence together.
class Explanation {
 public:
  Explanation(const PlanInfo& info, const Version& built, std::span<const std::byte> plan,
              const CudaDevice& device)
      : info_(info),
        built_(built),
        facts_(ReadPlanFacts(plan)),
        plan_size_(plan.size()),
        device_(device) {}

  Status Explain(const std::vector<Opened>& opened, const std::vector<Refusal>& refusals) const {
    std::string text = "this plan was built by " + Product(info_.kind) + ToString(built_);
    if (facts_.sm.has_value()) text += " for " + SmText(*facts_.sm);
    text += "; found " + Found(opened) + "; " + Advice(opened);
    for (const Refusal& refusal : refusals) {
      text += "; " + refusal.library->label() + " said: " + refusal.message;
    }
    for (const Opened& entry : opened) {
      if (!entry.error.empty()) text += "; " + entry.error;
    }
    const bool exact = !opened.empty() && opened.front().fit == Fit::kExact;
    return Status(exact ? StatusCode::kDataLoss : StatusCode::kNotFound, std::move(text));
  }

 private:
  std::string Found(const std::vector<Opened>& opened) const {
    std::string text;
    for (const Opened& entry : opened) {
      if (entry.library == nullptr) continue;
      text += (text.empty() ? "" : ", ") + entry.library->label() + " in " + entry.library->path();
    }
    if (!text.empty()) return text;
    text = "no " + Product(info_.kind) + "library of version " + std::to_string(built_.major) +
           " or newer";
    std::string folders;
    for (const std::string& folder : SearchedFolders()) {
      folders += (folders.empty() ? " (looked in " : ", ") + folder;
    }
    if (!folders.empty()) text += folders + ")";
    for (const std::string& folder : FoldersNotThere()) {
      text += "; " + folder + ", which the application named, is no folder";
    }
    return text;
  }

  std::string Advice(const std::vector<Opened>& opened) const {
    if (facts_.announced_size.has_value() && *facts_.announced_size > plan_size_) {
      return "the plan is cut short: its header announces " +
             std::to_string(*facts_.announced_size) + " octets, and there are " +
             std::to_string(plan_size_);
    }
    const std::string here = SmText(device_.sm()) + " of '" + device_.name() + "'";
    if (!opened.empty() && opened.front().fit == Fit::kExact) {
      if (facts_.sm.has_value() && *facts_.sm != device_.sm()) {
        return "rebuild it for the " + here;
      }
      return "the version is right, so rebuild it with this library on the " + here +
             " if TensorRT's message does not say more";
    }
    std::string text = "install " + Product(info_.kind) + ToString(built_) + " (" +
                       LibraryName(info_.kind, built_.major) +
                       ") and name its folder in TRTSCOPE_TENSORRT";
    const Library* newest = nullptr;
    for (const Opened& entry : opened) {
      if (entry.library == nullptr) continue;
      if (newest == nullptr || newest->version() < entry.library->version()) {
        newest = entry.library;
      }
    }
    if (newest != nullptr) {
      text += ", or rebuild the plan with " + Product(info_.kind) + ToString(newest->version());
      if (newest->flavour() == Flavour::kLean || newest->flavour() == Flavour::kDispatch) {
        text += " as version-compatible";
      }
    }
    return text;
  }

  const PlanInfo& info_;
  const Version& built_;
  PlanFacts facts_;
  size_t plan_size_;
  const CudaDevice& device_;
};

class Implementation final : public engine::Implementation {
 public:
  std::string_view name() const override { return "tensorrt"; }

  bool Accepts(const PlanInfo& plan) const override {
    return plan.kind == PlanKind::kTensorRt || plan.kind == PlanKind::kTensorRtRtx;
  }

  Result<std::unique_ptr<Engine>> Load(std::span<const std::byte> plan, const PlanInfo& info,
                                       const LoadOptions& options) override {
    if (options.device.type != device::DeviceType::kCuda) {
      return InvalidArgument("a TensorRT plan runs on a CUDA device, but got device '" +
                             device::ToString(options.device) + "'");
    }
    const std::optional<Version> built = ParseVersion(info.builder_version);
    if (!built.has_value()) {
      return DataLoss("the plan's version '" + info.builder_version +
                      "' is no version of TensorRT");
    }
    const Result<CudaDevice*> found = device::cuda::GetCudaDevice(options.device.index);
    if (!found.ok()) {
      return Status(found.status().code(),
                    "this plan was built by " + Product(info.kind) + ToString(*built) +
                        " and runs on a CUDA device: " + std::string(found.status().message()));
    }
    CudaDevice* const device = *found;
    TRTSCOPE_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                              FindLibraries({options.library_path}));
    std::vector<Opened> opened = OpenFitting(info.kind, *built, candidates, /*open_all=*/false);

    std::vector<Refusal> refusals;
    for (const Opened& entry : opened) {
      if (entry.fit == Fit::kNone) continue;
      // The dispatch library unpacks code from the plan: without that trust it can do nothing.
      if (entry.library->flavour() == Flavour::kDispatch && !options.allow_host_code) {
        refusals.push_back({entry.library,
                            "it runs code that the plan carries, which needs "
                            "allow_host_code"});
        continue;
      }
      Result<std::unique_ptr<TensorRtEngine>> engine =
          TensorRtEngine::Deserialize(*entry.library, plan, info, options, *device);
      if (engine.ok()) return std::unique_ptr<Engine>(*std::move(engine));
      refusals.push_back({entry.library, std::string(engine.status().message())});
      // The version that built the plan has the last word.
      if (entry.fit == Fit::kExact) break;
    }
    // Nothing was suitable: what there is besides helps to see why.
    if (refusals.empty()) opened = OpenFitting(info.kind, *built, candidates, /*open_all=*/true);
    return Explanation(info, *built, plan, *device).Explain(opened, refusals);
  }
};

[[maybe_unused]] const bool registered = (RegisterImplementation(&TensorRtImplementation()), true);

}  // namespace

engine::Implementation& TensorRtImplementation() {
  static Implementation& implementation = *new Implementation;
  return implementation;
}

}  // namespace trtscope::engine::tensorrt
