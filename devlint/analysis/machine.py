"""The interpreter's state in one world, and the few services that every room needs.

The rooms are functions `(machine, node, frame)` found through `devlint.analysis.dispatch`; the machine holds the only
state.
"""

from __future__ import annotations

import builtins
import dataclasses
import os
from typing import TYPE_CHECKING, Any, Final, NoReturn

from devlint.analysis.dispatch import EVALUATE, EXECUTE
from devlint.analysis.domain.lattice import Loss
from devlint.analysis.domain.origins import Origin
from devlint.analysis.domain.values import Class, Const, DeviceValue, Value
from devlint.analysis.events import (
    CpuOnlyArgument,
    DeviceCompared,
    DeviceNumber,
    DeviceUnavailable,
    Event,
    InvalidDevice,
    MarkKind,
    MixedDevices,
    MovedParameter,
    PinAccelerator,
    Site,
    Synchronized,
    ToHost,
    UnsynchronizedRead,
)
from devlint.analysis.frames import names_of_no_tensors
from devlint.analysis.notes import EvidenceKind, Imported, Places
from devlint.analysis.running import EntryNotes, Run
from devlint.analysis.signals import Crash, OutOfBudget, Signal
from devlint.analysis.state import State
from devlint.analysis.store import Store
from devlint.syntax import ir

if TYPE_CHECKING:
    from collections.abc import Mapping

    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame, Namespace
    from devlint.analysis.programs.built import Built
    from devlint.analysis.project import Project
    from devlint.analysis.python.settings import Settings
    from devlint.worlds import World


_MILDER: Final = ("guarded", "declined", "untaken")
"""What makes an event less than the same on another way."""
TORCH_ERRORS = frozenset({"AcceleratorError", "CudaError", "StandardError"})
"""Handlers of these catch what torch raises, whatever it is."""


def forget_evidence(machine: Machine, known: int) -> None:
    """Forget what was found after the first `known`."""
    while len(machine.entry.evidence) > known:
        machine.entry.evidence.popitem()


_ON_ANY_GPU: Final = frozenset(
    {CpuOnlyArgument, ToHost, PinAccelerator, UnsynchronizedRead, MovedParameter, Synchronized}
)
"""What happens with a tensor whichever GPU it is on."""

_OF_NAMES: Final = frozenset({DeviceNumber, DeviceUnavailable, InvalidDevice})
"""What is told of the name of a device: not of one that nobody has written."""

_PLACES: Final = ("generator_device", "expected_device", "source", "target", "found")


def holds_on_any_gpu(event: type[Event], facts: Mapping[str, Any]) -> bool:
    """Whether something would happen whichever GPU a tensor is on: where a GPU meets the CPU, the number is nothing."""
    if event is MixedDevices:
        return any(operand.device == "cpu" for operand in facts["operands"])
    return event in _ON_ANY_GPU or any(facts.get(place) == "cpu" for place in _PLACES)


