"""Puts a ``Timeline`` together: from an ETDump, and the program's ETRecord when there is one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trtscope._errors import PackageError
from trtscope.executorch._etdump import Event, read_etdump
from trtscope.executorch._etrecord import Instruction, MethodRecord, read_etrecord
from trtscope.executorch._library import BACKEND
from trtscope.executorch._timeline import Failure, Span, Step, Timeline

_PREFIX = "torchtrt."
_DELEGATE = "torchtrt.delegate"
_LAYER = "torchtrt.layer/"
_CALL_OF_DELEGATE, _CALL_OF_OPERATOR = "DELEGATE_CALL", "OPERATOR_CALL"
_NATIVE_CALL = "native_call_"
_RUN, _METHOD = "Execute", "Method::execute"
_NS = 1e6  # nanoseconds in a millisecond

_UNKNOWN = Instruction((), "", "")


def read_timeline(
    etdump: str | os.PathLike[str],
    etrecord: str | os.PathLike[str] | None = None,
    *,
    method: str | None = None,
) -> Timeline:
    """Reads a trace.

    Args:
        etdump: the trace.
        etrecord: of the program; without it steps have no nodes and no source.
        method: whose calls to read.  By default those of all methods: calls of ``TensorRTBackend``
            say whose they are, others are known by their instructions; ``method`` says it where
            several methods of the ETRecord have the same.

    Raises:
        PackageError: a file is not there, is no such file or damaged; they are of different
            programs; or which method a call was of cannot be told.
    """
    for path in (etdump, etrecord):
        if path is not None:
            _require_file(Path(path))
    records = None if etrecord is None else read_etrecord(Path(etrecord))
    if records is not None and method is not None and method not in records:
        raise PackageError(
            f"{etrecord} has no method {method!r}; it has {', '.join(sorted(records))}"
        )
    reader = _Reader(Path(etdump), etrecord, records, method)
    for number, run in enumerate((r for r in read_etdump(Path(etdump)) if r.name == _RUN), 1):
        reader.add(number, run.events)
    return reader.timeline()


def _require_file(path: Path) -> None:
    if path.is_dir():
        raise PackageError(f"{path} is a folder; expected a file")
    if not path.is_file():
        raise PackageError(f"{path} does not exist")


@dataclass
class _Call:
    """A step of a run: the event of the instruction, and those that its delegate logged."""

    event: Event
    operator: str  # as ExecuTorch calls it; empty for a delegate
    inside: list[Event]

    @property
    def backend(self) -> str:
        """As the events tell it, which is all that is known without an ETRecord."""
        ours = any(e.identifier.startswith(_PREFIX) for e in self.inside)
        return BACKEND if ours else _CALL_OF_DELEGATE


class _Reader:
    def __init__(
        self,
        etdump: Path,
        etrecord: str | os.PathLike[str] | None,
        records: Mapping[str, MethodRecord] | None,
        method: str | None,
    ) -> None:
        self._etdump, self._etrecord = etdump, etrecord
        self._records, self._only = records, method
        self._timeline = Timeline()
        # By what it is, too: without an ETRecord two methods may have one number for two things.
        self._steps: dict[tuple[str, int, str], Step] = {}

    def timeline(self) -> Timeline:
        methods = list(dict.fromkeys(self._timeline.methods))
        self._timeline.steps = sorted(
            self._steps.values(), key=lambda s: (methods.index(s.method), s.instruction, s.what)
        )
        return self._timeline

    def add(self, number: int, events: list[Event]) -> None:
        """``number`` counts the runs of the trace, from 1."""
        if not events:
            return  # its inputs were refused
        calls = self._calls(number, events)
        name = self._method_of(number, calls)
        if name is None:
            return
        whole = next((e for e in events if e.name == _METHOD), None)
        # ExecuTorch logs a call as a whole only where it ended well.
        if whole is None:
            self._add_failure(name, events, calls)
        else:
            self._add_run(number, name, whole, calls)

    def _calls(self, number: int, events: Iterable[Event]) -> list[_Call]:
        """The steps of a run: what is inside one is logged before it."""
        calls = []
        operators: dict[int, str] = {}
        inside: list[Event] = []
        for event in events:
            if event.identifier:
                inside.append(event)
            elif event.name.startswith(_NATIVE_CALL):
                operators[event.instruction] = event.name.removeprefix(_NATIVE_CALL)
            elif event.name == _CALL_OF_DELEGATE:
                calls.append(_Call(event, "", inside))
                inside = []
            elif event.name == _CALL_OF_OPERATOR:
                operator = operators.get(event.instruction, _CALL_OF_OPERATOR)
                calls.append(_Call(event, operator, []))
        if inside:
            raise self._damaged(
                f"call {number}: {inside[0].identifier!r} of instruction {inside[0].instruction} "
                "is in no call of a delegate"
            )
        return calls

    def _method_of(self, number: int, calls: list[_Call]) -> str | None:
        """The method's name; empty where it is not known, None where it was not asked for."""
        said = next((n for call in calls for n in map(_method_said, call.inside) if n), "")
        if self._records is None:
            if self._only is None:
                return said
            return self._only if said in ("", self._only) else None
        fitting = [name for name, record in self._records.items() if _fits(calls, record)]
        if not fitting or (said and said not in fitting):
            of = f" of method {said!r}" if said else ""
            raise PackageError(
                f"{self._etrecord} is not of the program that {self._etdump} traced: call {number}"
                f"{of} ran other instructions than it has"
            )
        if self._only is not None:
            return self._only if said in ("", self._only) and self._only in fitting else None
        if not said and len(fitting) > 1:
            raise PackageError(
                f"{self._etdump} does not say whether call {number} was of "
                f"{' or '.join(sorted(fitting))}: name the method, or trace at level delegate or "
                "above"
            )
        return said or fitting[0]

    def _add_run(self, number: int, method: str, whole: Event, calls: list[_Call]) -> None:
        timeline = self._timeline
        timeline.method_ms.append(_ms(whole))
        timeline.methods.append(method)
        timeline.spans.append(_span(_METHOD, whole, "method", {"method": method}))
        before = whole.start_ns
        for call in sorted(calls, key=lambda c: c.event.start_ns):
            event = call.event
            if not before <= event.start_ns <= event.end_ns <= whole.end_ns:
                raise self._damaged(
                    f"call {number}: instruction {event.instruction} ran from {event.start_ns} to "
                    f"{event.end_ns} ns, expected it between {before} and {whole.end_ns}"
                )
            step = self._step(method, call)
            step.host_ms.append(_ms(event))
            step.gap_ms.append((event.start_ns - before) / _NS)
            for span in self._add_spans(method, call, {}):
                _add_inside(step, span)
            before = event.end_ns
        timeline.tail_ms.append((whole.end_ns - before) / _NS)

    def _add_failure(self, method: str, events: list[Event], calls: list[_Call]) -> None:
        """The trace has the steps of a call that failed, and no end of it."""
        failed = {"failed": True}
        for call in calls:
            self._add_spans(method, call, failed)
        first = min(e.start_ns for e in events)
        whole = events[0]._replace(start_ns=first, end_ns=max(e.end_ns for e in events))
        span = _span(f"{_METHOD} (failed)", whole, "method", {"method": method, **failed})
        self._timeline.spans.append(span)
        last = calls[-1] if calls else None
        self._timeline.failures.append(
            Failure(
                method,
                last.event.instruction if last else whole.instruction,
                self._what(method, last) if last else _METHOD,
            )
        )

    def _step(self, method: str, call: _Call) -> Step:
        key = method, call.event.instruction, self._what(method, call)
        if key not in self._steps:
            of = self._instruction(method, call)
            self._steps[key] = Step(*key, nodes=list(of.nodes), source=of.source)
        return self._steps[key]

    def _add_spans(self, method: str, call: _Call, more: dict[str, Any]) -> list[Span]:
        """Gives back those inside the call."""
        of = self._instruction(method, call)
        args = {"nodes": list(of.nodes), "source": of.source, **more}
        inside = [_inside_span(e, more) for e in call.inside]
        self._timeline.spans += [
            _span(self._what(method, call), call.event, "call", args),
            *inside,
        ]
        return inside

    def _instruction(self, method: str, call: _Call) -> Instruction:
        return (self._records or {}).get(method, {}).get(call.event.instruction, _UNKNOWN)

    def _what(self, method: str, call: _Call) -> str:
        return call.operator or self._instruction(method, call).backend or call.backend

    def _damaged(self, what: str) -> PackageError:
        return PackageError(f"{self._etdump} is damaged: {what}")


