"""The standard library and its kin: tensors and modules pass through as the same objects."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import BOOL, Const, Instance, Mapping, Sequence, Tensor, Unknown, Value
from devlint.worlds import CPU, GPU2
from tests.analysis.programs import Run

PASSED = {
    "list": "[t]",
    "zip": "next(zip([t], [1]))[0]",
    "enumerate": "list(enumerate([t]))[0][1]",
    "sorted": "sorted([t], key=id)[0]",
    "reversed": "list(reversed([1, t]))[0]",
    "map": "list(map(lambda v: v, [t]))[0]",
    "filter": "list(filter(None, [t]))[0]",
    "dict values": "list({'a': t}.values())[0]",
    "dict items": "list({'a': t}.items())[0][1]",
    "dict get": "{'a': t}.get('a')",
    "dict pop": "{'a': t}.pop('a')",
    "dict of unknown key": "{'a': t}[input()]",
    "list of unknown index": "[t][int(input())]",
    "dict union": "({} | {'a': t})['a']",
    "unpacked": "(lambda *a, **k: k['x'])(**{'x': t})",
    "chain": "list(itertools.chain([t], []))[0]",
    "islice": "next(itertools.islice([t, 1], 1))",
    "product": "list(itertools.product([t], [1]))[0][0]",
    "cycle": "next(itertools.cycle([t]))",
    "zip_longest": "next(itertools.zip_longest([t], [1]))[0]",
    "partial": "functools.partial(lambda a, b: b, 1)(t)",
    "reduce": "functools.reduce(lambda a, b: b, [1, t])",
    "itemgetter": "operator.itemgetter(1)((0, t))",
    "tqdm": "list(tqdm([t]))[0]",
    "tqdm enumerate": "list(enumerate(tqdm([t], desc='x')))[0][1]",
    "track": "list(track([t]))[0]",
    "groupby": "[key for key, _ in itertools.groupby([t])][0]",
    "groupby by key": "[key for key, _ in itertools.groupby([1], lambda _: t)][0]",
    "all of a sample": "random.sample([t, t], 2)[1]",
    "sample by keywords": "random.sample(population=[t, t], k=2)[1]",
    "choices by keywords": "random.choices(population=[t], k=1)[0]",
    "choice by keyword": "random.choice(seq=[t])",
    "sample of a generator": "random.Random(0).sample(population=[t], k=1)[0]",
    "deque": "collections.deque([t]).popleft()",
    "ordered dict": "collections.OrderedDict(a=t)['a']",
    "default dict": "collections.defaultdict(list, a=t)['a']",
    "named tuple": "collections.namedtuple('P', 'x')(t).x",
    "simple namespace": "types.SimpleNamespace(x=t).x",
    "cast": "typing.cast('T', t)",
    "getattr": "getattr(types.SimpleNamespace(x=t), 'x', None)",
    "iter next": "next(iter([t]))",
    "max of one": "max([t])",
    "set": "list({t})[0]",
    "key": "list({t: 1})[0]",
    "random choice": "random.choice([t])",
    "config": "EasyDict(x=t).x",
    "concatenated": "([1] + [t])[1]",
    "repeated": "([t] * 2)[1]",
    "sliced": "[1, t][1:][0]",
    "copy": "copy.copy([t])[0]",
}

IMPORTS = """
import collections, contextlib, copy, functools, itertools, operator, random, types, typing
import torch
from easydict import EasyDict
from rich.progress import track
from tqdm.auto import tqdm
t = torch.zeros(2)
"""


@pytest.mark.parametrize("form", PASSED)
def test_same_object(form: str) -> None:
    run = Run(f"{IMPORTS}r = {PASSED[form]}\n")
    assert run.ended
    tensor, found = run["t"], run["r"]
    assert isinstance(tensor, Tensor)
    assert found is tensor or (isinstance(found, Sequence) and found.items[0] is tensor)


def test_sample_of_all() -> None:
    """As many as there are are all of them: the length is known, and nothing else is in it."""
    run = Run("import random\nxs = random.sample([1, 2, 3], 3)\nn = len(xs)\n")
    assert repr(run["n"]) == "Const(3)"


def _tensor(value: Value) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def test_deepcopy_of_a_graph() -> None:
    """Other objects on the same devices; what was shared inside is shared inside the copy."""
    run = Run(
        "import copy, torch\nfrom torch import nn\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 2)\n        self.b = self.a\n        self.mask = torch.ones(2)\n"
        "net = Net().cuda()\nema = copy.deepcopy(net)\nnet.cpu()\n"
        "xs = [net.mask, net.mask]\nys = copy.deepcopy(xs)",
        GPU2,
    )
    net, ema = run["net"], run["ema"]
    assert isinstance(net, Instance) and isinstance(ema, Instance) and net.module and ema.module
    assert ema.fields["a"] is ema.fields["b"] is not net.fields["a"]
    first, copied = net.fields["a"], ema.fields["a"]
    assert isinstance(first, Instance) and isinstance(copied, Instance)
    assert _tensor(first.fields["weight"]).device == "cpu"
    assert _tensor(copied.fields["weight"]).device == "cuda:0"
    assert ema.module.kinds == net.module.kinds and ema.module.kinds is not net.module.kinds
    assert _tensor(ema.fields["mask"]).origin is not None
    xs, ys = run["xs"], run["ys"]
    assert isinstance(xs, Sequence) and isinstance(ys, Sequence)
    assert ys.items[0] is ys.items[1] is not xs.items[0]


def test_ranges_and_lengths() -> None:
    run = Run(
        "import torch\nn = torch.cuda.device_count()\ndevices = [f'cuda:{i}' for i in range(n)]\nm = len(devices)\n"
        "u = range(int(input()))\nk = len(u)",
        GPU2,
    )
    assert run.python("devices") == ["cuda:0", "cuda:1"]
    assert run.python("m") == 2
    assert isinstance(run["u"], Sequence) and run["u"].open
    assert not isinstance(run["k"], Const)
    empty = Run("import torch\nxs = [f'cuda:{i}' for i in range(torch.cuda.device_count())]", CPU)
    assert empty.python("xs") == []


def test_unknown_containers_stay_unknown() -> None:
    """What is appended to a list of unknown content is not taken for its first item."""
    run = Run("import torch\nxs = list(open('f'))\nys = list(unknown())\nys.append(torch.zeros(2))\nr = ys[0]", CPU)
    assert not run.ended  # `unknown` is unbound
    run = Run("import torch, elsewhere\nys = list(elsewhere.f())\nys.append(torch.zeros(2))\nr, s = ys[0], ys[-1]", CPU)
    assert isinstance(run["r"], Unknown) and isinstance(run["s"], Unknown)


def test_unknown_keys() -> None:
    run = Run(
        "import torch, elsewhere\nbatch = {k: torch.zeros(2) for k in elsewhere.keys()}\n"
        "for k in batch:\n    batch[k] = batch[k].cuda()\nr = batch['x']\n"
        "d = {}\nd[elsewhere.key()] = torch.zeros(2)\ns = d['any']",
        GPU2,
    )
    assert isinstance(run["batch"], Mapping)
    assert _tensor(run["r"]).device == "cuda:0"
    assert _tensor(run["s"]).device == "cpu"


def test_records_with_unknown_names_replaced() -> None:
    """What an unknown name may have replaced is not known any more."""
    run = Run(
        "import collections, dataclasses, elsewhere, torch\nP = collections.namedtuple('P', 'x y')\n"
        "@dataclasses.dataclass\nclass D:\n    x: int\n    y: int\n"
        "changed = {elsewhere.name(): torch.zeros(2).cuda()}\n"
        "p = P(torch.zeros(2), 1)._replace(**changed, y=2)\nd = dataclasses.replace(D(torch.zeros(2), 1), **changed)",
        GPU2,
    )
    p, d = run["p"], run["d"]
    assert isinstance(p, Instance) and isinstance(d, Instance)
    assert isinstance(p.fields["x"], Unknown) and isinstance(p.fields["y"], Const)
    assert isinstance(d.fields["x"], Unknown) and isinstance(d.fields["y"], Unknown)


def test_branches_of_lists() -> None:
    """A list that one side of an open branch appends to may be longer; nobody says so by hand."""
    run = Run("xs = [1]\nif input():\n    xs.append(2)\nn = len(xs)\ny = xs[0]")
    xs = run["xs"]
    assert isinstance(xs, Sequence) and xs.open
    assert not isinstance(run["n"], Const)
    assert run.python("y") == 1


def test_end_of_the_program() -> None:
    for call in ("sys.exit()", "exit()", "quit(1)", "os._exit(0)"):
        assert not Run(f"import os, sys\n{call}\n").ended
    assert not Run("import sys, torch\nif not torch.cuda.is_available():\n    sys.exit('no GPU')\n", CPU).ended
    assert Run("import sys, torch\nif not torch.cuda.is_available():\n    sys.exit('no GPU')\n", GPU2).ended


def test_worlds_are_linux() -> None:
    run = Run("import os, platform, sys\nr = (sys.platform, platform.system(), os.name, sys.platform == 'darwin')")
    assert run.python("r") == ("linux", "Linux", "posix", False)


def test_spawned_workers_run_with_a_rank() -> None:
    run = Run(
        "import torch\nimport torch.multiprocessing as mp\nfound = []\n"
        "def work(rank, name):\n    found.append((rank, name))\n"
        "mp.spawn(work, args=('x',), nprocs=torch.cuda.device_count())\nrank, name = found[0]",
        GPU2,
    )
    assert run.python("name") == "x"
    assert not isinstance(run["rank"], Const)


def test_threads_run_where_they_are_started() -> None:
    run = Run("import threading\nfound = []\nthreading.Thread(target=lambda: found.append(1)).start()")
    assert run.python("found") == [1]
    later = Run("import threading\nfound = []\nthreading.Timer(9, lambda: found.append(1)).start()")
    assert later.python("found") == []


def test_contexts() -> None:
    run = Run(
        "import contextlib\n"
        "@contextlib.contextmanager\ndef managed(x):\n    yield x\n"
        "with managed(3) as a, contextlib.nullcontext(4) as b, contextlib.ExitStack() as stack:\n"
        "    c = stack.enter_context(managed(5))\n"
        "with contextlib.suppress(ValueError):\n    d = 6\n"
        "called = []\n"
        "with contextlib.ExitStack() as stack:\n"
        "    stack.callback(called.append, 7)\n    stack.callback(called.append, 8)\n    called.append(9)\n"
        "result = (a, b, c, d, called)"
    )
    assert run.python("result") == (3, 4, 5, 6, [9, 8, 7])


def test_sum_meets_tensors() -> None:
    """`sum` combines as an addition does."""
    from devlint.analysis.events import MixedDevices

    run = Run("import torch\nr = sum([torch.zeros(2), torch.ones(2).cuda()])", GPU2)
    assert len(run.events(MixedDevices)) == 1
    assert not Run("import torch\nr = sum([torch.zeros(2), torch.ones(2)])", GPU2).events(MixedDevices)


def test_named_unknowns_keep_their_names() -> None:
    run = Run(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gpu')\nargs = p.parse_args()\n"
        "a = int(args.gpu)\nb = str(args.gpu)\nc = args.gpu.lower()\n"
        "d = getattr(args, 'gpu')\ne = args.gpu.startswith('0')"
    )
    paths = [value.path for value in map(run.__getitem__, "abcde") if isinstance(value, Unknown)]
    assert paths == ["args.gpu", "args.gpu", "args.gpu.lower()", "args.gpu", "args.gpu.startswith('0')"]


def test_loops_cut_short() -> None:
    """Of a list that a loop fills only the first rounds are seen: what comes after them is a number, no more."""
    run = Run("dims = []\nfor i in range(4):\n    dims.append(2 ** i)\na, b, c = dims[0], dims[2], len(dims)")
    assert run.ended
    assert run.python("a") == 1
    assert not isinstance(run["b"], Const) and not isinstance(run["c"], Const)
    assert Run("xs = []\nfor i in range(3):\n    xs.append(str(i))\nn = len(xs)").names["n"].__class__ is not Const


def test_enum() -> None:
    run = Run(
        "from enum import Enum\nclass D(Enum):\n    CPU = 'cpu'\n    GPU = 'cuda'\nr = (D.CPU.value, D.GPU is D.GPU)"
    )
    assert run.python("r") == ("cpu", True)


ENUMERATIONS = """
import copy, enum
from enum import Enum, Flag, IntEnum
class Kind(Enum):
    seq = 1
    token = (2, "x")
    same = 1
