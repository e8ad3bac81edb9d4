"""Whatever a model is given, it answers, or the program ends there: it never fails itself."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from devlint.analysis import access
from devlint.analysis.dispatch import METHOD, METHODS, MODELS, Call
from devlint.analysis.domain.values import (
    BOOL,
    NONE,
    NUMBER,
    SLICE,
    STRING,
    UNKNOWN,
    Array,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
)
from devlint.analysis.frames import Frame
from devlint.analysis.python import constants, environment, mappings, sequence_methods
from devlint.analysis.signals import Crash
from devlint.syntax import ir
from tests.analysis.programs import Run

PLAIN = ("builtins.", "os.", "sys.", "itertools.", "functools.", "operator.", "collections.", "copy.", "math.")
OTHERS = ("argparse.", "dataclasses.", "typing.", "contextlib.", "random.", "tqdm.", "easydict.", "types.", "click.")
PATHS = sorted(path for path in MODELS if path.startswith((*PLAIN, *OTHERS)))
CLASSES = sorted(path for path in METHODS if path.startswith((*PLAIN, *OTHERS, "threading.", "pathlib.", "io.")))

SETUP = """
def f(*args, **kwargs):
    return args[0] if args else None
class C:
    x = 1
    def __iter__(self):
        return iter([1, 2])
    def __len__(self):
        return 2
c = C()
"""


def _values(run: Run, draw: random.Random) -> Value:
    return draw.choice(
        [
            lambda: NONE,
            lambda: const(draw.randint(-2, 70)),
            lambda: Const(1.5),
            lambda: Const(draw.choice(["", "x", "cuda:0", "CUDA_VISIBLE_DEVICES", "--a", "%s", "{}"])),
            lambda: const(True),
            lambda: UNKNOWN,
            lambda: Unknown("args.a", True),
            lambda: NUMBER,
            lambda: STRING,
            lambda: BOOL,
            lambda: SLICE,
            lambda: Tensor("cpu", 1),
            lambda: Array(),
            lambda: DeviceValue("cuda", 0),
            lambda: External("torch.nn.Linear"),
            lambda: External("builtins.int"),
            lambda: Sequence("list", [const(1), Const("a")]),
            lambda: Sequence("list", [], True),
            lambda: Sequence("tuple", [Tensor("cuda:0", 1), const(2)], draw.random() < 0.5),
            lambda: Sequence("set", [const(1)]),
            lambda: Sequence("generator", [Sequence("tuple", [const(1), const(2)])], draw.random() < 0.5),
            lambda: Mapping({"a": const(1), 2: Tensor("cpu", 1)}),
            lambda: Mapping({}, UNKNOWN),
            lambda: run["f"],
            lambda: run["C"],
            lambda: run["c"],
        ]
    )()


def _call(run: Run, draw: random.Random) -> Call:
    node = run.machine.project.module("/project/program.py").body[0]  # type: ignore[union-attr]
    assert isinstance(node, ir.Node)
    frame = Frame(run.names, None, run.namespace, 0)
    positional = [_values(run, draw) for _ in range(draw.randint(0, 4))]
    names = draw.sample(["key", "default", "start", "name", "type", "action", "dest", "x"], draw.randint(0, 2))
    return Call(positional, {name: _values(run, draw) for name in names}, node, frame, draw.random() < 0.1)


def _check(found: Any) -> None:
    assert found is None or isinstance(found, Value)


@pytest.mark.parametrize("path", PATHS)
def test_models(path: str) -> None:
    draw = random.Random(path)
    run = Run(SETUP)
    for _ in range(40):
        run.machine.begin(10_000, {})
        with suppress(Crash):
            _check(MODELS[path](run.machine, _call(run, draw)))


@pytest.mark.parametrize("path", CLASSES)
def test_methods_of_instances(path: str) -> None:
    draw = random.Random(path)
    run = Run(SETUP)
    for model in METHODS[path].values():
        for _ in range(10):
            run.machine.begin(10_000, {})
            instance: Value = Instance(External(path))
            with suppress(Crash):
                if path in MODELS:
                    instance = MODELS[path](run.machine, _call(run, draw)) or UNKNOWN
                if isinstance(instance, Instance) and instance.state:
                    _check(model(run.machine, instance, _call(run, draw)))


DERIVED = """
import {module}
class Own({path}):
    def __init__(self, *args, **kwargs):
        self.own = 1
