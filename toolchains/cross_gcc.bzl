"""cross_gcc: finds <triple>-g++ on PATH and writes a cc_toolchain for it.

Without the compiler the repository has no toolchain and nothing else changes.  found.bzl's MISSING
lists the packages that this machine lacks to build for the architecture and to run what was built:
with any, qemu.bzl skips its tests and says so.
"""

_BUILD = """load("@trtscope//toolchains:gcc_config.bzl", "gcc_toolchain_config")
load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")

filegroup(name = "empty")

gcc_toolchain_config(
    name = "config",
    builtin_includes = {includes},
    target_cpu = "{cpu}",
    tools = {tools},
)

cc_toolchain(
    name = "cc",
    all_files = ":empty",
    compiler_files = ":empty",
    dwp_files = ":empty",
    linker_files = ":empty",
    objcopy_files = ":empty",
    strip_files = ":empty",
    supports_param_files = True,
    toolchain_config = ":config",
)

toolchain(
    name = "toolchain",
    exec_compatible_with = ["@platforms//os:linux", "@platforms//cpu:x86_64"],
    target_compatible_with = ["@platforms//os:linux", "@platforms//cpu:{cpu}"],
    toolchain = ":cc",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)
"""

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
    gcc = _look_for(rctx, triple + "-g++", "g++-" + triple, missing)
    if not rctx.os.environ.get("QEMU_" + cpu.upper()):
        _look_for(rctx, "qemu-%s-static" % cpu, "qemu-user-static", missing)
    rctx.file("found.bzl", "MISSING = %r\n" % missing)
    if not gcc:
        rctx.file("BUILD.bazel", "# %s-g++ is not on this machine\n" % triple)
        return
    tools = {}
    for tool, program in {"ar": "ar", "cpp": "cpp", "dwp": "dwp", "gcc": "gcc", "gcov": "gcov", "ld": "ld", "nm": "nm", "objcopy": "objcopy", "objdump": "objdump", "strip": "strip"}.items():
        path = rctx.which(rctx.attr.triple + "-" + program)
        tools[tool] = str(path or "/usr/bin/false")
    includes = []
    for lang in ["c", "c++"]:
        r = rctx.execute([gcc, "-E", "-x" + lang, "-", "-v"], environment = {"LC_ALL": "C"})
        text = r.stderr
        if "#include <...>" not in text:
            fail("no include list from %s:\n%s" % (gcc, text))
        block = text.split("#include <...>")[1].split("End of search list")[0]
        for line in block.split("\n")[1:]:
            d = line.strip()
            if d:
                for p in [d, str(rctx.path(d).realpath)]:
                    if p not in includes:
                        includes.append(p)
    rctx.file("BUILD.bazel", _BUILD.format(cpu = rctx.attr.cpu, includes = repr(includes), tools = repr(tools)).replace("@trtscope//", str(rctx.attr._root).split("//")[0] + "//"))

cross_gcc = repository_rule(
    implementation = _impl,
    attrs = {
        "cpu": attr.string(mandatory = True),
        "triple": attr.string(mandatory = True),
        "_root": attr.label(default = "//toolchains:BUILD"),
    },
    environ = ["PATH", "QEMU_AARCH64"],
    configure = True,
)
