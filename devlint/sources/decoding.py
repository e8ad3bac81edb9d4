"""Bytes to text the way Python reads its source files: byte order mark, PEP 263 declaration, else UTF-8.

https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_ROW_END = re.compile(rb"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text without its byte order mark. `exact`: encoding the text gives the same bytes again."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    exact: bool = True


class Undecodable(Exception):
    """The bytes are no text that Python would read. `shown` is the text as well as it can be shown."""

    def __init__(self, reason: str, row: int, column: int, shown: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column
        self.shown = shown


_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte order marks, and what they say of the rest."""
_BACKPORTS = frozenset({"future-fstrings", "future-annotations", "future-typing"})
"""Encodings that packages register for older Pythons: the text is UTF-8, and Python reads it now as it is."""


def decode(data: bytes, *, declared: bool = True, prose: bool = False) -> Decoded:
    """Decode a source file; `declared=False` for formats without an encoding declaration (JSON, Markdown).

    `prose`: the text is for readers, and code stands in it. What is no UTF-8 is read byte by byte, as Latin-1, so that
    it is written as it was.

    Raises:
        Undecodable: an undecodable or NUL byte, an unknown encoding, or a declaration against the byte order mark.
    """
    bom = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding, declaration = _MARKS.get(bom, "utf-8"), 1
    if declared and encoding != "utf-8":
        raise Undecodable("the file is UTF-16, which Python does not read; save it as UTF-8", 1, 1, "")
    body = data[len(bom) :]
    if declared:
        row, name = _declaration(body)
        if name:
            encoding, declaration = _codec(name, row, body), row
            if bom and encoding != "utf-8":
                reason = f"the file starts with a UTF-8 byte order mark but declares the encoding {name}"
                raise Undecodable(reason, row, 1, body.decode("utf-8", "replace"))
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        if prose and not bom:
            return Decoded(body.decode("latin-1"), "latin-1", bom, True)
        raise _undecodable(body, encoding, error.start) from None
    except (UnicodeError, LookupError) as error:
        reason = f"the file can't be decoded as {encoding}: {error}"
        raise Undecodable(reason, declaration, 1, body.decode("utf-8", "replace")) from None
    nul = text.find("\0")
    if declared and nul >= 0:
        before = text[:nul]
        row = len(_ROW_END.findall(before.encode("utf-8", "replace"))) + 1
        column = nul - max(before.rfind("\n"), before.rfind("\r"))
        raise Undecodable("the file contains a NUL byte, which Python does not read", row, column, text)
    return Decoded(text, encoding, bom, encoding == "utf-8" or _encodes_back(text, encoding, body))


def _declaration(body: bytes) -> tuple[int, str]:
    """Return row and name of the encoding declaration in the first two rows, or (0, "")."""
    rows = _ROW_END.split(body[:4096], maxsplit=2)[:2]
    for row, line in enumerate(rows, 1):
        match = _COOKIE.match(line)
        if match:
            return row, match.group(1).decode("ascii")
        if not _BLANK.match(line):
            break
    return 0, ""


def _codec(name: str, row: int, body: bytes) -> str:
    known = name.replace("_", "-")
    if known.lower() in _BACKPORTS:
        return "utf-8"
    try:
        return codecs.lookup(known).name
    except LookupError:
        raise Undecodable(f"unknown encoding: {name}", row, 1, body.decode("utf-8", "replace")) from None


def _undecodable(body: bytes, encoding: str, at: int) -> Undecodable:
    before = _ROW_END.split(body[:at])
    column = len(before[-1].decode(encoding, "replace")) + 1
    reason = f"byte 0x{body[at]:02x} can't be decoded as {encoding}"
    if encoding == "utf-8":
        reason += "; save the file as UTF-8, or declare its encoding in the first line"
    return Undecodable(reason, len(before), column, body.decode(encoding, "replace"))


def _encodes_back(text: str, encoding: str, body: bytes) -> bool:
    try:
        return text.encode(encoding) == body
    except UnicodeError:
        return False
