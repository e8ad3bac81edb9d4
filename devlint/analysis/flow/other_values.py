"""Values of an option that are not its default, and that the program itself asks for.

`if args.mixup > 0:` goes one way where nobody gives `--mixup`, and so do `LOSSES[args.loss]` and `match args.loss:`.
Where another way has to do with devices and no run came to it, the program is run once more with the value that leads
there. What a program picks by the text of an option in ways that no run shows is seen by `picked_by_text.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from devlint.analysis.domain.ancestry import is_module_class
from devlint.analysis.domain.values import Class, Const, Function, Mapping, Sequence, Unknown, Value, constant
from devlint.analysis.events import Choice, Site
from devlint.analysis.flow.option_names import speaks_of_gpu
from devlint.analysis.frames import held
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.vocabulary import VOCABULARY
from devlint.syntax.walk import walk

if TYPE_CHECKING:
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

MAX_TRIED: Final = 4
"""How many ways that no run came to are tried in a program."""

Values: TypeAlias = "dict[str, Any]"
"""What options are, by their names."""

ANOTHER: Final = object()
"""The value of an option of which no more is known than that it is not the default."""

_OF_PROCESSES: Final = frozenset(
    "rank ranks world node nodes nnodes dist distributed nproc proc procs workers port seed device devices".split()
)
"""Words in the names of options that launchers and users of several machines give."""
_CONTRARY: Final = {"==": "!=", "<": ">=", "<=": ">", "in": "not-in"}
_CONTRARY.update({other: symbol for symbol, other in _CONTRARY.items()})
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_HOLDS: Final[dict[str, Callable[[Any, list[Any]], bool]]] = {
    "in": lambda value, others: value in others,
    "not-in": lambda value, others: value not in others,
    "==": lambda value, others: bool(value == others[0]),
    "!=": lambda value, others: bool(value != others[0]),
    "<": lambda value, others: bool(value < others[0]),
    "<=": lambda value, others: bool(value <= others[0]),
    ">": lambda value, others: bool(value > others[0]),
    ">=": lambda value, others: bool(value >= others[0]),
}


Aim: TypeAlias = "ir.Node | tuple[ir.Node, bool]"
"""What a way leads to: an answer to a condition, a case, or a function or class."""


class OtherWay:
    """A way that a program goes with other values of its options: those, what the way leads to, and where it is
    decided."""

    __slots__ = ("values", "aims", "site")

    def __init__(self, values: Values, aims: tuple[Aim, ...], site: Site | None) -> None:
        self.values = values
        self.aims = aims
        self.site = site


class Limited:
    """An option that takes no more than its choices: its default, these, and where the default is written."""

    __slots__ = ("default", "taken", "site")

    def __init__(self, default: Any, taken: tuple[Any, ...], site: Site | None) -> None:
        self.default = default
        self.taken = taken
        self.site = site


def read_default(machine: Machine, path: str, default: Value, choices: Value | None = None) -> Value:
    """What an option is in this run: its default, of which it is known that it is one, unless another is assumed."""
    if not isinstance(default, Const) or not _may_be_other(path, default):
        return default
    for key, way in machine.entry.other_ways.items():
        if path in way.values and machine.run.assume.get(key):
            value = way.values[path]
            choice = Choice(_given(path, default.value if value is ANOTHER else value), value is not ANOTHER, way.site)
            if all(one.condition != choice.condition for one in machine.run.path):
                machine.run.path.append(choice)
            return Unknown(path, True, default) if value is ANOTHER else Const(value)
    taken = _listed(choices)
    if taken:
        machine.run.limited[path] = Limited(default.value, taken, default.site)
    known = Const(default.value, default.site)
    machine.run.from_options[known] = path
    return known


def _listed(choices: Value | None) -> tuple[Any, ...]:
    """The values that an option takes, where they are written: its choices, or the keys of a table of these."""
    if isinstance(choices, Mapping) and not choices.open:
        return tuple(choices.items)
    if not isinstance(choices, Sequence) or choices.open or not all(isinstance(one, Const) for one in choices.items):
        return ()
    return tuple(map(constant, choices.items))


def _may_be_other(path: str, default: Const) -> bool:
    """Whether an option is the user's to choose, and has nothing to do with where the program runs."""
    words = path.rpartition(".")[2].lower().split("_")
    if speaks_of_gpu(path) or not _OF_PROCESSES.isdisjoint(words):
        return False
    if isinstance(default.value, str):
        return parse_device(default.value) is None
    return isinstance(default.value, (int, float)) and not isinstance(default.value, bool)


