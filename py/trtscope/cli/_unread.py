"""Says which files of a folder of traces could not be read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trtscope.cli._text import printable

if TYPE_CHECKING:
    from trtscope._recording import Recording


def warn_of_unread(recording: Recording) -> None:
    """A line on standard error for each."""
    for unread in recording.unread:
        print(f"trtscope: warning: {printable(str(unread))}", file=sys.stderr)
