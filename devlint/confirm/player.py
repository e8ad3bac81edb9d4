"""Plays one program in the process that was forked for it, and tells what happened as a dict for JSON."""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import itertools
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import types
import warnings
from collections.abc import Iterator
from typing import Any

from devlint.confirm import sandbox
from devlint.confirm.probes import Recorder, instrument
from devlint.confirm.searching import search
from devlint.confirm.stand_ins import stand_in_for_missing_modules
from devlint.worlds import world_named

COPIED_BYTES = 1 << 20
COPIED_IN_ALL = 16 << 20
MOST_ENTRIES = 2000
LONGEST_ERROR = 20_000

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_NOT_THE_PROJECT = tuple(
    folder + os.sep
    for folder in (
        os.path.dirname(os.__file__),
        sysconfig.get_path("purelib"),
        os.path.join(_PACKAGE, "confirm"),
        os.path.join(_PACKAGE, "simulated"),
    )
)

_ROW_IN_TEXT = re.compile(r'File "([^"]+)", line (\d+)')
_ERROR_IN_TEXT = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)): (.*)", re.MULTILINE)

Answer = dict[str, Any]
Request = dict[str, Any]


def play(request: Request, private: str) -> Answer:
    """Run the request's program as `__main__` and return how it ended.

    The request: `path`, `text` (program text), `world`, `simulated`, `args`, `environment`, `probes`, `root`, `texts`
    (path to program text of other files to put probes in). The answer: `ended` (`ran`, `raised`, `exited`), `error`
    (`Type: text`), `errors` (texts inside it, of a worker), `frames` ([path, row, column or None], innermost
    last, of the project), and what was observed: `reached`, `records`, `silent`, `lines`, `visible`.
    """
    recorder = Recorder()
    main = _set_up(request, private, recorder)
    answer: Answer = {"ended": "ran", "error": None, "errors": [], "frames": [], "driver": asks_driver(request)}
    try:
        code = compile(_tree(request["path"], request["text"], request["probes"]), request["path"], "exec")
        exec(code, main.__dict__)
        if request["search"]:
            answer["search"] = search(request["search"], main.__dict__, recorder)
    except SystemExit as end:
        if end.code not in (None, 0):
            why = f" ({said})" if (said := _refusal(end)) else ""
            answer.update(ended="exited", error=f"SystemExit: {end.code}{why}", frames=_frames(end, request["root"]))
    except BaseException as error:
        answer.update(_raised(error, request["root"]))
    answer.update(_observed(recorder, request))
    return answer


def _set_up(request: Request, private: str, recorder: Recorder) -> types.ModuleType:
    folder = os.path.dirname(request["path"])
    work = os.path.join(private, "work")
    os.chdir(work)
    _furnish(folder, work)
    os.environ.update(sandbox.private_folders(private))
    tempfile.tempdir = None
    os.environ.update(request["environment"])
    os.environ["PWD"] = work
    sys.path[0:0] = [folder] if folder == request["root"] else [folder, request["root"]]
    sys.argv = [request["path"], *request["args"]]
    sys.dont_write_bytecode = True
    recorder.install()
    if request["made_up"]:
        stand_in_for_missing_modules([request["path"], *request["texts"]])
    _probe_imports(request["texts"], request["probes"])
    world = world_named(request["world"])
    if request["simulated"] and world.has_cuda:
        from devlint import simulated

        simulated.activate(world.device_count)
    warnings.simplefilter("ignore")
    import torch

    torch.manual_seed(0)
    main = types.ModuleType("__main__")
    main.__file__ = request["path"]
    sys.modules["__main__"] = main
    return main


def _furnish(folder: str, work: str) -> None:
    """Let what stands beside the program be found from its folder: small files copied, the others as links."""
    left = COPIED_IN_ALL
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder))[:MOST_ENTRIES]:
            if entry.name.startswith(".") or entry.name.endswith(".py"):
                continue
            target = os.path.join(work, entry.name)
            size = entry.stat().st_size if entry.is_file() else 0
            with contextlib.suppress(OSError):
                if entry.is_file() and size <= min(COPIED_BYTES, left):
                    shutil.copyfile(entry.path, target)
                    left -= size
                else:
                    os.symlink(entry.path, target)


def _tree(path: str, text: str, probes: list[dict[str, Any]]) -> ast.Module:
    return instrument(ast.parse(text, path), [probe for probe in probes if probe["path"] == path])