class Place(str, Enum):
    HOST = "cpu"
    CARD = "cuda"
class Level(IntEnum):
    low = 1
    high = 2
class Counted(Enum):
    first = enum.auto()
    second = enum.auto()
class Lenient(Enum):
    a = "a"
    @classmethod
    def _missing_(cls, value):
        return cls.a if value == "A" else None
table = {Kind.seq: "seq", Kind.token: "token"}
"""


@pytest.mark.parametrize(
    "expression",
    [
        "Kind['seq'] is Kind.seq and Kind(1) is Kind.seq",
        "(Kind['same'].name, Kind(1).name, Kind.same is Kind.seq)",
        "Kind((2, 'x')).name",
        "Kind(Kind.token) is Kind.token",
        "Kind['seq'] == Kind.token",
        "(table[Kind['token']], table.get(Kind(1)), Kind.same in table)",
        "copy.deepcopy({'kind': Kind.seq})['kind'] is Kind.seq",
        "Kind.__members__['token'].value",
        "(Place['CARD'] == Place.CARD, Place('cpu') == 'cpu', Place['HOST'].value)",
        "(Level['low'] + 1, Level(2) > Level.low)",
        "(Counted.first.value, Counted(2).name)",
        "Lenient('A') is Lenient.a",
        "([kind.name for kind in Kind], [place.value for place in Place], len(Kind), [n + 1 for n in Level])",
        "[table[kind] for kind in Kind]",
        "dict(zip(Counted, 'xy'))[Counted.second]",
        "(next(iter(Kind)).value, [kind.name for kind in reversed(list(Kind))])",
        "[p for p in Place if p == 'cuda'] == ['cuda']",
    ],
)
def test_members_by_name_and_value(expression: str) -> None:
    names: dict[str, object] = {}
    exec(f"{ENUMERATIONS}r = {expression}", names)
    assert Run(f"{ENUMERATIONS}r = {expression}").python("r") == names["r"]


@pytest.mark.parametrize(
    "expression",
    [
        "[bit for bit in Bits][0]",
        "[row for row in Table][0]",
        "Kind[name]",
        "Kind(name)",
        "Kind['nowhere']",
        "Kind(7)",
        "Bits(3)",
        "Made('x')",
        "Table['x']",
        "Rich('a')",
    ],
)
def test_members_that_are_not_known(expression: str) -> None:
    run = Run(f"""{ENUMERATIONS}
