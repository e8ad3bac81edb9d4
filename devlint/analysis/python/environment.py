"""Environment variables as the program sets and reads them, above all CUDA_VISIBLE_DEVICES."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.dispatch import VALUES, Call, method_models, models
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    STRING,
    UNKNOWN,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.events import VisibleDevices
from devlint.analysis.flow.gpu_numbers import is_rank
from devlint.analysis.flow.users_devices import setting
from devlint.analysis.machine import text_of

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
from devlint.syntax import ir
from devlint.syntax.walk import calls, dotted, walk

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
ENVIRON: Final = "os._Environ"
MAX_SLIPS: Final = 3

LAUNCHER: Final = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "SLURM_PROCID", "SLURM_LOCALID"}
    | {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "MPI_LOCALRANKID"}
)
"""What torchrun, MPI and SLURM set: whether they are there, and which number they hold, is open."""

_OTHERS: Final = frozenset(
    {"MUSA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}
    | {"ASCEND_VISIBLE_DEVICES", "TPU_VISIBLE_DEVICES", "XPU_VISIBLE_DEVICES", "MLU_VISIBLE_DEVICES"}
    | {"NPU_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPU_VISIBLE_DEVICES"}
)
_ALSO_WRONG: Final = frozenset(
    {"CUDA_VISIBLE_GPUS", "CUDA_VISIBLE_GPU", "CUDA_DEVICES_VISIBLE", "VISIBLE_CUDA_DEVICES", "CUDA_VISIBLE"}
    | {"CUDA_AVAILABLE_DEVICES", "CUDA_VISIBLE_CARDS"}
)


def is_misspelled(name: str) -> bool:
    """Whether a variable's name is a slip for CUDA_VISIBLE_DEVICES, which nobody reads."""
    upper = name.upper()
    if name == VISIBLE or upper in _OTHERS or (upper != VISIBLE and upper.endswith(VISIBLE)):
        return False
    return upper in _ALSO_WRONG or distance(upper, VISIBLE, MAX_SLIPS) <= MAX_SLIPS


