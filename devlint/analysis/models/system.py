"""sys, os, time, random, paths, temporary files, logging, spawned processes: what they give, as far as devices go."""

from __future__ import annotations

import math
import os.path
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from devlint.analysis.access import call_value, iterate
from devlint.analysis.dispatch import ENTER, INSTANCE_ATTRIBUTES, MODELS, VALUES, Call, method_models, models, on
from devlint.analysis.domain.plain import compute, index_number, join_all, path_text
from devlint.analysis.domain.values import (
    BOOL,
    COUNT,
    NONE,
    NUMBER,
    STRING,
    UNKNOWN,
    Const,
    External,
    Instance,
    Mapping,
    Scalar,
    Sequence,
    Unknown,
    Value,
    birth,
    const,
)
from devlint.analysis.python.arguments import Arguments
from devlint.analysis.python.sequences import rewrite
from devlint.analysis.signals import Crash

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

RESULTS: Final[dict[str, tuple[Value, str]]] = {
    "number": (
        NUMBER,
        "time.time time.perf_counter time.monotonic time.process_time time.time_ns time.perf_counter_ns "
        "timeit.default_timer "
        "random.random random.uniform random.gauss random.normalvariate random.expovariate "
        "random.betavariate "
        "random.triangular os.getpid os.getppid os.path.getsize os.path.getmtime os.cpu_count os.getuid "
        "os.system "
        "multiprocessing.cpu_count psutil.cpu_count sys.getsizeof sys.getrefcount sys.getrecursionlimit "
        "gc.collect "
        "threading.get_ident",
    ),
    "count": (COUNT, "random.randint random.randrange random.getrandbits"),
    "string": (
        STRING,
        "time.strftime time.ctime time.asctime os.getcwd os.path.abspath os.path.realpath os.path.expanduser "
        "os.path.expandvars socket.gethostname platform.node platform.platform getpass.getpass "
        "getpass.getuser "
        "pprint.pformat textwrap.dedent textwrap.fill tempfile.gettempdir shutil.which "
        "inspect.getsource "
        "traceback.format_exc subprocess.getoutput uuid.uuid4 hashlib.md5 base64.b64encode "
        "inspect.getfile",
    ),
    "bool": (
        BOOL,
        "os.path.exists os.path.isfile os.path.isdir os.path.islink os.access inspect.isclass "
        "inspect.isfunction "
        "importlib.util.find_spec random.choices.__bool__ sys.stdout.isatty math.isclose",
    ),
    "none": (
        NONE,
        "time.sleep random.seed os.makedirs os.mkdir os.remove os.rename os.rmdir os.chdir os.unlink "
        "os.symlink os.replace "
        "shutil.rmtree shutil.copy shutil.copyfile shutil.move shutil.copytree sys.stdout.write "
        "sys.stderr.write "
        "sys.stdout.flush sys.stderr.flush sys.setrecursionlimit json.dump yaml.dump "
        "yaml.safe_dump "
        "warnings.warn warnings.filterwarnings warnings.simplefilter logging.basicConfig logging.info "
        "logging.warning "
        "logging.error logging.debug logging.critical logging.exception logging.disable pprint.pprint "
        "traceback.print_exc "
        "gc.disable gc.enable gc.freeze signal.signal atexit.register faulthandler.enable "
        "sys.path.append sys.path.insert "
        "torch.multiprocessing.set_sharing_strategy "
        "multiprocessing.freeze_support pdb.set_trace",
    ),
    "strings": (
        Sequence("list", [STRING], True),
        "os.listdir glob.glob glob.iglob os.walk os.scandir shlex.split subprocess.getstatusoutput",
    ),
}
"""What calls give that say no more than that: paths by result."""


def _gives(value: Value) -> Callable[[Machine, Call], Value]:
    def run(machine: Machine, call: Call) -> Value:
        return value if not isinstance(value, Sequence) else Sequence(value.kind, list(value.items), value.open)

    return run


for _value, _paths in RESULTS.values():
    for _path in _paths.split():
        MODELS[_path] = _gives(_value)


# -- pure functions of constants

