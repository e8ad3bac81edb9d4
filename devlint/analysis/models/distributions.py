"""`torch.distributions`: objects that hold their parameters, and meet with what they are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import assign_attribute, call_value
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.values import (
    POISON,
    SCALAR,
    SOME_RANK,
    UNKNOWN,
    Bound,
    Const,
    External,
    Instance,
    Method,
    Scalar,
    Sequence,
    Tensor,
    Value,
    constant,
)
from devlint.analysis.pytorch.devices import default_device
from devlint.analysis.pytorch.meeting import Part, meet
from devlint.analysis.pytorch.ranks import broadcast_rank, one_more
from devlint.analysis.pytorch.results import build, derived
from devlint.semantics import libraries, table
from devlint.semantics.table import Row

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

FAMILY: Final = "torch.distributions."
_DISTRIBUTION: Final = "torch.distributions.Distribution"
_ABSTRACT: Final = frozenset({"Distribution", "ExponentialFamily"})
"""The bases of the program's own classes, which know of no parameters."""
ROW: Final = "distribution"
"""Under this key of its state, an instance keeps the row of the class of distributions that made its parameters."""

_ATTRIBUTES: Final = {"base_distribution": "base_dist"}
"""What a distribution calls what it is given, where that is not the parameter's name."""
_BASES: Final = {
    "HalfNormal": "Normal",
    "HalfCauchy": "Cauchy",
    "LogNormal": "Normal",
    "LogisticNormal": "Normal",
    "InverseGamma": "Gamma",
}
"""Distributions that hand their parameters on to another, and only read them there."""
_COMPUTING: Final = frozenset(
    {
        "Beta",
        "Categorical",
        "Chi2",
        "FisherSnedecor",
        "Kumaraswamy",
        "LowRankMultivariateNormal",
        "Multinomial",
        "MultivariateNormal",
        "OneHotCategorical",
        "OneHotCategoricalStraightThrough",
        "RelaxedOneHotCategorical",
        "Wishart",
    }
)
"""Distributions that compute their own tensors of what they are given, or keep views of it. The others keep it, if it
has the right shape: a parameter of a module there still moves with its module."""
_LATE: Final = frozenset({"Cauchy", "Gamma", "Laplace", "MixtureSameFamily", "Normal"})
"""Distributions that keep what they are given as it is: it meets when they are used."""
_EACH_ITS_OWN: Final = frozenset(
    "Bernoulli Beta Binomial Cauchy Chi2 ContinuousBernoulli Exponential FisherSnedecor Gamma Geometric Gumbel "
    "HalfCauchy HalfNormal InverseGamma Kumaraswamy Laplace LogNormal NegativeBinomial Normal Pareto Poisson StudentT "
    "Uniform VonMises Weibull".split()
)
"""Distributions of one number each: what they say of numbers has the rank of these, or of their own parameters."""
_SUMMED: Final = "reinterpreted_batch_ndims"
_OTHER_SHAPE: Final = frozenset({"Categorical", "MixtureSameFamily", "LKJCholesky", "Wishart"})
"""Distributions whose samples have not the rank of their parameters."""


def row_of(path: str) -> Row | None:
    """Return the row of a class of distributions or transforms."""
    row = table.lookup(libraries.canonical(path)) if path.startswith(FAMILY) else None
    return row if row is not None and row.effect == "instance" else None


def _names(row: Row) -> list[str]:
    """The parameters that must be somewhere."""
    return list(dict.fromkeys((*row.concerned, *(name for name, _ in row.demands))))


def _short(row: Row) -> str:
    return row.name.rpartition(".")[2]


# -- building


def initialise(machine: Machine, instance: Instance, path: str, call: Call) -> bool:
    """What `__init__` of a class of distributions does to an instance of a user's class; False where it is none."""
    row = row_of(path)
    if row is None:
        return False
    construct(machine, instance, row, table.bind(row, call.positional, call.keywords), call)
    return True


def construct(machine: Machine, made: Instance, row: Row, bound: dict[str, Any], call: Call) -> Value:
    """Build a distribution: its parameters must be on one device."""
    demands = dict(row.demands)
    parts: list[Part] = []
    for name in _names(row):
        value = bound.get(name)
        for inner in held(value) if isinstance(value, Instance) else [value] if isinstance(value, Value) else []:
            parts.append(Part(inner, demands.get(name, "strict"), None, name))
    if _short(row) in _LATE and _stand_apart(parts):
        main, clashed = None, False
    else:
        main, clashed = meet(machine, parts, _short(row), call.node, call.frame)
    if main is None and not clashed and parts and all(_is_plain_number(part.value) for part in parts):
        main = _number(machine, _short(row), call)
    machine.store.put(made.state, ROW, row)
    for name, value in _parameters(row, bound, Tensor(POISON) if clashed else main).items():
        if isinstance(made.cls, External):
            made.fields[name] = value
        else:
            assign_attribute(machine, made, name, value, call.node, call.frame)
    return made


