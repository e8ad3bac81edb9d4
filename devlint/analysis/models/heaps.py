"""`heapq`: a heap is a list that is kept sorted, of which the first is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import iterate
from devlint.analysis.dispatch import Call, models
from devlint.analysis.domain.plain import index_number
from devlint.analysis.domain.values import NONE, UNKNOWN, Sequence, Value, const
from devlint.analysis.python.sequence_methods import in_order, take
from devlint.analysis.python.sequences import rewrite

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


def _sort(machine: Machine, heap: Sequence, items: list[Value], call: Call) -> None:
    rewrite(machine, heap, items if heap.open else in_order(machine, items, call.with_arguments([])))


@models("heapq.heapify")
def heapify(machine: Machine, call: Call) -> Value | None:
    """`heapify(xs)`."""
    heap = call.argument(0, "heap")
    if isinstance(heap, Sequence):
        _sort(machine, heap, list(heap.items), call)
    return NONE


@models("heapq.heappush")
def push(machine: Machine, call: Call) -> Value | None:
    """`heappush(heap, item)`."""
    heap = call.argument(0, "heap")
    if isinstance(heap, Sequence) and len(call.positional) == 2:
        _sort(machine, heap, [*heap.items, call.positional[1]], call)
    return NONE


@models("heapq.heappop")
def pop(machine: Machine, call: Call) -> Value | None:
    """`heappop(heap)`: the smallest."""
    heap = call.argument(0, "heap")
    if not isinstance(heap, Sequence) or heap.open:
        return UNKNOWN
    return take(machine, heap) or UNKNOWN


@models("heapq.heappushpop", "heapq.heapreplace")
def push_and_pop(machine: Machine, call: Call) -> Value | None:
    """`heappushpop(heap, item)`: which of them comes back depends on the item."""
    push(machine, call)
    pop(machine, call)
    return UNKNOWN


@models("heapq.nsmallest")
def smallest(machine: Machine, call: Call) -> Value | None:
    """`nsmallest(n, xs, key=...)`."""
    return _first_of_all(machine, call, False)


@models("heapq.nlargest")
def largest(machine: Machine, call: Call) -> Value | None:
    """`nlargest(n, xs, key=...)`: the same from the other end."""
    return _first_of_all(machine, call, True)


def _first_of_all(machine: Machine, call: Call, backwards: bool) -> Value:
    if len(call.positional) < 2:
        return UNKNOWN
    found = iterate(machine, call.positional[1], call.node, call.frame)
    count = index_number(call.positional[0])
    if found is None or found.open or count is None:
        return UNKNOWN
    key = call.argument(2, "key")
    order = {"reverse": const(backwards), **({} if key is None else {"key": key})}
    return Sequence("list", in_order(machine, list(found.items), call.with_arguments([], order))[: max(count, 0)])
