from __future__ import annotations

import contextlib
import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtscope._errors import PackageError
from trtscope._package import _unpickle, check_libraries, read_package
from trtscope._testing import (
    foreign_state,
    pickle_object,
    wrap_pickle,
    write_package,
)


def test_both_versions_of_foreign_states_are_read(tmp_path: Path) -> None:
    new = foreign_state("new").to_list()
    old = ["8", *foreign_state("old").to_list()[1:11]]
    package = read_package(
        write_package(tmp_path / "m.pt2", [pickle_object(new), pickle_object(old)])
    )
    assert package.kind == "aotinductor"
    assert package.models == ("model",)
    assert package.target == {"AOTI_DEVICE_KEY": "cuda", "AOTI_MACHINE": "x86_64"}
    first, second = package.engines
    assert first.state is not None
    assert second.state is not None
    assert (first.state.name, first.state.abi_version) == ("new", "10")
    assert (second.state.name, second.state.abi_version) == ("old", "8")
    assert first.graph_names == ("_torchbind_obj0",)
    assert first.state.plan == second.state.plan == foreign_state().plan
    assert first.state.target_platform == "linux_aarch64"


def test_objects_of_other_classes_are_counted_not_read(tmp_path: Path) -> None:
    other = pickle_object(["a"], "__torch__.torch.classes.vendor.Table")
    package = read_package(write_package(tmp_path / "m.pt2", [other]))
    assert package.engines == ()
    assert package.other_objects == 1


def test_engines_are_in_numeric_order(tmp_path: Path) -> None:
    objects = [pickle_object(foreign_state(f"e{i}").to_list()) for i in range(12)]
    package = read_package(write_package(tmp_path / "m.pt2", objects))
    assert [e.state.name for e in package.engines if e.state] == [f"e{i}" for i in range(12)]


def test_one_broken_engine_leaves_the_others_readable(tmp_path: Path) -> None:
    good = pickle_object(foreign_state().to_list())
    broken = [
        pickle_object(["9", "future"]),
        b"PK\x03\x04 cut short",
        b"",
        wrap_pickle(b"\x80\x02."),
        wrap_pickle(pickle.dumps([1, 2])),
    ]
    package = read_package(write_package(tmp_path / "m.pt2", [good, *broken]))
    assert package.engines[0].error is None
    assert len(package.engines) == 6
    assert "version '9'" in str(package.engines[1].error)
    assert all(e.state is None and e.error for e in package.engines[1:])


def test_a_hostile_pickle_reaches_nothing(tmp_path: Path) -> None:
    target = tmp_path / "made"
    attack = b"\x80\x02cos\nmkdir\nX" + len(str(target)).to_bytes(4, "little")
    attack += str(target).encode() + b"\x85R."
    package = read_package(write_package(tmp_path / "m.pt2", [wrap_pickle(attack)]))
    assert "refers to os.mkdir" in str(package.engines[0].error)
    assert not target.exists()


def without(path: Path, ending: str) -> Path:
    """A copy of the package that lacks the entries whose names end so."""
    copy = path.with_name("damaged.pt2")
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(copy, "w") as damaged:
        for name in whole.namelist():
            if not name.endswith(ending):
                damaged.writestr(name, whole.read(name))
    return copy


def test_an_object_that_is_named_but_not_there_is_a_broken_engine(tmp_path: Path) -> None:
    objects = [pickle_object(foreign_state(f"e{i}").to_list()) for i in range(2)]
    path = write_package(tmp_path / "m.pt2", objects)
    assert all(e.error is None for e in read_package(path).engines)
    good, broken = read_package(without(path, "custom_obj_0")).engines
    assert (good.file, good.error) == ("custom_obj_1", None)
    assert (broken.file, broken.graph_names) == ("custom_obj_0", ("_torchbind_obj0",))
    assert broken.error == (
        "data/constants/custom_obj_0 is not in the package, but "
        "m/data/aotinductor/model/custom_objs_config.json names it"
    )


def test_a_model_without_code_is_said(tmp_path: Path) -> None:
    path = write_package(tmp_path / "m.pt2", [])
    assert read_package(path).missing == ()
    damaged = without(path, ".so")
    (sentence,) = read_package(damaged).missing
    assert sentence == "model 'model' has no library: data/aotinductor/model holds no .so"
    # Sources that torch compiles when it loads them are code as well.
    with zipfile.ZipFile(damaged, "a") as archive:
        archive.writestr("m/data/aotinductor/model/abc.wrapper_compile_flags.json", "{}")
    assert read_package(damaged).missing == ()


def test_damaged_code_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = write_package(tmp_path / "m.pt2", [])
    check_libraries(read_package(path))
    octets = path.read_bytes()
    assert octets.count(b"no library") == 1
    path.write_bytes(octets.replace(b"no library", b"no Library"))
    with pytest.raises(PackageError, match=r"m\.pt2 is damaged: .*abc\.wrapper\.so"):
        check_libraries(read_package(path))


def test_exported_programs_are_told_from_compiled_ones(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/models/model.json", "{}")
        archive.writestr("m/data/constants/custom_obj_0", pickle_object(foreign_state().to_list()))
    package = read_package(path)
    assert package.kind == "export"
    assert len(package.engines) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "does not exist"),
        (b"", "begins with nothing"),
        (b"ftrt1234", "begins 66 74 72 74"),
    ],
)
def test_what_is_no_package_says_so(tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "m.pt2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PackageError, match=expected):
        read_package(path)


def test_a_zip_of_something_else_says_so(tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    with pytest.raises(PackageError, match="neither data/aotinductor nor models"):
        read_package(path)
    with pytest.raises(PackageError, match="is a folder"):
        read_package(tmp_path)


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_octets_unpickle_or_are_refused(data: bytes) -> None:
    with contextlib.suppress(PackageError, zipfile.BadZipFile):
        _unpickle(data)


def test_a_number_of_a_remembered_object_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        assert _unpickle(b"M\x05\x00r\x00\x00\x00\x02.") == 5  # remembered as 33,554,432
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_every_cut_of_a_state_is_refused() -> None:
    with zipfile.ZipFile(io.BytesIO(pickle_object(["10", "a"]))) as archive:
        pickled = archive.read("archive/data.pkl")
    for length in range(len(pickled)):
        with pytest.raises(PackageError):
            _unpickle(pickled[:length])