_PATHS: Final = ("basename", "dirname", "join", "split", "splitext", "normpath", "isabs")
_MATH: Final = tuple(name for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_"))


def _pure(function: Callable[..., Any], otherwise: Value) -> Callable[[Machine, Call], Value]:
    def run(machine: Machine, call: Call) -> Value:
        return compute(machine, function, call.positional, call) or otherwise

    return run


def _joined(machine: Machine, call: Call) -> Value:
    """`os.path.join(...)`: a path that isn't known is at least the same path wherever it is used."""
    texts = [path_text(part) for part in call.positional]
    if texts and None not in texts and not call.open:
        return const(os.path.join(*[text for text in texts if text is not None]), machine.site(call.node, call.frame))
    return Scalar(kind="string")


def _stands_for(number: float) -> Callable[[Machine], Value]:
    """A name that stands for a number."""
    return lambda machine: const(number)


for _name in _PATHS:
    _pair = Sequence("tuple", [STRING, STRING]) if _name.startswith("split") else STRING
    MODELS[f"os.path.{_name}"] = _pure(getattr(os.path, _name), _pair)
MODELS["os.path.join"] = _joined
for _name in _MATH:
    if _name not in ("factorial", "comb", "perm"):
        MODELS[f"math.{_name}"] = _pure(getattr(math, _name), BOOL if _name.startswith("is") else NUMBER)
for _name in ("ceil", "floor", "factorial", "comb", "perm"):
    MODELS.setdefault(f"math.{_name}", _gives(NUMBER))
for _name in ("pi", "e", "tau", "inf", "nan"):
    VALUES[f"math.{_name}"] = _stands_for(getattr(math, _name))
    if _name != "tau":
        VALUES[f"numpy.{_name}"] = VALUES[f"math.{_name}"]


# -- sys

VALUES.update(
    {
        "sys.platform": lambda machine: const("linux"),
        "os.name": lambda machine: const("posix"),
        "os.sep": lambda machine: const("/"),
        "sys.version": lambda machine: STRING,
        "sys.executable": lambda machine: STRING,
        "sys.byteorder": lambda machine: const("little"),
        "sys.maxsize": lambda machine: const(2**63 - 1),
        "sys.version_info": lambda machine: Unknown("sys.version_info"),
        "sys.argv": lambda machine: Arguments(),
        "sys.path": lambda machine: Sequence("list", [STRING], True),
        "sys.modules": lambda machine: Mapping({}, None, True),
    }
)


@models("platform.system")
def system_name(machine: Machine, call: Call) -> Value | None:
    """Worlds are Linux machines."""
    return const("Linux")


@models("platform.machine", "platform.processor")
def machine_name(machine: Machine, call: Call) -> Value | None:
    """Worlds have no Apple silicon."""
    return const("x86_64")


@models("sys.exit", "os._exit", "os.abort")
def leave(machine: Machine, call: Call) -> Value | None:
    """`sys.exit()` ends the program."""
    raise Crash("SystemExit")


# -- random


@models("random.choice")
def choice(machine: Machine, call: Call) -> Value | None:
    """`random.choice(xs)`: any of them."""
    found = iterate(machine, call.argument(0, "seq") or UNKNOWN, call.node, call.frame)
    return UNKNOWN if found is None else join_all(machine, found.items)


@models("random.sample")
def sample(machine: Machine, call: Call) -> Value | None:
    """`random.sample(xs, k)`: some of them; all, in some order, where there are no more."""
    found = iterate(machine, call.argument(0, "population") or UNKNOWN, call.node, call.frame)
    if found is not None and not found.open and index_number(call.argument(1, "k") or UNKNOWN) == len(found.items):
        return Sequence("list", [join_all(machine, found.items)] * len(found.items))
    return choices(machine, call)


@models("random.choices")
def choices(machine: Machine, call: Call) -> Value | None:
    """`random.choices(xs, k=n)`: some of them."""
    found = iterate(machine, call.argument(0, "population") or UNKNOWN, call.node, call.frame)
    if found is None or not found.items:
        return Sequence("list", [], True)
    return Sequence("list", [join_all(machine, found.items)], True)


@models("random.shuffle")
def shuffle(machine: Machine, call: Call) -> Value | None:
    """`random.shuffle(xs)`: every item may be anywhere."""
    value = call.argument(0, "x") or UNKNOWN
    if isinstance(value, Sequence) and len(value.items) > 1:
        rewrite(machine, value, [join_all(machine, value.items)] * len(value.items))
    return NONE


@models("random.Random", "random.SystemRandom")
def generator(machine: Machine, call: Call) -> Value | None:
    """`random.Random(seed)`."""
    return Instance(External("random.Random"), machine.site(call.node, call.frame))


@method_models("random.Random", "*")
def generator_method(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Its methods are those of the module."""
    name = call.keywords.get("__name__")
    path = f"random.{name.value}" if isinstance(name, Const) else ""
    plain = call.with_arguments(call.positional, {k: v for k, v in call.keywords.items() if k != "__name__"})
    return MODELS[path](machine, plain) if path in MODELS else UNKNOWN


# -- paths

PATH: Final = "pathlib.Path"
_PATH_ANSWERS: Final = {
    **dict.fromkeys(("exists", "is_file", "is_dir", "is_absolute", "is_symlink", "match"), BOOL),
    **dict.fromkeys(("read_text", "as_uri"), STRING),
    **dict.fromkeys(("mkdir", "unlink", "touch", "rmdir", "write_text", "write_bytes", "symlink_to"), NONE),
}


def _path_of(text: str | None, site: Site | None) -> Instance:
    made = Instance(External(PATH), site)
    made.state["text"] = text
    return made


def _path_joined(parts: list[Value], site: Site | None) -> Instance:
    texts = [path_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    return _path_of(str(PurePosixPath(*known)) if len(known) == len(parts) else None, site)


@models(PATH, "pathlib.PurePath", "pathlib.PosixPath")
def path(machine: Machine, call: Call) -> Value | None:
    """`Path("a") / "b"`."""
    site = machine.site(call.node, call.frame)
    return _path_of(None, site) if call.open else _path_joined(call.positional, site)


@method_models(PATH, "joinpath", "__truediv__")
def path_joined(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`path / "name"`."""
    return _path_joined([instance, *call.positional], instance.site)


@method_models(PATH, "__rtruediv__")
def path_appended(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`"folder" / path`."""
    return _path_joined([*call.positional, instance], instance.site)


@method_models(PATH, "__str__", "__fspath__", "as_posix")
def path_as_text(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """`str(path)`."""
    text = path_text(instance)
    return STRING if text is None else const(text, instance.site)


@on(INSTANCE_ATTRIBUTES, PATH)
def path_attribute(machine: Machine, instance: Instance, name: str, site: Site) -> Value | None:
    """`path.parent`, `path.name`."""
    text = path_text(instance)
    if name == "parent":
        return _path_of(None if text is None else str(PurePosixPath(text).parent), site)
    if name in ("name", "stem", "suffix"):
        return STRING if text is None else const(getattr(PurePosixPath(text), name), site)
    return None


def _path_method(answer: Value | None) -> Callable[[Machine, Instance, Call], Value]:
    def run(machine: Machine, instance: Instance, call: Call) -> Value:
        return Instance(External(PATH), instance.site) if answer is None else answer

    return run


for _name, _answer in _PATH_ANSWERS.items():
    method_models(PATH, _name)(_path_method(_answer))
for _name in ("resolve", "absolute", "expanduser", "with_suffix", "with_name", "relative_to", "rename"):
    method_models(PATH, _name)(_path_method(None))


@method_models(PATH, "glob", "rglob", "iterdir")
def path_list(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Some paths."""
    return Sequence("generator", [Instance(External(PATH), instance.site)], True)


# -- temporary files: each has a name that nothing else has

TEMPORARY: Final = "tempfile.TemporaryDirectory"


def temporary_name() -> str:
    """A name for a file or folder that is made now."""
    return f"/tmp/tmp{birth()}"


@models("tempfile.mkdtemp", "tempfile.mktemp")
def temporary_folder(machine: Machine, call: Call) -> Value | None:
    """`mkdtemp()`: the name of a new folder."""
    return const(temporary_name(), machine.site(call.node, call.frame))


@models(TEMPORARY)
def temporary_directory(machine: Machine, call: Call) -> Value | None:
    """`TemporaryDirectory()`: `with` binds its name."""
    site = machine.site(call.node, call.frame)
    made = Instance(External(TEMPORARY), site)
    made.fields["name"] = const(temporary_name(), site)
    return made


@method_models(TEMPORARY, "cleanup")
def clean_up(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Nobody reads what was there."""
    return NONE


@on(ENTER, TEMPORARY)
def enter_temporary(machine: Machine, value: Instance, target: Value | None, node: ir.Node, frame: Frame) -> Any:
    """`with TemporaryDirectory() as name`."""
    return value.fields.get("name", UNKNOWN), None


# -- logging, regular expressions: their objects are of no interest


@models("logging.getLogger", "logging.StreamHandler", "logging.FileHandler", "logging.Formatter")
def logger(machine: Machine, call: Call) -> Value | None:
    """`logging.getLogger(name)`."""
    return Instance(External("logging.Logger"), machine.site(call.node, call.frame))


@method_models("logging.Logger", "*")
def log(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Logging says nothing."""
    return NONE


@method_models("logging.Logger", "isEnabledFor", "hasHandlers")
def log_enabled(machine: Machine, instance: Instance, call: Call) -> Value | None:
    """Depends on the configuration."""
    return BOOL


# -- processes that are spawned: what they run runs elsewhere


@models(
    "torch.multiprocessing.spawn",
    "torch.multiprocessing.start_processes",
    "torch_xla.distributed.xla_multiprocessing.spawn",
)
def spawn(machine: Machine, call: Call) -> Value | None:
    """`mp.spawn(f, args, nprocs)`: f runs with its rank, a number of which only the bounds are known."""
    function = call.argument(0, "fn")
    arguments = call.argument(1, "args")
    processes = call.argument(2, "nprocs")
    if function is None:
        return NONE
    if isinstance(processes, Const) and isinstance(processes.value, int) and processes.value <= 0:
        return NONE
    alone = isinstance(processes, Const) and processes.value == 1
    rank: Value = const(0) if alone else Scalar(0, "number")
    found = iterate(machine, arguments, call.node, call.frame) if arguments is not None else None
    rest = [] if found is None else found.items
    is_open = arguments is not None and (found is None or found.open)
    call_value(machine, function, Call([rank, *rest], {}, call.node, call.frame, is_open))
    return NONE
