"""Functions that torch calls for a program: transforms of `torch.func`, `torch.autograd.functional`, exporters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value, iterate
from devlint.analysis.dispatch import Call, Model, method_models, models
from devlint.analysis.domain.values import (
    NONE,
    SOME_RANK,
    UNKNOWN,
    Bound,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Value,
    constant,
)
from devlint.analysis.models.compiling import is_known_example
from devlint.analysis.pytorch.meeting import Part, meet
from devlint.analysis.pytorch.results import derived

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_TRANSFORMED: Final = "torch.func.transformed"


def _like(value: Value, rank: int | None = -1) -> Value:
    """The same nest, each tensor a new one on its device. A rank of -1 keeps the ranks."""
    if isinstance(value, Tensor):
        return derived(value, rank)
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        return Sequence(value.kind, [_like(part, rank) for part in value.items], value.open)
    if isinstance(value, Mapping):
        rest = None if value.rest is None else _like(value.rest, rank)
        return Mapping({key: _like(part, rank) for key, part in value.items.items()}, rest, value.open)
    return value


def _called(machine: Machine, function: Value, given: Value | None, call: Call) -> Value:
    """The function called with one argument, or with those of a tuple; unknown where these are not known."""
    if given is None or not isinstance(function, (Function, Bound, Instance)):
        return UNKNOWN
    parts = given.items if isinstance(given, Sequence) and given.kind in ("tuple", "list") else [given]
    if isinstance(given, Sequence) and given.open:
        return UNKNOWN
    return call_value(machine, function, call.with_arguments(list(parts)))


# -- transforms that give a function


def _transform(form: str) -> Model:
    def made_of(machine: Machine, call: Call) -> Value | None:
        """`torch.func.grad(f)`: a function that calls `f`."""
        function = call.argument(0, "func")
        if not isinstance(function, (Function, Bound, Instance, External)):
            return UNKNOWN
        made = Instance(External(_TRANSFORMED), machine.site(call.node, call.frame))
        number = call.argument(1, "argnums")
        made.state.update(function=function, form=form, index=0 if number is None else constant(number))
        if call.open or constant(call.keywords.get("has_aux")) not in (..., False):
            made.state["form"] = ""
        return made

    return made_of


for _name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian"):
    models(f"torch.func.{_name}")(_transform(_name))
models("torch.vmap")(_transform("vmap"))


def _samples(call: Call) -> Call:
    """The arguments without the dimension over which `vmap` goes; which of them keep theirs is not looked at."""
    positional = [_sample(part) for part in call.positional]
    return call.with_arguments(positional, {name: _sample(part) for name, part in call.keywords.items()})


def _sample(value: Value) -> Value:
    """One dimension less; None where a number may be left."""
    if isinstance(value, Tensor):
        rank = value.rank
        return derived(value, rank - 1 if rank is not None and 1 < rank < SOME_RANK else None)
    return _like(value, None)


@method_models(_TRANSFORMED, "__call__")
def call_transformed(machine: Machine, value: Instance, call: Call) -> Value:
    """A call of a transformed function: the function is called, on the devices of what it gets."""
    form, function = value.state["form"], value.state["function"]
    if form == "vmap":
        return _like(call_value(machine, function, _samples(call)), SOME_RANK)
    result = call_value(machine, function, call)
    if form in ("grad", "grad_and_value"):
        index = value.state["index"]
        known = isinstance(index, int) and 0 <= index < len(call.positional)
        gradient = _like(call.positional[index]) if known else UNKNOWN
        return gradient if form == "grad" else Sequence("tuple", [gradient, result])
    return derived(result, SOME_RANK) if form and isinstance(result, Tensor) else UNKNOWN


@models("torch.func.stack_module_state")
def stack_module_state(machine: Machine, call: Call) -> Value:
    """`stack_module_state(models)`: the parameters and the buffers of all, where those of the first are."""
    given = call.argument(0, "models")
    found = None if given is None else iterate(machine, given, call.node, call.frame)
    first = found.items[0] if found is not None and found.items else None
    if not isinstance(first, Instance) or first.module is None:
        return UNKNOWN
    parts: list[Value] = []
    for kind in ("named_parameters", "named_buffers"):
        named = call_method(machine, first, kind, call.with_arguments([]))
        held = call_value(machine, External("builtins.dict"), call.with_arguments([named]))
        parts.append(_like(held, SOME_RANK))
    return Sequence("tuple", parts)


# -- nests of values


@models("torch.utils._pytree.tree_map")
def tree_map(machine: Machine, call: Call) -> Value:
    """`tree_map(f, tree)`: the same nest, of what `f` gives for each leaf."""
    function, tree = call.argument(0, "func"), call.argument(1, "tree")
    if function is None or tree is None or call.open or len(call.positional) > 2:
        return UNKNOWN
    return _mapped(machine, function, tree, call, lambda leaf: True)


@models("torch.utils._pytree.tree_map_only")
def tree_map_only(machine: Machine, call: Call) -> Value:
    """`tree_map_only(torch.Tensor, f, tree)`: only the tensors are replaced."""
    kind, function, tree = call.argument(0, ""), call.argument(1, "func"), call.argument(2, "tree")
    only_tensors = isinstance(kind, External) and kind.path == "torch.Tensor"
    if function is None or tree is None or call.open or not only_tensors:
        return UNKNOWN
    return _mapped(machine, function, tree, call, lambda leaf: isinstance(leaf, Tensor))


def _mapped(machine: Machine, function: Value, tree: Value, call: Call, is_wanted: Callable[[Value], bool]) -> Value:
    """The same nest of what the function gives for its leaves; instances may be leaves or nests."""
    if isinstance(tree, Sequence) and tree.kind in ("list", "tuple"):
        items = [_mapped(machine, function, part, call, is_wanted) for part in tree.items]
        return Sequence(tree.kind, items, tree.open)
    if isinstance(tree, Mapping):
        mapped = {key: _mapped(machine, function, part, call, is_wanted) for key, part in tree.items.items()}
        rest = None if tree.rest is None else _mapped(machine, function, tree.rest, call, is_wanted)
        return Mapping(mapped, rest, tree.open, tree.kind)
    if isinstance(tree, Instance):
        return UNKNOWN
    return call_value(machine, function, call.with_arguments([tree])) if is_wanted(tree) else tree


# -- functions that call another one at once


def _meet_directions(machine: Machine, points: Value | None, directions: Value | None, call: Call) -> None:
    """A direction goes through the same operations as the point that it belongs to."""
    if isinstance(points, Sequence) and isinstance(directions, Sequence):
        for point, direction in zip(points.items, directions.items, strict=False):
            _meet_directions(machine, point, direction, call)
    elif isinstance(points, Tensor) and isinstance(directions, Tensor):
        parts = [Part(points, "strict", name="the point"), Part(directions, "strict", name="the direction")]
        meet(machine, parts, "jvp", call.node, call.frame, "torch.mul")


def _at_once(form: str, of_inputs: bool = False, of_outputs: bool = False) -> Model:
    def called(machine: Machine, call: Call) -> Value:
        """`torch.autograd.functional.jacobian(f, inputs)`: calls `f` with the inputs."""
        inputs = call.argument(1, "inputs") or call.keywords.get("primals")
        result = _called(machine, call.argument(0, "func") or UNKNOWN, inputs, call)
        if form == "both":
            directions = call.given(2, "v") or call.keywords.get("tangents")
            _meet_directions(machine, result if of_outputs else inputs, directions, call)
        source = inputs if of_inputs else result
        known = isinstance(source, Tensor) and isinstance(inputs, Tensor)
        other = derived(source, None) if known and isinstance(source, Tensor) else UNKNOWN
        return Sequence("tuple", [result, other]) if form == "both" else other

    return called


for _name in ("jacobian", "hessian"):
    models(f"torch.autograd.functional.{_name}")(_at_once("derivative"))
for _name in ("vhp", "hvp"):
    models(f"torch.autograd.functional.{_name}")(_at_once("both", of_inputs=True))
models("torch.autograd.functional.vjp")(_at_once("both", of_inputs=True, of_outputs=True))
models("torch.autograd.functional.jvp", "torch.func.jvp")(_at_once("both"))


@models("torch.func.vjp")
def vjp(machine: Machine, call: Call) -> Value:
    """`torch.func.vjp(f, *primals)`: what `f` gives, and a function."""
    given = Sequence("tuple", call.positional[1:], call.open)
    result = _called(machine, call.argument(0, "func") or UNKNOWN, given, call)
    plain = constant(call.keywords.get("has_aux")) in (..., False)
    return Sequence("tuple", [result, UNKNOWN]) if plain else UNKNOWN


@models("torch.utils.checkpoint.checkpoint_sequential")
def checkpoint_sequential(machine: Machine, call: Call) -> Value:
    """`checkpoint_sequential(functions, segments, input)`: calls the functions in turn."""
    functions, given = call.argument(0, "functions"), call.argument(2, "input")
    found = None if functions is None else iterate(machine, functions, call.node, call.frame)
    if found is None or found.open or given is None:
        return UNKNOWN
    for function in found.items:
        given = call_value(machine, function, call.with_arguments([given]))
    return given


# -- exporters, which run their example


def _run_example(machine: Machine, model: Value | None, example: Value | None, call: Call) -> None:
    """Run the model as an exporter does; nothing where it is not known on what devices the example is."""
    if not isinstance(model, Instance) or model.module is None or example is None or call.open:
        return
    parts = list(example.items) if isinstance(example, Sequence) and example.kind in ("tuple", "list") else [example]
    if isinstance(example, Sequence) and example.open:
        return
    if all(is_known_example(part) and not isinstance(part, Mapping) for part in parts):
        call_value(machine, model, call.with_arguments(parts))


@models("torch.onnx.export")
def onnx_export(machine: Machine, call: Call) -> Value:
    """`torch.onnx.export(model, args, f)`: traces the model with the arguments."""
    if call.given(-1, "kwargs") is None:
        _run_example(machine, call.argument(0, "model"), call.argument(1, "args"), call)
    return UNKNOWN


@models("torch.export.export")
def export(machine: Machine, call: Call) -> Value:
    """`torch.export.export(module, args)`: traces the module with the arguments."""
    if call.given(2, "kwargs") is None:
        _run_example(machine, call.argument(0, "mod"), call.argument(1, "args"), call)
    return UNKNOWN


_WRITER: Final = "torch.utils.tensorboard.SummaryWriter"


@method_models(_WRITER, "add_graph")
def add_graph(machine: Machine, value: Instance, call: Call) -> Value:
    """`writer.add_graph(model, inputs)`: traces the model with the inputs."""
    _run_example(machine, call.argument(0, "model"), call.given(1, "input_to_model"), call)
    return NONE
