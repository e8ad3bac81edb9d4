"""What torch and its neighbours do with devices: one `Row` for one callable, read from the `.tbl` files beside this.

A line of a table file is one callable, or one brace pattern of callables:

    torch.{add,sub}(input, other, *, alpha?, out?): combine(input, other) -> tensor rank=broadcast
    torch.{max,min}(input, dim?, keepdim?): keep(input) -> tensor [dim: named(values, indices)] rank=reduce
    torch.Tensor.masked_fill(mask, value): strict(self, mask, value:combine) -> tensor rank=keep
    torch.nn.Linear(in_features, out_features, bias?): module state=weight,bias(bias=True)
    torch.nn.Linear.forward(input): strict(input, weight, bias) -> tensor rank=keep family=linear

- Parameters are written as in a Python signature; `name?` is optional. A name without parentheses is a property.
- In a pattern such as `{torch,torch.Tensor}.add(input, other)` the first parameter of the method is its receiver: it is
  called `self`, and `out` is left away.
- `sklearn.metrics.*` stands for every direct member that has no row of its own.
- Functions of torch that end with one underscore work in place: they have the flag `inplace` and give back what they
  changed (result `same`), unless `+fresh` says that the result is another tensor. What is written to, also through
  `out=`, has the demand `strict`: it is no 0-dimensional exception.
- After the effect stand the parameters that it concerns, each with a demand of its own after a colon where it differs
  from the effect's: `generator` (must be on the device of the result), `index`, `cpu`, `any`, `single`, `combine`,
  `strict`.
- `[name: result]` is what comes back when the argument `name` is given and is neither None, False nor a tensor.
- `rank=`, `family=`, `state=`, `since=`, `to=`, `base=` fill the fields of `Row`; `+word` is a flag; a text
  in double quotes is the reason of an `unknown`, or a note. `~name` in `state=` is a buffer; `name(parameter=default)`
  says on which constructor argument it depends.

docs/semantics.md explains effects, results, ranks and flags.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

from devlint.semantics import namespaces

T = TypeVar("T")

Kind = Literal["positional", "variadic", "keyword", "variadic-keyword"]

EFFECTS = frozenset(
    {
        *("create", "like", "data", "keep", "combine", "strict", "index", "follow", "cross", "move", "host", "numpy"),
        *("cpu-argument", "metadata", "query", "harmless", "transparent", "context", "module", "model", "none"),
        *("unknown", "host-library", "instance"),
    }
)
DEMANDS = frozenset({"combine", "strict", "single", "index", "cpu", "generator", "mask", "any"})
_AGREEING = frozenset({"combine", "strict"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a callable; `optional` where it has a default."""

    name: str
    kind: Kind
    optional: bool


@dataclass(frozen=True, slots=True)
class State:
    """A parameter or buffer of a module class.

    It exists if the constructor argument `condition` is true ("" means always); `default` is what holds when that
    argument is not given.
    """

    name: str
    is_buffer: bool
    condition: str = ""
    default: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """What one callable does with devices.

    `concerned` names the arguments that the effect is about ("self" is a method's receiver); `demands` gives each
    argument that must be somewhere its demand. `result_if` holds pairs (argument, result): the result when that
    argument is given. For module classes `state` names parameters and buffers, `states` has their conditions,
    `family` tells which error a foreign input raises; `forward_result` and `forward_rank` describe a call of the
    module and come from its `.forward` row, which has the demands too. `to` says how `.to()` of an instance behaves:
    `in-place`, `returned` or `both`; `base` names the class whose methods it shares. `since` is the first torch release
    that has the callable, where that matters. What follows from these is kept with them, for it is asked for at every
    call: `short` is the name without its path, `kinds` has the parameters by name, `held` names what a module has that
    must agree with its input, `takes_one` says that it may be called with one tensor alone.
    """

    name: str
    parameters: tuple[Parameter, ...]
    effect: str
    concerned: tuple[str, ...] = ()
    result: str = "unknown"
    rank: str = "unknown"
    flags: frozenset[str] = frozenset()
    reason: str = ""
    demands: tuple[tuple[str, str], ...] = ()
    result_if: tuple[tuple[str, str], ...] = ()
    state: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    family: str = ""
    forward_result: str = ""
    forward_rank: str = ""
    to: str = ""
    base: str = ""
    since: str = ""
    short: str = field(init=False, repr=False, compare=False)
    kinds: dict[str, Kind] = field(init=False, repr=False, compare=False)
    held: tuple[str, ...] = field(init=False, repr=False, compare=False)
    takes_one: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first = self.parameters[0] if self.parameters else None
        name = None if first is None else first.name
        agrees = {demand for parameter, demand in self.demands if parameter == name} <= {"strict", "combine", "any"}
        takes_one = first is not None and first.kind == "positional" and self.effect != "transparent" and agrees
        object.__setattr__(self, "short", self.name.rpartition(".")[2])
        object.__setattr__(self, "kinds", {parameter.name: parameter.kind for parameter in self.parameters})
        object.__setattr__(self, "held", tuple(parameter for parameter, _ in self.demands if parameter != name))
        object.__setattr__(self, "takes_one", takes_one)


