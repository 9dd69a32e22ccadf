"""aarch64_test: binaries of ours cross-compiled, and a pytest_test that runs them under qemu.

Needs the packages g++-aarch64-linux-gnu and qemu-user-static.  Where one is missing the test is
SKIPPED in Bazel's summary, and a line before it says which.
"""

load("@gcc_aarch64//:found.bzl", "MISSING")
load("//toolchains:transition.bzl", "for_platform")
load("//tools:pytest.bzl", "pytest_test")

def aarch64_test(name, binaries, data = [], env = {}, platform = "//toolchains:linux_aarch64", tags = [], **kwargs):
    """Passes when pytest does; the variable AARCH64_FILES gives it the binaries' paths.

    Args:
      name: of the test.
      binaries: targets of programs and shared libraries, named as built for the host.
      data: more files, of the host.
      env: more variables.
      platform: what the binaries are built for.
      tags: the test's tags.
      **kwargs: for pytest_test.
    """
    if MISSING:
        # buildifier: disable=print
        print("//%s:%s is SKIPPED: it needs the packages %s (apt-get install %s)" % (
            native.package_name(),
            name,
            " and ".join(MISSING),
            " ".join(MISSING),
        ))
    compatible = ["@platforms//:incompatible"] if MISSING else []
    built = []
    for binary in binaries:
        built.append("%s_%s" % (name, binary.partition("//")[2].replace("/", "_").replace(":", "_")))
        for_platform(
            name = built[-1],
            testonly = True,
            actual = binary,
            platform = platform,
            tags = ["manual"],
            target_compatible_with = compatible,
        )
    pytest_test(
        name = name,
        data = data + built,
        env = env | {"AARCH64_FILES": " ".join(["$(rootpath %s)" % b for b in built])},
        tags = tags + ["aarch64"],
        target_compatible_with = compatible,
        **kwargs
    )
