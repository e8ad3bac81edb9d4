"""Colour and the progress bar."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devlint import terminal

ROOT = Path(__file__).parents[2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "stream", "colour"),
    [
        ({}, io.StringIO(), False),
        ({}, Terminal(), True),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": "0"}, io.StringIO(), False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, Terminal(), False),
        ({"TERM": "dumb"}, Terminal(), False),
    ],
)
def test_colour(
    environment: dict[str, str], stream: io.StringIO, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal.wants_colour(stream) is colour


def test_the_bar_appears_after_a_while_and_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "DELAY", 0.01)
    monkeypatch.setattr(terminal, "INTERVAL", 0.011)
    with terminal.progress(7) as bar:
        bar(3, 6)
        time.sleep(0.2)
    assert "checking 7 files [###############...............]  50% 0 s" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_no_bar_where_nobody_looks(stream: io.StringIO, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "DELAY", 0.01)
    with terminal.progress(7, quiet):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_short_work_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with terminal.progress(7):
        pass
    assert stream.getvalue() == ""


def test_findings_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\ntorch.zeros(3).cuda().numpy()\n")
    leader, follower = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    command = [sys.executable, "-m", "devlint", "check", "--no-cache", "--isolated", "a.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait() == 1
    assert b"\x1b[" in shown
    assert b"DEV401" in shown