class TableError(ValueError):
    """A line of a table file that can't be read."""


_HERE = Path(__file__).parent
# python_arg_parser.cpp, numpy_compatibility_arg_names.
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}

_index: dict[str, dict[str, str]] = {}
_own: dict[str, str] = {}
_rows: dict[str, Row | None] = {}


def lookup(path: str) -> Row | None:
    """Return the row of the callable with this dotted path, or None if no table has it."""
    if path in _rows:
        return _rows[path]
    row = _find(path)
    _rows[path] = row
    return row


def method(name: str) -> Row | None:
    """Return the row of the method or property `name` of `torch.Tensor`."""
    return lookup("torch.Tensor." + name)


def bind(row: Row, args: Sequence[T], kwargs: Mapping[str, T], receiver: T | None = None) -> dict[str, T | list[T]]:
    """Match arguments to the row's parameters by position and name.

    A variadic parameter gives a list; numpy's names (`axis`, `keepdims`) mean torch's. Arguments that the row does
    not know are kept under their own name if they have one, and are dropped otherwise.
    """
    bound: dict[str, T | list[T]] = {}
    if receiver is not None:
        bound["self"] = receiver
    if args:
        taken, count = 0, len(args)
        for parameter in row.parameters:
            if taken == count:
                break
            if parameter.kind == "positional":
                bound[parameter.name] = args[taken]
                taken += 1
            elif parameter.kind == "variadic":
                bound[parameter.name] = list(args[taken:])
                taken = count
    if not kwargs:
        return bound
    kinds = row.kinds
    for name, value in kwargs.items():
        if name not in kinds and _NUMPY_NAMES.get(name) in kinds:
            name = _NUMPY_NAMES[name]
        bound[name] = [value] if kinds.get(name) == "variadic" else value
    return bound


def names(namespace: str) -> Iterator[str]:
    """Yield the names of all rows whose path starts with `namespace` and a dot."""
    prefix = namespace + "."
    yield from (name for name in _lines(namespaces.file_of(prefix + "x") or "") if name.startswith(prefix))


def extend(lines: Iterable[str]) -> None:
    """Add rows of one's own, in the format of the table files; they go before the rows of the tables.

    Raises:
        TableError: a line can't be read.
    """
    own = _parse_lines(lines)
    for name, line in own.items():
        parse(name, line)
    _own.update(own)
    _rows.clear()


def forget() -> None:
    """Drop what was read and what `extend` added, so that the next `lookup` reads the files again."""
    _index.clear()
    _own.clear()
    _rows.clear()


def read(lines: Iterable[str]) -> dict[str, str]:
    """Return what follows the name in each line, by the names that the line stands for.

    Raises:
        TableError: a line has no name.
    """
    return _parse_lines(lines)


def tables() -> tuple[str, ...]:
    """Return the names of all table files, without ending."""
    return tuple(sorted(namespaces.files()))


def rows(table: str) -> Iterator[Row]:
    """Yield every row of a table file.

    Raises:
        TableError: a line can't be read.
    """
    for name, line in _lines(table).items():
        yield parse(name, line)


def _find(path: str) -> Row | None:
    path = namespaces.public(path)
    table = namespaces.file_of(path)
    known = _lines(table) if table else {}
    shared = namespaces.alike(path)
    for lines, name in ((_own, path), (known, path), (known, shared)):
        if line := lines.get(name) or lines.get(name.rpartition(".")[0] + ".*"):
            return parse(path, line)
    return None


def _lines(table: str) -> dict[str, str]:
    """The lines of a table file by the names that they stand for."""
    if (known := _index.get(table)) is not None:
        return known
    path = _HERE / f"{table}.tbl"
    index = _parse_lines(path.read_text(encoding="utf-8").splitlines()) if path.exists() else {}
    _index[table] = index
    return index


def _parse_lines(lines: Iterable[str]) -> dict[str, str]:
    index: dict[str, str] = {}
    for line in lines:
        if not line or line[0] in "# ":
            continue
        head, tail = _split_head(line)
        for name in expand(head) if "{" in head else (head,):
            index[name] = tail
    return index


def _split_head(line: str) -> tuple[str, str]:
    parenthesis, colon = line.find("("), line.find(":")
    end = parenthesis if 0 <= parenthesis < colon or colon < 0 else colon
    if end < 0:
        raise TableError(line)
    return line[:end], line[end:]


def expand(pattern: str) -> Iterator[str]:
    """Expand braces: `a.{b,c}{,_}` gives a.b, a.b_, a.c, a.c_."""
    pieces = re.split(r"\{([^}]*)\}", pattern)
    choices = [piece.split(",") if number % 2 else [piece] for number, piece in enumerate(pieces)]
    return map("".join, itertools.product(*choices))


