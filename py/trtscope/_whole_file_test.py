"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trtscope._errors import TrtscopeError
from trtscope._whole_file import written_whole


def test_who_has_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "m.pte"
    with written_whole(path) as part:
        part.write_text("old")
    with path.open() as old:
        with written_whole(path) as part:
            assert part.name == path.name
            part.write_text("new")
        assert old.read() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "m.pte"
    path.write_text("old")

    def fail(part: Path) -> None:
        part.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), written_whole(path) as part:
        fail(part)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "v1.pte", tmp_path / "m.pte"
    target.write_text("old")
    link.symlink_to(target)
    with written_whole(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "m.pte"
    plain.touch()
    with written_whole(path) as part:
        part.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_pipe_is_written_to_itself(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with written_whole(pipe) as part:
        part.write_text("page")
    assert os.read(reader, 10) == b"page"
    os.close(reader)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrtscopeError, match=r"folder; name a file"), written_whole(tmp_path):
        pytest.fail("the block must not be entered")
    with (
        pytest.raises(TrtscopeError, match=r"/proc/m\.pte: cannot be written: "),
        written_whole(Path("/proc/m.pte")),
    ):
        pytest.fail("the block must not be entered")