from elsewhere import Meta, name
class Bits(Flag):
    a = 1
    b = 2
class Made(Enum):
    a = "x"
    def __new__(cls, value):
        made = object.__new__(cls)
        made._value_ = value * 2
        return made
class Table(Enum, metaclass=Meta):
    a = 1
class Rich(str, Enum):
    a = "a"
    def to(self, device):
        return self
r = {expression}
""")
    assert run.ended and isinstance(run["r"], Unknown)


def test_members_that_are_not_there() -> None:
    """Where the program expects it, a name that is none is a `KeyError`, a value that is none a `ValueError`."""
    for wrong, kind in (("Kind['nowhere']", "KeyError"), ("Kind(7)", "ValueError"), ("Lenient('b')", "ValueError")):
        text = f"{ENUMERATIONS}try:\n    r = {wrong}\nexcept {kind}:\n    r = 0\n"
        names: dict[str, object] = {}
        exec(text, names)
        assert Run(text).python("r") == names["r"] == 0


def test_globals() -> None:
    run = Run("g = globals()\ng['a'] = 5\nglobals().update(b=6)\nr = (a, b, g['a'], 'a' in g)")
    assert run.python("r") == (5, 6, 5, True)
    assert Run("import elsewhere\nglobals()[elsewhere.name()] = 1\nx = anything").ended


def test_places_of_device_names() -> None:
    """A device name stands where it was written; one that is put together, where that happens."""
    run = Run(
        "a = 'cuda:0'\nb = a.strip()\nc = 'cuda:{}'.format(0)\nd = 'cuda' + ':0'\ne = 'cuda:%d' % 0\n"
        "f = {'gpu': 'cuda'}['gpu']\ng = max(['cuda'])\nh = str('cuda')\ni = ['cuda'][0]\nj = 'cuda:1'[:4]"
    )
    rows = {}
    for name in "abcdefghij":
        value = run[name]
        assert isinstance(value, Const) and value.site is not None, name
        rows[name] = value.site.row
    assert rows == {"a": 1, "b": 1, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10}


def test_text_of_json() -> None:
    """What was written as text is there again when it is read; a text that isn't known gives what the user chose."""
    run = Run(
        "import json\nsaved = json.dumps({'device': 'cuda', 'sizes': [1, 2], 'on': None})\nstate = json.loads(saved)\n"
        "other = json.loads(input())\nbroken = json.loads('{')\ndeep = json.loads('[' * 4000)\n"
        "text = json.dumps({'x': input()})"
    )
    assert run.python("state") == {"device": "cuda", "sizes": [1, 2], "on": None}
    assert isinstance(run["other"], Unknown) and isinstance(run["broken"], Unknown)
    assert not isinstance(run["text"], Const)