_TAIL = re.compile(
    r"""(?P<property>:)?\s*(?:\((?P<parameters>[^)]*)\):)?\s*
        (?P<effect>[a-z-]+)(?:\((?P<concerned>[^)]*)\))?
        (?:\s*->\s*(?P<result>\w+(?:\((?:[^()]|\([^()]*\))*\))?))?
        (?P<rest>.*)""",
    re.VERBOSE,
)
_WORD = re.compile(
    r"""\[(?P<when>\w+):\s*(?P<then>[^\]]+)\] | \+(?P<flag>[\w-]+) | "(?P<note>[^"]*)"
        | (?P<key>\w+)=(?P<value>(?:[^\s(]|\([^)]*\))*)""",
    re.VERBOSE,
)
_KEYS = frozenset({"rank", "family", "to", "base", "since"})


def parse(name: str, line: str) -> Row:
    """Read the part of a line that follows the name.

    Raises:
        TableError: it is not of the form that this module's docstring gives.
    """
    match = _TAIL.fullmatch(line)
    if match is None or (match["property"] is None) == (match["parameters"] is None):
        raise TableError(f"{name}{line}")
    effect = match["effect"]
    if effect not in EFFECTS:
        raise TableError(f"{name}: no effect is called {effect}")
    is_method = name.startswith("torch.Tensor.")
    parameters = list(_parameters(match["parameters"] or ""))
    renamed = ""
    if is_method and parameters and parameters[0].name == "input":
        renamed = parameters.pop(0).name
        parameters = [p for p in parameters if p.name != "out"]
    flags, fields, result_if = set(), dict[str, str](), []
    note, states = "", tuple[State, ...]()
    rest = match["rest"]
    if _WORD.sub("", rest).strip():
        raise TableError(f"{name}: can't read {_WORD.sub('', rest).strip()!r}")
    for word in _WORD.finditer(rest):
        if word["when"]:
            result_if.append((word["when"], word["then"].strip()))
        elif word["flag"]:
            flags.add(word["flag"])
        elif word["note"] is not None:
            note = word["note"]
        elif word["key"] == "state":
            states = tuple(_states(word["value"]))
        elif word["key"] in _KEYS:
            fields[word["key"]] = word["value"]
        else:
            raise TableError(f"{name}: no field is called {word['key']}")
    if match["property"]:
        flags.add("property")
    concerned: list[str] = []
    demands: list[tuple[str, str]] = []
    for entry in filter(None, (part.strip() for part in (match["concerned"] or "").split(","))):
        argument, _, demand = entry.partition(":")
        if argument == renamed:
            argument = "self"
        if demand and demand not in DEMANDS:
            raise TableError(f"{name}: no demand is called {demand}")
        own = demand or {"combine": "combine", "strict": "strict", "index": "index", "cpu-argument": "cpu"}.get(effect)
        if effect == "index" and not demand and not concerned:
            own = "strict"
        if own:
            demands.append((argument, own))
        if not demand or demand in _AGREEING:
            concerned.append(argument)
    result = match["result"] or ("module" if effect == "module" else "unknown")
    if name.endswith("_") and not name.endswith("__") and name.startswith("torch."):
        flags.add("inplace")
        if match["result"] is None or (result == "tensor" and "fresh" not in flags):
            result = "same"
    if "inplace" in flags and demands and demands[0][1] == "combine":
        demands[0] = (demands[0][0], "strict")
    if effect in ("keep", "combine", "strict") and any(p.name == "out" for p in parameters):
        demands.append(("out", "strict"))
    row = Row(
        name=name,
        parameters=tuple(parameters),
        effect=effect,
        concerned=tuple(concerned),
        result=result,
        flags=frozenset(flags),
        reason=note,
        demands=tuple(demands),
        result_if=tuple(result_if),
        state=tuple(state.name for state in states),
        states=states,
        **{"rank": "unknown", **fields},
    )
    call = lookup(f"{name}.forward") if effect == "module" and name.startswith("torch.nn.") else None
    if call is not None:
        row = replace(row, family=call.family or row.family, forward_result=call.result, forward_rank=call.rank)
    return row


def _parameters(text: str) -> Iterator[Parameter]:
    kind: Kind = "positional"
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == "*":
            kind = "keyword"
        elif part.startswith("**"):
            yield Parameter(part[2:], "variadic-keyword", True)
        elif part.startswith("*"):
            yield Parameter(part[1:], "variadic", True)
            kind = "keyword"
        else:
            yield Parameter(part.removesuffix("?"), kind, part.endswith("?"))


def _states(text: str) -> Iterator[State]:
    for part in re.findall(r"(~?)([\w.]+)(?:\((\w+)=(\w+)\))?", text):
        marker, name, condition, default = part
        yield State(name, marker == "~", condition, default not in ("False", "None"))
