"""Compares the layouts of third_party/tensorrt/abi with TensorRT's own headers.

With TENSORRT_INCLUDE (a folder with NvInferRuntime.h) and CUDA_INCLUDE set, every method's slot is
read from pointers to members that the compiler makes from those headers:

    tools/bazel test //core/engine/tensorrt/abi:conformance_test \
        --test_env=TENSORRT_INCLUDE=/opt/tensorrt/include --test_env=CUDA_INCLUDE=...

Without them that part is skipped, and says so.  The rest checks the comparison itself on headers
written from the data, right ones and wrong ones.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

DATA = Path(os.environ.get("TEST_SRCDIR", ".")) / os.environ.get("TEST_WORKSPACE", "_main")
ABI = DATA / "third_party" / "tensorrt" / "abi"

PROBE_HEAD = r"""
#include <NvInferRuntime.h>
#include <cstdio>
#include <cstring>
using namespace nvinfer1;
template <typename... A> struct Pick {
  template <typename R, typename C> static auto Of(R (C::*p)(A...)) { return p; }
  template <typename R, typename C> static auto Of(R (C::*p)(A...) const) { return p; }
};
template <typename P> void Print(P pointer) {
  long words[2] = {0, 0};
  static_assert(sizeof(pointer) == sizeof(words), "a pointer to member is two words");
  std::memcpy(words, &pointer, sizeof(words));
#if defined(__aarch64__)
  std::printf("%ld\n", words[0] / long(sizeof(void*)));
#else
  std::printf("%ld\n", (words[0] - 1) / long(sizeof(void*)));
#endif
}
int main() {
"""


def families() -> list[dict[str, Any]]:
    return [json.loads((ABI / f"{n}.json").read_text("utf-8")) for n in ("8.6", "10", "11")]


def release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def methods_of(family: dict[str, Any], version: tuple[int, int]) -> dict[str, int]:
    """What the data says: "IRuntime.getLogger()" -> slot, for one release."""
    return {
        f"{interface}.{m['name']}({', '.join(m['args'])})": m["slot"]
        for interface, methods in family["classes"].items()
        for m in methods
        if release(m["since"]) <= version
    }


def probe(family: dict[str, Any], version: tuple[int, int]) -> str:
    lines = [PROBE_HEAD]
    for interface, methods in family["classes"].items():
        for m in methods:
            if release(m["since"]) > version:
                continue
            args = ", ".join(m["args"])
            lines.append(f"  Print(Pick<{args}>::Of(&apiv::V{interface[1:]}::{m['name']}));")
    return "\n".join([*lines, "}", ""])


def slots_in_headers(
    family: dict[str, Any], version: tuple[int, int], *include: str
) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.cc"
        source.write_text(probe(family, version), "utf-8")
        binary = Path(folder) / "probe"
        compiler = os.environ.get("CXX", "g++")
        command = [compiler, "-std=c++17", "-w", *(f"-I{i}" for i in include)]
        subprocess.run([*command, str(source), "-o", str(binary)], check=True)
        out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return dict(zip(methods_of(family, version), map(int, out.split()), strict=True))


def header(family: dict[str, Any], version: tuple[int, int]) -> str:
    """A header with the data's classes, for testing the comparison."""
    lines = [
        "#include <cstddef>\n#include <cstdint>",
        "typedef struct S* cudaStream_t; typedef struct E* cudaEvent_t;",
        "namespace nvinfer1 {",
    ]
    types = {
        word
        for methods in family["classes"].values()
        for m in methods
        for text in [m["returns"], *m["args"]]
        for word in re.findall(r"\w+", text)
    }
    known = {"void", "bool", "char", "const", "std", "size_t", "int32_t", "int64_t"}
    known |= {"cudaStream_t", "cudaEvent_t"}
    lines += [
        f"struct {t} {{ int v[18]; }};" for t in sorted(types - known) if t != "TacticSources"
    ]
    lines += ["using TacticSources = uint32_t;", "namespace apiv {"]
    for interface, methods in family["classes"].items():
        lines.append(f"class V{interface[1:]} {{ public: virtual ~V{interface[1:]}() = default;")
        lines += [
            f"  virtual {m['returns']} {m['name']}({', '.join(m['args'])}) noexcept = 0;"
            for m in methods
            if release(m["since"]) <= version
        ]
        lines.append("};")
    return "\n".join([*lines, "}}", ""])


def slots_of_written_header(family: dict[str, Any], version: tuple[int, int]) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "NvInferRuntime.h").write_text(header(family, version), "utf-8")
        return slots_in_headers(family, version, folder)


@pytest.mark.parametrize(("index", "version"), [(0, (8, 6)), (1, (10, 3)), (2, (11, 1))])
def test_data_against_headers_written_from_it(index: int, version: tuple[int, int]) -> None:
    family = families()[index]
    found = slots_of_written_header(family, version)
    assert found == methods_of(family, version)
    assert len(found) > 90


def test_a_moved_method_is_found() -> None:
    family = families()[1]
    version = (10, 16)
    expected = methods_of(family, version)
    engine = family["classes"]["ICudaEngine"]
    engine[20], engine[21] = engine[21], engine[20]
    found = slots_of_written_header(family, version)
    assert len([name for name in expected if found[name] != expected[name]]) == 2


def test_data_against_tensorrts_headers() -> None:
    include = os.environ.get("TENSORRT_INCLUDE")
    if not include:
        pytest.skip("TENSORRT_INCLUDE names no folder with NvInferRuntime.h")
    text = (Path(include) / "NvInferVersion.h").read_text("utf-8")
    numbers = re.findall(r"(?:NV_TENSORRT|TRT)_(MAJOR|MINOR)(?:_ENTERPRISE)? (\d+)", text)
    values = {name: int(value) for name, value in numbers}
    version = (values["MAJOR"], values["MINOR"])
    matching = [f for f in families() if int(f["family"].split(".")[0]) == version[0]]
    assert len(matching) == 1, f"no family has TensorRT {version[0]}.{version[1]}"
    cuda = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
    found = slots_in_headers(matching[0], version, include, cuda)
    assert found == methods_of(matching[0], version)
