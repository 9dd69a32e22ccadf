"""for_platform and for_torch: another target's files and runfiles, built for something else."""

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

_torch_transition = transition(
    implementation = lambda _settings, attr: {"//third_party:torch_version": attr.torch},
    inputs = [],
    outputs = ["//third_party:torch_version"],
)

for_torch = rule(
    implementation = _forward,
    attrs = {
        "actual": attr.label(cfg = _torch_transition, mandatory = True),
        "torch": attr.string(mandatory = True, doc = "a value of //third_party:torch_version"),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)
