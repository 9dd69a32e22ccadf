"""The packages that this one can do without: what each is for, and the extra that brings it.

Nothing of them is imported before it is needed.  What needs one that is missing says so in one
sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from trtscope._errors import MissingPackageError


@dataclass(frozen=True)
class Need:
    """A package, by the name that it is imported by."""

    extra: str
    #: What it is for, to follow "is not installed: ".
    without: str


NEEDS = {
    "torch": Need("torch", ".pt2 packages cannot be made or run"),
    "executorch": Need("executorch", "host engines and .pte programs cannot be made or run"),
    "tensorrt": Need("tensorrt", "its plans run with libraries from elsewhere, if any"),
    "numpy": Need("report", "reports and comparisons cannot be made"),
    "prometheus_client": Need("metrics", "no metrics can be served"),
    "safetensors": Need("demo", "the demo cannot run"),
    "tokenizers": Need("demo", "the demo cannot run"),
}


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it is not."""
    return find_spec(package) is not None


def sentence(package: str) -> str:
    """What is missing without a package of ``NEEDS``, and what to do about it."""
    need = NEEDS[package]
    how = f"pip install 'trtscope[{need.extra}]' brings it"
    return f"{package} is not installed: {need.without} ({how})"


def require(*packages: str) -> None:
    """To be called before one of ``NEEDS`` is imported for a user.

    Raises:
        MissingPackageError: one of them is not installed.
    """
    for package in packages:
        if not is_installed(package):
            raise MissingPackageError(sentence(package))


def import_for_user(module: str) -> ModuleType:
    """Imports a module of this package when a user first asks for what is in it.

    Raises:
        MissingPackageError: it needs one of ``NEEDS`` that is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise explain(error) or error from error


def explain(error: ImportError) -> MissingPackageError | None:
    """The sentence for a module that was not found, if it is of a package of ``NEEDS``."""
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in NEEDS and not is_installed(package):
        return MissingPackageError(sentence(package))
    return None
