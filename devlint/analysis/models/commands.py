"""click, typer, fire, absl and hydra: programs whose parameters come from the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, VALUES, Call, method_models, models
from devlint.analysis.domain.ancestry import find, mro
from devlint.analysis.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Unknown,
    Value,
    is_none,
)
from devlint.analysis.flow.control import one_way
from devlint.analysis.flow.other_values import read_default
from devlint.analysis.flow.users_devices import setting, unless_given
from devlint.analysis.machine import text_of

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

OPTION: Final = "devlint.option"
GROUP: Final = "devlint.group"
"""Commands of one program; its state keeps what is run first, and the commands."""
GROUPING: Final = "devlint.grouping"
REGISTERING: Final = "devlint.registering"
CONFIGURED: Final = "devlint.configured"
FLAGS: Final = "absl.flags.FlagValues"


def chosen(machine: Machine, path: str, default: Value | None, is_flag: bool = False) -> Value:
    """What an option is: a known default that is no flag, or a choice of the user."""
    if default is None or is_none(default) or is_flag:
        return setting(machine, path, default)
    if isinstance(default, Const) and isinstance(default.value, bool):
        return Unknown(path, True, default)
    return read_default(machine, path, unless_given(machine, path, default))


# -- click


@models("click.option", "click.argument")
def click_option(machine: Machine, call: Call) -> Value | None:
    """`@click.option("--name", default=...)` gives the parameter of that name its value."""
    names = [name for name in map(text_of, call.positional) if name is not None]
    plain = [name for name in names if not name.startswith("-")]
    long = [name for name in names if name.startswith("--")]
    if not names:
        return External("click.command")
    name = (plain or long or names)[0].split("/")[0].lstrip("-").replace("-", "_").lower()
    is_flag = "/" in names[0] or call.given(-1, "is_flag") is not None
    made = Instance(External(OPTION))
    made.fields["name"] = Const(name)
    made.fields["value"] = chosen(machine, name, call.keywords.get("default") or (FALSE if is_flag else None), is_flag)
    return Bound(External(OPTION), made)


@models(OPTION)
def apply_option(machine: Machine, call: Call) -> Value | None:
    """Decorate a function with an option."""
    if len(call.positional) != 2:
        return UNKNOWN
    option, function = call.positional
    name = text_of(option.fields.get("name")) if isinstance(option, Instance) else None
    if isinstance(function, Function) and isinstance(option, Instance) and name is not None:
        machine.store.put(function.defaults, name, option.fields["value"])
    return function


# -- groups of commands: click, typer


@models("click.group")
def click_group(machine: Machine, call: Call) -> Value | None:
    """`@click.group()`: what it decorates is run before each command of the group."""
    return Instance(External(GROUPING), machine.site(call.node, call.frame))


@models("typer.Typer")
def typer_group(machine: Machine, call: Call) -> Value | None:
    """`app = typer.Typer()`: functions become its commands."""
    return _group(machine, None, call)


def _group(machine: Machine, first: Value | None, call: Call) -> Instance:
    made = Instance(External(GROUP), machine.site(call.node, call.frame))
    made.state.update({"first": first, "commands": []})
    return made


@method_models(GROUPING, "__call__")
def grouped(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Decorate what a group runs first; a group of a group is a command of that."""
    made = _group(machine, call.positional[0] if call.positional else None, call)
    parent = instance.state.get("parent")
    if isinstance(parent, Instance):
        _add(machine, parent, made)
    return made


def _add(machine: Machine, group: Instance, command: Value) -> None:
    machine.store.put(group.state, "commands", [*group.state["commands"], command])


@method_models(GROUP, "group")
def group_group(machine: Machine, group: Instance, call: Call) -> Value | None:
    """`@cli.group()`."""
    made = Instance(External(GROUPING), machine.site(call.node, call.frame))
    made.state["parent"] = group
    return made


@method_models(GROUP, "add_command", "add_typer")
def group_add(machine: Machine, group: Instance, call: Call) -> Value | None:
    """`cli.add_command(train)`, `app.add_typer(models, name="models")`."""
    if call.positional:
        _add(machine, group, call.positional[0])
    return NONE


def _registers(first: bool) -> Callable[[Machine, Instance, Call], Value]:
    def run(machine: Machine, group: Instance, call: Call) -> Value:
        function = call.positional[0] if call.positional else None
        if not isinstance(function, Function):
            made = Instance(External(REGISTERING), machine.site(call.node, call.frame))
            made.state.update({"group": group, "first": first})
            return made
        return _register(machine, group, first, function)

    return run


method_models(GROUP, "command")(_registers(False))
method_models(GROUP, "callback")(_registers(True))


def _register(machine: Machine, group: Instance, first: bool, function: Value) -> Value:
    if first:
        machine.store.put(group.state, "first", function)
    else:
        _add(machine, group, function)
    return function


