"""pypi_wheels: wheels from PyPI, unpacked together, for the C++ headers and libraries in them.

pip itself fetches them (for the asked platform, not the machine's own) and checks the hashes.
"""

# Only the members asked for: some wheels hold gigabytes that no build reads.
_UNPACK = """
import fnmatch, glob, os, sys, zipfile
patterns = sys.argv[1:]
for wheel in glob.glob("dl/*.whl"):
    with zipfile.ZipFile(wheel) as z:
        z.extractall(".", [n for n in z.namelist() if any(fnmatch.fnmatch(n, p) for p in patterns)])
"""

def _find_python(rctx):
    for name in [rctx.os.environ.get("PYTHON3_11", ""), "python3.11", "python3"]:
        path = (name if name.startswith("/") else rctx.which(name)) if name else None
        if path:
            return path
    fail("pypi_wheels needs python3 with pip")

def _impl(rctx):
    python = _find_python(rctx)
    rctx.file("requirements.txt", "".join([
        "%s %s\n" % (requirement, " ".join(["--hash=sha256:" + h for h in sha256s]))
        for requirement, sha256s in rctx.attr.wheels.items()
    ]))
    args = [
        python,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--python-version=3.11",
        "--implementation=cp",
        "-d",
        "dl",
        "-r",
        "requirements.txt",
    ]
    for tag in ["manylinux_2_28", "manylinux_2_25", "manylinux_2_17", "manylinux2014"]:
        args += ["--platform", tag + "_" + rctx.attr.arch]
    r = rctx.execute(args, timeout = 3600)
    if r.return_code != 0:
        fail("pip download of %s for %s failed:\n%s" % (", ".join(rctx.attr.wheels.keys()), rctx.attr.arch, r.stderr))
    r = rctx.execute([python, "-c", _UNPACK] + rctx.attr.members, timeout = 3600)
    if r.return_code != 0:
        fail(r.stderr)
    rctx.delete("dl")
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")

pypi_wheels = repository_rule(
    implementation = _impl,
    attrs = {
        "arch": attr.string(mandatory = True, values = ["x86_64", "aarch64"]),
        "build_file": attr.label(mandatory = True),
        "members": attr.string_list(default = ["*"], doc = "what to unpack; * also matches /"),
        "wheels": attr.string_list_dict(
            mandatory = True,
            doc = "name==version -> the sha256s that its file may have",
        ),
    },
    environ = ["PYTHON3_11"],
)
