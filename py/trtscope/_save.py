"""``trtscope.save`` and ``trtscope.load``: AOTInductor packages with engines inside."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtscope._errors import PackageError, TrtscopeError, one_line
from trtscope._inputs import InputCheck, describe_inputs
from trtscope._needs import require
from trtscope._package import INPUTS_KEY, Package, check_libraries, read_package
from trtscope._whole_file import written_whole

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from trtscope.executorch._runner import PteRunner


def save(
    program: ExportedProgram,
    path: str | os.PathLike[str],
    inputs: Sequence[torch.Tensor] | None = None,
    *,
    progress: bool | None = None,
    etrecord: bool = False,
) -> Path:
    """Compiles a program with AOTInductor into a package; engines inside stay engines.

    What the inputs look like is recorded in the package, so that ``trtscope profile`` can make
    some of its own.

    Args:
        program: of ``trtscope.compile``, or of ``torch.export.export``.
        path: of the package; must end in ``.pt2``, or in ``.pte`` for ExecuTorch: see
            ``trtscope.executorch.save``.
        inputs: typical inputs, for the record (sizes, and the range of integers); by default
            those that the program was exported with.
        progress: whether to show progress; by default if standard error is a terminal.
        etrecord: only for a ``.pte``: also write the record that names nodes and source lines.

    Returns:
        The package's path.

    Raises:
        TrtscopeError: there is no C++ compiler, or the compilation failed.
    """
    require("torch")
    import torch
    from torch.export import ExportedProgram

    from trtscope import _libraries
    from trtscope._progress import step

    path = Path(path)
    if path.suffix == ".pte":
        from trtscope.executorch import save as save_pte

        return save_pte(program, path, etrecord=etrecord)
    if path.suffix != ".pt2":
        raise TrtscopeError(f"a package's name must end in .pt2 or .pte: {path}")
    if not isinstance(program, ExportedProgram):
        raise TrtscopeError(
            f"save takes the result of trtscope.compile or torch.export.export, not a "
            f"{type(program).__name__}"
        )
    if not any(shutil.which(c) for c in (os.environ.get("CXX", "g++"), "g++", "clang++")):
        raise TrtscopeError(
            "AOTInductor needs a C++ compiler to make a package and found none: install g++ or "
            "name one in CXX"
        )
    _libraries.load_torch()
    metadata = {}
    if (record := describe_inputs(program, inputs)) is not None:
        metadata[INPUTS_KEY] = json.dumps(record, separators=(",", ":"))
    with written_whole(path) as part:
        try:
            with step(f"Compiling {path.name}", progress=progress), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch._inductor.aoti_compile_and_package(
                    program,
                    package_path=os.fspath(part),
                    inductor_configs={"aot_inductor.metadata": metadata},
                )
        except Exception as error:
            raise TrtscopeError(
                f"AOTInductor cannot compile {path.name}: {one_line(error)}"
            ) from error
    return path


# What AOTInductor's loader is told: how many calls may run at once, and which CUDA device.
_RUNNERS = 1
_DEVICE_OF_THE_PACKAGE = -1


class Runner:
    """A loaded package: call it like the model.

    Inputs that the code was not compiled for are refused with a ``TrtscopeError`` where the
    package has a record of them (``trtscope.save`` makes one).  Calls may come from several
    threads; those of one engine run one after another.
    """

    def __init__(self, package: Package, compiled: Any) -> None:
        self._package = package
        self._compiled = compiled
        record = package.inputs or []
        # A package of several models has the record of one, nobody knows which.
        known = package.inputs is not None and len(package.models) == 1
        self._check = InputCheck(str(package.path), record) if known else None
        self._dense_args = [bool(e.get("dense")) for e in record if e.get("keyword") is None]
        self._dense_kwargs = {
            str(e["keyword"]) for e in record if e.get("keyword") and e.get("dense")
        }

    @property
    def path(self) -> Path:
        return self._package.path

    @property
    def package(self) -> Package:
        """What is inside, as ``trtscope inspect`` shows it."""
        return self._package

    def unusual_values(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
        """See ``InputCheck.unusual_values``; None for a package without a record."""
        return None if self._check is None else self._check.unusual_values(args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._check is not None:
            self._check(args, kwargs)
        # Compiled code takes the strides it was compiled with for granted and reads wrong numbers
        # through others; where the package says that they were dense, they are made so.
        if any(self._dense_args[: len(args)]):
            args = tuple(
                _densely(a) if dense else a
                for a, dense in zip_longest(args, self._dense_args[: len(args)], fillvalue=False)
            )
        if self._dense_kwargs and kwargs:
            kwargs = {k: _densely(v) if k in self._dense_kwargs else v for k, v in kwargs.items()}
        return self._compiled(*args, **kwargs)

    def __repr__(self) -> str:
        return f"trtscope.Runner({str(self.path)!r}, {len(self._package.engines)} engines)"


def _densely(value: Any) -> Any:
    contiguous = getattr(value, "contiguous", None)
    return value if contiguous is None else contiguous()


def load(
    path: str | os.PathLike[str], *, model: str | None = None, **options: Any
) -> Runner | PteRunner:
    """Loads an AOTInductor package, of any making, and the runtime that its engines need; or an
    ExecuTorch program.

    Args:
        path: of the package.
        model: which of its models (methods), if it holds several.
        options: only for a ``.pte``: see ``trtscope.executorch.load``.

    Raises:
        PackageError: the file is not there, is no compiled package, or an engine in it cannot be
            loaded; the message says what was found.
    """
    if Path(path).suffix == ".pte":
        from trtscope.executorch import load as load_pte

        return load_pte(path, model=model, **options)
    if options:
        raise TrtscopeError(f"{', '.join(options)}: for a .pte alone; {path} is none")
    return load_pt2(path, model)


def load_pt2(path: str | os.PathLike[str], model: str | None = None) -> Runner:
    """``load`` for a ``.pt2`` package alone."""
    package = read_package(path)
    if package.kind != "aotinductor":
        raise PackageError(
            f"{package.path} holds an exported program, not a compiled one: make a package of it "
            f"with trtscope.save(torch.export.load({str(package.path)!r}), ...)"
        )
    for missing in package.missing:
        raise PackageError(f"{package.path}: {missing}")
    for engine in package.engines:
        if engine.error is not None:
            raise PackageError(f"{package.path}: {engine.file}: {engine.error}")
    if model is None:
        if len(package.models) > 1 and "model" not in package.models:
            raise PackageError(
                f"{package.path} holds several models; choose one: {', '.join(package.models)}"
            )
        model = "model" if "model" in package.models else package.models[0]
    elif model not in package.models:
        raise PackageError(
            f"{package.path} holds no model {model!r}; it holds {', '.join(package.models)}"
        )

    check_libraries(package)
    from trtscope import _libraries

    _libraries.load_torch()
    import torch
    from torch.export.pt2_archive._package import AOTICompiledModel

    try:
        # Not torch's own load_package: where that fails it takes the package to be an outdated
        # one, says so, and loads it once more.
        compiled = AOTICompiledModel(
            torch._C._aoti.AOTIModelPackageLoader(
                os.fspath(package.path), model, False, _RUNNERS, _DEVICE_OF_THE_PACKAGE
            )
        )
    except RuntimeError as error:
        raise PackageError(f"{package.path} cannot be loaded: {one_line(error)}") from error
    return Runner(package, compiled)