def test_calls_that_others_make_need_not_fit_as_written() -> None:
    """A decorator, an application of a part and a library call with arguments of their own."""
    run = Run(
        "import functools, click, torch\n@click.command()\ndef main(config):\n    return 1\nmain()\n"
        "def f(a, b):\n    return a\ng = functools.partial(f, 1)\nx = g(2)\n"
        "torch.library.something(lambda a, b: a)\nargs = torch.somewhere()\ny = f(*args)\nz = f(**args)\nend = 1"
    )
    assert run.ended and run.python("x") == 1 and run.python("end") == 1


def test_instances_without_init() -> None:
    """`__new__` alone gives an instance that has only what is put into it."""
    run = Run(
        "class R:\n    kind = 'r'\n    def __init__(self):\n        self.device = 'cpu'\n"
        "    @classmethod\n    def made(cls, state):\n        r = cls.__new__(cls)\n"
        "        r.__dict__.update(state)\n        return r\n"
        "class S(str):\n    pass\n"
        "r = R.__new__(R)\nbefore = hasattr(r, 'device')\nr.device = 'cuda'\na = r.device\n"
        "b = R.made({'device': 'meta'}).device\no = object.__new__(R)\no.__dict__['n'] = 4\nn = o.n\n"
        "vars(o).update(m=5)\nm = o.m\nkind = o.kind\ns = S.__new__(S, 'cuda')"
    )
    assert [run.python(name) for name in ("before", "a", "b", "n", "m", "kind")] == [False, "cuda", "meta", 4, 5, "r"]
    assert isinstance(run["s"], Unknown)


