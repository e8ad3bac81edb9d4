"""DEV201 to DEV203: what they say about hand-made events, and where their fixes are offered."""

from __future__ import annotations

import pytest

from devlint.analysis.events import CpuOnlyArgument, DroppedMove, MixedDevices, MovedParameter, ToHost
from devlint.rules import dev201_dropped_move, dev202_rebound_loop_variable, dev203_moved_parameter
from tests.rules.handmade import Program

DROPPED = dev201_dropped_move.RULE
REBOUND = dev202_rebound_loop_variable.RULE
PARAMETER = dev203_moved_parameter.RULE


def dropped(program: Program, statement: str, use: str, culprit: str, made: str) -> MixedDevices:
    """The statement throws a move of `culprit` away, and `use` breaks."""
    marks = (program.mark("factory", made, "cpu"), program.mark("dropped", statement))
    wrong = program.operand(culprit, "cpu", *marks)
    right = program.operand("weight", "cuda:0", program.mark("placed", "weight"))
    return MixedDevices(
        "gpu1", program.site(use), program.site(statement), operands=(right, wrong), guilty=1, cause="dropped"
    )


SCRIPT = """\
weight = torch.ones(3, device=device)
x = torch.rand(3)
x.to(device)
print(weight * x)
"""


def test_dropped_move_names_what_stays_where() -> None:
    program = Program(SCRIPT)
    (said,) = program.say(DROPPED, dropped(program, "x.to(device)", "weight * x", "x", "torch.rand(3)"))
    assert said.message == (
        "the result of `x.to(device)` is thrown away: `x` stays on cpu and meets `weight` on cuda:0 at line 4"
    )
    assert [note.message for note in said.trace] == [
        "created on cpu here, without `device=`",
        "the moved copy is thrown away here",
        "created here",
        "`x` (cpu) meets `weight` (cuda:0) here",
    ]


def test_dropped_move_is_assigned_back() -> None:
    program = Program(SCRIPT)
    mended = program.mended(DROPPED, dropped(program, "x.to(device)", "weight * x", "x", "torch.rand(3)"))
    assert mended == SCRIPT.replace("\nx.to", "\nx = x.to")


def test_other_causes_are_left_to_other_rules() -> None:
    program = Program(SCRIPT)
    event = dropped(program, "x.to(device)", "weight * x", "x", "torch.rand(3)")
    other = MixedDevices("gpu1", event.site, event.root, operands=event.operands, guilty=1, cause="factory")
    assert program.say(DROPPED, other) == []


@pytest.mark.parametrize(
    "text",
    [
        "weight = 1\ndef f():\n    x = torch.rand(3)\n    x.to(device)\n    return weight\n",
        "weight = 1\nx = torch.rand(3)\ndef f():\n    x.to(device)\n    return weight * x\n",
        "weight = 1\nx = torch.rand(3, requires_grad=True)\nx.to(device)\nprint(weight * x)\n",
        "weight = 1\nfor x in torch.rand(3):\n    x.to(device)\n",
        "weight = 1\nx = torch.rand(3)\nmove(x)\nprint(weight * x)\n",
    ],
    ids=["not read later", "no name of this function", "a leaf with a gradient", "a loop variable", "a helper"],
)
def test_dropped_move_without_a_right_fix(text: str) -> None:
    program = Program(text)
    made = next(part for part in ("torch.rand(3, requires_grad=True)", "torch.rand(3)") if part in text)
    statement = "x.to(device)" if "x.to(device)" in text else "move(x)"
    assert program.mended(DROPPED, dropped(program, statement, "weight", "x", made)) is None


def test_dropped_parameter_attribute_is_not_assigned() -> None:
    text = "weight = 1\nmodel.bias.to(device)\nprint(weight * model.bias)\n"
    program = Program(text)
    marks = (program.mark("parameter", "model"), program.mark("dropped", "model.bias.to(device)"))
    wrong, right = program.operand("model.bias", "cpu", *marks), program.operand("weight", "cuda:0")
    event = MixedDevices(
        "gpu1", program.site("weight * model.bias"), marks[1].site, operands=(right, wrong), guilty=1, cause="dropped"
    )
    assert program.mended(DROPPED, event) is None


def test_dropped_comprehension_becomes_the_list() -> None:
    text = "weight = 1\nbatch = [torch.rand(3)]\n[t.to(device) for t in batch]\nprint(weight * batch[0])\n"
    program = Program(text)
    event = dropped(program, "[t.to(device) for t in batch]", "weight * batch[0]", "batch[0]", "torch.rand(3)")
    mend = program.mend(DROPPED, event)
    assert mend is not None and mend.applicability == "unsafe"
    assert program.mended(DROPPED, event) == text.replace("\n[t.to", "\nbatch = [t.to")


