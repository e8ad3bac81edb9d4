"""What is run of libraries, and how often: decorators, what is built from other files, worlds that mean the same."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MixedDevices, NameUnbound
from devlint.analysis.programs.exploring import Exploration
from devlint.analysis.programs.outcomes import Outcome
from devlint.syntax.stacks import is_compiled
from tests.analysis.analysed import analysed, told

LONG = "".join(f"    text = text + str({number})\n" for number in range(150))

DOCUMENTING = f"""
TABLE = None
NAMES = {{}}
def fill():
    global TABLE
    TABLE = {{}}
def describe(obj, intro):
    if TABLE is None:
        fill()
    text = intro
{LONG}
    RECORD
    obj.__doc__ = text
    return obj
def documented(obj=None, *, intro=""):
    def inner(obj):
        if len(obj.__qualname__.split(".")) > 1:
            return describe(obj, intro=intro)
        else:
            return describe(obj, intro)
    if obj:
        return inner(obj)
    return inner
"""


def documented(number: int, record: str = "pass", decorator: str = "@documented(intro='x')") -> str:
    functions = f"{decorator}\ndef NAME(x):\n    return x + torch.ones(3)\n"
    named = "".join(functions.replace("NAME", f"f{index}") for index in range(number))
    return "import torch\n" + DOCUMENTING.replace("RECORD", record) + named + "f0(torch.zeros(3).cuda())\n"


@pytest.mark.parametrize("decorator", ["@documented(intro='x')", "@documented"])
def test_a_long_decorator_that_gives_back_what_it_gets_runs_once_a_world(decorator: str) -> None:
    few, many = (analysed(documented(number, decorator=decorator)).statistics["steps"] for number in (4, 12))
    assert many - few < 2 * 8 * 10


def test_one_that_keeps_a_record_runs_more_often() -> None:
    texts = (documented(12, record) for record in ("pass", "NAMES[obj.__name__] = 1", "NAMES['a'] = obj"))
    plain, by_name, by_object = (analysed(text).statistics["steps"] for text in texts)
    assert min(by_name, by_object) > plain + 2 * 150


def test_what_a_bound_cut_off_in_it_leaves_what_it_gives_back_known() -> None:
    calls = "".join(f"    x = go(x, {number})\n" for number in range(20))
    text = (
        "import torch\n"
        "def go(x, n):\n" + 40 * "    x = x\n" + "    return x\n"
        "def describe(obj):\n    x = obj\n" + calls + "    return obj\n"
        "def outer(obj):\n    return describe(obj)\n"
        "@outer\ndef add(x):\n    return x + torch.ones(3)\n"
        "add(torch.zeros(3).cuda())\n"
    )
    assert told(analysed(text), MixedDevices)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("def deco(f):\n    f = wrap(f)\n    return f", id="another value"),
        pytest.param("def deco(f):\n    if FLAG:\n        return wrap(f)\n    return f", id="one way only"),
        pytest.param("def deco(f):\n    for g in [f]:\n        return wrap(g)\n    return f", id="in a loop"),
        pytest.param("def deco(f):\n    return give(wrap(f))", id="of what it made"),
    ],
)
def test_one_that_may_give_something_else_is_not_taken_at_its_word(body: str) -> None:
    text = (
        "import sys, torch\nFLAG = len(sys.argv) == 1\n"
        "def wrap(f):\n    def inner(x):\n        return f(x.cuda())\n    return inner\n"
        "def give(f):\n    return f\n"
        f"{body}\n"
        "@deco\ndef add(x):\n    return x + torch.ones(3)\n"
        "add(torch.zeros(3))\n"
    )
    assert told(analysed(text), MixedDevices)


NET = """
import functools, torch
from torch import nn
from helper import HELPS
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        INIT
    def forward(self, x):
        return BODY
