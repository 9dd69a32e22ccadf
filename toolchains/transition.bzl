"""for_platform: another target's files and runfiles, built for another platform; on_host_test: a test
of the machine that builds, whatever is built for.
"""

def _forward(ctx):
    target = ctx.attr.actual[0]  # a list, since the edge has a transition
    info = target[DefaultInfo]
    return [DefaultInfo(
        files = info.files,
        runfiles = ctx.runfiles(transitive_files = info.files).merge(info.default_runfiles),
    )]

_platform_transition = transition(
    implementation = lambda _settings, attr: {"//command_line_option:platforms": str(attr.platform)},
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

for_platform = rule(
    implementation = _forward,
    attrs = {
        "actual": attr.label(cfg = _platform_transition, mandatory = True),
        "platform": attr.label(mandatory = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def _on_host_test_impl(ctx):
    info = ctx.attr.actual[0][DefaultInfo]
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = program, target_file = info.files_to_run.executable, is_executable = True)
    return [
        DefaultInfo(
            executable = program,
            runfiles = ctx.runfiles([program]).merge(info.default_runfiles),
        ),
        RunEnvironmentInfo(
            environment = {
                name: ctx.expand_location(value, [ctx.attr.sysroot])
                for name, value in ctx.attr.env.items()
            },
            inherited_environment = ["QEMU_AARCH64"],
        ),
    ]

on_host_test = rule(
    implementation = _on_host_test_impl,
    attrs = {
        "actual": attr.label(cfg = _platform_transition, executable = True, mandatory = True),
        "env": attr.string_dict(),
        "platform": attr.label(default = "//toolchains:linux_x86_64_cuda"),
        "sysroot": attr.label(allow_single_file = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
    test = True,
)
