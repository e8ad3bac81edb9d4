"""From a path to a source, by the kind of the file."""

from __future__ import annotations

import os
from pathlib import Path

from devlint.sources.decoding import Undecodable, decode
from devlint.sources.source import Kind, Problem, Source

_KINDS: dict[str, Kind] = {".ipynb": "notebook", ".md": "markdown", ".markdown": "markdown"}


def kind_of(path: Path) -> Kind:
    """Return what a file of this name holds; what is not known is Python."""
    return _KINDS.get(path.suffix.lower(), "python")


def is_document(path: str) -> bool:
    """Whether what stands in a file is shown to readers: Markdown, in whose blocks the code is an excerpt."""
    return kind_of(Path(path)) == "markdown"


def read_source(path: Path, display_name: str, data: bytes | None = None) -> Source:
    """Read a source from `path`, or from `data` where the caller has its bytes (standard input, an editor's buffer).

    What stands in the file never raises: text that can't be read is a problem of the source.

    Raises:
        OSError: the file is missing or can't be read.
    """
    if data is None:
        data = path.read_bytes()
    kind = kind_of(path)
    absolute = os.path.abspath(path)
    try:
        decoded = decode(data, declared=kind == "python", prose=kind == "markdown")
    except Undecodable as error:
        problem = Problem(error.reason, error.row, error.column)
        return Source(
            path=absolute,
            filename=display_name,
            kind=kind,
            text="",
            content=error.shown,
            exact=False,
            problems=[problem],
        )
    if kind == "notebook":
        from devlint.sources.notebook import read_notebook

        return read_notebook(absolute, display_name, decoded)
    if kind == "markdown":
        from devlint.sources.markdown import read_document

        return read_document(absolute, display_name, decoded)
    return Source(
        path=absolute,
        filename=display_name,
        kind="python",
        text=decoded.text,
        content=decoded.text,
        encoding=decoded.encoding,
        bom=decoded.bom,
        exact=decoded.exact,
    )
