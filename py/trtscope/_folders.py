"""Folders for what this package writes."""

from __future__ import annotations

from pathlib import Path

from trtscope._errors import TrtscopeError


def make_folder(folder: Path) -> None:
    """Makes it, with those above it; one that is there already is fine.

    Raises:
        TrtscopeError: it cannot be made, or a file has its name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror
        raise TrtscopeError(f"cannot make the folder {folder}: {reason}") from error
