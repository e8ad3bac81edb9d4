"""Abstract values. Immutable unless the docstring says "object".

An object has identity: one Python object of the interpreter for one execution of an allocation, so that aliases see
what is done to it. Objects are changed through the store only (`devlint.analysis.store`), which can undo it.
There are no unions but `Maybe`, a value or None: where two unlike values join, the result is `Unknown`, and the store
notes what was lost.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.domain.derived import Kept
from devlint.analysis.events import Site

if TYPE_CHECKING:
    from devlint.analysis.domain.module_state import ModuleState
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame, Namespace
    from devlint.syntax import ir

POISON: Final = "!"
"""The device of a tensor that a reported crash has touched: it absorbs, so that one bug does not echo."""


birth: Final = count().__next__
"""The next moment of creation: tells what a round of a loop made itself from what was there before."""


class Value:
    """An abstract value."""

    __slots__ = ()


class Const(Value):
    """A known Python value (number, str, bytes, bool, None, Ellipsis). `site`: where a string was written."""

    __slots__ = ("value", "site")

    def __init__(self, value: Any, site: Site | None = None) -> None:
        self.value = value
        self.site = site

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Unknown(Value):
    """Nothing is known. `path` is its canonical name (`args.cuda`), which makes it a choice that can be named.

    `named`: the path is a free input of the program (an argument, a flag), so both answers are real.
    `default`: what the program itself says it is unless the user says otherwise (an argparse default).
    `is_flag`: it is True or False, and nothing else.
    """

    __slots__ = ("path", "named", "default", "is_flag")

    def __init__(
        self, path: str | None = None, named: bool = False, default: Value | None = None, is_flag: bool = False
    ) -> None:
        self.path = path
        self.named = named
        self.default = default
        self.is_flag = is_flag

    def __repr__(self) -> str:
        return f"Unknown({self.path})"


class Maybe(Unknown):
    """A value or None, nobody knows which: unknown until a test tells, and then the value.

    `key`: the condition behind which they were joined, if that is known; the value is there where its answer is
    `there`.
    """

    __slots__ = ("value", "key", "there")

    def __init__(self, value: Value, key: ChoiceKey | None = None, there: bool = True) -> None:
        super().__init__()
        self.value = value
        self.key = key
        self.there = there

    def __repr__(self) -> str:
        return f"Maybe({self.value!r})"

    def is_told(self, a: object, b: object) -> bool:
        """Whether these two are what a test of it comes to, on one side and the other."""
        return (a is self.value and is_none(b)) or (b is self.value and is_none(a))


class FilledIn(Unknown):
    """Nothing is known but what the program itself has written into it (`filled_in.py`), by `.name` and `[key]`."""

    __slots__ = ("written",)

    def __init__(self, path: str | None, named: bool, written: dict[str, Value]) -> None:
        super().__init__(path, named)
        self.written = written


class Host(Unknown):
    """What surely is no tensor and leads to none: an environment of gym and what it gives. Nothing else is known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Host()"


class Environment(Unknown):
    """An environment of gymnasium. `is_own`: one that the package has itself, which gives arrays and numbers."""

    __slots__ = ("is_own",)

    def __init__(self, is_own: bool) -> None:
        super().__init__()
        self.is_own = is_own

    def __repr__(self) -> str:
        return f"Environment({self.is_own})"


class Answer(Unknown):
    """What a question came to that has no name of its own: the answer to the condition `key`, or its contrary.

    `holds`: whether it holds where the program is started without arguments, if it asks for these.
    """

    __slots__ = ("key", "polarity", "holds")

    def __init__(self, key: ChoiceKey, polarity: bool, holds: bool | None = None) -> None:
        super().__init__()
        self.key = key
        self.polarity = polarity
        self.holds = holds


