"""`re`: what patterns find in texts that are known, such as the name of a device."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from devlint.analysis.dispatch import Call, method_models, models
from devlint.analysis.domain.plain import index_number
from devlint.analysis.domain.values import NONE, STRING, UNKNOWN, Const, External, Instance, Sequence, Value, const
from devlint.analysis.machine import text_of
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

_PATTERN: Final = "re.Pattern"
_MATCH: Final = "re.Match"
_TEXT: Final = "text"
"""Under this key of its state a pattern keeps its text."""
_GROUPS: Final = "groups"
"""Under this key of its state a match keeps its groups, the whole match first."""
_LONGEST: Final = 100
_REPEATED_GROUP: Final = re.compile(r"\)[*+{?]|\\[1-9]|\(\?[^:]")
"""What may take long to look for, or asks what stands around: it is left alone."""
_REPEATED: Final = re.compile(r"[*+{]")
_MOST_REPEATED: Final = 3
"""Of more repetitions each may try every length of the others."""


@models("re.compile")
def compiled(machine: Machine, call: Call) -> Value:
    """`re.compile(pattern)`."""
    made = Instance(External(_PATTERN))
    made.state[_TEXT] = text_of(call.argument(0, "pattern")) if _is_plain(call, 1) else None
    return made


def _is_plain(call: Call, count: int) -> bool:
    """Whether nothing but so many arguments is given: no flags, no bounds."""
    return not call.open and len(call.positional) == count and not call.keywords


def _known(pattern: str | None, text: str | None) -> tuple[re.Pattern[str], str] | None:
    """A pattern and a text that are known, and among which to look takes no time."""
    if pattern is None or text is None or max(len(pattern), len(text)) > _LONGEST or _REPEATED_GROUP.search(pattern):
        return None
    if len(_REPEATED.findall(pattern)) > _MOST_REPEATED:
        return None
    try:
        return re.compile(pattern), text
    except (re.error, OverflowError, RecursionError):
        return None


def _texts(found: re.Match[str] | None) -> Value:
    if found is None:
        return NONE
    made = Instance(External(_MATCH))
    made.state[_GROUPS] = [const(found[0]), *map(const, found.groups())]
    return made


def _match(pattern: re.Pattern[str], text: str) -> Value:
    return _texts(pattern.match(text))


def _search(pattern: re.Pattern[str], text: str) -> Value:
    return _texts(pattern.search(text))


def _fullmatch(pattern: re.Pattern[str], text: str) -> Value:
    return _texts(pattern.fullmatch(text))


def _list(pattern: re.Pattern[str], text: str) -> Value:
    found = pattern.findall(text)
    made: list[Value] = [const(one) for one in found if isinstance(one, str)]
    return Sequence("list", made) if len(made) == len(found) else Sequence("list", [UNKNOWN], True)


def _split(pattern: re.Pattern[str], text: str) -> Value:
    return Sequence("list", [const(one) for one in pattern.split(text)])


_LOOKING: Final[dict[str, Callable[[re.Pattern[str], str], Value]]] = {
    "match": _match,
    "search": _search,
    "fullmatch": _fullmatch,
    "findall": _list,
    "split": _split,
}
_LISTS: Final = (_list, _split)


def _of_others(look: Callable[[re.Pattern[str], str], Value]) -> Value:
    """What is found in a text that nobody knows."""
    return Sequence("list", [STRING], True) if look in _LISTS else UNKNOWN


def _function(look: Callable[[re.Pattern[str], str], Value]) -> Callable[[Machine, Call], Value]:
    def run(machine: Machine, call: Call) -> Value:
        """`re.match(pattern, text)`."""
        if not _is_plain(call, 2):
            return _of_others(look)
        known = _known(text_of(call.positional[0]), text_of(call.positional[1]))
        return _of_others(look) if known is None else look(*known)

    return run


def _method(look: Callable[[re.Pattern[str], str], Value]) -> Callable[[Machine, Instance, Call], Value]:
    def run(machine: Machine, instance: Instance, call: Call) -> Value:
        """`pattern.match(text)`."""
        if not _is_plain(call, 1):
            return _of_others(look)
        known = _known(instance.state.get(_TEXT), text_of(call.positional[0]))
        return _of_others(look) if known is None else look(*known)

    return run


for _name, _look in _LOOKING.items():
    models(f"re.{_name}")(_function(_look))
    method_models(_PATTERN, _name)(_method(_look))


@models("re.sub")
def substitute(machine: Machine, call: Call) -> Value:
    """`re.sub(pattern, new, text)`."""
    if not _is_plain(call, 3):
        return STRING
    return _replaced(text_of(call.positional[0]), call.positional[1], call.positional[2])


@method_models(_PATTERN, "sub")
def substitute_by(machine: Machine, instance: Instance, call: Call) -> Value:
    """`pattern.sub(new, text)`."""
    if not _is_plain(call, 2):
        return STRING
    return _replaced(instance.state.get(_TEXT), call.positional[0], call.positional[1])


def _replaced(pattern: str | None, new: Value, text: Value) -> Value:
    known, written = _known(pattern, text_of(text)), text_of(new)
    if known is None or written is None or len(written) > _LONGEST:
        return STRING
    try:
        return const(known[0].sub(written, known[1]))
    except (re.error, IndexError):
        return STRING


@method_models(_MATCH, "group", "__getitem__")
def group(machine: Machine, instance: Instance, call: Call) -> Value:
    """`match.group(1)`, `match[1]`."""
    groups: list[Value] = instance.state[_GROUPS]
    asked = [index_number(one) for one in call.positional] or [0]
    if call.open or call.keywords or None in asked:
        return UNKNOWN
    found = [groups[number] for number in asked if number is not None and 0 <= number < len(groups)]
    if len(found) < len(asked):
        raise Crash("IndexError")
    return found[0] if len(found) == 1 else Sequence("tuple", found)


@method_models(_MATCH, "groups")
def all_groups(machine: Machine, instance: Instance, call: Call) -> Value:
    """`match.groups()`."""
    groups: list[Value] = instance.state[_GROUPS][1:]
    if call.positional or call.keywords:
        return UNKNOWN
    return Sequence("tuple", [one for one in groups if isinstance(one, Const)])
