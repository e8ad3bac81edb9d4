"""From sites of the analysis to places that an author sees."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from devlint.findings import Location
from devlint.sources import Source, read_source
from devlint.syntax.offsets import Offsets, SiteLike, one_line


def display_name(path: str | Path) -> str:
    """Return `path` as it is shown: relative to the current folder where it lies below it."""
    text = str(path)
    folder = os.getcwd().rstrip(os.sep) + os.sep
    return text[len(folder) :] if text.startswith(folder) else text


@dataclass(slots=True)
class Places:
    """The sources of a run by absolute path; those that the analysis reached are read when asked for.

    Implements the rules' `TextContext`.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    read: Callable[[Path, str], Source] = read_source
    _offsets: dict[str, Offsets] = field(default_factory=dict)

    def source(self, path: str) -> Source:
        """Return the source at `path`.

        Raises:
            OSError: it can't be read.
        """
        source = self.sources.get(path)
        if source is None:
            source = self.sources[path] = self.read(Path(path), display_name(path))
        return source

    def span(self, site: SiteLike) -> tuple[int, int]:
        """Return start and end offset of a site in its program text.

        Raises:
            OSError: see `source`.
        """
        offsets = self._offsets.get(site.path)
        if offsets is None:
            offsets = self._offsets[site.path] = Offsets(self.source(site.path).text)
        return offsets.span(site.at)

    def location(self, site: SiteLike) -> Location:
        """Return the author's view of a site; one that ends in another cell is cut to its start.

        Raises:
            OSError: see `source`.
        """
        source = self.source(site.path)
        start, end = self.span(site)
        cell, first = source.locate(*source.position(start))
        end_cell, last = source.locate(*source.position(end))
        if end_cell != cell or last < first:
            last = first
        return Location(source.filename, first, last, cell)

    def text(self, site: SiteLike) -> str:
        """Return the program text of a site on one line, shortened in the middle when long."""
        start, end = self.span(site)
        return one_line(self.source(site.path).text[start:end])
