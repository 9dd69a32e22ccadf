"""cross_gcc: finds <triple>-g++ on PATH and writes a cc_toolchain for it, over a sysroot.

Of the machine come the compiler and the linker alone; headers and libraries are the sysroot's
(debian_sysroot.bzl).  Without the compiler the repository has no toolchain and nothing else changes.
found.bzl's MISSING lists the packages that this machine lacks to build for the architecture and to
run what was built: with any, qemu.bzl skips its tests and says so.
"""

_BUILD = """load("@trtscope//toolchains:gcc_config.bzl", "gcc_toolchain_config")
load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")
load("{sysroot_bzl}", "CXX")

gcc_toolchain_config(
    name = "config",
    compiler_includes = {includes},
    cxx = CXX,
    sysroot = "{sysroot_path}",
    target_cpu = "{cpu}",
    tools = {tools},
    triple = "{triple}",
)

filegroup(
    name = "sysroot",
    srcs = ["{sysroot}"],
)

cc_toolchain(
    name = "cc",
    all_files = ":sysroot",
    compiler_files = ":sysroot",
    dwp_files = ":sysroot",
    linker_files = ":sysroot",
    objcopy_files = ":sysroot",
    strip_files = ":sysroot",
    supports_param_files = True,
    toolchain_config = ":config",
)

toolchain(
    name = "toolchain",
    exec_compatible_with = ["@platforms//os:linux", "@platforms//cpu:x86_64"],
    target_compatible_with = [
        "@platforms//os:linux",
        "@platforms//cpu:{cpu}",
        "@trtscope//toolchains:glibc_2_31",
    ],
    toolchain = ":cc",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)
"""

_TOOLS = ["ar", "cpp", "dwp", "gcc", "gcov", "ld", "nm", "objcopy", "objdump", "strip"]

def _look_for(rctx, program, package, missing):
    path = rctx.which(program)
    if not path:
        # Where the distribution's package puts it: to look again once it is installed.
        rctx.watch("/usr/bin/" + program)
        missing.append(package)
    return path

def _impl(rctx):
    triple, cpu = rctx.attr.triple, rctx.attr.cpu
    missing = []
    gcc = _look_for(rctx, triple + "-g++", "g++-" + triple.replace("_", "-"), missing)
    if rctx.attr.emulated and not rctx.os.environ.get("QEMU_AARCH64"):
        _look_for(rctx, "qemu-%s-static" % cpu, "qemu-user-static", missing)
    rctx.file("found.bzl", "MISSING = %r\n" % missing)
    if not gcc:
        rctx.file("BUILD.bazel", "# %s-g++ is not on this machine\n" % triple)
        return
    tools = {tool: str(rctx.which(triple + "-" + tool) or "/usr/bin/false") for tool in _TOOLS}

    # The compiler's own headers (stddef.h, the intrinsics) are all that it brings.
    includes = []
    for name in ["include", "include-fixed"]:
        path = rctx.execute([gcc, "-print-file-name=" + name]).stdout.strip()
        if path.startswith("/"):
            includes.append(path)
    sysroot = rctx.attr.sysroot
    build = _BUILD.replace("@trtscope//", str(rctx.attr._root).split("//")[0] + "//")
    rctx.file("BUILD.bazel", build.format(
        cpu = cpu,
        includes = repr(includes),
        sysroot = str(sysroot),
        sysroot_bzl = str(sysroot.relative(":sysroot.bzl")),
        sysroot_path = "external/%s/%s" % (sysroot.workspace_name, sysroot.name),
        tools = repr(tools),
        triple = triple,
    ))

cross_gcc = repository_rule(
    implementation = _impl,
    attrs = {
        "cpu": attr.string(mandatory = True),
        "emulated": attr.bool(doc = "what is built is run by qemu-user"),
        "sysroot": attr.label(mandatory = True, doc = "the folder :root of a debian_sysroot"),
        "triple": attr.string(mandatory = True),
        "_root": attr.label(default = "//toolchains:BUILD"),
    },
    environ = ["PATH", "QEMU_AARCH64"],
    configure = True,
)
