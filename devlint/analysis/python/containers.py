"""What statements and expressions ask of containers of any kind: membership, unpacking, deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import call_method, iterate, truth
from devlint.analysis.dispatch import Call
from devlint.analysis.domain.ancestry import find
from devlint.analysis.domain.plain import equal, join_all, missing
from devlint.analysis.domain.values import (
    RESULT,
    UNKNOWN,
    Class,
    Const,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Unknown,
    Value,
)
from devlint.analysis.python.classes import modelled
from devlint.analysis.python.mappings import contains_key, delete_mapping_item
from devlint.analysis.python.sequences import delete_sequence_item, extend, position_of
from devlint.analysis.python.unknowns import extended
from devlint.analysis.pytorch.missing import too_few
from devlint.analysis.pytorch.modules import has_member, is_dictionary
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

__all__ = ["contains", "delete_item", "equal", "extend", "unpack"]


def contains(machine: Machine, container: Value, item: Value, node: ir.Node, frame: Frame) -> bool | None:
    """Whether `item in container`; None when that is not known.

    Raises:
        Crash: the container surely is none.
    """
    if isinstance(container, Const):
        if container.value is None:
            return truth(machine, missing(machine, "TypeError"))
        if not isinstance(container.value, (str, bytes)):
            raise Crash("TypeError")
        if isinstance(item, Const):
            try:
                return bool(item.value in container.value)
            except TypeError:
                raise Crash("TypeError") from None
        return None
    if isinstance(container, Mapping):
        return contains_key(container, item)
    if isinstance(container, Sequence):
        position = position_of(container, item)
        return None if position is None else position >= 0
    if isinstance(container, Instance):
        return _instance_contains(machine, container, item, node, frame)
    if isinstance(container, Scalar) and container.among and isinstance(item, Const) and isinstance(item.value, str):
        answers = {item.value in text for text in container.among}
        return answers.pop() if len(answers) == 1 else None
    return None


def _instance_contains(machine: Machine, container: Instance, item: Value, node: ir.Node, frame: Frame) -> bool | None:
    if find(container.cls, "__contains__") is not None:
        return truth(machine, call_method(machine, container, "__contains__", Call([item], {}, node, frame)))
    answer = modelled(machine, container, "__contains__", Call([item], {}, node, frame))
    if answer is not None:
        return truth(machine, answer)
    return has_member(container, item) if container.module is not None and is_dictionary(container) else None


def unpack(
    machine: Machine, value: Value, count: int, star_index: int | None, node: ir.Node, frame: Frame
) -> list[Value]:
    """Return the `count` parts of a value that is unpacked; the one at `star_index` takes the rest as a list.

    Raises:
        Crash: the value has another number of items.
    """
    found = iterate(machine, value, node, frame, count if star_index is None else count - 1)
    if found is None:
        if isinstance(value, Unknown) and value.path is not None:
            parts = [extended(value, f"[{position}]") for position in range(count)]
        else:
            parts = [RESULT if value is RESULT else UNKNOWN] * count
        return _starred(parts, star_index)
    items, missing = list(found.items), count - len(found.items)
    tail = value.at_end() if isinstance(value, Sequence) else 0
    if 0 < tail <= count and star_index is None:
        front = items[:-tail]
        filled = [*front, *[join_all(machine, front)] * count]
        return [*filled[: count - tail], *items[-tail:]]
    if star_index is not None:
        rest = len(items) - (count - 1)
        if rest < 0 and not found.open:
            raise Crash("ValueError")
        if found.open:
            anything = join_all(machine, items)
            parts = [*items[:star_index], *[anything] * count][:count]
            parts[star_index + 1 :] = [anything] * (count - star_index - 1)
            parts[star_index] = Sequence("list", items[star_index:], True)
            return parts
        middle = Sequence("list", items[star_index : star_index + rest])
        return [*items[:star_index], middle, *items[star_index + rest :]]
    if missing > 0 and isinstance(value, Sequence) and value.counted:
        text = f"not enough values to unpack (expected {count}, got {len(items)})"
        too_few(machine, count - 1, "ValueError", text, node, frame)
        return [*items, *[UNKNOWN] * missing]
    if missing and not found.open:
        raise Crash("ValueError")
    if missing > 0:
        items += [join_all(machine, items)] * missing
    return items[:count]


def _starred(parts: list[Value], star_index: int | None) -> list[Value]:
    if star_index is not None:
        parts[star_index] = Sequence("list", [], True)
    return parts


def delete_item(machine: Machine, container: Value, index: Value, node: ir.Node, frame: Frame) -> None:
    """Execute `del container[index]`."""
    if isinstance(container, Mapping):
        delete_mapping_item(machine, container, index, node, frame)
    elif isinstance(container, Sequence):
        delete_sequence_item(machine, container, index, node, frame)
    elif isinstance(container, Instance) and isinstance(container.cls, (Class, External)):
        call_method(machine, container, "__delitem__", Call([index], {}, node, frame))
