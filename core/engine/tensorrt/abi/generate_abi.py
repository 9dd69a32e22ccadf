"""Writes abi_generated.h from the interface layouts in third_party/tensorrt/abi.

Run by the build: generate_abi.py OUT 8.6.json 10.json 11.json

A method is one row over all families, keyed by interface, name and argument types: its vtable
slot in each family and the release that added it.  Each row gets a typed call in a class named
after TensorRT's own interface, so that the adapter reads like code written against the SDK.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

# How a type of TensorRT's headers crosses the C interface.  Classes travel as void*, enums as
# their underlying type, Dims as the neutral Dims that call.h converts to the family's width.
SCALARS = {
    "void": "void",
    "bool": "bool",
    "int32_t": "int32_t",
    "int64_t": "int64_t",
    "size_t": "size_t",
    "std::size_t": "size_t",
    "char const*": "const char*",
    "char const**": "const char**",
    "void*": "void*",
    "void const*": "const void*",
    "void* const*": "void* const*",
    "int32_t*": "int32_t*",
    "int32_t const*": "const int32_t*",
    "int64_t const*": "const int64_t*",
    "Dims": "Dims",
    "Dims const&": "const Dims&",
    "TacticSources": "uint32_t",
    "TempfileControlFlags": "uint32_t",
    "cudaStream_t": "void*",
    "cudaStream_t*": "void**",
    "cudaEvent_t": "void*",
    "cudaEvent_t*": "void**",
}
ENUMS = {
    "DataType",
    "EngineCapability",
    "EngineStat",
    "ExecutionContextAllocationStrategy",
    "HardwareCompatibilityLevel",
    "LayerInformationFormat",
    "OptProfileSelector",
    "ProfilingVerbosity",
    "TensorFormat",
    "TensorIOMode",
    "TensorLocation",
}
INTERFACE = re.compile(r"I[A-Z]\w*( const)?[*&]")
# Every slot of a callback interface plays one of these parts.
ROLES = [
    "completeDestructor",
    "deletingDestructor",
    "getAPILanguage",
    "getInterfaceInfo",
    "getInterfaceVersion",
    "log",
    "reportLayerTime",
    "reallocateOutput",
    "reallocateOutputAsync",
    "notifyShape",
]
DESTRUCTORS = {
    "complete destructor": "completeDestructor",
    "deleting destructor": "deletingDestructor",
}


def cpp_type(name: str) -> str:
    if name in SCALARS:
        return SCALARS[name]
    if name in ENUMS:
        return "int32_t"
    if INTERFACE.fullmatch(name):
        return "void*"
    raise SystemExit(f"generate_abi.py: no C type is known for '{name}'")


def family_id(family: str) -> str:
    return "k" + family.replace(".", "_")


def since_number(release: str) -> int:
    major, minor = release.split(".")
    return int(major) * 100 + int(minor)


def collect(families: list[dict[str, Any]]) -> dict[tuple[str, ...], dict[str, Any]]:
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    taken: set[str] = set()
    # Newest first, so that the newest signature gets the plain name.
    for family in reversed(families):
        for interface, methods in family["classes"].items():
            slots = [m["slot"] for m in methods]
            if slots != list(range(2, 2 + len(slots))):
                raise SystemExit(f"{family['family']}: slots of {interface} are not 2, 3, 4, ...")
            for m in methods:
                key = (interface, m["name"], m["returns"], *m["args"])
                if key not in rows:
                    ident = f"{interface}_{m['name']}"
                    if ident in taken:
                        ident += "_" + (re.sub(r"\W+", "_", "_".join(m["args"])).strip("_") or "0")
                    if ident in taken:
                        raise SystemExit(f"two methods would be called {ident}")
                    taken.add(ident)
                    rows[key] = {"ident": ident, "method": m, "interface": interface, "at": {}}
                rows[key]["at"][family["family"]] = (m["slot"], since_number(m["since"]))
    return rows


def callback_role(entry: str) -> str:
    name = DESTRUCTORS.get(entry) or re.split(r"[^A-Za-z]", entry)[0]
    if name not in ROLES:
        raise SystemExit(f"generate_abi.py: unknown callback entry '{entry}'")
    return name


def enum_lines(families: list[dict[str, Any]]) -> list[str]:
    lines = []
    for name, values in families[-1]["enums"].items():
        for family in families:
            old = family["enums"].get(name, [])
            if old != values[: len(old)]:
                raise SystemExit(f"enum {name} of {family['family']} is no prefix of the newest")
        body = ", ".join(f"k{v}" for v in values)
        lines.append(f"enum class {name} : int32_t {{ {body} }};")
    return lines


def generate(families: list[dict[str, Any]]) -> str:
    names = [f["family"] for f in families]
    rows = collect(families)
    out = [
        "// Written by generate_abi.py from third_party/tensorrt/abi; do not edit.",
        "#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_ABI_GENERATED_H_",
        "#define TRTSCOPE_CORE_ENGINE_TENSORRT_ABI_GENERATED_H_",
        '#include "core/engine/tensorrt/abi/call.h"',
        "namespace trtscope::engine::tensorrt::abi {",
        "",
        *enum_lines(families),
        "",
        "enum class Method : uint16_t {",
        *(f"  k{row['ident']}," for row in rows.values()),
        "};",
        f"inline constexpr size_t kMethodCount = {len(rows)};",
        "inline constexpr MethodInfo kMethods[kMethodCount] = {",
    ]
    for row in rows.values():
        places = [row["at"].get(name, (-1, 0)) for name in names]
        text = ", ".join(f"{{{slot}, {since}}}" for slot, since in places)
        out.append(f'    {{"{row["interface"]}", "{row["method"]["name"]}", {{{{{text}}}}}}},')
    out += ["};", "", "// Callback interfaces, one layout a family."]
    for callback in families[-1]["callbacks"]:
        out.append(f"inline constexpr CallbackLayout k{callback}[kFamilyCount] = {{")
        for family in families:
            entries = [callback_role(e) for e in family["callbacks"][callback]]
            places_of = {role: entries.index(role) for role in entries}
            text = ", ".join(str(places_of.get(role, -1)) for role in ROLES)
            out.append(f"    {{{len(entries)}, {{{{{text}}}}}}},  // {family['family']}")
        out.append("};")
    for interface in families[-1]["classes"]:
        out += ["", f"class {interface} : public Object {{", " public:", "  using Object::Object;"]
        for row in rows.values():
            if row["interface"] != interface:
                continue
            m = row["method"]
            types = [cpp_type(a) for a in m["args"]]
            result = cpp_type(m["returns"])
            where = ", ".join(f"{n}: {row['at'][n][0]}" for n in names if n in row["at"])
            params = ", ".join(f"{t} a{i}" for i, t in enumerate(types))
            passed = "".join(f", a{i}" for i in range(len(types)))
            template = ", ".join([result, *types])
            out += [
                f"  /// {m['returns']} {m['name']}({', '.join(m['args'])}); slots {where}",
                f"  {result} {m['name']}({params}) const {{",
                f"    return Invoke<{template}>(Method::k{row['ident']}{passed});",
                "  }",
            ]
        out.append("};")
    out += ["", "}  // namespace trtscope::engine::tensorrt::abi", "#endif", ""]
    return "\n".join(out)


def main(argv: list[str]) -> None:
    target, *sources = argv
    families = [json.loads(Path(s).read_text(encoding="utf-8")) for s in sources]
    if [f["family"] for f in families] != ["8.6", "10", "11"]:
        raise SystemExit("generate_abi.py: expected the families 8.6, 10 and 11, in this order")
    Path(target).write_text(generate(families), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