def _stand_apart(parts: list[Part]) -> bool:
    """Whether parameters are known to be on several devices."""
    places = {part.value.device for part in parts if isinstance(part.value, Tensor)}
    return len(places) > 1 and None not in places and POISON not in places


def _is_plain_number(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, (int, float))
    return isinstance(value, Scalar) and value.kind == "number"


def _number(machine: Machine, operation: str, call: Call) -> Tensor:
    """What becomes of numbers where no parameter is a tensor: `torch.tensor(0.0)` (torch/distributions/utils.py,
    broadcast_all)."""
    device = default_device(machine, call.node, call.frame, operation)
    return Tensor(device, 0, machine.origin("factory", call.node, call.frame, device, operation))


def _parameters(row: Row, bound: dict[str, Any], main: Tensor | None) -> dict[str, Value]:
    """What a distribution keeps of its arguments: tensors of its own, and other distributions as they are."""
    concerned = [name for name in _names(row) if (name, "any") not in row.demands]
    given = {p.name: bound[p.name] for p in row.parameters if isinstance(bound.get(p.name), Value)}
    rank = broadcast_rank([value for name, value in given.items() if name in concerned])
    kept: dict[str, Value] = {}
    for name, value in given.items():
        if isinstance(value, (Instance, Sequence)):
            kept[_ATTRIBUTES.get(name, name)] = value
        elif main is not None and name in concerned and not _is_none(value):
            own = isinstance(value, Tensor) and value.device == main.device
            kept[name] = _as_kept(row, value if isinstance(value, Tensor) and own else main, rank, own)
        elif isinstance(value, Tensor):
            kept[name] = _as_kept(row, value, value.rank, True)
        elif name == _SUMMED:
            kept[name] = value
    base = _BASES.get(_short(row))
    if base is None or not kept:
        return kept
    return {"base_dist": _base(base, kept)}


def _as_kept(row: Row, source: Tensor, rank: int | None, is_given: bool) -> Tensor:
    """A parameter as a distribution holds it."""
    if is_given and _short(row) not in _COMPUTING and (source.is_parameter or source.rank == rank):
        return source
    return _copy(source, rank)


def _copy(source: Tensor, rank: int | None) -> Tensor:
    """A tensor made of what was given."""
    made = derived(source, rank)
    made.is_parameter = False
    return made


def _base(name: str, kept: dict[str, Value]) -> Instance:
    """The distribution inside one that only transforms what it samples."""
    path = FAMILY + name
    row = table.lookup(path)
    assert row is not None
    made = Instance(External(path))
    made.state[ROW] = row
    first = next(iter(kept.values()))
    if isinstance(first, Tensor):
        made.fields = {part: kept.get(part) or _copy(first, first.rank) for part in _names(row)}
    return made


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


# -- what it holds


def held(value: Instance, depth: int = 4) -> list[Tensor]:
    """The tensors with which a distribution computes, as they are now; one on no known device where some are not."""
    row = value.state.get(ROW)
    if row is None or not depth:
        return []
    names = ["base_dist"] if _short(row) in _BASES else [_ATTRIBUTES.get(name, name) for name in _names(row)]
    found: list[Tensor] = []
    for name in names:
        part = value.fields.get(name)
        if isinstance(part, Tensor):
            found.append(part)
        elif isinstance(part, Instance):
            found += held(part, depth - 1) or [Tensor(None)]
        elif part is not None and not isinstance(part, (Const, Scalar)):
            found.append(Tensor(None))
    transforms = value.fields.get("transforms")
    return found if transforms is None or not found else found + _of_transforms(transforms, depth - 1)


def _of_transforms(value: Value, depth: int) -> list[Tensor]:
    """The tensors with which a chain of transforms computes."""
    if isinstance(value, Sequence) and not value.open:
        return [tensor for part in value.items for tensor in _of_transforms(part, depth)]
    if isinstance(value, Instance) and isinstance(value.cls, External):
        return held(value, depth) if ROW in value.state else [Tensor(None)]
    plain = isinstance(value, Instance) and all(isinstance(field, (Const, Scalar)) for field in value.fields.values())
    return [] if plain else [Tensor(None)]


def _agreed(machine: Machine, value: Instance, operation: str, node: ir.Node, frame: Frame) -> Tensor | None:
    """The tensor whose device a distribution's own tensors share; what was moved apart by then clashes here."""
    tensors = held(value)
    if not tensors or any(tensor.device is None for tensor in tensors):
        return None
    if all(tensor.device == tensors[0].device for tensor in tensors):
        return tensors[0]
    mixture = value.fields.get("mixture_distribution") if operation == "sample" else None
    chosen = held(mixture) if isinstance(mixture, Instance) else []
    parts = [
        Part(tensor, "combine", None, "the distribution's parameters", "index" if tensor in chosen else "input")
        for tensor in tensors
    ]
    main, clashed = meet(machine, parts, operation, node, frame, "torch.gather" if chosen else "")
    return Tensor(POISON) if clashed else main


# -- attributes and methods


