"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from trtscope._errors import TrtscopeError
from trtscope._folders import make_folder


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write to; when the block ends well, the file takes the place of ``path``.

    Who has the old file open or mapped keeps it: a program that is loaded is not pulled from under
    its process.  The folder is made where there is none.

    Raises:
        TrtscopeError: the file cannot be written.
    """
    make_folder(path.parent)
    if path.is_dir():
        raise TrtscopeError(f"{path} is a folder; name a file")
    target = Path(os.path.realpath(path))  # a link stays one
    if target.exists() and not target.is_file():
        yield target  # a device or a pipe has no place to take
        return
    # On the same file system, so that taking the place is one step; under the same name, which some
    # writers check, and archives keep.
    try:
        with TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            part = Path(folder) / target.name
            yield part
            os.replace(part, target)
    except OSError as error:
        raise TrtscopeError(f"{path}: cannot be written: {error.strerror or error}") from error