def note_other_way(machine: Machine, node: ir.If | ir.Conditional, answer: bool, frame: Frame) -> None:
    """Note that the defaults of options gave a condition this answer, where it has another, too."""
    machine.entry.ways_taken.add((node, answer))
    if not _looks_on(machine):
        return
    values = _values_for(machine, node.test, not answer, frame)
    side = node.orelse if answer else node.body
    if values and ANOTHER in values.values() and isinstance(side, list) and len(side) == 1:
        if isinstance(side[0], ir.If) and _note_in_turn(machine, side[0], frame):
            return
    if values and _concerns_devices(side, frame):
        note(machine, OtherWay(values, ((node, not answer),), machine.site(node.test, frame)))


def _note_in_turn(machine: Machine, node: ir.If, frame: Frame) -> bool:
    """Note what an `elif` asks an option for that is not its default: a value of its own leads there, where any other
    would leave open which of these ways is gone. Tells whether it asks for one."""
    values = _values_for(machine, node.test, True, frame)
    if not values or ANOTHER in values.values():
        return False
    if _concerns_devices(node.body, frame):
        note(machine, OtherWay(values, ((node, True),), machine.site(node.test, frame)))
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ir.If):
        _note_in_turn(machine, node.orelse[0], frame)
    return True


def note_other_cases(machine: Machine, node: ir.Match, subject: Value, frame: Frame) -> None:
    """Note the cases that the default of an option does not match."""
    path = machine.run.from_options.get(subject) if isinstance(subject, Const) else None
    if path is None or not isinstance(subject, Const) or not _looks_on(machine):
        return
    for case in node.cases:
        asked = _written(case.pattern.value) if isinstance(case.pattern, ir.ValuePattern) else None
        if asked and asked[0] != subject.value and _concerns_devices(case.body, frame):
            note(machine, OtherWay({path: asked[0]}, (case,), machine.site(case.pattern, frame)))


def note_other_entries(machine: Machine, table: Mapping, key: Value, node: ir.Node, frame: Frame) -> None:
    """Note the functions and classes of a table that stand under others than the default of an option."""
    path = machine.run.from_options.get(key) if isinstance(key, Const) else None
    if path is None or not isinstance(key, Const) or not _looks_on(machine):
        return
    for name, value in table.items.items():
        if name != key.value and isinstance(value, (Function, Class)) and _is_of_devices(value):
            note(machine, OtherWay({path: name}, (value.node,), machine.site(node, frame)))


def _looks_on(machine: Machine) -> bool:
    """Whether what this run does is what the program does where nobody gives an option."""
    return not (machine.run.assume or machine.run.protocol or machine.run.importing)


def note(machine: Machine, way: OtherWay) -> None:
    """Note a way, unless an option doesn't take the value that leads there: the program ends where it is given."""
    for path, value in way.values.items():
        limited = machine.run.limited.get(path)
        if limited is not None and value is not ANOTHER and value not in limited.taken:
            return
    given = (_given(path, "another" if value is ANOTHER else value) for path, value in way.values.items())
    key = " and ".join(given)
    known = machine.entry.other_ways.get(key)
    if known is None:
        machine.entry.other_ways[key] = way
    else:
        known.aims = tuple(dict.fromkeys((*known.aims, *way.aims)))


def note_comparison(machine: Machine, node: ir.Compare, answer: bool, frame: Frame) -> Value:
    """The answer to a comparison, of which it is known with which values of options it would be another."""
    made = Const(answer)
    values = _values_for_comparison(machine, node, not answer, frame) if _looks_on(machine) else {}
    if values:
        machine.run.of_options[made] = values
    return made


def _given(path: str, value: object) -> str:
    return f"{path} == {value!r}"


def others_worth_a_run(machine: Machine) -> Iterator[ChoiceKey]:
    """Yield the ways to which no run has come, as long as there are any."""
    for key, way in list(machine.entry.other_ways.items()):
        if any(aim not in machine.entry.ways_taken and aim not in machine.visited for aim in way.aims):
            yield key


