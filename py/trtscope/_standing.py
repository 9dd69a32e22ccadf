"""Where the user stands, for programs that ``bazel run`` starts in a folder of its own."""

from __future__ import annotations

import os

_ENV_FOLDER = "BUILD_WORKING_DIRECTORY"


def started_by_bazel() -> bool:
    return bool(os.environ.get(_ENV_FOLDER))


def stand_with_the_user() -> None:
    """Makes relative paths mean what they mean in the user's shell.

    To be called by programs alone, before they read any path: a library has no business moving
    its process.
    """
    if folder := os.environ.get(_ENV_FOLDER):
        os.chdir(folder)