def _probe_imports(texts: dict[str, str], probes: list[dict[str, Any]]) -> None:
    """Compile imported project files with their probes, and from the text that was linted."""
    probed = {probe["path"] for probe in probes}
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
        path = os.path.abspath(self.get_filename(name))
        if path in texts and path in probed:
            return compile(_tree(path, texts[path], probes), path, "exec", dont_inherit=True)
        return original(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


def _refusal(end: SystemExit) -> str | None:
    """What `argparse` said of the command line before it ended the program; its output went nowhere."""
    step = end.__traceback__
    while step is not None:
        frame = step.tb_frame
        if frame.f_code.co_name == "error" and frame.f_globals.get("__name__") == "argparse":
            return str(frame.f_locals.get("message"))
        step = step.tb_next
    return None


def _raised(error: BaseException, root: str) -> Answer:
    text = describe_error(error)
    inner = [f"{kind}: {rest}" for kind, rest in _ERROR_IN_TEXT.findall(str(error))]
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = _frames(error, root)
    while cause is not None and len(inner) < 10:
        inner.append(describe_error(cause))
        frames = _frames(cause, root) + frames
        cause = cause.__cause__ or cause.__context__
    return {"ended": "raised", "error": text, "errors": inner, "frames": frames}


def describe_error(error: BaseException) -> str:
    """Return `Type: text`; where printing the error fails, its type."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}"[:LONGEST_ERROR]


def _frames(error: BaseException, root: str) -> list[list[Any]]:
    """The project's rows on the way to the error, outermost first; those of a worker come from the text."""
    inside = root.rstrip(os.sep) + os.sep
    rows: list[list[Any]] = [
        [frame.f_code.co_filename, row or 0, _column(frame, at)] for frame, row, at in _walk(error.__traceback__)
    ]
    with contextlib.suppress(Exception):
        rows += [[path, int(row), None] for path, row in _ROW_IN_TEXT.findall(str(error))]
    if isinstance(error, SyntaxError) and error.filename:
        rows.append([error.filename, error.lineno or 0, None])
    return [row for row in rows if row[0].startswith(inside) and not row[0].startswith(_NOT_THE_PROJECT)]


def _walk(trace: types.TracebackType | None) -> Iterator[tuple[types.FrameType, int, int]]:
    while trace is not None:
        yield trace.tb_frame, trace.tb_lineno, trace.tb_lasti
        trace = trace.tb_next


def _column(frame: types.FrameType, at: int) -> int | None:
    """The column (UTF-8 bytes from 0) of the instruction; Python 3.10 doesn't know it."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or at < 0:
        return None
    column: int | None = next(itertools.islice(positions(), at // 2, None), (None, None, None, None))[2]
    return column


def _observed(recorder: Recorder, request: Request) -> Answer:
    answer: Answer = {
        "reached": {str(probe): count for probe, count in recorder.reached.items()},
        "records": {str(probe): records for probe, records in recorder.records.items()},
        "silent": [],
        "lines": [],
        "visible": {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES"), "count": None, "used": []},
        "environment": sorted(name for name in os.environ if "VISIBLE" in name.upper() or "CUDA" in name.upper()),
    }
    with contextlib.suppress(Exception):
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        answer["visible"]["count"] = count
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            answer["visible"]["used"] = [at for at in range(count) if torch.cuda.max_memory_allocated(at)]
    if request["simulated"] and world_named(request["world"]).has_cuda:
        from devlint import simulated

        answer["counted"] = True
        answer["silent"] = [[item.kind, list(item.where), list(item.cause)] for item in simulated.observations()]
        answer["lines"] = [
            [path, row, sum(line.transfers.values()), sum(line.synchronisations.values())]
            for (path, row), line in simulated.statistics().lines.items()
        ][:500]
    return answer


def asks_driver(request: Request) -> bool:
    """Whether what torch says of GPUs in this run comes from a driver: also that there is none to be seen."""
    import torch

    return not request["simulated"] and bool(torch.version.cuda or torch.version.hip)


def restrict(request: Request, strength: sandbox.Strength, private: str, limits: sandbox.Limits) -> None:
    """Take from this process what the sandbox doesn't give. Call it last before `play`."""
    sandbox.limit_this_process(limits, asks_driver(request))
    if strength == "guard":
        from devlint.confirm import guard

        guard.install(private)
