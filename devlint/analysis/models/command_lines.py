"""Command lines that the program itself gives to argparse: `parser.parse_args(["--ids", "0", "train"])`.

They are parsed by argparse itself, with the options that are known.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, NoReturn

from devlint.analysis.plain import NotConstant, lift, lower
from devlint.analysis.values import FALSE, NONE, TRUE, Const, Instance, Value

if TYPE_CHECKING:
    from devlint.analysis.dispatch import Call

FLAGS: Final = {"store_true": FALSE, "store_false": TRUE}
"""Actions without a value, and what the option is when it is not given."""
ADDING: Final = ("append", "extend")
"""Actions that add to the default."""


class Option:
    """One `add_argument`: where its value goes, what it is when not given, and how the command line changes it.
    `command`: the one whose parser has it, None for that of the whole."""

    __slots__ = ("command", "const", "convert", "default", "dest", "fixed", "flags", "kind", "nargs", "required")

    def __init__(self, dest: str, flags: tuple[str, ...], default: Value, kind: str) -> None:
        self.dest = dest
        self.flags = flags
        self.default = default
        self.kind = kind
        self.command: str | None = None
        self.const: Value = NONE
        self.convert: Value | None = None
        self.nargs: int | str | None = None
        self.fixed = False
        self.required = False


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


def left_alone(options: tuple[Option, ...], words: list[str]) -> set[str]:
    """The options that a command line surely doesn't give, whatever else it says."""
    said = [word.partition("=")[0] for word in words if word.startswith("-")]
    return {
        option.dest
        for option in options
        if option.flags
        and option.flags[0].startswith("-")
        and not any(flag.startswith(word) or word.startswith(flag) for flag in option.flags for word in said)
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
    commands: tuple[str, ...] | None = instance.state.get("commands", ())
    if commands is None or any(isinstance(one.nargs, int) and one.nargs > _MOST_WORDS for one in options):
        return None
    try:
        parser = _parser(options, commands)
        given = vars(parser.parse_known_args(words)[0] if others else parser.parse_args(words))
    except (_Refused, ValueError, TypeError, argparse.ArgumentError):
        return None
    command = given.pop(_COMMAND, None)
    known = {option.dest: option for option in options if option.command in (None, command)}
    found: dict[str, Value] = dict(instance.state.get("set", {}).get(command, {}))
    found.update({option.dest: Const(command) for option in options if option.required and not option.flags})
    for dest, value in given.items():
        option = known[dest]
        if option.kind not in _STORING:
            return None
        found[dest] = option.const if value is _GIVEN else lift(value)
    return found


def _parser(options: tuple[Option, ...], commands: tuple[str, ...]) -> argparse.ArgumentParser:
    """argparse's own parser of the options. What is wrong with them it tells as it would tell the program: by
    `ValueError`, `TypeError` or `ArgumentError`."""
    parser = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    parsers: dict[str | None, argparse.ArgumentParser] = {None: parser}
    if commands:
        made = parser.add_subparsers(dest=_COMMAND, parser_class=_Parser)
        for name in commands:
            parsers[name] = made.add_parser(name, add_help=False, argument_default=argparse.SUPPRESS)
    for option in options:
        if option.flags:
            parsers[option.command].add_argument(*option.flags, **_described(option))
    return parser


_MOST_WORDS: Final = 64
"""argparse's patterns grow with the number of words that an option takes."""
_STORING: Final = frozenset({"store", "store_const", "append", "extend", "count", "optional", *FLAGS})
_COMMAND: Final = "command given"
"""Where the name of the command goes that nobody asks for."""
_GIVEN: Final = object()
"""What stands for the `const` of an option."""


def _described(option: Option) -> dict[str, Any]:
    """An option as `add_argument` takes it; what is given stays text."""
    described: dict[str, Any] = {}
    if option.flags[0].startswith("-"):
        described["dest"] = option.dest
    if option.kind == "optional":
        described["action"] = argparse.BooleanOptionalAction
    elif option.kind in ("store_const", "append", "extend", "count", *FLAGS):
        described["action"] = option.kind
    if option.kind == "store_const" or (option.nargs == "?" and "action" not in described):
        described["const"] = _GIVEN
    if option.nargs is not None and option.kind in ("store", "append", "extend"):
        described["nargs"] = option.nargs
    return described