def read(machine: Machine, value: Instance, name: str, node: ir.Node, frame: Frame) -> Value | None:
    """An attribute of a distribution that is no field: a parameter in another form, a property, a method."""
    row: Row = value.state[ROW]
    if name != "validate_args" and any(parameter.name == name for parameter in row.parameters):
        base = value.fields.get("base_dist")
        if _short(row) in _BASES:
            return base.fields.get(name) if isinstance(base, Instance) else None
        devices = {tensor.device for tensor in held(value)}
        return derived(held(value)[0], None) if len(devices) == 1 else None
    if name in ("_batch_shape", "_event_shape"):
        return _own_shape(value, name)
    found = table.lookup(f"{_DISTRIBUTION}.{name}") if row.base == _DISTRIBUTION else None
    if found is None:
        return None
    return apply(machine, value, found, Call([], {}, node, frame)) if "property" in found.flags else Method(value, name)


@models("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def divergence(machine: Machine, call: Call) -> Value:
    """`kl_divergence(p, q)`: the parameters of both meet."""
    parts = []
    for position, value in enumerate(call.positional[:2]):
        own = _agreed(machine, value, "kl_divergence", call.node, call.frame) if isinstance(value, Instance) else None
        if own is None:
            return UNKNOWN
        parts.append(Part(own, "combine", None, "pq"[position]))
    main, clashed = meet(machine, parts, "kl_divergence", call.node, call.frame)
    if clashed:
        return Tensor(POISON)
    return UNKNOWN if main is None else build("tensor", main, None)


def apply(machine: Machine, value: Instance, row: Row, call: Call) -> Value:
    """A method or property of a distribution."""
    name = _short(row)
    if row.effect == "metadata":
        return _extended_shape(value, call) if name == "_extended_shape" else _own_shape(value, name)
    sampled = _sampled_by_class(machine, value, name, call)
    if sampled is not None:
        return sampled
    if name == "expand":
        return value if value.module is None else UNKNOWN
    own = _agreed(machine, value, name, call.node, call.frame)
    if own is None:
        return UNKNOWN
    asked = call.argument(0, "value") if row.effect == "combine" else None
    if asked is not None:
        main, clashed = meet(
            machine,
            [Part(own, "combine", None, "the distribution's parameters"), Part(asked, "combine", None)],
            name,
            call.node,
            call.frame,
            _written_out(value, name),
        )
        if clashed:
            return Tensor(POISON)
        rank = _rank_of_density(value, asked) if name == "log_prob" else None
        return SCALAR if main is None else build("tensor", main, rank)
    return build("tensor", own, _sample_rank(value, own, call))


def _written_out(value: Instance, name: str) -> str:
    """A method's name with the class that it is called on: what `Categorical.log_prob` raises is its own."""
    row = value.state.get(ROW)
    return f"{row.name}.{name}" if isinstance(row, Row) else name


def _sampled_by_class(machine: Machine, value: Instance, name: str, call: Call) -> Value | None:
    """`sample` of a class of the program's own that only says how to sample with a gradient: `rsample` is called."""
    found = find(value.cls, "rsample") if name == "sample" else None
    return None if found is None else call_value(machine, Bound(found[0], value), call)


def _own_shape(value: Instance, name: str) -> Sequence:
    """The shape of a batch or an event: known only of what a class of the program's own hands on."""
    field = value.fields.get(name.lstrip("_"))
    if isinstance(field, Sequence):
        return field
    made = Sequence("tuple", [], _short(value.state[ROW]) not in _ABSTRACT)
    made.is_shape = True
    return made


def _extended_shape(value: Instance, call: Call) -> Sequence:
    """The shape of a sample: what is asked for, then that of the batch and that of an event."""
    asked = call.argument(0, "sample_shape")
    first = asked if isinstance(asked, Sequence) else Sequence("tuple", [], asked is not None)
    made = Sequence("tuple", list(first.items), first.open)
    for part in (_own_shape(value, "batch_shape"), _own_shape(value, "event_shape")):
        if not made.open:
            made = Sequence("tuple", [*made.items, *part.items], part.open)
    made.is_shape = True
    return made


def _sample_rank(value: Instance, own: Tensor, call: Call) -> int | None:
    """The rank of a sample: that of the parameters, and the dimensions that are asked for."""
    shape = call.argument(0, "sample_shape")
    rank = None if _short(value.state[ROW]) in _OTHER_SHAPE else own.rank
    if shape is None:
        return rank
    if not isinstance(shape, Sequence) or shape.open:
        return SOME_RANK
    for _ in shape.items:
        rank = one_more(rank)
    return rank


def _rank_of_density(value: Instance, asked: Value) -> int | None:
    """The rank of `log_prob(asked)`: `Independent` sums over as many dimensions as it says."""
    name = _short(value.state[ROW])
    if name in _EACH_ITS_OWN:
        return broadcast_rank([*held(value), asked])
    base, summed = value.fields.get("base_dist"), constant(value.fields.get(_SUMMED))
    if name == "Independent" and isinstance(base, Instance) and ROW in base.state and isinstance(summed, int):
        rank = _rank_of_density(base, asked)
        return None if rank is None or rank >= SOME_RANK else max(rank - summed, 0)
    return None