def test_a_table_asked_for_a_name_that_is_not_known() -> None:
    """Each function of the table may be the one: all run, from the same state, and what they give is joined."""
    run = Run(
        "seen = []\nclass Net:\n    pass\n"
        "def one(x):\n    seen.append(1)\n    return x.cuda()\n"
        "def two(x):\n    assert not seen\n    return x.to('cuda:0')\n"
        "def three(x):\n    raise ValueError\n"
        "import torch\nx = torch.zeros(2)\n"
        "a = {'one': one, 'two': two, 'three': three}[input()](x)\n"
        "b = {'one': one, 'two': two}.get(input(), two)(x)\n"
        "f = {'one': one}.get(input())\n"
        "c = {'cpu': one, 'cuda': two}[input()]\n"
        "d = {'a': one, 'b': 3}[input()]\n",
        GPU2,
    )
    assert run.ended
    assert [_tensor(run[name]).device for name in "ab"] == ["cuda:0", "cuda:0"]
    assert isinstance(run["c"], Unknown) and isinstance(run["d"], Unknown)


def test_dispatch_by_class_and_by_name() -> None:
    run = Run(
        "import functools, operator, torch\n"
        "@functools.singledispatch\ndef f(x):\n    return 'other'\n"
        "@f.register\ndef _(x: torch.Tensor):\n    return 'tensor'\n"
        "@f.register(list)\ndef _(x):\n    return [f(one) for one in x][0]\n"
        "class A:\n    def run(self, x, y=1):\n        return x + y\n"
        "class B(A):\n    pass\n"
        "f.register(A, lambda x: 'a')\nf.register(B, lambda x: 'b')\n"
        "a = f(torch.zeros(2))\nb = f([torch.zeros(2)])\nc = f('x')\nd = f(A())\ne = f(B())\ng = f(input)\n"
        "m = operator.methodcaller('run', 2, y=3)(A())\n"
        "n = operator.methodcaller(input())(A())\n"
    )
    assert [run.python(name) for name in "abcde"] == ["tensor", "tensor", "other", "a", "b"]
    assert run.python("m") == 5
    assert isinstance(run["n"], Unknown)


