"""Where the code of a notebook stands in its JSON: read with the standard library's scanner, spans kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_CHARACTER = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|.", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string of the JSON text: its value, and the offsets of what stands between its quotes."""

    value: str
    start: int
    end: int

    def offsets(self, text: str) -> list[int]:
        """Return the offset in the JSON `text` of each character of the value."""
        return [match.start() for match in _CHARACTER.finditer(text, self.start, self.end)]


@dataclass(slots=True)
class Cell:
    """A cell. `strings` are the parts of its source in order; `number` counts from 1 over all cells; `raised` are the
    names of the exceptions that its stored outputs show."""

    number: int
    kind: str = ""
    strings: list[JsonString] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    raised: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The source of the cell."""
        return "".join(string.value for string in self.strings)


@dataclass(slots=True)
class NotebookJson:
    """The cells of a notebook and its metadata."""

    cells: list[Cell] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def scan_notebook(text: str) -> NotebookJson:
    """Find the cells of a notebook of format 4 (`cells`) or 3 (`worksheets`).

    Raises:
        json.JSONDecodeError: the text is no JSON object.
        RecursionError: it is nested too deeply.
    """
    notebook = NotebookJson()
    reader = _Reader(text)
    reader.skip_space()
    _notebook(reader, notebook)
    reader.skip_space()
    if reader.at < len(text):
        raise JSONDecodeError("Extra data", text, reader.at)
    return notebook


def _notebook(reader: _Reader, notebook: NotebookJson) -> None:
    for key in reader.members():
        if key == "cells" and reader.peek() == "[":
            for _ in reader.items():
                cell = Cell(len(notebook.cells) + 1)
                notebook.cells.append(cell)
                _cell(reader, cell)
        elif key == "worksheets" and reader.peek() == "[":
            for _ in reader.items():
                _notebook(reader, notebook)
        elif key == "metadata":
            value = reader.value()
            if isinstance(value, dict):
                notebook.metadata.update(value)
        else:
            reader.value()


def _cell(reader: _Reader, cell: Cell) -> None:
    for key in reader.members():
        if key in ("source", "input") and reader.peek() in ("[", '"'):
            cell.strings = list(_strings(reader))
        elif key in ("cell_type", "metadata"):
            value = reader.value()
            if isinstance(value, str):
                cell.kind = value
            elif isinstance(value, dict):
                cell.metadata = value
        elif key == "outputs":
            cell.raised = tuple(_raised(reader.value()))
        else:
            reader.value()


def _raised(outputs: object) -> Iterator[str]:
    """The exceptions among the outputs of a cell: `error` in format 4, `pyerr` in format 3."""
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict) and output.get("output_type") in ("error", "pyerr"):
            yield str(output.get("ename", ""))


def _strings(reader: _Reader) -> Iterator[JsonString]:
    if reader.peek() == '"':
        yield reader.string()
        return
    for _ in reader.items():
        if reader.peek() == '"':
            yield reader.string()
        else:
            raise JSONDecodeError("A cell's source must be made of strings", reader.text, reader.at)


class _Reader:
    """A cursor in a JSON text: steps into what matters, and over the rest in one go."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def expect(self, character: str, what: str) -> None:
        if self.peek() != character:
            raise JSONDecodeError(f"Expecting {what}", self.text, self.at)
        self.at += 1
        self.skip_space()

    def value(self) -> object:
        """Read any value."""
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except StopIteration as error:
            raise JSONDecodeError("Expecting value", self.text, error.value) from None
        return value

    def string(self) -> JsonString:
        start = self.at + 1
        return JsonString(str(self.value()), start, self.at - 1)

    def members(self) -> Iterator[str]:
        """Step through an object: at each key the cursor is at its value, which the caller must read."""
        self.expect("{", "an object")
        if self.peek() == "}":
            self.at += 1
            return
        while True:
            if self.peek() != '"':
                raise JSONDecodeError("Expecting property name enclosed in double quotes", self.text, self.at)
            key = self.string().value
            self.skip_space()
            self.expect(":", "':' delimiter")
            yield key
            self.skip_space()
            if self.peek() == "}":
                self.at += 1
                return
            self.expect(",", "',' delimiter")

    def items(self) -> Iterator[None]:
        """Step through an array: at each step the cursor is at an item, which the caller must read."""
        self.expect("[", "an array")
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            yield
            self.skip_space()
            if self.peek() == "]":
                self.at += 1
                return
            self.expect(",", "',' delimiter")
