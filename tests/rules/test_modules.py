"""DEV501 to DEV505 and DEV801 to DEV803: what they say about hand-made events, and where their fixes are offered."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MarkKind, MixedDevices, Synchronized, Transfer
from devlint.rules import (
    dev501_tensor_attribute,
    dev502_unregistered_modules,
    dev503_layer_in_forward,
    dev504_stale_device_cache,
    dev505_optimizer_state_device,
    dev801_create_then_move,
    dev802_transfer_in_loop,
    dev803_sync_in_loop,
)
from devlint.rules.base import Rule
from tests.rules.handmade import Program

ATTRIBUTE = dev501_tensor_attribute.RULE
CONTAINER = dev502_unregistered_modules.RULE
CREATE = dev801_create_then_move.RULE
LOOP = dev802_transfer_in_loop.RULE
CAUSES = {ATTRIBUTE.code: "attribute", CONTAINER.code: "container"}


def left_behind(program: Program, rule: Rule, root: str, kind: MarkKind, note: str, nth: int = 0) -> MixedDevices:
    """What is assigned at `root` stays on the CPU and meets `x` at the end of the program."""
    mark = program.mark(kind, root, "cpu", note, nth)
    crash = "x * kept"
    return MixedDevices(
        "gpu1",
        program.site(crash),
        mark.site,
        operands=(program.operand("x", "cuda:0", at="x * kept"), program.operand("kept", "cpu", mark)),
        guilty=1,
        cause="attribute" if rule is ATTRIBUTE else "container",
    )


MODULE = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        {}

    def forward(self, x):
        return x * kept
"""


@pytest.mark.parametrize(
    ("assigned", "mended"),
    [
        ("self.pos = torch.zeros(n)", 'self.register_buffer("pos", torch.zeros(n), persistent=False)'),
        ("self.pos: torch.Tensor = make(n)", 'self.register_buffer("pos", make(n), persistent=False)'),
        ("self.pos = (a + b)", 'self.register_buffer("pos", (a + b), persistent=False)'),
        (
            "self.pos = torch.cat(\n            [a, b],\n        )  # kept",
            'self.register_buffer("pos", torch.cat(\n            [a, b],\n        ), persistent=False)  # kept',
        ),
    ],
)
def test_attribute_becomes_a_buffer(assigned: str, mended: str) -> None:
    text = MODULE.format(assigned)
    program = Program(text)
    event = left_behind(program, ATTRIBUTE, assigned.partition("  #")[0], "left-behind", "pos")
    (said,) = program.say(ATTRIBUTE, event)
    assert said.message.startswith(
        "`self.pos` is a plain attribute and stays on cpu when the module moves: it meets `x`"
    )
    mend = program.mend(ATTRIBUTE, event)
    assert mend is not None and mend.applicability == "unsafe"
    assert program.mended(ATTRIBUTE, event) == text.replace(assigned, mended)


@pytest.mark.parametrize(
    "assigned",
    [
        "self.pos = self.other = torch.zeros(n)",
        "self.pos, self.other = make(n)",
        "self.pos = None\n        self.pos = torch.zeros(n)",
        "other.pos = torch.zeros(n)",
        "self.inner.pos = torch.zeros(n)",
    ],
)
def test_attribute_without_a_right_fix(assigned: str) -> None:
    program = Program(MODULE.format(assigned))
    root = assigned.rpartition("        ")[2]
    assert program.mended(ATTRIBUTE, left_behind(program, ATTRIBUTE, root, "left-behind", "pos")) is None


def test_attribute_of_another_method_is_left_alone() -> None:
    text = MODULE.replace("__init__(self, n):", "build(self, n):").format("self.pos = torch.zeros(n)")
    program = Program(text)
    event = left_behind(program, ATTRIBUTE, "self.pos = torch.zeros(n)", "left-behind", "pos")
    assert program.mended(ATTRIBUTE, event) is None


def test_site_of_the_target_alone_will_do() -> None:
    text = MODULE.format("self.pos = torch.zeros(n)")
    program = Program(text)
    mended = program.mended(ATTRIBUTE, left_behind(program, ATTRIBUTE, "self.pos", "left-behind", "pos"))
    assert mended == text.replace(
        "self.pos = torch.zeros(n)", 'self.register_buffer("pos", torch.zeros(n), persistent=False)'
    )


@pytest.mark.parametrize(
    ("value", "mended"),
    [
        ("[nn.Linear(n, n) for _ in range(2)]", "nn.ModuleList([nn.Linear(n, n) for _ in range(2)])"),
        ("(nn.Linear(n, n), Block())", "nn.ModuleList((nn.Linear(n, n), Block()))"),
        ('{"a": nn.Linear(n, n)}', 'nn.ModuleDict({"a": nn.Linear(n, n)})'),
        ("{str(i): Block(i) for i in range(n)}", "nn.ModuleDict({str(i): Block(i) for i in range(n)})"),
        ("[nn.Parameter(torch.ones(n))]", "nn.ParameterList([nn.Parameter(torch.ones(n))])"),
        ("{i: Block(i) for i in range(n)}", None),
        ("[nn.Linear(n, n), nn.Parameter(w)]", None),
        ("[nn.Linear(n, n), block]", None),
        ("list(map(Block, sizes))", None),
        ("[]", None),
    ],
)
def test_container_is_registered(value: str, mended: str | None) -> None:
    text = MODULE.format(f"self.parts = {value}")
    program = Program(text)
    event = left_behind(program, CONTAINER, f"self.parts = {value}", "unregistered", "parts")
    (said,) = program.say(CONTAINER, event)
    assert said.message.startswith("`self.parts` is no registered container: what it holds stays on cpu")
    expected = None if mended is None else text.replace(f"= {value}", f"= {mended}")
    assert program.mended(CONTAINER, event) == expected


