"""aarch64_test: a binary of ours cross-compiled and run under qemu.

Needs aarch64-linux-gnu-g++ and qemu-aarch64-static on PATH; skipped without the former.
"""

load("@gcc_aarch64//:found.bzl", "FOUND")
load("@rules_shell//shell:sh_test.bzl", "sh_test")
load("//toolchains:transition.bzl", "for_platform")

def aarch64_test(name, binary, wanted, args = [], platform = "//toolchains:linux_aarch64", tags = [], **kwargs):
    """Passes when the binary exits with 0 and prints a line that matches a pattern.

    Args:
      name: of the test.
      binary: a cc_binary or cc_test, named as built for the host.
      wanted: a basic regular expression looked for in its output.
      args: the binary's arguments.
      platform: what it is built for.
      tags: the test's tags.
      **kwargs: for sh_test.
    """
    compatible = [] if FOUND else ["@platforms//:incompatible"]
    for_platform(
        name = name + "_binary",
        testonly = True,
        actual = binary,
        platform = platform,
        tags = ["manual"],
        target_compatible_with = compatible,
    )
    sh_test(
        name = name,
        srcs = ["//toolchains:run_qemu.sh"],
        args = [
            "$(rootpath :%s_binary)" % name,
            "'%s'" % wanted,
        ] + args,
        data = [":%s_binary" % name],
        tags = tags + ["aarch64"],
        target_compatible_with = compatible,
        **kwargs
    )
