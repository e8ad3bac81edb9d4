"""Programs that are run on real GPUs: in which sandbox they find them, and what is said of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from devlint.config import Overrides, Resolver
from devlint.confirm import linux, machines
from devlint.confirm.claims import claims_of
from devlint.confirm.confirming import Options, confirm
from devlint.confirm.machines import Machines, Outcome, Program
from devlint.confirm.observations import observe
from devlint.confirm.sandbox import Limits
from devlint.confirm.verdicts import Evidence, rule
from devlint.files import find_files
from devlint.linter import lint

EVERYTHING = linux.NEW_NAMESPACE_USER | linux.NEW_NAMESPACE_MOUNTS | linux.NEW_NAMESPACE_PROCESSES


def in_namespaces(action: Callable[[], str]) -> str:
    """What `action` returns as the first process of its own namespaces, where all mounts are read-only."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        text = "no namespaces"
        try:
            user, group = os.getuid(), os.getgid()
            linux.unshare(EVERYTHING)
            linux.map_user(user, group)
            linux.make_all_mounts_read_only()
            text = "no answer"
            if os.fork():
                os.wait()
                os._exit(0)
            linux.mount_processes()
            text = action()
        except OSError as error:
            text = f"{text}: {error}"
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    if said.startswith("no namespaces"):
        pytest.skip("this system lets nobody make namespaces")
    return said


def test_a_run_may_name_its_threads_and_change_nothing_of_the_system() -> None:
    def attempts() -> str:
        answers = []
        for path in ("/proc/self/comm", "/proc/sys/kernel/hostname"):
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write("x")
                answers.append("written")
            except OSError as error:
                answers.append(type(error).__name__ if error.errno != 30 else "read-only")
        return " ".join([*answers, str(os.getpid()), os.readlink("/proc/self")])

    assert in_namespaces(attempts) == "written read-only 1 1"


class Server:
    """A server as far as the choice of a machine asks it."""

    torch, refusal = "2.13.0", None

    def __init__(self, role: str) -> None:
        self.role = role
        self.strength = "guard" if role == "guarded" else "namespaces"
        self.visible_devices = 1
        self.real_devices = int(role == "guarded")

    def close(self) -> None:
        """Nothing runs."""


def test_a_driver_that_does_not_work_in_namespaces_is_used_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "Server", Server)
    with Machines("real") as chosen:
        assert chosen.strength == "namespaces"
        assert (chosen.machine("gpu1").kind, chosen.machine("gpu2").kind) == ("real", None)
        assert chosen.machine("gpu2").reason == "it takes 2 real GPUs, and this machine has 1 of them"
        assert chosen.strength == "guard"


def test_gpus_that_no_run_can_use_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unusable(Server):
        def __init__(self, role: str) -> None:
            super().__init__(role)
            self.real_devices = 0

    monkeypatch.setattr(machines, "Server", Unusable)
    with Machines("real") as chosen:
        assert "none that programs here can use" in chosen.machine("gpu1").reason
    with Machines("auto") as chosen:
        assert chosen.machine("gpu1").kind == "simulated"


PROGRAM = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.ones(3, device=device)
print(weight + torch.ones(3))
"""


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("strength", ["namespaces", "guard"])
def test_a_finding_is_confirmed_on_a_gpu(strength: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if strength == "guard":
        monkeypatch.setenv("DEVLINT_SANDBOX", "guard")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    report = lint(find_files([str(tmp_path)], Resolver(Overrides(), None, True)).files)
    with Machines("real", Limits(seconds=60)) as chosen:
        (item,) = confirm(report, chosen, Options(roots=(tmp_path,), worlds=("cpu", "gpu1")))
        assert item.status == "confirmed", item.reason
        assert item.machines["gpu1"].kind == "real"
        hungry = "import torch\ntorch.ones(1).cuda()\nkeep = []\nwhile True:\n    keep.append(bytearray(1 << 26))\n"
        outcome = chosen.run(Program(str(path), hungry, str(tmp_path)), "gpu1")
        assert outcome.error is not None
        assert "MemoryError" in outcome.error


SILENT = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
host = torch.rand(3, device=device).to("cpu", non_blocking=True)
print(host.sum())
"""


def test_what_only_simulated_cuda_notices_is_not_refuted_without_it(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SILENT, encoding="utf-8")
    report = lint(find_files([str(tmp_path)], Resolver(Overrides(), None, True)).files)
    (claim,) = claims_of(report)
    assert claim.finding.code == "DEV405"
    outcome = Outcome("gpu1", "ran", reached={2 * claim.number: 1, 2 * claim.number + 1: 1})
    unnoticed, noticed = observe(claim, outcome), observe(claim, replace(outcome, counted=True))
    assert unnoticed is not None and unnoticed.wrong is None
    assert noticed is not None and noticed.wrong is False


PARALLEL = """\
import torch
from torch import nn

model = nn.DataParallel(nn.Linear(2, 2), device_ids=[0, 1])
print(model(torch.rand(2, 2)))
"""


def test_a_build_for_gpus_is_no_cpu_build(tmp_path: Path) -> None:
    """Without a GPU it refuses the numbers that a CPU build doesn't look at: that is no word against a finding."""
    path = tmp_path / "program.py"
    path.write_text(PARALLEL, encoding="utf-8")
    report = lint(find_files([str(tmp_path)], Resolver(Overrides(), None, True)).files)
    claim = next(claim for claim in claims_of(report) if claim.finding.code == "DEV101")
    assert claim.predicted("cpu") == "runs"
    error = "AssertionError: Invalid device id"
    outcome = Outcome("cpu", "raised", error, frames=((str(path), 4),), reached={2 * claim.number: 1})
    assert rule(claim, outcome, Evidence()).agrees is False
    assert rule(claim, replace(outcome, driver=True), Evidence()).agrees is None
