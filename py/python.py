"""A Python that has trtscope, from this tree: ``tools/bazel run //py:python -- SCRIPT [ARGS...]``,
``-- -c CODE``, or nothing for a prompt.  Paths are relative to where the user stands.
"""

from __future__ import annotations

import code
import runpy
import sys
from pathlib import Path

from trtscope._standing import stand_with_the_user


def main() -> None:
    stand_with_the_user()
    match sys.argv[1:]:
        case []:
            code.interact(banner="trtscope: import trtscope", local={"__name__": "__main__"})
        case ["-c", source, *arguments]:
            sys.argv = ["-c", *arguments]
            exec(compile(source, "<command line>", "exec"), {"__name__": "__main__"})
        case [script, *arguments]:
            sys.argv = [script, *arguments]
            sys.path[0] = str(Path(script).resolve().parent)
            runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
