"""Writes a .tar.gz whose bytes depend on its inputs alone: pack.py OUT FOLDER [PATH FILE]..."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from pathlib import Path

# Of what is run and of libraries, which some loaders want executable.
_EXECUTABLE = ("bin/", "lib/", "run")


def main() -> None:
    out, folder, *rest = sys.argv[1:]
    files = dict(zip(rest[::2], rest[1::2], strict=True))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, file in sorted(files.items()):
            data = Path(file).read_bytes()
            entry = tarfile.TarInfo(f"{folder}/{path}")  # of user 0, at time 0
            entry.size = len(data)
            entry.mode = 0o755 if path.startswith(_EXECUTABLE) else 0o644
            tar.addfile(entry, io.BytesIO(data))
    with (
        open(out, "wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) as zipped,
    ):
        zipped.write(packed.getvalue())


if __name__ == "__main__":
    main()
