"""The state of ``torch.classes.tensorrt.Engine``: the list of strings that packages hold.

Version "10" has 13 strings, version "8" the first 11 of them; both are read, "10" is written.
The C++ twin, which the runtime uses, is core/runtime/engine_state.h: field order, separators and
flags here are those there.  Nothing in this module needs torch.
"""

from __future__ import annotations

import base64
import binascii
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from trtscope._errors import PackageError

ABI_VERSION = "10"
#: Number of strings by version of the list.
FIELD_COUNTS = {"10": 13, "8": 11}
FIELD_NAMES = (
    "abi_version",
    "name",
    "device",
    "plan",
    "input_names",
    "output_names",
    "hw_compatible",
    "metadata",
    "target_platform",
    "output_allocator",
    "resource_strategy",
    "multi_device",
    "aliased_io",
)

#: ``id%major%minor%type%name``: the device of plans that run on the CPU.
HOST_DEVICE = "0%0%0%0%CPU"


def current_platform() -> str:
    """The ``target_platform`` of this machine, such as ``linux_x86_64``."""
    return f"{platform.system().lower()}_{platform.machine().lower()}"


@dataclass(frozen=True)
class EngineState:
    """One engine as a package holds it.

    ``plan`` is raw octets here and base64 in the list.  ``metadata`` is the exporter's own; that
    of this package is described in ``_metadata.py``.
    """

    name: str
    plan: bytes
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    device: str = HOST_DEVICE
    metadata: str = ""
    hardware_compatible: bool = False
    target_platform: str = ""
    output_allocator: bool = False
    resource_strategy: str = "0"
    multi_device: bool = False
    aliased_io: tuple[tuple[str, str, str], ...] = ()
    abi_version: str = ABI_VERSION

    def to_list(self) -> list[str]:
        """The 13 strings of the current version, the plan in base64."""
        for name in (*self.input_names, *self.output_names):
            if not name or "%" in name:
                raise PackageError(
                    f"engine {self.name!r}: tensor name {name!r} cannot be stored: "
                    "names must not be empty or hold '%'"
                )
        return [
            ABI_VERSION,
            self.name,
            self.device,
            base64.b64encode(self.plan).decode("ascii"),
            "%".join(self.input_names),
            "%".join(self.output_names),
            _flag(self.hardware_compatible),
            self.metadata,
            self.target_platform or current_platform(),
            _flag(self.output_allocator),
            self.resource_strategy,
            _flag(self.multi_device),
            "%".join("@".join(entry) for entry in self.aliased_io),
        ]

    @classmethod
    def from_list(cls, fields: Sequence[str]) -> EngineState:
        """Reads a list of either version.

        Unlike the runtime, a list for another platform or device is accepted: reading is not
        running.

        Raises:
            PackageError: the version is unknown, the count does not match it, or a field does
                not parse; the message says what was found and what was expected.
        """
        known = " or ".join(f"version {v} with {n} strings" for v, n in FIELD_COUNTS.items())
        if not fields:
            raise PackageError(f"engine state is an empty list; expected {known}")
        version = fields[0]
        if version not in FIELD_COUNTS:
            raise PackageError(
                f"engine state has version {_short(version)} and {len(fields)} strings; "
                f"expected {known}"
            )
        if len(fields) != FIELD_COUNTS[version]:
            raise PackageError(
                f"engine state of version {version} has {len(fields)} strings; "
                f"expected {FIELD_COUNTS[version]}"
            )
        padded = [*fields, *([""] * (len(FIELD_NAMES) - len(fields)))]
        name = padded[1]
        try:
            plan = base64.b64decode(padded[3], validate=True)
        except (binascii.Error, ValueError) as error:
            raise PackageError(
                f"engine {_short(name)}: the plan of its state is not base64 ({error})"
            ) from error
        aliases = []
        for entry in _split(padded[12]):
            parts = entry.split("@")
            if len(parts) != 3:
                raise PackageError(
                    f"engine {_short(name)}: aliased_io entry {_short(entry)} is not out@in@kind"
                )
            aliases.append((parts[0], parts[1], parts[2]))
        return cls(
            name=name,
            plan=plan,
            input_names=tuple(_split(padded[4])),
            output_names=tuple(_split(padded[5])),
            device=padded[2],
            metadata=padded[7],
            hardware_compatible=padded[6] == "1",
            target_platform=padded[8],
            output_allocator=padded[9] == "1",
            resource_strategy=padded[10],
            multi_device=padded[11] == "1",
            aliased_io=tuple(aliases),
            abi_version=version,
        )


def _flag(value: bool) -> str:
    return "1" if value else "0"


def _split(text: str) -> list[str]:
    return text.split("%") if text else []


def _short(text: str, longest: int = 48) -> str:
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}... ({len(text)} characters)"
