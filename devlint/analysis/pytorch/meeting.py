"""Tensors that meet: which demand is broken, and which operand stands wrong."""

from __future__ import annotations

from collections.abc import Sequence as Items
from itertools import combinations
from typing import TYPE_CHECKING

from devlint.analysis.domain.origins import marks
from devlint.analysis.domain.values import POISON, UNKNOWN, Mapping, Sequence, Tensor, Unknown, Value
from devlint.analysis.events import CauseKind, MixedDevices, Operand, Site
from devlint.analysis.flow.option_names import gpu_is_declined
from devlint.analysis.python.lacking import comes_surely
from devlint.analysis.pytorch.assumed_places import is_moved_at_once, stays_with_its_module
from devlint.analysis.pytorch.devices import source_text
from devlint.analysis.pytorch.placeholders import is_untouched
from devlint.analysis.pytorch.results import is_any_content, loaded_tensor
from devlint.analysis.pytorch.roots import is_handed_around, made_in_entry, taken_abroad, trace_root, unmoved_owner
from devlint.analysis.pytorch.staleness import stale_ones
from devlint.analysis.pytorch.straying import note_stray, was_lost
from devlint.analysis.signals import Crash
from devlint.semantics import errors
from devlint.syntax import ir
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine


class Part:
    """A value that takes part in an operation: what is demanded of it, and the node that it came from.

    `parameter` is what the table calls it, `name` how it is described where it has no node.
    """

    __slots__ = ("value", "demand", "node", "name", "parameter")

    def __init__(
        self, value: Value, demand: str, node: ir.Node | None = None, name: str = "", parameter: str = ""
    ) -> None:
        self.value = value
        self.demand = demand
        self.node = node
        self.name = name
        self.parameter = parameter


def spoilt(call: Call) -> Value:
    """What a call gives of which nothing is known: after an operation that failed, no more than that gave, for what
    comes of it has no place either."""
    failed = any(isinstance(given, Tensor) and given.device == POISON for given in call.positional)
    return Tensor(POISON) if failed else UNKNOWN


def tensors_in(value: Value, depth: int = 3, into_dicts: bool = True) -> list[Tensor]:
    """The tensors in a value, through lists, tuples and (if wanted) dicts (at most three deep)."""
    if isinstance(value, Tensor):
        return [value]
    if depth and isinstance(value, Sequence):
        return [tensor for part in value.items for tensor in tensors_in(part, depth - 1, into_dicts)]
    if depth and into_dicts and isinstance(value, Mapping):
        return [tensor for part in value.items.values() for tensor in tensors_in(part, depth - 1)]
    return []


