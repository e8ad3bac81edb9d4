"""Builtins that convert, compute, read and write. What asks values what they are is in `introspection`, what goes over
iterables in `iterables`."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import binary, call_method, iterate, truth
from devlint.analysis.dispatch import METHODS, Call, method_models, models
from devlint.analysis.domain.ancestry import external_bases, find
from devlint.analysis.domain.plain import compute, length, sequence, set_of
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    IN_TEXT,
    NONE,
    NUMBER,
    PART_DEVICE,
    SCALAR,
    SIZE,
    SLICE,
    SOME_INDEX,
    STRING,
    UNKNOWN,
    Array,
    Class,
    Const,
    DeviceValue,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    const,
    constant,
)
from devlint.analysis.flow.gpu_numbers import handed_on
from devlint.analysis.flow.users_devices import setting
from devlint.analysis.python.arguments import ARGUMENT_COUNTS, Arguments
from devlint.analysis.python.constants import as_text
from devlint.analysis.python.enumerations import each_member
from devlint.analysis.python.mappings import build, from_keys
from devlint.analysis.pytorch.formatting import refuse_format
from devlint.analysis.pytorch.host import note_wait, read_pending, read_through
from devlint.analysis.pytorch.loads import take_for_data
from devlint.analysis.pytorch.modules import is_dictionary, members
from devlint.analysis.pytorch.sizes import first_size
from devlint.analysis.signals import Crash
from devlint.semantics import libraries
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine


# -- conversions


def _number(convert: type[int] | type[float]) -> Callable[[Machine, Call], Value]:
    def run(machine: Machine, call: Call) -> Value:
        if not call.positional:
            return NUMBER if call.open else const(convert(0))
        value = call.positional[0]
        if isinstance(value, Const):
            found = compute(machine, convert, call.positional, call)
            return NUMBER if found is None else handed_on(machine, value, found)
        if isinstance(value, Tensor):
            call_method(machine, value, "item", call.with_arguments([]))
            return NUMBER
        if isinstance(value, Unknown) and value.path is not None:
            return Unknown(value.path, value.named, _converted(value.default))
        if isinstance(value, Scalar) and value.numbers is not None:
            return value
        return Scalar(value.low if isinstance(value, Scalar) else None, "number")

    return run


models("builtins.int", "builtins.long")(_number(int))
models("builtins.float")(_number(float))


def _converted(default: Value | None) -> Value | None:
    if isinstance(default, Const) and isinstance(default.value, (str, int, float)):
        try:
            return const(int(default.value))
        except ValueError:
            return default
    return default


@models("builtins.str", "builtins.unicode")
def text(machine: Machine, call: Call) -> Value | None:
    """`str(x)`; the text of a device is a device name, and a named unknown stays one."""
    if not call.positional:
        return const("")
    value = call.positional[0]
    if len(call.positional) > 1:
        return STRING
    if isinstance(value, Unknown) and value.path is not None:
        return Unknown(value.path, value.named, value.default)
    if value is PART_DEVICE:
        return value
    if isinstance(value, DeviceValue) and value.index == SOME_INDEX:
        made = DeviceValue(value.type, SOME_INDEX, value.site)
        made.is_text = True  # as what `f"cuda:{rank}"` makes
        return made
    known = as_text(value)
    if known is not None and isinstance(known.value, str):
        return known
    return _text_of_class(value) or handed_on(machine, value, compute(machine, str, call.positional, call) or STRING)


def _text_of_class(value: Value) -> Value | None:
    """The text of a class: `str(type(x))`."""
    written = libraries.WRITTEN.get(value.path) if isinstance(value, External) else None
    return None if written is None else const(f"<class '{written}'>")


@models("builtins.repr", "builtins.ascii")
def representation(machine: Machine, call: Call) -> Value | None:
    """`repr(x)`."""
    known = _text_of_class(call.positional[0]) if call.positional else None
    return known or compute(machine, repr, call.positional, call) or STRING


@models("builtins.format")
def formatted(machine: Machine, call: Call) -> Value | None:
    """`format(x, spec)`."""
    if call.positional and isinstance(call.positional[0], Tensor):
        read_pending(machine, call.positional[0], "", call.node, call.frame)
    if len(call.positional) == 2 and constant(call.positional[1]) not in (..., ""):
        refuse_format(call.positional[0])
    return compute(machine, format, call.positional, call) or STRING


@models("builtins.bool")
def boolean(machine: Machine, call: Call) -> Value | None:
    """`bool(x)`."""
    if not call.positional:
        return const(False)
    value = call.positional[0]
    if isinstance(value, Tensor):
        call_method(machine, value, "item", call.with_arguments([]))
        return BOOL
    answer = truth(machine, value)
    if answer is not None:
        return const(answer)
    return Unknown(value.path, value.named, value.default) if isinstance(value, Unknown) and value.path else BOOL


def collected(machine: Machine, call: Call, kind: str) -> Value:
    """Collect the items of the first argument."""
    if not call.positional:
        return Sequence(kind, [], call.open)
    found = iterate(machine, call.positional[0], call.node, call.frame)
    if found is None:
        return Sequence(kind, [], True)
    make = set_of if kind in ("set", "frozenset") else sequence
    made = make(kind, found.items, found.open)
    made.counted = isinstance(call.positional[0], Sequence) and call.positional[0].counted
    return made


def _collector(kind: str) -> Callable[[Machine, Call], Value]:
    def collect(machine: Machine, call: Call) -> Value:
        return collected(machine, call, kind)

    return collect


for _kind in ("list", "tuple", "set", "frozenset"):
    models(f"builtins.{_kind}")(_collector(_kind))


@models("builtins.dict")
def dictionary(machine: Machine, call: Call) -> Value | None:
    """`dict(...)`."""
    return build(machine, call)


@models("builtins.dict.fromkeys", "collections.OrderedDict.fromkeys")
def dictionary_from_keys(machine: Machine, call: Call) -> Value | None:
    """`dict.fromkeys(keys, value)`."""
    return from_keys(machine, call)


_PURE: Final = "bin hex oct ord chr hash complex bytes bytearray"


def _pure(name: str) -> Callable[[Machine, Call], Value]:
    function = getattr(builtins, name)

    def run(machine: Machine, call: Call) -> Value:
        if name == "hash" or (name.startswith("bytes") or name == "bytearray"):
            return SCALAR
        return compute(machine, function, call.positional, call) or (
            STRING if name in ("bin", "hex", "chr") else NUMBER
        )

    return run


for _name in _PURE.split():
    models(f"builtins.{_name}")(_pure(_name))


@models("builtins.slice")
def slice_object(machine: Machine, call: Call) -> Value | None:
    """`slice(a, b)`."""
    return SLICE


# -- arithmetic


def _magnitude(name: str, function: Callable[..., object]) -> Callable[[Machine, Call], Value | None]:
    def run(machine: Machine, call: Call) -> Value | None:
        if not call.positional:
            return UNKNOWN
        value = call.positional[0]
        if isinstance(value, (Tensor, Instance)):
            return call_method(machine, value, name, call.with_arguments(call.positional[1:]))
        if isinstance(value, Array):
            return Array(value.rank, None, value.may_be_number)
        found = compute(machine, function, call.positional, call)
        if found is not None:
            return found
        if isinstance(value, (Const, Scalar)):
            return COUNT if name == "abs" else NUMBER
        return UNKNOWN

    return run


models("builtins.abs")(_magnitude("abs", abs))
models("builtins.round")(_magnitude("round", round))


@models("builtins.pow")
def power(machine: Machine, call: Call) -> Value | None:
    """`pow(a, b)`."""
    if len(call.positional) != 2:
        return NUMBER
    return binary(machine, "**", call.positional[0], call.positional[1], call.node, call.frame)


@models("builtins.divmod")
def quotient_and_remainder(machine: Machine, call: Call) -> Value | None:
    """`divmod(a, b)`."""
    if len(call.positional) != 2:
        return None
    a, b = call.positional
    return Sequence("tuple", [binary(machine, op, a, b, call.node, call.frame) for op in ("//", "%")])


# -- the rest


@models("builtins.len")
def size(machine: Machine, call: Call) -> Value | None:
    """`len(x)`."""
    value = call.positional[0] if call.positional else UNKNOWN
    if isinstance(value, Arguments):
        return ARGUMENT_COUNTS[1 - value.start] if value.start < 2 else COUNT
    known = length(value)
    if known is not None and isinstance(value, Sequence) and value.counted:
        site = machine.site(call.node, call.frame)
        machine.places.counts.add(site.key)
        return Const(known, site)
    if known is not None:
        return const(known)
    take_for_data(machine, value)
    if isinstance(value, Class):
        every = each_member(value)
        return SIZE if every is None else const(len(every.items))
    if isinstance(value, Sequence) and value.sifted:
        return COUNT
    if isinstance(value, Tensor):
        return first_size(value)
    if isinstance(value, Const) and value.value is not None:
        raise Crash("TypeError")
    if isinstance(value, Instance):
        if find(value.cls, "__len__") is not None or any(
            "__len__" in METHODS.get(path, ()) for path in external_bases(value.cls)
        ):
            found = call_method(machine, value, "__len__", call.with_arguments([]))
            return found if isinstance(found, Const) else SIZE
        if value.module is not None and value.module.children and not value.module.unsure:
            return const(len(members(value)))
        if value.module is not None and is_dictionary(value) and not value.module.unsure:
            return const(sum(map(bool, value.module.kinds.values())))
    return SIZE


@models("builtins.id")
def identity(machine: Machine, call: Call) -> Value | None:
    """`id(x)`."""
    return NUMBER


@models("builtins.input", "builtins.raw_input")
def typed(machine: Machine, call: Call) -> Value | None:
    """`input()`."""
    return STRING


@models("builtins.exec")
def executed(machine: Machine, call: Call) -> Value | None:
    """`exec(open("configurator.py").read())`: plain settings of the file may be others now, and there may be more
    names. A line that imports (`exec("import models.%s as model" % name)`) leaves the settings alone, as does what is
    executed in a dict of its own."""
    names = call.frame.namespace.names
    if len(call.positional) == 1 and call.frame.names is names:
        machine.store.put(names, "exec", External("builtins.exec"))  # by which `unbound` knows
    if _imports(call.positional[0] if call.positional else None, call.node):
        return NONE
    around = call.positional[1] if len(call.positional) > 1 else None
    if isinstance(around, Mapping):
        if around.rest is None:
            machine.store.set(around, "rest", IN_TEXT)
        machine.store.set(around, "open", True)
        return NONE
    for name, value in list(names.items()):
        if isinstance(value, Const) and not name.startswith("__") and value.value is not None:
            placed = value.value == "cpu"  # what was put there before stays, whatever the name says now
            machine.store.put(names, name, UNKNOWN if placed else setting(machine, name, value))
    return NONE


def _imports(code: Value | None, node: ir.Node | None) -> bool:
    """Whether a text that is executed is one line that imports, as far as it is written there."""
    text = constant(code)
    if text is None and isinstance(node, ir.Call) and node.args:
        first: ir.Node = node.args[0]
        if isinstance(first, ir.Binary):
            first = first.left
        elif isinstance(first, ir.FString) and first.parts:
            first = first.parts[0]
        text = first.value if isinstance(first, ir.Const) else None
    return isinstance(text, str) and text.startswith(("import ", "from ")) and not {";", "\n"} & set(text.strip())


@models("builtins.print", "builtins.breakpoint", "builtins.help", "builtins.display")
def nothing(machine: Machine, call: Call) -> Value | None:
    """Calls without a result; printing a tensor reads it."""
    for value in call.positional:
        if isinstance(value, Tensor):
            note_wait(machine, value, "print", call.node, call.frame)
            read_pending(machine, value, "print", call.node, call.frame)
        read_through(machine, value, "print", call.node, call.frame)
    return NONE


@models("builtins.exit", "builtins.quit")
def leave(machine: Machine, call: Call) -> Value | None:
    """`exit()` ends the program."""
    raise Crash("SystemExit")


@models("builtins.open", "io.open")
def open_file(machine: Machine, call: Call) -> Value | None:
    """`open(path)`: a file that knows its path."""
    return opened(machine, call, call.argument(0, "file"))


@method_models("pathlib.Path", "open")
def open_path(machine: Machine, path: Instance, call: Call) -> Value | None:
    """`path.open(mode)`."""
    return opened(machine, call, path)


def opened(machine: Machine, call: Call, path: Value | None) -> Instance:
    """A file object; its `name` is the path with which it was opened."""
    made = Instance(External("io.TextIOWrapper"), machine.site(call.node, call.frame))
    if path is not None:
        made.fields["name"] = path
    return made


@method_models("io.TextIOWrapper", "read", "readline", "getvalue")
def read_text(machine: Machine, file: Instance, call: Call) -> Value | None:
    """What stands in a file is a string."""
    return STRING


@method_models("io.TextIOWrapper", "readlines", "__iter__")
def read_lines(machine: Machine, file: Instance, call: Call) -> Value | None:
    """The lines of a file."""
    return Sequence("list", [STRING], True)


@method_models("io.TextIOWrapper", "write", "writelines", "close", "flush", "seek", "truncate")
def write_text(machine: Machine, file: Instance, call: Call) -> Value | None:
    """Writing says nothing."""
    return NONE


@models("distutils.util.strtobool", "setuptools._distutils.util.strtobool")
def text_to_bool(machine: Machine, call: Call) -> Value | None:
    """`strtobool("yes")` is 1, of "no" 0, which say as much as True and False do.

    Raises:
        Crash: it is neither.
    """
    text = call.positional[0] if call.positional else None
    if not isinstance(text, Const) or not isinstance(text.value, str):
        return BOOL
    answer = _ANSWERS.get(text.value.lower())
    if answer is None:
        raise Crash("ValueError")
    return const(answer)


_ANSWERS: Final = {
    **dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "f", "false", "off", "0"), False),
}


def _method_of_text(name: str) -> Callable[[Machine, Call], Value]:
    def run(machine: Machine, call: Call) -> Value:
        if not call.positional:
            return STRING
        return call_method(machine, call.positional[0], name, call.with_arguments(call.positional[1:], call.keywords))

    return run


for _name in ("lower", "upper", "strip", "casefold", "capitalize", "title"):
    models(f"builtins.str.{_name}")(_method_of_text(_name))


@models("builtins.compile")
def compiled(machine: Machine, call: Call) -> Value | None:
    """Nothing is known of code that is compiled."""
    return UNKNOWN


def _exception(path: str) -> Callable[[Machine, Call], Value]:
    def make(machine: Machine, call: Call) -> Value:
        made = Instance(External(path), machine.site(call.node, call.frame))
        made.fields["args"] = Sequence("tuple", list(call.positional), call.open)
        return made

    return make


def _keep_arguments(machine: Machine, value: Instance, call: Call) -> Value:
    """`super().__init__(...)` of an exception of the program's own."""
    machine.store.put(value.fields, "args", Sequence("tuple", list(call.positional), call.open))
    return NONE


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


for _name in dir(builtins):
    if _is_exception(getattr(builtins, _name)):
        models(f"builtins.{_name}")(_exception(f"builtins.{_name}"))
        method_models(f"builtins.{_name}", "__init__")(_keep_arguments)
