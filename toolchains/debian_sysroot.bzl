"""debian_sysroot: the C and C++ libraries and headers of an old Debian, to build against.

What is linked with them asks for no newer symbol versions than that release has (Debian 11: GLIBC_2.31
and GLIBCXX_3.4.28), whatever machine builds.  apt fetches the packages, as an unprivileged user and
apart from the machine's own apt; their hashes are pinned.

Gives @NAME//:root, a folder, and @NAME//:sysroot.bzl with CXX, the version of the C++ headers in it.
With the environment variable that `override` names (--repo_env), the folder is that one instead: the
sysroot of an SDK.
"""

_BUILD = """exports_files(["root"], visibility = ["//visibility:public"])
"""

# Of a relocated tree: links that began at the top of the file system.
_RELATIVE_LINKS = """
import os
for folder, folders, files in os.walk("root"):
    for name in folders + files:
        path = os.path.join(folder, name)
        if os.path.islink(path) and (target := os.readlink(path)).startswith("/"):
            os.unlink(path)
            os.symlink(os.path.relpath("root" + target, folder), path)
"""

_APT = """
Dir::State "{here}/apt/state";
Dir::State::status "{here}/apt/status";
Dir::Cache "{here}/apt/cache";
Dir::Etc "{here}/apt/etc";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
"""

def _run(rctx, what, args, environment = {}):
    r = rctx.execute(args, timeout = 1200, environment = environment)
    if r.return_code != 0:
        fail("debian_sysroot: %s failed (%d):\n%s%s" % (what, r.return_code, r.stdout[-4000:], r.stderr[-4000:]))
    return r.stdout.strip()

def _mirror(rctx):
    """The archive that this machine itself uses, where DEBIAN_MIRROR names no other."""
    named = rctx.getenv("DEBIAN_MIRROR")
    if named:
        return named
    if not rctx.which("apt-get"):
        fail("debian_sysroot: the sysroot's packages are fetched by apt-get, which is not on PATH")
    sites = _run(rctx, "apt-get indextargets", ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"])
    for site in sites.split("\n"):
        if site.rstrip("/").endswith("/debian"):
            return site
    fail("debian_sysroot: this machine's apt knows no Debian archive: set DEBIAN_MIRROR to one")

def _fetch(rctx):
    here = str(rctx.path("."))
    for folder in ["state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"]:
        rctx.file("apt/%s/.keep" % folder)
    rctx.file("apt/status")
    rctx.file("apt/etc/sources.list", "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n" % (_mirror(rctx), rctx.attr.suite))
    rctx.file("apt/apt.conf", _APT.format(arch = rctx.attr.arch, here = here))
    environment = {"APT_CONFIG": here + "/apt/apt.conf"}
    _run(rctx, "apt-get update", ["apt-get", "-qq", "update"], environment)
    _run(rctx, "apt-get download", ["apt-get", "-qq", "download"] + rctx.attr.packages.keys(), environment)
    sums = []
    for package, sha256 in rctx.attr.packages.items():
        name, _, version = package.partition("=")
        deb = "%s_%s_%s.deb" % (name, version.replace(":", "%3a"), rctx.attr.arch)
        sums.append("%s  %s\n" % (sha256, deb))
    rctx.file("sha256", "".join(sums))
    _run(rctx, "the packages' hashes", ["sha256sum", "--check", "--quiet", "sha256"])
    for line in sums:
        deb = line.strip().split("  ")[1]
        _run(rctx, "dpkg-deb", ["dpkg-deb", "-x", deb, "root"])
        rctx.delete(deb)
    rctx.delete("apt")
    _run(rctx, "links", ["python3", "-c", _RELATIVE_LINKS])

def _impl(rctx):
    sdk = rctx.getenv(rctx.attr.override) if rctx.attr.override else None
    if sdk:
        rctx.symlink(sdk, "root")
    else:
        _fetch(rctx)
    headers = rctx.path("root/usr/include/c++")
    versions = [int(p.basename.split(".")[0]) for p in headers.readdir()] if headers.exists else []
    if not versions:
        fail("debian_sysroot: %s has no C++ headers: expected usr/include/c++ in it" % (
            "%s=%s" % (rctx.attr.override, sdk) if sdk else "the fetched root"
        ))
    rctx.file("sysroot.bzl", "CXX = \"%d\"\n" % max(versions))
    rctx.file("BUILD.bazel", _BUILD)

debian_sysroot = repository_rule(
    implementation = _impl,
    attrs = {
        "arch": attr.string(mandatory = True, doc = "Debian's name of the architecture"),
        "override": attr.string(doc = "a variable that names another sysroot"),
        "packages": attr.string_dict(mandatory = True, doc = "name=version -> sha256"),
        "suite": attr.string(mandatory = True),
    },
)