def operands_in(value: Value) -> list[Tensor]:
    """The tensors in what an operation on tensors is given: a file that was loaded, and is one, holds one."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.items if isinstance(value, Sequence) else (value,)
    loaded = [loaded_tensor(part) for part in parts if isinstance(part, Mapping)]
    return [tensor for tensor in loaded if tensor is not None] + tensors_in(value)


def meet(
    machine: Machine,
    parts: Items[Part],
    operation: str,
    node: ir.Node,
    frame: Frame,
    callee: str = "",
    cause: CauseKind | None = None,
) -> tuple[Tensor | None, bool]:
    """Check the demands of an operation. Returns the tensor whose device the result has, and whether they clashed.

    `combine` parts may be 0-dimensional CPU tensors, `strict` parts may not; of `index` parts a CPU tensor is welcome.
    After a clash all tensors involved are poisoned. `callee` is the name of the operation's row in the tables.
    """
    met = _Met(parts)
    if met.poisoned is not None:
        return met.poisoned, True
    strict, welcome, first = met.strict, met.welcome, met.first
    if met.lost:
        note_lost(machine, met.lost, bool(strict), node)
    strays = machine.run.strayed and not machine.run.elsewhere
    if strays and (met.unknown or any(was_lost(part.value) for part in parts)):
        note_stray(machine, [tensor for tensor, _ in (*strict, *welcome)])
    if met.empty and strict:
        strict = [pair for pair in met.empty if _surely_joined(machine, *pair, strict, frame)] + strict
    if len({tensor.device for tensor, _ in strict}) > 1:
        clash(machine, strict, operation, node, frame, callee, cause)
        return None, True
    if strict:
        return next((tensor for tensor, _ in strict if not tensor.assumed), strict[0][0]), False
    if welcome and not met.unknown and not _follow_unknown(parts, welcome):
        return welcome[0][0], False
    if first is not None and welcome and first.device is not None:
        return Tensor(None, first.rank), False
    return first, False


class _Met:
    """The operands of an operation, by what they ask of one another.

    `strict`: all of these have to be on one device. `welcome`: CPU tensors that may be numbers. `empty`: tensors
    without elements among those that are joined. `lost`: the conditions behind which some lost their devices.
    `unknown`: of some nobody knows where they are.
    """

    __slots__ = ("strict", "welcome", "empty", "lost", "poisoned", "first", "unknown")

    def __init__(self, parts: Items[Part]) -> None:
        self.strict: list[tuple[Tensor, Part]] = []
        self.welcome: list[tuple[Tensor, Part]] = []
        self.empty: list[tuple[Tensor, Part]] = []
        self.lost: list[ChoiceKey] = []
        self.poisoned: Tensor | None = None
        self.first: Tensor | None = None
        self.unknown = False
        for part in parts:
            for tensor in operands_in(part.value):
                if tensor.device == POISON:
                    self.poisoned = self.poisoned or tensor
                else:
                    self._take(tensor, part)

    def _take(self, tensor: Tensor, part: Part) -> None:
        demand = part.demand
        if self.first is None:
            self.first = tensor
        if tensor.sides is not None and demand in ("combine", "strict") and _holds_several(part.value):
            self.strict += [(side, part) for side in tensor.sides if _is_strict(side, part)]
        if tensor.behind is not None and tensor.device is None:
            self.lost.append(tensor.behind)
        if tensor.device is None or tensor.size == 0:
            self.unknown = True  # an empty tensor is a placeholder: what is computed later takes its place
            if tensor.device is not None and demand == "strict" and isinstance(part.value, Sequence):
                self.empty.append((tensor, part))
        elif demand == "index":
            if tensor.device != "cpu":
                self.strict.append((tensor, part))
        elif demand == "combine" and tensor.device == "cpu" and tensor.rank in (0, None):
            self.welcome.append((tensor, part))
        elif demand in ("combine", "strict"):
            self.strict.append((tensor, part))


def _surely_joined(
    machine: Machine, tensor: Tensor, part: Part, others: Items[tuple[Tensor, Part]], frame: Frame
) -> bool:
    """Whether an empty tensor is surely still empty where tensors elsewhere are joined to it."""
    if all(other.device == tensor.device for other, _ in others) or not comes_surely(machine, frame):
        return False
    written, is_item = _written(tensor, part)
    if is_item:
        return False
    if isinstance(written, ir.Name):
        return not machine.run.protocol or made_in_entry(machine, tensor.origin)
    return isinstance(written, ir.Attribute) and is_untouched(machine, tensor, written, frame)


def note_lost(machine: Machine, lost: list[ChoiceKey], is_known: bool, node: ir.Node) -> None:
    """Operands met whose devices were lost behind conditions: two of these may be worth a run together."""
    if not machine.run.assume:
        if is_known:
            machine.entry.met.add(node)
        keys = lost
    elif is_known and node not in machine.entry.met:
        keys = [*machine.run.assume, *lost]
    else:
        return
    for one, other in combinations(dict.fromkeys(keys), 2):
        machine.entry.pairs[one, other] = None


def _is_strict(side: Tensor, part: Part) -> bool:
    return side.size != 0 and side.device != POISON and (part.demand == "strict" or bool(side.rank))


def _holds_several(value: Value) -> bool:
    return isinstance(value, Sequence) and (value.open or len(value.items) > 1)


def _follow_unknown(parts: Items[Part], welcome: Items[tuple[Tensor, Part]]) -> bool:
    """Whether the result is where an operand is of which nothing is known: the others may be numbers."""
    if not any(part.value.__class__ is Unknown for part in parts):
        return False
    return all(tensor.rank == 0 or is_any_content(tensor) for tensor, _ in welcome)


_EVIDENCE_ENOUGH: frozenset[CauseKind] = frozenset(
    {"factory", "attribute", "container", "layer-in-forward", "hardcoded"}
)


def clash(
    machine: Machine,
    operands: Items[tuple[Tensor, Part]],
    operation: str,
    node: ir.Node,
    frame: Frame,
    callee: str = "",
    cause: CauseKind | None = None,
    raised: str = "",
) -> None:
    """Tell that tensors of two devices met, find the root, and poison them. `raised`: the error, if it is no usual one.

    Raises:
        Crash: inside a `try`, whose handler the program goes to.
    """
    if machine.run.takes_first and all(tensor.device != "cpu" for tensor, _ in operands):
        _poison(machine, operands)  # it may be the same GPU
        return
    if machine.run.trying:
        error = raised or _error(operands, operation, callee)
        if machine.is_caught(error):
            raise Crash(machine.kind_of(error))
    place = (node, frame, tuple(machine.run.path)) if frame.loops else None
    if place in machine.run.clashed:  # raised here in an earlier round already: no later one is reached
        _poison(machine, operands)
        return
    on_cpu = [pair for pair in operands if pair[0].device == "cpu"]
    if stays_with_its_module(machine, operands):
        _poison(machine, operands)
        return
    stale = stale_ones(machine, operands)
    candidates = stale[:1] or on_cpu or [_guilty_accelerator(operands)]
    told: set[tuple[str, int, int]] = set()
    for candidate in candidates:
        (tensor, part), kind, root = _blame(machine, candidate, operands, node, frame, callee, cause)
        if root.key in told or (told and kind != "factory"):
            continue
        told.add(root.key)
        others = [other for other, _ in operands if other.device != tensor.device]
        made_here = kind == "loss" and tensor.origin is not None and tensor.origin.frame is frame
        enough = kind in _EVIDENCE_ENOUGH or made_here or _is_made_to_meet(machine, tensor)
        if all(other.assumed for other in others) and others and (not enough or is_moved_at_once(machine, node)):
            continue
        if tensor.assumed:
            continue
        _emit(machine, operands, (tensor, part), operation, node, frame, callee, kind, root, raised)
        if place is not None:
            machine.run.clashed.add(place)
        if kind == "attached":
            _poison_late(machine, tensor)
    _poison(machine, operands)


def _blame(
    machine: Machine,
    candidate: tuple[Tensor, Part],
    operands: Items[tuple[Tensor, Part]],
    node: ir.Node,
    frame: Frame,
    callee: str,
    cause: CauseKind | None,
) -> tuple[tuple[Tensor, Part], CauseKind, Site]:
    """Who is to blame for a clash in which `candidate` stands wrong, as what, and where: mostly that one, at its root.

    `cause` is what the operation itself says of it; see `clash` for the others.
    """
    tensor, part = candidate
    kind, root = trace_root(machine, tensor, node, frame)
    abroad = taken_abroad(machine, tensor, operands) if kind == "module-input" else None
    if abroad is not None and abroad[0].origin is not None:
        (tensor, part), kind, root = abroad, "mixed", abroad[0].origin.site
    if cause is not None and kind in ("mixed", "module-input", "factory"):
        kind = cause
        root = machine.site(node, frame) if cause == "index" else root
    held = part.name or any(p.name and t.device != tensor.device for t, p in operands)
    own = callee.endswith(".forward") and bool(held)
    named = _named_here(machine, tensor, operands) if kind in ("mixed", "module-input") else None
    if named is not None:
        kind, root = "hardcoded", named
    elif kind == "mixed" and own:
        kind = "module-input"
    elif kind == "mixed":
        root = _named_despite(tensor, operands, frame, root) or root
        root = machine.site(node, frame) if is_handed_around(machine, operands, frame, root) else root
    return (tensor, part), kind, root


def _is_made_to_meet(machine: Machine, tensor: Tensor) -> bool:
    """Whether what an entry by protocol runs has made a tensor on the host, and has handed it on to where it meets
    others."""
    origin = tensor.origin
    if origin is None or origin.kind not in ("factory", "host") or origin.first() in machine.run.sent:
        return False
    return made_in_entry(machine, origin)


def _poison(machine: Machine, operands: Items[tuple[Tensor, Part]]) -> None:
    """Say no more of these tensors, nor of those that they are views of."""
    for tensor, _ in operands:
        found: Tensor | None = tensor
        while found is not None and found.device != POISON:
            machine.store.set(found, "device", POISON)
            found = found.base


def _poison_late(machine: Machine, tensor: Tensor) -> None:
    """Say no more of what else the module was given after that move: to move it later mends all of them."""
    moved = None if tensor.origin is None else tensor.origin.find("owner-moved")
    for other in machine.run.late.get(moved.site.key, ()) if moved is not None else ():
        if other.device != POISON:
            machine.store.set(other, "device", POISON)


def clash_in_check(
    machine: Machine,
    operands: Items[tuple[Tensor, Part]],
    known: Items[tuple[Tensor, Part]],
    check: ir.Node,
    node: ir.Node,
    frame: Frame,
    raised: str,
) -> None:
    """Tell that a check of the program's own refuses what stands on two devices; `known` are the tensors among them.

    `node` raises `raised` because of `check`.
    """
    stale = stale_ones(machine, known)
    on_cpu = [pair for pair in known if pair[0].device == "cpu"]
    guilty = (stale or on_cpu or [_guilty_accelerator(known)])[0]
    kind, root = trace_root(machine, guilty[0], check, frame, is_check=True)
    operation = "assert" if isinstance(node, ir.Assert) else "raise"
    _emit(machine, operands, guilty, operation, node, frame, "", kind, root, raised, is_check=True)


def _guilty_accelerator(operands: Items[tuple[Tensor, Part]]) -> tuple[Tensor, Part]:
    """Of tensors on two accelerators: the one that its module left behind, the one placed by name, else the last."""
    for pair in operands:
        if pair[0].origin is not None and pair[0].origin.kind in ("left-behind", "unregistered"):
            return pair
    for pair in reversed(operands):
        origin = pair[0].origin
        if origin is not None and origin.kind in ("placed", "moved") and not pair[0].assumed:
            return pair
    return operands[-1]


def _named_here(machine: Machine, tensor: Tensor, operands: Items[tuple[Tensor, Part]]) -> Site | None:
    """Where a function puts a tensor on an accelerator that it names itself, while the others came from elsewhere.

    `.cuda()` and `"cuda"` mean the current device, `"cuda:0"` the first: the others may have been put on any.
    """
    origin = tensor.origin
    if origin is None or origin.kind not in ("placed", "moved") or origin.frame is None or tensor.device == "cpu":
        return None
    if origin.frame.function is None or not _names_cuda(origin.node):
        return None
    for other, _ in operands:
        if other.device == tensor.device:
            continue
        if other.device == "cpu" or (not other.assumed and other.origin is None):
            return None
        if other.origin is not None and other.origin.frame is origin.frame and not other.assumed:
            return None
    return origin.site


def _named_despite(tensor: Tensor, operands: Items[tuple[Tensor, Part]], frame: Frame, root: Site) -> Site | None:
    """Where a function of another file than `root` names CUDA for what meets a tensor that its callers have placed.

    Each caller may choose a device; to let each of them choose CUDA is no mend.
    """
    placed = None if tensor.origin is None else tensor.origin.find("moved", "placed")
    if root.path == frame.namespace.path or placed is None or placed.frame is frame or _names_cpu(placed.node):
        return None
    others = [other.origin for other, _ in operands if other.device != tensor.device]
    for origin in others:
        if origin is None or origin.kind not in ("moved", "placed") or origin.frame is not frame:
            return None
        if not _names_cuda(origin.node):
            return None
    return others[0].site if others and others[0] is not None else None


def _names_cpu(node: ir.Node | None) -> bool:
    """Whether a call says itself that it means the CPU."""
    if not isinstance(node, ir.Call):
        return False
    if isinstance(node.function, ir.Attribute) and node.function.name == "cpu":
        return True
    written = walk([*node.args, *(value for _, value in node.keywords)])
    return any(isinstance(part, ir.Const) and part.value == "cpu" for part in written)


def _names_cuda(node: ir.Node | None) -> bool:
    """Whether a call says itself that it means the first or the current accelerator, and has no handle for it."""
    if not isinstance(node, ir.Call):
        return False
    devices = [value for keyword, value in node.keywords if keyword == "device"]
    if isinstance(node.function, ir.Attribute) and node.function.name == "cuda":
        devices += node.args[:1]
        if not devices:
            return True
    if any(isinstance(device, ir.Const) and device.value == 0 for device in devices):
        return True
    written = walk([*node.args, *(value for _, value in node.keywords)])
    return any(isinstance(part, ir.Const) and part.value in ("cuda", "cuda:0") for part in written)


def _emit(
    machine: Machine,
    operands: Items[tuple[Tensor, Part]],
    guilty: tuple[Tensor, Part],
    operation: str,
    node: ir.Node,
    frame: Frame,
    callee: str,
    kind: CauseKind,
    root: Site,
    raised: str = "",
    is_check: bool = False,
) -> None:
    if MixedDevices not in machine.wanted:
        return
    site = machine.site(node, frame)
    described: list[Operand] = []
    seen: set[int] = set()
    position = 0
    for tensor, part in operands:
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if tensor is guilty[0]:
            position = len(described)
        described.append(operand(machine, tensor, part, site, frame))
    machine.emit(
        MixedDevices,
        site,
        root,
        error=raised or _error(operands, operation, callee),
        checked=is_check,
        operation=operation,
        operands=tuple(described),
        guilty=position,
        cause=kind,
        by_protocol=machine.run.protocol,
        unseen=machine.run.unseen and _is_presumed(machine, described),
        unmoved=unmoved_owner(machine, guilty[0]) if kind == "module-input" and not machine.run.protocol else None,
        declined=gpu_is_declined(machine),
    )


def _is_presumed(machine: Machine, operands: list[Operand]) -> bool:
    """Whether what is on a GPU is there by protocol alone, or nobody knows why: the code doesn't put it there."""
    return any(
        not part.marks or any(mark.kind == "input" or mark.site.key in machine.run.presumed for mark in part.marks)
        for part in operands
        if part.device != "cpu"
    )


