"""Bad input through the real interpreter: a finding or silence for each, in time, and never a traceback."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.cli import cli

BAD = b"import torch\nx = torch.zeros(3).cuda()\nx.numpy()\n"

UNPARSABLE = {
    "syntax.py": b"def f(:\n",
    "nul.py": b"x = 1\0\n",
    "latin.py": b"x = '\xe9'\n",
    "utf16.py": "x = 1\n".encode("utf-16"),
    "surrogate.py": b"x = '\xed\xa0\x80'\n",
    "tabs.py": b"if True:\n\tx = 1\n        y = 1\n",
    "parentheses.py": b"x = " + b"(" * 100_000,
    "minus.py": b"x = " + b"-" * 100_000 + b"1\n",
    "attributes.py": b"x = torch" + b".a" * 50_000 + b"\n",
    "calls.py": b"x = torch" + b".a()" * 20_000 + b"\n",
    "plus.py": b"import torch\nx = torch.zeros(3)" + b" + 1" * 50_000 + b"\n",
    "lambdas.py": b"f = " + b"lambda: " * 5_000 + b"1\n",
    "object.ipynb": b"{not json",
    "nested.ipynb": b"[" * 100_000,
    "null.ipynb": b"null",
}

SILENT = {
    "empty.py": b"",
    "blank.py": b"\n\n\n",
    "bom.py": b"\xef\xbb\xbf",
    "comment.py": b"# nothing",
    "brackets.py": b"x = " + b"[" * 150 + b"]" * 150 + b"\n",
    "ifs.py": b"".join(b" " * depth + b"if x:\n" for depth in range(90)) + b" " * 90 + b"y\n",
    "elifs.py": b"if a == 0:\n  b\n" + b"".join(b"elif a == %d:\n  b\n" % number for number in range(900)),
    "quotes.md": b">" * 10_000 + b"\n",
    "empty.ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
}


def codes(folder: Path, *arguments: str) -> dict[str, list[str]]:
    command = ["check", "--no-cache", "--isolated", "--output-format", "json", *arguments, str(folder)]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    found: dict[str, list[str]] = {}
    for finding in json.loads(result.stdout):
        found.setdefault(Path(finding["filename"]).name, []).append(finding["code"])
    assert result.exit_code == (1 if found else 0)
    return found


def test_what_cannot_be_parsed_does_not_stop_the_rest(tmp_path: Path) -> None:
    for name, content in UNPARSABLE.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "zzz.py").write_bytes(BAD)
    found = codes(tmp_path)
    assert found.pop("zzz.py") == ["DEV102", "DEV401"]
    found.setdefault("plus.py", ["DEV000"])  # Python 3.14 reads it
    assert found == {name: ["DEV000"] for name in UNPARSABLE}


@pytest.mark.parametrize("name", SILENT)
def test_odd_input_is_silent(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(SILENT[name])
    assert codes(tmp_path) == {}


@pytest.mark.parametrize(
    "content", [BAD.replace(b"\n", b"\r"), BAD.replace(b"\n", b"\r\n"), BAD.replace(b"\nx =", b"\n\x0cx =")]
)
def test_rows_of_all_kinds(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    assert codes(tmp_path) == {"a.py": ["DEV102", "DEV401"]}


def test_an_enormous_line_is_checked_in_time(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(BAD + b"data = [" + b"1, " * 300_000 + b"]\n")
    started = time.monotonic()
    assert codes(tmp_path) == {"a.py": ["DEV102", "DEV401"]}
    assert time.monotonic() - started < 30


def test_a_cell_that_cannot_be_parsed_leaves_the_others(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": "def f(:", "metadata": {}, "outputs": []},
        {"cell_type": "code", "source": BAD.decode(), "metadata": {}, "outputs": []},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    assert codes(tmp_path) == {"a.ipynb": ["DEV000", "DEV102", "DEV401"]}


def test_where_a_file_can_not_be_parsed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('x = "😀", f(:\n', encoding="utf-8")
    (tmp_path / "b.py").write_text("x = 1 +\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", "--isolated", "--no-cache", "--output-format", "json", str(tmp_path)])
    starts = {Path(item["filename"]).name: item["location"] for item in json.loads(result.stdout)}
    assert starts == {"a.py": {"row": 1, "column": 12}, "b.py": {"row": 1, "column": 8}}
