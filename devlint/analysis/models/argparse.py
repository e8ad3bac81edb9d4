"""Command lines read by argparse: known defaults are the values, flags and what has none are choices of the user."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value, truth
from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models
from devlint.analysis.domain.plain import pair
from devlint.analysis.domain.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Sequence,
    Unknown,
    Value,
    const,
    constant,
    is_none,
)
from devlint.analysis.events import Choice
from devlint.analysis.flow.gpu_numbers import read, says_which
from devlint.analysis.flow.option_names import is_gpu_flag, speaks_of_gpu
from devlint.analysis.flow.other_values import read_default
from devlint.analysis.flow.users_devices import GPU, gpu_among, no_device, setting, unless_given
from devlint.analysis.machine import text_of
from devlint.analysis.models.command_lines import (
    FLAGS,
    STORING,
    Option,
    command_line,
    given_value,
    is_odd,
    left_alone,
    offers_cpu,
    parsed,
)
from devlint.analysis.python.parsed_options import CLOSED, close, doubt, is_written, lacks_option, opens
from devlint.analysis.running import ON_THE_CPU
from devlint.analysis.signals import Crash
from devlint.semantics.devices import parse_device
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

PARSER: Final = "argparse.ArgumentParser"
NAMESPACE: Final = "argparse.Namespace"
ACTION: Final = "argparse.Action"

_ENDING: Final = frozenset({"help", "version"})


@models(PARSER)
def own_parser(machine: Machine, call: Call) -> Value | None:
    """`argparse.ArgumentParser(...)`, which takes the options that it is given, and no others."""
    made = parser(machine, call)
    if isinstance(made, Instance):
        made.state[CLOSED] = not opens(call)
        machine.has_closed = True
    return made


@models(
    "configargparse.ArgumentParser",
    "configargparse.ArgParser",
    "jsonargparse.ArgumentParser",
    "transformers.HfArgumentParser",
)
def parser(machine: Machine, call: Call) -> Value | None:
    """`argparse.ArgumentParser(parents=[...])`."""
    made = Instance(External(PARSER), machine.site(call.node, call.frame))
    options: list[Option] = []
    parents = call.given(-1, "parents")
    for parent in parents.items if isinstance(parents, Sequence) else ():
        if isinstance(parent, Instance):
            options += parent.state.get("options", ())
            made.state["odd"] = made.state.get("odd") or parent.state.get("odd")
    made.state["options"] = tuple(options)
    made.state["open"] = call.open
    return made


@method_models(PARSER, "add_argument_group", "add_mutually_exclusive_group")
def group(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Options of a group are the parser's."""
    return instance


