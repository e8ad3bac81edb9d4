"""What is said of findings: confirmed, refuted, could not run; by what was run."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from devlint.config import Overrides, Resolver
from devlint.confirm.claims import claims_of
from devlint.confirm.confirming import Options, confirm
from devlint.confirm.machines import Machines
from devlint.confirm.verdicts import Confirmation
from devlint.files import find_files
from devlint.linter import Report, lint
from tests.confirm.conftest import Confirm

HEAD = 'import torch\nfrom torch import nn\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
MIXED = HEAD + "weight = torch.ones(3, device=device)\nprint(weight + torch.ones(3))\n"


def statuses(found: list[Confirmation]) -> list[tuple[str, str]]:
    return [(item.finding.code, item.status) for item in found]


def linted(folder: Path, text: str, select: tuple[str, ...] | None = None) -> Report:
    (folder / "program.py").write_text(text, encoding="utf-8")
    return lint(find_files([str(folder)], Resolver(Overrides(select=select), None, True)).files)


def test_breaks_where_predicted_and_runs_where_not(confirm_files: Confirm) -> None:
    (item,) = confirm_files({"program.py": MIXED})
    assert (item.status, item.how) == ("confirmed", "whole program")
    assert [(ruling.world, ruling.predicted, ruling.observed) for ruling in item.rulings] == [
        ("cpu", "runs", "runs"),
        ("gpu1", "breaks", "breaks"),
        ("gpu2", "breaks", "breaks"),
    ]
    assert item.machines["cpu"].kind == "cpu"
    assert item.machines["gpu1"].kind == "simulated"


def test_a_wrong_finding_is_refuted(machines: Machines, tmp_path: Path) -> None:
    """The finding is about the program as it was; what is run has been mended meanwhile."""
    report = linted(tmp_path, MIXED)
    source = report.sources[report.findings[0].location.filename]
    source.text = source.text.replace("+ torch.ones(3)", "+ weight * 2. ")
    (item,) = confirm(report, machines, Options(roots=(tmp_path,)))
    assert item.status == "refuted"
    assert "gpu1" in item.reason


def test_a_finding_with_too_few_worlds_is_refuted(machines: Machines, tmp_path: Path) -> None:
    report = linted(tmp_path, MIXED)
    (checked,) = report.checked
    error = checked.finding.errors["gpu1"]
    report.checked = [replace(checked, finding=replace(checked.finding, worlds=("gpu2",), errors={"gpu2": error}))]
    (item,) = confirm(report, machines, Options(roots=(tmp_path,)))
    assert (item.status, item.rulings[1].observed) == ("refuted", "breaks")


def test_another_error_than_predicted_confirms_nothing(machines: Machines, tmp_path: Path) -> None:
    report = linted(tmp_path, MIXED)
    (checked,) = report.checked
    wrong = {"gpu1": "ValueError: no", "gpu2": "ValueError: no"}
    report.checked = [replace(checked, finding=replace(checked.finding, errors=wrong))]
    (item,) = confirm(report, machines, Options(roots=(tmp_path,)))
    assert item.status == "could not run"
    assert "otherwise" in item.reason


def test_the_same_error_elsewhere_confirms_nothing(machines: Machines, tmp_path: Path) -> None:
    report = linted(tmp_path, MIXED)
    source = report.sources[report.findings[0].location.filename]
    source.text = source.text.replace(
        "weight = torch.ones(3, device=device)\n", "torch.ones(3, device=device) + torch.ones(3)\n"
    )
    (item,) = confirm(report, machines, Options(roots=(tmp_path,), whole_only=True))
    assert item.status == "could not run"


def test_a_second_finding_behind_the_first(confirm_files: Confirm) -> None:
    first = "net = nn.Linear(3, 3).to(device)\ny = net(torch.ones(2, 3))\n"
    second = "weight = torch.ones(3, device=device)\nprint(weight + torch.ones(3))\n"
    text = HEAD + first + second
    found = confirm_files({"program.py": text})
    assert len(found) == 2
    assert {item.status for item in found} == {"confirmed"}


def test_two_findings_on_one_row_are_told_apart(confirm_files: Confirm) -> None:
    factories = "a = torch.ones(3, device=device)\nb = torch.ones(3, device=device)\n"
    text = f"{HEAD}{factories}c = (a * torch.ones(3)) + (b / torch.ones(3))\n"
    found = confirm_files({"program.py": text})
    assert [item.status for item in found] == ["confirmed", "confirmed"]
    assert len({item.how for item in found}) == 2


@pytest.mark.parametrize(
    ("option", "condition", "given"),
    [
        ('"--mix-rows", action="store_true"', "args.mix_rows", "--mix-rows"),
        ('"--mixing", type=float, default=0.0', "args.mixing > 0", "--mixing 0.5"),
        ('"--kind", default="none"', 'args.kind == "rows"', "--kind rows"),
        ('"--kind", default="none"', 'args.kind != "none"', "--kind another"),
    ],
)
def test_a_finding_behind_an_option(confirm_files: Confirm, option: str, condition: str, given: str) -> None:
    text = (
        "import argparse\nimport torch\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument({option})\nargs = parser.parse_args()\n"
        'rows = torch.rand(2, 3).to("cuda" if torch.cuda.is_available() else "cpu")\n'
        f"if {condition}:\n    print(rows * torch.rand(2, 1))\n"
    )
    [confirmation] = confirm_files({"program.py": text})
    assert confirmation.status == "confirmed"
    assert given in confirmation.how


def test_an_error_in_a_worker_process(confirm_files: Confirm) -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, Dataset\n\n\n"
        "class Data(Dataset):\n    def __len__(self):\n        return 4\n\n"
        "    def __getitem__(self, i):\n        return torch.ones(2).cuda()\n\n\n"
        "if torch.cuda.is_available():\n    torch.zeros(1).cuda()\n"
        "    print(len(list(DataLoader(Data(), num_workers=1))))\n"
    )
    found = confirm_files({"program.py": text}, ("DEV605",))
    assert statuses(found) == [("DEV605", "confirmed")]


@pytest.mark.parametrize(
    ("code", "line", "seen"),
    [
        ("DEV201", "x = torch.ones(3)\nx.to(device)\n", None),
        ("DEV701", 'x = torch.ones(3, device=device)\nif x.device == "cuda":\n    print(1)\n', "is False"),
        (
            "DEV702",
            'x = torch.ones(3, device=device)\nif x.device == torch.device("cuda"):\n    print(1)\n',
            "is False",
        ),
        ("DEV702", 'x = torch.ones(3, device=device)\nprint(str(x.device) == "cuda")\n', "is False"),
        (
            "DEV405",
            'if torch.cuda.is_available():\n    x = torch.ones(3, device="cuda")\n'
            '    y = x.to("cpu", non_blocking=True)\n'
            "    print(y.sum().item())\n",
            "reads memory",
        ),
        ("DEV802", "w = torch.ones(3)\nfor _ in range(4):\n    v = w.to(device)\n", "4 transfers"),
        ("DEV803", "x = torch.ones(3, device=device)\nfor _ in range(4):\n    print(x.sum().item())\n", "4 waits"),
        ("DEV601", 'import os\nos.environ["CUDA_VISIBLE_DEVICE"] = "1"\nprint(torch.ones(1).to(device))\n', "2 GPUs"),
    ],
)
def test_what_is_silent_is_confirmed_by_what_is_seen(
    confirm_files: Confirm, code: str, line: str, seen: str | None
) -> None:
    found = confirm_files({"program.py": HEAD + line}, (code,))
    if seen is None:
        assert all(item.status == "confirmed" for item in found)
        return
    assert statuses(found) == [(code, "confirmed")]
    assert any(seen in ruling.note for ruling in found[0].rulings)


def test_notebooks_and_documents(confirm_files: Confirm) -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["%matplotlib inline\n", HEAD],
        },
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["w = torch.ones(3, device=device)\n", "w + torch.ones(3)"],
        },
    ]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    first = f"```python\n{HEAD}w = torch.ones(3, device=device)\n```\n"
    document = f"# Text\n\n{first}\nThen\n\n```python\nw + torch.ones(3)\n```\n"
    found = confirm_files({"book.ipynb": notebook, "page.md": document})
    assert [(item.finding.location.cell, item.status) for item in found] == [(3, "confirmed"), (None, "confirmed")]


def test_a_finding_in_an_imported_file(confirm_files: Confirm) -> None:
    helper = HEAD + "def scaled(x):\n    return x * torch.ones(3)\n"
    main = "import torch\nimport helper\nprint(helper.scaled(torch.ones(3, device=helper.device)))\n"
    found = confirm_files({"helper.py": helper, "main.py": main})
    assert [item.status for item in found] == ["confirmed"]


def test_a_slice_leaves_out_what_does_not_matter(confirm_files: Confirm) -> None:
    text = (
        HEAD
        + 'table = open("missing.csv").read()\nw = torch.ones(3, device=device)\nprint(w)\nprint(w + torch.ones(3))\n'
    )
    (item,) = confirm_files({"program.py": text})
    assert (item.status, item.how) == ("confirmed", "slice")
    assert "missing.csv" not in item.program
    assert "print(w)" not in item.program


def test_slices_refute_nothing(machines: Machines, tmp_path: Path) -> None:
    report = linted(tmp_path, MIXED)
    source = report.sources[report.findings[0].location.filename]
    source.text = source.text.replace("+ torch.ones(3)", "+ weight * 2. ")
    (item,) = confirm(report, machines, Options(roots=(tmp_path,), slices_only=True))
    assert item.status == "could not run"


MODULE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, rate=0.1):
        super().__init__()
        self.layer = nn.Linear(width, 5)
        self.scale = torch.ones(5)

    def forward(self, x):
        return self.layer(x) * self.scale
"""


