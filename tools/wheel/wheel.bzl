"""wheel: a Python wheel of sources and native libraries.

The bytes depend on the inputs alone.  `bazel build //py:wheel` builds for Debian 11's libraries on
x86_64; with a --config of an aarch64 target, for that.
"""

load("//toolchains:targets.bzl", "wheel_tag")

def _impl(ctx):
    tag = "py3-none-" + ctx.attr.platform_tag
    stem = "%s-%s" % (ctx.attr.distribution, ctx.attr.version)
    out = ctx.actions.declare_file("%s-%s.whl" % (stem, tag))
    sources = ctx.files.srcs
    libraries = {path: target.files.to_list()[0] for target, path in ctx.attr.libraries.items()}
    json_legal = [ctx.file.json_license] + ctx.attr.json_library[CcInfo].compilation_context.direct_public_headers
    params = ctx.actions.declare_file(ctx.label.name + "_params.json")
    ctx.actions.write(params, json.encode({
        "out": out.path,
        "stem": stem,
        "tag": tag,
        "name": ctx.attr.distribution,
        "version": ctx.attr.version,
        "summary": ctx.attr.summary,
        "license": ctx.attr.license,
        "requires_python": ctx.attr.requires_python,
        "requires": ctx.attr.requires,
        "extras": ctx.attr.extras,
        "scripts": ctx.attr.scripts,
        "readme": ctx.file.readme.path,
        "files": {f.short_path.removeprefix(ctx.label.package + "/"): f.path for f in sources} |
                 {path: f.path for path, f in libraries.items()},
        "own_license": ctx.file.license_file.path,
        "legal": [f.path for f in ctx.files.legal],
        "declared_licenses": ctx.attr.declared_licenses,
        "nlohmann_json": [f.path for f in json_legal],
    }))
    ctx.actions.run(
        executable = ctx.executable._tool,
        arguments = [params.path],
        inputs = sources + libraries.values() + ctx.files.legal + json_legal + [
            params,
            ctx.file.license_file,
            ctx.file.readme,
        ],
        outputs = [out],
        mnemonic = "Wheel",
        progress_message = "Packing %{output}",
    )
    return [DefaultInfo(files = depset([out]))]

_wheel = rule(
    implementation = _impl,
    attrs = {
        "declared_licenses": attr.string_dict(doc = "distribution -> licence of what is taken of it, where its METADATA says otherwise"),
        "distribution": attr.string(mandatory = True),
        "extras": attr.string_list_dict(),
        "json_library": attr.label(providers = [CcInfo]),
        "json_license": attr.label(allow_single_file = True),
        "legal": attr.label_list(allow_files = True, doc = "METADATA and LICENSE of what was built against"),
        "libraries": attr.label_keyed_string_dict(doc = "library -> its path in the wheel"),
        "license": attr.string(doc = "an SPDX expression"),
        "license_file": attr.label(allow_single_file = True),
        "platform_tag": attr.string(mandatory = True),
        "readme": attr.label(allow_single_file = True),
        "requires": attr.string_list(),
        "requires_python": attr.string(),
        "scripts": attr.string_dict(doc = "console script -> module:function"),
        "srcs": attr.label_list(allow_files = True),
        "summary": attr.string(),
        "version": attr.string(mandatory = True),
        "_tool": attr.label(default = "//tools/wheel:make_wheel", cfg = "exec", executable = True),
    },
)

def wheel(name, **kwargs):
    """A wheel NAME; see the attributes of the rule.

    Args:
      name: of the target.
      **kwargs: the rule's attributes, but for platform_tag.
    """
    _wheel(
        name = name,
        platform_tag = select({
            "@platforms//cpu:" + cpu: wheel_tag(cpu)
            for cpu in ["aarch64", "x86_64"]
        }),
        **kwargs
    )