def test_methods_dispatch_by_their_first_argument_after_the_receiver() -> None:
    run = Run(
        "from functools import singledispatchmethod\nimport numpy, torch\n"
        "class A:\n"
        "    name = 'A'\n"
        "    @singledispatchmethod\n    def f(self, x, *, y=1):\n        return self.name + ' other'\n"
        "    @f.register\n    def f_tensor(self, x: torch.Tensor, *, y=1):\n        return y\n"
        "    @f.register(list)\n    def _(self, x):\n        return [self.f(one, y=3) for one in x][0]\n"
        "    @f.register\n    @staticmethod\n    def _(x: dict):\n        return len(x)\n"
        "    @f.register\n    @classmethod\n    def _(cls, x: numpy.ndarray):\n        return cls.name\n"
        "class B(A):\n    name = 'B'\n"
        "a = A().f(torch.zeros(2), y=2)\nb = A().f([torch.zeros(2)])\nc = B().f('x')\nd = A().f({'k': 1})\n"
        "e = B().f(numpy.zeros(2))\nf = B().f_tensor(1)\ng = A().f(input)\n"
    )
    assert [run.python(name) for name in "abcdef"] == [2, 3, "B other", 1, "B", 1]
    assert isinstance(run["g"], Unknown)


def test_a_partial_method_is_given_its_receiver_first() -> None:
    run = Run(
        "from functools import partialmethod\n"
        "class A:\n"
        "    size = 1\n"
        "    def f(self, x, y=0, *, z=0):\n        return [self.size, x, y, z]\n"
        "    g = partialmethod(f, 2, z=4)\n    h = partialmethod(f, z=5)\n"
        "    @classmethod\n    def of(cls, x):\n        return [cls.size, x]\n"
        "    six = partialmethod(of, 6)\n"
        "class B(A):\n    size = 9\n"
        "a = A().g(3)\nb = B().h(7, 8)\nc = B().g(z=1)\nd = B().six()\n"
    )
    assert [run.python(name) for name in "abcd"] == [[1, 2, 3, 4], [9, 7, 8, 5], [9, 2, 0, 1], [9, 6]]


def test_functions_know_their_names() -> None:
    run = Run(
        "import functools\n"
        "known = {}\n"
        "def register(fn):\n    known[fn.__name__] = fn\n    return fn\n"
        "@register\ndef double(x):\n    return 2 * x\n"
        "@register\ndef half(x):\n    return x / 2\n"
        "def named(fn):\n    @functools.wraps(fn)\n    def inner(x):\n        return fn(x)\n    return inner\n"
        "other = named(half)\n"
        "a, b, c, d = known['double'](4), known['half'](4), double.__name__, other.__name__\n"
    )
    assert [run.python(name) for name in "abc"] == [8, 2.0, "double"]
    assert isinstance(run.names["d"], Unknown)


def _device(value: Value) -> str | None:
    return value.device if isinstance(value, Tensor) else None


