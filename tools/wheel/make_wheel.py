"""Writes a wheel whose bytes depend on its inputs alone: make_wheel.py PARAMS.json (wheel.bzl)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

# The first moment that a zip file knows.
_TIME = (1980, 1, 1, 0, 0, 0)


class Wheel:
    """A zip file in the order of ``add``, and the record of what is in it."""

    def __init__(self, path: str) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._record: list[str] = []

    def add(self, name: str, data: bytes) -> None:
        info = zipfile.ZipInfo(name, _TIME)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3  # Unix: the attributes are a mode
        info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
        self._zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record: str) -> None:
        lines = "".join(f"{line}\n" for line in [*self._record, f"{record},,"])
        self.add(record, lines.encode())
        self._zip.close()


def metadata(params: dict[str, Any], licenses: list[str]) -> str:
    """The core metadata, version 2.4."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {params['name']}",
        f"Version: {params['version']}",
        f"Summary: {params['summary']}",
        f"License-Expression: {params['license']}",
        *(f"License-File: {name}" for name in licenses),
        f"Requires-Python: {params['requires_python']}",
        *(f"Requires-Dist: {requirement}" for requirement in params["requires"]),
    ]
    for extra, requirements in sorted(params["extras"].items()):
        lines.append(f"Provides-Extra: {extra}")
        for requirement in requirements:
            package, _, marker = requirement.partition(";")
            marker = f"({marker.strip()}) and " if marker else ""
            lines.append(f"Requires-Dist: {package.strip()} ; {marker}extra == '{extra}'")
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join(lines) + "\n\n" + Path(params["readme"]).read_text()


def distributions(paths: list[str], declared: dict[str, str]) -> list[dict[str, str]]:
    """Name, version and licence of the distributions whose METADATA are among the files.

    Args:
        paths: of files of their dist-info.
        declared: licence by distribution, which wins over what METADATA says.
    """
    found = []
    for path in paths:
        if path.endswith("/METADATA"):
            fields = HeaderParser().parsestr(Path(path).read_text())
            licence = (
                declared.get(fields["Name"])
                or fields["License-Expression"]
                or fields["License"]
                or "see its licence file"
            )
            # A build's local part (+cpu) says nothing of the headers.
            version = fields["Version"].partition("+")[0]
            found.append({"name": fields["Name"], "version": version, "license": licence})
    return sorted(found, key=lambda d: (d["name"], d["version"]))


def json_library(paths: list[str]) -> tuple[dict[str, str], str]:
    """The JSON library as a component, by its header's macros, and its licence's text."""
    parts: dict[str, str] = {}
    text = ""
    for path in paths:
        content = Path(path).read_text()
        if path.endswith(".txt"):
            text = content
        parts |= dict(re.findall(r"#define NLOHMANN_JSON_VERSION_(\w+) (\d+)", content))
    version = ".".join(parts[part] for part in ("MAJOR", "MINOR", "PATCH"))
    return {"name": "nlohmann_json", "version": version, "license": "MIT"}, text


def bill_of_materials(params: dict[str, Any], inside: list[dict[str, Any]]) -> str:
    """CycloneDX 1.5: what of others' sources is compiled into the libraries."""

    def component(entry: dict[str, str]) -> dict[str, Any]:
        kind = "generic" if entry["name"] == "nlohmann_json" else "pypi"
        reference = f"pkg:{kind}/{entry['name']}@{entry['version']}"
        return {
            "type": "library",
            "bom-ref": reference,
            "name": entry["name"],
            "version": entry["version"],
            "purl": reference,
            "licenses": [{"license": {"name": entry["license"]}}],
        }

    me = component({"name": params["name"], "version": params["version"], "license": ""})
    me["licenses"] = [{"expression": params["license"]}]
    components = [component(entry) for entry in inside]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": me},
        "components": components,
        "dependencies": [
            {"ref": me["bom-ref"], "dependsOn": [c["bom-ref"] for c in components]},
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def licenses(params: dict[str, Any], json_text: str) -> dict[str, str]:
    """Name in the wheel -> text; of several releases of one distribution, the newest one's."""
    texts = {
        "LICENSE": Path(params["own_license"]).read_text(),
        "nlohmann_json/LICENSE": json_text,
    }
    for path in sorted(p for p in params["legal"] if p.endswith(("/LICENSE", "/License.txt"))):
        (name,) = re.findall(r"/(\w+)[^/]*\.dist-info/", path)
        texts[f"{name}/LICENSE"] = Path(path).read_text()
    return texts


def main() -> None:
    params = json.loads(Path(sys.argv[1]).read_text())
    component, json_text = json_library(params["nlohmann_json"])
    texts = licenses(params, json_text)
    info = params["stem"] + ".dist-info/"
    wheel = Wheel(params["out"])
    for name, path in sorted(params["files"].items()):
        wheel.add(name, Path(path).read_bytes())
    wheel.add(info + "METADATA", metadata(params, sorted(texts)).encode())
    tags = f"Root-Is-Purelib: false\nTag: {params['tag']}\n"
    wheel.add(info + "WHEEL", f"Wheel-Version: 1.0\nGenerator: trtscope\n{tags}".encode())
    scripts = "".join(f"{name} = {entry}\n" for name, entry in sorted(params["scripts"].items()))
    wheel.add(info + "entry_points.txt", f"[console_scripts]\n{scripts}".encode())
    for name, text in sorted(texts.items()):
        wheel.add(f"{info}licenses/{name}", text.encode())
    materials = bill_of_materials(
        params, [component, *distributions(params["legal"], params["declared_licenses"])]
    )
    wheel.add(info + "sboms/trtscope.cdx.json", materials.encode())
    wheel.close(info + "RECORD")


if __name__ == "__main__":
    main()
