"""Processes seen and switched from outside: the client of core/profiling/control.h, and the switch
that lets a process be seen."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from trtscope import _libraries
from trtscope._errors import TrtscopeError

_TIMEOUT_S = 10.0


def open_control() -> Path:
    """Lets ``trtscope top`` and ``trtscope attach``, run by the same user, reach this process;
    ``TRTSCOPE_CONTROL=1`` in the environment does the same.  Returns the socket's path.

    Raises:
        TrtscopeError: the folder of the sockets is not this user's alone, or cannot be made.
    """
    return Path(_libraries.core().start_control())


def close_control() -> None:
    """Takes back ``open_control``; at the process's end this happens by itself."""
    _libraries.core().stop_control()


def reachable() -> list[int]:
    """Processes of this user that answer."""
    found = []
    for path in Path(_libraries.core().control_folder()).glob("*.sock"):
        try:
            _ask(path, "config")
        except (OSError, TrtscopeError):
            continue  # of a process that was killed, or that is stuck
        found.append(int(path.stem))
    return sorted(found)


def ask(pid: int, request: str) -> str:
    """The answer of a process.

    Raises:
        TrtscopeError: it does not answer, or refuses the request; the message says why.
    """
    path = Path(_libraries.core().control_folder()) / f"{pid}.sock"
    try:
        return _ask(path, request)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        if not Path(f"/proc/{pid}").exists():
            raise TrtscopeError(f"there is no process {pid}") from error
        raise TrtscopeError(
            f"process {pid} cannot be reached: start it with TRTSCOPE_CONTROL=1, or call "
            f"trtscope.open_control() in it, as the same user ({path} was looked for)"
        ) from error
    except OSError as error:
        raise TrtscopeError(f"process {pid} does not answer on {path}: {error}") from error


def ask_json(pid: int, request: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(ask(pid, request))
    return answer


def _ask(path: Path, request: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        connection.connect(os.fspath(path))
        connection.sendall(request.encode() + b"\n")
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    status, _, text = b"".join(parts).decode("utf-8", "replace").partition("\n")
    if status == "ok":
        return text
    raise TrtscopeError(text or f"{path}: expected an answer, got {status!r}")
