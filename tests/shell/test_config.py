"""`[tool.devlint]`: what it may say, and which file holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.cli import cli
from devlint.config import (
    KEYS,
    OUTPUT_FORMATS,
    Config,
    ConfigError,
    Overrides,
    Resolver,
    Selection,
    find_config,
    parse_settings,
    place_of,
    read_config,
)
from devlint.files import find_files
from devlint.reports import FORMATS
from devlint.selection import select_rules
from tests.shell.conftest import fake_rules

ALL_KEYS = """
[tool.devlint]
select = ["DEV2"]
extend-select = ["DEV103"]
ignore = ["DEV202"]
per-file-ignores = {"tests/*" = ["DEV1"]}
include = ["*.py"]
exclude = ["old"]
extend-exclude = ["*_pb2.py"]
worlds = ["gpu2", "gpu1"]
per-file-worlds = {"train/**" = ["gpu1"]}
output-format = "concise"
cache-dir = "var/cache"
min-torch = "2.1.2"
models = {cpu = ["speech.load"], in-place = ["speech.Batch"]}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, ALL_KEYS)
    assert read_config(file) == Config(
        root=tmp_path,
        file=file,
        selections=(Selection(("DEV2",), ("DEV103",), ("DEV202",)),),
        per_file_ignores=(("tests/*", ("DEV1",)),),
        include=("*.py",),
        exclude=("old", "*_pb2.py"),
        worlds=("gpu1", "gpu2"),
        per_file_worlds=(("train/**", ("gpu1",)),),
        output_format="concise",
        cache_dir=tmp_path / "var/cache",
        min_torch=(2, 1),
        models=(
            "speech.load(*args, **kwargs): create -> tensor rank=unknown +cpu",
            "speech.Batch(*args, **kwargs): instance to=in-place",
        ),
    )
    assert all(f"\n{key} =" in ALL_KEYS for key in KEYS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('selct = ["DEV1"]', "unknown key `selct` in [tool.devlint]; did you mean `select`?"),
        ("zzz = 1", "unknown key `zzz` in [tool.devlint] (known: select, "),
        ('select = "DEV1"', "`select`: expected a list of strings"),
        ('worlds = ["gpu3"]', "`worlds`: unknown world `gpu3`; did you mean"),
        ("worlds = []", "`worlds`: at least one world is needed"),
        ('output-format = "jsonn"', "`output-format`: unknown output format `jsonn`; did you mean `json`?"),
        ('min-torch = "new"', "`min-torch`: expected a version"),
        ("min-torch = 2.4", "`min-torch`: expected a string"),
        ('per-file-ignores = ["a"]', "`per-file-ignores`: expected a table"),
        ('cache-dir = ""', "`cache-dir`: expected a string"),
        ("models = []", "`models`: expected a table"),
        ('models = {inplace = ["a.B"]}', "`models`: unknown key `inplace`; did you mean `in-place`?"),
        ('models = {cpu = "a.load"}', "`models`: `cpu`: expected a list of strings"),
        ('models = {cpu = ["load"]}', "`models`: `cpu`: `load` is no dotted name"),
        ('models = {cpu = ["a.load("]}', "`models`: `cpu`: `a.load(` is no dotted name"),
        ('models = {rows = ["a.f(x): strct(x)"]}', "`models`: `rows`: `a.f(x): strct(x)` is no line of a table"),
        ('models = {rows = ["a.f"]}', "`models`: `rows`: `a.f` is no line of a table"),
        ('models = {rows = ["f(x): none"]}', "`models`: `rows`: `f(x): none` is no line of a table"),
        ('models = {cpu = ["a.f"], moves = ["a.f"]}', "`models`: `moves`: `a.f` is described twice"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path, f"[tool.devlint]\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert str(caught.value).startswith(f"{file}:2: ")
    assert message in str(caught.value)


@pytest.mark.usefixtures("fake")
def test_a_mistake_is_exit_code_2(project: Path) -> None:
    write(project, "[tool.devlint]\nselct = []\n")
    (project / "a.py").write_text("")
    result = CliRunner().invoke(cli, ["check"])
    assert result.exit_code == 2
    assert "did you mean `select`?" in result.stderr
    assert CliRunner().invoke(cli, ["check", "--isolated", "--no-cache"]).exit_code == 0


@pytest.mark.usefixtures("fake")
def test_a_rule_that_does_not_exist_is_exit_code_2(project: Path) -> None:
    write(project, '[tool.devlint]\nignore = ["DEV999"]\n')
    (project / "a.py").write_text("")
    result = CliRunner().invoke(cli, ["check"])
    assert result.exit_code == 2
    assert f"{project / 'pyproject.toml'}:2: [tool.devlint] `ignore`: unknown rule `DEV999`" in result.stderr
    write(project, '[tool.devlint]\n[tool.devlint.per-file-ignores]\n"*.py" = ["DEV999"]\n')
    result = CliRunner().invoke(cli, ["check"])
    assert f"{project / 'pyproject.toml'}:2: [tool.devlint] `per-file-ignores`: unknown rule" in result.stderr
    result = CliRunner().invoke(cli, ["check", "--per-file-ignores", "*.py:DEV998"])
    assert result.stderr.splitlines()[-1] == "Error: unknown rule `DEV998`"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("[tool.other]\nselct = 1\n\n[tool.devlint]\nworlds = []\nselct = 1\n", 6),
        ('[tool.devlint]\n"selct" = 1\n', 2),
        ("[tool.devlint.selct]\nx = 1\n", 1),
        ("[tool]\ndevlint.selct = 1\n", None),
        ("selct = 1\n", 1),
    ],
)
def test_where_a_key_stands(tmp_path: Path, text: str, row: int | None) -> None:
    file = write(tmp_path, text)
    assert place_of(file, "selct") == (f"{file}:{row}: " if row else f"{file}: ")
    assert place_of(None, "selct") == ""


