"""aarch64_test: binaries of ours cross-compiled, and a pytest_test that runs them under qemu.

Needs the packages g++-aarch64-linux-gnu and qemu-user-static.  Where one is missing the test is
SKIPPED in Bazel's summary, and a line before it says which.
"""

load("@gcc_aarch64//:found.bzl", "MISSING")
load("//toolchains:transition.bzl", "for_platform", "on_host_test")
load("//tools:pytest.bzl", "pytest_test")

def _path(label):
    """Of the one file of a target //package:name, from the top of the runfiles."""
    package, _, name = label.removeprefix("//").partition(":")
    return package + "/" + name

def aarch64_test(name, srcs, binaries = [], files = [], data = [], deps = [], env = {}, size = "large", tags = []):
    """Passes when pytest does; the variable AARCH64_FILES gives it the binaries' paths.

    The test itself is the machine's own also where a --config says what is built for.

    Args:
      name: of the test.
      srcs: test files.
      binaries: targets of programs and shared libraries.
      files: targets with other files of the target platform, which end in their last part's name.
      data: more files, of the host.
      deps: Python libraries.
      env: more variables.
      size: of the test.
      tags: the test's tags.
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
    for binary in binaries + files:
        built.append("%s_%s" % (name, binary.partition("//")[2].replace("/", "_").replace(":", "_")))
        for_platform(
            name = built[-1],
            testonly = True,
            actual = binary,
            platform = "//toolchains:linux_aarch64",
            tags = ["manual"],
            target_compatible_with = compatible,
        )
    pytest_test(
        name = name + "_here",
        srcs = srcs,
        data = data + built + ["@sysroot_aarch64//:root"],
        deps = deps,
        tags = ["manual"],
        target_compatible_with = compatible,
    )
    on_host_test(
        name = name,
        size = size,
        actual = name + "_here",
        args = [native.package_name() + "/" + src for src in srcs],
        env = env | {
            "AARCH64_FILES": " ".join([_path(binary) for binary in binaries]),
            "AARCH64_SYSROOT": "$(rootpath @sysroot_aarch64//:root)",
        },
        sysroot = "@sysroot_aarch64//:root",
        tags = tags + ["aarch64"],
        target_compatible_with = compatible,
    )
