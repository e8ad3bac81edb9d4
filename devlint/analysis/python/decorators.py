"""Decorators: known ones are understood, the user's own are called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from devlint.analysis.access import call_value, path_of
from devlint.analysis.dispatch import METHODS, MODELS, Call
from devlint.analysis.domain.values import (
    MAX_ITEMS,
    TRUE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Method,
    Unknown,
    Value,
    birth,
)
from devlint.analysis.flow.choices import decide
from devlint.analysis.frames import Frame
from devlint.analysis.programs.given_away import note_decorated
from devlint.analysis.programs.handed import hand_over
from devlint.analysis.python.fields import make_record
from devlint.analysis.python.giving_back import gives_back, records, written_since
from devlint.analysis.python.remembering import remember_calls
from devlint.analysis.state import SCRIPTED
from devlint.semantics import libraries, table
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


_TRANSPARENT = (
    "torch.",
    "functools.wraps",
    "abc.",
    "typing.",
    "typing_extensions.",
    "numba.",
    "pytest.",
    "unittest.",
    "click.",
    "hydra.",
    "overrides.",
    "torch_geometric.",
    "lightning.",
    "pytorch_lightning.",
    "transformers.",
    "jaxtyping.",
    "beartype.",
    "typeguard.",
    "spaces.",
)

_NAMED = frozenset(
    (package, name)
    for packages, names in (
        ("mmcv mmengine", "auto_fp16 force_fp32 deprecated_function"),
        ("apex", "half_function float_function promote_function"),
        ("diffusers", "register_to_config maybe_allow_in_graph apply_forward_hook replace_example_docstring"),
        ("timm", "register_notrace_module register_notrace_function register_model"),
        ("monai", "deprecated export alias"),
        ("lightning_utilities lightning_fabric", "rank_zero_only"),
        ("deprecated deprecation", "deprecated"),
        ("line_profiler memory_profiler", "profile"),
        ("nvtx", "annotate"),
        ("retry tenacity backoff", "retry on_exception"),
    )
    for package in packages.split()
    for name in names.split()
)
"""Decorators of other libraries that call what they took with what they are given, by package and name."""

_PLACING = frozenset({"auto_move_data"})
"""These move what they are given."""

_ELSEWHERE = ("ray.", "dask.", "modal.", "triton.", "pyspark.")
"""Of these a function is run in another process, on another machine or as another language."""

_FAILING = ("pytest.mark.xfail", "unittest.expectedFailure")
_SKIPPING = (
    *("pytest.mark.skip", "pytest.mark.skipif", "unittest.skip", "unittest.skipIf", "unittest.skipUnless"),
    *_FAILING,
)


def decorate(machine: Machine, decorator: ir.Expr, value: Value, node: Any, frame: Frame) -> Value:
    """Apply a decorator: known ones are understood or transparent, user functions are called, others give Unknown."""
    if (
        isinstance(decorator, ir.Attribute)
        and decorator.name in ("setter", "getter", "deleter")
        and isinstance(value, Function)
    ):
        existing = frame.names.get(value.node.name)
        if isinstance(existing, Function) and existing.kind == "property":
            if decorator.name == "setter":
                existing.attributes["setter"] = value
            return existing
        return value
    applied = machine.evaluate(decorator, frame)
    path = path_of(applied)
    if path is None and isinstance(applied, Instance) and isinstance(applied.cls, External):
        path = applied.cls.path
    if path is None and isinstance(applied, (Unknown, Const)) and isinstance(decorator, ir.Call):
        path = path_of(machine.evaluate(decorator.function, frame))
    if path in _SKIPPING and _is_skipped(machine, decorator, str(path), frame):
        return UNKNOWN
    if _is_modelled(applied) or _is_mode(applied):
        made = call_value(machine, applied, Call([value], {}, node, frame))
        if made is not UNKNOWN:
            return made
    if path is not None:
        known = _known_decorator(machine, libraries.canonical(path), value, applied)
        if known is not None:
            return known
    if isinstance(applied, (Function, Bound, Class)) or (
        isinstance(applied, Instance) and isinstance(applied.cls, Class)
    ):
        return _called(machine, applied, value, node, frame)
    if isinstance(applied, External) and applied.path in MODELS:
        return call_value(machine, applied, Call([value], {}, node, frame))
    if isinstance(value, Class):
        # It registers the class, or adds to it: what is asked of an instance may be answered elsewhere.
        value.bases, value.order = [*value.bases, UNKNOWN], None
        return value
    if isinstance(value, Function) and not (path or "").startswith(_ELSEWHERE):
        note_decorated(machine, decorator, value, frame)
        if frame.function is None:
            frame.namespace.handed.append((value, frame.owner))
        else:
            hand_over(machine, [value])
    return UNKNOWN


def _is_modelled(applied: Value) -> bool:
    """Whether a decorator is a method of an external object that a model answers for, or such an object is called."""
    name = applied.name if isinstance(applied, Method) else "__call__"
    holder = applied.receiver if isinstance(applied, Method) else applied
    return (
        isinstance(holder, Instance) and isinstance(holder.cls, External) and name in METHODS.get(holder.cls.path, ())
    )


def _is_mode(applied: Value) -> bool:
    """Whether a decorator is a context of torch that is named without being called: `@torch.inference_mode`."""
    if not isinstance(applied, External) or applied.path not in MODELS:
        return False
    row = table.lookup(libraries.canonical(applied.path))
    return row is not None and row.effect == "context"


_EXPENSIVE = 200
_OFTEN = 3
_LONGEST = 40_000


def _called(machine: Machine, applied: Value, value: Value, node: Any, frame: Frame) -> Value:
    """Call a decorator of the project's own.

    One that gives back what it decorated, each time, writes documentation or keeps a record: it is taken at its word
    when it has done so more often than a record is kept apart, or `_OFTEN` times where it works long, for a library may
    use it at thousands of places. Where its form says so, a bound that cut its work off does not hide that, and what
    one took that works long is not the file's; it is taken at its word at once if it keeps no record, and in each
    world if it has left nothing at all.
    """
    function = applied.node if isinstance(applied, Function) else None
    if function is not None and (
        function in machine.project.documenting or machine.transparent.get(function, 0) >= MAX_ITEMS
    ):
        return value
    store = machine.store
    opened, mark, began, tick, before = store.open(), store.position(), birth(), machine.clock, machine.run.steps
    hands_back = isinstance(applied, Function) and gives_back(machine, applied)
    limit = machine.run.limit
    machine.run.limit += _LONGEST * hands_back
    try:
        result = call_value(machine, applied, Call([value], {}, node, frame))
        if function is None:
            return result
        spent = machine.run.steps - before
        counts = MAX_ITEMS // _OFTEN + 1 if spent >= _EXPENSIVE else 1
        if hands_back:
            result = value
            if spent >= _EXPENSIVE:
                limit += spent
                left = written_since(machine, value, mark, began, tick)
                if not left:
                    machine.project.documenting.add(function)
                if not any(records(entry, value) for entry in left):
                    counts = MAX_ITEMS
        if result is value:
            machine.transparent[function] = machine.transparent.get(function, 0) + counts
        else:
            machine.transparent[function] = -sys.maxsize
        return result
    finally:
        machine.run.limit = limit
        if opened:
            store.close()


def _is_skipped(machine: Machine, decorator: ir.Expr, path: str, frame: Frame) -> bool:
    """Whether a test does not run in this world, or may fail; without a GPU an open condition is taken to be about
    that."""
    if path in ("pytest.mark.skip", "unittest.skip"):
        return True
    if path in _FAILING and not (isinstance(decorator, ir.Call) and decorator.args):
        return True
    if not isinstance(decorator, ir.Call) or not decorator.args:
        return False
    test = decorator.args[0]
    skips = None if isinstance(test, ir.Const) and isinstance(test.value, str) else decide(machine, test, frame).truth
    if skips is None:
        return not machine.world.has_cuda
    return skips is not (path == "unittest.skipUnless")


def _known_decorator(machine: Machine, path: str, value: Value, applied: Value) -> Value | None:
    name = path.rpartition(".")[2]
    if isinstance(value, Function):
        if path in ("builtins.property", "builtins.staticmethod", "builtins.classmethod") or name == "cached_property":
            value.kind = name
            return value
        if path in ("functools.cache", "functools.lru_cache"):
            return remember_calls(machine, value)
        if path in ("abc.abstractproperty",):
            value.kind = "property"
            return value
        if path in ("contextlib.contextmanager", "contextlib.asynccontextmanager"):
            value.kind = "contextmanager"
            return value
        if path in ("torch.jit.script", "torch.jit.script_if_tracing"):
            machine.store.put(value.attributes, SCRIPTED, TRUE)
            return value
    if isinstance(value, Class):
        if name in ("dataclass", "define", "frozen", "mutable", "s", "attrs") or path == "dataclasses.dataclass":
            return make_record(machine, value, path, {})
        return value if not isinstance(applied, Unknown) else None
    if name in _PLACING:
        return None
    if path.startswith(_TRANSPARENT) or name in ("override", "final", "njit"):
        return value
    if (path.partition(".")[0], name) in _NAMED:
        return value
    row = table.lookup(path)
    return value if row is not None and row.effect == "transparent" else None
