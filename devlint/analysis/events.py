"""What the interpreter tells: things that happened to devices in one world. Rules turn them into findings.

An event describes, it does not judge. `site` is where it happened (the crash site), `root` where its cause stands.
Everything here is immutable and independent of the front end: sites are compared by file, row and column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(slots=True, eq=False)
class Site:
    """A syntax node in a file of the project. Not frozen only because it is made so often.

    `at` has the attributes `lineno, col_offset, end_lineno, end_col_offset` with the meaning that `ast` gives them
    (rows from 1, columns in UTF-8 bytes from 0), in the program text: for notebooks and documents that is the text of
    all code cells one after the other; `devlint.sources` knows the way back.
    """

    path: str
    at: Any

    @property
    def key(self) -> tuple[str, int, int]:
        """Path, row and column: what makes two sites the same place."""
        return self.path, self.at.lineno, self.at.col_offset

    @property
    def row(self) -> int:
        """The row in the program text, from 1."""
        row: int = self.at.lineno
        return row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


MarkKind = Literal[
    "factory",  # created without device=, on the default device
    "placed",  # created with an explicit device
    "input",  # an input by protocol (an argument of a forward that nobody in sight calls)
    "loader",  # yielded by a DataLoader
    "parameter",  # a parameter or buffer of a module; the site is the module's constructor
    "moved",  # .to()/.cuda()/.cpu(); the device is the new one
    "module-moved",  # moved in place with its module
    "dropped",  # the statement whose moved copy of this value was thrown away
    "rebound",  # the statement that rebound only the loop variable to a moved copy
    "left-behind",  # the attribute assignment that makes it a plain tensor attribute of a moved module
    "unregistered",  # the assignment of the plain container through which a module move did not reach it
    "rebuilt",  # the assignment that replaced a moved module by a fresh one
    "owner-moved",  # the move of the module that was given it afterwards
    "attached",  # the assignment that gave a fresh module to one that had been moved
    "layer-in-forward",  # a parameter of a layer constructed inside forward
    "loss-weight",  # a weight held by a loss module that was not moved
    "metric-state",  # the state of a torchmetrics metric that was not moved
    "cached",  # written by an earlier pass through a cache branch, on another device
    "type-cast",  # .type(torch.FloatTensor) moved it to the CPU
    "async-copy",  # device-to-host copy with non_blocking=True
    "host",  # came from numpy, a file or another host source
    "loaded",  # torch.load
    "optimizer-state",  # state of an optimizer
    "gathered",  # DataParallel made a vector of the numbers that its replicas returned
    "traced",  # torch.jit.trace froze the device on which it was created, or to which it is moved
]


@dataclass(frozen=True, slots=True)
class Mark:
    """One step in the life of a value: how it came to be, and what was done to it."""

    kind: MarkKind
    site: Site
    device: str | None = None
    note: str = ""  # a name where one helps: the attribute, the container, the function that created it


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that took part. `text` is how the program calls it there (`self.pos`); `marks` run from old to new.

    `by_index`: the call that put it there says which GPU.
    """

    text: str
    device: str
    site: Site
    marks: tuple[Mark, ...] = ()
    by_index: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Choice:
    """A condition that the program leaves open, with the answer on this path. Not frozen only because it is made so
    often."""

    condition: str
    value: bool
    site: Site | None


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be analysed, and why. Row and column of the program text, from 1, in characters."""

    path: str
    row: int
    reason: str
    column: int = 1


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in `world`, at `site`, with its cause at `root`.

    `error` is what torch or Python raises there, None where the program goes on silently. `calls` are the call sites
    on the stack, outermost first. `function` is the user function in which it happened, "" at module level. `unseen`:
    nobody in sight calls what was run (it was entered by protocol, and is no test).
    """

    world: str
    site: Site
    root: Site
    error: str | None = None
    when: tuple[Choice, ...] = ()
    calls: tuple[Site, ...] = ()
    function: str = ""
    unseen: bool = False


