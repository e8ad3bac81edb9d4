"""`torch.load` and `torch.save`: what a file holds, and where it is put."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.access import call_method, call_value
from devlint.analysis.dispatch import Call, models, on
from devlint.analysis.domain.ancestry import external_bases, find, mro
from devlint.analysis.domain.derived import Kept
from devlint.analysis.domain.plain import path_text
from devlint.analysis.domain.values import (
    NONE,
    POISON,
    SCALAR,
    STRING,
    UNKNOWN,
    Class,
    Const,
    DeviceValue,
    Function,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Tensor,
    Unknown,
    Value,
    constant,
    is_none,
)
from devlint.analysis.events import LoadWithoutMap
from devlint.analysis.flow.choices import gpu_is_asked_for
from devlint.analysis.flow.option_names import asks_for_gpu, speaks_of_gpu
from devlint.analysis.frames import held
from devlint.analysis.machine import text_of
from devlint.analysis.models.copying import copied
from devlint.analysis.programs.neighbours import saves_nothing, saves_settings
from devlint.analysis.programs.published import others_save
from devlint.analysis.pytorch.devices import is_device_like, resolve, source_text
from devlint.analysis.pytorch.host import read_pending
from devlint.analysis.pytorch.loads import note_load
from devlint.analysis.pytorch.meeting import tensors_in
from devlint.analysis.pytorch.modules import registered, submodules
from devlint.analysis.pytorch.results import is_any_content
from devlint.analysis.pytorch.rows import apply_row
from devlint.analysis.pytorch.snapshots import note_saved
from devlint.analysis.pytorch.tensor_methods import METHODS
from devlint.semantics import errors, table
from devlint.syntax import ir
from devlint.syntax.walk import calls, dotted, last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.domain.origins import Origin
    from devlint.analysis.machine import Machine


_SAVES = frozenset({"torch.save", "torch.jit.save"})

# -- what the world answers


@models("torch.utils.model_zoo.load_url", "torch.hub.load_state_dict_from_url")
def load_published(machine: Machine, call: Call) -> Value | None:
    """A file that is published: who made it nobody here can tell, and most are saved from the CPU."""
    where = call.argument(2, "map_location")
    if where is None or constant(where) is None:
        return UNKNOWN
    return load(machine, call.with_arguments([UNKNOWN, where]))


_MODES: Final = frozenset({"r", "rb", "br", "rb+", "r+b"})
"""Modes of `open`. As a `map_location` they break where a tensor is found; files loaded so for years hold none."""


@models("torch.load")
def load(machine: Machine, call: Call) -> Value:
    """`torch.load(path, map_location)`: what the program saved itself is known."""
    return _load(machine, call, False)


@models("torch.jit.load")
def load_script(machine: Machine, call: Call) -> Value:
    """`torch.jit.load(path, map_location)`: programs that another one exported, most of them on the CPU."""
    return _load(machine, call, True)


def _load(machine: Machine, call: Call, exported: bool) -> Value:
    where = call.argument(1, "map_location")
    source = call.argument(0, "f")
    saved = saved_content(machine, source)
    if where is not None and text_of(where) in _MODES and (saved is None or not tensors_in(saved)):
        return UNKNOWN if saved is None else copied(saved, {})
    if isinstance(where, Mapping) and saved is not None:
        return _by_location(machine, saved, where, call)
    if where is not None and constant(where) is not None:
        device: str | None = None
        if is_device_like(where) or isinstance(where, Sequence):
            device = resolve(machine, where, call.node, call.frame, "torch.load")
        if isinstance(where, Function):
            # It gets the storage, read into host memory, and gives the one to use.
            where = call_value(machine, where, call.with_arguments([Tensor("cpu"), Const("cpu")]))
        if isinstance(where, Tensor):
            device = where.device
        if device is None or device == "cpu":
            machine.testify("map_location", call.frame)
        if saved is not None:
            moved = machine.origin("moved", call.node, call.frame, device)
            loaded = machine.origin("loaded", call.node, call.frame, device)
            return _relocated(machine, saved, device, _Objects(moved, loaded))
        return (
            Mapping(
                {},
                Tensor(device, None, machine.origin("loaded", call.node, call.frame, device))
                if device not in (None, POISON)
                else None,
                True,
                "state_dict",
            )
            if device
            else UNKNOWN
        )
    if saved is not None:
        return copied(saved, {})
    if machine.has_cuda or call.open or machine.run.protocol or not machine.state.alive:
        return UNKNOWN
    if passes_on(call) and not _is_left_out(machine, where):
        return UNKNOWN
    if not gpu_is_asked_for(machine) and not _is_behind_gpus(machine) and not saves(machine, call):
        return _told(machine, call, exported)
    return UNKNOWN


def _by_location(machine: Machine, saved: Value, places: Mapping, call: Call) -> Value:
    """What was saved, where a dict says for the place at which it was; what that does not name stays."""
    if places.open or not all(isinstance(key, str) for key in places.items):
        return UNKNOWN
    loaded = copied(saved, {})
    resolved: dict[str, str | None] = {}
    for tensor in tensors_in(loaded):
        at = tensor.device
        if at is not None and at in places.items:
            if at not in resolved:
                resolved[at] = resolve(machine, places.items[at], call.node, call.frame, "torch.load")
                if resolved[at] == "cpu":
                    machine.testify("map_location", call.frame)
            tensor.device = resolved[at]
            tensor.origin = machine.origin("loaded", call.node, call.frame, tensor.device)
    return loaded


def _is_behind_gpus(machine: Machine) -> bool:
    """Whether a condition on the running path asks for GPUs by name, whatever it holds: `n_gpus > 0`."""
    for choice in machine.run.path:
        text = "" if choice.condition or choice.site is None else source_text(machine, choice.site)
        if speaks_of_gpu(text) and asks_for_gpu(text, choice.value):
            return True
    return False


def _told(machine: Machine, call: Call, exported: bool) -> Value:
    """Tell of a load, unless it was seen that data are loaded; what is loaded is known by what it is taken for."""
    site = machine.site(call.node, call.frame)
    if site.key not in machine.places.data_loads and not _holds_settings(machine, call):
        foreign = exported or is_foreign(machine, call)
        facts = {"foreign": foreign, "untaken": site.key not in machine.places.weight_loads}
        machine.emit_unheeded(LoadWithoutMap, site, errors.message("deserialize"), path_text="", **facts)
    loaded = Unknown()
    note_load(machine, loaded, site)
    return loaded


_OF_TRAINERS: Final = "training_args.bin"
"""The file in which the Trainer of transformers, and those who learnt from it, save their settings."""


def _holds_settings(machine: Machine, call: Call) -> bool:
    """Whether the file holds what the user of a program chose, by its name."""
    source = call.node.args[0] if isinstance(call.node, ir.Call) and call.node.args else None
    made = [] if source is None else [source, *(part.value for part in _bindings(source, call))]
    texts = [part.value for part in walk(made) if isinstance(part, ir.Const) and isinstance(part.value, str)]
    name = os.path.basename(texts[-1]) if texts else ""
    return name == _OF_TRAINERS or bool(name and saves_settings(machine.project, call.frame.namespace.path, name))


def passes_on(call: Call) -> bool:
    """Whether the call hands on a `map_location` of its function's callers, who may leave it at its default."""
    keywords = call.node.keywords if isinstance(call.node, ir.Call) else []
    return any(name is None or (name == "map_location" and not isinstance(value, ir.Const)) for name, value in keywords)


