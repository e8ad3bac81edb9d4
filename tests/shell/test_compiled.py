"""The compiled build finds what the sources find. Building takes minutes, so only `make compiled` asks for it."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OFFLINE = ("No matching distribution", "Could not find a version", "Temporary failure in name resolution")
ASKED = "DEVLINT_TEST_COMPILED"
CIRCLES = """
import torch

a = []
b = [a]
a.append(b)
c = {"a": a}
c["c"] = c
print(a == b, c == {"c": c}, str(a))
torch.save([a, c], "f.pt")
torch.zeros(3).cuda().numpy()
"""
DEEP = "import torch\nx = torch.zeros(3)\ny = " + "x if x.sum() > 0 else " * 2500 + "x\n"


def lacking() -> str:
    """What the build lacks here, "" if it lacks nothing."""
    if ASKED not in os.environ:
        return f"{ASKED} is not set (`make compiled` sets it)"
    if importlib.util.find_spec("mypyc") is None:
        return "mypyc is not installed"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    return "" if shutil.which(compiler) else f"there is no C compiler ({compiler})"


pytestmark = [pytest.mark.client, pytest.mark.skipif(bool(lacking()), reason=lacking())]


def run(*command: str, cwd: Path, site: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the devlint that lies in `site`."""
    environment = {**os.environ, "PYTHONPATH": str(site), **more}
    return subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled wheel, unpacked."""
    folder = tmp_path_factory.mktemp("compiled")
    command = ("-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
    done = run(*command, cwd=folder, site=folder, HATCH_BUILD_HOOKS_ENABLE="1")
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip("pip can't fetch the build tools here")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (wheel,) = folder.glob("*.whl")
    assert "py3-none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests and what they read, in a folder in which devlint itself is not."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("tests", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "Makefile"):
        shutil.copy(ROOT / name, folder)
    return folder


def findings(site: Path, cwd: Path, *paths: str) -> Any:
    """What `devlint check` reports, as JSON."""
    command = ("-m", "devlint", "check", "--isolated", "--no-cache", "--output-format", "json", *paths)
    done = run(*command, cwd=cwd, site=site)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_the_interpreter_is_compiled(site: Path, tmp_path: Path) -> None:
    where = run("-c", "import devlint.analysis.python.calls as m; print(m.__file__)", cwd=tmp_path, site=site)
    assert where.stdout.strip().startswith(str(site)) and not where.stdout.strip().endswith(".py")
    assert run("-m", "devlint", "--version", cwd=tmp_path, site=site).stdout.strip().endswith("(compiled)")


@pytest.mark.parametrize("folder", ["tests/fixtures", "examples", "docs"])
def test_findings_are_those_of_the_sources(site: Path, work: Path, folder: str) -> None:
    found = findings(site, work, folder)
    assert found == findings(ROOT, work, folder)
    assert found


@pytest.mark.parametrize("text", [CIRCLES, DEEP], ids=["circles", "deep"])
def test_what_has_no_end_does_not_end_the_process(site: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    findings(site, tmp_path, "a.py")


def test_the_tests_of_the_analysis_pass(site: Path, work: Path) -> None:
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/analysis", cwd=work, site=site)
    assert done.returncode == 0, done.stdout[-5000:]
