#!/usr/bin/env python3
"""Makes requirements_lock.txt of requirements.in: exact versions, one hash each.

    third_party/update_lock.py [pip's index options]

Run it with Python 3.11 on x86_64, the machine that the lock is for.  One hash a package, that of
the file that pip chose: with two, pip may take torch's CUDA build in place of the CPU one.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def resolve(requirements, options, work):
    report = work / "report.json"
    listing = work / "requirements.txt"
    listing.write_text("\n".join(requirements) + "\n")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    dry_run = ["--dry-run", "--ignore-installed", f"--report={report}"]
    subprocess.run([*install, *dry_run, "-r", str(listing), *options], check=True)
    for item in json.loads(report.read_text())["install"]:
        name = item["metadata"]["name"].lower().replace("_", "-")
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        yield name, f"{name}=={item['metadata']['version']} --hash=sha256:{digest}"


def main():
    if sys.version_info[:2] != (3, 11):
        sys.exit("update_lock.py: the lock is for Python 3.11")
    options = sys.argv[1:]
    with_deps, _, no_deps = (HERE / "requirements.in").read_text().partition("# no-deps\n")
    lines = {}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for text, extra in ((with_deps, []), (no_deps, ["--no-deps"])):
            wanted = [x for x in text.splitlines() if x and not x.startswith("#")]
            lines.update(resolve(wanted, options + extra, work))
    (HERE / "requirements_lock.txt").write_text("".join(f"{x}\n" for _, x in sorted(lines.items())))


if __name__ == "__main__":
    main()
