"""Suppression comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.findings import Finding, Location, Position
from devlint.rules.catalogue import CATALOGUE
from devlint.sources import read_source
from devlint.suppression import Comments, noqa_replacements

ENABLED = frozenset({"DEV201", "DEV301", "DEV302"})


def comments(text: str, name: str = "a.py") -> Comments:
    return Comments.read(read_source(Path("/x") / name, name, text.encode()))


def finding(row: int, code: str = "DEV301", end: int | None = None, noqa_row: int = 0) -> Finding:
    where = Location("a.py", Position(row, 1), Position(end or row, 5))
    return Finding(code, "mixed-devices", "message", where, "error", noqa_row=noqa_row)


@pytest.mark.parametrize(
    ("comment", "held"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NOQA", True),
        ("# noqa: DEV301", True),
        ("# noqa:DEV301", True),
        ("# noqa: E501, DEV301", True),
        ("# noqa: E501 DEV301", True),
        ("# noqa: DEV3", True),
        ("# noqa: dev301", True),
        ("# why  # noqa: DEV301", True),
        ("# type: ignore # noqa: DEV301 reason", True),
        ("# noqa: DEV302", False),
        ("# noqa: E501", False),
        ("# noqa:E501", False),
        ("# noqathing", False),
        ("# devlint: ignore[DEV301] because", True),
        ("# devlint: ignore[DEV201, DEV301]", True),
        ("# devlint:ignore", True),
        ("# devlint: ignore[mixed-devices]", True),
        ("# devlint: ignore[ALL]", True),
        ("# noqa: ALL", False),
        ("# devlint: ignore[DEV302]", False),
        ("# devlint: ignored", False),
        ("# nothing", False),
    ],
)
def test_what_a_comment_holds_back(comment: str, held: bool) -> None:
    assert comments(f"f(x)  {comment}\n").suppresses(finding(1)) is held
    assert not comments(f"f(x)  {comment}\ng(x)\n").suppresses(finding(2))


def test_a_string_is_no_comment() -> None:
    assert not comments("f('# noqa')\n").suppresses(finding(1))
    assert not comments('x = """\n# devlint: ignore-file\n"""\n').suppresses(finding(1))


@pytest.mark.parametrize(
    ("comment", "held"),
    [
        ("# devlint: ignore-file", True),
        ("# devlint: ignore-file[DEV301] reason", True),
        ("# devlint: ignore-file[DEV302]", False),
        ("# devlint: noqa", True),
        ("# devlint: noqa: DEV301", True),
        ("# flake8: noqa", True),
        ("# flake8: noqa: E501", False),
    ],
)
def test_comments_for_the_whole_file(comment: str, held: bool) -> None:
    assert comments(f"x = 1\n{comment}\nf(x)\n").suppresses(finding(1)) is held


def test_an_ignore_on_a_row_of_its_own_is_for_the_next_statement() -> None:
    read = comments("x = 1\n# devlint: ignore[DEV301] reason\n\n# more\nf(x)\ng(x)\n")
    assert [read.suppresses(finding(row)) for row in (1, 5, 6)] == [False, True, False]


def test_the_last_row_of_a_finding_counts() -> None:
    assert comments("f(\n  x,\n)  # noqa\n").suppresses(finding(1, end=3))


def test_the_row_that_can_carry_a_comment() -> None:
    read = comments('f("""\ntext\n""")  # noqa\ny = x + \\\n  z  # noqa\n')
    assert [read.noqa_row(finding(row)) for row in (1, 2, 3, 4, 5)] == [3, 3, 3, 5, 5]


def test_comments_before_a_fault_count() -> None:
    assert comments("f(x)  # noqa\ng(\n").suppresses(finding(1))


def test_what_held_nothing_back_is_unused() -> None:
    read = comments(
        "a()  # noqa: DEV301\n"
        "b()  # noqa: DEV301, DEV201\n"
        "c()  # noqa\n"
        "d()  # devlint: ignore\n"
        "e()  # noqa: E501\n"
        "f()  # devlint: ignore[DEV901]\n"
        "g()  # devlint: ignore[mixed-devices]\n"
        "h()  # devlint: ignore[mixed-device]\n"
    )
    assert read.suppresses(finding(2))
    unused = [(item.row, item.codes, item.unknown) for item in read.unused(ENABLED, CATALOGUE)]
    assert unused == [
        (1, ("DEV301",), ()),
        (2, ("DEV201",), ()),
        (4, (), ()),
        (7, ("MIXED-DEVICES",), ()),
        (8, ("MIXED-DEVICE",), ("MIXED-DEVICE",)),
    ]


def test_added_comments() -> None:
    source = read_source(Path("/x/a.py"), "a.py", b"f(x)  \r\ng(x)  # why\r\nh(x)  # noqa: E501\r\ni(x)")
    findings = [finding(1, "DEV301"), finding(1, "DEV201"), finding(2), finding(3), finding(4)]
    assert source.apply(noqa_replacements(source, findings)) == (
        "f(x)  # noqa: DEV201, DEV301\r\ng(x)  # why  # noqa: DEV301\r\nh(x)  # noqa: E501, DEV301\r\n"
        "i(x)  # noqa: DEV301"
    )


def test_what_a_text_says_is_no_comment_to_be_added_to() -> None:
    source = read_source(Path("/x/a.py"), "a.py", b"s = '# noqa: E501'; f(s)\nt = '# noqa: E501'; g(t)  # noqa: E1\n")
    assert source.apply(noqa_replacements(source, [finding(1), finding(2)])) == (
        "s = '# noqa: E501'; f(s)  # noqa: DEV301\nt = '# noqa: E501'; g(t)  # noqa: E1, DEV301\n"
    )


def test_a_comment_that_is_added_to_one_of_ours_counts() -> None:
    text = "f(x)  # devlint: ignore[DEV302]"
    source = read_source(Path("/x/a.py"), "a.py", text.encode())
    added = comments(source.apply(noqa_replacements(source, [finding(1)])))
    assert added.suppresses(finding(1)) and added.suppresses(finding(1, "DEV302"))
    assert not added.suppresses(finding(1, "DEV201"))


def test_a_document_suppresses_in_its_own_rows() -> None:
    text = "# title\n\n- item\n\n  ```python\n  f(x)  # noqa: DEV301\n  ```\n"
    assert comments(text, "a.md").suppresses(finding(6))
