#include "core/engine/tensorrt/selection.h"

#include <algorithm>
#include <utility>

namespace trtscope::engine::tensorrt {
namespace {

// By the name alone.  A name without a number could be any version.
bool MayFit(PlanKind kind, const Version& built, const Candidate& candidate) {
  if ((kind == PlanKind::kTensorRtRtx) != (candidate.flavour == Flavour::kRtx)) return false;
  return candidate.major == 0 || candidate.major >= built.major;
}

}  // namespace

Fit FitOf(PlanKind kind, const Version& built, Flavour flavour, const Version& library_version) {
  if ((kind == PlanKind::kTensorRtRtx) != (flavour == Flavour::kRtx)) return Fit::kNone;
  if (library_version < built &&
      !(library_version.major == built.major && library_version.minor == built.minor)) {
    return Fit::kNone;
  }
  if (library_version.major > built.major) return Fit::kNewerMajor;
  if (library_version.minor > built.minor) return Fit::kNewer;
  const bool full = flavour == Flavour::kFull || flavour == Flavour::kRtx;
  if (!full) return Fit::kLean;
  return library_version == built ? Fit::kExact : Fit::kOtherPatch;
}

std::vector<Opened> OpenFitting(PlanKind kind, const Version& built,
                                const std::vector<Candidate>& candidates, bool open_all) {
  // The plan's own major version first: most plans find their library there.
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : candidates) {
    if (open_all || MayFit(kind, built, candidate)) order.push_back(&candidate);
  }
  const auto far = [&built](const Candidate* c) {
    return (c->major != built.major ? 2 : 0) +
           (c->flavour == Flavour::kLean || c->flavour == Flavour::kDispatch ? 1 : 0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&far](const Candidate* a, const Candidate* b) { return far(a) < far(b); });

  std::vector<Opened> opened;
  for (const Candidate* candidate : order) {
    Opened entry;
    entry.candidate = *candidate;
    Result<const Library*> library = Library::Open(candidate->path, candidate->flavour);
    if (library.ok()) {
      entry.library = *library;
      entry.fit = FitOf(kind, built, candidate->flavour, (*library)->version());
    } else {
      entry.error = library.status().message();
    }
    opened.push_back(std::move(entry));
    if (opened.back().fit == Fit::kExact && !open_all) break;
  }
  std::stable_sort(opened.begin(), opened.end(),
                   [](const Opened& a, const Opened& b) { return a.fit < b.fit; });
  return opened;
}

}  // namespace trtscope::engine::tensorrt
