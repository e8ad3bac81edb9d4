"""Notebooks: one program over all code cells, and edits that leave every other byte alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.findings import Edit, Position
from devlint.sources import Problem
from devlint.sources.notebook import Notebook
from tests.sources.helpers import apply_edits, check_locations, code, notebook, read

MARKDOWN: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": ["# x\n", "y"]}


def test_all_code_cells_are_one_program() -> None:
    source = read(
        notebook(MARKDOWN, code(["import torch\n", "x = 1"]), MARKDOWN, code("y = x\n"), code([]), code("z = y")),
        "nb.ipynb",
    )
    assert source.text == "import torch\nx = 1\ny = x\nz = y\n"
    assert [source.locate(row, 3) for row in (1, 2, 3, 4)] == [
        (2, Position(1, 3)),
        (2, Position(2, 3)),
        (4, Position(1, 3)),
        (6, Position(1, 3)),
    ]
    assert [source.segment(row) for row in (1, 2, 3, 4)] == [2, 2, 4, 6]
    assert source.line(2, 2) == "x = 1"
    assert source.line(3, 2) == source.line(1, 99) == ""
    check_locations(source)


def test_magics_are_masked_and_cells_of_other_languages_skipped() -> None:
    cells = [
        code("%env CUDA_VISIBLE_DEVICES=0,1\nfiles = !ls data\nif files:\n    !nvidia-smi"),
        code("%%bash\nls"),
        code("%%time\nx = files"),
        code("plot(x)", metadata={"vscode": {"languageId": "r"}}),
    ]
    source = read(notebook(*cells), "nb.ipynb")
    assert source.text.splitlines() == [
        "__import__('os').environ['CUDA_VISIBLE_DEVICES'] = '0,1'",
        "files = get_ipython().getoutput()",
        "if files:",
        "    pass       ",
        "pass  ",
        "x = files",
    ]
    assert source.locate(1, 50) == (1, Position(1, 30))
    assert source.locate(6, 5) == (3, Position(2, 5))
    assert source.problems == []


def test_the_indent_of_a_cell_is_taken_off() -> None:
    """IPython does: `leading_indent` of its inputtransformer2."""
    text = notebook(code("\n  with x:\n    y = !ls\n    z = 1\nlast = 2\n  after = 3"), code("  !pip list"))
    source = read(text, "nb.ipynb")
    assert source.problems == []
    assert source.text.splitlines() == [
        "",
        "with x:",
        "  y = get_ipython().getoutput()",
        "  z = 1",
        "last = 2",
        "after = 3",
        "pass     ",
    ]
    assert source.locate(4, 3) == (1, Position(4, 5))
    check_locations(source)
    at = source.text.index("1")
    assert source.apply([(at, at + 1, "5")]) == text.replace("z = 1", "z = 5")
    at = source.text.index("  z")
    assert source.apply([(at, at, "  new = 0\n")]) == text.replace("    z", "    new = 0\\n    z")


def test_a_cell_that_does_not_parse_is_a_problem_of_its_own() -> None:
    source = read(notebook(MARKDOWN, code("x = 1"), code(["ok = 1\n", "é = = 2"]), code("y = '😀'; z = 1")), "n.ipynb")
    assert source.text == "x = 1\ny = '😀'; z = 1\n"
    assert source.problems == [Problem("the cell can't be parsed: invalid syntax", 2, 5, 3)]
    assert source.locate(2, 10) == (4, Position(1, 10))


def test_top_level_await_and_newer_syntax_are_no_problems() -> None:
    assert read(notebook(code("await x"), code("type X = int")), "n.ipynb").problems == []


@pytest.mark.parametrize(
    ("text", "row", "message"),
    [
        ("", 1, "the file is empty"),
        ("{\n  'a': 1}", 2, "property name"),
        ("[]", 1, "Expecting an object"),
        ('{"cells": []} x', 1, "Extra data"),
        ('{"cells": [{"cell_type": "code",\n "source": [1]}]}', 2, "strings"),
        ('{"cells": [', 1, "Expecting an object"),
        ('{"cells": ' + "[" * 100000, 1, "Expecting an object"),
        ('{"metadata": ' + "[" * 100000, 1, "nested too deeply"),
    ],
)
def test_what_is_no_notebook(text: str, row: int, message: str) -> None:
    (problem,) = read(text, "n.ipynb").problems
    assert problem.row == row
    assert problem.message.startswith("not a notebook: ")
    assert message in problem.message


def test_what_git_lfs_has_not_fetched_is_silent() -> None:
    pointer = read("version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 18728\n", "n.ipynb")
    assert (pointer.text, pointer.problems) == ("", [])


def test_notebooks_of_other_kernels_are_silent() -> None:
    source = read(notebook(code("x <- 1"), kernelspec={"language": "R", "name": "ir"}), "n.ipynb")
    assert (source.text, source.problems) == ("", [])


def test_format_3() -> None:
    text = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y"]}]}], "nbformat": 3})
    source = read(text, "n.ipynb")
    assert source.text == "x = 1\ny\n"
    assert json.loads(source.apply([(0, 1, "z")]))["worksheets"][0]["cells"][0]["input"] == ["z = 1\n", "y"]


def edited(source: Notebook, old: str, new: str) -> list[str] | str:
    """Return the source of cell 1 after one replacement."""
    start = source.text.index(old)
    result: list[str] | str = json.loads(source.apply([(start, start + len(old), new)]))["cells"][0]["source"]
    return result


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("b", 'é"\\', ["a\n", 'é"\\ = 1\n', "c"]),
        ("b = 1", "b\n= 1", ["a\n", "b\n", "= 1\n", "c"]),
        ("b = 1\n", "", ["a\n", "c"]),
        ("b = 1\n", "x\ny\n", ["a\n", "x\n", "y\n", "c"]),
        ("a\nb", "z", ["z = 1\n", "c"]),
        ("c\n", "d\n", ["a\n", "b = 1\n", "d"]),
        ("c", "c\nd", ["a\n", "b = 1\n", "c\n", "d"]),
        ("c", "c\n", ["a\n", "b = 1\n", "c\n"]),
        ("a\nb = 1\nc\n", "", [""]),
    ],
)
def test_edits_keep_one_string_a_row(old: str, new: str, expected: list[str]) -> None:
    source = read(notebook(code(["a\n", "b = 1\n", "c"]), code("x")), "n.ipynb")
    assert isinstance(source, Notebook)
    assert edited(source, old, new) == expected


def test_insertion_at_the_start_of_a_row() -> None:
    text = notebook(code(["a\n", "b"]))
    source = read(text, "n.ipynb")
    assert source.apply([(2, 2, "new\n")]) == text.replace('    "b"', '    "new\\n",\n    "b"')
    assert source.edits([(2, 2, "new\n")]) == (Edit("new\n", Position(2, 1), Position(2, 1), 1),)


def test_a_source_that_is_one_string_stays_one() -> None:
    text = notebook(code("a\nb"))
    assert read(text, "n.ipynb").apply([(2, 3, "x\ny")]) == text.replace("a\\nb", "a\\nx\\ny")


def test_escapes_stay_as_they_are() -> None:
    text = '{"cells":[{"cell_type":"code","source":["x = \\"\\u00e9\\ud83d\\ude00\\/\\t\\";y"]}],"metadata":{}}'
    source = read(text, "n.ipynb")
    at = source.text.index("y")
    assert source.apply([(at, at + 1, "ü")]) == text.replace(";y", ";\\u00fc")
    at = source.text.index("😀")
    assert source.apply([(at, at + 1, "")]) == text.replace("\\ud83d\\ude00", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [("= 1\ny", ""), ("pass", ""), ("ass", "x"), ("import__('os')", ""), ("get_ipython", "x"), ("0;    ", "")],
)
def test_masked_text_and_cell_borders_are_refused(old: str, new: str) -> None:
    source = read(notebook(code("%matplotlib inline\n%env A=1\nz = !ls\n%time f()\nx = 1"), code("y")), "n.ipynb")
    start = source.text.index(old)
    for act in (source.apply, source.edits):
        with pytest.raises(ValueError, match=r"masked|crosses"):
            act([(start, start + len(old), new)])


@pytest.mark.parametrize(("at", "content"), [(0, "y"), (4, "y"), (4, ".z\n"), (8, "z")])
def test_nothing_is_joined_to_a_masked_row(at: int, content: str) -> None:
    source = read(notebook(code("!pwd\n!pwd\nx")), "n.ipynb")
    with pytest.raises(ValueError, match="masked"):
        source.apply([(at, at, content)])


def test_rows_beside_a_masked_row_can_be_added() -> None:
    text = notebook(code("!pwd\nx"))
    source = read(text, "n.ipynb")
    assert source.apply([(0, 0, "y\n")]) == text.replace("!pwd", "y\\n!pwd")
    assert source.apply([(4, 4, "\ny")]) == text.replace("!pwd", "!pwd\\ny")


def test_text_beside_a_mask_can_be_edited() -> None:
    text = notebook(code(["z = !ls\n", "%time f()"]))
    source = read(text, "n.ipynb")
    at = source.text.index("f()")
    assert source.apply([(0, 1, "w"), (at, at + 1, "g")]) == text.replace("z =", "w =").replace("f()", "g()")


def test_rows_may_end_in_crlf() -> None:
    source = read(notebook(code(["a\r\n", "b\r\n", "c"])), "n.ipynb")
    assert source.text == "a\r\nb\r\nc\n"
    assert json.loads(source.apply([(3, 3, "x\n")]))["cells"][0]["source"] == ["a\r\n", "x\r\n", "b\r\n", "c"]
    check_locations(source)


LINES = st.sampled_from(
    ["x = 1", "y = 'é😀\"'", "", "# \\ t\u2028", "if x:\n    y = 2", "!ls -l", "f = !ls", "%time z = 3", "z\r"]
)


@st.composite
def notebooks(draw: st.DrawFn) -> str:
    """Draw notebooks: rows cut into strings anyhow, outputs, any layout of the JSON."""
    cells: list[dict[str, Any]] = []
    for rows in draw(st.lists(st.lists(LINES, max_size=4), max_size=4)):
        text = "\n".join(rows)
        cut = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
        source: str | list[str] = text
        if draw(st.booleans()):
            source = [text[a:b] for a, b in zip([0, *cut], [*cut, len(text)], strict=True)]
        elif draw(st.booleans()):
            source = text.splitlines(keepends=True)
        outputs = draw(st.sampled_from([[], [{"data": {"image/png": "iVBOR/+\\n", "é": "\u2028"}}]]))
        cells.append(code(source, outputs=outputs) if draw(st.booleans()) else {**MARKDOWN, "source": source})
    document = {"metadata": {}, "cells": cells, "nbformat": 4}
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :\t")]))
    text = json.dumps(
        document,
        indent=draw(st.sampled_from([None, 0, 1, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=separators,
        sort_keys=draw(st.booleans()),
    )
    return text + draw(st.sampled_from(["", "\n", "\r\n "]))


@given(notebooks())
def test_reading_and_writing_gives_the_same_bytes(text: str) -> None:
    source = read(text, "n.ipynb")
    assert source.encode(source.apply([])) == text.encode()
    check_locations(source)


@given(notebooks(), st.data())
def test_an_edit_changes_its_cell_and_nothing_else(text: str, data: st.DataObject) -> None:
    source = read(text, "n.ipynb")
    length = len(source.text)
    start = data.draw(st.integers(0, length))
    end = data.draw(st.integers(start, min(start + 12, length)))
    content = data.draw(st.sampled_from(["", "new", 'é"\\', "a\nb", "a\n", "\nb"]))
    try:
        (edit,) = source.edits([(start, end, content)])
        after = source.apply([(start, end, content)])
    except ValueError:
        return
    old, new = json.loads(text), json.loads(after)
    assert edit.cell is not None
    before = "".join(old["cells"][edit.cell - 1]["source"])
    changed = "".join(new["cells"][edit.cell - 1]["source"])
    assert changed == apply_edits(before, [edit])
    if isinstance(old["cells"][edit.cell - 1]["source"], str):
        assert isinstance(new["cells"][edit.cell - 1]["source"], str)
    old["cells"][edit.cell - 1]["source"] = new["cells"][edit.cell - 1]["source"] = ""
    assert old == new
    # Outside the strings of that cell the very bytes are the same.
    cell = source.cells[edit.cell]  # type: ignore[attr-defined]
    first, last = cell.strings[0].start, cell.strings[-1].end
    assert after.startswith(text[:first])
    assert after.endswith(text[last:])


def test_the_errors_that_outputs_show() -> None:
    """`error` of format 4, `pyerr` of format 3, and nbconvert's tag."""
    failed = [{"output_type": "stream", "text": "x"}, {"output_type": "error", "ename": "TypeError", "evalue": ""}]
    source = read(
        notebook(
            code("a", outputs=failed),
            code("b", outputs=[{"output_type": "pyerr", "ename": "KeyError"}]),
            code("c", metadata={"tags": ["raises-exception"]}),
            code("d", outputs={"odd": 1}),
        ),
        "nb.ipynb",
    )
    assert isinstance(source, Notebook)
    shown = [
        (cell, name) for cell in range(1, 6) for name in ("TypeError", "KeyError") if source.shows_error(cell, name)
    ]
    assert shown == [(1, "TypeError"), (2, "KeyError"), (3, "TypeError"), (3, "KeyError")]
