"""The rows say what torch does when a tensor is on the CPU among CUDA tensors: torch's own samples, tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

PROGRAM = Path(__file__).with_name("agreement.py")

# Operators whose trials differ from the row, and why the row stays as it is.
DIFFERENCES = {
    "diff": "the samples with prepend= and append= take no difference (n=0), and so do not join",
    "svd_lowrank": "the sample multiplies two matrices first",
    "pca_lowrank": "the sample multiplies two matrices first",
    "linalg.pinv.singular": "the sample multiplies two matrices first",
    "searchsorted": "the device of sorter is compared inside the kernel, which simulated CUDA runs on the CPU",
}

ON_A_GPU = {
    "addcdiv": "torch 2.11 refuses a number of the host; whether 2.13 does, as it takes one in addcmul, was not seen",
}


def agreement(tmp_path: Path, *options: str) -> dict[str, Any]:
    report = tmp_path / "report.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(PROGRAM), "--report", str(report), *options]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    if run.returncode and "does not support" in run.stderr:
        pytest.skip("simulated CUDA does not support this torch")
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(report.read_text())
    return answer


@pytest.mark.skipif(torch.cuda.is_available(), reason="a real GPU answers better")
def test_rows_agree_with_torch_under_simulated_cuda(tmp_path: Path) -> None:
    answer = agreement(tmp_path)
    check(answer, DIFFERENCES)
    assert {trial["operator"] for trial in answer["differences"]} == set(DIFFERENCES)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_rows_agree_with_torch_on_a_gpu(tmp_path: Path) -> None:
    check(agreement(tmp_path), DIFFERENCES | ON_A_GPU)


def check(answer: dict[str, Any], known: dict[str, str]) -> None:
    assert answer["rows"] > 800
    assert answer["rows that agree"] >= 0.99 * answer["rows"]
    assert {trial["operator"] for trial in answer["differences"]} <= set(known)
