"""What a run changes besides objects and names: the state of torch and of the process, and what a trace froze."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import UNKNOWN, Const, DeviceValue, Value

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.pytorch.backward import Hook
    from devlint.syntax import ir


class Worker:
    """A forked process in which code is run: where it is forked, whether by a DataLoader, and where its parent had
    initialised CUDA, if that is known."""

    __slots__ = ("site", "by_loader", "initialised")

    def __init__(self, site: Site, by_loader: bool, initialised: Site | None = None) -> None:
        self.site = site
        self.by_loader = by_loader
        self.initialised = initialised


TRACE: Final = "trace"
"""Under this key of its state, a module or function that was traced keeps what its trace froze."""
GRADIENTS: Final = "torch.set_grad_enabled"
"""Under this key of its state, or among its attributes, whether a context or a function of a gradient mode asks for
gradients."""
SCRIPTED: Final = "torch.jit.script"
"""Under this key of its state, or among its attributes, what is compiled instead: a trace calls it, and freezes nothing
there."""


class Trace:
    """What `torch.jit.trace` freezes: the answers to the questions where a tensor is, by their place in the program.

    `recording`: the example runs, and the answers are written down; else they are given again. `site`: where it ran.
    """

    __slots__ = ("answers", "recording", "site")

    def __init__(self, site: Site) -> None:
        self.answers: dict[ir.Node, Value] = {}
        self.recording = True
        self.site = site

    def answer(self, node: ir.Node, now: Value) -> Value:
        """Return the answer of the trace; what was not asked there, or had several answers, is not known from it."""
        known = self.answers.get(node)
        if not self.recording:
            return now if known is None else known
        self.answers[node] = now if known is None or _is_same(known, now) else UNKNOWN
        return now

    def froze(self, device: Value | None) -> bool:
        """Whether a handle is an answer that is given again."""
        return not self.recording and any(device is answer for answer in self.answers.values())


def _is_same(one: Value, other: Value) -> bool:
    """Whether two answers are the same."""
    if isinstance(one, DeviceValue) and isinstance(other, DeviceValue):
        return (one.type, one.index) == (other.type, other.index)
    return one is other or (isinstance(one, Const) and isinstance(other, Const) and bool(one.value == other.value))


class State:
    """What a run changes besides objects and names; written by `machine.store.set(machine.state, ...)`.

    `default_device` None is the CPU; so is `default_type`, the device of the default tensor type. `cuda_initialised`:
    where CUDA was first touched.
    `cuda_unused`: CUDA may not have been initialised yet (asking for devices does not do it), and `cuda_used`: where it
    was. `may_spawn`: the program may have set a start method of processes that does not fork. `visible`: physical ids
    of the devices that CUDA_VISIBLE_DEVICES leaves, None when the program did not set it. `was_chosen`: it did, before
    CUDA was initialised. `environment`: variables set.
    `misled`: a test that is always true sent this world to CUDA, which was told. `alive`: the program has not surely
    died of a device that is missing. `by_launcher`: the way that is run was started by a launcher, a process for each
    GPU. `collective`: the backend of init_process_group, None before. `hooks`: what waits for a backward pass.
    `passes`: the devices of losses that had one, "" for one that is not known. `deterministic`: what the program last
    gave `use_deterministic_algorithms`. `imported`: the files of the project that were imported, which happens once.
    `replaced`: what the program has put in the place of names of libraries (a new dict each time). `makes_leaves`: the
    run is inside `with torch.no_grad()`, so that what is computed is a leaf. `strangers`: files or classes may have
    been made known to Python that are not in sight (an import by a name that is not known); never taken back.
    `trains_on_host`: settings of a Trainer of transformers may have declined GPUs.
    """

    __slots__ = (
        "default_device",
        "current_device",
        "cuda_initialised",
        "cuda_unused",
        "cuda_used",
        "may_spawn",
        "synchronizations",
        "visible",
        "visible_text",
        "was_chosen",
        "environment",
        "collective",
        "default_type",
        "misled",
        "alive",
        "by_launcher",
        "hooks",
        "passes",
        "deterministic",
        "imported",
        "replaced",
        "makes_leaves",
        "strangers",
        "trains_on_host",
    )

    def __init__(self) -> None:
        self.default_device: DeviceValue | None = None
        self.current_device: int | None = 0
        self.cuda_initialised: Site | None = None
        self.cuda_unused = True
        self.cuda_used: Site | None = None
        self.may_spawn = False
        self.deterministic: Value = Const(False)
        self.synchronizations = 0
        self.visible: tuple[int, ...] | None = None
        self.visible_text: str | None = None
        self.was_chosen = False
        self.environment: dict[str, Value] = {}
        self.collective: str | None = None
        self.default_type: DeviceValue | None = None
        self.misled = False
        self.alive = True
        self.by_launcher = False
        self.hooks: tuple[Hook, ...] = ()
        self.passes: frozenset[str] = frozenset()
        self.imported: frozenset[str] = frozenset()
        self.replaced: dict[str, Value] = {}
        self.makes_leaves = False
        self.strangers = False
        self.trains_on_host = False
