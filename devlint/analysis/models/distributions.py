"""`torch.distributions`: objects that hold their parameters, and meet with what they are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.classes import external_bases
from devlint.analysis.dispatch import METHODS, Call, models
from devlint.analysis.meeting import Part, meet
from devlint.analysis.results import build
from devlint.analysis.values import NONE, POISON, SCALAR, UNKNOWN, Instance, Sequence, Tensor, Value
from devlint.semantics import table

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.semantics.table import Row


def construct(machine: Machine, made: Instance, row: Row, bound: dict[str, Any], call: Call) -> Value:
    """Build a distribution: its parameters must be on one device."""
    demands = dict(row.demands)
    parts: list[Part] = []
    for name in (*row.concerned, *demands):
        value = bound.get(name)
        if isinstance(value, Value) and not any(part.name == name for part in parts):
            inner = value.state.get("parameter") if isinstance(value, Instance) else value
            if isinstance(inner, Value):
                parts.append(Part(inner, demands.get(name, "strict"), None, name))
    main, clashed = meet(machine, parts, row.name.rpartition(".")[2], call.node, call.frame)
    if clashed:
        made.state["parameter"] = Tensor(POISON)
    else:
        made.state["parameter"] = main if main is not None else UNKNOWN
    return made


_NAMES = (
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential FisherSnedecor Gamma "
    "Geometric Gumbel HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy Laplace LogNormal LogisticNormal "
    "LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial Normal "
    "OneHotCategorical Pareto Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT TransformedDistribution "
    "Uniform VonMises Weibull Wishart"
).split()


def initialise(machine: Machine, made: Instance, call: Call) -> Value:
    """`super().__init__(...)` of a distribution of the user's own."""
    path = next((path for path in external_bases(made.cls) if path.startswith("torch.distributions.")), "")
    row = table.lookup(path)
    if row is not None and row.effect == "instance":
        construct(machine, made, row, table.bind(row, call.positional, call.keywords), call)
    return NONE


for _name in _NAMES:
    METHODS.setdefault(f"torch.distributions.{_name}", {})["__init__"] = initialise


@models("torch.distributions.kl_divergence", "torch.distributions.kl.kl_divergence")
def divergence(machine: Machine, call: Call) -> Value:
    """`kl_divergence(p, q)`: the parameters of both meet."""
    parts = []
    for position, value in enumerate(call.positional[:2]):
        held = value.state.get("parameter") if isinstance(value, Instance) else None
        if not isinstance(held, Value):
            return UNKNOWN
        parts.append(Part(held, "combine", None, "pq"[position]))
    main, clashed = meet(machine, parts, "kl_divergence", call.node, call.frame)
    if clashed:
        return Tensor(POISON)
    return UNKNOWN if main is None else build("tensor", main, None)


def apply(machine: Machine, value: Instance, row: Row, call: Call) -> Value:
    """A method or property of a distribution."""
    held = value.state.get("parameter", UNKNOWN)
    if row.effect == "metadata":
        return Sequence("tuple", [], True)
    if not isinstance(held, Tensor):
        return UNKNOWN
    if row.effect == "combine" and call.positional:
        main, clashed = meet(
            machine,
            [Part(held, "combine", None, "the distribution's parameters"), Part(call.positional[0], "combine", None)],
            row.name.rpartition(".")[2],
            call.node,
            call.frame,
        )
        if clashed:
            return Tensor(POISON)
        return SCALAR if main is None else build("tensor", main, None)
    rank = 64 if call.positional or call.keywords else None
    return build("tensor", held, rank)