CauseKind = Literal[
    "dropped",  # DEV201
    "rebound",  # DEV202
    "attribute",  # DEV501
    "container",  # DEV502
    "factory",  # DEV303
    "module-input",  # DEV302
    "rebuilt",  # DEV302
    "attached",  # DEV302
    "layer-in-forward",  # DEV503
    "loss",  # DEV307
    "metric",  # DEV309
    "index",  # DEV304
    "cache",  # DEV504
    "type-cast",  # DEV902
    "optimizer-state",  # DEV505
    "hardcoded",  # DEV101: a literal 'cuda:0'/.cuda() against a chosen device
    "forced",  # DEV102: put on a GPU whatever the program means, which is told for the world without one
    "mixed",  # DEV301
]


@dataclass(frozen=True, slots=True)
class MixedDevices(Event):
    """Tensors of two devices met in an operation that demands one. `guilty` indexes the operand that stands wrong.

    `checked`: no operation of torch refuses them, but a check of the program's own. `by_protocol`: the code was entered
    by protocol, no caller is in sight. `no_tensors`: the names that were none at some time when the root was run.
    `unmoved`: where the module was built whose parameter or buffer stands wrong, if nobody ever moved it; `further`: at
    how many more places it meets what was moved. `declined`: only where the user says, by other than the default of an
    option, that no GPU is to be used. `forced`: where one of them was put on a GPU whatever the program means, the root
    of what is told for the world without one.
    """

    operation: str = ""
    operands: tuple[Operand, ...] = ()
    guilty: int = 0
    cause: CauseKind = "mixed"
    checked: bool = False
    by_protocol: bool = False
    no_tensors: frozenset[str] = frozenset()
    unmoved: Site | None = None
    further: int = 0
    declined: bool = False
    forced: Site | None = None

    @property
    def culprit(self) -> Operand:
        """The operand that is where it should not be."""
        return self.operands[self.guilty]

    @property
    def is_of_current_device(self) -> bool:
        """Whether only a caller that works on another GPU than the current one meets it, and no caller is in sight."""
        return self.by_protocol and not any(operand.device == "cpu" or operand.by_index for operand in self.operands)


@dataclass(frozen=True, slots=True)
class DroppedMove(Event):
    """The result of `tensor.to(device)` is thrown away; `text` is the receiver. Devices are "" where not known.

    `kind`: `uncalled` where the method itself takes the tensor's place (`x = x.cuda`), `nothing` where a `.to()` of the
    program's own gives None back, and that takes the place of what it moved. `brought`: the wrapper that takes the
    tensor where the move would have, so that nothing hangs on it.
    """

    text: str = ""
    source: str = ""
    target: str = ""
    kind: Literal["dropped", "uncalled", "nothing"] = "dropped"
    brought: str = ""


@dataclass(frozen=True, slots=True)
class DeviceUnavailable(Event):
    """A CUDA (or other) device was used that this world does not have.

    `literal`: where the device was named in the project, if it was. `operation`: `torch.zeros`, `.cuda()`,
    `torch.cuda.set_device`. `kind`: `use` moves or creates, `query` asks for properties, `legacy` is a
    `torch.cuda.FloatTensor`. `at_import`: it happened while a library module was being imported (a default argument,
    a class body, module level), `unasked`: and nothing there asks for CUDA, in tests, which may all need it, or where a
    constant of another file names the device. `hidden`: the
    index exists on the machine but not in CUDA_VISIBLE_DEVICES.
    `evidence`: the program asks for availability, has a device flag or a CPU branch: it means to run without a GPU.
    `guarded`: it happened under a user's own flag that is true (then DEV101/102/107 are silent); `is_option`: it is the
    default of an option, which stands guard unless the program asks elsewhere whether that device is there, or has the
    number that an option gives. `is_visible_by_option`: an option says which GPUs are visible.
    `further`: how many more uses follow in the program, and `covered` where these are. `cause`: whether it comes after
    another that ended the run.
    `spread`: how the class or function around it takes the first GPU and this one. `clash`: what meets there, where a
    machine has one, because of it. `within`: the row in which the function around it begins.
    """

    device: str = "cuda"
    index: int | None = None
    literal: Site | None = None
    operation: str = ""
    kind: Literal["use", "query", "legacy"] = "use"
    at_import: bool = False
    unasked: bool = False
    hidden: bool = False
    evidence: bool = False
    guarded: bool = False
    is_option: bool = False
    further: int = 0
    covered: frozenset[tuple[str, int, int]] = frozenset()
    cause: Literal["", "follows"] = ""
    is_visible_by_option: bool = False
    visible: str | None = None  # the text of CUDA_VISIBLE_DEVICES where the program set it
    spread: Literal["", "counted", "named"] = ""
    clash: MixedDevices | None = None
    within: int = 0


