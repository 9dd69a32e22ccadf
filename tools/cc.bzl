"""trtscope_cc_{library,binary,test}: rules_cc's rules with the flags of our own code.

Every warning is an error in what these build, and only there: headers of third_party come in as
system headers.
"""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
]

def _copts(srcs, copts):
    # Tests that a header is also a C header are C sources, which know no C++ standard.
    c_only = srcs and all([str(s).endswith(".c") for s in srcs])
    return _WARNINGS + ([] if c_only else ["-std=c++20"]) + copts

def trtscope_cc_library(name, srcs = [], copts = [], **kwargs):
    cc_library(
        name = name,
        srcs = srcs,
        copts = _copts(srcs, copts),
        **kwargs
    )

def trtscope_cc_binary(name, srcs = [], copts = [], **kwargs):
    cc_binary(
        name = name,
        srcs = srcs,
        copts = _copts(srcs, copts),
        **kwargs
    )

def trtscope_cc_test(name, srcs = [], copts = [], deps = [], data = [], tags = [], size = "small", linkstatic = True, **kwargs):
    """A test on googletest, which also runs under the sanitizers unless tagged "nosanitize".

    Args:
      name: of the test.
      srcs: its sources, without a main().
      copts: flags after our own.
      deps: libraries besides googletest.
      data: files it reads.
      tags: "nosanitize" keeps it from --config=asan and --config=tsan, "single_threaded" from the
        latter alone: for what neither starts threads nor shares anything.
      size: of the test.
      linkstatic: our libraries are linked in, as they are where they ship.
      **kwargs: for cc_test.
    """
    cc_test(
        name = name,
        size = size,
        srcs = srcs,
        copts = _copts(srcs, copts),
        data = data + ["//tools/sanitizers:suppressions"],
        linkstatic = linkstatic,
        tags = tags + ([] if "nosanitize" in tags else ["sanitize"]),
        deps = deps + ["//third_party:gtest_main"],
        **kwargs
    )
