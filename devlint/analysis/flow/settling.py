"""What a round of a loop has changed, and what the numbers that it changed may become."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

from devlint.analysis.domain.plain import texts
from devlint.analysis.domain.values import (
    COUNT,
    NUMBER,
    SCALAR,
    Array,
    Class,
    Const,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from devlint.analysis.events import Site
from devlint.analysis.flow.counting import BORN
from devlint.analysis.store import MISSING

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine
    from devlint.analysis.store import Entry


class Round:
    """What a round changed that was there before it: `carried`, something that has a device; `widened`, numbers.

    Where a module `grew` numbers stay for another round: they may be its size. A list that stands where one of another
    length stood (`xs = xs[-n:]`) gets another round (`resized`), and is of unknown length where it has changed again.
    """

    def __init__(self, machine: Machine, written: list[Entry], grew: bool, resized: set[tuple[int, Any]]) -> None:
        self.machine = machine
        self.written = written
        self.grew = grew
        self.resized = resized
        self.carried = self.widened = False

    def note_slot(self, target: Any, key: str, old: Any, now: Any) -> None:
        """An attribute of an object changed."""
        if key in ("device", "default_device", "default_type", "current_device"):
            self.carried = True
        elif key == "pending":  # the next round may read what this one has let come
            self.carried = self.carried or (old is None and now == self.machine.state.synchronizations)
        elif key == "items":
            self.carried = self.carried or _weight(now) != _weight(old)
            items = _widened_items(old, now)
            if items is not None:
                self.widened = True
                if not self.grew:
                    self.machine.store.set(target, key, items)
        elif key == "children" and target.device is not None:
            self.carried = self.carried or not _are_same(old, now)  # a module grows that has been moved already
        elif key == "yields":
            self.carried = self.carried or any(map(_is_numbered, now[len(old or ()) :]))

    def note_value(self, target: dict[Any, Any], key: Any, old: Any, now: Any) -> None:
        """A name, a field, or what stands at a key, changed."""
        if _is_moved(old, now):
            self.widened = True
        elif now.__class__ is Scalar and now.among is not None and old.__class__ in (Const, Scalar):
            if texts(old) != now.among:
                self.carried = self.widened = True  # the next round may go another way, and make it yet another
        elif isinstance(old, Const):
            self._note_constant(target, key, old, now)
        elif isinstance(old, Tensor) and isinstance(now, Tensor):
            self.carried = self.carried or old.device != now.device or old.is_parameter != now.is_parameter
        elif isinstance(old, (Sequence, Mapping)) and isinstance(now, (Sequence, Mapping)):
            self.carried = self.carried or _weight(now.items) != _weight(old.items)
            self._note_length((id(target), key), old, now)
        elif old.__class__ is dict and now.__class__ is dict:
            self.carried = self.carried or not old.items() <= now.items()  # notes of a first time may be added
        elif isinstance(old, Instance) and isinstance(now, Instance):
            self.carried = self.carried or not _are_alike(old, now)
        elif isinstance(old, (Unknown, Scalar, Array)) and isinstance(now, (Unknown, Scalar, Const, Array)):
            pass
        elif now.__class__ is not Site:  # where something was put
            self.carried = True

    def _note_constant(self, target: dict[Any, Any], key: Any, old: Const, now: Any) -> None:
        if not isinstance(now, Const):
            self.carried = self.carried or not isinstance(now, (Scalar, Unknown, Array))
        elif now.value == old.value:
            return
        elif isinstance(old.value, str) or old.value is None:
            self.carried = True
        elif not isinstance(old.value, bool):
            self.widened = True
            if not self.grew:
                self.machine.store.put(target, key, _widened(old, now))

    def _note_length(self, identity: tuple[int, Any], old: Value, now: Value) -> None:
        if not _is_resized(self.written, old, now):
            return
        if identity in self.resized:
            self.widened = True
            self.machine.store.set(now, "open", True)
        else:
            self.carried = True
            self.resized.add(identity)


def settle(machine: Machine, mark: int, began: int, grew: bool, resized: set[tuple[int, Any]]) -> Round:
    """Widen the numbers that a round changed (what was written since `mark`), and tell what it did.

    What the round made itself (variables, containers, activations of functions: since `began`) is no change.
    """
    log = machine.store.log
    assert log is not None
    written = log[mark:]
    told = Round(machine, written, grew, resized)
    seen: set[tuple[int, Any]] = set()
    for target, key, is_slot, old in written:
        if target.__class__ in BORN and target.born > began:
            continue
        identity = (id(target), key)
        if identity in seen:
            continue
        seen.add(identity)
        if old is MISSING:
            continue
        now = getattr(target, key) if is_slot else target.get(key, MISSING)
        if now is not old:
            (told.note_slot if is_slot else told.note_value)(target, key, old, now)
    return told


def _is_resized(written: list[Entry], old: Value, now: Value) -> bool:
    """Whether a list of known length stands where one stood that had another length before all this was written."""
    if not isinstance(old, Sequence) or not isinstance(now, Sequence) or now.open:
        return False
    before = (entry[3] for entry in written if entry[0] is old and entry[1] == "items")
    return len(next(before, old.items)) != len(now.items)


def _is_numbered(value: Value) -> bool:
    """Whether it is an object of the program's that holds a number: the next one may hold another."""
    return isinstance(value, Instance) and value.module is None and any(map(_is_number, value.fields.values()))


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and value.value.__class__ in (int, float)