"""


def net(body: str, init: str = "pass", helps: str = "half") -> str:
    return NET.replace("HELPS", helps).replace("INIT", init).replace("BODY", body)


def test_an_import_that_asks_for_cuda_and_means_the_same_without_needs_no_run_without() -> None:
    helper = (
        "import torch\n"
        "if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True\n"
        "def half(x):\n    return x / 2\n"
    )
    files = {"helper.py": helper, "net.py": net("half(self.layer(x))")}
    assert analysed(files, ["net.py"]).statistics["runs"] == 1


@pytest.mark.parametrize(
    "helper",
    [
        pytest.param(
            "SCALE = 2 if torch.cuda.is_available() else 1\ndef half(x):\n    return x / SCALE\n", id="a number"
        ),
        pytest.param(
            "if torch.cuda.is_available():\n    def half(x):\n        return x / 2\n"
            "else:\n    def half(x):\n        return x\n",
            id="a function",
        ),
        pytest.param(
            "import functools\n@functools.cache\ndef has():\n    return torch.cuda.is_available()\nhas()\n"
            "def half(x):\n    return x if has() else x / 2\n",
            id="what is remembered",
        ),
        pytest.param(
            "KNOWN = {}\nif torch.cuda.is_available():\n    KNOWN['a'] = 1\n"
            "def half(x):\n    return x if 'a' in KNOWN else x / 2\n",
            id="what a table holds",
        ),
    ],
)
def test_one_that_means_another_thing_does(helper: str) -> None:
    speaking = net("half(self.layer(x))", "self.kind = 'cuda'")
    files = {"helper.py": "import torch\n" + helper, "net.py": speaking}
    assert analysed(files, ["net.py"]).statistics["runs"] == 2


WARMING = "import torch\ndef warm(x):\n    if ASKED:\n        torch.backends.cudnn.benchmark = True\n    return x\n"
BASED = """
from torch import nn
from helper import warm
class Base(nn.Module):
    def forward(self, x):
        print('cuda')
        return warm(x).to(x.device)
class Net(Base):
    pass
