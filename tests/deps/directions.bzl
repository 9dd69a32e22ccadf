"""dependency_directions_test: nothing that a target needs breaks the table of rooms.bzl.

The check walks the configured graph, so it sees what is really built: a library that a select()
leaves out is no dependency.
"""

load(":rooms.bzl", "ROOMS")
load(":verdict.bzl", "verdict")

_Reached = provider(
    doc = "What a target reaches, and what of that its room forbids.",
    fields = {
        "rooms": "depset of (room or third-party kind, label)",
        "violations": "depset of messages",
    },
)

_EDGES = [
    "actual",
    "deps",
    "dynamic_deps",
    "implementation_deps",
    "srcs",
]

# Fixtures are checked as if their folder were the top of the tree.
_FIXTURES = "tests/deps/fixtures/"

def _room(label):
    if label.workspace_name:
        return None
    path = label.package.removeprefix(_FIXTURES)
    found = [r for r in ROOMS if path == r or path.startswith(r + "/")]
    return sorted(found, key = len)[-1] if found else None

def _dependencies(rule_attr):
    found = []
    for edge in _EDGES:
        value = getattr(rule_attr, edge, None)
        for item in value if type(value) == "list" else [value]:
            if type(item) == "Target" and _Reached in item:
                found.append(item)
    return found

def _aspect_impl(target, ctx):
    dependencies = _dependencies(ctx.rule.attr)
    reached = depset(transitive = [d[_Reached].rooms for d in dependencies])
    label = "//%s:%s" % (target.label.package, target.label.name)
    here = _room(target.label)
    messages = []
    if here:
        for room, name in reached.to_list():
            if room != here and room not in ROOMS[here]:
                messages.append("%s (%s) reaches %s (%s)" % (label, here, name, room))
    for kind in ("torch", "executorch"):
        if target.label == getattr(ctx.attr, "_" + kind).label:
            here = kind
            label = "//third_party:" + kind
    return [_Reached(
        rooms = depset([(here, label)] if here else [], transitive = [reached]),
        violations = depset(messages, transitive = [d[_Reached].violations for d in dependencies]),
    )]

_directions = aspect(
    implementation = _aspect_impl,
    attr_aspects = _EDGES,
    attrs = {
        "_executorch": attr.label(default = "//third_party:executorch"),
        "_torch": attr.label(default = "//third_party:torch"),
    },
)

def _test_impl(ctx):
    violations = depset(transitive = [t[_Reached].violations for t in ctx.attr.targets]).to_list()
    rooms = depset(transitive = [t[_Reached].rooms for t in ctx.attr.targets]).to_list()
    expected = ctx.attr.expected_violations
    failed = sorted(violations) != sorted(expected)
    lines = ["%d targets of rooms checked" % len(rooms)] + violations
    if failed and expected:
        lines += ["but expected:"] + expected
    return verdict(ctx, lines, failed)

dependency_directions_test = rule(
    implementation = _test_impl,
    attrs = {
        "expected_violations": attr.string_list(doc = "for the check's own tests"),
        "targets": attr.label_list(aspects = [_directions], mandatory = True),
    },
    test = True,
)
