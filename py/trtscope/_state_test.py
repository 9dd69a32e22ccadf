from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

import pytest

import trtscope
from trtscope import _libraries
from trtscope._errors import PackageError
from trtscope._state import (
    ABI_VERSION,
    FIELD_COUNTS,
    FIELD_NAMES,
    EngineState,
    current_platform,
)

STATE = EngineState(
    name="encoder.layers.0",
    plan=bytes(range(256)),
    input_names=("x", "mask"),
    output_names=("y",),
    metadata='{"trtscope": 1}',
    aliased_io=(("cache_out", "cache_in", "kv"),),
)


def test_fields_and_versions_are_those_of_the_runtime() -> None:
    header = Path(os.environ["TRTSCOPE_ENGINE_STATE_H"]).read_text(encoding="utf-8")
    names = re.search(r"kStateFieldNames = \{(.*?)\};", header, re.DOTALL)
    assert names is not None
    assert tuple(re.findall(r'"(\w+)"', names[1])) == FIELD_NAMES
    constants = dict(re.findall(r'constexpr \S+ (k\w+) = "?(\w+)"?;', header))
    assert constants["kStateAbiVersion"] == ABI_VERSION
    assert {
        constants["kStateAbiVersion"]: len(FIELD_NAMES),
        constants["kOldStateAbiVersion"]: int(constants["kOldStateFieldCount"]),
    } == FIELD_COUNTS


def test_the_package_and_the_core_have_one_version() -> None:
    # The core's is that of MODULE.bazel, as is the wheel's.
    assert _libraries.core().version() == trtscope.__version__


def test_list_has_thirteen_fields_and_reads_back() -> None:
    fields = STATE.to_list()
    assert len(fields) == len(FIELD_NAMES) == 13
    assert fields[0] == "10"
    assert fields[4] == "x%mask"
    assert fields[8] == current_platform() == "linux_x86_64"
    assert fields[12] == "cache_out@cache_in@kv"
    read = EngineState.from_list(fields)
    assert read == dataclasses.replace(STATE, target_platform=current_platform())


def test_old_version_has_eleven_fields() -> None:
    fields = ["8", *STATE.to_list()[1:11]]
    read = EngineState.from_list(fields)
    assert read.abi_version == "8"
    assert read.plan == STATE.plan
    assert read.aliased_io == ()
    assert not read.multi_device


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ([], "empty list"),
        (["7", "a"], "version '7' and 2 strings; expected version 10 with 13 strings"),
        (STATE.to_list()[:12], "version 10 has 12 strings; expected 13"),
        (["8", *STATE.to_list()[1:]], "version 8 has 13 strings; expected 11"),
        ([*STATE.to_list()[:3], "not*base64", *STATE.to_list()[4:]], "is not base64"),
        ([*STATE.to_list()[:12], "a@b"], "'a@b' is not out@in@kind"),
    ],
)
def test_malformed_lists_say_what_was_found(fields: list[str], found: str) -> None:
    with pytest.raises(PackageError) as error:
        EngineState.from_list(fields)
    assert found in str(error.value)


@pytest.mark.parametrize("name", ["", "a%b"])
def test_names_that_the_separator_would_break_are_refused(name: str) -> None:
    with pytest.raises(PackageError, match="names must not be empty or hold '%'"):
        dataclasses.replace(STATE, input_names=(name,)).to_list()
