// Which release a fake library plays: the BUILD file compiles this once for each.

#include "tests/fakes/fake_tensorrt.h"

namespace trtscope::fakes {

extern const FakeRelease kRelease;
const FakeRelease kRelease = {
    {FAKE_MAJOR, FAKE_MINOR, FAKE_PATCH},
    engine::tensorrt::Flavour::FAKE_FLAVOUR,
    engine::tensorrt::abi::Family::FAKE_FAMILY,
    FAKE_LAYOUT,
};

}  // namespace trtscope::fakes
