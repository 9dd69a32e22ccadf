"""Which versions of the system's symbols an ELF file asks for, and which of them are too new."""

from __future__ import annotations

import os

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

#: Prefix of symbol versions -> the newest one that may be asked for: those of Debian 11.
FLOORS = {
    "GLIBC": os.environ["GLIBC_FLOOR"],
    "GLIBCXX": os.environ["GLIBCXX_FLOOR"],
    "CXXABI": "1.3.12",
    "GCC": "7.0.0",
}


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def asked(elf: ELFFile) -> set[str]:
    """Such as ``GLIBC_2.17``."""
    return {
        auxiliary.name
        for section in elf.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, versions in section.iter_versions()
        for auxiliary in versions
    }


def too_new(elf: ELFFile) -> set[str]:
    """Those that Debian 11 lacks, and those of libraries that nobody expected."""
    return {
        version
        for version, (prefix, _, number) in ((v, v.partition("_")) for v in asked(elf))
        if prefix not in FLOORS or as_numbers(number) > as_numbers(FLOORS[prefix])
    }
