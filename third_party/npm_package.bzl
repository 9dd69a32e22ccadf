"""npm_package: one package of the npm registry, unpacked, its files exported.

npm itself fetches it, so that a machine's own registry settings hold.
"""

_BUILD = """
exports_files(glob(["package/**"]), visibility = ["//visibility:public"])
"""

def _impl(rctx):
    npm = rctx.which("npm")
    if not npm:
        fail("npm_package needs npm on PATH to fetch " + rctx.attr.package)
    r = rctx.execute([npm, "pack", "--silent", "%s@%s" % (rctx.attr.package, rctx.attr.version)], timeout = 600)
    if r.return_code != 0:
        fail("npm pack of %s failed:\n%s" % (rctx.attr.package, r.stderr))
    archive = r.stdout.strip().split("\n")[-1]
    r = rctx.execute(["sha512sum", archive])
    digest = r.stdout.split(" ")[0]
    if digest != rctx.attr.sha512:
        fail("%s: sha512 %s, not %s" % (archive, digest, rctx.attr.sha512))
    rctx.extract(archive)
    rctx.delete(archive)
    rctx.file("BUILD.bazel", _BUILD)

npm_package = repository_rule(
    implementation = _impl,
    attrs = {
        "package": attr.string(mandatory = True),
        "sha512": attr.string(mandatory = True),
        "version": attr.string(mandatory = True),
    },
)
