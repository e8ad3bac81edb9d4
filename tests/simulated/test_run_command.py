"""`devlint run`: a program unchanged, in a world, with its own exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import torch

def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(sys.argv[1:], device, torch.cuda.device_count())
    total = torch.ones(256).to(device).sum().item()
    if "--break" in sys.argv:
        torch.ones(2, device=device) + torch.ones(2)
    sys.exit(int(total) - 253)

if __name__ == "__main__":
    main()
"""


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from devlint.commands.run import run; run(prog_name='devlint run')", *arguments]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1", "PATH": ""}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, check=False, timeout=600
    )


def test_script_with_arguments_and_statistics(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("--world", "gpu2", "--stats", "program.py", "--epochs", "3", folder=tmp_path)
    assert done.stdout == "['--epochs', '3'] cuda 2\n"
    assert done.returncode == 3
    assert "program.py:8  1 x host to device (1.0 KiB); 1 x waits (item)" in done.stderr
    assert "1 transfers of 1.0 KiB, 1 synchronisations" in done.stderr


def test_module(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("--world", "cpu", "-m", "program", "x", folder=tmp_path)
    assert (done.stdout, done.returncode) == ("['x'] cpu 0\n", 3)


def test_error_is_the_programs_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("--world", "gpu1", "program.py", "--break", folder=tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and "program.py" in lines[1]
    assert lines[-1].startswith("RuntimeError: Expected all tensors to be on the same device")
    assert "devlint" not in done.stderr


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# A notebook"]},
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": ["%matplotlib inline\n", "files = !ls\n", "import torch\n", 'x = torch.ones(2, device="cuda")'],
        },
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": ["print(files, __name__, x.device)\n", "x + torch.ones(2)"],
        },
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}


def test_the_cells_of_a_notebook_run_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_text(json.dumps(NOTEBOOK))
    done = run("--world", "gpu1", "book.ipynb", folder=tmp_path)
    assert (done.stdout, done.returncode) == ("[] __main__ cuda:0\n", 1)
    lines = done.stderr.splitlines()
    assert lines[1:3] == ['  File "book.ipynb:cell 3", line 2, in <module>', "    x + torch.ones(2)"]
    assert lines[-1].startswith("RuntimeError: Expected all tensors to be on the same device")


def test_a_notebook_that_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "book.ipynb").write_text(json.dumps(NOTEBOOK).replace("files = ", "files == = "))
    done = run("--world", "cpu", "book.ipynb", folder=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("Error: book.ipynb:cell 2:2: ")


def test_the_examples_of_a_document(tmp_path: Path) -> None:
    text = "Make it:\n\n```python\nimport torch\nx = torch.ones(2)\n```\n\nand move it:\n\n```python\nx.cuda()\n```\n"
    (tmp_path / "README.md").write_text(text)
    assert run("--world", "gpu1", "README.md", folder=tmp_path).returncode == 0
    done = run("--world", "cpu", "README.md", folder=tmp_path)
    assert '  File "README.md", line 11, in <module>\n    x.cuda()\n' in done.stderr


def test_wrong_usage(tmp_path: Path) -> None:
    assert run("--world", "gpu1", folder=tmp_path).returncode == 2
    assert run("--world", "gpu1", "missing.py", folder=tmp_path).returncode == 2
    assert run("--world", "gpu3", "missing.py", folder=tmp_path).returncode == 2


def test_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    (tmp_path / "program.py").write_text("import torch\n")
    command = [sys.executable, "-m", "devlint", "run", "--world", "gpu1", "program.py"]
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2
    assert "No module named 'torch'; pip install" in done.stderr


FAILING_HOOK = """
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.zeros(2, device=device, requires_grad=True)

def hook(gradient):
    raise ValueError("said by the hook")

weight.register_hook(hook)
(weight * 2).sum().backward()
"""


def test_an_error_of_a_hook_comes_through(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILING_HOOK)
    for world in ("cpu", "gpu1"):
        done = run("--world", world, "program.py", folder=tmp_path)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "ValueError: said by the hook")
