"""`devlint run`: a program on a machine that isn't there."""

from __future__ import annotations

import linecache
import os
import runpy
import sys
import traceback
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from devlint.lines import split_rows
from devlint.sources.reading import kind_of, read_source
from devlint.worlds import WORLD_NAMES, world_named

if TYPE_CHECKING:
    from devlint.simulated.transfers import Statistics

PACKAGE = str(Path(__file__).parents[1]) + os.sep


class NotPossible(click.ClickException):
    """The world can't be played here: not to be taken for the exit status of a program that failed."""

    exit_code = 2


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--world", type=click.Choice(WORLD_NAMES), required=True, help="The machine to run on.")
@click.option("--stats", is_flag=True, help="Say at the end which lines move data or wait for a device.")
@click.option("--poison", is_flag=True, help="Spoil host memory until a non-blocking copy into it was waited for.")
@click.option("-m", "module", metavar="MODULE", help="Run a module instead of a script, as python -m does.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGS]...")
def run(world: str, stats: bool, poison: bool, module: str | None, command: tuple[str, ...]) -> None:
    """Run a program on a machine with no, one or two simulated CUDA devices.

    The program is unchanged, its values are the CPU's, and its errors are what torch says on CUDA. The exit status
    is the program's own. The cells of a notebook, or the Python examples of a Markdown document, are run one after the
    other; magics and shell commands are not.
    """
    if module is None and not command:
        raise click.UsageError("Missing SCRIPT, or -m MODULE.")
    from devlint import simulated

    try:
        simulated.activate(world_named(world).device_count)
    except (simulated.SimulationError, ImportError) as error:
        raise NotPossible(simulated.told(error)) from error
    if poison:
        simulated.poison_unsynchronised_reads()
    status = _run_module(module, command) if module else _run_script(command)
    if stats:
        click.echo(summary(simulated.statistics()), err=True)
    sys.exit(status)


def _run_script(command: tuple[str, ...]) -> int:
    script = command[0]
    if not os.path.exists(script):
        raise click.UsageError(f"There is no file {script}.")
    sys.argv = list(command)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    if kind_of(Path(script)) != "python":
        cells = _cells(script)
        return _status(lambda: _run_cells(cells))
    return _status(lambda: runpy.run_path(script, run_name="__main__"))


def _cells(script: str) -> list[tuple[str, str]]:
    """The cells of a notebook, or the examples of a document: a name for tracebacks, and a text whose rows are the
    author's.

    Raises:
        ClickException: one of them can't be parsed.
    """
    source = read_source(Path(script), script)
    for problem in source.problems:
        where = f"{script}:{problem.row}" if problem.cell is None else f"{script}:cell {problem.cell}:{problem.row}"
        raise click.ClickException(f"{where}: {problem.message}")
    rows = split_rows(source.text)
    found = []
    for _, numbers in groupby(range(1, len(rows) + 1), key=source.segment):
        cell = list(numbers)
        number, first = source.locate(cell[0], 1)
        name = script if number is None else f"{script}:cell {number}"
        text = "\n" * (first.row - 1) + "\n".join(rows[row - 1] for row in cell) + "\n"
        if number is not None:
            linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        found.append((name, text))
    return found


def _run_cells(cells: list[tuple[str, str]]) -> None:
    """Run cells in one namespace, as a notebook does; what IPython itself would run gives nothing."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main).update(display=print, get_ipython=_Shell)
    for name, text in cells:
        exec(compile(text, name, "exec"), vars(main))


class _Shell:
    """What `get_ipython()` gives where there is none."""

    def getoutput(self, command: str = "") -> list[str]:
        """Return no output: commands of the shell are not run."""
        return []


def _run_module(module: str, command: tuple[str, ...]) -> int:
    sys.argv = [module, *command]
    sys.path.insert(0, os.getcwd())
    return _status(lambda: runpy.run_module(module, run_name="__main__", alter_sys=True))


def _status(program: object) -> int:
    """Run the program; return its exit status, with its traceback printed as Python prints it."""
    try:
        program()  # type: ignore[operator]
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return int(stop.code or 0)
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as error:
        _print_traceback(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _print_traceback(error: BaseException) -> None:
    """Print the traceback as Python would, without the frames that ran the program and those that simulate CUDA."""
    shown = traceback.TracebackException.from_exception(error)
    part: traceback.TracebackException | None = shown
    while part is not None:
        part.stack = traceback.StackSummary.from_list([line for line in part.stack if not _is_ours(line.filename)])
        part = part.__cause__ or part.__context__
    print("".join(shown.format()), end="", file=sys.stderr)


def _is_ours(filename: str) -> bool:
    return filename.startswith((PACKAGE, "<frozen")) or filename == runpy.__file__


def summary(statistics: Statistics) -> str:
    """Return the table of `--stats`: one row a source line, most bytes first."""
    if not statistics.lines:
        return "No transfers and no synchronisations."
    rows = []
    for (filename, number), line in statistics.lines.items():
        what = [
            f"{count} x {direction} ({_size(line.bytes[direction])})" for direction, count in line.transfers.items()
        ]
        what += [f"{count} x waits ({reason})" for reason, count in line.synchronisations.items()]
        rows.append((-sum(line.bytes.values()), os.path.relpath(filename), number, "; ".join(what)))
    width = max(len(f"{name}:{number}") for _, name, number, _ in rows)
    lines = [f"{f'{name}:{number}':{width}}  {what}" for _, name, number, what in sorted(rows)]
    total = (
        f"{statistics.total('transfers')} transfers of {_size(statistics.total('bytes'))}, "
        f"{statistics.total('synchronisations')} synchronisations"
    )
    return "\n".join([*lines, total])


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
