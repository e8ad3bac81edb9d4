"""The hooks under the real pre-commit, in scratch repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OFFLINE = (
    "No matching distribution",
    "Could not find a version",
    "Temporary failure in name resolution",
    "ConnectionError",
)

BAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weights = torch.ones(3, device=device)
x = torch.randn(3)
x.to(device)
print(weights * x)
"""
GOOD = BAD.replace("x.to(device)\n", "x = x.to(device)\n")

CONFIG = """\
repos:
- repo: {root}
  rev: {revision}
  hooks:
  - id: {hook}
"""

pytestmark = [
    pytest.mark.client,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit clones a git repository"),
]


class Scratch:
    """A git repository with pre-commit installed."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "PRE_COMMIT_HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "NO_COLOR": "1",
        }
        self.run("git", "init", "-q")

    def run(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )
        output = done.stdout + done.stderr
        if done.returncode and any(sign in output for sign in OFFLINE):
            pytest.skip(f"pre-commit can't install the hook here: {output.strip().splitlines()[-1]}")
        return done.returncode, output

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        self.run("git", "add", name)
        return file

    def use(self, hook: str) -> None:
        """Configure a hook of this project's last commit and install it as git's."""
        revision = self.run("git", "-C", str(ROOT), "rev-parse", "HEAD")[1].strip()
        self.write(".pre-commit-config.yaml", CONFIG.format(root=ROOT, revision=revision, hook=hook))
        code, output = self.run("pre-commit", "install", "--install-hooks")
        assert code == 0, output


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return pre-commit's store for these tests: the hook is installed once."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def scratch(tmp_path: Path, home: Path) -> Scratch:
    """Return an empty repository."""
    return Scratch(tmp_path, home)


def test_a_commit_is_blocked_by_a_finding_and_passes_after_the_fix(scratch: Scratch) -> None:
    scratch.use("devlint")
    scratch.write("model.py", BAD)
    code, output = scratch.run("git", "commit", "-m", "bad")
    assert code == 1, output
    assert "model.py:6:1: DEV201" in output
    scratch.write("model.py", GOOD)
    code, output = scratch.run("git", "commit", "-m", "good")
    assert code == 0, output
    assert scratch.run("git", "log", "--format=%s")[1].strip() == "good"


def test_the_fixing_hook_mends_and_blocks_once(scratch: Scratch) -> None:
    scratch.use("devlint-fix")
    file = scratch.write("model.py", BAD)
    code, output = scratch.run("git", "commit", "-m", "bad")
    assert code == 1, output
    assert "files were modified by this hook" in output
    assert file.read_text() == GOOD
    scratch.run("git", "add", "model.py")
    assert scratch.run("git", "commit", "-m", "good")[0] == 0


def test_excludes_win_over_named_files(scratch: Scratch) -> None:
    scratch.use("devlint")
    scratch.write("pyproject.toml", '[tool.devlint]\nextend-exclude = ["legacy.py"]\n')
    scratch.write("legacy.py", BAD)
    code, output = scratch.run("git", "commit", "-m", "legacy")
    assert code == 0, output


def test_try_repo_and_the_hook_for_documents(scratch: Scratch) -> None:
    scratch.write("README.md", f"# Use\n\n```python\n{BAD}```\n")
    code, output = scratch.run("pre-commit", "try-repo", str(ROOT), "devlint-docs", "--all-files")
    assert code == 1, output
    assert "README.md:9:1: DEV201" in output
    code, output = scratch.run("pre-commit", "try-repo", str(ROOT), "devlint", "--all-files")
    assert code == 0, output
