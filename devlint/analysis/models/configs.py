"""Configurations: objects whose attributes are also keys, and those that files and command lines fill."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from devlint.analysis.dispatch import INSTANCE_ATTRIBUTES, Call, method_models, models
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.plain import compute, lift, pair
from devlint.analysis.domain.values import (
    NONE,
    SIZE,
    STRING,
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
)
from devlint.analysis.flow.users_devices import setting
from devlint.analysis.machine import text_of

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine

CONFIG: Final = "easydict.EasyDict"
PLAIN: Final = "types.SimpleNamespace"


@models(
    CONFIG,
    "ml_collections.ConfigDict",
    "ml_collections.config_dict.ConfigDict",
    "addict.Dict",
    "munch.Munch",
    "munch.munchify",
    "box.Box",
    "yacs.config.CfgNode",
    "fvcore.common.config.CfgNode",
    "omegaconf.OmegaConf.create",
    "omegaconf.DictConfig",
    "omegaconf.OmegaConf.structured",
    "mmengine.config.ConfigDict",
    "mmcv.ConfigDict",
)
def config(machine: Machine, call: Call) -> Value | None:
    """`EasyDict({...})`: keys are attributes, nested ones too."""
    source = call.positional[0] if call.positional else None
    if source is not None and not isinstance(source, Mapping):
        return source if isinstance(source, Instance) else Unknown("cfg", True)
    known: dict[Any, Value] = {} if source is None else source.items
    return _config(machine, {**known, **call.keywords}, bool(source and source.open), call)


def _config(machine: Machine, items: dict[Any, Value], is_open: bool, call: Call) -> Instance:
    made = Instance(External(CONFIG), machine.site(call.node, call.frame))
    made.state["open"] = is_open
    for key, item in items.items():
        if isinstance(key, str):
            if isinstance(item, Mapping) and item.kind == "dict":
                item = _config(machine, dict(item.items), item.open, call)
            made.fields[key] = item
    return made


def _missing(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """A key that nothing in sight sets: a file or a command line may."""
    return None if name.startswith("__") else setting(machine, f"cfg.{name}")


INSTANCE_ATTRIBUTES[CONFIG] = _missing


@method_models(CONFIG, "__getitem__", "get")
def config_item(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg["key"]`."""
    name = text_of(call.positional[0]) if call.positional else None
    if name is None:
        return UNKNOWN
    known = instance.fields.get(name)
    if known is not None:
        return known
    default = call.argument(1, "default")
    if default is not None and not instance.state.get("open"):
        return default
    return setting(machine, f"cfg.{name}", default)