def _fits(calls: list[_Call], record: MethodRecord) -> bool:
    """Whether the calls may be those of the method: its delegates are where delegates ran."""
    delegates = {at for at, of in record.items() if of.backend}
    return {c.event.instruction for c in calls if not c.operator} <= delegates and not any(
        c.event.instruction in delegates for c in calls if c.operator
    )


def _method_said(event: Event) -> str:
    return str(_metadata(event).get("method", "")) if event.identifier == _DELEGATE else ""


def _inside_span(event: Event, more: dict[str, Any]) -> Span:
    args = _metadata(event) | more
    track = "gpu" if args.get("clock") == "gpu" else "inside"
    if track == "inside" and _is_layer(event.identifier):
        track = "layers"
    return _span(event.identifier, event, track, args)


def _add_inside(step: Step, span: Span) -> None:
    step.engine = step.engine or str(span.args.get("engine", ""))
    duration = span.duration_ns / _NS
    if _is_layer(span.name):
        step.layers.setdefault(span.name.removeprefix(_LAYER), []).append(duration)
    elif span.name != _DELEGATE:
        # The second of a name within a call is called " #2", and so on.
        phase = re.sub(r" #\d+$", "", span.name).removeprefix(_PREFIX)
        step.phases.setdefault(phase, []).append(duration)


def _is_layer(identifier: str) -> bool:
    """A layer of an engine of ours, or what another delegate says of its inside."""
    return identifier.startswith(_LAYER) or not identifier.startswith(_PREFIX)


def _span(name: str, event: Event, track: str, args: dict[str, Any]) -> Span:
    # Delegates say when an event of theirs ended, and may err.
    duration = max(event.end_ns - event.start_ns, 0)
    return Span(name, event.start_ns, duration, event.instruction, track, args)


def _ms(event: Event) -> float:
    return (event.end_ns - event.start_ns) / _NS


def _metadata(event: Event) -> dict[str, Any]:
    if not event.metadata:
        return {}
    try:
        value = json.loads(event.metadata)
    except ValueError:
        return {}  # another delegate's, in a form of its own
    return value if isinstance(value, dict) else {}
