"""Command lines that the program itself gives to argparse: `parser.parse_args(["--ids", "0", "train"])`.

They are parsed by argparse itself, with the options that are known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from devlint.analysis.domain.plain import NotConstant, lift, lower
from devlint.analysis.domain.values import FALSE, NONE, TRUE, Const, Instance, Sequence, Value, constant, is_none
from devlint.semantics.devices import parse_device

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call

FLAGS: Final = {"store_true": FALSE, "store_false": TRUE}
"""Actions without a value, and what the option is when it is not given."""
_ADDING: Final = ("append", "extend")
"""Actions that add to the default."""


class Option:
    """One `add_argument`: where its value goes, what it is when not given, and how the command line changes it."""

    __slots__ = (
        "const",
        "convert",
        "default",
        "dest",
        "fixed",
        "flags",
        "gpu",
        "kind",
        "nargs",
        "choices",
        "offers_cpu",
        "required",
    )

    def __init__(self, dest: str, flags: tuple[str, ...], default: Value, kind: str) -> None:
        self.dest = dest
        self.flags = flags
        self.default = default
        self.kind = kind
        self.const: Value = NONE
        self.convert: Value | None = None
        self.nargs: int | str | None = None
        self.fixed = False
        self.required = False
        self.gpu: str | None = None
        """The text that makes it a GPU, if it takes one."""
        self.offers_cpu = False
        """Whether its default is a GPU, and its choices or its help name the CPU."""
        self.choices: Value | None = None
        """What it takes, where that is written."""


def command_line(call: Call) -> list[str] | None:
    """The arguments, where the program itself gives them: `parse_args([])` in notebooks."""
    arguments = call.given(0, "args")
    if arguments is None:
        return None
    try:
        known = lower(arguments)
    except NotConstant:
        return None
    return known if isinstance(known, list) and all(isinstance(one, str) for one in known) else None


def is_odd(option: Option, call: Call) -> bool:
    """Whether an `add_argument` makes a command line one that isn't parsed here: its result is then not known."""
    given = call.keywords
    if option.nargs is None and not is_none(given.get("nargs", NONE)):
        return True
    positional = not option.flags[0].startswith("-")
    return "" in option.flags or (positional and ("dest" in given or option.dest != option.flags[0]))


def offers_cpu(default: Value, call: Call) -> bool:
    """Whether an option whose default is a GPU may be the CPU, by its choices, or else by what its help says."""
    name = parse_device(default.value) if isinstance(default, Const) and isinstance(default.value, str) else None
    if name is None or name[0] != "cuda":
        return False
    choices = call.keywords.get("choices")
    if isinstance(choices, Sequence):
        return any(constant(choice) == "cpu" for choice in choices.items)
    return choices is None and "cpu" in str(constant(call.keywords.get("help"))).lower()


def given_value(option: Option, value: Value, convert: Callable[[Value], Value]) -> Value:
    """What an option is that was given, each word converted; some actions add to the default."""
    default = option.default
    if option.kind == "count":
        before = constant(default)
        return Const((before if isinstance(before, int) else 0) + int(constant(value) or 0))
    if not isinstance(value, Sequence):
        return convert(value)
    known = default.items if option.kind in _ADDING and isinstance(default, Sequence) else []
    return Sequence("list", [*known, *map(convert, value.items)])


def left_alone(options: tuple[Option, ...], words: list[str]) -> set[str]:
    """The options that a command line surely doesn't give, whatever else it says."""
    said = [word.partition("=")[0] for word in words if word.startswith("-")]
    letters = {f"-{letter}" for word in said if not word.startswith("--") for letter in word[1:]}

    def may_be_given(option: Option) -> bool:
        flags = [*option.flags, *(flag.replace("--", "--no-", 1) for flag in option.flags if option.kind == "optional")]
        return any(flag in letters or flag.startswith(word) or word.startswith(flag) for flag in flags for word in said)

    return {
        option.dest
        for option in options
        if not option.flags or (option.flags[0].startswith("-") and not may_be_given(option))
    }


class _Refused(Exception):
    """A command line that the options don't take."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises where argparse ends the program.

    Raises:
        _Refused: from `parse_args`, if the words are not what the options take.
    """

    def error(self, message: str) -> NoReturn:
        raise _Refused(message)


def parsed(instance: Instance, words: list[str], others: bool) -> dict[str, Value] | None:
    """Parse a command line that is known, as argparse does: what each option that it gives was given, not yet
    converted. None where it doesn't fit the options that are known, or gives one that has an action of its own."""
    options: tuple[Option, ...] = instance.state.get("options", ())
    if instance.state.get("odd") or _is_long(options):
        return None
    known = {option.dest: option for option in options}
    parser = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    try:
        for option in options:
            if option.flags:
                parser.add_argument(*option.flags, **_described(option))
        given = vars(parser.parse_known_args(words)[0] if others else parser.parse_args(words))
    except Exception:  # argparse tells of odd options by errors of many kinds, as it would tell the program
        return None
    found: dict[str, Value] = {}
    for dest, value in given.items():
        giver = value.option if isinstance(value, _Given) else known.get(dest)
        if giver is None or giver.kind not in STORING:
            return None
        found[dest] = giver.const if isinstance(value, _Given) else lift(value)
    return found


class _Given:
    """What stands for the `const` of an option: several may have one destination."""

    def __init__(self, option: Option) -> None:
        self.option = option


def _is_long(options: tuple[Option, ...]) -> bool:
    """Whether the patterns that argparse makes of the options take long to match."""
    words = sum(option.nargs for option in options if isinstance(option.nargs, int))
    open_ended = [one for one in options if one.flags and not one.flags[0].startswith("-") and one.nargs is not None]
    return words > _MOST_WORDS or len(open_ended) > _MOST_OPEN


_MOST_WORDS: Final = 64
_MOST_OPEN: Final = 2
_NAMED: Final = frozenset(("store_const", "append", "extend", "count")) | frozenset(FLAGS)
"""Actions that are given to argparse by name."""
STORING: Final = _NAMED | frozenset(("store", "optional"))


def _described(option: Option) -> dict[str, Any]:
    """An option as `add_argument` takes it; what is given stays text."""
    described: dict[str, Any] = {}
    if option.flags[0].startswith("-"):
        described["dest"] = option.dest
    if option.kind == "optional":
        described["action"] = argparse.BooleanOptionalAction
    elif option.kind in _NAMED:
        described["action"] = option.kind
    if option.kind == "store_const" or (option.nargs == "?" and "action" not in described):
        described["const"] = _Given(option)
    if option.nargs is not None and option.kind in ("store", "append", "extend"):
        described["nargs"] = option.nargs
    return described
