"""`[tool.devlint.models]`: libraries that devlint does not know, described by the project that uses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from devlint.cli import cli
from devlint.config import read_config
from devlint.linter import check
from devlint.semantics import own, table

MODELS = """
[tool.devlint.models]
in-place = ["speech.Batch"]
returned = ["speech.Sample"]
cpu = ["speech.load", "speech.Reader.fetch"]
moves = ["speech.send", "speech.place(batch, strict, device)"]
transparent = ["speech.traced"]
rows = ["speech.blend(first, second): strict(first, second) -> tensor"]
"""

PROGRAM = """
import speech
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there = torch.ones(3, device=device)


def run():
    {}


run()
"""

BODIES = [
    ("return speech.load('a.wav') + there", "DEV303"),
    ("return speech.load('a.wav').to(device) + there", ""),
    ("return speech.Reader('a').fetch(0) + there", "DEV303"),
    ("return speech.send(speech.load('a.wav'), device) + there", ""),
    ("return speech.send([torch.ones(3)], device=device)[0] + there", ""),
    ("return speech.send(torch.ones(3), device) + torch.ones(3)", "DEV303"),
    ("return speech.send(torch.ones(3)) + torch.ones(3)", ""),
    ("return speech.place(torch.ones(3), True, device) + torch.ones(3)", "DEV303"),
    ("net = torch.nn.Linear(3, 3); speech.send(net, device); return net(there)", ""),
    ("net = torch.nn.Linear(3, 3); speech.send(net, device); return net(torch.ones(3))", "DEV303"),
    ("b = speech.Batch(); b.x = torch.ones(3); b.to(device); return b.x + there", ""),
    ("b = speech.Sample(); b.x = torch.ones(3); b.to(device); return b.x + there", "DEV201"),
    ("b = speech.Sample(); b.x = torch.ones(3); b = b.to(device); return b.x + there", ""),
    ("return speech.blend(torch.ones(3), there)", "DEV303"),
    ("return speech.blend(there, there) + torch.ones(3)", "DEV303"),
    ("return speech.traced(lambda: torch.ones(3))() + there", "DEV303"),
]
DECORATED = "@speech.traced{}\n    def make():\n        return torch.ones(3)\n    return make() + there"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(MODELS)
    return tmp_path


def codes(folder: Path, body: str, text: str = MODELS) -> set[str]:
    (folder / "pyproject.toml").write_text(text)
    (folder / "program.py").write_text(PROGRAM.format(body))
    config = read_config(folder / "pyproject.toml")
    return {finding.code for finding in check([folder / "program.py"], config)}


@pytest.mark.parametrize(
    ("body", "code"), [*BODIES, (DECORATED.format(""), "DEV303"), (DECORATED.format("(name='make')"), "DEV303")]
)
def test_what_is_described_is_understood(tmp_path: Path, body: str, code: str) -> None:
    assert codes(tmp_path, body) == ({code} if code else set())
    if "speech.send(torch.ones(3), device) +" in body or "speech.load" in body:
        assert codes(tmp_path, body, "[tool.devlint]") == set()


def test_descriptions_hold_only_where_they_are_made(tmp_path: Path) -> None:
    for number, text in enumerate((MODELS, "[tool.devlint]\n", MODELS)):
        assert codes(tmp_path, BODIES[0][0], text) == (set() if number == 1 else {"DEV303"})
    assert table.lookup("speech.load") is None
    with own.models(["speech.load(path): create -> tensor +cpu"]):
        assert table.lookup("speech.load") is not None
    assert table.lookup("speech.load") is None


def test_results_in_the_cache_know_their_descriptions(project: Path) -> None:
    (project / "program.py").write_text(PROGRAM.format(BODIES[0][0]))

    def found() -> str:
        return CliRunner().invoke(cli, ["check", str(project), "--output-format", "concise"]).output

    assert "DEV303" in found()
    (project / "pyproject.toml").write_text("[tool.devlint]\n")
    assert "DEV303" not in found()
    (project / "pyproject.toml").write_text(MODELS)
    assert "DEV303" in found()


def test_reveal_knows_them_too(project: Path) -> None:
    (project / "program.py").write_text("import speech\nwave = speech.load('a.wav')\n")
    result = CliRunner().invoke(cli, ["reveal", f"{project / 'program.py'}:2"])
    assert "Tensor on cpu" in result.output


def test_a_bad_entry_is_exit_code_2(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.devlint.models]\nmoves = ["send"]\n')
    (project / "program.py").write_text("")
    result = CliRunner().invoke(cli, ["check", str(project)])
    assert result.exit_code == 2
    assert "[tool.devlint] `models`: `moves`: `send` is no dotted name" in result.stderr