class Scalar(Value):
    """A Python number, string, bool, dtype or shape entry of unknown value: surely no tensor and harmless.

    `low` and `high` are bounds of a number (0 for sizes), or None. `kind` is `number`, `string`, `bool`, `dtype` or "".
    `among`: what a string may be, where that is known; `numbers`: what an integer may be.
    """

    __slots__ = ("low", "high", "kind", "among", "numbers")

    def __init__(
        self,
        low: int | None = None,
        kind: str = "",
        high: int | None = None,
        among: frozenset[str] | None = None,
        numbers: frozenset[int] | None = None,
    ) -> None:
        self.low = low
        self.high = high
        self.kind = kind
        self.among = among
        self.numbers = numbers

    def __repr__(self) -> str:
        return f"Scalar({self.kind})"


SOME_INDEX: Final = -2
"""The index of a device that has one, nobody knows which."""


class DeviceValue(Value):
    """A `torch.device`; an index of None is the current device, SOME_INDEX is not known. `site`: where it was named.

    `is_text`: it is a string that names such a device (`f"cuda:{rank}"`), not a handle. `of`: the tensor whose device
    it was asked for.
    """

    __slots__ = ("type", "index", "site", "is_text", "of")

    def __init__(self, type: str, index: int | None = None, site: Site | None = None) -> None:
        self.type = type
        self.index = index
        self.site = site
        self.is_text = False
        self.of: Tensor | None = None

    def __repr__(self) -> str:
        return f"DeviceValue({self})"

    def __str__(self) -> str:
        if self.index == SOME_INDEX:
            return f"{self.type}:?"
        return self.type if self.index is None else f"{self.type}:{self.index}"


class Shared:
    """What a tensor shares its memory with: the parameter or buffer `of` a module. `site`: where a move was to copy it
    and did not. `is_stale`: the weight has changed since. Written through the store."""

    __slots__ = ("of", "site", "is_stale")

    def __init__(self, of: Tensor, site: Site | None = None, is_stale: bool = False) -> None:
        self.of = of
        self.site = site
        self.is_stale = is_stale


class Tensor(Value):
    """A tensor object.

    `device`: `cpu`, `cuda:0`, ...; None is unknown, POISON was part of a reported crash.
    `rank`: number of dimensions (SOME_RANK: at least one, MANY_RANK: at least two), None unknown; `size`: length of the
    first, if known, or ANY_SIZE.
    `origin`: how it came to be. `is_parameter`: an `nn.Parameter`. `assumed`: an input by protocol.
    `pending`: for a non-blocking copy to the host, the number of synchronizations there had been.
    `requires_grad`: True, False or None. `dtype`: `torch.float32` or None. `pinned`: in page-locked host memory.
    `base`: the tensor of which this is a view, by indexing. `is_element`: taken by a number out of a tensor of unknown
    rank, so that it may have no dimensions left, or an index found along a dimension, of which there may be one only.
    `attributes`: what the program itself set on it (replaced, never
    mutated). `keeps_grad`: a backward pass may leave its gradient in `.grad`, as that of a leaf. `sides`: for an item
    of a list that grows in a loop, the tensors that it is in rounds that went one way or the other. `behind`: the
    condition behind which its device was lost by a join. `shared`: the weight of a module whose memory this is.
    """

    __slots__ = (
        "device",
        "rank",
        "origin",
        "is_parameter",
        "assumed",
        "pending",
        "requires_grad",
        "dtype",
        "size",
        "pinned",
        "base",
        "is_element",
        "attributes",
        "keeps_grad",
        "sides",
        "behind",
        "shared",
    )

    def __init__(
        self,
        device: str | None,
        rank: int | None = None,
        origin: Origin | None = None,
        *,
        is_parameter: bool = False,
        assumed: bool = False,
        requires_grad: bool | None = None,
        dtype: str | None = None,
        size: int | None = None,
    ) -> None:
        self.device = device
        self.rank = rank
        self.origin = origin
        self.is_parameter = is_parameter
        self.assumed = assumed
        self.pending: int | None = None
        self.requires_grad = requires_grad
        self.dtype = dtype
        self.size = size
        self.pinned = False
        self.base: Tensor | None = None
        self.is_element = False
        self.attributes: dict[str, Value] | None = None
        self.keeps_grad = True
        self.sides: tuple[Tensor, Tensor] | None = None
        self.behind: ChoiceKey | None = None
        self.shared: Shared | None = None

    def __repr__(self) -> str:
        return f"Tensor({self.device}, rank={self.rank}, {self.origin and self.origin.kind})"