@method_models(CONFIG, "__setitem__")
def config_set(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg["key"] = value`."""
    name = text_of(call.positional[0]) if call.positional else None
    if name is not None and len(call.positional) == 2:
        machine.store.put(instance.fields, name, call.positional[1])
    return NONE


@method_models(CONFIG, "update", "merge_from_other_cfg")
def config_update(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg.update({...})`."""
    items: dict[object, Value] = {}
    for other in call.positional[:1]:
        if isinstance(other, Mapping):
            items.update(other.items)
        elif isinstance(other, Instance):
            items.update(other.fields)
    items.update(call.keywords)
    for key, item in items.items():
        if isinstance(key, str):
            machine.store.put(instance.fields, key, item)
    return NONE


@method_models(CONFIG, "merge_from_file", "freeze", "defrost", "set_new_allowed")
def config_merge(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """A file may change any key: what the program says by default stands."""
    return NONE


@method_models(CONFIG, "merge_from_list")
def config_from_list(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg.merge_from_list(["MODEL.DEVICE", device, ...])`: keys that the program names are set.

    A list of a command line may name any: what the program says by default stands.
    """
    words = call.argument(0, "cfg_list")
    if isinstance(words, Sequence) and not words.open:
        for key, item in zip(words.items[::2], words.items[1::2], strict=False):
            *path, last = (text_of(key) or "").split(".")
            holder: Value | None = instance
            for part in path:
                holder = holder.fields.get(part) if isinstance(holder, Instance) else None
            if isinstance(holder, Instance) and last:
                machine.store.put(holder.fields, last, _decoded(machine, item, call))
    return NONE


def _decoded(machine: Machine, item: Value, call: Call) -> Value:
    """What a list sets a key to: a text that is a literal of Python is read as one."""
    text = text_of(item)
    if text is None:
        return item
    try:
        return lift(ast.literal_eval(text), machine.site(call.node, call.frame))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return item


@method_models(CONFIG, "copy", "copy_and_resolve_references")
def config_copy(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg.copy()`."""
    return _copied(instance, dict(instance.fields))


@method_models(CONFIG, "clone")
def config_clone(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`cfg.clone()`: the parts are copied, too."""
    return _cloned(instance, {})


def _cloned(instance: Instance, made: dict[int, Instance]) -> Instance:
    """A copy, and copies of its parts: `made` are those that were begun, for one may hold another that holds it."""
    known = made.get(id(instance))
    if known is None:
        known = made[id(instance)] = _copied(instance, {})
        known.fields.update({n: _cloned(item, made) if _is_part(item) else item for n, item in instance.fields.items()})
    return known


def _is_part(item: Value) -> TypeGuard[Instance]:
    return isinstance(item, Instance) and isinstance(item.cls, External) and item.cls.path == CONFIG


def _copied(instance: Instance, fields: dict[str, Value]) -> Instance:
    made = Instance(instance.cls, instance.site)
    made.fields = fields
    made.state = Kept(instance.state)
    return made


@method_models(CONFIG, "keys", "__iter__")
def config_keys(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The keys."""
    return Sequence("dict_keys", [const(name) for name in instance.fields], bool(instance.state.get("open")))


@method_models(CONFIG, "items")
def config_items(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Keys and values."""
    items: list[Value] = [pair(const(name), item) for name, item in instance.fields.items()]
    return Sequence("dict_items", items, bool(instance.state.get("open")))


@method_models(CONFIG, "values")
def config_values(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """The values."""
    return Sequence("dict_values", list(instance.fields.values()), bool(instance.state.get("open")))


@method_models(CONFIG, "__contains__")
def config_contains(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`"key" in cfg`."""
    name = text_of(call.positional[0]) if call.positional else None
    return TRUE if name is not None and name in instance.fields else None


@method_models(CONFIG, "__len__")
def config_size(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """How many keys there are."""
    return SIZE


@models(PLAIN, "threading.local")
def simple_namespace(machine: Machine, call: Call) -> Value | None:
    """`SimpleNamespace(name=value)`."""
    made = Instance(External(PLAIN), machine.site(call.node, call.frame))
    made.fields.update(call.keywords)
    return made


@models(
    "omegaconf.OmegaConf.load",
    "omegaconf.OmegaConf.from_cli",
    "omegaconf.OmegaConf.merge",
    "hydra.compose",
    "mmengine.config.Config.fromfile",
    "mmengine.Config.fromfile",
    "mmcv.Config.fromfile",
)
def loaded(machine: Machine, call: Call) -> Value | None:
    """A configuration from a file."""
    known = [value for value in call.positional if isinstance(value, Instance)]
    return known[0] if known and len(known) == len(call.positional) else Unknown("cfg", True)


@models("omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.to_object")
def to_container(machine: Machine, call: Call) -> Value | None:
    """The configuration as a dict."""
    value = call.positional[0] if call.positional else UNKNOWN
    return Mapping(dict(value.fields), None, bool(value.state.get("open"))) if isinstance(value, Instance) else value


@models("json.loads")
def read_json(machine: Machine, call: Call) -> Value | None:
    """`json.loads(text)`: a text that the program has itself says what it holds."""
    return _parsed(machine, call, json.loads)


@models("tomllib.loads", "tomli.loads", "toml.loads")
def read_toml(machine: Machine, call: Call) -> Value | None:
    """`tomllib.loads(text)`."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return _parsed(machine, call, tomllib.loads)


@models("yaml.safe_load", "yaml.load", "yaml.full_load")
def read_yaml(machine: Machine, call: Call) -> Value | None:
    """`yaml.safe_load(text)`, where the library is there (libcst brings it); what stands in a file is the user's."""
    call.keywords.pop("Loader", None)
    return _parsed(machine, call.with_arguments(call.positional[:1], call.keywords), _of_yaml)


def _of_yaml(text: str) -> Any:
    try:
        read: Callable[[str], Any] = importlib.import_module("yaml").safe_load
    except ImportError:
        raise ValueError from None
    try:
        return json.loads(json.dumps(read(text)))
    except Exception as error:  # YAMLError, dates, keys that are no texts
        raise ValueError from error


def _parsed(machine: Machine, call: Call, read: Callable[[str], Any]) -> Value:
    """What a parser of a library makes of a text that is known."""
    text = call.positional[0] if call.positional else None
    if not isinstance(text, Const) or not isinstance(text.value, str) or len(call.values()) > 1:
        return Unknown("config", True)
    try:
        return lift(read(text.value), machine.site(call.node, call.frame))
    except (ValueError, RecursionError):
        return UNKNOWN


@models("json.dumps")
def write_json(machine: Machine, call: Call) -> Value | None:
    """`json.dumps(value)`: the text, where the value is known."""
    return compute(machine, json.dumps, call.positional, call) or STRING


@models("json.load", "toml.load", "tomllib.load", "tomli.load")
def read(machine: Machine, call: Call) -> Value | None:
    """What stands in a file is the user's choice."""
    return Unknown("config", True)
