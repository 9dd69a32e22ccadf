"""Types of the command line's arguments.  What they refuse, argparse says as they word it."""

from __future__ import annotations

import argparse
from pathlib import Path

# The native libraries count in 32 bits.
_LARGEST = 2**31 - 1


def count(text: str) -> int:
    """0 or more."""
    return _whole(text, 0)


def positive(text: str) -> int:
    """1 or more."""
    return _whole(text, 1)


def _whole(text: str, lowest: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or not lowest <= value <= _LARGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {lowest} to {_LARGEST}")
    return value


def folder(text: str) -> Path:
    """A folder that may yet have to be made.  An empty name, such as that of an unset shell
    variable, is a mistake: it would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the folder's name is empty")
    return Path(text)
