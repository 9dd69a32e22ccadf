from __future__ import annotations

import json
import os
import threading

import pytest

import trtscope
from trtscope import _libraries

core = _libraries.core()

PLAN = (
    b"null"
    + json.dumps(
        {"inputs": [{"name": "x", "shape": [-1, 8]}], "outputs": [{"name": "y", "like": 0}]}
    ).encode()
)


def test_a_plan_s_octets_say_what_it_is() -> None:
    info = core.plan_info(PLAN)
    assert (info["kind"], info["size"]) == ("null", len(PLAN))
    assert 0 < info["hash"] < 2**64


def test_a_loaded_plan_tells_its_tensors() -> None:
    x, y = core.load_plan(PLAN, "m")["tensors"]
    assert (x["name"], x["dtype"], x["shape"], x["is_input"]) == ("x", "float32", [-1, 8], True)
    assert (y["name"], y["is_input"], y["location"]) == ("y", False, "host")


@pytest.mark.parametrize("octets", [b"", b"junk", b"\0" * 64])
def test_what_is_no_plan_is_refused(octets: bytes) -> None:
    with pytest.raises(trtscope.TrtscopeError, match="plan"):
        core.plan_info(octets)
    with pytest.raises(trtscope.TrtscopeError, match=r"^engine 'm': "):
        core.load_plan(octets, "m")


def test_a_zero_byte_in_a_text_is_refused() -> None:
    for setter in (
        core.set_profile_level,
        core.set_profile_format,
        core.set_profile_path_prefix,
        core.set_profile_filter,
    ):
        with pytest.raises(trtscope.TrtscopeError, match=r"setting 'ab\.\.\.': holds a zero byte"):
            setter("ab\0c")
    with pytest.raises(trtscope.TrtscopeError, match="zero byte after 1 octets"):
        core.load_plan(PLAN, "m\0")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a str, got bytes"):
        core.set_profile_filter(b"*")


@pytest.mark.parametrize("calls", [2**31, -(2**31) - 1, 2**64, 10**30])
def test_a_sample_interval_that_no_int_holds_is_refused(calls: int) -> None:
    with pytest.raises(trtscope.TrtscopeError, match=f"sample interval {calls} is out of range"):
        core.set_profile_sample_interval(calls)
    with pytest.raises(TypeError):
        core.set_profile_sample_interval(1.5)


def test_a_folder_s_octets_arrive_as_they_are() -> None:
    before = trtscope.get_profile_path_prefix()
    try:
        core.set_profile_path_prefix(os.fsdecode(b"/tmp/\xff"))
        # In JSON, what is no UTF-8 is replaced.
        assert trtscope.get_profile_path_prefix() == "/tmp/\N{REPLACEMENT CHARACTER}"
    finally:
        core.set_profile_path_prefix(before)


def test_errors_are_of_the_thread_that_failed() -> None:
    said: list[str] = []

    def fail(level: str) -> None:
        for _ in range(200):
            try:
                core.set_profile_level(level)
            except trtscope.TrtscopeError as error:
                said.append(f"{level}: {error}")

    threads = [threading.Thread(target=fail, args=(name,)) for name in ("aaa", "bbb")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 400
    assert all(f"'{line[:3]}'" in line for line in said), said[0]