def test_the_nearest_file_with_a_table_wins(tmp_path: Path) -> None:
    top = write(tmp_path, "[tool.devlint]\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(tmp_path / "a", "[tool.other]\n")
    assert find_config(inner) == top
    near = write(tmp_path / "a", "[tool.devlint]\n")
    assert find_config(inner) == near


def test_broken_toml_counts_only_if_it_speaks_of_devlint(tmp_path: Path) -> None:
    file = write(tmp_path, "this is no toml")
    assert find_config(tmp_path) is None or find_config(tmp_path) != file
    write(tmp_path, "[tool.devlint\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        find_config(tmp_path)


def test_a_named_file_may_be_the_table_itself(tmp_path: Path) -> None:
    file = tmp_path / "devlint.toml"
    file.write_text('worlds = ["cpu"]\n')
    assert read_config(file).worlds == ("cpu",)


def test_the_command_line_comes_on_top(tmp_path: Path) -> None:
    write(tmp_path, ALL_KEYS)
    resolver = Resolver(Overrides(worlds=("cpu",), extend_exclude=("x",), ignore=("DEV201",)))
    config = resolver.config(tmp_path)
    assert config.worlds == ("cpu",)
    assert config.per_file_worlds == ()
    assert config.exclude == ("old", "*_pb2.py", "x")
    assert config.selections[-1] == Selection(None, (), ("DEV201",))
    assert resolver.config(tmp_path) is config


def test_isolated_reads_no_file(tmp_path: Path) -> None:
    write(tmp_path, ALL_KEYS)
    assert Resolver(isolated=True).config(tmp_path) == Config(root=tmp_path)


def select(*layers: Selection) -> set[str]:
    return set(select_rules(layers, fake_rules()))


@pytest.mark.parametrize(
    ("layers", "codes"),
    [
        ([], {"DEV000", "DEV201"}),
        ([Selection(("ALL",))], {"DEV000", "DEV103", "DEV201"}),
        ([Selection(())], {"DEV000"}),
        ([Selection(("DEV1",))], {"DEV000", "DEV103"}),
        ([Selection(None, ("DEV103",))], {"DEV000", "DEV103", "DEV201"}),
        ([Selection(("DEV201",), (), ("DEV2",))], {"DEV000", "DEV201"}),
        ([Selection(("DEV2",), (), ("DEV201",))], {"DEV000"}),
        ([Selection(("DEV201",), (), ("DEV201",))], {"DEV000"}),
        ([Selection(None, (), ("DEV201",)), Selection(("DEV2",))], {"DEV000", "DEV201"}),
        ([Selection(("ALL",)), Selection(None, (), ("dropped-move",))], {"DEV000", "DEV103"}),
        ([Selection(None, (), ("DEV000", "ALL"))], {"DEV000"}),
    ],
)
def test_the_more_precise_word_wins(layers: list[Selection], codes: set[str]) -> None:
    assert select(*layers) == codes


def test_the_formats_are_those_of_the_reports() -> None:
    assert set(OUTPUT_FORMATS) == set(FORMATS) - {"statistics"}


def test_unknown_settings_do_not_depend_on_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^unknown key"):
        parse_settings({"x": 1}, Path("/"))


def test_a_folder_that_is_named_is_one_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No `pyproject.toml`, no `.git`, called from elsewhere: its folders still import each other."""
    for name in ("top/package/part/inner.py", "top/package/__init__.py", "top/package/part/__init__.py", "away/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "away")

    def roots(*named: str) -> set[Path]:
        found = find_files([str(tmp_path / name) for name in named], Resolver(isolated=True))
        return {file.config.root.relative_to(tmp_path) for file in found.files}

    assert roots("top") == {Path("top")}
    assert roots("top/package/part") == {Path("top")}
    assert roots("top/package/part/inner.py") == {Path("top")}
    assert roots("away") == {Path("away")}
