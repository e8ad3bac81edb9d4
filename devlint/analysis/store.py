"""The one place where a run's state changes, with an undo log.

A branch that the world does not decide runs both sides from the same state: mark, run one side, roll back and keep its
delta, run the other, roll back, join the two deltas. The cost is the number of writes in the branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from devlint.analysis.domain.values import DeviceValue, Maybe


class _Missing:
    """The absence of a key in a dict."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()

Entry = tuple[Any, Any, bool, Any]
"""Target, key, whether the key is a slot of an object, and the value."""

Delta = dict[tuple[int, Any], Entry]
"""What a side of a fork wrote: the last value by target and key."""


class Store:
    """Writes with an undo log. `epoch` grows with every write to an object and every rollback."""

    __slots__ = ("log", "epoch")

    def __init__(self) -> None:
        self.log: list[Entry] | None = None
        self.epoch = 0

    def put(self, target: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `target[key]`."""
        if self.log is not None:
            self.log.append((target, key, False, target.get(key, MISSING)))
        target[key] = value

    def remove(self, target: dict[Any, Any], key: Any) -> None:
        """Delete `target[key]`, if it is there."""
        if key in target:
            if self.log is not None:
                self.log.append((target, key, False, target[key]))
            del target[key]

    def set(self, target: object, slot: str, value: Any) -> None:
        """Set a slot of an object."""
        self.epoch += 1
        if self.log is not None:
            self.log.append((target, slot, True, getattr(target, slot)))
        setattr(target, slot, value)

    def turn(self, target: object, slot: str, value: Any) -> None:
        """Set a slot that is set back at an end, and by which the contexts of calls are told apart anyway: what is
        remembered of others still holds."""
        if getattr(target, slot) is not value:
            if self.log is not None:
                self.log.append((target, slot, True, getattr(target, slot)))
            setattr(target, slot, value)

    def open(self) -> bool:
        """Begin to log, if that has not begun. Returns whether it began here (then `close` ends it)."""
        if self.log is None:
            self.log = []
            return True
        return False

    def close(self) -> None:
        """Stop logging; what was written stays."""
        self.log = None

    def mark(self) -> int:
        """Return a mark to roll back to. The log must be open."""
        assert self.log is not None
        return len(self.log)

    def position(self) -> int:
        """The same where the log may not be open: 0 then."""
        return len(self.log) if self.log is not None else 0

    def rollback(self, mark: int) -> Delta:
        """Undo everything since `mark`, and return what it was."""
        log = self.log
        assert log is not None
        self.epoch += 1
        delta: Delta = {}
        if len(log) == mark:
            return delta
        for index in range(len(log) - 1, mark - 1, -1):
            target, key, is_slot, old = log[index]
            identity = (id(target), key)
            if is_slot:
                if identity not in delta:
                    delta[identity] = (target, key, True, getattr(target, key))
                setattr(target, key, old)
            else:
                if identity not in delta:
                    delta[identity] = (target, key, False, target.get(key, MISSING))
                if old is MISSING:
                    target.pop(key, None)
                else:
                    target[key] = old
        del log[mark:]
        return delta

    def undo(self, mark: int) -> None:
        """Undo everything since `mark`."""
        log = self.log
        assert log is not None
        self.epoch += 1
        for target, key, is_slot, old in reversed(log[mark:]):
            if is_slot:
                setattr(target, key, old)
            elif old is MISSING:
                target.pop(key, None)
            else:
                target[key] = old
        del log[mark:]

    def apply(self, delta: Delta, instead: dict[int, Any] | None = None) -> None:
        """Write a delta again; for an object whose `id` is in `instead`, to what stands there."""
        for target, key, is_slot, value in delta.values():
            if instead is not None:
                target = instead.get(id(target), target)
            if is_slot:
                self.set(target, key, value)
            elif value is MISSING:
                self.remove(target, key)
            else:
                self.put(target, key, value)

    def merge(self, first: Delta, second: Delta, join: Callable[[Any, Any], Any]) -> None:
        """Write the join of two deltas that began from the present state.

        What only one of them wrote comes first: an object that one side made has its attributes when it is joined.
        """
        if not first and not second:
            return
        uneven: list[Any] = []
        identities = [one for one in first if one not in second]
        identities += [one for one in second if one not in first]
        if second:
            identities += [one for one in first if one in second]
        for identity in identities:
            target, key, is_slot, _ = first.get(identity) or second[identity]
            now = getattr(target, key) if is_slot else target.get(key, MISSING)
            a = first[identity][3] if identity in first else now
            b = second[identity][3] if identity in second else now
            value = a if a is b else now if now.__class__ is Maybe and now.is_told(a, b) else join(a, b)
            if is_slot:
                if key == "cls" and a is not b:
                    value = now  # an object that one side alone gave another class has the one that it had
                elif key in ("default_device", "default_type") and a is not b:
                    value = DeviceValue("?")  # which of the two is in force nobody knows
                elif key == "of":
                    value = b if a is None else a  # a dict that one side has made an object's attributes is theirs
                self.set(target, key, value)
                if key == "items" and differ(a, b):
                    uneven.append(target)
            elif value is not MISSING:
                self.put(target, key, value)
        for target in uneven:
            if not target.open:
                self.set(target, "open", True)


def differ(a: Any, b: Any) -> bool:
    """Whether the items of one container, at two times, are not equally many (or not under the same keys)."""
    if a.__class__ is dict and b.__class__ is dict:
        return bool(a.keys() != b.keys())
    return a.__class__ is list and b.__class__ is list and len(a) != len(b)
