"""bundle: files in a .tar.gz, for a target to which they are copied; its bytes depend on them alone."""

load("//toolchains:targets.bzl", "GLIBC_FLOOR", "TARGETS")

def _targets_json(cpu):
    """The table of the targets that a bundle serves."""
    return json.encode_indent({
        name: {
            "glibc": target.glibc,
            "system": target.system,
            "tensorrt": target.tensorrt,
        }
        for name, target in TARGETS.items()
        if target.cpu == cpu
    }, indent = "  ")

def _impl(ctx):
    stem = "trtscope-%s-linux_%s" % (ctx.attr.version, ctx.attr.cpu)
    out = ctx.actions.declare_file(stem + ".tar.gz")
    targets = ctx.actions.declare_file(ctx.label.name + "_targets.json")
    ctx.actions.write(targets, _targets_json(ctx.attr.cpu) + "\n")
    files = {
        path: target.files.to_list()[0]
        for target, path in ctx.attr.files.items()
    } | {"lib/" + f.basename: f for f in ctx.files.libraries} | {"targets.json": targets}
    arguments = ctx.actions.args()
    arguments.add(out)
    arguments.add(stem)
    for path, file in files.items():
        arguments.add(path)
        arguments.add(file)
    ctx.actions.run(
        executable = ctx.executable._tool,
        arguments = [arguments],
        inputs = files.values(),
        outputs = [out],
        mnemonic = "Bundle",
        progress_message = "Packing %{output}",
    )
    return [DefaultInfo(files = depset([out]))]

_bundle = rule(
    implementation = _impl,
    attrs = {
        "cpu": attr.string(mandatory = True),
        "files": attr.label_keyed_string_dict(allow_files = True, doc = "file -> its path in the bundle"),
        "libraries": attr.label_list(allow_files = True, doc = "for the folder lib"),
        "version": attr.string(mandatory = True),
        "_tool": attr.label(default = "//executorch_backend/bundle:pack", cfg = "exec", executable = True),
    },
    doc = "Built for symbol versions of glibc %s at most." % GLIBC_FLOOR,
)

def bundle(name, **kwargs):
    """A bundle trtscope-VERSION-linux_CPU.tar.gz; see the attributes of the rule.

    Args:
      name: of the target.
      **kwargs: the rule's attributes, but for cpu.
    """
    _bundle(
        name = name,
        cpu = select({"@platforms//cpu:" + cpu: cpu for cpu in ["aarch64", "x86_64"]}),
        **kwargs
    )
