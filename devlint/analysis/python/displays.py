"""Displays, comprehensions and f-strings: what makes a container or a string in an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import Iteration, evaluates
from devlint.analysis.domain.plain import NotConstant, join_all, key_of, path_text, sequence, set_of
from devlint.analysis.domain.values import (
    MAX_ITEMS,
    PART_DEVICE,
    STRING,
    TEXT_OF_DEVICE,
    UNKNOWN,
    Const,
    DeviceValue,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.flow.choices import decide
from devlint.analysis.flow.gpu_numbers import is_chosen
from devlint.analysis.flow.narrowing import narrow
from devlint.analysis.frames import Frame, Locals
from devlint.analysis.python.binding import bind
from devlint.analysis.python.constants import as_text
from devlint.analysis.pytorch.device_handles import indexed_device_name
from devlint.analysis.pytorch.host import read_pending
from devlint.analysis.pytorch.loads import part_of_load
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


@evaluates(ir.Display)
def evaluate_display(machine: Machine, node: ir.Display, frame: Frame) -> Value:
    """A list, tuple or set display."""
    items: list[Value] = []
    is_open = False
    tail = 0
    for part in node.items:
        if isinstance(part, ir.Starred):
            found = iterate(machine, machine.evaluate(part.value, frame), node, frame) or Iteration([], True)
            items.extend(found.items)
            is_open = is_open or found.open
            tail = 0 if found.open else tail + len(found.items)
        else:
            items.append(machine.evaluate(part, frame))
            tail += 1
    if node.kind == "set":
        return set_of("set", items, is_open)
    if len(items) > MAX_ITEMS:
        return Sequence(node.kind, items[:MAX_ITEMS], True)
    made = Sequence(node.kind, items, is_open)
    made.tail = (made.items, tail) if is_open and tail else None
    return made


@evaluates(ir.DictDisplay)
def evaluate_dict(machine: Machine, node: ir.DictDisplay, frame: Frame) -> Value:
    """A dict display."""
    items: dict[Any, Value] = {}
    rest: Value | None = None
    is_open = False
    for key, expression in node.items:
        if key is None:
            value = machine.evaluate(expression, frame)
            if isinstance(value, Mapping):
                items.update(value.items)
                rest = value.rest if rest is None else rest
                is_open = is_open or value.open
            else:
                is_open = True
                part = part_of_load(machine, value)
                if part is not None:
                    rest = part if rest is None else join_all(machine, (rest, part))
            continue
        name = machine.evaluate(key, frame)
        value = machine.evaluate(expression, frame)
        try:
            items[key_of(name)] = value
        except NotConstant:
            rest = value if rest is None else join_all(machine, (rest, value))
    return Mapping(items, rest, is_open)


@evaluates(ir.Comprehension)
def evaluate_comprehension(machine: Machine, node: ir.Comprehension, frame: Frame) -> Value:
    """A comprehension: run in a frame of its own, over the known items (at most 64) or two unknown ones."""
    inner = Frame(Locals(), frame, frame.namespace, frame.tick)
    inner.function = frame.function
    inner.loops = [*frame.loops, node]
    values: list[Value] = []
    mapping: dict[Any, Value] = {}
    rest: list[Value] = []
    state = {"open": False, "counted": False, "sifted": False}

    def run(index: int) -> None:
        if index == len(node.generators):
            machine.step()
            value = machine.evaluate(node.element, inner)
            if node.key is not None:
                try:
                    mapping[key_of(machine.evaluate(node.key, inner))] = value
                except NotConstant:
                    rest.append(value)
            else:
                values.append(value)
            return
        generator = node.generators[index]
        iterable = machine.evaluate(generator.iterable, inner if index else frame)
        found = iterate(machine, iterable, node, frame)
        items = found.items if found is not None else [UNKNOWN]
        state["counted"] = isinstance(iterable, Sequence) and iterable.counted and not generator.conditions
        if found is None or found.open:
            state["open"] = True
        if found is not None and found.open and not items:
            items = [UNKNOWN]
        for value in items[:MAX_ITEMS]:
            bind(machine, generator.target, value, node, inner)
            doubts = machine.run.doubts
            keep = True
            for condition in generator.conditions:
                answer = decide(machine, condition, inner).truth
                if answer is False:
                    keep = False
                    break
                if answer is None:
                    state["open"] = state["sifted"] = True
                    machine.run.doubts += 1
                narrow(machine, condition, inner, True)
            try:
                if keep:
                    run(index + 1)
            finally:
                machine.run.doubts = doubts

    run(0)
    if node.kind == "dict":
        table = Mapping(mapping, join_all(machine, rest) if rest else None, state["open"])
        table.counted = state["counted"] and list(mapping) == list(range(len(mapping)))
        return table
    make = set_of if node.kind == "set" else sequence
    made = make(node.kind, values, state["open"])
    made.counted = state["counted"] and len(node.generators) == 1
    made.sifted = state["sifted"]
    return made


@evaluates(ir.FString)
def evaluate_fstring(machine: Machine, node: ir.FString, frame: Frame) -> Value:
    """An f-string: known when its fields are."""
    text = ""
    known = True
    of_device = chosen = False
    site = machine.site(node, frame)
    for part in node.parts:
        value = machine.evaluate(part, frame)
        chosen = chosen or is_chosen(machine, value)
        of_device = of_device or isinstance(value, DeviceValue)
        if isinstance(value, Const):
            text += str(value.value)
            if value.value == -1 and value.site is not None:
                site = value.site  # `get_device()` said so
        elif isinstance(value, DeviceValue):
            if len(node.parts) == 1:
                return as_text(value) or STRING
            text += str(value)
        elif isinstance(value, Unknown) and len(node.parts) == 1 and (value.path is not None or value is PART_DEVICE):
            return Unknown(value.path, value.named, value.default) if value.path is not None else value
        elif isinstance(value, Instance) and (path := path_text(value)) is not None:
            text += path
        else:
            if isinstance(value, Tensor):
                read_pending(machine, value, "", node, frame)
            if not known:
                continue
            if text in ("cuda:", "cuda") and isinstance(value, (Unknown, Scalar)):
                return indexed_device_name(machine, node, frame)
            known = False
    if known and chosen:
        machine.places.gpu_numbers.add(site.key)
    return Const(text, site) if known else TEXT_OF_DEVICE if of_device else Scalar(kind="string")
