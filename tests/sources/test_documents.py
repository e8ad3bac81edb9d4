"""Markdown: the Python fences of a document are one program, and edits keep quote marks, indentation and prompts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devlint.findings import Edit, Position
from devlint.sources import Source
from tests.sources.helpers import apply_edits, check_locations, read

DOCUMENT = """\
# Title

```python
import torch
x = 1
```

- item

  ~~~py
  if x:
      y = 2
  ~~~

> quoted
> 1. deeper
>    ```Python title="é.py"
>    z = 'é'
>
>    w = 4
>    ```

```pycon
>>> for a in b:
...     a.cuda()
...
tensor(1)
>>> c = 1
```

```python
x = = 1
```

```js
let q = 2
```

```{.python .input}
#@tab mxnet
other = net.collect_params()
```

    ```python
    indented = "code, no fence"
    ```

```python
>>> prompted = 1
1
```

```{.python .input}
#@tab pytorch, tensorflow
last = 1
"""

PROGRAM = """\
import torch
x = 1
if x:
    y = 2
z = 'é'

w = 4
for a in b:
    a.cuda()


c = 1
prompted = 1

#@tab pytorch, tensorflow
last = 1
"""


def test_fences_are_one_program() -> None:
    source = read(DOCUMENT, "a.md")
    assert source.text == PROGRAM
    assert source.problems == []
    check_locations(source)
    where = {
        text: source.locate(PROGRAM[: PROGRAM.index(text)].count("\n") + 1, 1)[1] for text in ("z =", "c =", "last")
    }
    rows = DOCUMENT.splitlines()
    assert where == {
        "z =": Position(rows.index(">    z = 'é'") + 1, 6),
        "c =": Position(rows.index(">>> c = 1") + 1, 5),
        "last": Position(rows.index("last = 1") + 1, 1),
    }
    segments = [source.segment(row) for row in range(1, PROGRAM.count("\n") + 1)]
    assert segments == [1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 6, 6, 7, 7]


def replaced(source: Source, old: str, new: str) -> str:
    start = source.text.index(old)
    replacement = [(start, start + len(old), new)]
    after = source.apply(replacement)
    assert after == apply_edits(source.content, source.edits(replacement))
    return after


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("x = 1", "x = (\n    1\n)", "x = 1\n", "x = (\n    1\n)\n"),
        ("    y = 2", "    y = 3\n    v = 4", "      y = 2\n", "      y = 3\n      v = 4\n"),
        ("z = 'é'\n", "", ">    z = 'é'\n>\n", ">    \n"),
        ("w = 4\n", "v = 3\nw = 5\n", ">    w = 4\n", ">    v = 3\n>    w = 5\n"),
        ("w = 4", "v = 3\nw = 5", ">    w = 4\n", ">    v = 3\n>    w = 5\n"),
        (
            "    a.cuda()",
            "    a = f(\n        a\n    )",
            "...     a.cuda()",
            "...     a = f(\n...         a\n...     )",
        ),
        ("c = 1", "c = 1\nd = 2", ">>> c = 1", ">>> c = 1\n>>> d = 2"),
        ("c = 1", "c = f(\n)", ">>> c = 1", ">>> c = f(\n... )"),
        ("x = 1\n", "y = 2", "x = 1\n", "y = 2\n"),
        ("w = 4\n", "", ">    w = 4\n", ""),
        ("last = 1\n", "first = 0\nlast = 1\n", "last = 1\n", "first = 0\nlast = 1\n"),
    ],
)
def test_edits_keep_what_stands_before_the_code(old: str, new: str, before: str, after: str) -> None:
    source = read(DOCUMENT, "a.md")
    assert replaced(source, old, new) == DOCUMENT.replace(before, after)


def test_insertion_at_the_start_of_a_row() -> None:
    source = read(DOCUMENT, "a.md")
    at = source.text.index("w = 4")
    assert source.apply([(at, at, "v = 3\n")]) == DOCUMENT.replace(">    w = 4", ">    v = 3\n>    w = 4")
    row = DOCUMENT.splitlines().index(">    w = 4") + 1
    assert source.edits([(at, at, "v = 3\n")]) == (Edit("v = 3\n>    ", Position(row, 6), Position(row, 6)),)
    at = source.text.index("    a.cuda()")
    assert "...     new\n...     a.cuda()" in source.apply([(at, at, "    new\n")])


def test_rows_may_end_in_crlf() -> None:
    document = DOCUMENT.replace("\n", "\r\n")
    source = read(document, "a.md")
    assert source.text == PROGRAM.replace("\n", "\r\n")
    check_locations(source)
    at = source.text.index("w = 4")
    assert source.apply([(at, at + 5, "v\nw")]) == document.replace("w = 4", "v\r\n>    w")


def test_magics_are_masked() -> None:
    source = read(
        "```python\n%env CUDA_VISIBLE_DEVICES=0,1\n!nvidia-smi\nx = 1\n```\n```ipython\n%%bash\nls\n```\n", "a.md"
    )
    assert source.text == "__import__('os').environ['CUDA_VISIBLE_DEVICES'] = '0,1'\npass       \nx = 1\n"
    assert source.locate(3, 1)[1] == Position(4, 1)


def test_edits_across_fences_are_refused() -> None:
    source = read(DOCUMENT, "a.md")
    with pytest.raises(ValueError, match="crosses"):
        source.apply([(source.text.index("x = 1"), source.text.index("y = 2"), "")])


def test_a_row_whose_tab_markdown_widens_is_read_but_not_edited() -> None:
    source = read("- a\n\n  ```python\n  if x:\n\ty = 1\n  z = 2\n  ```\n", "a.md")
    assert source.text == "if x:\n  y = 1\nz = 2\n"
    at = source.text.index("y")
    assert source.locate(*source.position(at)) == (None, Position(5, 2))
    with pytest.raises(ValueError, match="masked"):
        source.apply([(at, at + 1, "w")])
    at = source.text.index("z")
    assert source.apply([(at, at + 1, "w")]) == source.content.replace("z =", "w =")


def test_form_feeds_and_line_separators_end_no_row() -> None:
    source = read("```python\nx = 'a\u2028b\x0cc'\ny = 1\n```\n", "a.md")
    assert source.text == "x = 'a\u2028b\x0cc'\ny = 1\n"
    check_locations(source)


def test_the_markdown_library_is_imported_only_for_documents_with_fences() -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom devlint.sources import read_source\n"
        "read_source(Path('a.py'), 'a.py', b'x = 1')\nread_source(Path('a.md'), 'a.md', b'# no code')\n"
        "read_source(Path('a.ipynb'), 'a.ipynb', b'{}')\n"
        "print(sorted({'markdown_it', 'libcst', 'torch'} & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


PREFIXES = st.sampled_from(["", "> ", "  ", ">   ", "> > ", "   "])
BODIES = st.sampled_from(
    ["x = 1", "if x:\n    y = 'é😀'\n\n    z = 2", "", "!ls", "a = (\n  1,\n)", "x = = 1", "%time q = 1"]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw documents of fences within quotes and indentation."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        prefix = draw(PREFIXES)
        fence = draw(st.sampled_from(["```", "~~~~"]))
        rows = [fence + draw(st.sampled_from(["python", " py ", "js", ""])), *draw(BODIES).split("\n"), fence]
        parts.append("".join(prefix + row + "\n" for row in rows) + "\ntext\n\n")
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return "".join(parts).replace("\n", newline)


@given(documents())
def test_reading_and_writing_gives_the_same_bytes(text: str) -> None:
    source = read(text, "a.md")
    assert source.encode(source.apply([])) == text.encode()
    check_locations(source)


@given(documents(), st.data())
def test_edits_of_the_program_are_edits_of_the_document(text: str, data: st.DataObject) -> None:
    source = read(text, "a.md")
    start = data.draw(st.integers(0, len(source.text)))
    end = data.draw(st.integers(start, min(start + 12, len(source.text))))
    content = data.draw(st.sampled_from(["new", "a\nb"]))
    replacement = [(start, end, content)]
    try:
        edits = source.edits(replacement)
    except ValueError:
        return
    after = source.apply(replacement)
    assert after == apply_edits(text, edits)
    program = source.text[:start] + content + source.text[end:]
    again = read(after, "a.md")
    fences = {row.segment for row in source.rows}
    # Otherwise a fence parses no more, or the newline before the closing fence was kept.
    if {row.segment for row in again.rows} == fences and len(again.rows) == program.count("\n"):
        assert [row.rstrip() for row in again.text.split("\n")] == [row.rstrip() for row in program.split("\n")]