class Lost(Value):
    """Stands for what the program has set on a parameter, where the copy of it in a replica of DataParallel lacks it,
    or for what a replica has set on itself, where the module that it is a copy of lacks it.

    One for all tensors of a replica, or for all that one set; `told`: that it was asked for is told.
    """

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told = False


class Array(Value):
    """A numpy array. `source` is the tensor whose memory it shares: a copy to the one is read through the other.

    `may_be_number`: it is an item or a result that has no dimensions perhaps, and then is a number.
    """

    __slots__ = ("rank", "source", "may_be_number")

    def __init__(self, rank: int | None = None, source: Tensor | None = None, may_be_number: bool = False) -> None:
        self.rank = rank
        self.source = source
        self.may_be_number = may_be_number and not rank

    def __repr__(self) -> str:
        return "Array()"


class Sequence(Value):
    """A list, tuple, set or generator object: a known prefix, and perhaps more. `items` is replaced, never mutated.

    `kind` names the type; `replica` is the generator of the parameters that a replica of DataParallel does not have,
    `batch` what a loader out of sight yields, which may be of any type.
    `is_shape`: it is the shape of a tensor, or a part of one. `counted`: it has an item for each GPU. `sifted`: its
    items were chosen by a condition that is not decided; it may be empty. `tail`: the items that it was displayed
    with, and how many of these stand at its end (`*shape, device`). `result`: what a generator returns, which
    `yield from` gives.
    """

    __slots__ = ("kind", "items", "open", "born", "is_shape", "counted", "sifted", "tail", "result")

    def __init__(self, kind: str, items: list[Value], open: bool = False) -> None:
        self.kind = kind
        self.items = items
        self.open = open
        self.born = birth()
        self.is_shape = False
        self.counted = False
        self.sifted = False
        self.tail: tuple[list[Value], int] | None = None
        self.result: Value | None = None

    def at_end(self) -> int:
        """How many items of an open one surely stand at its end: those of a display, until it is given others."""
        return self.tail[1] if self.tail is not None and self.tail[0] is self.items else 0

    def __repr__(self) -> str:
        return f"Sequence({self.kind}, {self.items}{', ...' if self.open else ''})"


class Mapping(Value):
    """A dict object: values by constant key, and `rest` for the keys that are not known. `items` is replaced.

    `kind` names special dicts: `OrderedDict`, `defaultdict` (then `factory` makes missing values), `state_dict`. `of`:
    the object whose `__dict__` it is, or the module that registers what is in it; `holds`: what that is (`parameter`,
    `buffer`, `module`). `optional`: what only one of two dicts had, where it is not known which of them this is.
    `counted`: it has an item for each GPU, by its number.
    """

    __slots__ = ("items", "rest", "open", "kind", "factory", "born", "of", "holds", "optional", "counted")

    def __init__(
        self,
        items: dict[Any, Value],
        rest: Value | None = None,
        open: bool = False,
        kind: str = "dict",
        factory: Value | None = None,
    ) -> None:
        self.items = items
        self.rest = rest
        self.open = open or rest is not None
        self.kind = kind
        self.factory = factory
        self.born = birth()
        self.of: Instance | None = None
        self.holds = ""
        self.optional: dict[Any, Value] | None = None
        self.counted = False

    def may_lack(self, key: Any) -> bool:
        """Whether a key may not be there, and nothing was written under it since."""
        return self.optional is not None and key in self.optional and self.optional[key] is self.items.get(key)

    def __repr__(self) -> str:
        return f"Mapping({self.items}{', ...' if self.open else ''})"


