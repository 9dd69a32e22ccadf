"""Reads the engines inside a ``.pt2`` package without running or loading any of it.

Both kinds of package are read: AOTInductor's (``data/aotinductor/...``) and torch.export's
(``models/...``), of this package's making or another's.  Each custom object lies in
``data/constants/custom_obj_N`` as TorchScript pickles it: a zip with one ``data.pkl``.  That is
read with an unpickler that makes nothing but strings, numbers and lists, so a hostile package can
do no harm.  Nothing here needs torch.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trtscope._errors import PackageError
from trtscope._state import EngineState

ENGINE_CLASS = "__torch__.torch.classes.tensorrt.Engine"
#: Key of this package's own entry in the metadata of an AOTInductor model (``_save.py``).
INPUTS_KEY = "trtscope_inputs"

_CHUNK = 1 << 20
_OBJECT = re.compile(r"(?:^|/)data/constants/(custom_obj_\d+)$")


@dataclass(frozen=True)
class PackagedEngine:
    """One engine object of a package.

    Attributes:
        file: its entry, such as ``custom_obj_0``.
        graph_names: what the compiled code calls it (several if it is shared).
        state: what it holds; None when it cannot be read, and ``error`` says why.
    """

    file: str
    graph_names: tuple[str, ...]
    state: EngineState | None
    error: str | None = None


@dataclass(frozen=True)
class Package:
    """What a package holds.

    Attributes:
        kind: ``aotinductor`` (compiled: it can be run) or ``export`` (a program alone).
        models: names of its models.
        other_objects: how many custom objects are no engines.
        missing: what a compiled model needs and the package does not hold, a sentence each.
        inputs: what ``trtscope.save`` recorded of the inputs (``_save.py``); None elsewhere.
        target: platform and device that the code was compiled for, as AOTInductor recorded it.
    """

    path: Path
    kind: str
    models: tuple[str, ...]
    engines: tuple[PackagedEngine, ...]
    other_objects: int
    inputs: list[dict[str, Any]] | None
    target: dict[str, str]
    missing: tuple[str, ...] = ()


def read_package(path: str | os.PathLike[str]) -> Package:
    """Reads what is inside a package.

    Raises:
        PackageError: the file is not there, or is no package.  An engine that cannot be read is
            no error: its ``error`` says what is wrong with it.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise PackageError(f"package {path} {what}")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(path, archive)
    except zipfile.BadZipFile as error:
        with path.open("rb") as file:
            first = file.read(8)
        raise PackageError(
            f"{path} is no .pt2 package: it is no whole zip archive ({error}; it begins "
            f"{first.hex(' ') or 'with nothing'})"
        ) from error
    except OSError as error:
        raise PackageError(f"cannot read package {path}: {error.strerror or error}") from error


def check_libraries(package: Package) -> None:
    """Compares compiled code with its checksum: torch loads it without, and damaged code ends the
    process.  Reads all of it.

    Raises:
        PackageError: a library is not as it was written.
    """
    try:
        with zipfile.ZipFile(package.path) as archive:
            for name in archive.namelist():
                if "data/aotinductor/" in name and name.endswith(".so"):
                    with archive.open(name) as entry:
                        while entry.read(_CHUNK):
                            pass
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise PackageError(f"{package.path} is damaged: {error}") from error


def _read(path: Path, archive: zipfile.ZipFile) -> Package:
    names = archive.namelist()
    compiled = sorted({m[1] for n in names if (m := re.search(r"data/aotinductor/([^/]+)/", n))})
    exported = sorted({m[1] for n in names if (m := re.search(r"(?:^|/)models/([^/]+)\.json$", n))})
    if not compiled and not exported:
        raise PackageError(
            f"{path} is no .pt2 package: it holds neither data/aotinductor nor models "
            f"({len(names)} entries)"
        )
    aliases: dict[str, list[str]] = {}
    named_by: dict[str, str] = {}
    inputs: list[dict[str, Any]] | None = None
    target: dict[str, str] = {}
    for name in names:
        if name.endswith("/custom_objs_config.json"):
            for graph_name, file in _json_object(path, archive, name).items():
                aliases.setdefault(str(file), []).append(str(graph_name))
                named_by.setdefault(str(file), name)
        elif name.endswith("_metadata.json"):
            metadata = _json_object(path, archive, name)
            target.update({k: str(v) for k, v in metadata.items() if k.startswith("AOTI_")})
            if inputs is None and INPUTS_KEY in metadata:
                inputs = _inputs(path, metadata[INPUTS_KEY])
    engines = []
    others = 0
    objects = sorted((n for n in names if _OBJECT.search(n)), key=_object_number)
    for name in objects:
        match = _OBJECT.search(name)
        assert match is not None
        engine = _engine(archive, name, match[1], tuple(aliases.get(match[1], ())))
        if engine is None:
            others += 1
        else:
            engines.append(engine)
    present = {name.rpartition("/")[2] for name in objects}
    for file, config in named_by.items():
        if file not in present:
            error = f"data/constants/{file} is not in the package, but {config} names it"
            engines.append(PackagedEngine(file, tuple(aliases[file]), None, error))
    return Package(
        path=path,
        kind="aotinductor" if compiled else "export",
        models=tuple(compiled or exported),
        engines=tuple(engines),
        other_objects=others,
        inputs=inputs,
        target=target,
        missing=tuple(
            f"model {model!r} has no library: data/aotinductor/{model} holds no .so"
            for model in compiled
            if not _has_code(names, model)
        ),
    )