def test_container_that_is_filled_by_append() -> None:
    text = MODULE.format("self.parts = []\n        for _ in range(n):\n            self.parts.append(nn.Linear(n, n))")
    program = Program(text)
    event = left_behind(program, CONTAINER, "self.parts = []", "unregistered", "parts")
    assert program.mended(CONTAINER, event) == text.replace("= []", "= nn.ModuleList()")


@pytest.mark.parametrize(
    ("imports", "wrapper"),
    [
        ("import torch", "torch.nn.ModuleList"),
        ("import torch.nn as N", "N.ModuleList"),
        ("import torch as t", "t.nn.ModuleList"),
        ("from torch.nn import ModuleList, Linear", "ModuleList"),
    ],
)
def test_container_is_named_as_the_file_imports_it(imports: str, wrapper: str) -> None:
    text = MODULE.replace("import torch\nfrom torch import nn", imports).format("self.parts = [Linear(n, n)]")
    program = Program(text)
    event = left_behind(program, CONTAINER, "self.parts = [Linear(n, n)]", "unregistered", "parts")
    assert program.mended(CONTAINER, event) == text.replace("[Linear(n, n)]", f"{wrapper}([Linear(n, n)])")


def test_the_others_name_the_culprit() -> None:
    program = Program("def forward(self, x):\n    layer = nn.Linear(3, 2)\n    return layer(x)\noptimizer.step()\n")
    site, root = program.site("layer(x)"), program.site("nn.Linear(3, 2)")
    operands = (program.operand("x", "cuda:0", nth=1), program.operand("layer", "cpu", at="layer(x)"))
    layer = MixedDevices("gpu1", site, root, operands=operands, guilty=1, cause="layer-in-forward")
    assert program.say(dev503_layer_in_forward.RULE, layer)[0].message == (
        "`nn.Linear(3, 2)` is built inside `forward`, on cpu and untrained: it meets `x` on cuda:0 at line 3"
    )
    cached = MixedDevices("gpu1", site, site, operands=operands, guilty=0, cause="cache")
    assert program.say(dev504_stale_device_cache.RULE, cached)[0].message == (
        "`x` was cached on cuda:0 by an earlier call, and is used again without asking for its device: it meets "
        "`layer` on cpu"
    )
    step = program.site("optimizer.step()")
    state = (program.operand("optimizer", "cpu", at="optimizer.step()"), operands[0])
    late = MixedDevices("gpu1", step, step, operands=state, guilty=0, cause="optimizer-state")
    assert program.say(dev505_optimizer_state_device.RULE, late)[0].message == (
        "`optimizer.step()` finds its state on cpu and its parameters on cuda:0"
    )


@pytest.mark.parametrize(
    ("bad", "mended", "applicability"),
    [
        ("torch.zeros(3).to(device)", "torch.zeros(3, device=device)", "safe"),
        ("torch.zeros(3).to(device=device, non_blocking=True)", "torch.zeros(3, device=device)", "safe"),
        ("torch.arange(n).cuda()", 'torch.arange(n, device="cuda")', "safe"),
        ("torch.randn(3).to(x.device)", "torch.randn(3, device=x.device)", "unsafe"),
        ("torch.zeros(3).to(device, torch.half)", None, ""),
        ("torch.zeros(3).cuda(1)", None, ""),
        ("make(3).to(device)", None, ""),
        ("torch.zeros(3, device=d).to(device)", None, ""),
    ],
)
def test_created_where_it_is_needed(bad: str, mended: str | None, applicability: str) -> None:
    program = Program(f"y = {bad}\n")
    created = program.site(bad.rpartition(".")[0] if bad.endswith("cuda()") else bad.partition(").")[0] + ")")
    event = Transfer(
        "gpu1", program.site(bad), program.site(bad), source="cpu", target="cuda:0", fresh=True, created=created
    )
    mend = program.mend(CREATE, event)
    assert (mend.applicability if mend is not None else "") == applicability
    assert program.mended(CREATE, event) == (None if mended is None else f"y = {mended}\n")


def test_transfers_of_a_loop() -> None:
    program = Program("for x in data:\n    y = w.to(device)\nz = y.cpu().to(device)\n")
    loop, move = program.site("for x in data:\n    y = w.to(device)"), program.site("w.to(device)")
    same = Transfer("gpu1", move, move, text="w", source="cpu", target="cuda:0", invariant=True, loop=loop)
    assert [said.message for said in program.say(LOOP, same)] == [
        "`w` is copied from cpu to cuda:0 in every pass, and the loop doesn't change it"
    ]
    back = Transfer("gpu1", move, move, text="y.cpu()", source="cpu", target="cuda:0", round_trip=True)
    assert [said.message for said in program.say(LOOP, back)] == ["`y.cpu()` goes back to cuda:0, where it came from"]
    assert program.say(LOOP, Transfer("gpu1", move, move, text="w", source="cpu", target="cuda:0", loop=loop)) == []
    assert program.say(CREATE, same) == []


def test_waiting_counts_inside_loops_only() -> None:
    program = Program("for x in data:\n    total += x.item()\n")
    site = program.site("x.item()")
    event = Synchronized("gpu1", site, site, text="x.item()", how=".item()", loop=program.site("for x in data:"))
    assert [said.message for said in program.say(dev803_sync_in_loop.RULE, event)] == [
        "`x.item()` makes the host wait for the device in every pass of the loop"
    ]
    assert program.say(dev803_sync_in_loop.RULE, Synchronized("gpu1", site, site, text="x")) == []
