"""For tests: a page in Chromium, after its scripts have run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

#: Its name differs between distributions.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)

in_browser = pytest.mark.skipif(not CHROMIUM, reason="needs a Chromium: Debian's package chromium")


def browse(page: Path, script: str = "") -> str:
    """The page's elements after its script, and then ``script``, have run.  ``data-error`` of the
    root is the first error of any script."""
    watch = (
        "<script>addEventListener('error', e => document.documentElement.dataset.error ??= "
        "e.message)</script>"
    )
    text = page.read_text().replace("<title>", watch + "<title>", 1)
    text = text.replace("</body>", f"<script>{script}</script></body>")
    copy = page.with_name("browse.html")
    copy.write_text(text)
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={page.parent / 'chromium'}", "--window-size=1280,900"]
    command.append(copy.as_uri())
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "data-error" not in done.stdout[:2000], done.stdout[:500]
    return done.stdout
