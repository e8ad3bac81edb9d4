"""Bytes to text as Python reads its source files, and what can't be read said with its row."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.sources import Problem, Source, read_source


def read(data: bytes, name: str = "x.py") -> Source:
    return read_source(Path(name), name, data)


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"x = 1\r\ny = 2\r", "utf-8", "x = 1\r\ny = 2\r"),
        ("é\n".encode(), "utf-8", "é\n"),
        (codecs.BOM_UTF8 + b"x\n", "utf-8", "x\n"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\n", "utf-8", "# coding: utf-8\n"),
        (b"# -*- coding: latin-1 -*-\n'\xe9'\n", "iso8859-1", "# -*- coding: latin-1 -*-\n'é'\n"),
        (b"#!/bin/python\n# vim: set fileencoding=cp1251 :\n'\xe9'", "cp1251", None),
        (b"x = 1\n# coding: latin-1\n", "utf-8", "x = 1\n# coding: latin-1\n"),
        ("# coding: gbk\n'数'\n".encode("gbk"), "gbk", "# coding: gbk\n'数'\n"),
    ],
)
def test_reads_as_python_does(data: bytes, encoding: str, text: str | None) -> None:
    source = read(data)
    assert source.problems == []
    assert source.encoding == encoding
    if text is not None:
        assert source.text == source.content == text
    assert source.encode(source.apply([])) == data
    compile(data, "x.py", "exec", dont_inherit=True)


@pytest.mark.parametrize("name", ["future_fstrings", "future-annotations"])
def test_reads_what_a_package_makes_readable_for_older_pythons(name: str) -> None:
    source = read(f"# -*- coding: {name} -*-\nx = f'é{{1}}'\n".encode())
    assert source.problems == []
    assert source.encoding == "utf-8"


@pytest.mark.parametrize(
    ("data", "row", "column", "message"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, 6, "byte 0xe9 can't be decoded as utf-8"),
        (b"'\xc3\xa9'\r\n'\xc3\xa9\xff'\n", 2, 3, "byte 0xff"),
        (b"x\ny\0z\n", 2, 2, "NUL byte"),
        (b"# coding: klingon\n", 1, 1, "unknown encoding: klingon"),
        (b"\n# coding: rot13\n", 2, 1, "rot-13"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, 1, "byte order mark"),
        ("x = 1\n".encode("utf-16"), 1, 1, "UTF-16"),
    ],
)
def test_says_what_it_cannot_read(data: bytes, row: int, column: int, message: str) -> None:
    source = read(data)
    assert source.text == ""
    (problem,) = source.problems
    assert (problem.row, problem.column) == (row, column)
    assert message in problem.message
    with pytest.raises((SyntaxError, ValueError)):
        compile(data, "x.py", "exec", dont_inherit=True)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_document_in_utf_16_is_read_and_written(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff".encode(encoding)
    text = "# Gerät\n\n```python\nx = 1\n```\n"
    file = tmp_path / "README.md"
    file.write_bytes(mark + text.encode(encoding))
    source = read_source(file, "README.md")
    assert "x = 1" in source.text and not source.problems
    changed = source.apply([(source.text.index("1"), source.text.index("1") + 1, "2")])
    assert source.encode(changed) == mark + text.replace("x = 1", "x = 2").encode(encoding)


def test_a_document_of_which_nobody_knows_the_encoding_is_read_and_written(tmp_path: Path) -> None:
    data = "# Gerät \x96\n\n```python\nx = 1\n```\n".encode("latin-1")
    file = tmp_path / "README.md"
    file.write_bytes(data)
    source = read_source(file, "README.md")
    assert "x = 1" in source.text and not source.problems
    changed = source.apply([(source.text.index("1"), source.text.index("1") + 1, "2")])
    assert source.encode(changed) == data.replace(b"x = 1", b"x = 2")


def test_an_encoding_that_loses_bytes_is_read_but_not_written() -> None:
    data = b"# coding: utf-7\nx = '+AOk-', '+AGE-'\n"
    source = read(data)
    assert "'é', 'a'" in source.text
    with pytest.raises(ValueError, match="does not survive"):
        source.apply([(0, 0, "y")])


def test_a_missing_file_is_the_caller_s_business(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_source(tmp_path / "none.py", "none.py")


def test_reads_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\r\n")
    source = read_source(file, "shown.py")
    assert (source.path, source.filename, source.text, source.kind) == (str(file), "shown.py", "x = 1\r\n", "python")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    source = read(data)
    if source.problems:
        assert isinstance(source.problems[0], Problem)
    elif source.exact:
        assert source.encode(source.apply([])) == data


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=80), st.data())
def test_edits_of_python_are_splices(text: str, data: st.DataObject) -> None:
    source = read(text.encode())
    if source.problems:  # the text happens to declare an encoding
        return
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if "\r\n" in (text[max(start - 1, 0) : start + 1], text[max(end - 1, 0) : end + 1]):
        with pytest.raises(ValueError, match="splits a newline"):
            source.apply([(start, end, "new")])
        return
    assert source.apply([(start, end, "new")]) == text[:start] + "new" + text[end:]
    row, column = source.position(start)
    assert source.locate(row, column) == (None, (row, column))
    assert source.segment(row) == 0


def test_new_rows_end_as_the_file_s_do() -> None:
    assert read(b"a\r\nb\r\n").apply([(3, 3, "x\ny\n")]) == "a\r\nx\r\ny\r\nb\r\n"
    assert read(b"a\rb").apply([(3, 3, "\nx")]) == "a\rb\rx"
    assert read(b"a").apply([(1, 1, "\nx")]) == "a\nx"


@pytest.mark.parametrize("replacements", [[(0, 3, ""), (2, 4, "")], [(3, 2, "")], [(0, 99, "")], [(-1, 0, "")]])
def test_impossible_replacements_are_refused(replacements: list[tuple[int, int, str]]) -> None:
    source = read(b"abcdef\n")
    for act in (source.apply, source.edits):
        with pytest.raises(ValueError, match="overlap or lie outside"):
            act(replacements)
