"""Documents that an editor has open."""

from __future__ import annotations

import io
import os
import tokenize
from dataclasses import dataclass
from pathlib import Path

from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

SUFFIXES = {".py", ".pyi", ".md", ".markdown"}
"""What is checked. Notebooks come as documents of their own for each cell, which this server does not ask for."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it stood in the editor when it was asked for, saved or not."""

    uri: str
    path: Path
    text: str
    version: int | None

    @property
    def encoded(self) -> bytes:
        """The text as it will be saved: in the encoding that its first rows declare, if they declare one."""
        data = self.text.encode("utf-8", "surrogatepass")
        try:
            return self.text.encode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
        except (SyntaxError, LookupError, UnicodeEncodeError):
            return data


def document_of(opened: TextDocument) -> Document | None:
    """Return a document as it is now; None for what isn't checked, be it no file (`untitled:Untitled-1`)."""
    path = to_fs_path(opened.uri)
    if not path or Path(path).suffix.lower() not in SUFFIXES:
        return None
    return Document(opened.uri, Path(os.path.abspath(path)), opened.source, opened.version)