def _is_left_out(machine: Machine, where: Value | None) -> bool:
    """Whether a program comes here on its only path, and has surely left the `map_location` of the loader out."""
    return where is not None and is_none(where) and not machine.run.path


def _program(machine: Machine, call: Call) -> str:
    """The path of the file that is run."""
    return (machine.run.activations[0].call.frame if machine.run.activations else call.frame).namespace.path


def is_foreign(machine: Machine, call: Call) -> bool:
    """Whether what is loaded is somebody else's: a document gives it to its readers, a download brought it, it lies
    beside the code, or a file that the program imports names it, where the program does not."""
    here = call.frame.namespace
    source = machine.project.source(here.path)
    if source is not None and source.kind != "python":
        return True
    text = path_text(call.argument(0, "f") or UNKNOWN)
    program = machine.project.module(_program(machine, call))
    if text is not None and program is not None and here.path != _program(machine, call):
        if os.path.basename(text) not in program.text:
            return True
    if _is_fetched(call) or _lies_beside(call) or _is_published(call):
        return True
    if any(_brings(node, call) for node in _downloads(here.module)):
        return True
    if _is_fetched_else(call) or saves_nothing(machine.project, here.path):
        return True
    around = [activation.call.frame.namespace.path for activation in reversed(machine.run.activations)]
    return others_save(machine.project, [here.path, *around])


