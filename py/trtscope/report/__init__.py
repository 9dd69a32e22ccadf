"""One self-contained HTML page about a recording: ``trtscope report DIR -o report.html``."""

from trtscope.report._page import write_page, write_report

__all__ = ["write_page", "write_report"]
