"""What a program that is run can't do, in each strength of the sandbox."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devlint.confirm.machines import Machines
from tests.confirm.conftest import Run

GOOD = "import torch\nassert torch.ones(2).sum() == 2\n"


@pytest.fixture(autouse=True)
def others_untouched(run: Run) -> object:
    """After each test the server still plays programs."""
    yield
    assert run(GOOD).ended == "ran"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_crash(run: Run) -> None:
    outcome = run("import ctypes\nctypes.string_at(0)\n")
    assert (outcome.ended, outcome.error) == ("died", "it was ended by SIGSEGV")


def test_abort(run: Run) -> None:
    outcome = run("import os\nos.abort()\n")
    assert outcome.ended == "died"
    assert outcome.error in ("it was ended by SIGABRT", "it was ended by SIGSEGV")


def test_hang(run: Run) -> None:
    started = time.monotonic()
    outcome = run("while True:\n    pass\n", seconds=0.5)
    assert (outcome.ended, outcome.error) == ("died", "it ran longer than 0.5 s")
    assert time.monotonic() - started < 60


def test_hang_that_ignores_signals(run: Run) -> None:
    text = "import signal, time\nfor n in (2, 3, 15):\n    signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)\n"
    assert run(text, seconds=0.5).error == "it ran longer than 0.5 s"


def test_os_exit(run: Run) -> None:
    outcome = run("import os\nos._exit(0)\n")
    assert (outcome.ended, outcome.error) == ("died", "it ended itself with status 0")


def left_in(folder: Path) -> list[int]:
    """The living processes whose working directory is the folder: programs of a test that went there."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(folder) and alive(int(name)):
                found.append(int(name))
    return found


def test_a_command_line_that_is_refused(run: Run) -> None:
    outcome = run("import argparse\np = argparse.ArgumentParser()\np.add_argument('data')\np.parse_args()\n")
    assert outcome.ended == "exited"
    assert outcome.error == "SystemExit: 2 (the following arguments are required: data)"


def test_fork_bomb(run: Run, tmp_path: Path) -> None:
    bomb = "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    outcome = run(f"import os\nos.chdir({str(tmp_path)!r})\n{bomb}", processes=20)
    assert (outcome.ended, outcome.error) == ("died", "it started more than 20 processes")
    assert not left_in(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux asks before a fork")
@pytest.mark.parametrize(("children", "ended"), [(8, "ran"), (9, "died")])
def test_processes_are_counted_exactly(run: Run, children: int, ended: str) -> None:
    """Also where the kernel's limit doesn't hold: it binds nobody who is root. Threads are none of them."""
    threads = "import threading\nfor _ in range(20):\n    threading.Thread(target=time.sleep, args=(0.2,)).start()\n"
    start = f"import subprocess, time\nfor _ in range({children}):\n    subprocess.Popen(['sleep', '60'])\n"
    fork = f"import os, time\nfor _ in range({children}):\n    if os.fork() == 0:\n        time.sleep(60)\n"
    assert run(fork + threads, processes=8).ended == ended
    if run("import subprocess\nsubprocess.run(['true'])\n").ended == "ran":
        assert run(start, processes=8).ended == ended


def test_processes_that_have_ended_do_not_count(run: Run) -> None:
    text = "import os\nfor _ in range(30):\n    child = os.fork()\n    child or os._exit(0)\n    os.waitpid(child, 0)\n"
    outcome = run(text, processes=4)
    assert outcome.ended == "ran", outcome.error


def test_children_end_with_the_program(run: Run, tmp_path: Path) -> None:
    child = "if os.fork() == 0:\n    os.setpgid(0, 0)\n    time.sleep(60)\n    os._exit(0)\n"
    grandchild = child.replace("os.setpgid(0, 0)", "os.setsid()\n    os.fork() and os._exit(0)")
    assert run(f"import os, time\nos.chdir({str(tmp_path)!r})\n{child}{grandchild}").ended == "ran"
    assert not left_in(tmp_path)


def test_deletion_of_files(run: Run, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data.txt").write_text("mine", encoding="utf-8")
    for text in (
        f"import shutil\nshutil.rmtree({str(precious)!r})\n",
        f"import os\nos.remove({str(precious / 'data.txt')!r})\n",
        f"import pathlib\npathlib.Path({str(precious / 'data.txt')!r}).unlink()\n",
        f"open({str(precious / 'data.txt')!r}, 'w').write('gone')\n",
        f"import os\nos.rename({str(precious)!r}, {str(tmp_path / 'moved')!r})\n",
        f"import os\nos.truncate({str(precious / 'data.txt')!r}, 0)\n",
    ):
        outcome = run(text)
        assert outcome.ended == "raised", text
        assert (precious / "data.txt").read_text(encoding="utf-8") == "mine"


def test_the_program_itself_is_safe(run: Run, tmp_path: Path) -> None:
    outcome = run("import os\nos.remove(__file__)\n")
    assert outcome.ended == "raised"
    assert (tmp_path / "program.py").exists()


def test_writes_outside(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "new.txt"
    assert run(f"open({str(target)!r}, 'w')\n").ended == "raised"
    assert run(f"import os\nos.mkdir({str(target)!r})\n").ended == "raised"
    assert run(f"import torch\ntorch.save({{}}, {str(target)!r})\n").ended == "raised"
    assert not target.exists()


def test_writes_by_another_program(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "new.txt"
    outcome = run(f"import subprocess\nsubprocess.run(['touch', {str(target)!r}], check=True)\n")
    assert outcome.ended == "raised"
    assert not target.exists()


def test_its_own_folder_is_its_own(run: Run) -> None:
    text = (
        "import os, tempfile, torch\n"
        "open('model.txt', 'w').write('x')\n"
        "torch.save(torch.ones(2), 'model.pt')\n"
        "assert torch.load('model.pt').sum() == 2\n"
        "os.remove('model.txt')\n"
        "tempfile.NamedTemporaryFile().write(b'x')\n"
        "open(os.path.expanduser('~/.settings'), 'w').write('x')\n"
    )
    outcome = run(text)
    assert outcome.ended == "ran", outcome.error
    assert run("assert not __import__('os').path.exists('model.pt')\n").ended == "ran"


def test_files_beside_the_program_can_be_read_by_their_names(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1,2\n", encoding="utf-8")
    (tmp_path / "helper.py").write_text("VALUE = 3\n", encoding="utf-8")
    text = (
        "import helper\nassert helper.VALUE == 3\nassert open('data.csv').read() == '1,2\\n'\nopen('data.csv', 'w')\n"
    )
    outcome = run(text)
    assert outcome.ended == "ran", outcome.error
    assert (tmp_path / "data.csv").read_text(encoding="utf-8") == "1,2\n"


def test_flood_of_output(run: Run) -> None:
    text = "import os, sys\nfor _ in range(2000):\n    sys.stdout.write('x' * 100000)\n    os.write(2, b'y' * 100000)\n"
    outcome = run(text)
    assert outcome.ended == "ran", outcome.error


def test_flood_of_files(run: Run) -> None:
    text = "with open('big', 'wb') as file:\n    while True:\n        file.write(b'x' * (1 << 20))\n"
    outcome = run(text, disk=32)
    assert outcome.ended == "raised"
    assert outcome.error is not None and outcome.error.startswith("OSError")


def test_flood_of_memory(run: Run) -> None:
    outcome = run("keep = []\nwhile True:\n    keep.append(bytearray(1 << 26))\n", memory=256)
    assert (outcome.ended, (outcome.error or "")[:11]) == ("raised", "MemoryError")


def test_network(run: Run) -> None:
    """A listener on this machine's own address can't be reached, nor names be resolved."""
    listen = "s = socket.create_server(('0.0.0.0', 0)); print(s.getsockname()[1], flush=True); s.accept()"
    with subprocess.Popen(
        [sys.executable, "-c", f"import socket; {listen}"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        connect = f"import socket\nsocket.create_connection(('{{}}', {port}), timeout=2)\n"
        try:
            assert run(connect.format("192.0.2.1")).ended == "raised"
            assert (
                run("import urllib.request\nurllib.request.urlopen('http://example.com', timeout=2)\n").ended
                == "raised"
            )
            assert server.poll() is None
        finally:
            server.kill()


def test_environment_holds_no_secrets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import os\n"
        "assert not [name for name in os.environ if 'TOKEN' in name or 'SECRET' in name or 'KEY' in name]\n"
        "assert os.environ['HOME'] != " + repr(os.environ.get("HOME", "")) + "\n"
        "assert os.getcwd().startswith(os.path.dirname(os.environ['HOME']))\n"
    )
    outcome = run(text)
    assert outcome.ended == "ran", outcome.error


def test_the_environment_of_a_server_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    from devlint.confirm.sandbox import scrubbed_environment

    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    environment = scrubbed_environment("/private")
    assert "SECRET_TOKEN" not in environment
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["HOME"] == "/private/home"


def test_signals_to_others(run: Run) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for text in (f"import os\nos.kill({bystander.pid}, 9)\n", "import os\nos.kill(-1, 9)\n"):
            run(text, seconds=2)
            assert bystander.poll() is None
    finally:
        bystander.send_signal(signal.SIGKILL)
        bystander.wait()


def test_a_program_that_closes_everything(run: Run) -> None:
    outcome = run("import os\nos.closerange(0, 1000)\n")
    assert outcome.ended == "died"


def test_a_program_that_lies(run: Run) -> None:
    """What it writes into the way back is no answer."""
    writing = "try:\n        os.write(n, b'nonsense\\n')\n    except OSError:\n        pass\n"
    outcome = run(f"import os\nfor n in range(3, 50):\n    {writing}")
    assert outcome.ended == "died"


def test_gone_client_ends_the_run(sandboxed: Machines, tmp_path: Path) -> None:
    import json
    import socket

    from devlint.confirm.sandbox import Limits

    server = sandboxed._server("plain")
    request = {
        "path": str(tmp_path / "program.py"),
        "text": f"import os, time\nos.chdir({str(tmp_path)!r})\ntime.sleep(60)\n",
        "root": str(tmp_path),
        "args": [],
        "environment": {},
        "probes": [],
        "texts": {},
        "made_up": False,
        "search": None,
        "world": "cpu",
        "simulated": False,
        "limits": Limits(seconds=60).as_json(),
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server._address)
        connection.sendall(json.dumps(request).encode() + b"\n")
        assert within(60, lambda: bool(left_in(tmp_path)))
    assert within(60, lambda: not left_in(tmp_path))


def test_gradients_on_two_gpus(run: Run) -> None:
    """The threads of autograd begin at the same time in a process that was forked."""
    text = (
        "import torch\nnet = torch.nn.Linear(32, 10).cuda()\n"
        "for _ in range(3):\n    net(torch.randn(4, 32).cuda()).sum().backward()\n"
    )
    assert [run(text, "gpu2").error for _ in range(12)] == [None] * 12
