"""overlay: a BUILD file over folders of another repository, which is slow to fetch.

Editing the BUILD file then fetches this repository again (symlinks), not that one.
"""

def _impl(rctx):
    root = rctx.path(rctx.attr.of).dirname
    for folder, name in rctx.attr.folders.items():
        rctx.symlink(root.get_child(*folder.split("/")), name)
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")

overlay = repository_rule(
    implementation = _impl,
    attrs = {
        "build_file": attr.label(mandatory = True),
        "folders": attr.string_dict(mandatory = True, doc = "a folder there -> its name here"),
        "of": attr.label(mandatory = True, doc = "a file at the other repository's root"),
    },
)