one = Own(1)
class Heir({path}):
    pass
other = Heir(1, 2)
"""
USES = ("{0}({1})", "{0}[{1}]", "list({0})", "len({0})", "next(iter({0}))", "enter({0})", "bool({0})", "copy.copy({0})")
READS = ("device", "args", "func", "keywords", "data", "dataset", "state", "root", "name", "module", "param_groups")


@pytest.mark.parametrize(
    "path", sorted(path for path in METHODS if "." in path and path.replace(".", "").isidentifier())
)
def test_classes_that_derive(path: str) -> None:
    """A class of the user's own need not have called the constructor of its base."""
    module = path.rpartition(".")[0]
    text = DERIVED.format(module=module, path=path) + "import copy\ndef enter(x):\n    with x:\n        pass\n"
    names = [name for name in METHODS[path] if name.isidentifier() and not name.startswith("__")]
    for name in ("one", "other"):
        uses = [use.format(name, "0") for use in USES]
        uses += [f"{name}.{method}()" for method in names] + [f"{name}.{method}(one, 1)" for method in names]
        uses += [f"{name}.{attribute}" for attribute in READS]
        text += "".join(f"def use{number}():\n    {use}\n" for number, use in enumerate(uses))
        text += "".join(f"try:\n    use{number}()\nexcept Exception:\n    pass\n" for number in range(len(uses)))
    Run(text.replace("import builtins", "pass"))


TABLES = [
    (Sequence, sorted(sequence_methods.METHODS)),
    (Mapping, sorted(mappings.METHODS)),
    (Const, sorted(name for name in {*dir(""), *dir(1), *dir(None)} if not name.startswith("__"))),
]


@pytest.mark.parametrize(("kind", "names"), TABLES)
def test_methods_of_values(kind: type, names: list[str]) -> None:
    draw = random.Random(kind.__name__)
    run = Run(SETUP)
    for name in names:
        for _ in range(60):
            value = _values(run, draw)
            if isinstance(value, kind):
                with suppress(Crash):
                    _check(METHOD[kind](run.machine, value, name, _call(run, draw)))


OPERATIONS = ["item", "assign", "binary", "iterate", "truth", "attribute", "environment"]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(operation: str) -> None:
    """Items, operators, iteration, truth and attributes of all pairs of values."""
    draw = random.Random(operation)
    run = Run(SETUP)
    for _ in range(1000):
        run.machine.begin(10_000, {})
        with suppress(Crash):
            _operate(run, draw, operation)


def _operate(run: Run, draw: random.Random, operation: str) -> None:
    call = _call(run, draw)
    machine, node, frame = run.machine, call.node, call.frame
    a, b, c = (_values(run, draw) for _ in range(3))
    if operation == "item":
        _check(access.item(machine, a, b, node, frame))
    elif operation == "assign":
        access.assign_item(machine, a, b, c, node, frame)
    elif operation == "binary":
        _check(access.binary(machine, draw.choice([*constants.OPERATORS, "@"]), a, b, node, frame))
    elif operation == "iterate":
        found = access.iterate(machine, a, node, frame)
        assert found is None or all(isinstance(item, Value) for item in found.items)
    elif operation == "truth":
        assert access.truth(machine, a) in (True, False, None)
    elif operation == "attribute":
        _check(access.attribute(machine, a, draw.choice(["x", "upper", "append", "real", "device"]), node, frame))
    else:
        environment.set_variable(machine, "A", a, node, frame)


def test_a_keyword_that_was_not_given() -> None:
    """What stands under a key that the keywords of a call lack is nothing: the program ends there."""
    text = "def f(**kwargs):\n    return kwargs['a']\nr = f({})\n"
    assert Run(text.format("a=1")).python("r") == 1
    assert not Run(text.format("b=1")).ended
    assert Run(text.format("**input()")).ended
    rebound = "def f(**kwargs):\n    kwargs = load()\n    return kwargs['a']\nfrom elsewhere import load\nr = f(b=1)\n"
    assert Run(rebound).ended