def _is_moved(old: Any, now: Any) -> bool:
    """Whether a number has other bounds than before the round."""
    if now.__class__ is not Scalar or now.high is None:
        return False
    return old.__class__ is Const or (old.__class__ is Scalar and (old.low, old.high) != (now.low, now.high))


def _widened(old: Const, now: Const) -> Value:
    """What a constant may become that changes from round to round."""
    if not isinstance(old.value, (int, float)):
        return SCALAR
    counts_up = isinstance(now.value, (int, float)) and 0 <= old.value <= now.value
    return COUNT if counts_up else NUMBER


def _widened_items(old: Any, now: Any) -> Any:
    """The items of a container with the numbers widened that a round changed; None where there are none."""
    if old.__class__ is not now.__class__ or now.__class__ not in (list, dict) or len(old) != len(now):
        return None
    places = now.keys() if now.__class__ is dict else range(len(now))
    changed = {
        place: _widened(old[place], now[place])
        for place in places
        if (now.__class__ is list or place in old)
        and isinstance(old[place], Const)
        and isinstance(now[place], Const)
        and isinstance(old[place].value, (int, float))
        and not isinstance(old[place].value, bool)
        and old[place].value != now[place].value
    }
    if not changed:
        return None
    if now.__class__ is dict:
        return {**now, **changed}
    return [changed.get(place, value) for place, value in enumerate(now)]


def _are_alike(old: Instance, now: Instance) -> bool:
    """Whether two objects of a class of the program's hold the same, as far as devices go."""
    if old.cls is not now.cls or not isinstance(old.cls, Class) or old.module is not now.module:
        return False
    if old.fields.keys() != now.fields.keys() or _weight(old.fields) != _weight(now.fields):
        return False
    one, other = ([kept.value for kept in held.fields.values() if isinstance(kept, Const)] for held in (old, now))
    return one == other


def _are_same(old: Any, now: Any) -> bool:
    """Whether the children of a module are the same objects."""
    return old.__class__ is now.__class__ and len(old or ()) == len(now or ()) and all(map(is_, old or (), now or ()))


def _weight(items: Any) -> list[Any]:
    """What a container holds, as far as devices go."""
    if items.__class__ not in (list, dict):
        return []
    values = items.values() if items.__class__ is dict else items
    found: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value.device)
        elif isinstance(value, (Sequence, Mapping)):
            found.extend(_weight(value.items))
        elif not isinstance(value, (Const, Unknown, Scalar, Array)):
            found.append(id(value))
    return found
