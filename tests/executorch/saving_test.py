"""``trtscope.save`` of a ``.pte``: whole files, which say when they are damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import native
import programs
import pytest
import torch
from programs import SMALL_INPUTS, Small

import trtscope
import trtscope.executorch


def test_every_changed_bit_of_a_program_is_an_error(small: Path, tmp_path: Path) -> None:
    data = small.read_bytes()
    bad = tmp_path / "bad.pte"
    for at in range(0, len(data) - 16, 7):  # the last 16 octets are the checksum's
        octets = bytearray(data)
        octets[at] ^= 1 << (at % 8)
        bad.write_bytes(octets)
        with pytest.raises(trtscope.PackageError, match=r"bad\.pte: "):
            trtscope.load(bad)
    assert at > 1000


def test_damage_is_told_as_such_from_python_and_by_the_native_runner(
    small: Path, tmp_path: Path
) -> None:
    data = bytearray(small.read_bytes())
    data[-100] ^= 1
    bad = tmp_path / "bad.pte"
    bad.write_bytes(data)
    message = f"bad.pte: damaged since it was written: the checksum of its {len(data) - 16} octets"
    with pytest.raises(trtscope.PackageError) as caught:
        trtscope.load(bad)
    assert message in str(caught.value)
    result = native.run("--model", bad)
    assert result.returncode == 1, result
    assert message in result.stderr


def test_programs_of_others_have_no_checksum_and_load(tmp_path: Path) -> None:
    manager = trtscope.executorch.lower(
        programs.exported(Small(), *SMALL_INPUTS), min_block_size=1, etrecord=False
    ).to_executorch()
    path = tmp_path / "stock.pte"
    path.write_bytes(manager.buffer)
    for got, expected in zip(
        trtscope.load(path)(*SMALL_INPUTS), Small()(*SMALL_INPUTS), strict=True
    ):
        torch.testing.assert_close(got, expected)


def test_a_loaded_program_survives_a_save_over_it(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.pte"
    shutil.copy(programs.save_small(folder, "first", seed=1), path)
    runner = trtscope.load(path)
    trtscope.save(
        trtscope.executorch.lower(
            programs.exported(Small(2), *SMALL_INPUTS), min_block_size=1, etrecord=False
        ),
        path,
    )
    for seed, loaded in ((1, runner), (2, trtscope.load(path))):
        for got, expected in zip(loaded(*SMALL_INPUTS), Small(seed)(*SMALL_INPUTS), strict=True):
            torch.testing.assert_close(got, expected)


def test_a_record_of_the_program_before_is_removed(folder: Path, tmp_path: Path) -> None:
    path = programs.save_small(tmp_path)
    record = path.with_suffix(".etrecord")
    assert record.is_file()
    trtscope.save(programs.exported(Small(), *SMALL_INPUTS), path)
    assert not record.exists()
