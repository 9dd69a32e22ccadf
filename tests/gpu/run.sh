#!/usr/bin/env bash
# Tests on a machine with an NVIDIA GPU.  It needs no SDK, no Bazel and no network.
#
#   run.sh unpack DIR...   puts what pack.sh collected into the store
#   run.sh test [ARGS...]  runs the tests, ARGS as for googletest
#   run.sh torch           runs the checks of the LibTorch half (torch_check.py), where torch has CUDA
#   run.sh pte [OUT]       runs .pte programs that hold TensorRT plans, by the native runner; ETDumps go
#                          to the folder OUT
#   run.sh wheel FILE.whl  installs trtscope's wheel over the machine's own torch, and runs plans with it
#   run.sh bench           measures execute_engine beside a bare enqueueV3 loop
#   run.sh sanitize        runs them under compute-sanitizer's memcheck
#
# The store is TRTSCOPE_GPU_STORE, by default trtscope_gpu in the temporary folder.
set -euo pipefail
store="${TRTSCOPE_GPU_STORE:-${TMPDIR:-/tmp}/trtscope_gpu}"

unpack() {
  mkdir -p "$store"
  for dir in "$@"; do
    python3 - "$dir" "$store" <<'P'
import lzma, pathlib, shutil, sys
source, store = map(pathlib.Path, sys.argv[1:])
for file in sorted(p for p in source.rglob("*") if p.is_file()):
    target = store / file.relative_to(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".xz":
        with lzma.open(file) as packed, open(target.with_suffix(""), "wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
    else:
        shutil.copy(file, target)
P
  done
  find "$store" -type f -printf '%10s %P\n'
}

environment() {
  export TRTSCOPE_GPU_ENGINES="$store/engines"
  export TRTSCOPE_GPU_TENSORRT86="$store/tensorrt86"
  export TRTSCOPE_GPU_LEAN10="$store/lean10"
  export TRTSCOPE_GPU_LEAN11="$store/lean11"
  local missing=0
  for file in gpu_test runtime_gpu_bench et/runner et/delegate_gpu_test engines/mlp.plan tensorrt86/libnvinfer.so.8 lean10/libnvinfer_lean.so.10 \
    lean11/libnvinfer_lean.so.11; do
    [[ -s "$store/$file" ]] || { echo "run.sh: missing in $store: $file" >&2; missing=1; }
  done
  ((missing == 0))
  chmod +x "$store/gpu_test" "$store/runtime_gpu_bench" "$store/et/runner" "$store/et/delegate_gpu_test"
}

command="${1:-}"
[[ $# -gt 0 ]] && shift
case "$command" in
  unpack) unpack "$@" ;;
  test)
    environment
    status=0
    "$store/gpu_test" "$@" || status=$?
    LD_LIBRARY_PATH="$store/et" "$store/et/delegate_gpu_test" "$@" || status=$?
    exit "$status"
    ;;
  torch)
    environment
    python3 "$(dirname "${BASH_SOURCE[0]}")/torch_check.py" "$store"
    ;;
  pte)
    environment
    out="${1:-$(mktemp -d)}"
    python3 "$(dirname "${BASH_SOURCE[0]}")/pte_check.py" "$store" "$out"
    ;;
  wheel)
    environment
    # Beside the machine's own packages, which may be a virtual environment's themselves.
    packages="$(mktemp -d)/site-packages"
    python3 -m pip install -q --no-index --no-deps --target "$packages" "${1:?run.sh wheel FILE.whl}"
    PYTHONPATH="$packages" TRTSCOPE_TENSORRT="$store/tensorrt86" \
      python3 "$(dirname "${BASH_SOURCE[0]}")/wheel_check.py" "$store"
    ;;
  bench)
    environment
    torch="$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')/lib"
    LD_LIBRARY_PATH="$torch" "$store/runtime_gpu_bench"
    ;;
  sanitize)
    environment
    # Clocks and loops are slow under it: the tests that measure them stay out.
    compute-sanitizer --tool memcheck --error-exitcode 9 "$store/gpu_test" \
      --gtest_filter='*MatchesItsReference*:*Layers*:*DataDependent*'
    ;;
  *)
    sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
