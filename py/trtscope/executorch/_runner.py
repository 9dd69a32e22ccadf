"""Runs ``.pte`` programs in stock ``executorch.runtime``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError
from trtscope._folders import make_folder
from trtscope._needs import require
from trtscope.executorch import _library

if TYPE_CHECKING:
    from executorch.runtime import Method, Program


class PteRunner:
    """A loaded program: call it like the model.

    A program's methods share memory, so calls must not overlap in several threads.
    """

    def __init__(
        self,
        path: Path,
        program: Program,
        method: str | None,
        options: dict[str, object],
        *,
        etdump: bool = False,
    ) -> None:
        self.path = path
        self.program = program
        self.method_name = method or self._only_method()
        self._options = options
        self._etdump = etdump
        self._written: Path | None = None
        self._methods: dict[str, Method] = {}
        self.method(self.method_name)

    def _only_method(self) -> str:
        known = sorted(self.program.method_names)
        if "forward" in known or len(known) == 1:
            return "forward" if "forward" in known else known[0]
        raise PackageError(f"{self.path} has several methods; choose one: {', '.join(known)}")

    def method(self, name: str) -> Method:
        """The method, loaded when first asked for.

        Raises:
            PackageError: the program has no such method, or it cannot be loaded.
        """
        if name not in self._methods:
            known = sorted(self.program.method_names)
            if name not in known:
                raise PackageError(f"{self.path} has no method {name!r}; it has {', '.join(known)}")
            with _library.load_options(self._options):
                _library.clear_last_error()
                try:
                    loaded = self.program.load_method(name)
                except (RuntimeError, MemoryError) as error:
                    raise PackageError(
                        f"{self.path}: method {name!r} cannot be loaded: {_reason(error)}"
                    ) from error
            assert loaded is not None
            self._methods[name] = loaded
        return self._methods[name]

    def __call__(self, *inputs: Any, method: str | None = None) -> Any:
        """What the method gives: its result, or a tuple of several."""
        loaded = self.method(method or self.method_name)
        _library.clear_last_error()
        try:
            results = loaded.execute(inputs)
        except RuntimeError as error:
            raise TrtscopeError(f"{self.path} failed: {_reason(error)}") from error
        return results[0] if len(results) == 1 else tuple(results)

    def write_etdump(self, path: str | os.PathLike[str]) -> Path:
        """Writes the trace of the calls so far, once: ExecuTorch ends a trace by writing it.

        Raises:
            TrtscopeError: the program was not loaded with ``etdump=True``, its trace was written
                already, or the file cannot be.
        """
        path = Path(path)
        if not self._etdump:
            raise TrtscopeError(f"{path}: there is no trace to write; load with etdump=True")
        if self._written is not None:
            raise TrtscopeError(
                f"{path}: the trace went to {self._written} already, and is written once; load the "
                "program again for another"
            )
        make_folder(path.parent)
        try:
            with open(path, "ab"):
                pass  # whether it can be written is known before the trace is ended
        except OSError as error:
            raise TrtscopeError(f"{path}: cannot be written: {error.strerror}") from error
        self._written = path
        try:
            self.program.write_etdump_result_to_file(os.fspath(path), os.devnull)
        except RuntimeError as error:
            raise TrtscopeError(f"{path}: cannot be written: {error}") from error
        return path


def _reason(error: Exception) -> str:
    message = _library.last_error()
    return message or str(error)


def load(
    path: str | os.PathLike[str],
    *,
    method: str | None = None,
    etdump: bool = False,
    **options: object,
) -> PteRunner:
    """Loads a program into ``executorch.runtime``, with the delegate.

    Args:
        path: of the program.
        method: which of its methods calls go to; by default ``forward``, or the only one.
        etdump: trace calls; the trace grows until it is written.
        options: of the method, over those embedded in the program: ``profile_level``,
            ``profile_format``, ``profile_path_prefix``, ``profile_filter`` (a glob over engine
            ids), ``weight_streaming_budget``, ``target_device``.

    Raises:
        PackageError: the file is not there or no program, or an engine in it cannot be loaded.
    """
    path = Path(path)
    if not path.is_file():
        raise PackageError(f"{path} does not exist")
    _library.activate()
    require("torch")  # which ExecuTorch's own bindings import
    from executorch.runtime import Runtime

    try:
        program = Runtime.get().load_program(path, enable_etdump=etdump)
    except (RuntimeError, MemoryError) as error:  # sizes in a damaged file may be anything
        raise PackageError(f"{path} is no ExecuTorch program: {error}") from error
    return PteRunner(path, program, method, options, etdump=etdump)
