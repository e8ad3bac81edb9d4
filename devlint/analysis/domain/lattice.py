"""The join of abstract values, and what it loses.

There are no unions: unlike values join to `Unknown` (or `Scalar` when both are harmless, which says of integers which
they may be; what is joined with None is `Maybe` there). A join that loses a device,
a tensor, a module or a handle says so through the flag of `Loss`: then the condition behind it is worth a run for each
answer (`devlint.analysis.flow.choices`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from devlint.analysis.domain.ancestry import is_named_tuple
from devlint.analysis.domain.callables import CALLED, callables, is_same_code, one_of_two
from devlint.analysis.domain.carrying import PARTIAL, carries_device, device_type, names_device
from devlint.analysis.domain.derived import DeviceText
from devlint.analysis.domain.records import is_distinct, is_record
from devlint.analysis.domain.values import (
    ANY_SIZE,
    BOOL,
    COUNT,
    LOST_DEVICE,
    NUMBER,
    POISON,
    PRESENT,
    SCALAR,
    SOME_RANK,
    STRING,
    UNKNOWN,
    Answer,
    Array,
    Bound,
    Class,
    Const,
    DeviceValue,
    External,
    FilledIn,
    Function,
    Instance,
    Mapping,
    Maybe,
    OneOf,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_none,
)
from devlint.analysis.frames import Locals
from devlint.analysis.store import MISSING
from devlint.semantics import libraries
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from collections.abc import Container

    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.events import Choice, Site
    from devlint.analysis.flow.choices import ChoiceKey

_MOST_KNOWN = 8
"""Of more integers than these only the least and the greatest are known."""
_OPTIONAL = (Tensor, Instance, DeviceValue, Sequence, Mapping, OneOf)


class KeptState(NamedTuple):
    """The state that an optimizer keeps for one parameter: where it is, which step made it, and the conditions behind
    which alone it is there."""

    device: str
    made: Site
    behind: tuple[Choice, ...] = ()


_REGISTERED = ("parameter", "buffer")
_A_MODULE_OR_NONE = ("module", "")


def _common_beginning(a: Tensor, b: Tensor) -> Origin | None:
    """Where two tensors on different devices both begin, though one was moved on: what one may be, both may."""
    if a.origin is None or b.origin is None:
        return None
    first = a.origin.first()
    return first if first is b.origin.first() else None


class Loss:
    """Whether a join since the last reset lost a device; `either`: one of "cpu" and "cuda", so the program can do with
    both. `named`: whether what any join of the run lost named a device, or stood on two; `hidden`: whether a tensor
    that did not stand at `place` may have been lost, or its place. `behind`: the condition whose sides are being
    joined, and the answer to it that gave the first. `exact`: the whole condition hangs on that answer.
    `counts_gpus`: that condition is an option about GPUs, so that numbers may be those of GPUs. `indices`: where
    numbers of GPUs were reckoned from how many there are. `bounds`: whether what two integers become lies between
    them, as behind a branch; of what stands for more than was seen (items of a container, ways out of a loop)
    nobody knows. `bounded`: how often that was said. `files`: the names of the files that the program has saved, on
    whatever way: who forgets the name of one forgets what it holds. `sides`: what a path says on the one side and
    on the other of the condition whose sides are being joined. `parameters`: what two of them have become in this join,
    by their identities: an attribute and an item of a list that were one are one afterwards. `loads`: what
    was loaded from files: beside anything else it may be that still."""

    __slots__ = (
        "lost",
        "either",
        "named",
        "hidden",
        "place",
        "behind",
        "exact",
        "counts_gpus",
        "indices",
        "bounds",
        "bounded",
        "files",
        "sides",
        "parameters",
        "loads",
    )

    def __init__(self) -> None:
        self.loads: Container[Any] = ()
        self.parameters: dict[tuple[int, int], tuple[Tensor, Tensor, Tensor]] | None = None
        self.files: set[Any] = set()
        self.lost = False
        self.either = False
        self.named = False
        self.hidden = False
        self.place = ""
        self.behind: tuple[ChoiceKey, bool] | None = None
        self.exact = False
        self.sides: tuple[Choice, Choice] | None = None
        self.counts_gpus = False
        self.indices: set[tuple[str, int, int]] = set()
        self.bounds = True
        self.bounded = 0

    def _is_counted(self, *values: Any) -> bool:
        """Whether one of two numbers was reckoned from how many GPUs there are."""
        return any(v.__class__ is Const and v.site is not None and v.site.key in self.indices for v in values)

    def without_bounds(self, a: Any, b: Any) -> Any:
        """Join two entries of the store, of which numbers may go on beyond what was seen of them."""
        self.bounds = False
        try:
            return self.join(a, b)
        finally:
            self.bounds = True

    def join(self, a: Any, b: Any) -> Any:
        """Join two entries of the store: values, slots of objects (device names, lists), or MISSING."""
        if a is b or b is MISSING:
            return a
        if a is MISSING:
            return b
        if isinstance(a, Value) and isinstance(b, Value):
            return self.values(a, b)
        return self._raw(a, b)

    def _raw(self, a: Any, b: Any) -> Any:
        if a == b:
            return a
        if a.__class__ is list and b.__class__ is list:
            if len(a) == len(b) and all(isinstance(x, Value) for x in a + b):
                return [self.values(x, y) for x, y in zip(a, b, strict=True)]
            return a if len(a) >= len(b) else b  # open now: what is in it is known, if it is there
        if a.__class__ is dict and b.__class__ is dict:
            joined = {key: self.join(a.get(key, MISSING), b.get(key, MISSING)) for key in {**a, **b}}
            for key in a.keys() ^ b.keys() if self.sides is not None else ():
                kept = joined[key]
                if isinstance(kept, KeptState) and self.sides is not None:
                    joined[key] = kept._replace(behind=(*kept.behind, self.sides[key not in a]))  # on this side alone
                    self.lost = True
            return joined
        if a.__class__ is bool and b.__class__ is bool:
            return True  # flags of objects (open, unsure) are true when in doubt
        if a.__class__ is int and b.__class__ is int:
            return max(a, b)
        if a in _REGISTERED and b in _REGISTERED:
            return "buffer"  # a buffer on one side, a parameter on the other: either moves with its module
        if a in _A_MODULE_OR_NONE and b in _A_MODULE_OR_NONE:
            return "module"  # what is a module is registered, and on the other side there is none
        if isinstance(a, (str, type(None))) and isinstance(b, (str, type(None))):
            if POISON in (a, b):
                return b if a == POISON else a  # a way on which the program has failed leads no further
            # a device, or what one would hang on
            if any(text is not None and parse_device(text) is not None for text in (a, b)):
                self._lose_name()
            return None
        if isinstance(a, DeviceValue) or isinstance(b, DeviceValue):
            self._lose_name()  # the default device: on one side the program has chosen one
            return DeviceValue("?")
        if isinstance(a, Value) or isinstance(b, Value):
            value = b if a is None else a if b is None else UNKNOWN
            return value if value.__class__ is Unknown else UNKNOWN  # no less is known of it where it is not
        if isinstance(a, frozenset) and isinstance(b, frozenset):
            return a | b
        if isinstance(a, KeptState) and isinstance(b, KeptState):
            return max(a, b, key=lambda kept: len(kept.behind))
        if isinstance(a, tuple) and isinstance(b, tuple) and not all(isinstance(part, int) for part in a + b):
            return max(a, b, key=len)  # what was gathered (options, hooks): on one side there is more of it
        if isinstance(a, tuple) or isinstance(b, tuple):
            self._lose_name()  # the visible devices: on one side the program has chosen some
            return None
        return a if b is None else b

    def values(self, a: Value, b: Value) -> Value:
        """Join two values."""
        if a is b:
            return a
        kind, other = a.__class__, b.__class__
        if kind is other:
            same = _JOIN.get(kind)
            if same is not None:
                joined: Value = same(self, a, b)
                return joined
        if isinstance(a, OneOf) and isinstance(b, OneOf) and a.options == b.options:
            return OneOf(a.options, a.open or b.open)  # asked for under two names
        if kind is FilledIn or other is FilledIn:
            self._lose_written(a, b)
        elif carries_device(a) or carries_device(b) or names_device(a) or names_device(b):
            self.lost = True
            self.named = self.named or any(x.__class__ is DeviceValue or names_device(x) for x in (a, b))
            self._note_either(a, b)
        elif (self.counts_gpus and (_is_index(a) or _is_index(b))) or (self.indices and self._is_counted(a, b)):
            self.lost = True
        elif self.files and (self._names_file(a) or self._names_file(b)):
            self.lost = True
        if kind is Maybe or other is Maybe or is_none(a) or is_none(b):
            optional = self._with_none(a, b)
            if optional is not None:
                return optional
        if kind in (Const, Scalar) and other in (Const, Scalar):
            return self._scalars(self._as_scalar(a), self._as_scalar(b))
        if kind in CALLED and other in CALLED and callables(a) and callables(b):
            return self._code(a, b)
        if kind is OneOf or other is OneOf:
            member = self._members(a, b)
            if member is not None:
                return member
        self.hidden = self.hidden or self._may_stray(a) or self._may_stray(b)
        if self.loads:
            for value in (a, b):
                if value.__class__ is Unknown and value in self.loads:
                    return value
        return PRESENT if (a is PRESENT and other is Instance) or (b is PRESENT and kind is Instance) else UNKNOWN

    def _with_none(self, a: Value, b: Value) -> Maybe | None:
        """The join of a value that carries a device with None, or of what such joins gave; None if it is no such."""
        if is_none(a) or is_none(b):
            value = a if is_none(b) else b
            if isinstance(value, Maybe):
                return Maybe(value.value)
            if not (value.__class__ in _OPTIONAL or names_device(value)):
                return None
            if self.behind is None:
                return Maybe(value)
            key, answer = self.behind
            return Maybe(value, key, answer if value is a else not answer)
        return self._maybes(a, b)

    def _maybes(self, a: Value, b: Value) -> Maybe | None:
        inner, other = (value.value if isinstance(value, Maybe) else value for value in (a, b))
        value = self.values(inner, other)
        if not (value.__class__ in _OPTIONAL or names_device(value)):
            return None
        if isinstance(a, Maybe) and isinstance(b, Maybe) and (a.key, a.there) == (b.key, b.there):
            return Maybe(value, a.key, a.there)
        return Maybe(value)

    def _optionals(self, a: Maybe, b: Maybe) -> Value:
        return self._maybes(a, b) or UNKNOWN

    def _consts(self, a: Const, b: Const) -> Value:
        if a.value == b.value and type(a.value) is type(b.value):
            return a
        if a.value == b.value and isinstance(a.value, str):
            return b if isinstance(a.value, DeviceText) else a
        if names_device(a) or names_device(b):
            self._lose_name()
            self._note_either(a, b)
            if a.value is None or b.value is None:
                return self._with_none(a, b) or UNKNOWN
        elif self.files and (self._names_file(a) or self._names_file(b)):
            self.lost = True
        elif a.value.__class__ is bool and b.value.__class__ is bool and self.exact and self.behind is not None:
            key, answer = self.behind
            return Answer(key, answer if a.value else not answer)  # `True if args.cuda else False`
        return self._scalars(self._as_scalar(a), self._as_scalar(b))

    def _answers(self, a: Answer, b: Answer) -> Value:
        return a if (a.key, a.polarity) == (b.key, b.polarity) else BOOL

    def _devices(self, a: DeviceValue, b: DeviceValue) -> Value:
        if a.type == b.type and a.index == b.index:
            return a
        self._lose_name()
        self._note_either(a, b)
        return UNKNOWN if self.behind is None else LOST_DEVICE

    def _names_file(self, value: Value) -> bool:
        return value.__class__ is Const and value.value.__class__ is str and value.value in self.files

    def _lose_name(self) -> None:
        self.lost = self.named = True

    def _note_either(self, a: Value, b: Value) -> None:
        if {device_type(a), device_type(b)} == {"cpu", "cuda"}:
            self.either = True

    def _tensors(self, a: Tensor, b: Tensor) -> Value:
        if (a.size == 0) is not (b.size == 0):
            return b if a.size == 0 else a  # an empty one keeps the place for what the other side puts there
        if self.parameters is not None and a.is_parameter and b.is_parameter:
            pair = (id(a), id(b)) if id(a) < id(b) else (id(b), id(a))
            known = self.parameters.get(pair)
            if known is None:
                known = self.parameters[pair] = (self._joined(a, b), a, b)
            return known[0]
        return self._joined(a, b)

    def _joined(self, a: Tensor, b: Tensor) -> Tensor:
        if a.device != b.device:
            if POISON in (a.device, b.device):
                return b if a.device == POISON else a  # a way on which the program has failed leads no further
            self.lost = True
            self.named = self.named or (a.device is not None and b.device is not None)
            self.hidden = self.hidden or not {a.device, b.device} <= {None, self.place}
        device = a.device if a.device == b.device else None
        rank = a.rank if a.rank == b.rank else SOME_RANK if a.rank and b.rank else None
        joined = Tensor(device, rank, a.origin if device or a.origin is b.origin else _common_beginning(a, b))
        if device is None:
            joined.behind = a.behind or b.behind or (None if self.behind is None else self.behind[0])
        joined.assumed = a.assumed and b.assumed
        joined.requires_grad = a.requires_grad if a.requires_grad == b.requires_grad else None
        joined.is_parameter = a.is_parameter and b.is_parameter
        joined.size = a.size if a.size == b.size else ANY_SIZE if ANY_SIZE in (a.size, b.size) else None
        joined.dtype = a.dtype if a.dtype == b.dtype else None
        joined.pinned = a.pinned and b.pinned
        if a.shared is not None and b.shared is not None and a.shared.of is b.shared.of:
            joined.shared = b.shared if b.shared.is_stale else a.shared
        joined.is_element = joined.rank is None and (_may_be_number(a) or _may_be_number(b))
        if a.attributes is not None and b.attributes is not None:
            shared = a.attributes.keys() & b.attributes.keys()
            joined.attributes = {name: self.values(a.attributes[name], b.attributes[name]) for name in shared}
        if a.pending is not None and b.pending is not None:
            joined.pending = min(a.pending, b.pending)
        return joined

    def _sequences(self, a: Sequence, b: Sequence) -> Value:
        if len(a.items) == len(b.items):
            items = [self.values(x, y) for x, y in zip(a.items, b.items, strict=True)]
            return Sequence(a.kind, items, a.open or b.open)
        longer, shorter = (a, b) if len(a.items) > len(b.items) else (b, a)
        n = len(shorter.items)
        items = [self.values(x, y) for x, y in zip(longer.items[:n], shorter.items, strict=True)]
        if any(map(carries_device, longer.items[n:])):
            self.lost = True
        return Sequence(a.kind, items + longer.items[n:], True)

    def _mappings(self, a: Mapping, b: Mapping) -> Value:
        items = {key: self.join(a.items.get(key, MISSING), b.items.get(key, MISSING)) for key in {**a.items, **b.items}}
        rest = a.rest if b.rest is None else b.rest if a.rest is None else self.values(a.rest, b.rest)
        joined = Mapping(items, rest, a.open or b.open or a.items.keys() != b.items.keys(), a.kind, a.factory)
        optional = [key for key in items if key not in a.items or key not in b.items]
        optional += [key for side in (a, b) for key in side.optional or () if side.may_lack(key)]
        joined.optional = {key: items[key] for key in optional} or None
        return joined

    def _unknowns(self, a: Unknown, b: Unknown) -> Value:
        if a.path != b.path or a in _DISTINCT or b in _DISTINCT:
            return UNKNOWN
        return a

    def _filled_in(self, a: FilledIn, b: FilledIn) -> Value:
        keys = {**a.written, **b.written}
        joined = {key: self.values(a.written.get(key, UNKNOWN), b.written.get(key, UNKNOWN)) for key in keys}
        path = a.path if a.path == b.path else None
        return FilledIn(path, a.named and path is not None, joined)

    def _lose_written(self, a: Value, b: Value) -> None:
        """The same of an object into which nothing was written on one side."""
        for side in (a, b):
            for value in side.written.values() if isinstance(side, FilledIn) else ():
                self.values(value, UNKNOWN)

    def _scalars(self, a: Scalar, b: Scalar) -> Value:
        if not self.bounds and (a.among is None or a.among != b.among):
            a, b = unbound(a), unbound(b)
        low = None if a.low is None or b.low is None else min(a.low, b.low)
        high = None if a.high is None or b.high is None else max(a.high, b.high)
        among = a.among if a.among == b.among else self._either_text(a, b)
        self.bounded += high is not None or among is not a.among
        numbers = None if a.numbers is None or b.numbers is None else a.numbers | b.numbers
        if numbers is not None and len(numbers) > _MOST_KNOWN:
            numbers = None
        kind = a.kind if a.kind == b.kind else ""
        return Scalar(low, kind, high, among, numbers)

    def _either_text(self, a: Scalar, b: Scalar) -> frozenset[str] | None:
        """What a string may be that is one of these two, if that is known and is not much."""
        if not self.bounds or a.among is None or b.among is None:
            return None
        among = a.among | b.among
        return among if len(among) <= _MOST_KNOWN else None

    def _as_scalar(self, value: Value) -> Scalar:
        """What is left of a constant when its value is forgotten."""
        if isinstance(value, Scalar):
            return value
        content = value.value if isinstance(value, Const) else None
        if isinstance(content, str):
            return Scalar(None, "string", None, frozenset((content,))) if self.bounds else STRING
        if isinstance(content, bool):
            return BOOL
        if isinstance(content, int) and self.bounds:
            return Scalar(content, "number", content, None, frozenset((content,)))
        return NUMBER if isinstance(content, (int, float)) else SCALAR

    def _instances(self, a: Instance, b: Instance) -> Value:
        one, other = a.cls, b.cls
        if isinstance(one, External) and isinstance(other, External) and one.path == other.path:
            if libraries.holds_nothing(one.path):
                return a
        if one is other and isinstance(one, Class) and not (a.state or b.state) and a.fields.keys() == b.fields.keys():
            if a.module is b.module is None and (is_named_tuple(one) or (not self.bounds and is_record(one))):
                return self._records(a, b)
        both_call = isinstance(one, External) and isinstance(other, External) and one.path == other.path == PARTIAL
        self.lost = self.lost or both_call or carries_device(a) or carries_device(b)
        return self._members(a, b) or PRESENT

    def _members(self, a: Value, b: Value) -> OneOf | None:
        """One of several members of an enumeration, None where these are others, or too many."""
        one, other = _options(a), _options(b)
        added = [member for member in other if not any(member is known for known in one)]
        if not self.bounds or not one or not other or one[0].cls is not other[0].cls:
            return None
        if isinstance(a, OneOf) and not added:
            return a
        if isinstance(b, OneOf) and len(one) + len(added) == len(other):
            return b
        return OneOf([*one, *added]) if len(one) + len(added) <= _MOST_KNOWN else None

    def _records(self, a: Instance, b: Instance) -> Value:
        """A record of its own: any of two whose fields nobody changes through others."""
        made = Instance(a.cls, a.site)
        made.fields = {name: self.values(value, b.fields[name]) for name, value in a.fields.items()}
        made.places = a.places
        return made

    def _externals(self, a: External, b: External) -> Value:
        return a if a.path == b.path else UNKNOWN

    def _arrays(self, a: Array, b: Array) -> Value:
        source = a.source if a.source is b.source else None
        rank = a.rank if a.rank == b.rank else SOME_RANK if a.rank and b.rank else None
        return Array(rank, source, a.may_be_number or b.may_be_number)

    def _code(self, a: Value, b: Value) -> Value:
        """One of two functions or classes behind a condition: a call takes it by the answer to that."""
        if is_same_code(a, b):
            return a
        self.lost = True
        self.hidden = self.hidden or self._may_stray(a)
        return UNKNOWN if self.behind is None or not self.exact else one_of_two(a, b, *self.behind)

    def _may_stray(self, value: Value) -> bool:
        """Whether a value is a tensor that does not stand at `place`, or may hold one that nothing else does."""
        if isinstance(value, Sequence):
            return any(map(self._may_stray, value.items))
        if isinstance(value, Mapping):
            return any(map(self._may_stray, value.items.values())) or isinstance(value.rest, Tensor)
        if isinstance(value, Function):
            return isinstance(value.frame.names, Locals) or any(map(self._may_stray, value.defaults.values()))
        if isinstance(value, Maybe):
            return self._may_stray(value.value)
        return isinstance(value, Tensor) and value.device not in (None, self.place)


_DISTINCT: Final = (LOST_DEVICE, PRESENT)


def _options(value: Value) -> list[Instance]:
    """The members of an enumeration that a value may be, if it is surely one of them."""
    options = value.options if isinstance(value, OneOf) and not value.open else [value]
    members = [option for option in options if isinstance(option, Instance) and is_distinct(option)]
    return members if len(members) == len(options) else []


def unbound(value: Scalar) -> Scalar:
    """What is left of a number that may go on beyond what was seen of it: at most, that it is not negative. Of a string
    that may be another in other rounds it is that it is one."""
    if value.among is not None:
        return STRING
    if value.high is None:
        return value
    return COUNT if value.low is not None and value.low >= 0 else NUMBER


def _may_be_number(tensor: Tensor) -> bool:
    return (tensor.is_element and tensor.rank is None) or tensor.rank == 0


def _is_index(value: Value) -> bool:
    """Whether a value is a number, or a list of numbers."""
    if isinstance(value, Sequence):
        return bool(value.items) and not value.open and all(map(_is_index, value.items))
    return isinstance(value, Const) and value.value.__class__ is int


_JOIN: dict[type, Any] = {
    Const: Loss._consts,
    DeviceValue: Loss._devices,
    Tensor: Loss._tensors,
    Sequence: Loss._sequences,
    Mapping: Loss._mappings,
    Unknown: Loss._unknowns,
    FilledIn: Loss._filled_in,
    Scalar: Loss._scalars,
    Instance: Loss._instances,
    External: Loss._externals,
    Array: Loss._arrays,
    Function: Loss._code,
    Class: Loss._code,
    Maybe: Loss._optionals,
    Answer: Loss._answers,
    Bound: Loss._code,
}
