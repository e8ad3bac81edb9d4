"""Starting: fast, and without what is not needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint import __version__
from devlint.cli import COMMANDS, cli

HEAVY = {"libcst", "torch", "numpy", "markdown_it", "pathspec", "pygls", "yaml", "asyncio"}

PROBE = """
import json, sys
from devlint.cli import main
sys.argv = ["devlint", *{arguments!r}]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(*arguments: str, folder: Path | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(arguments=list(arguments))],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_version_imports_nothing_heavy() -> None:
    loaded = {name.partition(".")[0] for name in modules_after("--version")}
    assert loaded.isdisjoint(HEAVY)
    assert "click" in loaded


def test_checking_nothing_imports_no_parser(tmp_path: Path) -> None:
    loaded = {name.partition(".")[0] for name in modules_after("check", "--no-cache", ".", folder=tmp_path)}
    assert loaded.isdisjoint({"libcst", "torch", "numpy", "markdown_it", "pygls", "lsprotocol"})


def test_a_python_file_without_findings_imports_neither_libcst_nor_torch_nor_markdown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nx = torch.zeros(3)\n")
    loaded = {name.partition(".")[0] for name in modules_after("check", "--no-cache", "a.py", folder=tmp_path)}
    assert loaded.isdisjoint({"libcst", "torch", "numpy", "markdown_it"})


def test_a_finding_that_can_be_mended_imports_libcst(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nx = torch.zeros(3)\nx.to('meta')\nprint(x)\n")
    found = modules_after("check", "--no-cache", "--exit-zero", "a.py", folder=tmp_path)
    assert "libcst" in {name.partition(".")[0] for name in found}


def test_version() -> None:
    result = CliRunner().invoke(cli, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"devlint {__version__}\n")


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    assert "check" in result.stdout
    assert set(cli.list_commands(None)) <= set(COMMANDS)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_command_that_is_there_has_help(name: str) -> None:
    if name not in cli.list_commands(None):  # type: ignore[arg-type]
        pytest.skip(f"`devlint {name}` is not part of this installation")
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_an_unknown_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(cli, ["nonsense"]).exit_code == 2


def test_as_a_module_it_imports_nothing_of_the_folder_that_it_lints(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "a.py").write_text("import torch\n\nx = torch.zeros(3)\nx.to('meta')\nprint(x)\n")
    command = [sys.executable, "-m", "devlint", "check", "--no-cache", "--output-format", "concise", "a.py"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert "a.py:4" in done.stdout, done.stderr


def test_ends_without_looking_through_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch\n")
    code = PROBE.format(arguments=("check", "--no-cache", str(tmp_path))) + "import gc\nprint(gc.get_freeze_count())\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) > 0
