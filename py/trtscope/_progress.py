"""Progress of long work, on the standard error stream, and silence for what others say there."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def enabled(progress: bool | None) -> bool:
    """``progress``, or whether somebody watches the standard error stream."""
    return sys.stderr.isatty() if progress is None else progress


def each(items: Sequence[T], what: str, *, progress: bool | None) -> Iterator[T]:
    """Yields the items under a bar (in a terminal) or a line each (elsewhere)."""
    if not enabled(progress):
        yield from items
        return
    if not sys.stderr.isatty():
        for i, item in enumerate(items, 1):
            print(f"{what} {i}/{len(items)}: {item_name(item)}", file=sys.stderr, flush=True)
            yield item
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[item]}"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=len(items), item="")
        for item in items:
            bar.update(task, item=item_name(item))
            yield item
            bar.advance(task)


def item_name(item: object) -> str:
    return str(getattr(item, "name", item))


@contextmanager
def step(what: str, *, progress: bool | None) -> Iterator[None]:
    """Says what is being done while it is done, and how long it took."""
    if not enabled(progress):
        yield
        return
    start = time.monotonic()
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
    else:
        print(f"{what}...", file=sys.stderr, flush=True)
        yield
    print(f"{what}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Silences warnings of the libraries below about themselves, which no user can act on."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
