"""The cache: what did not change is not analysed again, and everything else is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from devlint import analysing
from devlint.analysing import Outcome, Request
from devlint.cli import cli
from devlint.sources import Source
from tests.shell.conftest import fake_analysis


@pytest.fixture
def runs(project: Path, fake: None, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the list of the files of each analysis; `# imports NAME` in a file is a dependency."""
    seen: list[list[str]] = []

    def analyse(request: Request, sources: Mapping[str, Source]) -> Outcome:
        seen.append(sorted(Path(path).name for path in sources))
        outcome = fake_analysis(request, sources)
        for path, source in sources.items():
            for line in source.text.splitlines():
                if line.startswith("# imports "):
                    target = request.root / line.removeprefix("# imports ")
                    if target.exists():
                        outcome.dependencies.setdefault(path, set()).add(str(target))
                    else:
                        outcome.absent.add(str(target))
        return outcome

    monkeypatch.setattr(analysing, "analyse_project", analyse)
    return seen


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments], catch_exceptions=False)


def test_a_second_run_analyses_nothing_and_says_the_same(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("if flag:\n    x.to(d)\ny.to(d)  # noqa\n")
    (project / "b.py").write_text("x = 1\n")
    for form in ("json", "full", "sarif"):
        runs.clear()
        (project / "c.py").write_text(f"# {form}\n")
        first, second = check("--output-format", form), check("--output-format", form)
        assert len(runs) == 1
        assert (first.exit_code, first.stdout) == (second.exit_code, second.stdout)
        assert first.exit_code == 1


def test_only_what_changed_is_analysed(project: Path, runs: list[list[str]]) -> None:
    for name in "abc":
        (project / f"{name}.py").write_text("x.to(d)\n")
    check()
    (project / "b.py").write_text("x = 1\n")
    assert len(json.loads(check("--output-format", "json").stdout)) == 2
    assert runs == [["a.py", "b.py", "c.py"], ["b.py"]]


def test_importers_are_analysed_with_what_they_import(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("# imports b.py\n")
    (project / "b.py").write_text("x = 1\n")
    (project / "c.py").write_text("x = 1\n")
    check()
    (project / "b.py").write_text("x = 2\n")
    check()
    assert runs[1] == ["a.py", "b.py"]


def test_a_file_that_begins_to_import_a_known_one_brings_it_along(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x = 1\n")
    (project / "b.py").write_text("y = 1\n")
    check()
    (project / "a.py").write_text("# imports b.py\n")
    check()
    assert runs[1:] == [["a.py"], ["a.py", "b.py"]]
    check()
    assert len(runs) == 3


def test_unlisted_imports_count(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("# imports b.py\n")
    (project / "b.py").write_text("x = 1\n")
    check("a.py")
    check("a.py")
    assert len(runs) == 1
    (project / "b.py").write_text("x = 2\n")
    check("a.py")
    assert len(runs) == 2


def test_a_file_that_appears_counts(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("# imports b.py\n")
    check("a.py")
    (project / "b.py").write_text("x = 1\n")
    check("a.py")
    assert len(runs) == 2


def test_settings_count(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x.to('cuda')\n")
    assert check().exit_code == 1
    assert check("--world", "cpu").exit_code == 0
    assert "DEV103" in check("--extend-select", "DEV1", "--output-format", "concise").stdout
    assert len(runs) == 3
    assert check("--per-file-ignores", "a.py:DEV201").exit_code == 0
    assert len(runs) == 3


def test_suppressions_and_fixes_work_from_the_cache(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x.to(d)\n\ny.to(d)  # noqa\n")
    check()
    assert check("--fix").exit_code == 0
    assert (project / "a.py").read_text() == "x = x.to(d)\n\ny.to(d)  # noqa\n"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"absent": [], "components": [{}]}', "[" * 10_000])
def test_a_broken_cache_is_ignored(project: Path, runs: list[list[str]], text: str) -> None:
    (project / "a.py").write_text("x.to(d)\n")
    check()
    (file,) = (project / ".devlint_cache").glob("*/*.json")
    file.write_text(text)
    assert check().exit_code == 1
    assert len(runs) == 2


def test_failures_are_not_kept(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x.explode()\n")
    assert check().exit_code == 1
    assert check().exit_code == 1
    assert len(runs) == 2


def test_no_cache_and_another_folder(project: Path, runs: list[list[str]], tmp_path: Path) -> None:
    (project / "a.py").write_text("x.to(d)\n")
    check("--no-cache")
    assert not (project / ".devlint_cache").exists()
    check("--cache-dir", str(tmp_path / "elsewhere"))
    assert (tmp_path / "elsewhere/.gitignore").read_text() == "*\n"
    assert not (project / ".devlint_cache").exists()


def test_a_cache_that_cannot_be_written_is_a_warning(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x.to(d)\n")
    (project / ".devlint_cache").write_text("a file")
    result = check("--output-format", "concise")
    assert result.exit_code == 1
    assert "warning: the cache was not written" in result.stderr


def test_results_of_long_ago_are_removed(project: Path, runs: list[list[str]]) -> None:
    (project / "a.py").write_text("x.to(d)\n")
    check()
    (kept,) = (project / ".devlint_cache").glob("*/*.json")
    folder = project / ".devlint_cache" / "0.0.1"
    folder.mkdir()
    others = f"{'2' * 32}.json"
    for name in (f"{'0' * 32}.json", f"{'1' * 32}.json", others, "notes.json"):
        (folder / name).write_text("{}" if name == others else kept.read_text())
        os.utime(folder / name, (0, 0))
    (folder / f"{'1' * 32}.json").touch()
    check("--select", "ALL")
    assert sorted(path.name for path in folder.iterdir()) == [f"{'1' * 32}.json", others, "notes.json"]
    assert kept.exists()


def test_what_hangs_on_files_that_nobody_imports_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# Weights are on our page\n")
    for number in range(8):
        (tmp_path / f"part{number}.py").write_text("import torch\n")
    (tmp_path / "demo.py").write_text(
        "import torch\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "model = torch.nn.Linear(2, 2)\n"
        'model.load_state_dict(torch.load("weights.pth"))\n'
        "model.to(device)\n"
    )

    def severity() -> str:
        result = CliRunner().invoke(cli, ["check", "--isolated", "--output-format", "json", "demo.py"])
        return str(json.loads(result.stdout)[0]["severity"])

    assert severity() == "advice"
    (tmp_path / "train.py").write_text("import torch\ntorch.save(torch.nn.Linear(2, 2).state_dict(), 'weights.pth')\n")
    assert severity() == "error"


def test_whether_others_give_networks_a_device_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nets, engine = tmp_path / "nets.py", tmp_path / "engine.py"
    text = (
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.inner = torch.nn.Linear(2, 2)\n"
        "    def forward(self, x):\n"
        "        return self.inner(x.to(self.device))\n"
    )
    giving = "def run(model, device):\n    model.device = device\n    return model.eval()\n"
    nets.write_text(text)
    engine.write_text(giving)
    assert check("--isolated").exit_code == 0
    nets.write_text(text + "# changed\n")
    assert check("--isolated").exit_code == 0
    engine.write_text(giving.replace("model.eval()", "model"))
    assert check("--isolated").exit_code == 1
    engine.write_text(giving)
    assert check("--isolated").exit_code == 0
    assert check("--isolated", "nets.py").exit_code == 0
