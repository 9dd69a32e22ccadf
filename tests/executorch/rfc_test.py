"""The RFC's integration tests and success criteria, each under its own words."""

from __future__ import annotations

import json
from pathlib import Path

import native
import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from programs import MIXED_INPUT, SMALL_INPUTS, Mixed, Small

import trtscope
import trtscope.executorch
from trtscope.executorch import Timeline, read_timeline

PHASES = ("input_binding", "shape_inference", "output_binding", "enqueue_host")


def trace(path: Path, out: Path, level: str, *inputs: torch.Tensor, calls: int = 3) -> Path:
    runner = trtscope.load(path, profile_level=level, etdump=True)
    for _ in range(calls):
        runner(*inputs)
    return runner.write_etdump(out / f"{level}.etdp")


def trace_natively(path: Path, out: Path, level: str) -> Path:
    """The same by the native reference runner, of ``MIXED_INPUT``."""
    np.save(out / "x.npy", MIXED_INPUT.numpy())
    result = native.run(
        "--model", path, "--inputs", out / "x.npy", "--outputs", out, "--iterations", 3,
        "--profile-level", level, "--etdump", out / "native.etdp",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return out / "native.etdp"


@pytest.fixture(scope="module", params=["stock Python", "native reference runner"])
def timeline(request: pytest.FixtureRequest, mixed: Path, folder: Path) -> Timeline:
    """What the success criteria are asked of."""
    etdump = (
        trace(mixed, folder, "layers", MIXED_INPUT)
        if request.param == "stock Python"
        else trace_natively(mixed, folder, "layers")
    )
    return read_timeline(etdump, mixed.with_suffix(".etrecord"))


def test_an_engine_only_pte_emits_delegate_and_phase_events_and_preserves_numerical_output(
    small: Path, tmp_path: Path
) -> None:
    runner = trtscope.load(small, profile_level="phases", etdump=True)
    for got, expected in zip(runner(*SMALL_INPUTS), Small()(*SMALL_INPUTS), strict=True):
        torch.testing.assert_close(got, expected)
    inspector = Inspector(etdump_path=str(runner.write_etdump(tmp_path / "t.etdp")))
    events = {e.name: e for b in inspector.event_blocks for e in b.events}
    assert {"torchtrt.delegate", *(f"torchtrt.{p}" for p in PHASES)} <= set(events)
    assert "DELEGATE_CALL" in events
    metadata = json.loads(events["torchtrt.delegate"]._delegate_debug_metadatas[0])
    assert metadata["clock"] == "host"
    assert metadata["call"] == 1
    assert "in_x[2, 8]" in metadata["shapes"]


def test_a_mixed_pte_emits_every_delegate_type_in_one_etdump_and_equals_eager(
    mixed: Path, timeline: Timeline
) -> None:
    kinds = [step.what for step in timeline.steps]
    assert kinds.count("TensorRTBackend") == 2
    assert "XnnpackBackend" in kinds
    assert "cumsum.out" in kinds
    runner = trtscope.load(mixed, profile_level="layers", etdump=True)
    for x in (MIXED_INPUT, torch.randn(16, 8), torch.randn(1, 8)):
        torch.testing.assert_close(runner(x), Mixed()(x))


def test_enabling_detail_does_not_suppress_other_delegates_events(
    mixed: Path, tmp_path: Path
) -> None:
    def others(level: str) -> list[str]:
        inspector = Inspector(etdump_path=str(trace(mixed, tmp_path, level, MIXED_INPUT)))
        return sorted(
            {
                e.name
                for b in inspector.event_blocks
                for e in b.events
                if not e.name.startswith("torchtrt.")
            }
        )

    assert others("off") == others("layers")
    assert any("GEMM" in name or "Fully Connected" in name for name in others("off"))


def test_inspector_shows_op_types_and_stack_traces(mixed: Path, tmp_path: Path) -> None:
    inspector = Inspector(
        etdump_path=str(trace(mixed, tmp_path, "layers", MIXED_INPUT)),
        etrecord=str(mixed.with_suffix(".etrecord")),
    )
    found = 0
    for event in (e for b in inspector.event_blocks for e in b.events):
        if event.name.startswith("torchtrt.layer/"):
            # A layer's name alone does not say which nodes it came from.
            assert not event.debug_handles
        elif event.name.startswith("torchtrt."):
            found += 1
            assert any("linear" in op for op in event.op_types), event.name
            assert event.stack_traces
    assert found >= 10


def test_a_trace_is_made_without_changing_model_results(mixed: Path, tmp_path: Path) -> None:
    """To the last bit, at every level, in both runners."""
    expected = trtscope.load(mixed, profile_level="off")(MIXED_INPUT)
    for level in ("off", "delegate", "phases", "layers"):
        runner = trtscope.load(mixed, profile_level=level, etdump=True)
        for _ in range(2):
            assert torch.equal(runner(MIXED_INPUT), expected)
        trace_natively(mixed, tmp_path, level)
        assert np.array_equal(np.load(tmp_path / "output_0.npy"), expected.numpy())


def test_disabled_mode_has_no_callbacks_or_file_output(mixed: Path, tmp_path: Path) -> None:
    """With a format and a folder given: the level alone says whether anything is written."""
    folder = tmp_path / "files"
    for format_ in ("perfetto", "trex"):
        trtscope.reset_timing()
        runner = trtscope.load(
            mixed, profile_level="off", profile_format=format_, profile_path_prefix=folder
        )
        runner(MIXED_INPUT)
        del runner
        trtscope.flush_traces()
        assert not folder.exists()
        assert not any(e["calls"] for e in trtscope.timing_json()["engines"])
        result = native.run(
            "--model", mixed, "--profile-level", "off", "--profile-format", format_,
            "--profile-path", folder,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert not folder.exists()


def test_level_off_emits_no_event_of_ours(mixed: Path, tmp_path: Path) -> None:
    inspector = Inspector(etdump_path=str(trace(mixed, tmp_path, "off", MIXED_INPUT)))
    names = {e.name for b in inspector.event_blocks for e in b.events}
    assert not any(n.startswith("torchtrt.") for n in names)
    assert "DELEGATE_CALL" in names


@pytest.mark.parametrize("level", ["off", "delegate", "phases", "layers"])
def test_the_executorch_python_runtime_wheel_can_enable_the_selected_profile_level(
    small: Path, tmp_path: Path, level: str
) -> None:
    """In a stock executorch.runtime, which has no way to pass options of its own."""
    from executorch.runtime import Runtime

    trtscope.executorch.activate()
    program = Runtime.get().load_program(small, enable_etdump=True)
    with trtscope.executorch.load_options({"profile_level": level}):
        method = program.load_method("forward")
    method.execute(SMALL_INPUTS)
    program.write_etdump_result_to_file(str(tmp_path / "t.etdp"), "/dev/null")
    inspector = Inspector(etdump_path=str(tmp_path / "t.etdp"))
    names = {e.name for b in inspector.event_blocks for e in b.events}
    seen = [
        "torchtrt.delegate" in names,
        "torchtrt.enqueue_host" in names,
        any(n.startswith("torchtrt.layer/") for n in names),
    ]
    depth = ("off", "delegate", "phases", "layers").index(level)
    assert seen == [True] * depth + [False] * (3 - depth)


def test_which_regions_ran(timeline: Timeline) -> None:
    ours = [s for s in timeline.steps if s.what == "TensorRTBackend"]
    assert [s.engine.split("-")[0] for s in ours] == [
        "_run_on_acc_0_engine",
        "_run_on_acc_1_engine",
    ]
    assert all(len(s.host_ms) == 3 for s in timeline.steps)


def test_how_much_host_time_each_delegate_call_consumed(timeline: Timeline) -> None:
    assert len(timeline.method_ms) == 3
    assert all(t > 0 for s in timeline.steps if s.is_region for t in s.host_ms)
    assert sum(sum(s.host_ms) for s in timeline.steps) <= sum(timeline.method_ms)


def test_how_each_call_splits_into_binding_staging_enqueue_and_synchronization(
    timeline: Timeline,
) -> None:
    for step in timeline.steps:
        if step.what != "TensorRTBackend":
            continue
        assert {"input_binding", "output_binding", "enqueue_host"} <= set(step.phases)
        assert len(step.phases["shape_inference"]) == 1, "shapes did not change after the first"
        assert sum(map(sum, step.phases.values())) <= sum(step.host_ms)


def test_which_layers_dominate(timeline: Timeline) -> None:
    rows = [r for r in timeline.layer_rows() if r["engine"].startswith("_run_on_acc_0")]
    assert any("linear" in r["layer"] for r in rows)
    assert all(r["count"] == 3 for r in rows)
    enqueue = sum(timeline.steps[0].phases["enqueue_host"])
    assert 0 < sum(r["total_ms"] for r in rows) <= enqueue


def test_what_time_is_spent_between_delegates(timeline: Timeline) -> None:
    for step in timeline.steps:
        assert len(step.gap_ms) == 3
        assert all(g >= 0 for g in step.gap_ms)
    whole = sum(timeline.method_ms)
    steps = sum(sum(s.host_ms) for s in timeline.steps)
    gaps = sum(sum(s.gap_ms) for s in timeline.steps) + sum(timeline.tail_ms)
    assert steps + gaps == pytest.approx(whole, rel=0.01)


def test_events_are_associated_with_exported_graph_regions(timeline: Timeline) -> None:
    first = timeline.steps[0]
    assert "aten.linear.default" in first.nodes
    assert "aten.sigmoid.default" in first.nodes
    assert first.source.startswith("programs.py:")
    cumsum = next(s for s in timeline.steps if s.what == "cumsum.out")
    assert cumsum.nodes == ["aten.cumsum.default"]


def test_one_table_and_one_trace_answer_it_all(timeline: Timeline, tmp_path: Path) -> None:
    table = timeline.table()
    for word in ("TensorRTBackend", "XnnpackBackend", "cumsum.out", "enqueue_host", "gap before",
                 "aten.linear.default", "programs.py:", "between them"):  # fmt: skip
        assert word in table
    events = json.loads(timeline.write_trace(tmp_path / "t.trace").read_text())["traceEvents"]
    names = {e["name"] for e in events if e["ph"] == "X"}
    assert {
        "Method::execute",
        "TensorRTBackend",
        "XnnpackBackend",
        "torchtrt.enqueue_host",
    } <= names
    assert any(n.startswith("torchtrt.layer/") for n in names)
    assert all(e["dur"] >= 0 for e in events if e["ph"] == "X")