def _is_fetched_else(load: Call) -> bool:
    """Whether the file is fetched where it is not there yet: a load on one side of a branch and a download on the
    other, or a download behind the question whether what is loaded exists."""
    body = load.frame.namespace.module.body if load.frame.function is None else load.frame.function.body.statements
    downloads = {id(node) for node in _downloads(load.frame.namespace.module)}
    source = load.node.args[0] if isinstance(load.node, ir.Call) and load.node.args else None
    for branch in (part for part in walk(body) if downloads and isinstance(part, ir.If)):
        sides = [list(walk(side)) for side in (branch.body, branch.orelse)]
        fetching = [any(id(part) in downloads for part in side) for side in sides]
        loading = [any(part is load.node for part in side) for side in sides]
        if fetching in ([True, False], [False, True]) and loading == fetching[::-1]:
            return True
        if any(fetching) and dotted(source) and _asks_for_file(branch.test, dotted(source)):
            return True
    return False


_THERE: Final = frozenset({"exists", "isfile", "is_file"})


def _asks_for_file(test: ir.Expr, name: str) -> bool:
    """Whether a condition asks whether the file of this name is there."""
    asked = [part for part in walk([test]) if isinstance(part, ir.Call) and last_name(part.function) in _THERE]
    return any(name in (dotted(inner) for inner in walk([part])) for part in asked)


