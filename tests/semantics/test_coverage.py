"""Every public callable of the installed torch has a row, and every row of torch stands for one."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from devlint.semantics import libraries, table

warnings.simplefilter("ignore")

NAMESPACES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.cuda",
    "torch.accelerator",
    "torch.amp",
    "torch.random",
    "torch.utils.data",
    "torch.optim",
    "torch.distributions",
    "torch.distributed",
)
OPERATORS = (
    *("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "truediv", "rtruediv", "itruediv"),
    *("floordiv", "rfloordiv", "ifloordiv", "mod", "rmod", "imod", "pow", "rpow", "ipow", "and", "rand", "iand"),
    *("or", "ror", "ior", "xor", "rxor", "ixor", "lshift", "rlshift", "ilshift", "rshift", "rrshift", "irshift"),
    *("matmul", "rmatmul", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem"),
    *("setitem", "len", "bool", "float", "int", "index", "complex", "iter", "reversed", "contains", "repr"),
    *("format", "hash", "array", "deepcopy"),
)
# Names of other torch releases, and of submodules that need packages of their own.
ELSEWHERE = {
    "torch.distributed.ProcessGroupNCCL",
    "torch.utils.tensorboard.SummaryWriter",
    "torch.utils.tensorboard.writer.SummaryWriter",
} | {
    "torch.Tensor.__div__",
    "torch.Tensor.__rdiv__",
    "torch.Tensor.__idiv__",
    "torch.Tensor.__nonzero__",
}


def public(namespace: str) -> Iterator[str]:
    """The names of the callables that a namespace offers itself, without those it has only imported from elsewhere."""
    module = importlib.import_module(namespace)
    for name in dir(module):
        value = getattr(module, name, None)
        home = getattr(value, "__module__", None) or ""
        if name.startswith("_") or inspect.ismodule(value) or not callable(value) or value is torch.Tensor:
            continue
        if home and not home.startswith("torch") and home != "builtins":
            continue
        if getattr(value, "__name__", "") in ("Optional", "Literal", "type") or value in (Any, object):
            continue
        yield f"{namespace}.{name}"


NOT_OF_TORCH = {"torch.nn.functional.DType", "torch.nn.utils.rnn.copy_method_params"}


def tensor_names() -> Iterator[str]:
    yield from (f"torch.Tensor.{name}" for name in dir(torch.Tensor) if not name.startswith("_"))
    yield from (f"torch.Tensor.__{name}__" for name in OPERATORS)


def expected() -> list[str]:
    names = [name for namespace in NAMESPACES for name in public(namespace)]
    return [name for name in [*names, *tensor_names()] if name not in NOT_OF_TORCH]


def test_every_callable_has_a_row() -> None:
    assert not [name for name in expected() if table.lookup(name) is None]


def test_few_rows_are_unknown_and_each_says_why() -> None:
    rows = [table.lookup(name) for name in expected()]
    unknown = [row for row in rows if row is not None and row.effect == "unknown"]
    assert all(row.reason for row in unknown)
    assert len(unknown) < 0.02 * len(rows)


def resolve(path: str) -> object:
    """The object with this dotted path; modules on the way are imported."""
    module, _, rest = path.partition(".")
    value: object = importlib.import_module(module)
    for name in rest.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            if not inspect.ismodule(value):
                raise
            value = importlib.import_module(f"{value.__name__}.{name}")
    return value


TORCH_TABLES = [name for name in table.tables() if next(table.rows(name)).name.startswith("torch.")]


@pytest.mark.parametrize("name", TORCH_TABLES)
def test_every_row_of_torch_exists(name: str) -> None:
    missing = []
    for row in table.rows(name):
        if row.since and tuple(map(int, row.since.split("."))) > tuple(map(int, torch.__version__.split(".")[:2])):
            continue
        try:
            resolve(row.name)
        except (AttributeError, ImportError):
            missing.append(row.name)
    assert set(missing) <= ELSEWHERE


@pytest.mark.parametrize("name", table.tables())
def test_no_name_stands_twice_in_a_table(name: str) -> None:
    text = (Path(table.__file__).parent / f"{name}.tbl").read_text()
    seen: set[str] = set()
    twice = []
    for line in text.splitlines():
        if line and line[0] not in "# ":
            head = line.partition("(")[0]
            for one in table.expand(head.partition(":")[0]):
                if one in seen:
                    twice.append(one)
                seen.add(one)
    assert not twice


def signature(value: object) -> inspect.Signature | None:
    try:
        return inspect.signature(value.__init__ if inspect.isclass(value) else value)  # type: ignore[arg-type, misc]
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("name", TORCH_TABLES)
def test_parameters_are_named_and_ordered_as_in_torch(name: str) -> None:
    """Where Python can tell a signature, the row's parameters are its first ones, in its order."""
    wrong = []
    for row in table.rows(name):
        if any(p.kind in ("variadic", "variadic-keyword") for p in row.parameters):
            continue
        if row.flags & {"property", "decorator"} or row.name.endswith("__"):
            continue
        try:
            found = signature(resolve(row.name))
        except (AttributeError, ImportError):
            continue
        if found is None:
            continue
        there = [p.name for p in found.parameters.values() if p.name != "self"]
        kinds = {p.kind for p in found.parameters.values()}
        if inspect.Parameter.VAR_POSITIONAL in kinds:
            continue
        open_ended = inspect.Parameter.VAR_KEYWORD in kinds
        for number, parameter in enumerate(row.parameters):
            if parameter.kind == "positional":
                right = number < len(there) and there[number] == parameter.name
            else:
                right = parameter.name in there or open_ended
            if not right:
                wrong.append(f"{row.name}: {parameter.name}, torch has {there}")
    assert not wrong


def test_what_derives_from_what_in_torch_nn() -> None:
    classes = [cls for cls in vars(torch.nn).values() if isinstance(cls, type) and issubclass(cls, torch.nn.Module)]
    bases = {base for cls in classes for base in cls.__mro__ if issubclass(base, torch.nn.Module)}
    bases = {base for base in bases if base.__name__ not in NOT_TOLD}
    for cls in classes:
        for base in bases:
            named = [f"{one.__module__}.{one.__name__}" for one in (cls, base)]
            assert libraries.derives(*named) is issubclass(cls, base), named


# Bases that nobody asks for by name.
NOT_TOLD = {
    "_LazyNormBase",
    "_LazyConvXdMixin",
    "LazyModuleMixin",
    *(f"_{kind}PadNd" for kind in ("Circular", "Constant", "Reflection", "Replication")),
}
