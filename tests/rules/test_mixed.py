"""DEV301 to DEV309: what they say about hand-made events, and where their fixes are offered."""

from __future__ import annotations

import pytest
import torch

from devlint.analysis.events import (
    CauseKind,
    CpuOnlyArgument,
    GeneratorDevice,
    Mark,
    MixedDevices,
    Operand,
    ParallelDevice,
)
from devlint.rules import (
    dev301_mixed_devices,
    dev302_module_input_device,
    dev303_default_device_tensor,
    dev304_index_on_accelerator,
    dev305_generator_device,
    dev306_cpu_only_argument,
    dev307_loss_not_moved,
    dev308_parallel_device,
    dev309_metric_device,
    handles,
)
from devlint.rules.base import Rule
from devlint.rules.catalogue import CATALOGUE
from tests.rules.handmade import Program

CREATED = dev303_default_device_tensor.RULE
INDEX = dev304_index_on_accelerator.RULE


def clash(
    program: Program, cause: CauseKind, root: str, crash: str, wrong: Operand, right: Operand, nth: int = 0
) -> MixedDevices:
    return MixedDevices(
        "gpu1", program.site(crash, nth), program.site(root), operands=(right, wrong), guilty=1, cause=cause
    )


def test_two_operands_are_described_with_their_origin() -> None:
    program = Program("pos = torch.zeros(3)\nx = x.to(device)\ny = pos + x\n")
    wrong = program.operand("pos", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"))
    right = program.operand("x", "cuda:0", program.mark("moved", "x.to(device)", "cuda:0"))
    event = clash(program, "mixed", "pos + x", "pos + x", wrong, right)
    (said,) = program.say(dev301_mixed_devices.RULE, event)
    assert said.message == ("`pos` is on cpu (created at line 1 without `device=`), `x` is on cuda:0 (moved at line 2)")
    assert [(note.site.row, note.message) for note in said.trace] == [
        (1, "created on cpu here, without `device=`"),
        (2, "moved to cuda:0 here"),
        (3, "`pos` (cpu) meets `x` (cuda:0) here"),
    ]


def test_rows_are_not_named_where_the_author_has_others() -> None:
    program = Program("pos = torch.zeros(3)\ny = pos + x\n", path="/project/train.ipynb")
    wrong = program.operand("pos", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"))
    event = clash(program, "mixed", "pos + x", "pos + x", wrong, program.operand("x", "cuda:0"))
    (said,) = program.say(dev301_mixed_devices.RULE, event)
    assert said.message == "`pos` is on cpu (created without `device=`), `x` is on cuda:0"


def test_the_file_is_named_where_it_is_another() -> None:
    program = Program("y = pos + x\n")
    mark = Mark("factory", program.site("pos", path="/project/layers.py"), "cpu")
    event = clash(
        program, "mixed", "pos + x", "pos + x", program.operand("pos", "cpu", mark), program.operand("x", "cuda:0")
    )
    (said,) = program.say(dev301_mixed_devices.RULE, event)
    assert said.message.startswith("`pos` is on cpu (created at line 1 of layers.py without `device=`)")


def test_calls_that_led_there_are_in_the_trace() -> None:
    program = Program("def f(a):\n    return a + w\nf(x)\n")
    event = MixedDevices(
        "gpu1",
        program.site("a + w"),
        program.site("f(x)"),
        calls=(program.site("f(x)"),),
        operands=(program.operand("w", "cuda:0"), program.operand("a", "cpu", at="a +")),
        guilty=1,
        operation="add",
    )
    (said,) = program.say(dev301_mixed_devices.RULE, event)
    assert [note.message for note in said.trace] == ["called here", "`a` (cpu) meets `w` (cuda:0) here, in `add`"]


CAUSES: dict[CauseKind, str] = {
    "dropped": "DEV201",
    "rebound": "DEV202",
    "attribute": "DEV501",
    "container": "DEV502",
    "factory": "DEV303",
    "module-input": "DEV302",
    "rebuilt": "DEV302",
    "layer-in-forward": "DEV503",
    "loss": "DEV307",
    "metric": "DEV309",
    "index": "DEV304",
    "cache": "DEV504",
    "type-cast": "DEV902",
    "optimizer-state": "DEV505",
    "hardcoded": "DEV101",
    "mixed": "DEV301",
}


@pytest.mark.parametrize(("cause", "code"), CAUSES.items())
def test_one_rule_speaks_for_each_cause(cause: CauseKind, code: str) -> None:
    program = Program("a + b\n")
    event = clash(program, cause, "a + b", "a + b", program.operand("a", "cpu"), program.operand("b", "cuda:0"))
    assert [rule.code for rule in CATALOGUE if program.say(rule, event)] == [code]


NOISE = """\
def sample(mean, logvar):
    std = torch.exp(logvar)
    eps = torch.randn(std.size())
    return mean + eps * std
"""


def noise(program: Program, factory: str, other: str = "std", crash: str = "eps * std") -> MixedDevices:
    wrong = program.operand("eps", "cpu", program.mark("factory", factory, "cpu"))
    right = program.operand(other, "cuda:0", at=crash)
    return clash(program, "factory", factory, crash, wrong, right)


def test_factory_names_what_it_meets() -> None:
    program = Program(NOISE)
    (said,) = program.say(CREATED, noise(program, "torch.randn(std.size())"))
    assert said.message == (
        "`torch.randn(std.size())` is created on cpu without `device=`, and meets `std` on cuda:0 at line 4"
    )


@pytest.mark.parametrize(
    ("factory", "mended"),
    [
        ("torch.randn(std.size())", "torch.randn(std.size(), device=std.device)"),
        ("torch.zeros(3, )", "torch.zeros(3, device=std.device, )"),
        ("torch.full((3,), (1))", "torch.full((3,), (1), device=std.device)"),
        ("torch.FloatTensor(3)", "torch.FloatTensor(3).to(std.device)"),
        ("torch.zeros(*sizes)", "torch.zeros(*sizes, device=std.device)"),
        ("torch.zeros(3, **options)", None),
        ("torch.zeros(3, device=None)", None),
    ],
)
def test_factory_gets_the_device_of_what_it_meets(factory: str, mended: str | None) -> None:
    text = NOISE.replace("torch.randn(std.size())", factory)
    program = Program(text)
    expected = None if mended is None else text.replace(factory, mended)
    assert program.mended(CREATED, noise(program, factory)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    eps = torch.zeros(3)\n    std = a.exp()\n    return eps * std\n",
        "def f(std):\n    eps = torch.zeros(3)\n    std = std.cuda()\n    return eps * std\n",
        "def g():\n    return torch.zeros(3)\ndef f(std):\n    eps = g()\n    return eps * std\n",
    ],
    ids=["bound later", "moved in between", "another function"],
)
def test_factory_without_a_right_fix(text: str) -> None:
    program = Program(text)
    assert program.mended(CREATED, noise(program, "torch.zeros(3)")) is None


@pytest.mark.parametrize(
    "taken",
    [
        "eps, rate = load()",
        "[eps, _] = load()",
        "eps = load()[0]",
        "first, *eps = load()",
        "eps = stack(*load())",
        "eps = stack(**load())",
        "with load() as (eps, rate): pass",
        "with load() as [eps, rate]: pass",
    ],
)
def test_what_is_taken_apart_is_no_tensor_to_move(taken: str) -> None:
    program = Program(f"def f(std):\n    {taken}\n    return eps * std\n")
    assert program.mended(CREATED, noise(program, "load()")) is None


def test_what_a_call_gives_is_moved() -> None:
    text = "def f(std):\n    eps = load()\n    return eps * std\n"
    assert Program(text).mended(CREATED, noise(Program(text), "load()")) == text.replace(
        "load()", "load().to(std.device)"
    )


def test_factory_in_a_helper_takes_the_handle_of_the_program() -> None:
    text = "device = pick()\nx = x.to(device)\ny = torch.zeros(3)\nprint(y * net(x))\n"
    program = Program(text)
    wrong = program.operand("y", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"), at="y *")
    right = program.operand("net(x)", "cuda:0", program.mark("moved", "x.to(device)", "cuda:0"))
    event = clash(program, "factory", "torch.zeros(3)", "y * net(x)", wrong, right)
    assert program.mended(CREATED, event) == text.replace("zeros(3)", "zeros(3, device=device)")


def test_factory_takes_the_device_of_an_input() -> None:
    text = "def forward(self, x):\n    mask = torch.ones(3)\n    return mask * self.net(x)\n"
    program = Program(text)
    wrong = program.operand("mask", "cpu", program.mark("factory", "torch.ones(3)", "cpu"))
    right = program.operand("self.net(x)", "cuda:0", program.mark("input", "x", "cuda:0"))
    event = clash(program, "factory", "torch.ones(3)", "mask * self.net(x)", wrong, right)
    assert program.mended(CREATED, event) == text.replace("ones(3)", "ones(3, device=x.device)")


ARGUMENTS: dict[str, tuple[object, ...]] = {
    "as_tensor": ([1.0],),
    "asarray": ([1.0],),
    "full": ((3,), 1.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "randint": (5, (3,)),
    "scalar_tensor": (1.0,),
    "tensor": ([1.0],),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
}


@pytest.mark.parametrize("name", sorted(dev303_default_device_tensor.FACTORIES))
def test_factories_take_a_device(name: str) -> None:
    made = getattr(torch, name)(*ARGUMENTS.get(name, (3,)), device="meta")
    assert made.device.type == "meta"


def test_index_is_brought_to_the_cpu() -> None:
    text = "print(names[best], rows[a + b])\n"
    program = Program(text)
    table, index = program.operand("names", "cpu"), program.operand("best", "cuda:0")
    event = clash(program, "index", "names[best]", "names[best]", table, index)
    (said,) = program.say(INDEX, event)
    assert said.message == "`names` is on cpu and is indexed by `best`, which is on cuda:0"
    assert program.mended(INDEX, event) == text.replace("[best]", "[best.cpu()]")
    table, index = program.operand("rows", "cpu"), program.operand("a + b", "cuda:0")
    event = clash(program, "index", "rows[a + b]", "rows[a + b]", table, index)
    assert program.mended(INDEX, event) == text.replace("[a + b]", "[(a + b).cpu()]")


@pytest.mark.parametrize(
    ("call", "root", "devices", "mended"),
    [
        (
            "torch.randn(3, generator=g, device=device)",
            None,
            ("cpu", "cuda:0"),
            "torch.randn(3, generator=g).to(device)",
        ),
        ("torch.randn(3, device=d, generator=g)", None, ("cpu", "cuda:0"), "torch.randn(3, generator=g).to(d)"),
        ("torch.randn(3, device=d, generator=g)", None, ("cuda:0", "cpu"), None),
        ("w.normal_(generator=g)", None, ("cpu", "cuda:0"), None),
        ("torch.Generator(device=device)", "torch.Generator(device=device)", ("cuda:0", "cpu"), "torch.Generator()"),
        ("torch.Generator(device=device)", "torch.Generator(device=device)", ("cpu", "cuda:0"), None),
    ],
)
def test_generator(call: str, root: str | None, devices: tuple[str, str], mended: str | None) -> None:
    text = f"x = {call}\n"
    program = Program(text)
    event = GeneratorDevice(
        "gpu1",
        program.site(call),
        program.site(root or call),
        operation="torch.randn",
        generator_device=devices[0],
        expected_device=devices[1],
    )
    (said,) = program.say(dev305_generator_device.RULE, event)
    assert said.message == f"the generator is on {devices[0]}, and `torch.randn` draws on {devices[1]}"
    expected = None if mended is None else f"x = {mended}\n"
    assert program.mended(dev305_generator_device.RULE, event) == expected


def test_argument_is_passed_on_the_cpu() -> None:
    text = "lengths = lengths.to(device)\npacked = pack_padded_sequence(x, lengths, batch_first=True)\n"
    program = Program(text)
    call = program.site("pack_padded_sequence(x, lengths, batch_first=True)")
    operand = program.operand("lengths", "cuda:0", program.mark("moved", "lengths.to(device)", "cuda:0"), nth=2)
    event = CpuOnlyArgument("gpu1", call, call, operation="pack_padded_sequence", argument="lengths", operand=operand)
    (said,) = program.say(dev306_cpu_only_argument.RULE, event)
    assert said.message == (
        "`lengths` of `pack_padded_sequence` must be on the CPU: `lengths` is on cuda:0 (moved at line 1)"
    )
    assert program.mended(dev306_cpu_only_argument.RULE, event) == text.replace("x, lengths,", "x, lengths.cpu(),")


@pytest.mark.parametrize(
    ("rule", "cause", "built"),
    [
        (dev307_loss_not_moved.RULE, "loss", "nn.NLLLoss(weight=w)"),
        (dev309_metric_device.RULE, "metric", "MeanMetric()"),
    ],
)
def test_what_is_never_moved_is_moved_to_the_handle(rule: Rule, cause: CauseKind, built: str) -> None:
    text = f"device = pick()\nkept = {built}\nx = x.to(device)\nkept(x, y)\n"
    program = Program(text)
    wrong = program.operand("kept", "cpu", at="kept(x, y)")
    right = program.operand("x", "cuda:0", program.mark("moved", "x.to(device)", "cuda:0"))
    event = clash(program, cause, built, "kept(x, y)", wrong, right)
    assert program.mended(rule, event) == text.replace(built, f"{built}.to(device)")
    late = text.replace("device = pick()\n", "").replace("x = x.to", "device = pick()\nx = x.to")
    program = Program(late)
    event = clash(program, cause, built, "kept(x, y)", wrong, program.operand("x", "cuda:0", right.marks[0]))
    assert program.mended(rule, event) is None


def test_module_that_is_built_anew() -> None:
    program = Program("net = Net()\nnet(x)\n")
    wrong = program.operand("net", "cpu", program.mark("rebuilt", "net = Net()", "cpu"))
    event = clash(program, "rebuilt", "net = Net()", "net(x)", wrong, program.operand("x", "cuda:0"))
    (said,) = program.say(dev302_module_input_device.RULE, event)
    assert said.message == "a fresh module on cpu replaces the moved one: `net` meets `x` on cuda:0 at line 2"


def test_parallel_module_says_where_it_is() -> None:
    program = Program("net(x)\n")
    event = ParallelDevice("gpu2", program.site("net(x)"), program.site("net(x)"), expected="cuda:1", found="cuda:0")
    (said,) = program.say(dev308_parallel_device.RULE, event)
    assert said.message == "`DataParallel` expects its module on cuda:1 (`device_ids[0]`), and it is on cuda:0"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x", "x"),
        ("self.x", "self.x"),
        ("x.sigmoid()", "x"),
        ("self.x.float().T.view(-1, 2)", "self.x"),
        ("x.cpu()", None),
        ("x.to(device).exp()", None),
        ("net(x)", None),
        ("torch.exp(x)", "torch"),
        ("x[0]", None),
        ("x +", None),
    ],
)
def test_name_that_a_tensor_is_read_from(text: str, path: str | None) -> None:
    assert handles.tensor_path(text) == path


def test_factory_never_takes_the_device_of_an_import_or_a_guarded_name() -> None:
    text = "import torch\ndef f(x):\n    y = torch.zeros(3)\n    return y * torch.exp(x)\n"
    program = Program(text)
    wrong = program.operand("y", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"), at="y *")
    right = program.operand("torch.exp(x)", "cuda:0")
    event = clash(program, "factory", "torch.zeros(3)", "y * torch.exp(x)", wrong, right)
    assert program.mended(CREATED, event) is None
    program = Program("import torch\ny = torch.zeros(3)\nprint(y * torch.exp(x))\n")
    wrong = program.operand("y", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"), at="y *")
    event = clash(program, "factory", "torch.zeros(3)", "y * torch.exp(x)", wrong, right)
    assert program.mended(CREATED, event) is None


def test_factory_takes_no_handle_that_stands_on_a_condition() -> None:
    guard = 'def f(x):\n    y = torch.zeros(3)\n    return y * net(x)\nif __name__ == "__main__":\n'
    guard += "    d = pick()\n    f(x.to(d))\n"
    program = Program(guard)
    wrong = program.operand("y", "cpu", program.mark("factory", "torch.zeros(3)", "cpu"), at="y *")
    right = program.operand("net(x)", "cuda:0", program.mark("moved", "x.to(d)", "cuda:0"))
    event = clash(program, "factory", "torch.zeros(3)", "y * net(x)", wrong, right)
    assert program.mended(CREATED, event) is None
    program = Program(guard.replace('if __name__ == "__main__":\n    d = pick()\n    f', "d = pick()\nf"))
    right = program.operand("net(x)", "cuda:0", program.mark("moved", "x.to(d)", "cuda:0"))
    event = clash(program, "factory", "torch.zeros(3)", "y * net(x)", wrong, right)
    assert "zeros(3, device=d)" in (program.mended(CREATED, event) or "")
