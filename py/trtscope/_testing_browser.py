"""For tests: a page in Chromium, after its scripts have run, on the screen and on paper."""

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


#: What an A4 page has between margins of 12 mm, in CSS pixels.
PAPER_WIDTH = round((210 - 2 * 12) / 25.4 * 96)


def browse(page: Path, script: str = "", *, paper: bool = False) -> str:
    """The page's elements after its script, and then ``script``, have run.  ``data-error`` of the
    root is the first error of any script.

    Args:
        paper: laid out as for A4 (the rules for print apply, at that width), where a script can
            still measure it.
    """
    watch = (
        "<script>addEventListener('error', e => document.documentElement.dataset.error ??= "
        "e.message)</script>"
    )
    text = page.read_text().replace("<title>", watch + "<title>", 1)
    text = text.replace("</body>", f"<script>{script}</script></body>")
    if paper:
        assert "@media print" in text
        text = text.replace("@media print", "@media all")
    copy = page.with_name("browse.html")
    copy.write_text(text)
    width = PAPER_WIDTH if paper else 1280
    dom = _chromium(copy, "--dump-dom", f"--window-size={width},900")
    assert "data-error" not in dom[:2000], dom[:500]
    return dom


def printed(page: Path) -> bytes:
    """The page as PDF."""
    pdf = page.with_suffix(".pdf")
    _chromium(page, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    return pdf.read_bytes()


def _chromium(page: Path, *options: str) -> str:
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={page.parent / 'chromium'}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout
