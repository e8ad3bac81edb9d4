"""A process that has torch imported and forks once per program: `python -m tests.rules.zygote ROLE`.

`ROLE` is `plain` (no GPU is asked for), `gpu1` or `gpu2` (so many are simulated, before any fork) or `real`. Reads one
JSON request a line on stdin and answers each with one JSON line; `tests.rules.machines` speaks to it. A request holds
`source, path, folder, args, environment, observe`; the answer `error, row, value`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback
import types
import warnings
from typing import Any

LIMIT_SECONDS = 120
SIMULATED = {"gpu1": 1, "gpu2": 2}.get(sys.argv[-1], 0)
"""How many devices are simulated in this process."""


def _install() -> None:
    """Make this process, and so its children, a machine with simulated CUDA devices."""
    from devlint import simulated

    simulated.activate(SIMULATED)


def _counts() -> dict[str, int]:
    """What an observation may ask of the simulated CUDA; on the plain CPU nothing is transferred.

    Real GPUs count nothing: who asks is told 0.
    """
    if not SIMULATED:
        return {"transfers": 0, "synchronizations": 0}
    from devlint import simulated

    counted = simulated.statistics()
    return {"transfers": counted.total("transfers"), "synchronizations": counted.total("synchronisations")}


def _row(error: BaseException, path: str) -> int | None:
    """The innermost row of the program itself on the way to the error."""
    rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return rows[-1] if rows else None


def _play(request: dict[str, Any]) -> dict[str, Any]:
    """Run one program as `__main__` and tell how it ended."""
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    sys.path.insert(0, request["folder"])
    sys.argv = [request["path"], *request["args"]]
    main = types.ModuleType("__main__")
    main.__file__ = request["path"]
    sys.modules["__main__"] = main
    try:
        code = compile(request["source"], request["path"], "exec")
        exec(code, main.__dict__)
        value = None
        if request["observe"]:
            value = eval(request["observe"], {**main.__dict__, **_counts()})
    except SystemExit as end:
        if end.code in (None, 0):
            return {"error": None, "row": None, "value": None}
        return {"error": f"SystemExit: {end.code}", "row": _row(end, request["path"]), "value": None}
    except BaseException as error:
        text = f"{type(error).__name__}: {error}"
        return {"error": text, "row": _row(error, request["path"]), "value": None}
    return {"error": None, "row": None, "value": value}


def _fork(request: dict[str, Any]) -> dict[str, Any]:
    """Play the request in a child; a child that dies or hangs is an error of its own kind."""
    import torch

    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        torch.set_num_threads(1)  # a fork leaves the pool of threads to be made anew, by one thread
        answer = json.dumps(_play(request), default=str)
        os.write(write_end, answer.encode()[:60000] + b"\n")
        os._exit(0)
    os.close(write_end)
    answer_line = _read_line(read_end)
    # DataLoader workers that outlive the program belong to its group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not answer_line:
        return {"error": f"the child died or hung, with status {status}", "row": None, "value": None}
    result: dict[str, Any] = json.loads(answer_line)
    return result


def _read_line(descriptor: int) -> bytes:
    """Read up to the end of a line; what came until then when the program ends or its time is over."""
    received = b""
    deadline = time.monotonic() + LIMIT_SECONDS
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while not received.endswith(b"\n"):
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            chunk = pipe.read(65536) if ready else b""
            if not chunk:
                return b""
            received += chunk
    return received


def main() -> None:
    """Answer requests until stdin ends."""
    warnings.simplefilter("ignore")
    import numpy  # noqa: F401
    import torch._dynamo  # optimizers import it; once here instead of once in each child
    import torch.utils.data

    torch.set_num_threads(1)
    if SIMULATED:
        _install()
    for line in sys.stdin:
        print(json.dumps(_fork(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