@dataclass(frozen=True, slots=True)
class AvailabilityNotCalled(Event):
    """`if torch.cuda.is_available:`, the function where its answer was meant: `root`; `site` is where the program fails
    for it, if that was come to."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class NameUnbound(Event):
    """A name that this world leaves unbound was read.

    `guard`: the branch under which alone it is bound. `device_position`: it stands where a device is expected
    (`torch.device(cpu)`). `bound_later`: it is bound further down. `tried`: it is bound where something is tried.
    `further`: how many more names of that branch are read after it.
    """

    name: str = ""
    guard: Site | None = None
    device_position: bool = False
    bound_later: bool = False
    tried: bool = False
    further: int = 0


@dataclass(frozen=True, slots=True)
class LoadWithoutMap(Event):
    """`torch.load` without map_location of what this program did not save, in a program that chooses its device.

    `foreign`: somebody else's file, downloaded or given to the readers of a document; who made it nobody here can tell.
    `untaken`: no module takes what was loaded, nor is it used as one: it may be data, which most save from the CPU.
    """

    path_text: str = ""
    foreign: bool = False
    untaken: bool = False


@dataclass(frozen=True, slots=True)
class AcceleratorMissing(Event):
    """`torch.accelerator.current_accelerator()` gave None, and the None was used.

    `evidence`: something shows that the program means to run without one.
    """

    use: str = ""
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class InvalidDevice(Event):
    """A string or object that torch takes for no device: `"gpu"`, a `torch.cuda.device` context manager.

    `kind`: a `string` that names none, a `context` manager, a `negative` number, the `cpu` where a GPU is demanded,
    no `number` where one is (`torch.device("cuda")`, None), a `handle` where the name of a type is demanded, a GPU
    where a `legacy` constructor makes tensors of the CPU, `several` devices in a list, a text that is `joined` to a
    number, one whose number is given `twice`.
    """

    text: str = ""
    literal: Site | None = None
    kind: Literal[
        "string", "context", "negative", "cpu", "number", "handle", "legacy", "several", "joined", "twice"
    ] = "string"
    operation: str = ""


@dataclass(frozen=True, slots=True)
class ModuleHasNoDevice(Event):
    """`.device` of a plain nn.Module. `text` is the receiver as written; `by_protocol`: no caller is in sight."""

    text: str = ""
    class_name: str = ""
    by_protocol: bool = False


@dataclass(frozen=True, slots=True)
class MovedParameter(Event):
    """`nn.Parameter(...).to(d)`, or a moved leaf that requires grad: a copy that is no leaf stands in its place.

    `lacks`: the gradient; or the place in the `state` of its module, which is taken, of one without a gradient; or the
    `steps` of an optimizer, which has the leaf that nothing else has any more.
    """

    text: str = ""
    is_parameter: bool = True
    device: str = ""
    lacks: Literal["gradient", "state", "steps"] = "gradient"


@dataclass(frozen=True, slots=True)
class GeneratorDevice(Event):
    """A generator on one device was given to an operation on another.

    `checked`: a check of the program's own refuses it.
    """

    operation: str = ""
    generator_device: str = ""
    expected_device: str = ""
    checked: bool = False


@dataclass(frozen=True, slots=True)
class CpuOnlyArgument(Event):
    """An argument that must be on the CPU was on an accelerator."""

    operation: str = ""
    argument: str = ""
    operand: Operand | None = None


@dataclass(frozen=True, slots=True)
class ParallelDevice(Event):
    """A DataParallel or DistributedDataParallel module is not on `device_ids[0]`.

    `replica`: a copy that DataParallel made for a GPU is asked for its parameters, and has none. `attribute`: a
    tensor of such a copy is asked for what the program has set on the parameter. `gathered`: the copies return a
    number each, and what the caller gets of them, at the root, is taken for one number. `set`: the module itself is
    asked for what its forward sets, which only the copies have. `keys`: the names of a state that is loaded have the
    `module.` of a wrapper, and what takes it has none, or the other way round. `made`: of `elsewhere`, where the module
    and its wrapper were.
    """

    kind: Literal["elsewhere", "replica", "attribute", "gathered", "set", "keys"] = "elsewhere"
    attribute: str = ""
    wrapper: str = "DataParallel"
    expected: str = "cuda:0"
    found: str = "cpu"
    made: tuple[Site | None, ...] = ()


@dataclass(frozen=True, slots=True)
class WrapperAttribute(Event):
    """Something that only the module inside has was asked of its DataParallel. `text` is the receiver as written."""

    text: str = ""
    wrapper: str = "DataParallel"
    name: str = ""


Way: TypeAlias = frozenset[tuple[Any, bool]]
"""What was assumed on a way: conditions with their answers."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A module that was asked for its `.module` and had one: in which world, on which way, and on which way it got its
    wrapper, without what the program's options say by themselves; `since` is None where that is none of torch's."""

    world: str
    when: Way
    since: Way | None


def way(choices: Iterable[Choice]) -> Way:
    """What was assumed on a way: conditions by name, or by where they stand."""
    return frozenset((choice.condition or (choice.site and choice.site.key), choice.value) for choice in choices)


@dataclass(frozen=True, slots=True)
class WrapperMissing(Event):
    """A module that no DataParallel (DDP) is around was asked for the `.module` inside; `text` is it as written.
    `given`: what was assumed on the way that no option of the program says by itself."""

    text: str = ""
    class_name: str = ""
    given: Way = frozenset()


@dataclass(frozen=True, slots=True)
class ToHost(Event):
    """A CUDA tensor was given to code that works on host memory: `.numpy()`, `np.asarray`, a plotting function.

    `further`: how many more rows of the same function, which begins in the row `within`, read parameters of the same
    module, from the same move on. `again`: how many more calls in this row read what was moved there with it.
    """

    operand: Operand | None = None
    function: str = ".numpy()"
    kind: Literal["numpy", "library"] = "numpy"
    needs_detach: bool = False
    further: int = 0
    within: int = 0
    again: int = 0


@dataclass(frozen=True, slots=True)
class MoveOnArray(Event):
    """`.to()`, `.cuda()`, `.cpu()` or `.device` of a numpy array, a plain Python value or an optimizer."""

    text: str = ""
    method: str = "to"
    type_name: str = "numpy.ndarray"


@dataclass(frozen=True, slots=True)
class PinAccelerator(Event):
    """Pinning of a CUDA tensor: `.pin_memory()`, or a DataLoader with `pin_memory=True` over CUDA tensors."""

    operand: Operand | None = None
    by_loader: bool = False


@dataclass(frozen=True, slots=True)
class UnsynchronizedRead(Event):
    """A device-to-host copy with non_blocking=True was read before a synchronization; the root is the copy."""

    text: str = ""
    reader: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotNotCopied(Event):
    """Weights that were kept by a move to the CPU, where they were already, are loaded or saved after the module has
    changed; the root is the move.

    `text`: the move.
    """

    text: str = ""
    kind: Literal["loaded", "saved"] = "loaded"


@dataclass(frozen=True, slots=True)
class VisibleDevices(Event):
    """Something about CUDA_VISIBLE_DEVICES. `first_cuda`: where CUDA was initialised, for `late`; `keeps_first`: the
    first GPU is the one that the program takes anyway."""

    kind: Literal["misspelled", "late", "not-set"] = "misspelled"
    text: str = ""
    first_cuda: Site | None = None
    keeps_first: bool = False


@dataclass(frozen=True, slots=True)
class CudaInWorker(Event):
    """CUDA used in a process that is forked: by a DataLoader, or by the program itself after it initialised CUDA.

    `forked`: the DataLoader, or where the process is started or gets its work. `initialised`: where CUDA had been.
    """

    operation: str = ""
    forked: Site | None = None
    by_loader: bool = True
    initialised: Site | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class RankWithoutDevice(Event):
    """Distributed ranks that all use GPU 0: no set_device, no device from the rank."""

    operation: str = ""


@dataclass(frozen=True, slots=True)
class CpuInCollective(Event):
    """A CPU tensor in a collective of the NCCL backend."""

    operation: str = ""
    operand: Operand | None = None


@dataclass(frozen=True, slots=True)
class DeviceCompared(Event):
    """A device compared in a way whose answer does not depend on the device as it seems to.

    `string`: a torch.device with a str. `index`: with and without an index. `text`: such names of devices, as strings.
    `key`: such a name that is looked up among the keys of a dict (`right`), which fails. `number`: the index of a
    device that has none, with a number, which fails. `left` and `right` are texts of the operands, `intended` the
    answer that was meant in this world, `operator` is `==` or `!=`.
    `reversed_operands`: the torch.device stands on the right.
    """

    kind: Literal["string", "index", "text", "key", "number"] = "string"
    left: str = ""
    right: str = ""
    operator: str = "=="
    intended: bool = True
    reversed_operands: bool = False


@dataclass(frozen=True, slots=True)
class DeviceNumber(Event):
    """`get_device()` is -1 on the CPU, and was used as a device."""

    text: str = ""
    use: str = ""


@dataclass(frozen=True, slots=True)
class LegacyType(Event):
    """`torch.cuda.FloatTensor(...)`, `torch.set_default_tensor_type('torch.cuda.FloatTensor')`."""

    text: str = ""
    operation: str = ""


@dataclass(frozen=True, slots=True)
class DeviceNamed(Event):
    """An accelerator was named by a string literal at `root`, which is the device argument of the use at `site`.

    `further`: how many more such literals of that device follow in the file (this is the first; the handle's own
    `torch.device("cuda")` is none).
    """

    text: str = ""
    further: int = 0


@dataclass(frozen=True, slots=True)
class Transfer(Event):
    """A tensor or module was copied between devices.

    `fresh`: it was created by the factory call at `created` for this move alone (`torch.zeros(3).to(d)`).
    `invariant`: inside a loop, and the value moved was made outside the loop and does not change in it.
    `round_trip`: it came from the device to which it goes back.
    """

    text: str = ""
    source: str = ""
    target: str = ""
    fresh: bool = False
    created: Site | None = None
    invariant: bool = False
    round_trip: bool = False
    loop: Site | None = None


@dataclass(frozen=True, slots=True)
class Synchronized(Event):
    """The host waited for the device inside a loop: `.item()`, `.cpu()`, `print(t)`, `if t:`."""

    text: str = ""
    how: str = ".item()"
    loop: Site | None = None


@dataclass(frozen=True, slots=True)
class AnalysisFailed(Event):
    """The analysis of a file failed or ran past its limit: becomes DEV000."""

    reason: str = ""
    detail: dict[str, Any] = field(default_factory=dict, compare=False)
