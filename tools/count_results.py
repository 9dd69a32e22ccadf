"""count_results.py FILE...: "N passed, M failed" of Bazel's build event files (JSON lines).

A test that did not come to run counts as failed, one that the machine can't run (SKIPPED) not at
all, and a file without any test as one failure.
"""

import json
import pathlib
import sys


def outcomes(path: pathlib.Path) -> dict[str, bool]:
    """Of each test target, whether it passed."""
    found: dict[str, bool] = {}
    for line in path.read_text().splitlines():
        event = json.loads(line)
        kind = next(iter(event["id"]))
        label = event["id"][kind].get("label") if isinstance(event["id"][kind], dict) else None
        if kind == "targetConfigured" and "testSize" in event.get("configured", {}):
            found.setdefault(label, False)
        elif kind == "testSummary":
            found[label] = event["testSummary"]["overallStatus"] in ("PASSED", "FLAKY")
        elif event.get("aborted", {}).get("reason") == "SKIPPED":
            found.pop(label, None)
    return found


def main() -> int:
    passed = failed = 0
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        results = outcomes(path) if path.exists() else {}
        print(f"{path.stem}: {sum(results.values())} of {len(results)} test targets passed")
        for label, good in sorted(results.items()):
            if not good:
                print(f"  failed: {label}")
        passed += sum(results.values())
        failed += len(results) - sum(results.values()) if results else 1
    if not sys.argv[1:]:
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