def test_objects_of_the_program_stand_for_attributes_of_a_class() -> None:
    run = Run(
        "import torch\n"
        "class Once:\n"
        "    def __init__(self, make):\n        self.make = make\n"
        "    def __get__(self, obj, cls=None):\n"
        "        if obj is None:\n            return self\n"
        "        value = self.make(obj)\n        setattr(obj, self.make.__name__, value)\n        return value\n"
        "class Placed:\n"
        "    def __set_name__(self, owner, name):\n        self.key = '_' + name\n"
        "    def __get__(self, obj, cls=None):\n        return getattr(obj, self.key)\n"
        "    def __set__(self, obj, value):\n        setattr(obj, self.key, value.to(obj.device))\n"
        "class Late:\n"
        "    def __set_name__(self, owner, name):\n        self.name = name\n"
        "    def __get__(self, obj, cls=None):\n        return obj.__dict__[self.name].cuda()\n"
        "    def __set__(self, obj, value):\n        obj.__dict__[self.name] = value\n"
        "class A:\n"
        "    grid = Placed()\n    late = Late()\n    plain = torch.ones(3)\n"
        "    def __init__(self):\n"
        "        self.device = torch.device('cuda')\n"
        "        self.grid = torch.ones(2)\n        self.late = torch.ones(2)\n"
        "    @Once\n    def host(self):\n        return torch.ones(2)\n"
        "    @Once\n    def there(self):\n        return self.host.to(self.device)\n"
        "class B(A):\n    late = None\n"
        "x = A()\na, b, c, d, e = x.grid, x.late, x.host, x.there, x.plain\n"
        "f = B().late\ng = B().grid\n"
    )
    assert [_device(run[name]) for name in "abcdefg"] == ["cuda:0", "cuda:0", "cpu", "cuda:0", "cpu", "cpu", "cuda:0"]


def test_a_module_registers_before_a_descriptor_is_asked() -> None:
    run = Run(
        "import torch\nfrom torch import nn\n"
        "class Kept:\n"
        "    def __get__(self, obj, cls=None):\n        return obj.kept\n"
        "    def __set__(self, obj, value):\n        obj.kept = value\n"
        "class Net(nn.Module):\n"
        "    scale = Kept()\n"
        "    def __init__(self):\n"
        "        super().__init__()\n        self.fc = nn.Linear(2, 2)\n        self.scale = torch.ones(2)\n"
        "net = Net().cuda()\na = net.scale\nb = net.fc.weight\n"
    )
    assert _device(run["a"]) == "cpu"
    assert _device(run["b"]) == "cuda:0"


def test_what_inspect_says_of_the_parameters_of_a_function() -> None:
    run = Run(
        "import functools, inspect, torch\nfrom inspect import Parameter, signature\nfrom torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, size=2):\n        super().__init__()\n"
        "    @torch.no_grad()\n    def forward(self, x, mask=None, *, scale=1.0):\n        return x\n"
        "    def loss(self, y, *more, weight=3, **rest):\n        return y\n"
        "def wrap(fn):\n"
        "    @functools.wraps(fn)\n    def inner(*args, **kwargs):\n        return fn(*args, **kwargs)\n"
        "    return inner\n"
        "@wrap\ndef step(x, y):\n    return x\n"
        "net = Net()\nparameters = signature(net.loss).parameters\n"
        "a = list(signature(net.forward).parameters)\nb = list(signature(Net).parameters.keys())\n"
        "c = {n: p.default for n, p in parameters.items() if p.default is not Parameter.empty}\n"
        "d = [p.name for p in parameters.values() if p.kind == p.KEYWORD_ONLY]\n"
        "e = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())\n"
        "f = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature(net.forward).parameters.values())\n"
        "g = inspect.getfullargspec(net.loss).args\nh = inspect.getfullargspec(net.loss).varkw\n"
        "i = signature(step)\nj = inspect.getfullargspec(net.forward)\nk = signature(net)\nl = signature(input)\n"
    )
    assert [run.python(name) for name in "abcdefgh"] == [
        ["x", "mask", "scale"],
        ["size"],
        {"weight": 3},
        ["weight"],
        True,
        False,
        ["self", "y"],
        "rest",
    ]
    assert all(isinstance(run[name], Unknown) for name in "ijkl")


