"""`devlint check`, end to end, over the small analyser of conftest."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result

from devlint.cli import cli
from devlint.config import OUTPUT_FORMATS

pytestmark = pytest.mark.usefixtures("fake")

BAD = "x = 1\nx.to(device)\n"
GOOD = "x = 1\nx = x.to(device)\n"


def check(*arguments: str, text: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["check", "--no-cache", *arguments], input=text, catch_exceptions=False)


def found(*arguments: str) -> list[tuple[str, str, int, int]]:
    result = check("--output-format", "json", *arguments)
    return [
        (f["code"], f["filename"], f["location"]["row"], f["location"]["column"]) for f in json.loads(result.stdout)
    ]


def test_nothing_found_is_exit_code_0(project: Path) -> None:
    (project / "good.py").write_text(GOOD)
    result = check()
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_finding_is_exit_code_1_on_stdout(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    result = check("--output-format", "concise")
    assert result.exit_code == 1
    assert "bad.py:2:1: DEV201" in result.stdout
    assert result.stderr == ""


def test_exit_zero(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    assert check("--exit-zero").exit_code == 0


def test_the_json_contract(project: Path) -> None:
    (project / "bad.py").write_text("if flag:\n    x.to(device)\n")
    (finding,) = json.loads(check("--output-format", "json").stdout)
    error = finding["error"]
    assert error.startswith("RuntimeError: Expected all tensors")
    assert finding == {
        "code": "DEV201",
        "name": "dropped-move",
        "message": "the result of `x.to(device)` is thrown away",
        "filename": "bad.py",
        "cell": None,
        "location": {"row": 2, "column": 5},
        "end_location": {"row": 2, "column": 17},
        "severity": "error",
        "worlds": ["gpu1", "gpu2"],
        "when": [{"condition": "flag", "value": True, "filename": "bad.py", "row": 1}],
        "error": error,
        "errors": {"gpu1": error, "gpu2": error},
        "trace": [],
        "fix": {
            "applicability": "safe",
            "message": "Assign the result.",
            "edits": [
                {"content": "x = ", "location": {"row": 2, "column": 5}, "end_location": {"row": 2, "column": 5}}
            ],
        },
        "noqa_row": 2,
        "url": "https://devlint.readthedocs.io/rules/DEV201/",
    }


def test_columns_count_characters(project: Path) -> None:
    (project / "bad.py").write_text("s = '\U0001f600ä'; x.to(d)\n", encoding="utf-8")
    assert found() == [("DEV201", "bad.py", 1, 11)]


def test_a_missing_file_is_exit_code_2_and_the_others_are_linted(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    result = check("missing.py", "bad.py", "--output-format", "concise")
    assert result.exit_code == 2
    assert "error: missing.py: No such file or directory" in result.stderr
    assert "bad.py:2:1" in result.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file(project: Path) -> None:
    (project / "secret.py").write_text(BAD)
    (project / "secret.py").chmod(0)
    result = check("secret.py")
    assert result.exit_code == 2 and "secret.py: Permission denied" in result.stderr
    assert [code for code, *_ in found(".")] == ["DEV000"]


@pytest.mark.parametrize("argument", ["secret", "."])
def test_a_folder_that_may_not_be_looked_into(project: Path, monkeypatch: pytest.MonkeyPatch, argument: str) -> None:
    folder = str(project / "secret")
    os.mkdir(folder)

    def refused(original: Callable[..., Any], path: object = ".", **options: Any) -> Any:
        if str(path).startswith(folder + os.sep * (original is os_stat)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, **options)

    os_stat = os.stat
    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, partial(refused, getattr(os, name)))
    result = check(argument)
    assert result.exit_code == 2
    assert "secret: Permission denied" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"def f(:\n", "SyntaxError"),
        (b"x = 1\n\0", "NUL"),
        (b"# coding: utf-8\nx = '\xff'\n", "utf-8"),
        (b"# coding: nonsense\n", "nonsense"),
        (b"(" * 50_000, "too many nested parentheses"),
        (b"x = " + b"-" * 100_000 + b"1\n", ""),
    ],
)
def test_what_cannot_be_parsed_is_a_finding_of_its_own(project: Path, content: bytes, reason: str) -> None:
    (project / "broken.py").write_bytes(content)
    (project / "bad.py").write_text(BAD)
    result = check("--output-format", "json", "--select", "DEV201", "--ignore", "DEV000")
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)
    assert (first["code"], second["code"], second["filename"]) == ("DEV201", "DEV000", "broken.py")
    assert reason in second["message"]
    assert (second["worlds"], second["severity"]) == ([], "error")


@pytest.mark.parametrize("content", [b"", b"\n", b"# nothing\n", b"x = '" + b"a" * 2_000_000 + b"'\n"])
def test_odd_but_right_files_are_silent(project: Path, content: bytes) -> None:
    (project / "odd.py").write_bytes(content)
    assert check().exit_code == 0


def test_a_file_that_fails_does_not_stop_the_others(project: Path) -> None:
    for name in "abcde":
        (project / f"{name}.py").write_text(BAD)
    (project / "c.py").write_text("x.explode()\n")
    codes = [(code, name) for code, name, *_ in found()]
    assert codes == [
        ("DEV201", "a.py"),
        ("DEV201", "b.py"),
        ("DEV000", "c.py"),
        ("DEV201", "d.py"),
        ("DEV201", "e.py"),
    ]


def test_select_and_ignore(project: Path) -> None:
    (project / "bad.py").write_text("x.to('cuda')\n")
    assert [code for code, *_ in found()] == ["DEV201"]
    assert [code for code, *_ in found("--select", "DEV1,DEV2")] == ["DEV201", "DEV103"]
    assert [code for code, *_ in found("--extend-select", "device-string")] == ["DEV201", "DEV103"]
    assert [code for code, *_ in found("--select", "ALL", "--ignore", "DEV2")] == ["DEV103"]
    assert [code for code, *_ in found("--per-file-ignores", "*.py:DEV201")] == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--select", "DEV999"], "unknown rule `DEV999`"),
        (["--select", "droped-move"], "did you mean `dropped-move`"),
        (["--world", "gpu3"], "gpu3"),
        (["--output-format", "xml"], "xml"),
        (["--per-file-ignores", "nonsense"], "PATTERN:CODE"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--nonsense"], "No such option"),
        (["-", "bad.py"], "excludes other paths"),
        (["--stdin-filename", "a.py", "bad.py"], "excludes other paths"),
        (["--add-noqa", "-"], "--add-noqa writes into files"),
        (["--fix", "--add-noqa"], "--fix and --add-noqa exclude each other"),
        (["--diff", "--add-noqa"], "--diff and --add-noqa exclude each other"),
        (["--fix", "--write-baseline", "b.json"], "--fix and --write-baseline exclude each other"),
    ],
)
def test_wrong_usage_is_exit_code_2(project: Path, arguments: list[str], text: str) -> None:
    (project / "bad.py").write_text(BAD)
    result = check(*arguments)
    assert result.exit_code == 2
    assert text in result.stderr
    assert (project / "bad.py").read_text() == BAD
    assert not (project / "b.json").exists()


def test_worlds_of_the_command_line(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    (finding,) = json.loads(check("--output-format", "json", "--world", "gpu2", "--world", "cpu").stdout)
    assert finding["worlds"] == ["gpu2"]
    assert check("--world", "cpu").exit_code == 0


def test_show_files(project: Path) -> None:
    for name in ("a.py", "b.txt", "c.pyi", "d.ipynb", "e.md"):
        (project / name).write_text("")
    result = check("--show-files")
    assert result.exit_code == 0
    assert result.stdout.split() == ["a.py", "c.pyi", "d.ipynb", "e.md"]


def test_output_file(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    result = check("--output-format", "json", "-o", "out.json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(json.loads((project / "out.json").read_text())) == 1


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_a_name_that_is_no_text(project: Path, form: str) -> None:
    """A file name of bytes that are no UTF-8: every format is written, and what is JSON stays JSON."""
    try:
        (project / os.fsdecode(b"bad\xff.py")).write_text(BAD)
    except OSError:
        pytest.skip("this file system takes no such names")
    assert check("--output-format", form, "-o", "out.txt").exit_code == 1
    text = (project / "out.txt").read_bytes().decode("utf-8")
    if form in ("json", "gitlab", "sarif", "rdjson"):
        json.loads(text)
    assert check("--write-baseline", "known.json").exit_code == 0
    assert check("--baseline", "known.json").exit_code == 0


def test_statistics(project: Path) -> None:
    (project / "bad.py").write_text(BAD + "x.to(d)\n")
    result = check("--statistics")
    assert result.exit_code == 1
    assert result.stdout.split()[:2] == ["2", "DEV201"]


def test_standard_input(project: Path) -> None:
    result = check("-", "--stdin-filename", "src/model.py", "--output-format", "concise", text=BAD)
    assert result.exit_code == 1
    assert "src/model.py:2:1: DEV201" in result.stdout
    assert "-:2:1: DEV201" in check("-", "--output-format", "concise", text=BAD).stdout


def test_the_name_of_standard_input_asks_for_it(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    result = check("--stdin-filename", "other.py", "--output-format", "concise", "-q", text=BAD)
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["other.py"]


def test_standard_input_is_fixed_to_standard_output(project: Path) -> None:
    result = check("-", "--fix", text=BAD)
    assert (result.exit_code, result.stdout) == (0, GOOD)
    result = check("-", "--fix", text=GOOD)
    assert (result.exit_code, result.stdout) == (0, GOOD)


def test_no_files_is_said_on_stderr(project: Path) -> None:
    result = check()
    assert result.exit_code == 0
    assert "no Python files" in result.stderr
    assert result.stdout == "Nothing was checked.\n"


def test_a_failure_of_devlint_is_no_finding(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    (project / "bad.py").write_text(BAD)
    monkeypatch.setattr("devlint.files.find_files", fail)
    result = check()
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr and "devlint itself has failed" in result.stderr


def test_an_interruption_is_no_finding(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("devlint.files.find_files", interrupt)
    assert check().exit_code == 130


def test_add_noqa(project: Path) -> None:
    (project / "bad.py").write_text(BAD + "x.to(d)  # noqa: E501\n")
    assert check("--add-noqa").exit_code == 0
    assert (project / "bad.py").read_text() == ("x = 1\nx.to(device)  # noqa: DEV201\nx.to(d)  # noqa: E501, DEV201\n")
    assert check().exit_code == 0


def test_unused_suppressions_are_told(project: Path) -> None:
    (project / "good.py").write_text("x = 1  # noqa: DEV201\ny = 2  # noqa\n")
    result = check("--warn-unused-suppressions")
    assert result.stderr.splitlines() == ["good.py:1: unused suppression of DEV201"]
