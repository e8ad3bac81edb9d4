"""Which machine plays a world, and the servers that do: programs in, what happened out."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from devlint.confirm.sandbox import STRENGTH_VARIABLE, Limits, scrubbed_environment
from devlint.simulated.errors import BRINGS
from devlint.worlds import world_named

Wanted = Literal["auto", "real", "simulated"]
Kind = Literal["cpu", "real", "simulated"]
Role = Literal["plain", "simulating", "guarded"]
"""`guarded`: a plain server that uses no namespaces, for real GPUs whose driver doesn't work in them."""

GRACE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Machine:
    """What plays a world: `kind`, or None with the `reason` why nothing can."""

    world: str
    kind: Kind | None
    torch: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.kind is None:
            return self.reason
        what = {"cpu": "the CPU", "real": "a real GPU", "simulated": "simulated CUDA"}[self.kind]
        return f"{what}, torch {self.torch}"


@dataclass(frozen=True, slots=True)
class Program:
    """Something to run: `text` as if it stood in the file `path`, from a folder with what stands beside that file.

    `root` is the project's folder: files in it count as the program's own, and it is on the path for imports. `probes`
    are those of `devlint.confirm.probes`; `texts` the program texts of the other files that carry probes.
    `made_up`: what is imported and not installed gets a stand-in. `search`: see `devlint.confirm.searching`.
    """

    path: str
    text: str
    root: str
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    probes: tuple[dict[str, Any], ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    made_up: bool = False
    search: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and what was observed. `ended`: `ran`, `raised`, `exited` (by itself, with a status that is not
    0) or `died` (ended from outside or without a word); `error` is `Type: text`, or why it died. `frames` are the
    project's (path, row) on the way to the error, innermost last, and `column` that of the innermost (UTF-8 bytes from
    0). `counted`: simulated CUDA has noticed what is `silent` and the moves and waits of `lines`. `driver`: torch is
    built for GPUs, and asked their driver. The others: `devlint.confirm.player.play`."""

    world: str
    ended: str
    error: str | None = None
    errors: tuple[str, ...] = ()
    frames: tuple[tuple[str, int], ...] = ()
    column: int | None = None
    reached: Mapping[int, int] = field(default_factory=dict)
    records: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    counted: bool = False
    driver: bool = False
    silent: tuple[tuple[str, tuple[str, int], tuple[str, int]], ...] = ()
    lines: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    visible: Mapping[str, Any] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    search: Mapping[str, Any] | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, world: str, answer: Mapping[str, Any]) -> Outcome:
        """Make an outcome of a server's answer."""
        return cls(
            world=world,
            ended=answer["ended"],
            error=answer["error"],
            errors=tuple(answer.get("errors", ())),
            frames=tuple((path, row) for path, row, _ in answer.get("frames", ())),
            column=answer["frames"][-1][2] if answer.get("frames") else None,
            reached={int(probe): count for probe, count in answer.get("reached", {}).items()},
            records={int(probe): records for probe, records in answer.get("records", {}).items()},
            counted=answer.get("counted", False),
            driver=answer.get("driver", False),
            silent=tuple((kind, tuple(where), tuple(cause)) for kind, where, cause in answer.get("silent", ())),
            lines={(path, row): (moves, waits) for path, row, moves, waits in answer.get("lines", ())},
            visible=answer.get("visible", {}),
            environment=tuple(answer.get("environment", ())),
            search=answer.get("search"),
            seconds=answer.get("seconds", 0.0),
        )


class MachineError(Exception):
    """No machine can be started; the text is for the user."""