def _error(operands: Items[tuple[Tensor, Part]], operation: str, callee: str) -> str:
    """What torch raises when these meet."""
    if operation in ("index", "metric"):
        return errors.message(operation, device=operands[0][0].device)
    given = [(part.parameter or part.name or "self", tensor.device or "") for tensor, part in operands]
    ranks = [tensor.rank for tensor, _ in operands]
    return errors.message("mixed", operation=callee or operation, operands=given, ranks=ranks)


def operand(machine: Machine, tensor: Tensor, part: Part | None, site: Site, frame: Frame) -> Operand:
    """Describe a tensor for an event."""
    node, is_item = (None, False) if part is None else _written(tensor, part)
    where = site if node is None else machine.site(node, frame)
    text = part.name if part is not None and part.name else source_text(machine, where)
    text = f"an item of `{text}`" if is_item else text
    by_index = tensor.origin is not None and _names_index(tensor.origin.node)
    return Operand(text, tensor.device or "", where, marks(tensor.origin), by_index)


def _names_index(node: ir.Node | None) -> bool:
    """Whether a call says which GPU: `"cuda:0"`, `.cuda(0)`; `xs[0].device` is of a tensor that is anywhere."""
    if not isinstance(node, ir.Call):
        return False
    given = [value for name, value in node.keywords if name == "device"]
    if isinstance(node.function, ir.Attribute) and node.function.name in ("cuda", "to"):
        given += node.args[:1]
    named = [part for part in given if not (isinstance(part, ir.Attribute) and part.name == "device")]
    constants = [part.value for part in walk(named) if isinstance(part, ir.Const)]
    return any(value.startswith("cuda:") if isinstance(value, str) else type(value) is int for value in constants)


def _written(tensor: Tensor, part: Part) -> tuple[ir.Node | None, bool]:
    """The expression that a tensor was written as; or the container's, and that the tensor is but an item of it."""
    node, value = part.node, part.value
    while isinstance(value, Sequence) and node is not None:
        if not isinstance(node, ir.Display) or len(node.items) != len(value.items):
            return node, not part.name
        index = next((at for at, item in enumerate(value.items) if _holds(item, tensor)), None)
        if index is None or any(isinstance(item, ir.Starred) for item in node.items):
            return node, not part.name
        node, value = node.items[index], value.items[index]
    is_item = isinstance(value, Mapping) and loaded_tensor(value) is not tensor
    return node, is_item and node is not None and not part.name


def _holds(value: Value, tensor: Tensor) -> bool:
    return any(found is tensor for found in operands_in(value))