def distance(a: str, b: str, limit: int) -> int:
    """Return the Levenshtein distance of two texts, or some number above `limit`."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (letter != other))
    return row[-1]


def set_variable(machine: Machine, name: str, value: Value, node: ir.Node, frame: Frame) -> None:
    """Execute `os.environ[name] = value`.

    Raises:
        Crash: the value is no string.
    """
    site = machine.site(node, frame)
    problem = _type_error(value)
    if problem is not None:
        if name == VISIBLE:
            machine.crash(VisibleDevices, site, kind="not-set", text=_shown(value), error=problem)
        machine.crash(None, site)
    if is_misspelled(name):
        if machine.has_several:
            machine.emit(VisibleDevices, site, kind="misspelled", text=name)
    elif name == VISIBLE:
        _set_visible(machine, value, node, frame)
    machine.store.put(machine.state.environment, name, value)


def _type_error(value: Value) -> str | None:
    """What `os.environ[...] = value` raises: environment variables are strings."""
    kind: str | None = None
    if isinstance(value, Const) and not isinstance(value.value, str):
        kind = type(value.value).__name__
    elif isinstance(value, Sequence) and value.kind in ("list", "tuple", "set", "range"):
        kind = value.kind
    elif isinstance(value, Mapping) and value.kind == "dict":
        kind = "dict"
    elif isinstance(value, Scalar) and value.kind == "number":
        kind = "int"
    elif isinstance(value, Tensor):
        kind = "Tensor"
    elif isinstance(value, DeviceValue):
        kind = "torch.device"
    return None if kind is None else f"TypeError: str expected, not {kind}"


def _shown(value: Value) -> str:
    return repr(value.value) if isinstance(value, Const) else ""


def _set_visible(machine: Machine, value: Value, node: ir.Node, frame: Frame) -> None:
    text = text_of(value)
    if text is not None and text.startswith("-") and is_rank(machine, value):
        text = None  # a launcher gives each process another
    ids = None if text is None else visible_devices(text, machine.world.device_count)
    first = machine.state.cuda_initialised
    if first is not None and (VISIBLE in machine.state.environment or _is_in_force(machine, text)):
        return
    if first is not None:
        now = machine.state.visible
        present = tuple(range(machine.world.device_count)) if now is None else now
        is_missed = (ids is None or ids != present) and not _for_children(machine, node, frame)
        if machine.has_several and is_missed and not _is_named_again(node, frame):
            site = machine.site(node, frame)
            keeps_first = ids is not None and ids[:1] == present[:1]
            machine.emit(VisibleDevices, site, kind="late", text=text or "", first_cuda=first, keeps_first=keeps_first)
        return
    machine.entry.consulted.add("count")
    machine.store.set(machine.state, "visible", ids)
    machine.store.set(machine.state, "visible_text", text)
    machine.store.set(machine.state, "was_chosen", True)


def _is_in_force(machine: Machine, text: str | None) -> bool:
    """Whether the program had chosen these devices before CUDA was initialised, for all that is known, and only took
    the variable away since."""
    chosen = machine.state.visible_text
    return machine.state.was_chosen and (text is None or chosen is None or text == chosen)


def _is_named_again(node: ir.Node, frame: Frame) -> bool:
    """Whether the function names the GPU that it makes visible by the same number afterwards, `f"cuda:{args.gpu}"`:
    that is the right one as long as all are visible."""
    parts = [] if frame.function is None else list(walk(frame.function.body.statements))
    given = (part.value for part in parts if isinstance(part, ir.Assign) and node in part.targets)
    numbers = {dotted(part) for value in given for part in walk(value)} - {"", "str"}
    return any(
        not numbers.isdisjoint(map(dotted, walk(part)))
        for part in parts
        if part.at.lineno > node.at.lineno and _names_gpu_by_number(part)
    )


def _names_gpu_by_number(node: ir.Node) -> bool:
    """Whether an expression puts a number behind "cuda:": `"cuda:{}".format(n)`, `f"cuda:{n}"`, `"cuda:%d" % n`."""
    if isinstance(node, ir.FString):
        texts: list[ir.Expr] = node.parts
    elif isinstance(node, ir.Binary):
        texts = [node.left]
    elif isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute) and node.function.name == "format":
        texts = [node.function.value]
    else:
        return False
    return any(isinstance(text, ir.Const) and str(text.value).startswith("cuda:") for text in texts)


_STARTS_PROCESS = (
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "subprocess.",
    "concurrent.futures.ProcessPoolExecutor",
    "multiprocessing.Pool",
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.start_processes",
)


def _for_children(machine: Machine, node: ir.Node, frame: Frame) -> bool:
    """Whether the function, or at module level the file, starts a process further down: the variable is for that."""
    module = frame.namespace.module
    last = frame.function.at.end_lineno if frame.function is not None else float("inf")
    return any(
        node.at.lineno <= call.at.lineno <= last
        and (path.startswith(_STARTS_PROCESS) or path.rpartition(".")[2] == "Process")
        for path, call in calls(module)
    )


def unset_visible(machine: Machine) -> None:
    """Execute `del os.environ["CUDA_VISIBLE_DEVICES"]`: all devices are there again."""
    if machine.state.cuda_initialised is None and machine.state.visible is not None:
        machine.entry.consulted.add("count")
        machine.store.set(machine.state, "visible", None)
        machine.store.set(machine.state, "visible_text", None)
    if machine.state.cuda_initialised is None:
        machine.store.set(machine.state, "was_chosen", False)


def visible_devices(text: str, count: int) -> tuple[int, ...] | None:
    """Return the physical ids that CUDA_VISIBLE_DEVICES leaves, in order, on a machine with `count` devices.

    As CUDA does, an entry that does not begin with a number ends the list (what follows a number is not looked at), and
    an id that comes twice leaves nothing. An id that a machine with one device lacks ends it, too; where it has two, a
    list with higher ids was written for a bigger machine: its first two are taken as present. None: the entries are
    UUIDs, of which nothing is known.
    """
    if not text.strip():
        return ()
    ids: list[int] = []
    for part in text.split(","):
        entry = part.strip()
        if entry.startswith(("GPU-", "MIG-")):
            return None
        digits = "".join(takewhile(str.isdecimal, entry))
        if not digits:
            break
        if int(digits) in ids:
            return ()
        ids.append(int(digits))
    if count > 1 and any(number >= count for number in ids):
        return tuple(ids[:count])
    return tuple(takewhile(lambda number: number < count, ids))


def read_variable(machine: Machine, name: str, default: Value | None) -> Value:
    """What a variable holds: what the program set, what it says in its absence, or a choice of the user."""
    known = machine.state.environment.get(name)
    if known is not None:
        return known
    if default is not None and name not in LAUNCHER and name != VISIBLE:
        if isinstance(default, Const) and default.value is not None and not isinstance(default.value, bool):
            return default
        if not isinstance(default, (Const, Scalar, Unknown)):
            return default
    return setting(machine, f"os.environ[{name!r}]", default)


_DENIED: Final = {"not-in": "in", "!=": "=="}


def note_launcher(machine: Machine, test: ir.Compare, frame: Frame, holds: bool) -> None:
    """The way on which a launcher's variable is there, or NCCL is asked for: one process for each GPU."""
    left, right = test.left, test.right
    operator = test.operator if holds else _DENIED.get(test.operator)
    if operator == "in" and isinstance(left, ir.Const) and left.value in LAUNCHER:
        held = machine.evaluate(right, frame)
        is_asked = isinstance(held, Instance) and isinstance(held.cls, External) and held.cls.path == ENVIRON
    else:
        is_asked = operator == "==" and any(isinstance(x, ir.Const) and x.value == "nccl" for x in (left, right))
    if is_asked and not machine.state.by_launcher:
        machine.store.set(machine.state, "by_launcher", True)


