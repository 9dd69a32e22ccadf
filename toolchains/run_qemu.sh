#!/usr/bin/env bash
# run_qemu.sh BINARY WANTED [ARG...]: runs an aarch64 BINARY under qemu, looks for WANTED in its output.
set -euo pipefail
binary="$1" wanted="$2"
shift 2
qemu="${QEMU_AARCH64:-$(command -v qemu-aarch64-static || command -v qemu-aarch64)}"
out="$("$qemu" -L "${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}" "$binary" "$@")"
echo "$out"
grep -q -- "$wanted" <<<"$out"
