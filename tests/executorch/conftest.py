from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import programs
import pytest

import trtscope


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def mixed(folder: Path) -> Path:
    return programs.save_mixed(folder)


@pytest.fixture(scope="session")
def small(folder: Path) -> Path:
    return programs.save_small(folder)


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    trtscope.set_profile_level("off")
    trtscope.set_profile_format("perfetto")
    trtscope.reset_timing()
