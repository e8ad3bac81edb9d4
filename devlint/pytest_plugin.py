"""pytest plugin: a test suite in the worlds `cpu`, `gpu1` and `gpu2`, each in a process of its own.

`pytest --device-world cpu,gpu1,gpu2` starts pytest once for each world, with the same arguments, and reports all
results together; the ids of the tests end in the world, `test_step[gpu2]`. With pytest-xdist each world's tests are
spread over its workers. One world alone runs in this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from devlint.worlds import WORLD_NAMES, WORLDS, World, world_named

OPTION = "--device-world"
FINDINGS = "--devlint"
REPORTS = "--device-world-reports"
OPTIONS_OF_THE_PARENT = ("--junitxml", "--junit-xml", "--html", "--report-log")
EXIT_CODES_OF_A_FINISHED_RUN = (0, 1, 5)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("devlint")
    group.addoption(
        OPTION,
        metavar="WORLDS",
        help="run the tests on machines with no, one or two simulated CUDA devices: a list of cpu, gpu1, gpu2",
    )
    group.addoption(FINDINGS, action="store_true", help="RUN what devlint flags in the paths; each finding is a test")
    group.addoption(REPORTS, metavar="FILE", help="(internal) write the reports to this file")
    parser.addini("device_world", "the worlds that the tests run in without --device-world", default="")


def worlds_of(config: pytest.Config) -> tuple[World, ...]:
    """Return the worlds that the options or the configuration name.

    Raises:
        pytest.UsageError: there is no such world.
    """
    text = config.getoption(OPTION) or config.getini("device_world")
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in WORLD_NAMES:
            raise pytest.UsageError(f"{OPTION}: there is no world {name!r}; the worlds are {', '.join(WORLD_NAMES)}")
    return tuple(world_named(name) for name in dict.fromkeys(names))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Keep pytest-xdist from starting workers here when every world has its own."""
    if len(worlds_of(config)) > 1 and not config.option.collectonly:
        for name, value in (("numprocesses", None), ("dist", "no"), ("tx", []), ("distload", False)):
            if hasattr(config.option, name):
                setattr(config.option, name, value)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "device_world(*names): run the test only in the worlds named (cpu, gpu1, gpu2)")
    if config.getoption(FINDINGS):
        from devlint.confirm import pytest_items

        pytest_items.register(config)
    worlds = worlds_of(config)
    if not worlds:
        return
    if len(worlds) > 1:
        if not config.option.collectonly:
            config.pluginmanager.register(WorldRunner(config, worlds), "devlint-worlds")
        return
    config.pluginmanager.register(InWorld(worlds[0]), "devlint-world")
    if not _is_xdist_controller(config):
        _activate(worlds[0])
    if config.getoption(REPORTS) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ReportWriter(config, config.getoption(REPORTS)), "devlint-reports")


