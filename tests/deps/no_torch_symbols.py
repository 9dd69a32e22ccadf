"""no_torch_symbols.py LIBRARY...: fails where one of them needs anything of LibTorch."""

import re
import subprocess
import sys

# Mangled names that begin in one of LibTorch's namespaces: _ZN3c10..., _ZNK2at..., _ZTIN5torch....
SYMBOL = re.compile(r"_Z(?:T[IVS])?N[KVRO]*(?:3c10|2at|5torch)\d")
LIBRARY = re.compile(r"lib(?:torch|c10)[^/]*\.so")


def faults(library: str) -> list[str]:
    nm = ["nm", "--dynamic", "--undefined-only", library]
    symbols = subprocess.run(nm, check=True, capture_output=True, text=True).stdout.split()
    readelf = ["readelf", "--dynamic", "--wide", library]
    dynamic = subprocess.run(readelf, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    return [s for s in symbols if SYMBOL.match(s)] + [n for n in needed if LIBRARY.match(n)]


def main() -> int:
    libraries = [a for a in sys.argv[1:] if re.search(r"\.so(\.\d+)*$", a)]
    if not libraries:
        print("no shared library given")
        return 1
    expect = "--expect-faults" in sys.argv
    failed = 0
    for library in libraries:
        found = faults(library)
        print(f"{library}: {', '.join(found) or 'needs nothing of LibTorch'}")
        failed += bool(found) != expect
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