def _values_for(machine: Machine, test: ir.Expr, answer: bool, frame: Frame) -> Values:
    """The values of options with which a condition has this answer, as far as they decide it; none if they don't."""
    if isinstance(test, ir.Unary) and test.operator == "not":
        return _values_for(machine, test.value, not answer, frame)
    if isinstance(test, ir.Bool):
        found = [_values_for(machine, part, answer, frame) for part in test.values]
        if test.is_and is not answer:
            return next(filter(None, found), {})
        values = {path: value for part in found for path, value in part.items()}
        return values if all(values.items() >= part.items() for part in found) else {}
    if isinstance(test, (ir.Name, ir.Attribute)):
        value = held(test, frame)
        if not isinstance(value, Const) or bool(value.value) is answer:
            return {}
        option = machine.run.from_options.get(value)
        if option is None or isinstance(value.value, str):
            return machine.run.of_options.get(value, {})
        return {option: type(value.value)(answer)}
    if isinstance(test, ir.Call):
        return _values_for_start(machine, test, answer, frame)
    return _values_for_comparison(machine, test, answer, frame) if isinstance(test, ir.Compare) else {}


def _values_for_start(machine: Machine, test: ir.Call, answer: bool, frame: Frame) -> Values:
    """`args.model.startswith("resnet")`."""
    asked = test.function
    if not answer or not isinstance(asked, ir.Attribute) or asked.name not in ("startswith", "endswith"):
        return {}
    option, start = _option(machine, asked.value, frame), _written(test.args[0]) if len(test.args) == 1 else None
    return {option[0]: start[0]} if option is not None and start and isinstance(start[0], str) else {}


def _values_for_comparison(machine: Machine, test: ir.Compare, answer: bool, frame: Frame) -> Values:
    symbol, left, right = test.operator, test.left, test.right
    if symbol in ("in", "not-in") and answer is (symbol == "in"):
        option, part = _option(machine, right, frame), _written(left)
        if option is not None and part:
            return {option[0]: part[0]}  # `"mixup" in args.augment`
    if symbol in _MIRRORED and _written(left) is not None:
        symbol, left, right = _MIRRORED[symbol], right, left
    option, others = _option(machine, left, frame), _written(right)
    if option is None or not others or symbol not in _CONTRARY:
        return {}
    path, default = option
    if any(isinstance(other, str) is not isinstance(default, str) for other in others):
        return {}
    symbol = symbol if answer else _CONTRARY[symbol]
    holds = _HOLDS[symbol]
    if holds(default, others):
        return {}
    limited = machine.run.limited.get(path)
    for value in _near(default, others) if limited is None else limited.taken:
        if type(value) is type(default) and holds(value, others):
            return {path: value}
    is_any = isinstance(default, str) and symbol in ("!=", "not-in") and limited is None
    return {path: ANOTHER} if is_any else {}


def _near(default: Any, others: list[Any]) -> list[Any]:
    """The texts that an option is compared with; of numbers those beside them, too, as the option takes them."""
    if isinstance(default, str):
        return others
    step = 0.5 if isinstance(default, float) else 1
    return [type(default)(other + shift) for other in others for shift in (0, step, -step)]


def _option(machine: Machine, node: ir.Expr, frame: Frame) -> tuple[str, Any] | None:
    """The option of which the default stands somewhere, by its name, and that."""
    value = held(node, frame)
    if not isinstance(value, Const) or value not in machine.run.from_options:
        return None
    return machine.run.from_options[value], value.value


def _written(node: ir.Expr) -> list[Any] | None:
    """The numbers or texts that are written where something is compared; None for something else."""
    if isinstance(node, ir.Const):
        is_plain = isinstance(node.value, (int, float, str)) and not isinstance(node.value, bool)
        return [node.value] if is_plain else None
    if isinstance(node, ir.Unary) and node.operator == "-":
        inner = _written(node.value)
        return [-value for value in inner] if inner and not isinstance(inner[0], str) else None
    if isinstance(node, ir.Display) and node.items:
        parts = [_written(item) for item in node.items]
        return [part[0] for part in parts if part] if all(parts) else None
    return None


_SAYING: Final = VOCABULARY - {f".{word}" for word in ("load", "load_state_dict", "save")}
"""What weights are read into keeps its place: that alone is not worth a run."""


def _concerns_devices(side: Any, frame: Frame) -> bool:
    """Whether a side has a word for devices in it, or names something of the project that has."""
    for part in walk(side):
        if isinstance(part, ir.Attribute):
            if f".{part.name}" in _SAYING:
                return True
        elif isinstance(part, ir.Name):
            if part.id in _SAYING:
                return True
        if isinstance(part, (ir.Name, ir.Attribute)) and _is_of_devices(held(part, frame)):
            return True
    return False


def _is_of_devices(value: Value | None) -> bool:
    """Whether something is a function or class of the project that has a word for devices, or is a module: that the
    program moves it may stand elsewhere."""
    if isinstance(value, Class):
        return value.node.speaks or is_module_class(value)
    return isinstance(value, Function) and value.node.speaks
