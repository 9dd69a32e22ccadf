#!/usr/bin/env bash
# pack.sh DIR: collects what run.sh needs on the machine with the GPU into folders DIR/1 and DIR/2,
# each small enough for a narrow way (under 60 MiB).  Then, over there:
#   tests/gpu/run.sh unpack DIR/1; tests/gpu/run.sh unpack DIR/2; tests/gpu/run.sh test
#
# Environment: ENGINES         folder of .plan and .npz files
#              TENSORRT86_XZ   libnvinfer.so.8 of TensorRT 8.6.0, packed by xz
#              TORCH           torch minor over there, 2.11 by default
#              LEAN10, LEAN11  libnvinfer_lean.so.10 and .11, plain or packed (LEAN10_XZ, LEAN11_XZ)
set -euo pipefail
dir="$(mkdir -p "${1:?pack.sh DIR}" && cd "$1" && pwd)"
: "${ENGINES:?folder of .plan and .npz files}" "${TENSORRT86_XZ:?packed libnvinfer.so.8}"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

pack() {  # FROM, packed or not; TO.xz
  if [[ -n "$1" && "$1" == *.xz ]]; then cp "$1" "$2"; else xz -6 -c "$1" >"$2"; fi
}

mkdir -p "$dir/1/tensorrt86" "$dir/2/lean10" "$dir/2/lean11" "$dir/2/engines"
pack "$TENSORRT86_XZ" "$dir/1/tensorrt86/libnvinfer.so.8.xz"
pack "${LEAN10_XZ:-${LEAN10:?libnvinfer_lean.so.10}}" "$dir/2/lean10/libnvinfer_lean.so.10.xz"
pack "${LEAN11_XZ:-${LEAN11:?libnvinfer_lean.so.11}}" "$dir/2/lean11/libnvinfer_lean.so.11.xz"
cd "$root"
tools/bazel ${TRTSCOPE_BAZEL_STARTUP:-} build --compilation_mode=opt //tests/gpu:gpu_test \
  //tests/gpu:delegate_gpu_test //executorch_backend:runner
# Not by the bazel-bin link, which is whatever build was last.
built="$(tools/bazel ${TRTSCOPE_BAZEL_STARTUP:-} info --compilation_mode=opt bazel-bin)"
pack_program() { # FROM, folder in DIR/2
  mkdir -p "$dir/2/$2"
  strip -o "$dir/stripped" "$1"
  xz -6 -c "$dir/stripped" >"$dir/2/$2/$(basename "$1").xz"
  rm -f "$dir/stripped"
}
pack_program "$built/tests/gpu/gpu_test" .
pack_program "$built/executorch_backend/bin/runner" et
pack_program "$built/tests/gpu/delegate_gpu_test" et
# What the two need of ours and of ExecuTorch.
for library in "$built"/executorch_backend/lib/*.so; do
  xz -6 -c "$library" >"$dir/2/et/$(basename "$library").xz"
done
tools/bazel ${TRTSCOPE_BAZEL_STARTUP:-} run --compilation_mode=opt //tests/gpu:make_pte -- \
  "$ENGINES" "$dir/2/et"
# The LibTorch half for the torch over there.
mkdir -p "$dir/2/lib"
torch="torch_$(tr . _ <<<"${TORCH:-2.11}")"
tools/bazel ${TRTSCOPE_BAZEL_STARTUP:-} build --compilation_mode=opt --torch="${TORCH:-2.11}" \
  //core:trtscope_core //core/runtime:libtrtscope_torch.so //tests/gpu:runtime_gpu_bench
cp "$built/core/libtrtscope_core.so" "$built/core/runtime/$torch/libtrtscope_torch.so" "$dir/2/lib/"
pack_program "$built/tests/gpu/runtime_gpu_bench" .
cp "$ENGINES"/*.plan "$ENGINES"/*.npz "$dir/2/engines/"
chmod -R u+w "$dir"
du -sh "$dir"/[12]