def test_made_up_inputs(confirm_files: Confirm) -> None:
    (item,) = confirm_files({"library.py": MODULE})
    assert (item.status, item.how) == ("confirmed", "slice with made-up inputs")
    assert "subject = Net(" in item.program


def test_a_missing_library_is_said(confirm_files: Confirm) -> None:
    missing = "import no_such_library\nx = no_such_library.load(device)\n"
    text = f"{HEAD}{missing}w = torch.ones(3, device=device)\nw + torch.ones(int(x))\n"
    for item in confirm_files({"program.py": text}):
        assert item.status == "could not run"
        assert "no_such_library" in item.reason


def test_time_is_said(confirm_files: Confirm, machines: Machines) -> None:
    from devlint.confirm.sandbox import Limits

    endless = "    if not w.is_cuda:\n        continue\n    w + torch.ones(3)\n"
    text = f"{HEAD}while True:\n    w = torch.ones(3, device=device)\n{endless}"
    before, machines.limits = machines.limits, Limits(seconds=0.7)
    try:
        (item,) = confirm_files({"program.py": text})
    finally:
        machines.limits = before
    assert item.status == "could not run"
    assert "longer than 0.7 s" in item.reason


def test_a_world_that_nothing_plays(tmp_path: Path) -> None:
    report = linted(tmp_path, MIXED)
    with Machines("real") as machines:
        if machines.machine("gpu1").kind is not None:
            pytest.skip("this machine has a real GPU")
        (item,) = confirm(report, machines, Options(roots=(tmp_path,)))
    assert item.status == "could not run"
    assert "real GPU" in item.reason


def test_claims_know_the_place_of_the_crash(tmp_path: Path) -> None:
    (claim,) = claims_of(linted(tmp_path, MODULE))
    assert (claim.place.row, claim.crash.row) == (9, 12)


CASES = os.environ.get("DEVLINT_CASES")


@pytest.mark.skipif(not CASES, reason="DEVLINT_CASES names no folder of cases")
@pytest.mark.parametrize(("slices_only", "share"), [(False, 0.95), (True, 0.7)])
def test_collected_cases(machines: Machines, slices_only: bool, share: float) -> None:
    """Of what is found in collected programs with real bugs so much is confirmed, and nothing is refuted."""
    report = lint(find_files([str(CASES)], Resolver(Overrides(), None, True)).files)
    found = confirm(report, machines, Options(slices_only=slices_only, jobs=2))
    assert not [item for item in found if item.status == "refuted"]
    assert sum(item.status == "confirmed" for item in found) >= share * len(found) > 0