@method_models(PARSER, "add_subparsers")
def subparsers(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Which command is chosen is open; the options of all of them may be there."""
    doubt(instance)
    machine.store.put(instance.state, "odd", True)
    dest = text_of(call.given(-1, "dest"))
    if dest is not None:
        option = Option(dest, (), NONE, "store")
        option.required = True
        _add(machine, instance, option)
    return instance


@method_models(PARSER, "add_parser")
def subparser(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The parser of one command: its options are among those of the whole."""
    return instance


@method_models(PARSER, "add_argument", "add", "add_arg")
def add_argument(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`parser.add_argument("--name", default=..., type=..., action=...)`."""
    names = [text_of(value) for value in call.positional]
    flags = tuple(name for name in names if name is not None)
    action = call.keywords.get("action")
    kind = text_of(action) or "store"
    if not is_written(call, action is None or text_of(action) in STORING | _ENDING):
        doubt(instance)
    if not flags or len(flags) < len(names):
        machine.store.put(instance.state, "open", True)
        return UNKNOWN
    dest = text_of(call.keywords.get("dest")) or _destination(flags)
    if action is not None and text_of(action) is None:
        kind = "custom"
    if isinstance(action, External):
        kind = "optional" if action.path.endswith("BooleanOptionalAction") else "custom"
    if kind in _ENDING:
        return Instance(External(ACTION))
    default = call.keywords.get("default")
    option = Option(dest, flags, default or FLAGS.get(kind, NONE), kind)
    option.offers_cpu = offers_cpu(option.default, call)
    option.convert = call.keywords.get("type")
    choices = call.keywords.get("choices")
    option.choices = choices
    option.gpu = gpu_among(choices.items if isinstance(choices, Sequence) else None)
    option.const = call.keywords.get("const", NONE)
    nargs = constant(call.keywords.get("nargs", NONE))
    option.nargs = nargs if isinstance(nargs, (int, str)) else None
    if is_odd(option, call):
        machine.store.put(instance.state, "odd", True)
    positional = not flags[0].startswith("-")
    option.required = default is None and (
        (positional and nargs not in ("?", "*")) or truth(machine, call.keywords.get("required", FALSE)) is True
    )
    option.fixed = default is not None and _is_computed(call.node)
    _add(machine, instance, option)
    made = Instance(External(ACTION))
    made.fields["dest"] = const(dest)
    return made


def _destination(flags: tuple[str, ...]) -> str:
    """The attribute that argparse derives from the first long flag."""
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return chosen.lstrip("-").replace("-", "_")


def _is_computed(node: Any) -> bool:
    """Whether the default is worked out by the program: what the machine says, not what the author wrote."""
    for name, expression in getattr(node, "keywords", ()):
        if name == "default":
            return not isinstance(expression, ir.Const)
    return False


def _add(machine: Machine, instance: Instance, option: Option) -> None:
    machine.store.put(instance.state, "options", (*instance.state.get("options", ()), option))


@method_models(PARSER, "set_defaults")
def set_defaults(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`parser.set_defaults(name=value)`."""
    doubt(instance)
    options = {option.dest: option for option in instance.state.get("options", ())}
    for name, value in call.keywords.items():
        old = options.get(name)
        if old is not None and not old.flags:
            value = Unknown(name, True)  # each command has its own
        option = Option(name, old.flags if old else (), value, old.kind if old else "store")
        option.convert = None
        option.fixed = old is None
        options[name] = option
    machine.store.put(instance.state, "options", tuple(options.values()))
    return NONE


@method_models(PARSER, "get_default")
def get_default(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`parser.get_default(name)`."""
    name = text_of(call.argument(0, "dest"))
    found = [option.default for option in instance.state.get("options", ()) if option.dest == name]
    return found[-1] if found else NONE


@method_models(PARSER, "print_help", "print_usage", "format_help", "add_argument_group_help", "register")
def told(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Help texts."""
    return NONE


@method_models(PARSER, "error", "exit")
def ended(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`parser.error(...)` ends the program."""
    raise Crash("SystemExit")


@method_models(PARSER, "parse_args", "parse_intermixed_args")
def parse_args(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`args = parser.parse_args()`."""
    return _namespace(machine, instance, call, False)


@method_models(PARSER, "parse_known_args")
def parse_known_args(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`args, rest = parser.parse_known_args()`."""
    return pair(_namespace(machine, instance, call, True), Sequence("list", [], True))


@method_models(PARSER, "parse_args_into_dataclasses")
def parse_into_dataclasses(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Arguments of `transformers.HfArgumentParser`: nothing is known of them."""
    return Sequence("tuple", [Unknown("args", True)], True)


def _is_number(option: Option) -> bool:
    """Whether an option takes the number of a GPU, or a text of such, and is none unless given: `--gpu`, `type=int`.
    A program that does without asks whether it was given, which is evidence of its own."""
    converts = isinstance(option.convert, External) and option.convert.path in ("builtins.int", "builtins.str")
    return converts and is_none(option.default) and option.dest.lower() == "gpu"


def _is_set_for_good(option: Option) -> bool:
    """Whether a flag is already what giving it would make it: `action="store_true", default=True`. Nobody chooses."""
    given = {"store_true": True, "store_false": False}.get(option.kind)
    return given is not None and isinstance(option.default, Const) and option.default.value is given


_ANSWERS: Final = frozenset({"", "true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "none", "auto"})
"""What a text says that is no selection of GPUs."""


def _says_which(name: str, default: Value) -> bool:
    """Whether an option is about which GPU, by its default: `--gpu "0"`, `--gpu 0`, `--gpu "all"`, a list of numbers. A
    program that takes -1 for the CPU, or 1 for a yes, asks for it, which is evidence of its own."""
    if isinstance(default, Sequence):
        numbers = [constant(item) for item in default.items]
        return bool(numbers) and all(str(number).isdigit() for number in numbers)
    names = default.value if isinstance(default, Const) else None
    if not isinstance(names, str):
        number = constant(default)
        is_number = isinstance(number, int) and not isinstance(number, bool) and number >= 0
        return is_number and (number != 1 or says_which(name, default))
    return (
        names.strip().lower() not in _ANSWERS
        and (names.isalpha() or names.replace(",", "").isdigit())
        and (parse_device(names) is None)
    )


def _namespace(machine: Machine, instance: Instance, call: Call, others: bool) -> Value:
    """What is parsed; `others`: words that no option takes are left over, and no error."""
    options: tuple[Option, ...] = instance.state.get("options", ())
    given = command_line(call)
    existing = call.given(1, "namespace")
    made = existing if isinstance(existing, Instance) else Instance(External(NAMESPACE))
    if existing is None and not others:
        close(machine, instance, made, call)
    name = _assigned_name(call) or "args"
    machine.store.put(made.state, "path", name)
    machine.store.put(made.state, "named", True)
    exact = None if given is None else parsed(instance, given, others)
    left = None if given is None or exact is not None else left_alone(options, given)
    for option in options:
        default = option.default
        says_where = not (_says_which(option.dest, default) or _is_number(option) or _is_set_for_good(option))
        asked = ("availability", call.frame.namespace.path) in machine.entry.evidence
        if (is_gpu_flag(option.dest) and says_where) or (asked and speaks_of_gpu(option.dest)):
            machine.testify("option", call.frame)
        if isinstance(default, Const) and default.site is not None and parse_device(str(default.value)) is not None:
            machine.testify("option", call.frame)
            if exact is None:
                machine.places.options.add(default.site.key)
        if exact is not None:
            if isinstance(option.default, Const) and option.default.site is not None:
                machine.places.options.discard(option.default.site.key)
            if option.dest in exact:
                convert = partial(_converted, machine, option, name, call)
                value = given_value(option, exact[option.dest], convert)
            elif option.dest in made.fields and option.flags:
                continue  # the first of several has the default
            else:
                value = _converted(machine, option, name, call, default)
        elif left is not None:
            value = _converted(machine, option, name, call, default) if option.dest in left else UNKNOWN
        else:
            value = _value(machine, option, name, call)
        machine.store.put(made.fields, option.dest, value)
    return made


def _value(machine: Machine, option: Option, name: str, call: Call) -> Value:
    """What an option is where the command line is the user's."""
    path = f"{name}.{option.dest}"
    default = option.default
    if option.required:
        return setting(machine, path) if _may_name_gpu(option) else no_device(machine, path)
    if _is_set_for_good(option):
        return default
    if option.kind in ("store_true", "store_false", "optional", "store_const", "count"):
        if option.fixed and not is_none(default):
            return default
        is_flag = option.kind in ("store_true", "store_false") and isinstance(constant(default), bool)
        return Unknown(path, True, default, is_flag)
    if is_none(default) or constant(default) == "":
        if _may_name_gpu(option):
            return setting(machine, path, default)
        return no_device(machine, path, default)  # left away, or given: both are what the option is there for
    if option.offers_cpu and isinstance(default, Const) and not machine.world.device_count:
        machine.run.asked[ON_THE_CPU] = None
        if machine.run.is_on_the_cpu:
            machine.run.path.append(Choice(f"{path} == 'cpu'", True, default.site))
            default = Const("cpu", default.site)
    default = unless_given(machine, path, default, option.gpu)
    default = _converted(machine, option, name, call, default)
    if not option.fixed and isinstance(default, Const) and (default.value is None or _is_switch(option.dest, default)):
        return Unknown(path, True, default)
    if option.dest in _RANKS and isinstance(constant(default), int):
        site = machine.site(call.node, call.frame)
        machine.places.ranks.add(site.key)
        return Const(constant(default), site)
    if says_which(option.dest, default):
        return unless_given(machine, path, read(machine, default, machine.site(call.node, call.frame)))
    return default if option.fixed else read_default(machine, path, default, option.choices)


def _may_name_gpu(option: Option) -> bool:
    """Whether an option without a default takes the name of a GPU as it is."""
    convert = option.convert
    return option.gpu == GPU and (
        convert is None or (isinstance(convert, External) and convert.path in ("builtins.str", "torch.device"))
    )


def _is_switch(name: str, default: Const) -> bool:
    """Whether an option is a yes or a no, also where these are numbers: `--use_cuda 1`."""
    is_number = isinstance(default.value, int) and default.value in (0, 1)
    return isinstance(default.value, bool) or (is_number and is_gpu_flag(name) and not says_which(name, default))


_RANKS = frozenset({"local_rank", "rank", "localrank", "local_process_index"})
"""Options of which a launcher gives each process its own value; the default is that of a single process."""


def _converted(machine: Machine, option: Option, name: str, call: Call, default: Value) -> Value:
    """argparse converts defaults that are strings; what comes of them where nobody can follow is the user's choice."""
    convert = option.convert
    if convert is None or not isinstance(default, Const) or not isinstance(default.value, str):
        return default
    if isinstance(convert, External) and convert.path == "builtins.str":
        return default
    converted = call_value(machine, convert, call.with_arguments([default]))
    return Unknown(f"{name}.{option.dest}", True) if isinstance(converted, Unknown) else converted


def _assigned_name(call: Call) -> str | None:
    """The variable to which the result of the call is assigned, where that is a plain name."""
    function = call.frame.function
    body = call.frame.namespace.module.body if function is None else function.body.statements
    return _find_target(body, call.node)


def _find_target(statements: list[Any], node: object) -> str | None:
    for statement in statements:
        if isinstance(statement, ir.Assign) and statement.value is node:
            target = statement.targets[0]
            if isinstance(target, ir.Display) and target.items:
                target = target.items[0]
            return target.id if isinstance(target, ir.Name) else None
        for inside in ("body", "orelse", "final"):
            block = getattr(statement, inside, None)
            if isinstance(block, list) and not isinstance(statement, (ir.Class, ir.Function)):
                found = _find_target(block, node)
                if found is not None:
                    return found
    return None


# -- the namespace


def namespace_attribute(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """An attribute of the namespace that no option in sight makes.

    Raises:
        Crash: it surely has none of that name.
    """
    if name.startswith("__"):
        return None
    if lacks_option(machine, instance, name):
        raise Crash("AttributeError")
    return setting(machine, f"{instance.state.get('path', 'args')}.{name}")


INSTANCE_ATTRIBUTES[NAMESPACE] = namespace_attribute


@models(NAMESPACE)
def namespace(machine: Machine, call: Call) -> Value | None:
    """`argparse.Namespace(name=value)`: its fields are known."""
    made = Instance(External(NAMESPACE), machine.site(call.node, call.frame))
    made.fields.update(call.keywords)
    for other in call.positional[:1]:
        if isinstance(other, Mapping):
            made.fields.update({key: value for key, value in other.items.items() if isinstance(key, str)})
    made.state["path"] = _assigned_name(call) or "args"
    made.state["named"] = True
    return made


@method_models(NAMESPACE, "__contains__")
def namespace_contains(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`"name" in args`."""
    name = text_of(call.positional[0]) if call.positional else None
    return TRUE if name is not None and name in instance.fields else None


@method_models(NAMESPACE, "_get_kwargs")
def namespace_items(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The fields as pairs."""
    return Sequence("list", [pair(const(name), value) for name, value in instance.fields.items()], True)
