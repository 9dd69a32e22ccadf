#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_SELECTION_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_SELECTION_H_

// Which of the libraries found can run a plan.

#include <optional>
#include <string>
#include <vector>

#include "core/engine/plan.h"
#include "core/engine/tensorrt/discovery.h"
#include "core/engine/tensorrt/library.h"

namespace trtscope::engine::tensorrt {

/// How well a library suits a plan; the smaller, the sooner it is tried.
enum class Fit : uint8_t {
  kExact,       // the version that built the plan
  kOtherPatch,  // the same major and minor version: TensorRT itself decides
  // From here on, only a version-compatible plan runs, which the plan's header does not tell.
  kLean,        // the lean library of the plan's version
  kNewer,       // a newer version of the same major
  kNewerMajor,  // a newer major version
  kNone,        // cannot run it
};

/// `library_version` and `flavour` against a plan built by `built` (kind from its header).
Fit FitOf(PlanKind kind, const Version& built, Flavour flavour, const Version& library_version);

/// Whether this fit needs a version-compatible plan.
constexpr bool NeedsCompatiblePlan(Fit fit) { return fit >= Fit::kLean; }

/// A library that was opened, and one that could not be.
struct Opened {
  const Library* library = nullptr;
  Fit fit = Fit::kNone;
  Candidate candidate;
  std::string error;  // why it could not be opened
};

/// Opens those of `candidates` that may run the plan, and orders them by fit, then by place.  Once
/// one fits exactly, the rest stays closed: opening a library of a gigabyte takes a while.  Those
/// that are certain not to fit by their names stay closed too, unless `open_all`.
std::vector<Opened> OpenFitting(PlanKind kind, const Version& built,
                                const std::vector<Candidate>& candidates, bool open_all);

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_SELECTION_H_
