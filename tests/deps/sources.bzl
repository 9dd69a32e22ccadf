"""same_sources_test: a target is made of the same sources of ours whatever it is built for."""

load("@gcc_aarch64//:found.bzl", "MISSING")
load(":verdict.bzl", "verdict")

_Sources = provider(
    doc = "What a target is made of.",
    fields = {
        "files": "depset of paths of our own sources",
        "libraries": "depset of the names of the third-party targets that it links",
    },
)

_EDGES = ["actual", "deps", "dynamic_deps", "implementation_deps"]

def _aspect_impl(target, ctx):
    files, libraries, reached = [], [], []
    for edge in _EDGES:
        value = getattr(ctx.rule.attr, edge, None)
        for item in value if type(value) == "list" else [value]:
            if type(item) == "Target" and _Sources in item:
                reached.append(item[_Sources])
    if target.label.workspace_name:
        libraries.append(target.label.name)
    else:
        for attribute in ("srcs", "hdrs"):
            files += [f.short_path for f in getattr(ctx.rule.files, attribute, [])]
    return [_Sources(
        files = depset(files, transitive = [r.files for r in reached]),
        libraries = depset(libraries, transitive = [r.libraries for r in reached]),
    )]

_sources = aspect(implementation = _aspect_impl, attr_aspects = _EDGES)

_platform_transition = transition(
    implementation = lambda _settings, attr: {
        str(p): {"//command_line_option:platforms": str(p)}
        for p in attr.platforms
    },
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _test_impl(ctx):
    lines, failed = [], False
    first = None
    for platform, targets in ctx.split_attr.targets.items():
        found = sorted(
            depset(transitive = [t[_Sources].files for t in targets]).to_list() +
            depset(transitive = [t[_Sources].libraries for t in targets]).to_list(),
        )
        lines.append("%s: %d sources and libraries" % (platform, len(found)))
        if first == None:
            first = found
        for name in [n for n in found if n not in first] + [n for n in first if n not in found]:
            lines.append("  not in both: " + name)
            failed = True
        missing = [n for n in ctx.attr.expected if n not in found]
        lines += ["  expected, but not there: " + n for n in missing]
        failed = failed or missing
    return verdict(ctx, lines, failed)

_same_sources_test = rule(
    implementation = _test_impl,
    attrs = {
        "expected": attr.string_list(doc = "sources that must be among them"),
        "platforms": attr.label_list(mandatory = True),
        "targets": attr.label_list(aspects = [_sources], cfg = _platform_transition, mandatory = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
    test = True,
)

def same_sources_test(name, **kwargs):
    """Passes when the targets are of the same sources and libraries on every platform.

    Without the cross compiler no target can be analyzed for another platform: then it is SKIPPED
    (toolchains/qemu.bzl says which package is missing).

    Args:
      name: of the test.
      **kwargs: targets, platforms, and expected: sources that must be among them.
    """
    compatible = ["@platforms//:incompatible"] if [m for m in MISSING if m.startswith("g++")] else []
    _same_sources_test(name = name, size = "small", target_compatible_with = compatible, **kwargs)