def test_objects_of_the_program_bind_to_instances_and_answer_for_classes() -> None:
    run = Run(
        "import functools, types\n"
        "class Logged:\n"
        "    def __init__(self, make):\n        self.make = make\n"
        "    def __get__(self, obj, cls=None):\n        return self if obj is None else types.MethodType(self, obj)\n"
        "    def __call__(self, *args, **kwargs):\n        return self.make(*args, **kwargs)\n"
        "class Kept(Logged):\n"
        "    def __get__(self, obj, cls=None):\n        return functools.partial(self.__call__, obj)\n"
        "class OfClass:\n"
        "    def __init__(self, make):\n        self.make = make\n"
        "    def __get__(self, obj, owner):\n        return self.make(owner)\n"
        "class A:\n"
        "    size = 1\n"
        "    @Logged\n    def f(self, x, y=2):\n        return [self.size, x, y]\n"
        "    @Kept\n    def g(self, x):\n        return [self.size, x]\n"
        "    @OfClass\n    def h(cls):\n        return cls.size\n"
        "class B(A):\n    size = 9\n"
        "a, b, c, d, e, f = A().f(3), B().f(4, y=5), B().g(6), A.h, B.h, B().h\n"
        "g = A.f is A.f\n"
    )
    assert [run.python(name) for name in "abcdef"] == [[1, 3, 2], [9, 4, 5], [9, 6], 1, 9, 9]
    assert run.python("g") is True


def test_a_class_says_itself_how_it_is_copied() -> None:
    run = Run(
        "import copy\n"
        "class A:\n"
        "    def __init__(self, x):\n        self.x = x\n"
        "    def __copy__(self):\n        return A(self.x + 1)\n"
        "class B:\n"
        "    def __init__(self, x):\n        self.x = x\n"
        "a = copy.copy(A(1)).x\nb = copy.copy(B(1)).x\n"
    )
    assert [run.python(name) for name in "ab"] == [2, 1]


def test_classes_say_themselves_how_they_compare() -> None:
    run = Run(
        "class A:\n"
        "    def __init__(self, x):\n        self.x = x\n"
        "    def __eq__(self, other):\n"
        "        if not isinstance(other, A):\n            return NotImplemented\n        return self.x == other.x\n"
        "    def __lt__(self, other):\n        return self.x < other.x\n"
        "class B(A):\n    pass\n"
        "class C:\n    def __eq__(self, other):\n        return 'C'\n"
        "class D:\n    pass\n"
        "a, b, c, d = A(1) == B(1), A(1) != A(1), A(1) < A(2), A(1) > A(2)\n"
        "e, f = A(1) == C(), 3 == C()\n"
        "g, h, i = A(1) == 3, D() == D(), A(input()) == A(1)\n"
    )
    assert [run.python(name) for name in "abcdef"] == [True, False, True, False, "C", "C"]
    assert run["g"] is BOOL
    assert run.python("h") is False
    assert not isinstance(run["i"], Const)


def test_a_function_reads_what_its_names_hold_now() -> None:
    """The same call gives something else after what it reads was bound anew, by whom and in whatever way."""
    run = Run(
        "import torch\nx = torch.zeros(2)\ny = torch.zeros(2)\ng = torch.zeros(2).cuda()\n"
        "class C:\n    t = x\n"
        "def of_module():\n    return x\ndef of_class():\n    return C.t\ndef of_top():\n    return y\n"
        "def bind(v):\n    global x\n    x = v\n"
        "before = [of_module(), of_class(), of_top()]\nbind(g)\nC.t = g\ny = g\n"
        "after = [of_module(), of_class(), of_top()]\n"
    )
    for name, device in (("before", "cpu"), ("after", "cuda:0")):
        held = run[name]
        assert isinstance(held, Sequence)
        assert [part.device for part in held.items if isinstance(part, Tensor)] == [device] * 3