def test_dropped_copy_to_the_cpu() -> None:
    text = "def f(scores):\n    scores.cpu()\n    return scores.numpy()\n"
    program = Program(text)
    operand = program.operand("scores", "cuda:0", program.mark("dropped", "scores.cpu()"))
    to_host = ToHost("gpu1", program.site("scores.numpy()"), program.site("scores.numpy()"), operand=operand)
    (said,) = program.say(DROPPED, to_host)
    assert said.site.row == 2
    assert said.message == "the result of `scores.cpu()` is thrown away: `scores` stays on cuda:0"
    assert program.mended(DROPPED, to_host) == text.replace("    scores.cpu()", "    scores = scores.cpu()")
    lengths = CpuOnlyArgument("gpu1", to_host.site, to_host.root, operation="pack_padded_sequence", operand=operand)
    assert len(program.say(DROPPED, lengths)) == 1
    assert (
        program.say(DROPPED, ToHost("gpu1", to_host.site, to_host.root, operand=program.operand("scores", "cuda:0")))
        == []
    )


def rebound(program: Program, loop: str, culprit: str) -> MixedDevices:
    wrong = program.operand(culprit, "cpu", program.mark("rebound", loop), at="weight *")
    right = program.operand("weight", "cuda:0")
    site = program.site("weight *")
    return MixedDevices("gpu1", site, program.site(loop), operands=(right, wrong), guilty=1, cause="rebound")


@pytest.mark.parametrize(
    ("loop", "mended", "applicability"),
    [
        ("for t in batch:\n    t = t.to(device)", "batch = [t.to(device) for t in batch]", "unsafe"),
        (
            "for key, t in batch.items():\n    t = t.to(device)",
            "for key, t in batch.items():\n    batch[key] = t.to(device)",
            "safe",
        ),
        (
            "for i, t in enumerate(batch):\n    t = t.cuda()\n    print(t)",
            "for i, t in enumerate(batch):\n    batch[i] = t = t.cuda()\n    print(t)",
            "unsafe",
        ),
        ("for t in (x, y):\n    t = t.to(device)", "x, y = (t.to(device) for t in (x, y))", "safe"),
        ("for t in x, y:\n    t = t.to(device)", "x, y = (t.to(device) for t in (x, y))", "safe"),
    ],
)
def test_rebound_loop_variable_is_stored(loop: str, mended: str, applicability: str) -> None:
    text = f"batch, x, y = make()\n{loop}\nprint(weight * batch[0] + x)\n"
    program = Program(text)
    event = rebound(program, loop, "batch[0]")
    mend = program.mend(REBOUND, event)
    assert mend is not None and mend.applicability == applicability
    assert program.mended(REBOUND, event) == text.replace(loop, mended)


@pytest.mark.parametrize(
    "loop",
    [
        "for t in batch:\n    t = t.to(device)\n    print(t)",
        "for t in make():\n    t = t.to(device)",
        "for t in batch:\n    t = t.to(device)\nelse:\n    print(0)",
        "for t in (x, make()):\n    t = t.to(device)",
        "for t in batch.values():\n    t = t.to(device)",
    ],
)
def test_rebound_loop_variable_without_a_right_fix(loop: str) -> None:
    program = Program(f"batch, x = make()\n{loop}\nprint(weight * batch[0])\n")
    assert program.mended(REBOUND, rebound(program, loop, "batch[0]")) is None


def test_rebound_loop_variable_names_what_stays() -> None:
    loop = "for t in batch:\n    t = t.to(device)"
    program = Program(f"batch = make()\n{loop}\nprint(weight * batch[0])\n")
    (said,) = program.say(REBOUND, rebound(program, loop, "batch[0]"))
    assert said.message == (
        "the loop moves only its own variable: `batch[0]` stays on cpu and meets `weight` on cuda:0 at line 4"
    )


@pytest.mark.parametrize(
    ("bad", "mended"),
    [
        ("nn.Parameter(torch.ones(3)).to(device)", "nn.Parameter(torch.ones(3).to(device))"),
        ("nn.Parameter(a + b, True).cuda()", "nn.Parameter((a + b).cuda(), True)"),
        ("torch.zeros(3, requires_grad=True).to(d)", "torch.zeros(3, requires_grad=True, device=d)"),
        ("torch.zeros(3, requires_grad=True).cuda()", 'torch.zeros(3, requires_grad=True, device="cuda")'),
        ("torch.zeros(3, requires_grad=True, device=c).to(d)", None),
        ("torch.zeros(3, requires_grad=True).to(d, torch.half)", None),
        ("parameter.to(device)", None),
    ],
)
def test_parameter_is_moved_first(bad: str, mended: str | None) -> None:
    program = Program(f"w = {bad}\n")
    event = MovedParameter("gpu1", program.site(bad), program.site(bad), text=bad)
    assert program.mended(PARAMETER, event) == (None if mended is None else f"w = {mended}\n")


def test_dropped_move_is_said_without_a_crash_too() -> None:
    text = "x = torch.rand(3)\nx.to(device)\nprint(x.sum())\n"
    program = Program(text)
    event = DroppedMove("gpu1", *2 * (program.site("x.to(device)"),), text="x", source="cpu", target="cuda:0")
    (said,) = program.say(DROPPED, event)
    assert said.message == "the result of `x.to(device)` is thrown away: `x` stays on cpu"
    assert program.mended(DROPPED, event) == text.replace("\nx.to", "\nx = x.to")