"""


@pytest.mark.parametrize(
    ("file", "runs_without"),
    [
        pytest.param(net("warm(x)", helps="warm") + "# for cuda, too\n", False, id="in a comment"),
        pytest.param(
            net("warm(x)", helps="warm").replace("def __init__", '"""For cuda."""\n    def __init__'),
            False,
            id="in a docstring",
        ),
        pytest.param(net("warm(x)", "pass", "warm") + "class Other:\n    kind = 'cuda'\n", False, id="elsewhere"),
        pytest.param(net("warm(x)", "self.is_available = 1", "warm"), False, id="another question"),
        pytest.param(net("warm(x)", "self.kind = 'cuda'", "warm"), True, id="where it is run"),
        pytest.param(
            net("warm(go(x))", helps="warm") + "def go(x):\n    print('cuda')\n    return x\n", True, id="what it calls"
        ),
        pytest.param(BASED, True, id="in its base"),
    ],
)
@pytest.mark.parametrize("asked", ["torch.cuda.is_available()", "torch.cuda.device_count() > 0"])
def test_an_entry_is_run_without_cuda_where_what_it_runs_of_its_file_has_a_word_for_it(
    file: str, runs_without: bool, asked: str
) -> None:
    files = {"helper.py": WARMING.replace("ASKED", asked), "net.py": file}
    with_cuda = 2 if "count" in asked else 1
    entered = analysed(files, ["net.py"]).statistics["entries"]
    assert (entered > with_cuda * (2 if file is BASED else 1)) is runs_without


def test_the_device_of_an_input_is_none_that_the_entry_names() -> None:
    body = "x + torch.ones(3, device=DEVICE) + self.layer(x).to(DEVICE)"
    taken, named = (net(body.replace("DEVICE", device)) for device in ("x.device", "'cuda'"))
    files = {"helper.py": "def half(x):\n    return x\n"}
    assert analysed({**files, "net.py": taken}, ["net.py"]).statistics["runs"] == 1
    assert analysed({**files, "net.py": named}, ["net.py"]).statistics["runs"] == 3


def test_what_is_named_tells_no_gpus_apart_where_nothing_stands_on_the_last_one() -> None:
    text = "import torch\ndef test_sum():\n    x = torch.ones(3, device='cuda')\n    assert x.sum() == 6\n"
    given = "import torch\ndef add(x):\n    return x + torch.zeros(3, device=x.device) + torch.ones(3, device='cuda')\n"
    assert analysed({"test_sums.py": text}).statistics["entries"] == 2
    assert analysed({"sums.py": given}).statistics["entries"] == 3


def test_what_a_rank_is_asked_for_needs_no_run_without_cuda() -> None:
    files = {
        "helper.py": WARMING.replace("ASKED", "torch.cuda.is_available() and torch.distributed.get_rank() == 0"),
        "net.py": net("warm(x)", helps="warm"),
    }
    assert analysed(files, ["net.py"]).statistics["entries"] == 1


def test_the_answer_to_a_condition_means_the_same_in_another_world() -> None:
    helper = (
        "import sys, torch\n"
        "IS_ON = len(sys.argv) > 2\n"
        "if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True\n"
        "def half(x):\n    return x / 2 if IS_ON else x\n"
    )
    files = {"helper.py": helper, "net.py": net("half(self.layer(x))")}
    assert analysed(files, ["net.py"]).statistics["entries"] == 1


def test_names_that_only_cuda_binds_are_found_missing_behind_an_import() -> None:
    helper = "import torch\nif torch.cuda.is_available():\n    scale = 2\ndef half(x):\n    return x / scale\n"
    files = {"helper.py": helper, "net.py": net("half(self.layer(x))")}
    assert {event[3] for event in told(analysed(files), NameUnbound)} == {"cpu"}


def test_a_logger_that_learns_a_method_says_nothing_of_devices() -> None:
    helper = (
        "import logging, torch\n"
        "def once(self, text):\n    self.warning(text)\n"
        "logging.Logger.warning_once = once\n"
        "if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True\n"
        "def half(x):\n    return x / 2\n"
    )
    files = {"helper.py": helper, "net.py": net("half(self.layer(x))")}
    assert analysed(files, ["net.py"]).statistics["runs"] == 1


@pytest.mark.parametrize(
    ("given", "has_runs"),
    [
        pytest.param("scale=2", False, id="a number"),
        pytest.param("scale=torch.zeros(3)", True, id="a tensor"),
        pytest.param("scale=nn.Linear(3, 3)", True, id="a module"),
    ],
)
def test_a_partial_has_the_devices_that_it_was_given(given: str, has_runs: bool) -> None:
    init = f"self.scaled = functools.partial(half, {given}) if config.scaled else dict"
    files = {
        "helper.py": "def half(x, scale):\n    return x\n",
        "net.py": net("self.layer(x).cpu() + self.scaled(x)", init),
    }
    assert (analysed(files, ["net.py"]).statistics["runs"] > 2) is has_runs


def test_what_building_took_in_other_files_leaves_the_forward_its_own() -> None:
    helper = (
        "from torch import nn\n"
        "class Base(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        self.n{number} = str({number})\n" for number in range(300))
        + "def wrapped(function):\n    def inner(self, *args):\n        return function(self, *args)\n"
        + "    return inner\n"
    )
    text = (
        "import torch\nfrom torch import nn\nfrom helper import Base, wrapped\n"
        "class Net(Base):\n"
        "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(3, 3)\n"
        "    @wrapped\n"
        "    def forward(self, x):\n        return self.layer(torch.zeros(3)) + x\n"
    )
    assert told(analysed({"helper.py": helper, "net.py": text}), MixedDevices)


STRAY = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.other = nn.Linear(4, 4) if wide else nn.Identity()
    def forward(self, x, mode):
        steps = torch.arange(4)
        if mode == "a":
            y = self.layer(x)
        else:
            y = [x]
        BODY
"""