def _is_xdist_controller(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput") and bool(getattr(config.option, "tx", None))


def _activate(world: World) -> None:
    from devlint import simulated

    try:
        simulated.activate(world.device_count)  # with no device, too: a real GPU has to be hidden
    except (simulated.SimulationError, ImportError) as error:
        if world.has_cuda:
            raise pytest.UsageError(simulated.told(error)) from error


def marked(nodeid: str, world: str) -> str:
    """Return a test's id with the world: `test_a[gpu2]`, or `test_a[x-gpu2]` for a test with parameters."""
    return f"{nodeid[:-1]}-{world}]" if nodeid.endswith("]") else f"{nodeid}[{world}]"


def _rename(item: Any, nodeid: str) -> None:
    """Give an item another id. pytest has no public way; the field is `_nodeid` up to 9.1 and `_id` from 9.2."""
    if hasattr(item, "_nodeid"):
        item._nodeid = nodeid
    else:
        item._id = type(item._id).parse(nodeid)


class InWorld:
    """One world, in this process: marks the ids and leaves out what is for other worlds."""

    def __init__(self, world: World) -> None:
        self.world = world

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            _rename(item, marked(item.nodeid, self.world.name))

    def pytest_report_header(self) -> str:
        return f"device world: {self.world.name} ({self.world.device_count} simulated CUDA devices)"


class ReportWriter:
    """In a child: every report as a line of JSON."""

    def __init__(self, config: pytest.Config, path: str) -> None:
        self.config = config
        self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115

    def _write(self, kind: str, report: Any) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        data.pop("node", None)  # pytest-xdist's handle of its worker, which means nothing in the parent
        print(json.dumps({"kind": kind, "data": data}, default=repr), file=self.file, flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write("test", report)

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write("collect", report)


class WorldRunner:
    """In the parent: a child for each world, and their reports as if the tests had run here."""

    def __init__(self, config: pytest.Config, worlds: tuple[World, ...]) -> None:
        self.config = config
        self.worlds = worlds

    def pytest_report_header(self) -> str:
        return "device worlds: " + ", ".join(world.name for world in self.worlds)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Leave collecting to the children."""
        session.items = []
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if any(world.has_cuda for world in self.worlds):
            from devlint import simulated

            reason = simulated.supported()
            if reason:
                raise pytest.UsageError(reason)
        for world in self.worlds:
            self._run(session, world)
            if session.shouldfail or session.shouldstop:
                break
        return True

    def _run(self, session: pytest.Session, world: World) -> None:
        with tempfile.TemporaryDirectory(prefix="devlint-") as folder:
            path, log = os.path.join(folder, "reports.jsonl"), os.path.join(folder, "output.txt")
            open(path, "w", encoding="utf-8").close()
            command = [sys.executable, "-m", "pytest", *child_arguments(self.config.invocation_params.args)]
            command += [f"{OPTION}={world.name}", f"{REPORTS}={path}"]
            with open(log, "w", encoding="utf-8") as output:
                directory = str(self.config.invocation_params.dir)
                child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=directory)
                try:
                    for kind, data in _lines_until_the_end(path, child):
                        self._report(session, kind, data)
                finally:
                    child.terminate()
                    code = child.wait()
            if code not in EXIT_CODES_OF_A_FINISHED_RUN and not session.testsfailed:
                with open(log, encoding="utf-8") as said:
                    raise pytest.UsageError(
                        f"pytest ended with status {code} in the world {world.name}:\n{said.read()}"
                    )

    def _report(self, session: pytest.Session, kind: str, data: dict[str, Any]) -> None:
        hook = self.config.hook
        report: Any = hook.pytest_report_from_serializable(config=self.config, data=data)
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)  # JSON has no tuples; the reason of a skip is one
        if kind == "collect":
            hook.pytest_collectreport(report=report)
            session.testsfailed += 1
            return
        if report.when == "setup":
            session.testscollected += 1
            hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)


def child_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the command line for a child: without the worlds, and without files that only the parent writes."""
    kept: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, _ = str(argument).partition("=")
        if name in (OPTION, *OPTIONS_OF_THE_PARENT):
            if not equals:
                next(waiting, None)
            continue
        kept.append(str(argument))
    return kept


def _lines_until_the_end(path: str, child: subprocess.Popen[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    rest = ""
    with open(path, encoding="utf-8") as file:
        while True:
            ended = child.poll() is not None
            rest += file.read()
            *lines, rest = rest.split("\n")
            for line in lines:
                entry = json.loads(line)
                yield entry["kind"], entry["data"]
            if ended:
                return
            try:
                child.wait(0.05)
            except subprocess.TimeoutExpired:
                continue


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("device_world"):
        worlds = worlds_of(item.config)
        if not worlds:
            pytest.skip(f"runs in the worlds {', '.join(marker.args)} only: use {OPTION}")
        if worlds[0].name not in marker.args:
            pytest.skip(f"runs in the worlds {', '.join(marker.args)} only")


@pytest.fixture(scope="session")
def device_world(request: pytest.FixtureRequest) -> World:
    """The world that the tests run in; without `--device-world` the world that this machine is."""
    worlds = worlds_of(request.config)
    if worlds:
        return worlds[0]
    import torch

    return WORLDS[min(torch.cuda.device_count(), len(WORLDS) - 1)]
