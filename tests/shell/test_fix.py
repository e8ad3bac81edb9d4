"""`--fix` and `--diff` on real files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from devlint import linter
from devlint.cli import cli
from devlint.fixes import choose, write_atomically
from devlint.rules.base import Mend, Replacement

pytestmark = pytest.mark.usefixtures("fake")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", "--no-cache", *arguments], catch_exceptions=False)


def test_fix_mends_and_a_second_time_changes_nothing(project: Path) -> None:
    file = project / "bad.py"
    file.write_text("x.to(a)\ny = 1  # keep   this\ny.to(b)\n")
    result = check("--fix")
    assert result.exit_code == 0
    assert "Fixed 2 findings in 1 file." in result.stderr
    assert file.read_text() == "x = x.to(a)\ny = 1  # keep   this\ny = y.to(b)\n"
    stamp = file.stat().st_mtime_ns
    assert "Fixed" not in check("--fix").stderr
    assert file.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_bytes_elsewhere_stay(project: Path, newline: bytes) -> None:
    file = project / "bad.py"
    before = b"\xef\xbb\xbf# \xc3\xa4\t " + newline + b"x.to(d) # \xc3\xb6" + newline + b"\x0c" + newline + b"y = 1"
    file.write_bytes(before)
    check("--fix")
    assert file.read_bytes() == before.replace(b"x.to", b"x = x.to")


def test_other_encodings_stay(project: Path) -> None:
    file = project / "bad.py"
    before = "# coding: latin-1\ns = 'ä'; x.to(d)\n".encode("latin-1")
    file.write_bytes(before)
    check("--fix")
    assert file.read_bytes() == before.replace(b"x.to", b"x = x.to")


def test_mode_and_link_stay(project: Path) -> None:
    file = project / "real.txt"
    file.write_text("x.to(d)\n")
    file.chmod(0o751)
    link = project / "bad.py"
    link.symlink_to(file)
    check("--fix", "bad.py")
    assert link.is_symlink()
    assert file.read_text() == "x = x.to(d)\n"
    assert file.stat().st_mode & 0o777 == 0o751
    assert sorted(os.listdir(project)) == [".git", "bad.py", "real.txt"]


def test_unsafe_fixes_only_when_asked(project: Path) -> None:
    file = project / "bad.py"
    file.write_text("f('cuda')\n")
    assert check("--fix", "--select", "DEV103").exit_code == 1
    assert file.read_text() == "f('cuda')\n"
    assert check("--fix", "--unsafe-fixes", "--select", "DEV103").exit_code == 0
    assert file.read_text() == "f(device)\n"


def test_diff_changes_nothing(project: Path) -> None:
    file = project / "bad.py"
    file.write_text("x.to(d)\n")
    result = check("--diff")
    assert result.exit_code == 1
    assert result.stdout == "--- bad.py\n+++ bad.py\n@@ -1 +1 @@\n-x.to(d)\n+x = x.to(d)\n"
    assert "Would fix 1 finding in 1 file." in result.stderr
    assert file.read_text() == "x.to(d)\n"
    file.write_text("x = 1\n")
    assert check("--diff").exit_code == 0


def test_suppressed_and_accepted_findings_are_not_mended(project: Path) -> None:
    file = project / "bad.py"
    text = "x.to(d)  # noqa: DEV201\ny.to(d)\n"
    file.write_text(text)
    check("--write-baseline", "known.json")
    check("--fix", "--baseline", "known.json")
    assert file.read_text() == text


def test_a_notebook_keeps_its_bytes(project: Path) -> None:
    file = project / "nb.ipynb"
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# title\n", "text"]},
        {"cell_type": "code", "metadata": {}, "source": ["%time x = 1\n", "x.to(d)\n"], "outputs": [{"a": 1}]},
        {"cell_type": "code", "metadata": {}, "source": "y.to(d)", "outputs": []},
    ]
    before = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=3)
    file.write_text(before)
    findings = json.loads(check("--output-format", "json").stdout)
    assert [(f["cell"], f["location"]["row"]) for f in findings] == [(2, 2), (3, 1)]
    assert [edit["cell"] for f in findings for edit in f["fix"]["edits"]] == [2, 3]
    assert check("--fix").exit_code == 0
    assert file.read_text() == before.replace("x.to", "x = x.to").replace("y.to", "y = y.to")


def mend(*replacements: tuple[int, int, str], safe: bool = True) -> Mend:
    parts = tuple(Replacement(*replacement) for replacement in replacements)
    return Mend("safe" if safe else "unsafe", "", parts)


def test_of_two_that_overlap_the_earlier_is_taken() -> None:
    first, second, third = mend((0, 5, "a")), mend((4, 6, "b"), (20, 20, "c")), mend((20, 20, "d"))
    assert [m for _, m in choose([("A", second), ("B", first), ("C", third)], unsafe=False)] == [first, third]


def test_insertions_at_one_place_are_not_taken_together() -> None:
    assert len(choose([("A", mend((3, 3, "a"))), ("B", mend((3, 3, "b")))], unsafe=False)) == 1


def test_an_insertion_beside_a_replacement_is_no_overlap() -> None:
    assert len(choose([("A", mend((3, 3, "a"))), ("B", mend((3, 5, "b")))], unsafe=False)) == 2


def test_what_was_saved_in_the_meantime_is_not_overwritten(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "bad.py"
    file.write_text("x.to(a)\n")
    original = linter.lint_and_fix

    def and_somebody_saves(*arguments: Any, **options: Any) -> Any:
        answer = original(*arguments, **options)
        file.write_text("x.to(a)\nprint('new')\n")
        return answer

    monkeypatch.setattr(linter, "lint_and_fix", and_somebody_saves)
    result = check("--fix")
    assert result.exit_code == 2
    assert "bad.py: changed while it was checked" in result.stderr
    assert file.read_text() == "x.to(a)\nprint('new')\n"


def test_what_must_not_be_written_is_not_replaced(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "bad.py"
    file.write_text("x.to(a)\n")
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode == os.W_OK and Path(path) == file))
    result = check("--fix")
    assert result.exit_code == 2
    assert "error: bad.py: Permission denied" in result.stderr
    assert file.read_text() == "x.to(a)\n"


def test_a_write_that_fails_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, b"new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.py"]