# -- os.environ and its functions


VALUES["os.environ"] = lambda machine: Instance(External(ENVIRON))


@models("os.putenv")
def putenv(machine: Machine, call: Call) -> Value | None:
    """`os.putenv(name, value)`."""
    name, value = text_of(call.argument(0, "name")), call.argument(1, "value")
    if name is not None and value is not None:
        problem = _type_error(value)
        if problem is not None and name == VISIBLE:
            problem = problem.replace("str expected", "expected str, bytes or os.PathLike object")
            machine.crash(
                VisibleDevices, machine.site(call.node, call.frame), kind="not-set", text=_shown(value), error=problem
            )
        set_variable(machine, name, value, call.node, call.frame)
    return NONE


@models("os.getenv", "os.environ.get")
def getenv(machine: Machine, call: Call) -> Value | None:
    """`os.getenv(name, default)`."""
    name = text_of(call.argument(0, "key"))
    return UNKNOWN if name is None else read_variable(machine, name, call.argument(1, "default") or NONE)


@models("os.unsetenv")
def unsetenv(machine: Machine, call: Call) -> Value | None:
    """`os.unsetenv(name)`."""
    if text_of(call.argument(0, "key")) == VISIBLE:
        unset_visible(machine)
    return NONE


@method_models(ENVIRON, "get")
def environ_get(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ.get(name, default)`."""
    return getenv(machine, call)


@method_models(ENVIRON, "__getitem__")
def environ_item(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ[name]`."""
    name = text_of(call.argument(0, "key"))
    if name in LAUNCHER and name not in machine.state.environment:
        machine.store.set(machine.state, "by_launcher", True)  # which has to be there
    return UNKNOWN if name is None else read_variable(machine, name, None)


@method_models(ENVIRON, "__setitem__")
def environ_set(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ[name] = value`."""
    if len(call.positional) == 2:
        name = text_of(call.positional[0])
        if name is not None:
            set_variable(machine, name, call.positional[1], call.node, call.frame)
    return NONE


@method_models(ENVIRON, "setdefault")
def environ_setdefault(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ.setdefault(name, value)` takes exactly two arguments, unlike a dict's."""
    name = text_of(call.argument(0, "key"))
    given = len(call.positional) + len(call.keywords)
    if given != 2 and not call.open:
        problem = "_Environ.setdefault() missing 1 required positional argument: 'value'"
        if given > 2:
            problem = f"_Environ.setdefault() takes 3 positional arguments but {given + 1} were given"
        site = machine.site(call.node, call.frame)
        if name is not None and (name == VISIBLE or is_misspelled(name)):
            machine.crash(VisibleDevices, site, kind="not-set", text=name, error=f"TypeError: {problem}")
        machine.crash(None, site)
    value = call.argument(1, "value")
    if name is None or value is None:
        return UNKNOWN
    if name not in machine.state.environment:
        set_variable(machine, name, value, call.node, call.frame)
    return machine.state.environment.get(name, value)


@method_models(ENVIRON, "update")
def environ_update(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ.update({...})`."""
    values: dict[Any, Value] = {**call.keywords}
    for other in call.positional[:1]:
        if isinstance(other, Mapping):
            values = {**other.items, **values}
    for name, value in values.items():
        if isinstance(name, str):
            set_variable(machine, name, value, call.node, call.frame)
    return NONE


@method_models(ENVIRON, "pop", "__delitem__")
def environ_pop(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ.pop(name, default)` and `del os.environ[name]`."""
    name = text_of(call.argument(0, "key"))
    if name is None:
        return UNKNOWN
    found = read_variable(machine, name, call.argument(1, "default"))
    machine.store.remove(machine.state.environment, name)
    if name == VISIBLE:
        unset_visible(machine)
    return found


@method_models(ENVIRON, "__contains__")
def environ_contains(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`name in os.environ`."""
    name = text_of(call.argument(0, "key"))
    if name is not None and name in machine.state.environment:
        return const(True)
    return BOOL if name is None else Unknown(f"{name!r} in os.environ", True)


@method_models(ENVIRON, "copy")
def environ_copy(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """`os.environ.copy()`: a dict; what is written there sets nothing."""
    return Mapping(dict(machine.state.environment), STRING, True)


@method_models(ENVIRON, "items", "keys", "values", "__iter__")
def environ_items(machine: Machine, environ: Instance, call: Call) -> Value | None:
    """All variables: unknown strings."""
    return Sequence("list", [], True)
