"""click, fire, absl and hydra: programs whose parameters come from the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_value
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, VALUES, Call, models
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
from devlint.analysis.flow.users_devices import setting, unless_given
from devlint.analysis.machine import text_of

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

OPTION: Final = "devlint.option"
CONFIGURED: Final = "devlint.configured"
FLAGS: Final = "absl.flags.FlagValues"


def chosen(machine: Machine, path: str, default: Value | None, is_flag: bool = False) -> Value:
    """What an option is: a known default that is no flag, or a choice of the user."""
    if default is None or is_none(default) or is_flag:
        return setting(machine, path, default)
    if isinstance(default, Const) and isinstance(default.value, bool):
        return Unknown(path, True, default)
    return unless_given(machine, path, default)


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
    """`fire.Fire(main)` calls main; what has no default is a choice of the user. `fire.Fire()` offers all functions."""
    if not call.positional and not call.keywords:
        return _each_command(machine, call)
    function = call.positional[0] if call.positional else UNKNOWN
    if isinstance(function, Mapping) and len(function.items) == 1:
        function = next(iter(function.items.values()))
    if isinstance(function, Function):
        parameters = function.node.parameters
        keywords = {
            name: chosen(machine, name, function.defaults.get(name))
            for name in [*parameters.positional, *parameters.keyword]
            if name not in ("self", "cls")
        }
        return call_value(machine, function, Call([], keywords, call.node, call.frame))
    if isinstance(function, (Class, Bound)):
        return call_value(machine, function, Call([], {}, call.node, call.frame))
    return UNKNOWN


def _each_command(machine: Machine, call: Call) -> Value:
    """Call each function of the file, as one command line does: what one leaves behind, the next does not find."""
    namespace = call.frame.namespace
    store = machine.store
    opened = store.open()
    for function in list(namespace.names.values()):
        if not isinstance(function, Function) or function.frame.namespace is not namespace:
            continue
        names = function.node.parameters
        keywords: dict[str, Value] = {
            name: chosen(machine, name, function.defaults.get(name)) for name in [*names.positional, *names.keyword]
        }
        arguments = Call([], keywords, call.node, call.frame, open=True)
        mark = store.mark()
        one_way(machine, partial(_ignore, machine, function, arguments))
        store.rollback(mark)
    if opened:
        store.close()
    return NONE


def _ignore(machine: Machine, function: Function, arguments: Call) -> None:
    call_value(machine, function, arguments)


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
