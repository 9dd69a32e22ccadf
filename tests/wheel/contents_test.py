"""What the wheel holds, and what its libraries ask of the machine that they are loaded on."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.wheel_abi import analyze_wheel_abi
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from symbol_versions import FLOORS, as_numbers, asked, too_new

WHEEL = Path(os.environ["WHEEL"])
CPU = os.environ["CPU"]
MINORS = [minor.replace(".", "_") for minor in os.environ["TORCH_MINORS"].split()]
#: Library -> where it looks for others.
LIBRARIES = {
    "libtrtscope_core.so": [],
    "libtrtscope_executorch.so": [
        "$ORIGIN",
        "$ORIGIN/../executorch/lib",
        "$ORIGIN/../../executorch/lib",
    ],
    "libtrtscope_host.so": [
        "$ORIGIN/../../executorch/lib",
        "$ORIGIN/../executorch/lib",
        "$ORIGIN",
    ],
    **{f"torch_{minor}/libtrtscope_torch.so": ["$ORIGIN/.."] for minor in MINORS},
}
_SYSTEM = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "libstdc++.so.6",
}
#: Of others, compiled into the libraries (as headers, all of them) -> how its licence is called.
COMPILED_IN = {
    "executorch": "BSD",
    "nlohmann_json": "MIT",
    "nvidia-nvtx": "Apache-2.0 WITH LLVM-exception",
    "torch": "BSD-3-Clause",
}
COMPILED_IN_FOLDERS = [name.replace("-", "_") for name in COMPILED_IN]
_EXECUTORCH = {
    "libexecutorch.so",
    "libexecutorch_backend_xnnpack.so",
    "libexecutorch_kernels_optimized.so",
    "libexecutorch_threadpool.so",
}
#: Of others, and found by them that load ours: torch's are in the process, ExecuTorch's by RUNPATH.
EXTERNAL = {"libc10.so", "libtorch_cpu.so", *_EXECUTORCH}
MAY_NEED = {
    "libtrtscope_core.so": _SYSTEM,
    "libtrtscope_executorch.so": _SYSTEM | {"libtrtscope_core.so", "libexecutorch.so"},
    "libtrtscope_host.so": _SYSTEM | _EXECUTORCH,
    **{
        f"torch_{minor}/libtrtscope_torch.so": _SYSTEM
        | {"libtrtscope_core.so", "libc10.so", "libtorch_cpu.so"}
        for minor in MINORS
    },
}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(WHEEL) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def library(files: dict[str, bytes], name: str) -> ELFFile:
    return ELFFile(io.BytesIO(files[f"trtscope/lib/{name}"]))


def dynamic(elf: ELFFile) -> DynamicSection:
    section = elf.get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    return section


def test_the_libraries_are_these_alone(files: dict[str, bytes]) -> None:
    elf = {name for name, data in files.items() if data.startswith(b"\x7fELF")}
    assert elf == {f"trtscope/lib/{name}" for name in LIBRARIES}
    machines = {"aarch64": "AArch64", "x86_64": "x64"}
    assert {library(files, name).get_machine_arch() for name in LIBRARIES} == {machines[CPU]}
    assert not [name for name in files if ".so" in name and name not in elf]


@pytest.mark.parametrize("name", LIBRARIES)
def test_symbol_versions_are_those_of_debian_11(files: dict[str, bytes], name: str) -> None:
    elf = library(files, name)
    assert any(version.startswith("GLIBC_2.") for version in asked(elf))
    assert too_new(elf) == set()


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_finds_others_relative_to_itself(files: dict[str, bytes], name: str) -> None:
    tags = list(dynamic(library(files, name)).iter_tags())
    assert not [tag for tag in tags if tag.entry.d_tag == "DT_RPATH"]
    paths = [tag.runpath for tag in tags if tag.entry.d_tag == "DT_RUNPATH"]
    assert ":".join(paths).split(":") == (LIBRARIES[name] or [""])
    needed = {tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"}
    assert needed <= MAY_NEED[name]
    assert library(files, name).get_section_by_name(".symtab") is None


def test_nothing_tells_where_it_was_built(files: dict[str, bytes]) -> None:
    for name, data in files.items():
        for trace in (b"/execroot/", b"/sandbox/", os.environ["TEST_SRCDIR"].encode()):
            assert trace not in data, f"{name} holds {trace.decode()}"


def test_auditwheel_agrees_with_the_platform_tag() -> None:
    *_, platform = WHEEL.stem.split("-")
    assert platform == f"manylinux_{FLOORS['GLIBC'].replace('.', '_')}_{CPU}"
    found = analyze_wheel_abi(
        Libc.GLIBC,
        Architecture(CPU),
        WHEEL,
        frozenset(EXTERNAL),
        disable_isa_ext_check=False,
        allow_graft=False,
    )
    allowed = as_numbers(FLOORS["GLIBC"])
    for policy in (found.sym_policy, found.ref_policy, found.overall_policy):
        kind, _, version = policy.name.removesuffix(f"_{CPU}").partition("_")
        assert kind == "manylinux", policy.name
        assert as_numbers(version.replace("_", ".")) <= allowed, policy.name


def test_the_metadata(files: dict[str, bytes]) -> None:
    name, version, python, abi, platform = WHEEL.stem.split("-")
    assert (name, python, abi) == ("trtscope", "py3", "none")
    info = f"trtscope-{version}.dist-info/"
    metadata = HeaderParser().parsestr(files[info + "METADATA"].decode())
    assert metadata["Version"] == version
    assert {"torch", "executorch", "tensorrt", "report"} <= set(
        metadata.get_all("Provides-Extra", [])
    )
    plain = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert plain == ["rich"]
    for licence in metadata.get_all("License-File", []):
        assert files[f"{info}licenses/{licence}"].strip()
    assert f"Tag: {python}-{abi}-{platform}" in files[info + "WHEEL"].decode()


def test_the_bill_of_materials_names_what_was_built_against(files: dict[str, bytes]) -> None:
    (text,) = (data for name, data in files.items() if name.endswith("sboms/trtscope.cdx.json"))
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    components = {(c["name"], c["version"]) for c in bill["components"]}
    assert {name for name, _ in components} == COMPILED_IN.keys()
    minors = {"_".join(v.split(".")[:2]) for name, v in components if name == "torch"}
    assert minors == set(MINORS)
    for component in bill["components"]:
        licence = COMPILED_IN[component["name"]]
        assert licence in component["licenses"][0]["license"]["name"], component["name"]


@pytest.mark.parametrize("name", ["LICENSE", *COMPILED_IN_FOLDERS])
def test_the_licence_of_what_is_compiled_in_is_there(files: dict[str, bytes], name: str) -> None:
    end = f"/licenses/{name}" if name == "LICENSE" else f"/licenses/{name}/LICENSE"
    (text,) = (data.decode() for path, data in files.items() if path.endswith(end))
    words = " ".join(text.split())
    assert "Copyright" in words or "copyright" in words
    if name == "nvidia_nvtx":
        assert "LLVM Exceptions to the Apache 2.0 License" in words


def test_the_record_is_true(files: dict[str, bytes]) -> None:
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(files[record].decode().splitlines())}
    assert set(rows) == set(files)
    for name, (digest, size) in rows.items():
        if name == record:
            continue
        expected = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
        assert (digest, size) == (f"sha256={expected.decode()}", str(len(files[name])))


def test_its_times_are_no_one_s() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        assert {entry.date_time for entry in wheel.infolist()} == {(1980, 1, 1, 0, 0, 0)}