def _lies_beside(load: Call) -> bool:
    """Whether the name of what is loaded is made from where the code lies: it was published with it."""
    source = load.node.args[0] if isinstance(load.node, ir.Call) and load.node.args else None
    waiting, seen = [source], set()
    while waiting:
        node = waiting.pop()
        for part in walk([node] if node is not None else []):
            if isinstance(part, ir.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += [made.value for made in _bindings(part, load)]
    return "__file__" in seen


_OF_HUBS: Final = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")


def _is_published(load: Call) -> bool:
    """Whether the function around a load takes published weights instead, where the file is not there."""
    function = load.frame.function
    parts = set() if function is None else {id(part) for part in walk(function.body.statements)}
    return any(id(node) in parts and path in _OF_HUBS for path, node in calls(load.frame.namespace.module))


def _is_fetched(load: Call) -> bool:
    """Whether the name of what is loaded comes from a function of the project that brings the file."""
    source = load.node.args[0] if isinstance(load.node, ir.Call) and load.node.args else None
    made = [source, *(part.value for part in _bindings(source, load))]
    for node in made:
        function = held(node.function, load.frame) if isinstance(node, ir.Call) else None
        if isinstance(function, Function):
            brought = {id(part) for part in _downloads(function.frame.namespace.module)}
            if any(id(part) in brought for part in walk(function.node.body.statements)):
                return True
    return False


def _bindings(source: ir.Expr | None, load: Call) -> list[ir.Assign]:
    """Where the function around a load, or its file, gives the name of what is loaded its value."""
    function, name = load.frame.function, dotted(source)
    body = load.frame.namespace.module.body
    own = [] if function is None else _bound(name, function.body.statements)
    return own or _bound(name, body if function is None else [part for part in body if isinstance(part, ir.Assign)])


def _bound(name: str, body: list[ir.Stmt]) -> list[ir.Assign]:
    return [part for part in walk(body) if isinstance(part, ir.Assign) and name and name in map(dotted, part.targets)]


_FETCHERS: Final = frozenset(
    "urlretrieve load_file_from_url load_state_dict_from_url load_url http_get cached_path cached_file".split()
)
"""Functions of libraries that bring a file, beside those that are called a download."""


def _downloads(module: ir.Module) -> Iterator[ir.Call]:
    """The calls of a file that bring another one, by a library, a function that it imports for that, or one of its own
    that uses one."""
    named = calls(module)
    imported = {
        alias or name
        for part in walk(module.body)
        if isinstance(part, ir.ImportFrom) and part.level
        for name, alias in part.names
        if _is_download(name)
    }
    found = {id(node) for path, node in named if path in imported or ("." in path and _is_download(path))}
    found |= {id(node) for path, node in named if path in _SHELLS and _starts_fetcher(node)}
    own = {
        part.name
        for part in walk(module.body)
        if found and isinstance(part, ir.Function) and any(id(inner) in found for inner in walk(part.body.statements))
    }
    return (node for path, node in named if id(node) in found or path in own)


_REQUESTS: Final = frozenset({"requests.get", "urllib.request.urlopen", "httpx.get"})


_SHELLS: Final = frozenset(
    {
        "os.system",
        "os.popen",
        *(f"subprocess.{name}" for name in "run call check_call check_output Popen getoutput".split()),
    }
)


def _starts_fetcher(node: ir.Call) -> bool:
    """Whether a command that is run brings a file: `subprocess.run(["curl", url, "-o", path])`."""
    words = (
        part.value.split() for part in walk(node.args) if isinstance(part, ir.Const) and isinstance(part.value, str)
    )
    return any(not {"curl", "wget", "gdown"}.isdisjoint(found) for found in words)


def _is_download(path: str) -> bool:
    last = path.rpartition(".")[2]
    return path in _REQUESTS or last in _FETCHERS or "download" in last


def _brings(node: ir.Call, load: Call) -> bool:
    """Whether a download brings the very file that is loaded: it gives its name, is given it, or is a method of what
    has it, `weights.download()` before `torch.load(weights.path)`."""
    source = load.node.args[0] if isinstance(load.node, ir.Call) and load.node.args else None
    if source is None or source is node:
        return source is node
    name = dotted(source)
    owner = dotted(node.function.value) if isinstance(node.function, ir.Attribute) else ""
    if owner and owner not in ("self", "cls") and name.rpartition(".")[0] == owner:
        return True
    given = [*node.args, *(value for _, value in node.keywords)]
    return bool(name and any(dotted(value) == name for value in given)) or any(
        part.value is node or any(ir.same(part.value, value) for value in given) for part in _bindings(source, load)
    )


def saves(machine: Machine, call: Call) -> bool:
    """Whether what is loaded is taken to be the program's own: it saves too, itself or in a file that it imports, or a
    dataset loads its cache."""
    here = call.frame.namespace
    if any(path in _SAVES for path, _ in calls(here.module)):
        return True
    for start in {here.path, _program(machine, call)}:
        for path in (start, *machine.project.dependencies.get(start, ())):
            module = machine.project.module(path)
            if module is not None and any(path in _SAVES for path, _ in calls(module)):
                return True
    owner = call.frame.owner
    if owner is None:
        return False
    names = [cls.node.name for cls in mro(owner) if isinstance(cls, Class)]
    return any(name.endswith("Dataset") for name in [*names, *external_bases(owner)])


def saved_content(machine: Machine, source: Value | None) -> Value | None:
    """What this program saved under that name or buffer."""
    key = _file_key(source)
    files = machine.files
    return files.get(key) if key is not None else None


def _file_key(source: Value | None) -> object:
    """What a file is known by: its path, or the object that stands for it or for a path that isn't known."""
    if isinstance(source, Unknown):
        return source.path
    if source is None or source in (STRING, SCALAR):
        return None
    name = source.fields.get("name") if isinstance(source, Instance) else None
    if name is not None:
        return _file_key(name) or source
    text = path_text(source)
    return source if text is None else os.path.normpath(text)


@models("torch.save", "torch.jit.save")
def save(machine: Machine, call: Call) -> Value:
    """`torch.save(obj, path)`: what is saved stays as it is now."""
    note_saved(machine, call.argument(0, "obj"), call)
    return keep(machine, call.argument(0, "obj"), call.argument(1, "f"), call)


def keep(machine: Machine, content: Value | None, file: Value | None, call: Call) -> Value:
    for tensor in tensors_in(content) if content is not None else ():
        read_pending(machine, tensor, "", call.node, call.frame)
    key = _file_key(file)
    if key is not None and content is not None:
        machine.store.put(machine.files, key, copied(content, {}))
        machine.loss.files.add(key)
    return NONE


@on(METHODS, "pop", "get", "setdefault", "keys", "values", "items", "update")
def method_of_dict(machine: Machine, value: Tensor, call: Call, name: str) -> Value:
    """A method of dicts: what was loaded, and taken for a tensor like all that it holds, is a dict."""
    if not is_any_content(value):
        row = table.method(name)
        return UNKNOWN if row is None else apply_row(machine, row, call, value)
    return call_method(machine, Mapping({}, value, True, "state_dict"), name, call)


def relocated(machine: Machine, value: Value, device: str | None) -> Value:
    """A loaded copy with its tensors on `device`; objects of the program's own are left as they are."""
    return _relocated(machine, value, device, None)


class _Objects:
    """The objects of the program's own that a file brings back, and how their tensors came to be where they are.

    `loaded`: how tensors did that stand in no object.
    """

    def __init__(self, origin: Origin, loaded: Origin) -> None:
        self.origin = origin
        self.loaded = loaded
        self.made: dict[int, Value] = {}


def _relocated(machine: Machine, value: Value, device: str | None, objects: _Objects | None) -> Value:
    if isinstance(value, Tensor):
        origin = value.origin if objects is None else objects.loaded
        return Tensor(device, value.rank, None if origin is None else origin.released())
    if isinstance(value, Mapping):
        items = {key: _relocated(machine, part, device, objects) for key, part in value.items.items()}
        rest = None if value.rest is None else _relocated(machine, value.rest, device, objects)
        return Mapping(items, rest, value.open, value.kind)
    if isinstance(value, Sequence):
        return Sequence(value.kind, [_relocated(machine, part, device, objects) for part in value.items], value.open)
    if isinstance(value, Instance) and value.module is not None and device is not None:
        made = copied(value, {})
        assert isinstance(made, Instance)
        for part in submodules(made).values():
            for tensor in (kept for field in part.fields.values() for kept in tensors_in(field, 2)):
                tensor.device = device  # with all that is saved, registered or not
        for tensor, _, _ in registered(made):
            tensor.device = device
        return made
    if isinstance(value, Instance) and value.module is None and _is_kept_whole(value):
        return value if objects is None else _relocated_object(machine, value, device, objects)
    return value if isinstance(value, (Const, Scalar, DeviceValue)) else UNKNOWN


_PICKLING = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__new__")


def _is_kept_whole(value: Instance) -> bool:
    """Whether an object of the program's own is saved with all its fields and nothing else."""
    return (
        isinstance(value.cls, Class)
        and not external_bases(value.cls)
        and all(find(value.cls, name) is None for name in _PICKLING)
    )


def _relocated_object(machine: Machine, value: Instance, device: str | None, objects: _Objects) -> Value:
    """A loaded copy of an object: what its fields hold is on `device`."""
    known = objects.made.get(id(value))
    if known is None:
        made = Instance(value.cls, value.site)
        objects.made[id(value)] = known = made
        made.state = Kept(value.state)
        made.fields = {name: _relocated(machine, part, device, objects) for name, part in value.fields.items()}
        for tensor in (part for field in made.fields.values() for part in tensors_in(field, 2)):
            tensor.origin = objects.origin
    return known


@models("numpy.load")
def load_array(machine: Machine, call: Call) -> Value | None:
    """`numpy.load(path)`: an array; with `allow_pickle=True` anything that somebody pickled."""
    pickled = call.argument(2, "allow_pickle")
    return None if pickled is None or constant(pickled) is False else UNKNOWN
