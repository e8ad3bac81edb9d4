"""DEV401 to DEV405: what they say about hand-made events, and where their fixes are offered."""

from __future__ import annotations

import pytest

from devlint.analysis.events import MoveOnArray, PinAccelerator, ToHost, UnsynchronizedRead
from devlint.rules import (
    dev401_numpy_on_accelerator,
    dev402_host_library_on_accelerator,
    dev403_move_on_array,
    dev404_pin_accelerator_tensor,
    dev405_unsynchronized_read,
)
from tests.rules.handmade import Program

NUMPY = dev401_numpy_on_accelerator.RULE
LIBRARY = dev402_host_library_on_accelerator.RULE
ARRAY = dev403_move_on_array.RULE
PIN = dev404_pin_accelerator_tensor.RULE
ASYNC = dev405_unsynchronized_read.RULE


@pytest.mark.parametrize(
    ("call", "tensor", "needs_detach", "mended"),
    [
        ("scores.numpy()", "scores", False, "scores.cpu().numpy()"),
        ("scores.numpy()", "scores", True, "scores.detach().cpu().numpy()"),
        ("(a + b).numpy()", "a + b", False, "((a + b).cpu()).numpy()"),
        ("np.asarray(net(x)[0])", "net(x)[0]", False, "np.asarray(net(x)[0].cpu())"),
        ("np.array([a, b])", "[a, b]", False, None),
    ],
)
def test_copied_to_the_cpu_before_numpy(call: str, tensor: str, needs_detach: bool, mended: str | None) -> None:
    program = Program(f"y = {call}\n")
    operand = program.operand(tensor, "cuda:0")
    event = ToHost(
        "gpu1", program.site(call), program.site(call), operand=operand, function=".numpy()", needs_detach=needs_detach
    )
    (said,) = program.say(NUMPY, event)
    assert said.message == f"`.numpy()` needs host memory: `{tensor}` is on cuda:0"
    assert program.mended(NUMPY, event) == (None if mended is None else f"y = {mended}\n")


def test_library_function_is_given_a_copy() -> None:
    text = "x = x.to(device)\nplt.plot(x, 'r')\n"
    program = Program(text)
    operand = program.operand("x", "cuda:0", program.mark("moved", "x.to(device)", "cuda:0"), nth=2)
    call = program.site("plt.plot(x, 'r')")
    event = ToHost("gpu1", call, call, operand=operand, function="plt.plot", kind="library")
    (said,) = program.say(LIBRARY, event)
    assert said.message == "`plt.plot` needs host memory: `x` is on cuda:0 (moved at line 1)"
    assert program.mended(LIBRARY, event) == text.replace("plot(x,", "plot(x.cpu(),")
    assert program.say(NUMPY, event) == []


def test_list_that_holds_tensors_has_no_fix() -> None:
    program = Program("np.mean(losses)\n")
    call = program.site("np.mean(losses)")
    operand = program.operand("np.mean(losses)", "cuda:0", program.mark("moved", "losses", "cuda:0"))
    event = ToHost("gpu1", call, call, operand=operand, function="np.mean", kind="library")
    (said,) = program.say(LIBRARY, event)
    assert said.message == (
        "`np.mean` needs host memory, and what it is given holds a tensor on cuda:0 (moved at line 1)"
    )
    assert program.mended(LIBRARY, event) is None


@pytest.mark.parametrize(
    ("imports", "call", "method", "type_name", "mended"),
    [
        ("import torch", "a.to(device)", "to", "numpy.ndarray", "torch.from_numpy(a).to(device)"),
        ("import torch as t", "(a - b).cuda()", "cuda", "numpy.ndarray", "(t.from_numpy(a - b)).cuda()"),
        ("from torch import from_numpy", "a.to(device)", "to", "numpy.ndarray", "from_numpy(a).to(device)"),
        ("import torch", "a.cpu().sum()", "cpu", "numpy.ndarray", "a.sum()"),
        ("import numpy", "a.to(device)", "to", "numpy.ndarray", None),
        ("import torch", "a.to(device)", "to", "list", None),
    ],
)
def test_array_becomes_a_tensor(imports: str, call: str, method: str, type_name: str, mended: str | None) -> None:
    program = Program(f"{imports}\nx = {call}\n")
    moved = call.removesuffix(".sum()")
    event = MoveOnArray("cpu", program.site(moved), program.site(moved), text="a", method=method, type_name=type_name)
    (said,) = program.say(ARRAY, event)
    kind = "a list" if type_name == "list" else "a numpy array"
    assert said.message == f"`a` is {kind}, which has no `.{method}()`"
    assert program.mended(ARRAY, event) == (None if mended is None else f"{imports}\nx = {mended}\n")


@pytest.mark.parametrize(
    ("call", "by_loader", "mended"),
    [
        ("x.pin_memory()", False, "x"),
        ("(x + 1).pin_memory()", False, "(x + 1)"),
        ("DataLoader(d, pin_memory=True)", True, "DataLoader(d)"),
        ("DataLoader(d, pin_memory=True, batch_size=2)", True, "DataLoader(d, batch_size=2)"),
        ("DataLoader(pin_memory=True, dataset=d)", True, "DataLoader(dataset=d)"),
        ("DataLoader(d, pin_memory=cuda)", True, None),
    ],
)
def test_pinning_is_left_out(call: str, by_loader: bool, mended: str | None) -> None:
    program = Program(f"y = {call}\n")
    event = PinAccelerator("gpu1", program.site(call), program.site(call), by_loader=by_loader)
    assert program.mended(PIN, event) == (None if mended is None else f"y = {mended}\n")


@pytest.mark.parametrize(
    ("copy", "mended"),
    [
        ("x.to('cpu', non_blocking=True)", "x.to('cpu')"),
        ("x.to(non_blocking=True, device='cpu')", "x.to(device='cpu')"),
        ("host.copy_((x), non_blocking=True)", "host.copy_((x))"),
        ("x.to('cpu', non_blocking=fast)", None),
    ],
)
def test_copy_waits(copy: str, mended: str | None) -> None:
    program = Program(f"y = {copy}\nprint(y.numpy())\n")
    event = UnsynchronizedRead("gpu1", program.site("y.numpy()"), program.site(copy), text="y", reader=".numpy()")
    (said,) = program.say(ASYNC, event)
    assert said.message == f"`{copy}` returns before its data are there, and `.numpy()` at line 2 reads them"
    expected = None if mended is None else f"y = {mended}\nprint(y.numpy())\n"
    assert program.mended(ASYNC, event) == expected


def test_pinned_tensor_says_where_it_is() -> None:
    program = Program("x = x.to(device)\ny = x.pin_memory()\nfor b in loader: pass\n")
    operand = program.operand("x.pin_memory()", "cuda:0", program.mark("moved", "x.to(device)", "cuda:0"))
    call, loop = program.site("x.pin_memory()"), program.site("loader")
    (said,) = program.say(PIN, PinAccelerator("gpu1", call, call, operand=operand))
    assert said.message == "`x.pin_memory()` pins a tensor that is on cuda:0 (moved at line 1)"
    (said,) = program.say(PIN, PinAccelerator("gpu1", loop, loop, by_loader=True))
    assert said.message == "the DataLoader pins a tensor that is on the accelerator"
