"""Plain text tables and figures for people."""

from __future__ import annotations

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: numbers to the right, text to the left.  Control characters are escaped,
    since names in packages may hold any."""
    cells = [[_cell(c) for c in row] for row in rows]
    right = [
        bool(rows) and all(isinstance(row[i], (int, float)) for row in rows)
        for i in range(len(header))
    ]
    widths = [
        max(len(header[i]), *(len(row[i]) for row in cells)) if cells else len(header[i])
        for i in range(len(header))
    ]
    lines = []
    for line in ([str(h) for h in header], *cells):
        parts = [
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return printable(str(value))


def printable(text: str) -> str:
    """The text on one line, without characters that a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def name(text: str) -> str:
    """A name from a package, on one line of a terminal: as long as the core's own tables show ids
    (core/profiling/report.cc)."""
    longest = 100
    return printable(text if len(text) <= longest else text[:longest] + "...")


def octets(size: int) -> str:
    """``7.1 MB``."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def shape(dims: Sequence[object]) -> str:
    """``[s0, 384]``."""
    return "[" + ", ".join(str(d) for d in dims) + "]"
