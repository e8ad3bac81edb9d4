"""How a row of the tables is applied to a call: demands on the arguments, then creation or a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.dispatch import Call
from devlint.analysis.domain.dtypes import dtype_of
from devlint.analysis.domain.values import (
    BOOL,
    NUMBER,
    POISON,
    SCALAR,
    SOME_RANK,
    UNKNOWN,
    Array,
    Const,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)
from devlint.analysis.events import CpuOnlyArgument, GeneratorDevice
from devlint.analysis.flow.narrowing import is_for_arrays
from devlint.analysis.pytorch.array_ranks import nesting
from devlint.analysis.pytorch.devices import asked_of, default_device, mark_used, resolve, touch, use
from devlint.analysis.pytorch.host import let_arrive, pin, read_pending, read_through, synchronize, to_host
from devlint.analysis.pytorch.indexing import clash_index
from devlint.analysis.pytorch.leaves import NoGradient, lacks_argument
from devlint.analysis.pytorch.meeting import Part, meet, operand, operands_in, tensors_in
from devlint.analysis.pytorch.ranks import created_rank
from devlint.analysis.pytorch.results import is_any_content, plain_result, row_named, row_result
from devlint.analysis.signals import Crash
from devlint.semantics import errors, table
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row


def apply_row(machine: Machine, row: Row, call: Call, receiver: Value | None = None) -> Value:
    """Apply what the tables say of a callable to a call of it."""
    bound: dict[str, Any] = table.bind(row, call.positional, call.keywords, receiver)
    effect = row.effect
    node, frame = call.node, call.frame
    if effect in ("keep", "combine", "strict", "index", "follow", "cross", "cpu-argument", "host", "numpy", "metadata"):
        first = bound.get(row.concerned[0]) if row.concerned else None
        if first.__class__ is NoGradient:
            lacks_argument(machine, first, row.name, row.concerned[0], call)
        main, clashed = _meet_row(machine, row, call, bound)
        if clashed:
            return Tensor(POISON) if row.result not in ("none", "scalar", "bool") else SCALAR
        if effect == "numpy":
            given = _first(row, bound)
            where = argument_node(call, row, (row.concerned or ("self",))[0]) if isinstance(given, Tensor) else None
            for tensor in tensors_in(given, into_dicts=False):
                to_host(machine, tensor, row.name, node, frame, "numpy", where)
                read_pending(machine, tensor, row.name, node, frame)
            first = _first(row, bound)
            inner = first.rank if isinstance(first, (Tensor, Array)) else nesting(first)
            return Array(inner or (SOME_RANK if isinstance(first, Sequence) else None))
        if effect in ("host", "metadata"):
            if effect == "host":
                for tensor in tensors_in(_first(row, bound)):
                    synchronize(machine, tensor, call, f".{row.name.rpartition('.')[2]}()")
                    read_pending(machine, tensor, row.name, node, frame)
            return plain_result(row, bound)
        if main is None and "creates" in row.flags and _are_numbers(row, bound):
            return _create(machine, row, call, bound)
        return row_result(machine, row, main, bound, call)
    if effect in ("create", "like"):
        return _create(machine, row, call, bound)
    if effect == "move" and receiver is None:
        return _move_given(machine, row, call, bound)
    if effect == "transparent":
        value = _first(row, bound)
        return value if value is not None else UNKNOWN
    if effect in ("query",):
        option = asked_of(machine, bound.get("device"))
        device = use(machine, "cuda", None, node, frame, row.name, kind="query", asked=option)
        if device == POISON or ("of-device" in row.flags and _lacks_named(machine, row, call, bound)):
            return UNKNOWN
        if "initializes-cuda" in row.flags:
            mark_used(machine, machine.site(node, frame))
        return plain_result(row, bound)
    if effect == "harmless":
        if "initializes-cuda" in row.flags:
            touch(machine, machine.site(node, frame))
        return plain_result(row, bound)
    if effect == "host-library":
        return host_library(machine, row, call, bound)
    if "synchronizes" in row.flags:
        let_arrive(machine)
    return plain_result(row, bound) if effect in ("none", "context") else UNKNOWN


def _lacks_named(machine: Machine, row: Row, call: Call, bound: dict[str, Any]) -> bool:
    """Whether a query is about a GPU, `get_device_name(1)`, that a machine with others does not have."""
    named = bound.get("device")
    return (
        isinstance(named, Value)
        and machine.device_count > 0
        and resolve(machine, named, call.node, call.frame, row.name) == POISON
    )


_VIEWS = frozenset(
    f"numpy.{name}"
    for name in "asarray asanyarray ascontiguousarray atleast_1d atleast_2d broadcast_to expand_dims moveaxis ravel "
    "reshape shape size squeeze swapaxes transpose".split()
)


def host_library(machine: Machine, row: Row, call: Call, bound: dict[str, Any]) -> Value:
    """A function of a library that works on host memory: tensors given to it are converted through `__array__`."""
    kind = "numpy" if row.name in ("numpy.asarray", "numpy.array") else "library"
    given = any(isinstance(value, Tensor) for value in call.values())
    read_as_numbers = row.kinds.keys() - row.concerned
    named = (value for name, value in call.keywords.items() if name not in read_as_numbers)
    for position, value in enumerate([*call.positional, *named]):
        if row.name not in _VIEWS:
            read_through(machine, value, row.name, call.node, call.frame)
        if "delegates" in row.flags and isinstance(value, Tensor):
            if "refuses" in row.flags and not value.assumed and not is_any_content(value):
                raise Crash("TypeError")
            continue
        for tensor in _converted(row, value):
            known = tensor is value and position < len(row.parameters)
            where = argument_node(call, row, row.parameters[position].name) if known else None
            to_host(machine, tensor, row.name, call.node, call.frame, kind, where)
            read_pending(machine, tensor, row.name, call.node, call.frame)
    if given or may_be_delegated(row, call):
        return UNKNOWN  # numpy's functions give tensors for tensors where they can
    if row.result == "array" and "delegates" in row.flags and len(call.values()) == 1:
        return NUMBER  # a mean or sum over everything
    return plain_result(row, bound)


def may_be_delegated(row: Row, call: Call) -> bool:
    """Whether a function of numpy that gives a tensor for a tensor is given what is not known."""
    gives_alike = row.rank == "broadcast" or "wraps" in row.flags
    return gives_alike and any(value.__class__ is Unknown for value in call.values())


def _converted(row: Row, value: Value) -> list[Tensor]:
    """The tensors in an argument of which arrays are made.

    pandas converts a tensor, or those that are the values of a dict: what lists hold stays as it is. numpy's files hold
    a dict as one object, pickled with the tensors in it, also where it is an item of a list.
    """
    if "direct-only" in row.flags:
        parts = list(value.items.values()) if isinstance(value, Mapping) else [value]
        return [part for part in parts if isinstance(part, Tensor)]
    return tensors_in(value, 2, into_dicts="whole-dicts" not in row.flags)


def _first(row: Row, bound: dict[str, Any]) -> Value:
    for name in row.concerned or ("self",):
        value = bound.get(name)
        if isinstance(value, list):
            return Sequence("tuple", value)
        if isinstance(value, Value):
            return value
    for value in bound.values():
        if isinstance(value, Value):
            return value
    return UNKNOWN


def argument_node(call: Call, row: Row | None, name: str) -> ir.Node | None:
    """The expression that an argument was written as."""
    node = call.node
    if not isinstance(node, ir.Call):
        return None
    if name == "self":
        return node.function.value if isinstance(node.function, ir.Attribute) else None
    for keyword, expression in node.keywords:
        if keyword == name:
            return expression
    if row is not None:
        for index, parameter in enumerate(row.parameters):
            if parameter.name == name and index < len(node.args):
                expression = node.args[index]
                return None if isinstance(expression, ir.Starred) else expression
    return None


def _move_given(machine: Machine, row: Row, call: Call, bound: dict[str, Any]) -> Value:
    """A function that moves what it is given: modules in place, of anything else it gives a moved copy."""
    from devlint.analysis.models.library import moved_value

    given = bound.get(row.concerned[0]) if row.concerned else None
    target = bound.get("device")
    if not isinstance(given, Value):
        return UNKNOWN
    named = isinstance(target, Value) and not isinstance(target, Unknown) and constant(target) is not None
    device = resolve(machine, target, call.node, call.frame, row.name) if named else None
    return moved_value(machine, given, device, call)


# -- demands


def _meet_row(machine: Machine, row: Row, call: Call, bound: dict[str, Any]) -> tuple[Tensor | None, bool]:
    node, frame = call.node, call.frame
    parts: list[Part] = []
    numbers = "numbers" in row.flags and any(_is_number(bound.get(name)) for name in row.concerned)
    for name, demand in row.demands:
        value = bound.get(name)
        if value is None or (numbers and isinstance(value, Tensor) and value.rank == 0 and not value.requires_grad):
            continue
        if isinstance(value, list):
            if demand not in ("cpu", "generator", "any"):
                parts += _variadic(call, row, name, demand, value)
                continue
            value = Sequence("tuple", value)
        where = argument_node(call, row, name)
        if demand == "cpu":
            demand_cpu(machine, row, name, value, where, call)
        elif demand == "generator":
            continue
        elif demand == "single":
            if not isinstance(value, Tensor) or value.rank not in (0, None):
                parts.append(Part(value, "strict", where, parameter=name))
        elif demand != "any":
            parts.append(Part(value, demand, where, parameter=name))
    operation = row.short
    if row.effect == "index":
        clashed = _meet_index(machine, parts, node, frame)
        if clashed:
            return None, True
    if row.effect in ("combine", "strict", "index", "keep", "cross", "follow", "cpu-argument"):
        main, clashed = meet(machine, [p for p in parts if p.demand != "index"], operation, node, frame, row.name)
        if clashed:
            return main, True
        if row.effect in ("combine", "strict"):
            for part in parts:
                for tensor in tensors_in(part.value):
                    if tensor.pending is not None and tensor.device == "cpu":
                        read_pending(machine, tensor, operation, node, frame)
    main = None
    unknown = any(_may_be_tensor(part.value) for part in parts if part.demand == "combine")
    for name in row.concerned:
        value = bound.get(name)
        if value is None:
            continue
        found = operands_in(Sequence("tuple", value) if isinstance(value, list) else value)
        if any(t.device == POISON for t in found):
            return None, True
        for tensor in found:
            if main is None or _yields(main, tensor):
                main = tensor
        if main is not None and row.effect in ("keep", "follow", "cross", "index"):
            break
        if isinstance(value, Unknown) and main is None and row.effect in ("keep", "follow", "index"):
            return Tensor(None), False
    if main is not None and unknown and (main.rank == 0 or is_any_content(main)):
        main = Tensor(None)  # the result is where what is not known may be
    _demand_generator(machine, row, call, bound, main)
    return main, False


def _is_number(value: Value | None) -> bool:
    return type(constant(value)) in (int, float) or (isinstance(value, Scalar) and value.kind == "number")


def _are_numbers(row: Row, bound: dict[str, Any]) -> bool:
    """Whether no tensor is among the arguments concerned, and nothing that may be one."""
    return all(bound.get(name) is None or _is_number(bound[name]) for name in row.concerned)


def _may_be_tensor(value: Value) -> bool:
    """Whether an operand of which little is known may be a tensor: what was compared may have been one, too."""
    return value.__class__ is Unknown or value is BOOL


def _yields(main: Tensor, other: Tensor) -> bool:
    """Whether the result is rather where the other one is: the first is a number, empty, or nobody knows where."""
    if main.size == 0 and other.size != 0:
        return True
    if main.device is None:
        return other.device is not None and not (other.device == "cpu" and other.rank in (0, None))
    return main.device == "cpu" and main.rank == 0


def _variadic(call: Call, row: Row, name: str, demand: str, values: list[Value]) -> list[Part]:
    """The parts that the arguments of `*name` are, each with the expression that it was written as."""
    nodes: list[ir.Expr] = []
    if isinstance(call.node, ir.Call):
        at = next(index for index, parameter in enumerate(row.parameters) if parameter.name == name)
        nodes = call.node.args[at:]
    known = len(nodes) == len(values) and not any(isinstance(node, ir.Starred) for node in nodes)
    return [Part(value, demand, nodes[index] if known else None, parameter=name) for index, value in enumerate(values)]


def _meet_index(machine: Machine, parts: list[Part], node: ir.Node, frame: Frame) -> bool:
    """`index_select`-like rows: of the index demand, a CUDA index into a CPU tensor is refused."""
    first = next((p for p in parts if p.demand != "index"), None)
    if first is None or not isinstance(first.value, Tensor) or first.value.device in (None, POISON):
        return False
    for part in parts:
        if part.demand == "index":
            for used in tensors_in(part.value):
                if used.device not in (None, "cpu", POISON, first.value.device) and used.rank != 0:
                    clash_index(machine, first.value, used, node, frame)
                    return True
    return False


def demand_cpu(machine: Machine, row: Row, name: str, value: Value, where: ir.Node | None, call: Call) -> None:
    """An argument that must be on the CPU if it is a tensor; numbers in a list are brought there by torch itself."""
    machine.run.elsewhere = True
    if isinstance(value, Tensor):
        refuse_accelerator(machine, value, row.name.rpartition(".")[2], name, where, call)


def refuse_as_content(machine: Machine, tensor: Tensor, operation: str, call: Call) -> None:
    """A tensor of the CPU that is made of another by a legacy constructor (`torch.LongTensor(x)`, `y.new(x)`)."""
    written = call.node.args if isinstance(call.node, ir.Call) else []
    where = written[0] if written and not isinstance(written[0], ir.Starred) else None
    if not is_for_arrays(machine, tensor, call.node, call.frame):
        refuse_accelerator(machine, tensor, operation, "other", where, call)


def refuse_accelerator(
    machine: Machine, tensor: Tensor, operation: str, name: str, where: ir.Node | None, call: Call
) -> None:
    """Tell that an argument is on an accelerator, if it is, where only the CPU is welcome."""
    if tensor.device in (None, "cpu", POISON) or tensor.assumed:
        return
    if machine.run.trying:
        raise Crash
    site = machine.site(call.node, call.frame)
    machine.emit(
        CpuOnlyArgument,
        site,
        error=errors.message("cpu-argument", operation=operation, argument=name, device=tensor.device),
        operation=operation,
        argument=name,
        operand=operand(machine, tensor, Part(tensor, "", where), site, call.frame),
    )
    machine.store.set(tensor, "device", POISON)


def _demand_generator(machine: Machine, row: Row, call: Call, bound: dict[str, Any], main: Tensor | None) -> None:
    generator = bound.get("generator")
    if main is None or main.device in (None, POISON) or main.assumed:
        return
    check_generator(machine, generator, str(main.device), row.short, call)


def check_generator(
    machine: Machine, generator: Value | None, device: str, operation: str, call: Call, root: Site | None = None
) -> bool:
    """A generator must be of the device on which the operation creates; tells whether it is. `root`: where one should
    have been given, if that is elsewhere."""
    if not isinstance(generator, Instance):
        return True
    machine.run.elsewhere = True
    has = generator.state.get("device")
    if not isinstance(has, str) or has == POISON or has.partition(":")[0] == device.partition(":")[0]:
        return True
    if machine.run.trying:
        raise Crash
    machine.emit(
        GeneratorDevice,
        machine.site(call.node, call.frame),
        root,
        error=errors.message("generator", operation=operation, expected=device, found=has),
        operation=operation,
        generator_device=has,
        expected_device=device,
    )
    return False


# -- creation


def _is_taken_for_input(value: Value) -> bool:
    """Whether a size is given by what was taken to be a tensor, an input by protocol: it is a number then."""
    return any(tensor.origin is not None and tensor.origin.find("input") for tensor in tensors_in(value))


def _create(machine: Machine, row: Row, call: Call, bound: dict[str, Any]) -> Value:
    node, frame = call.node, call.frame
    written = bound.get("out")
    if isinstance(written, Tensor):
        return written
    if isinstance(written, Value) and not is_none(written):
        return Tensor(None)
    if row.effect == "create" and any(_is_taken_for_input(value) for value in call.positional):
        return Tensor(None)
    target = bound.get("device")
    template: Tensor | None = None
    if row.effect == "like":
        name = row.concerned[0] if row.concerned else "self"
        value = bound.get(name)
        if isinstance(value, Tensor):
            template = value
        elif target is None:
            return Tensor(None)
    given = target is not None and not (isinstance(target, Const) and target.value is None)
    origin: Origin | None
    operation = row.name if row.name.count(".") == 1 else row.name.rpartition(".")[2]
    if given and isinstance(target, Value):
        device = _like_device(machine, target, call, operation)
        origin = machine.frozen(target, machine.origin("placed", node, frame, device, operation), frame)
    elif template is not None:
        device, origin = template.device, template.origin
    elif "cpu" in row.flags:
        device = "cpu"
        origin = machine.origin("host", node, frame, device, operation)
    else:
        device = default_device(machine, node, frame, operation)
        origin = machine.origin("factory", node, frame, device, operation)
    if call.named and not given and "cpu" not in row.flags:
        device = None
    if device == POISON:
        return Tensor(POISON)
    generator = None if ("generator", "any") in row.demands else bound.get("generator")
    if device is not None and not check_generator(machine, generator, device, operation, call):
        return Tensor(POISON)
    is_cut = call.open and row.rank == "size"
    made = Tensor(device, SOME_RANK if is_cut else created_rank(row, bound, template), origin)
    if template is not None and not given:
        made.assumed = template.assumed
    made.requires_grad = constant(bound.get("requires_grad")) is True
    made.dtype = dtype_of(bound.get("dtype"))
    made.size = _first_size(bound)
    if constant(bound.get("pin_memory")) is True:
        made.pinned = True
        pin(machine, made, call)
    return row_named(row, made, bound, call)


def _like_device(machine: Machine, target: Value, call: Call, operation: str) -> str | None:
    if isinstance(target, Tensor):
        return None if is_any_content(target) else target.device
    return resolve(machine, target, call.node, call.frame, operation)


def _first_size(bound: dict[str, Any]) -> int | None:
    size = bound.get("size")
    if isinstance(size, list) and size:
        first = size[0]
        if isinstance(first, Sequence) and first.items and not first.open:
            first = first.items[0]
        return first.value if isinstance(first, Const) and isinstance(first.value, int) else None
    if isinstance(size, Sequence) and size.items:
        first = size.items[0]
        return first.value if isinstance(first, Const) and isinstance(first.value, int) else None
    return None