def _has_code(names: list[str], model: str) -> bool:
    """Whether torch can make something to call of the model: a library, or sources with the flags
    to compile them."""
    folder = f"data/aotinductor/{model}/"
    return any(folder in n and n.endswith((".so", "_compile_flags.json")) for n in names)


def _object_number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _json_object(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        value = json.loads(archive.read(name))
    except (ValueError, zipfile.BadZipFile) as error:
        raise PackageError(f"{path}: {name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise PackageError(f"{path}: {name} is no JSON object")
    return value


def _inputs(path: Path, text: Any) -> list[dict[str, Any]]:
    try:
        value = json.loads(text)
        if isinstance(value, list) and all(isinstance(v, dict) for v in value):
            return value
    except (TypeError, ValueError):
        pass
    raise PackageError(f"{path}: its record of inputs ({INPUTS_KEY}) is malformed")


def _engine(
    archive: zipfile.ZipFile, name: str, file: str, graph_names: tuple[str, ...]
) -> PackagedEngine | None:
    """The engine in this entry; None when it is a custom object of another class."""
    try:
        made = _unpickle(archive.read(name))
        if isinstance(made, _Object) and made.class_name != ENGINE_CLASS:
            return None
        fields = made.state if isinstance(made, _Object) else made
        # Some versions of torch wrap the state once more.
        while isinstance(fields, tuple) and len(fields) == 1:
            fields = fields[0]
        if not isinstance(fields, (list, tuple)) or not all(isinstance(f, str) for f in fields):
            raise PackageError(f"engine state is a {type(fields).__name__}, not a list of strings")
        return PackagedEngine(file, graph_names, EngineState.from_list(fields))
    except (PackageError, zipfile.BadZipFile) as error:
        return PackagedEngine(file, graph_names, None, str(error))


class _Object:
    """An instance of some torch class, of which only name and state are kept."""

    class_name = ""
    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Unpickler(pickle._Unpickler):  # type: ignore[name-defined, misc, unused-ignore]
    """Makes lists of plain values; no class or function of this process is ever reached.

    pickle's own reader in Python: the one in C makes room for as many remembered objects as the
    highest number that the octets give one, be it four billion.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("__torch__."):
            return type("Object", (_Object,), {"class_name": f"{module}.{name}"})
        if module == "torch.jit._pickle":
            helper = _HELPERS.get(name)
            if helper is not None:
                return helper
        raise PackageError(f"the pickled engine refers to {module}.{name}, which no engine does")

    def persistent_load(self, pid: Any) -> Any:
        raise PackageError("the pickled engine refers to tensors, which no engine does")


_HELPERS: dict[str, Callable[..., Any]] = {
    "restore_type_tag": lambda value, _tag: value,
    "build_intlist": list,
    "build_boollist": list,
    "build_doublelist": list,
}


def _unpickle(data: bytes) -> Any:
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            entry = next((n for n in inner.namelist() if n.endswith("data.pkl")), None)
            if entry is None:
                raise PackageError("the pickled engine holds no data.pkl")
            data = inner.read(entry)
    try:
        return _Unpickler(io.BytesIO(data), encoding="utf-8").load()
    except PackageError:
        raise
    except Exception as error:  # any octets may come, and pickle raises almost anything
        raise PackageError(f"the pickled engine does not parse: {error!r}") from error