class Machine:
    """One world's interpreter. One machine runs all entry points of that world; what belongs to one entry point
    is its `entry`, what belongs to one of the runs of that its `run`."""

    def __init__(self, project: Project, world: World, wanted: frozenset[type[Event]]) -> None:
        self.project = project
        self.world = world
        self.wanted = wanted
        """The events that a rule in force asks for: no others are made."""
        self.store = Store()
        """Every write of a run goes through it, and can be undone."""
        self.files: dict[Any, Value] = {}
        """What the program has saved to files, by what names them."""
        self.loss = Loss()
        """What the joins of branches have lost since it was last looked at."""
        self.state = State()
        """The state of torch and of the process: the current device, the environment."""
        self.clock = 0
        """The moment that it is: it moves on with each mark and each call."""
        self.answered: set[str] = set()
        """The files that do not ask themselves, but were given an answer by others."""
        self.visited: dict[ir.Node, None] = {}
        """The functions that were run and the classes that were built, in order: they are not entered by protocol."""
        self.callees: dict[ir.Node, tuple[int, list[Any]]] = {}
        """What a function calls by name, and how many names its file had when that was seen."""
        self.written: dict[ir.Node, tuple[int, frozenset[str]]] = {}
        """The attributes that a function writes, itself or through those that it calls by name, and how many names its
        file had when that was seen."""
        self.speaking: dict[ir.Node, tuple[int, bool]] = {}
        """Whether a function speaks of devices, itself or through those that it calls by name, and how many names its
        file had when that was seen."""
        self.accelerator = f"cuda:{world.device_count - 1}"
        """Where entries by protocol have their modules and inputs: the last GPU, so that `.cuda()` is another."""
        self.elsewhere_by_import: set[str] = set()
        """The files that have put something elsewhere than by protocol, or named such a place, when they ran."""
        self.literals: dict[ir.Const, Const] = {}
        """The values of literals, one for each place, so that a name of a device is known again."""
        self.statistics: dict[str, int] = {}
        """What `--statistics` counts."""
        self.namespaces: dict[str, Namespace] = {}
        """The global names of the files that were run, by path."""
        self.with_settings: list[Namespace] = []
        """Those of imported files whose functions may set global names, and that were not looked at for it yet."""
        self.settings: list[tuple[Namespace, Settings]] = []
        """Those of imported files that do, and what these set (`settings.py`)."""
        self.with_modules: list[Namespace] = []
        """Those of imported files that build a module when they run."""
        self.prints: dict[str, int] = {}  # what the names of imported files that asked anything meant (`sameness.py`)
        self.remembered: dict[tuple[ir.Function, Any], set[str]] = {}
        """What was asked of the world for what functions remember of their calls."""
        self.imports: dict[str, Imported] = {}
        """What running a file as an import does has told and asked, by path."""
        self.places = Places()
        """Where values were made of which more is known than they say."""
        self.placements = 0
        """How often a module was put on a device that the program named."""
        self.entered: dict[int, DeviceValue | None] = {}
        """The default device before each `torch.device` was entered by hand, by its identity."""
        self.ran: set[ir.Node] = set()
        """The module classes that code which is entered by protocol called with tensors of its own, on the CPU."""
        self.sighted: set[ir.Node] = set()
        """The module classes of which programs built one, or that were called with something whose place is known."""
        self.transparent: dict[ir.Function, int] = {}
        """Decorators that gave back what they decorated, and how often; long work counts more."""
        self.nothings: dict[Const, tuple[Site, str]] = {}  # what moves gave back, where, and what it is called
        self.gives_back: dict[ir.Function, bool] = {}
        """Whether the form of a function says that it gives back the function or class that it is given."""
        self.presets: dict[Const, str] = {}
        """Numbers that are defaults of arguments which nobody gives, with the names of these."""
        self.taken: set[ir.Node] = set()
        """The functions that only libraries have called, to which they were handed."""
        self.built: dict[Class, Built] = {}
        """What building an instance by protocol made, by class."""
        self.has_closed = False
        """Whether a parser was made of which all options may be in sight."""
        self.entry = EntryNotes()
        self.begin(10_000, {})

    def begin(self, budget: int, assume: dict[ChoiceKey, bool], limit: int = 0) -> None:
        """Begin one run of one entry point; see `Run`."""
        self.run = Run(self.world, budget, assume, limit)
        self.loss.lost = self.loss.named = False
        self.loss.files.clear()
        self.loss.hidden = False
        self.loss.place = self.accelerator

    # -- running

    def evaluate(self, node: Any, frame: Frame) -> Value:
        """Evaluate an expression."""
        return EVALUATE[node.__class__](self, node, frame)

    def block(self, statements: list[Any], frame: Frame) -> Signal | None:
        """Execute statements; returns the signal with which they left, if they did."""
        for statement in statements:
            self.run.steps += 1
            if self.run.steps > self.run.limit:
                raise OutOfBudget
            signal: Signal | None = EXECUTE[statement.__class__](self, statement, frame)
            if signal is not None:
                return signal
        return None

    def step(self) -> None:
        """Count one step of evaluation."""
        self.run.steps += 1
        if self.run.steps > self.run.limit:
            raise OutOfBudget

    # -- time and place

    def tick(self) -> int:
        """Return the next moment."""
        self.clock += 1
        return self.clock

    def site(self, node: ir.Node, frame: Frame) -> Site:
        """Return where a node stands."""
        return Site(frame.namespace.path, node.at)

    def origin(
        self,
        kind: MarkKind,
        node: ir.Node,
        frame: Frame,
        device: str | None = None,
        note: str = "",
        previous: Origin | None = None,
    ) -> Origin:
        """Make a mark of this moment."""
        if device is not None and device != self.accelerator and kind not in _BY_PROTOCOL:
            self.note_tensor(device)
        site = Site(frame.namespace.path, node.at)
        if kind == "factory" and MixedDevices in self.wanted:
            self.project.no_tensors.setdefault(site.key, set()).update(names_of_no_tensors(frame))
        return Origin(kind, site, frame, self.tick(), device, note, previous, node)

    def note_place(self, device: str) -> None:
        """Note that a place is named that is not the one by protocol. With what a module is built, on the CPU, it is
        moved."""
        if self.run.building and device == "cpu":
            self.run.built_on_cpu = True
        else:
            self.run.elsewhere = True

    def note_tensor(self, device: str) -> None:
        """Note that a tensor is elsewhere than by protocol: where all that it meets is known no answer changes that."""
        if self.run.building and device == "cpu":
            self.run.built_on_cpu = True
        else:
            self.run.strayed = True

    def frozen(self, target: Value | None, made: Origin, frame: Frame) -> Origin:
        """Mark what was put on a device that the running trace has frozen."""
        if self.run.trace is None or not self.run.trace.froze(target):
            return made
        return Origin("traced", self.run.trace.site, frame, self.tick(), made.device, "", made)

    @property
    def has_cuda(self) -> bool:
        """Whether the world has CUDA devices; that it was asked is noted."""
        self.entry.consulted.add("cuda")
        return self.world.has_cuda

    @property
    def has_several(self) -> bool:
        """Whether the world has more than one CUDA device; that it was asked is noted."""
        self.entry.consulted.update(("cuda", "count"))
        return self.world.device_count > 1

    @property
    def device_count(self) -> int:
        """How many CUDA devices the program sees: the world's, less what CUDA_VISIBLE_DEVICES hides."""
        self.entry.consulted.add("cuda")
        visible = self.state.visible
        return self.world.device_count if visible is None else len(visible)

    # -- telling

    def emit(self, event: type[Event], site: Site, root: Site | None = None, **facts: Any) -> None:
        """Tell that something happened; nothing is told inside a `try` with handlers and where only a guess is run."""
        if event not in self.wanted or (self.run.trying and self.is_caught(facts.get("error"))):
            return
        if self.run.quiet and event is not DeviceCompared:
            return
        if self.run.takes_first and not holds_on_any_gpu(event, facts):
            return
        is_written = event is DeviceUnavailable and facts.get("literal") is not None
        if self.run.gives_a_gpu and event in _OF_NAMES and not is_written:
            return
        root = root or site
        key = (event, root.key, facts.get("kind"), facts.get("cause"))
        old = self.entry.events.get(key)
        if old is not None and not any(getattr(old, slot, False) and not facts.get(slot) for slot in _MILDER):
            if old.when and not self.run.path:
                self.entry.events[key] = dataclasses.replace(old, when=())
            return
        facts.setdefault("calls", self.calls())
        facts.setdefault("unseen", self.run.unseen)
        facts.setdefault("function", self.run.stack[-1].name if self.run.stack else "")
        self.entry.events[key] = event(world=self.world.name, site=site, root=root, when=tuple(self.run.path), **facts)

    def calls(self) -> tuple[Site, ...]:
        """Where the functions were called that are running, outermost first."""
        called = (a.call for a in self.run.activations if not isinstance(a.call.node, (ir.Function, ir.Class)))
        return tuple(self.site(call.node, call.frame) for call in called)

    def kind_of(self, error: str | None) -> str:
        """The builtin exception with which an error begins; "" without CUDA, where builds of torch raise several."""
        kind = (error or "").partition(":")[0]
        return kind if self.world.has_cuda and isinstance(getattr(builtins, kind, None), type) else ""

    def is_caught(self, error: str | None) -> bool:
        """Whether a handler around would catch an error, of which the text is given."""
        if not self.run.trying:
            return False
        kind = self.kind_of(error)
        if not kind:
            return True
        names = {cls.__name__ for cls in getattr(builtins, kind).__mro__} | TORCH_ERRORS
        return not all(names.isdisjoint(caught) for caught in self.run.trying)

    def emit_unheeded(self, event: type[Event], site: Site, error: str, **facts: Any) -> None:
        """Tell that something fails, also where no handler around does more than to tell of it: nothing is raised."""
        trying = self.run.trying
        if trying and len(trying) != self.run.telling:
            return
        self.run.trying = ()
        self.emit(event, site, error=None if trying else error, **facts)
        self.run.trying = trying

    def crash(self, event: type[Event] | None, site: Site, root: Site | None = None, **facts: Any) -> NoReturn:
        """Tell that the program raises here, and leave.

        Raises:
            Crash: always.
        """
        if event is not None:
            self.emit(event, site, root, **facts)
        raise Crash

    def testify(self, kind: EvidenceKind, frame: Frame) -> None:
        """Note what speaks for (or against) running without a GPU: for the file where it stands, and the one whose
        call led there, if it stands by (a library elsewhere is for other programs, too). What a function asks for its
        own work says nothing of its callers, unless it gives them the answer (`hand_on`)."""
        path = frame.namespace.path
        self.entry.evidence[kind, path] = None
        self.answered.discard(path)
        if self.run.importing:
            self.imports.setdefault(path, Imported()).asked.add(kind)
        if self.run.activations:
            caller = self.run.activations[-1].call.frame.namespace.path
            if kind not in ("availability", "computes") and stands_by(path, caller):
                self.entry.evidence[kind, caller] = None

    def hand_on(self, asked: str, frame: Frame) -> None:
        """A function of the file `asked` has answered its caller with a device, a flag or a number: what it asked for
        that speaks for the caller, too, if the file stands by; not for the caller's callers."""
        caller = frame.namespace.path
        if asked == caller or asked in self.answered or ("availability", asked) not in self.entry.evidence:
            return
        if stands_by(asked, caller) and ("availability", caller) not in self.entry.evidence:
            self.entry.evidence["availability", caller] = None
            self.answered.add(caller)

    def count(self, what: str, by: int = 1) -> None:
        """Count something for `--statistics`."""
        self.statistics[what] = self.statistics.get(what, 0) + by


def stands_by(path: str, other: str) -> bool:
    """Whether a file is in the folder of another, or below it."""
    return path.startswith(os.path.join(os.path.dirname(other), ""))


_BY_PROTOCOL: Final = frozenset({"input", "module-moved"})
"""The marks on what an entry by protocol finds where the protocol has put it."""


def text_of(value: Value | None) -> str | None:
    """Return the string that a value surely is."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