class Function(Value):
    """A user function with its closure, defaults evaluated at its definition, and, for methods, its class.

    `kind`: "", `property`, `setter`, `staticmethod`, `classmethod`, `cached_property`, `contextmanager`.
    """

    __slots__ = ("node", "frame", "defaults", "owner", "kind", "attributes")

    def __init__(self, node: ir.Function, frame: Frame, defaults: dict[str, Value], owner: Class | None) -> None:
        self.node = node
        self.frame = frame
        self.defaults = defaults
        self.owner = owner
        self.kind = ""
        self.attributes: dict[str, Value] = {}

    def __repr__(self) -> str:
        return f"Function({self.node.name})"


class Bound(Value):
    """A function or an external name, bound to its receiver: `x.method`."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function = function
        self.receiver = receiver


class Method(Value):
    """A method of a value whose methods are models (`x.to` of a tensor, `xs.append`), taken but not yet called."""

    __slots__ = ("receiver", "name")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name


class OneOf(Value):
    """One of several functions, classes or members of an enumeration, nobody knows which: what a table has under an
    unknown key, or what a name is behind a condition.

    `asked`: the condition by which a call takes each option, where these have names.
    """

    __slots__ = ("options", "open", "asked")

    def __init__(self, options: list[Value], open: bool = False, asked: list[Unknown] | None = None) -> None:
        self.options = options
        self.open = open
        self.asked = asked or []


class Class(Value):
    """A user class object. `fields` are its attributes; `dataclass_fields` the names of its fields in order; `heirs`
    the classes that were derived from it directly, so far."""

    __slots__ = (
        "name",
        "bases",
        "fields",
        "frame",
        "node",
        "order",
        "dataclass_fields",
        "is_module",
        "properties",
        "heirs",
    )

    def __init__(self, name: str, bases: list[Value], fields: dict[str, Value], frame: Frame, node: ir.Class) -> None:
        self.name = name
        self.bases = bases
        self.fields = fields
        self.frame = frame
        self.node = node
        self.order: list[Value] | None = None
        self.dataclass_fields: list[str] | None = None
        self.is_module: bool | None = None
        self.properties: dict[str, Any] = {}
        self.heirs: list[Class] = []

    def __repr__(self) -> str:
        return f"Class({self.name})"


_NOWHERE: Final[dict[str, Site]] = {}


class Instance(Value):
    """An object with attributes. `cls` is a user class, or the External whose model it is.

    `state`: what a model keeps (a loader its dataset, an optimizer its parameters); changed through the store.
    `module` is set for `nn.Module` instances; `places`: where other instances were given their tensors.
    """

    __slots__ = ("cls", "fields", "state", "module", "places", "site")

    def __init__(self, cls: Class | External, site: Site | None = None) -> None:
        self.cls = cls
        self.fields: dict[str, Value] = {}
        self.state: dict[str, Any] = Kept()
        self.module: ModuleState | None = None
        self.places: dict[str, Site] = _NOWHERE
        self.site = site

    def __repr__(self) -> str:
        return f"Instance({self.cls!r})"


OWN_CLASS: Final = "class"
"""Under this key of its state, an instance keeps its class, where its model answers for several."""


class ModuleValue(Value):
    """A Python file of the project, imported."""

    __slots__ = ("namespace",)

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace


class External(Value):
    """A dotted name outside the project: `torch.nn.Linear`. Models and tables answer for it.

    `site`: where it was named, kept for the types that name a device (`torch.cuda.FloatTensor`).
    """

    __slots__ = ("path", "site")

    def __init__(self, path: str, site: Site | None = None) -> None:
        self.path = path
        self.site = site

    def __repr__(self) -> str:
        return f"External({self.path})"


class Super(Value):
    """What `super()` gives: attributes of the receiver's classes after `owner`."""

    __slots__ = ("owner", "receiver")

    def __init__(self, owner: Class, receiver: Value) -> None:
        self.owner = owner
        self.receiver = receiver


