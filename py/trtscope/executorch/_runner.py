"""Runs ``.pte`` programs in stock ``executorch.runtime``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError
from trtscope._folders import make_folder
from trtscope._needs import require
from trtscope._progress import quiet
from trtscope.executorch import _library
from trtscope.executorch._inputs import MethodInputs
from trtscope.executorch._program import ProgramFile, read_program

if TYPE_CHECKING:
    from executorch.runtime import Method, Program


class PteRunner:
    """A loaded program: call it like the model.

    A program's methods share memory, so calls must not overlap in several threads.
    """

    def __init__(
        self,
        file: ProgramFile,
        program: Program,
        method: str | None,
        options: dict[str, object],
        *,
        etdump: bool = False,
    ) -> None:
        self.path = file.path
        self.program = program
        self.method_name = method or self._only_method()
        self._options = options
        self._etdump = etdump
        self._written: Path | None = None
        self._methods: dict[str, Method] = {}
        self._described = {m.name: m for m in file.methods}
        self._inputs = {m.name: MethodInputs(file.path, m.name, m.inputs) for m in file.methods}
        self.method(self.method_name)

    @property
    def has_engine(self) -> bool:
        """Whether ``method_name`` has an engine of ``TensorRTBackend``."""
        delegates = self._described[self.method_name].delegates
        return any(d.backend == _library.BACKEND for d in delegates)

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
            with (
                _library.load_options(self._options),
                _library.errors_as(PackageError, f"{self.path}: method {name!r} cannot be loaded"),
            ):
                loaded = self._load(name)
            self._methods[name] = loaded
        return self._methods[name]

    def _load(self, name: str) -> Method:
        from executorch.runtime import Runtime

        try:
            loaded = self.program.load_method(name)
        except RuntimeError as error:
            known = Runtime.get().operator_registry.operator_names
            if missing := sorted(set(self._described[name].operators) - known):
                raise RuntimeError(
                    f"ExecuTorch's kernels do not have {', '.join(missing)}"
                ) from error
            raise
        assert loaded is not None
        return loaded

    def __call__(self, *inputs: Any, method: str | None = None, **keywords: Any) -> Any:
        """What the method gives: its result, or a tuple of several.

        Raises:
            TrtscopeError: an input is not what the method takes, or the call failed.
        """
        if keywords:
            raise TrtscopeError(
                f"{self.path}: got keywords {', '.join(keywords)}; a .pte takes its inputs by "
                "position"
            )
        name = method or self.method_name
        loaded = self.method(name)
        ready = self._inputs[name](inputs)
        try:
            with _library.errors_as(TrtscopeError, f"{self.path}, method {name!r}"):
                results = loaded.execute(ready)
        except TrtscopeError as error:
            if unlike := self._inputs[name].unlike_planned(ready):
                raise TrtscopeError(f"{error}; {unlike}") from error.__cause__
            raise
        return results[0] if len(results) == 1 else tuple(results)

    def made_up_inputs(self) -> list[Any]:
        """Random inputs of the planned sizes for ``method_name``; whole numbers are zero.

        Raises:
            TrtscopeError: an input is no tensor, or of a type that is not known.
        """
        return self._inputs[self.method_name].made_up()

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


def load(
    path: str | os.PathLike[str],
    *,
    method: str | None = None,
    model: str | None = None,
    etdump: bool = False,
    **options: object,
) -> PteRunner:
    """Loads a program into ``executorch.runtime``, with the delegate.

    Args:
        path: of the program.
        method: which of its methods calls go to; by default ``forward``, or the only one.
        model: the same, as ``trtscope.load`` names it.
        etdump: trace calls; the trace grows until it is written.
        options: of the method, over those embedded in the program: ``profile_level``,
            ``profile_format``, ``profile_path_prefix``, ``profile_filter`` (a glob over engine
            ids), ``weight_streaming_budget``, ``target_device``.

    Raises:
        PackageError: the file is not there or no program, or an engine in it cannot be loaded.
        TrtscopeError: an argument is not of these.
    """
    path = Path(path)
    if method is not None and model is not None and method != model:
        raise TrtscopeError(
            f"{path}: method={method!r} and model={model!r} name the same thing; give one of them"
        )
    file = read_program(path)  # what damage there is, ExecuTorch does not survive
    require("torch")  # which ExecuTorch's own bindings import
    with quiet():
        from executorch.runtime import Runtime

    with _library.errors_as(PackageError, f"{path} is no ExecuTorch program"):
        program = Runtime.get().load_program(path, enable_etdump=bool(etdump))
    return PteRunner(file, program, method or model, options, etdump=etdump)
