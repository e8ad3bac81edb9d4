"""The wheel, installed elsewhere and used from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OFFLINE = ("No matching distribution", "Could not find a version", "Temporary failure in name resolution")

pytestmark = pytest.mark.client


def run(*command: str, cwd: Path, path: Path | None = None) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_the_installed_wheel_checks_a_file(tmp_path: Path) -> None:
    target = tmp_path / "site"
    code, output = run(
        sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(ROOT), cwd=tmp_path
    )
    if code and any(sign in output for sign in OFFLINE):
        pytest.skip("pip can't fetch the build tools here")
    assert code == 0, output
    (tmp_path / "a.py").write_text("import torch\n\nx = torch.zeros(3).cuda()\nx.numpy()\n")
    code, output = run(
        sys.executable, "-m", "devlint", "check", "--output-format", "concise", "a.py", cwd=tmp_path, path=target
    )
    assert code == 1, output
    assert "a.py:4:1: DEV401" in output
    code, output = run(sys.executable, "-c", "import devlint; print(devlint.__file__)", cwd=tmp_path, path=target)
    assert output.strip() == str(target / "devlint" / "__init__.py")
    assert (target / "devlint" / "py.typed").exists()
