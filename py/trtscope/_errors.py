"""The exceptions that this package raises for things a user can act on, and what of others'
messages goes into theirs."""

from __future__ import annotations


class TrtscopeError(RuntimeError):
    """Something is wrong with a model, package, plan or setting; the message says what to do."""


class CompileError(TrtscopeError):
    """A model, or a part of it, cannot become an engine."""


class MissingPackageError(TrtscopeError, ImportError):
    """A Python package that this call needs is not installed; the message names the extra."""


class PackageError(TrtscopeError):
    """A package, or an engine state inside it, cannot be read."""


def one_line(error: BaseException, longest: int = 600) -> str:
    """The message of another library's exception on one line, without its C++ stack."""
    text = " ".join(str(error).split("\nException raised from", 1)[0].split())
    return text if len(text) <= longest else text[:longest] + "..."