class Server:
    """One process with torch loaded. Safe to use from several threads."""

    def __init__(self, role: Role) -> None:
        self._base = tempfile.mkdtemp(prefix="devlint-")
        private = os.path.join(self._base, "private")
        os.mkdir(private, 0o700)
        self._address = os.path.join(self._base, "socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self._address)
        listener.listen(64)
        environment = scrubbed_environment(private)
        if role == "guarded":
            environment[STRENGTH_VARIABLE] = "guard"
        package_root = str(Path(__file__).parents[2])
        # The server runs from another folder than this process; a path that is relative would mean another there.
        paths = [package_root, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "devlint.confirm.zygote",
                "plain" if role == "guarded" else role,
                str(listener.fileno()),
                private,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._base,
            env=environment,
            pass_fds=(listener.fileno(),),
            text=True,
        )
        listener.close()
        assert self._process.stdout is not None and self._process.stderr is not None
        first = self._process.stdout.readline()
        if not first:
            said = self._process.stderr.read().strip().splitlines()
            self.close()
            reason = said[-1] if said else "the server ended"
            hint = f"; {BRINGS}" if "ModuleNotFoundError" in reason else ""
            raise MachineError(f"torch can't be loaded: {reason}{hint}")
        facts = json.loads(first)
        self.strength: str = facts["strength"]
        self.torch: str = facts["torch"]
        self.visible_devices: int = facts["visible"]
        self.real_devices: int = facts["cuda"]
        self.refusal: str | None = facts["refusal"]
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def run(self, program: Program, world: str, simulated: bool, limits: Limits) -> Outcome:
        """Run a program; never raises for what the program does."""
        request = {
            "path": program.path,
            "text": program.text,
            "root": program.root,
            "args": list(program.args),
            "environment": dict(program.environment),
            "probes": list(program.probes),
            "texts": dict(program.texts),
            "made_up": program.made_up,
            "search": program.search,
            "world": world,
            "simulated": simulated,
            "limits": limits.as_json(),
        }
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(limits.seconds + GRACE_SECONDS)
                connection.connect(self._address)
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as stream:
                    line = stream.readline()
            answer = json.loads(line)
        except (OSError, ValueError):
            answer = {"ended": "died", "error": "its process gave no answer"}
        return Outcome.of(world, answer)

    def close(self) -> None:
        """End the process and remove its folder."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._base, ignore_errors=True)


class Machines:
    """The machines for all worlds; servers are started when first needed. A context manager."""

    def __init__(self, wanted: Wanted = "auto", limits: Limits | None = None) -> None:
        self._wanted = wanted
        self.limits = limits or Limits()
        self._servers: dict[Role, Server] = {}
        self._lock = threading.Lock()
        self._machines: dict[str, Machine] = {}

    def __enter__(self) -> Machines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all servers."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    @property
    def strength(self) -> str:
        """How programs are kept in: `namespaces`, or `guard` if it is so for any of them.

        Raises:
            MachineError: torch can't be loaded.
        """
        self._server("plain")
        strengths = {server.strength for server in self._servers.values()}
        return "guard" if "guard" in strengths else "namespaces"

    def machine(self, world: str) -> Machine:
        """Return what plays a world.

        Raises:
            MachineError: torch can't be loaded.
        """
        with self._lock:
            known = self._machines.get(world)
        if known is None:
            known = self._choose(world)
            with self._lock:
                self._machines[world] = known
        return known

    def run(self, program: Program, world: str) -> Outcome:
        """Run a program in a world that a machine can play.

        Raises:
            MachineError: no machine plays this world.
        """
        machine = self.machine(world)
        if machine.kind is None:
            raise MachineError(machine.reason)
        simulated = machine.kind == "simulated"
        environment = dict(program.environment)
        server = self._real() if machine.kind == "real" else self._server("simulating" if simulated else "plain")
        if not simulated:
            count = world_named(world).device_count
            if server.visible_devices:
                environment.setdefault("CUDA_VISIBLE_DEVICES", ",".join(str(number) for number in range(count)))
        return server.run(replace(program, environment=environment), world, simulated, self.limits)

    def _choose(self, world: str) -> Machine:
        count = world_named(world).device_count
        plain = self._server("plain")
        if count == 0:
            return Machine(world, "cpu", plain.torch)
        if self._wanted != "simulated":
            usable = self._real().real_devices
            if usable >= count:
                return Machine(world, "real", plain.torch)
            if self._wanted == "real":
                found = f"{usable} of them" if usable else "none that programs here can use"
                wanted = "a real GPU" if count == 1 else f"{count} real GPUs"
                reason = f"it takes {wanted}, and this machine has {found if plain.visible_devices else 'none'}"
                return Machine(world, None, plain.torch, reason)
        simulating = self._server("simulating")
        if simulating.refusal:
            return Machine(world, None, plain.torch, simulating.refusal)
        return Machine(world, "simulated", plain.torch)

    def _real(self) -> Server:
        """The server whose runs can use the real GPUs that there are."""
        plain = self._server("plain")
        if plain.real_devices or not plain.visible_devices or plain.strength == "guard":
            return plain
        return self._server("guarded")

    def _server(self, role: Role) -> Server:
        with self._lock:
            if role not in self._servers:
                self._servers[role] = Server(role)
            return self._servers[role]
