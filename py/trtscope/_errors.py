"""The exceptions that this package raises for things a user can act on."""

from __future__ import annotations


class TrtscopeError(RuntimeError):
    """Something is wrong with a model, package, plan or setting; the message says what to do."""


class CompileError(TrtscopeError):
    """A model, or a part of it, cannot become an engine."""


class PackageError(TrtscopeError):
    """A package, or an engine state inside it, cannot be read."""