@pytest.mark.parametrize(
    ("body", "has_runs"),
    [
        pytest.param("return y, steps.to(x) + self.layer(x)", False, id="moved before it meets anything"),
        pytest.param("return y, steps * 2, torch.tensor(1.0)", False, id="meets nothing"),
        pytest.param("return y + steps", True, id="meets what was lost"),
        pytest.param("return torch.cat([y, steps])", True, id="in a list with what was lost"),
        pytest.param("y[x > 0] = steps.float()\n        return y", True, id="put into what was lost"),
        pytest.param("return self.other(steps)", True, id="given to a module that was lost"),
        pytest.param("return y.mul(steps)", True, id="given to a method of what was lost"),
        pytest.param(
            "steps = x if mode == 'b' else steps\n        return steps + self.layer(x)", True, id="lost itself"
        ),
        pytest.param(
            "steps = [0] if mode == 'b' else steps\n        return steps + self.layer(x)",
            True,
            id="lost without a trace",
        ),
    ],
)
def test_a_tensor_put_elsewhere_has_choices_where_it_comes_to_what_is_not_known(body: str, has_runs: bool) -> None:
    analysis = analysed(STRAY.replace("BODY", body))
    assert (analysis.statistics["runs"] > 1) is has_runs
    assert bool(told(analysis, MixedDevices)) is has_runs


def test_what_was_lost_stays_lost_behind_an_import() -> None:
    body = "steps = [0] if mode == 'b' else steps\n        import helper\n        return steps + self.layer(x)"
    files = {"helper.py": "width = 3\n", "net.py": STRAY.replace("BODY", body)}
    assert told(analysed(files, ["net.py"]), MixedDevices)


def test_a_question_about_a_gpu_puts_nothing_there() -> None:
    text = STRAY.replace("steps = torch.arange(4)", "torch.cuda.get_device_name()").replace("BODY", "return y")
    assert analysed(text).statistics["runs"] == 3  # one a world


ASKING = """
import torch
from torch import nn
def fused():
    return torch.cuda.is_available()
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = "fused" if fused() else "plain"
"""


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        pytest.param("return self.layer(x)", 1, id="what another file asked for itself"),
        pytest.param("if fused():\n            scale = 2\n        return self.layer(x) * scale", 2, id="is told"),
        pytest.param("gpus = fused()\n        return self.layer(x)", 2, id="speaks of GPUs"),
    ],
)
def test_a_file_that_nobody_told_of_cuda_needs_no_run_without(body: str, runs: int) -> None:
    text = (
        "from torch import nn\nfrom asking import Base, fused\n"
        "class Net(Base):\n"
        "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(3, 3)\n"
        f"    def forward(self, x):\n        {body}\n"
    )
    analysis = analysed({"asking.py": ASKING, "net.py": text}, ["net.py"])
    assert analysis.statistics["runs"] == runs
    assert {event[3] for event in told(analysis, NameUnbound)} == ({"cpu"} if "scale" in body else set())


@pytest.mark.skipif(is_compiled(), reason="methods of a compiled class can't be replaced")
def test_files_whose_functions_set_nothing_are_not_looked_at_for_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that look like it in their text; one of them does set a name."""
    fills = "KEPT = {}\ndef fill(x):\n    shown = [0]\n    shown[0] = x\n    # the global average\n    return shown\n"
    sets = "where = 'cpu'\ndef choose(name):\n    global where\n    where = name\n"
    entered = "".join(f"import part{number}\n" for number in range(12)) + (
        "import sets, torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.to(sets.where)\n"
    )
    texts = {f"part{number}.py": fills for number in range(12)} | {"sets.py": sets, "net.py": entered}
    looked_at: set[str] = set()
    before = Exploration.explore

    def explore(self: Exploration, path: str, earlier: Outcome | None) -> Outcome:
        outcome = before(self, path, earlier)
        looked_at.update(space.path for space, _ in self.machine.settings)
        assert not self.machine.with_settings
        return outcome

    monkeypatch.setattr(Exploration, "explore", explore)
    analysed(texts)
    assert len(looked_at) == 1
    assert looked_at.pop().endswith("sets.py")
