"""Findings as text: one file a format. `render` is the only entry."""

from devlint.reports.formats import FORMATS, render

__all__ = ["FORMATS", "render"]