@method_models(REGISTERING, "__call__")
def registered(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Decorate a command."""
    if len(call.positional) != 1:
        return UNKNOWN
    return _register(machine, instance.state["group"], instance.state["first"], call.positional[0])


@method_models(GROUP, "__call__", "main")
def run_group(machine: Machine, group: Instance, call: Call) -> Value | None:
    """`cli()`: what the group runs first, and one of its commands, which is the user's choice."""
    first = group.state["first"]
    if isinstance(first, Function):
        call_value(machine, first, _by_command_line(machine, first, call))
    _each(machine, group.state["commands"], call)
    return NONE


# -- hydra


@models("hydra.main", "hydra.main.main", "tyro.conf.configure")
def hydra_main(machine: Machine, call: Call) -> Value | None:
    """`@hydra.main(...)`: the function is called with a configuration of the user."""
    return Bound(External(CONFIGURED), Instance(External(CONFIGURED)))


@models(CONFIGURED)
def configure(machine: Machine, call: Call) -> Value | None:
    """Decorate a function that takes a configuration."""
    function = call.positional[-1] if call.positional else UNKNOWN
    if isinstance(function, Function):
        names = function.node.parameters.positional
        if names:
            machine.store.put(function.defaults, names[0], Unknown(names[0], True))
    return function


# -- fire, typer


@models("fire.Fire", "typer.run", "plac.call", "defopt.run", "jsonargparse.CLI")
def run_function(machine: Machine, call: Call) -> Value | None:
    """`fire.Fire(main)` calls main; what has no default is a choice of the user. `fire.Fire()` offers all functions, a
    class its methods."""
    if not call.positional and not call.keywords:
        namespace = call.frame.namespace
        own = [one for one in namespace.names.values() if isinstance(one, Function)]
        return _each(machine, [one for one in own if one.frame.namespace is namespace], call)
    function = call.positional[0] if call.positional else UNKNOWN
    if isinstance(function, Mapping) and len(function.items) == 1:
        function = next(iter(function.items.values()))
    if isinstance(function, Mapping) and not function.open:
        return _each(machine, list(function.items.values()), call)
    if isinstance(function, Function):
        return call_value(machine, function, _by_command_line(machine, function, call))
    if isinstance(function, Class):
        init = find(function, "__init__")
        given = init[0] if init is not None else None
        own_call = Call([], {}, call.node, call.frame)
        made = call_value(
            machine, function, _by_command_line(machine, given, call) if isinstance(given, Function) else own_call
        )
        return _each(machine, _methods(made), call) if isinstance(made, Instance) else made
    if isinstance(function, Instance) and isinstance(function.cls, Class):
        return _each(machine, _methods(function), call)
    if isinstance(function, Bound):
        return call_value(machine, function, Call([], {}, call.node, call.frame))
    return UNKNOWN


def _methods(value: Instance) -> list[Value]:
    """The methods that an object offers on a command line."""
    offered: dict[str, Value] = {}
    for cls in mro(value.cls) if isinstance(value.cls, Class) else ():
        for name, method in cls.fields.items() if isinstance(cls, Class) else ():
            if isinstance(method, Function) and not name.startswith("_") and method.kind in ("", "staticmethod"):
                offered.setdefault(name, Bound(method, value) if method.kind == "" else method)
    return list(offered.values())


def _by_command_line(machine: Machine, function: Function, call: Call) -> Call:
    """The call of a function with what a command line gives it."""
    parameters = function.node.parameters
    keywords = {
        name: chosen(machine, name, function.defaults.get(name))
        for name in [*parameters.positional, *parameters.keyword]
        if name not in ("self", "cls")
    }
    return Call([], keywords, call.node, call.frame)


def _each(machine: Machine, commands: list[Value], call: Call) -> Value:
    """Call each of several commands, as one command line does: what one leaves behind, the next does not find."""
    store = machine.store
    opened = store.open()
    for command in commands:
        mark = store.mark()
        one_way(machine, partial(_command, machine, command, call))
        store.rollback(mark)
    if opened:
        store.close()
    return NONE


def _command(machine: Machine, command: Value, call: Call) -> None:
    function = command.function if isinstance(command, Bound) else command
    if isinstance(function, Function):
        arguments = _by_command_line(machine, function, call)
        arguments.open = True
        call_value(machine, command, arguments)
    elif isinstance(command, Instance) and isinstance(command.cls, External) and command.cls.path == GROUP:
        run_group(machine, command, call)


# -- absl


def _key(name: str) -> str:
    return f"--{name}"


def _define(is_flag: bool) -> Callable[[Machine, Call], Value | None]:
    def run(machine: Machine, call: Call) -> Value | None:
        name = text_of(call.argument(0, "name"))
        if name is None:
            return UNKNOWN
        value = chosen(machine, f"FLAGS.{name}", call.argument(1, "default"), is_flag)
        machine.store.put(machine.state.environment, _key(name), value)
        made = Instance(External("absl.flags.FlagHolder"), machine.site(call.node, call.frame))
        made.fields["value"] = value
        return made

    return run


for _module in ("absl.flags", "tensorflow.app.flags", "tensorflow.flags"):
    for _kind in ("string", "integer", "float", "enum", "list", "multi_string", "multi_integer", "spaceseplist"):
        models(f"{_module}.DEFINE_{_kind}")(_define(is_flag=False))
    models(f"{_module}.DEFINE_bool", f"{_module}.DEFINE_boolean")(_define(is_flag=True))
    VALUES[f"{_module}.FLAGS"] = lambda machine: Instance(External(FLAGS))


def _flag(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    known = instance.fields.get(name) or machine.state.environment.get(_key(name))
    return known or (None if name.startswith("__") else setting(machine, f"FLAGS.{name}"))


INSTANCE_ATTRIBUTES[FLAGS] = _flag


@models("absl.app.run", "tensorflow.app.run")
def run_main(machine: Machine, call: Call) -> Value | None:
    """`app.run(main)` calls main."""
    function = call.argument(0, "main")
    if function is None:
        return NONE
    return call_value(machine, function, Call([UNKNOWN], {}, call.node, call.frame))
