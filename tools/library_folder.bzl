"""library_folder: shared libraries beside one another in this tree, as they lie where they ship.

They look for one another by $ORIGIN, so these are copies: a link leads back to where it points.
"""

def _impl(ctx):
    copies = []
    for source in ctx.files.srcs:
        copy = ctx.actions.declare_file("%s/%s" % (ctx.attr.folder, source.basename))
        ctx.actions.run_shell(
            command = 'cp "$1" "$2"',
            arguments = [source.path, copy.path],
            inputs = [source],
            outputs = [copy],
            mnemonic = "CopyLibrary",
            progress_message = "Copying %{output}",
        )
        copies.append(copy)
    return [DefaultInfo(
        files = depset(copies),
        runfiles = ctx.runfiles(copies),
    )]

library_folder = rule(
    implementation = _impl,
    attrs = {
        "folder": attr.string(mandatory = True, doc = "its path in the package"),
        "srcs": attr.label_list(allow_files = True, mandatory = True),
    },
)