NONE: Final = Const(None)
TRUE: Final = Const(True)
FALSE: Final = Const(False)
UNKNOWN: Final = Unknown()
SOME_DEVICE: Final = Unknown()
"""The `torch.device` of a tensor that may be anywhere: no text is equal to it."""
LOST_DEVICE: Final = Unknown()
"""What a handle of one device and one of another were joined to behind a condition, which has runs of its own."""
LOST_TYPE: Final = Unknown()
"""The type of such a device: what it is follows from that condition."""
PART_DEVICE: Final = Unknown()
"""The device of something that an entry by protocol came by and of which nothing is known: it says where the inputs
are to who asks, and nothing is made there."""
TENSOR_TYPE: Final = Unknown()
"""What `x.type()` gives there: the text of a tensor's type, of which the device alone is known."""
CUT: Final = Unknown()
"""What a call gives that a bound left out: there is an answer, and asking for it is no choice."""
PLACED: Final = Unknown()
"""What stands at a place of a list (`devices[0]`) of which nothing is known: nobody chooses it to be None."""
RESULT: Final = Unknown()
"""What a call gives of which nothing is known: a program that asks whether it is None guards against what may never
be."""
IN_TEXT: Final = Unknown()
"""What a text of code binds that is executed in a dict: a function of the program's own, of which nothing is known."""
PRESENT: Final = Unknown()
"""What two different objects were joined to: nothing is known of it but that it is not None."""
SCALAR: Final = Scalar()
NUMBER: Final = Scalar(kind="number")
STRING: Final = Scalar(kind="string")
TEXT_OF_DEVICE: Final = Scalar(kind="string")
"""A text that is made of the name of a device and of what is not known: `f"{n}_{x.device}"`."""
BOOL: Final = Scalar(kind="bool")
RESULT_IS_NONE: Final = Scalar(kind="bool")
"""Whether such a result is None (or is not)."""
FOLLOWS: Final = Scalar(kind="bool")
"""The answer to a question that is not known but follows from what was computed, so that nobody chooses it: whether a
tensor is on a device, of which class a value is."""
DTYPE: Final = Scalar(kind="dtype")
NUMPY_DTYPE: Final = Scalar(kind="dtype")
SIZE: Final = Scalar(low=1, kind="number")
"""A length or dimension: taken to be at least 1, as a loop is taken to run at least once."""
COUNT: Final = Scalar(low=0, kind="number")
"""A position, remainder or rank: it may be 0."""
SLICE: Final = Scalar(kind="slice")
HOST: Final = Host()
HOST_DATA: Final = Host()
"""What arithmetic gives of an array and of what is not known: an array, or a tensor of the CPU."""

_SMALL: Final = [Const(number) for number in range(-8, 257)]
SOME_RANK: Final = 64
MANY_RANK: Final = SOME_RANK + 1
"""The rank of a tensor that has dimensions, nobody knows how many."""
ANY_SIZE: Final = -1
"""The size of a tensor whose rows were picked by what they hold: there may be none."""
MAX_ITEMS: Final = 64
"""How many items of a container are kept apart; past that it is open."""


def const(value: Any, site: Site | None = None) -> Const:
    """Return the constant, the interned one where there is one."""
    if value is None:
        return NONE
    if value is True:
        return TRUE
    if value is False:
        return FALSE
    if value.__class__ is int and -8 <= value <= 256:
        return _SMALL[value + 8]
    return Const(value, site)


def is_none(value: object) -> bool:
    """Tell whether the value is surely None (or was not given at all)."""
    return value is None or (isinstance(value, Const) and value.value is None)


def constant(value: Value | None) -> Any:
    """Return the Python value of a constant; `...` where it is not known (or absent)."""
    return value.value if isinstance(value, Const) else ...


def present(value: Value) -> Value:
    """What a value is if it is there at all."""
    return value.value if value.__class__ is Maybe else value
