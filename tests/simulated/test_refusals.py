"""What can't be simulated says so; the `cpu` world is the CPU build as it is; another torch gets one plain sentence."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest
import torch
from torch import nn

from devlint import simulated
from devlint.simulated import SimulationError, selftest, stubs
from tests.simulated.forked import on_machine_with


@on_machine_with(1)
def test_refused() -> None:
    device = torch.ones(3, device="cuda")
    for action, text in (
        (torch.cuda.CUDAGraph, "CUDA graphs"),
        (lambda: torch.distributed.init_process_group("nccl"), "NCCL"),
        (lambda: torch.quantize_per_tensor(device, 0.1, 0, torch.qint8), "quantized"),
        (lambda: torch.multiprocessing.reductions.reduce_tensor(device), "shared between processes"),
        (lambda: torch.empty(10**15, device="cuda"), "memory"),
        (lambda: torch.ops.aten._efficient_attention_forward, ""),
    ):
        if text:
            with pytest.raises(SimulationError, match=text):
                action()
    query = torch.ones(1, 2, 8, 4, device="cuda")
    with pytest.raises(SimulationError, match="_scaled_dot_product_efficient_attention"):
        torch.ops.aten._scaled_dot_product_efficient_attention(query, query, query, None, False)


@on_machine_with(1)
def test_operators_that_cuda_lacks_too() -> None:
    with pytest.raises(NotImplementedError, match="with arguments from the 'CUDA' backend"):
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*[torch.ones(1, 2, 8, 4, device="cuda")] * 3)


@pytest.mark.skipif(torch.version.cuda is not None, reason="the messages are the CPU build's")
@on_machine_with(0)
def test_cpu_world() -> None:
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    for action, kind, text in (
        (lambda: torch.ones(1).cuda(), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: torch.ones(1, device="cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: nn.Linear(1, 1).to("cuda:1"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda: torch.cuda.set_device(0), AttributeError, "module 'torch._C' has no attribute '_cuda_setDevice'"),
        (lambda: torch.cuda.FloatTensor([1]), TypeError, "type torch.cuda.FloatTensor not available"),
        (lambda: torch.ones(1).pin_memory(), RuntimeError, "Cannot access accelerator device when none is available"),
        (lambda: torch.ones(1).to(0), RuntimeError, "Cannot access accelerator device when none is available"),
    ):
        with pytest.raises(kind) as caught:
            action()
        assert text in str(caught.value)
    assert torch.accelerator.current_accelerator() is None
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()


@on_machine_with(1)
def test_a_process_has_one_machine() -> None:
    simulated.activate(1)
    with pytest.raises(SimulationError, match="has 1 simulated CUDA devices already"):
        simulated.activate(2)


def test_supported_here() -> None:
    assert simulated.supported() is None


@pytest.mark.parametrize(
    ("attribute", "value", "says"),
    [("hip", "6.2", "built for the CPU or for CUDA"), ("xpu", "2025", "built for the CPU or for CUDA")],
)
def test_builds_for_a_gpu_are_refused(monkeypatch: pytest.MonkeyPatch, attribute: str, value: str, says: str) -> None:
    monkeypatch.setattr(torch.version, attribute, value, raising=False)
    reason = selftest.refusal()
    assert reason is not None and says in reason and "\n" not in reason


def test_other_processors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stubs.platform, "machine", lambda: "riscv64")
    assert "x86-64" in (selftest.refusal() or "")


def test_a_failing_self_test_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    crash = types.SimpleNamespace(returncode=-11, stdout="", stderr="")
    monkeypatch.setattr(selftest.subprocess, "run", lambda *args, **kwargs: crash)
    reason = selftest.supported.__wrapped__()
    assert reason is not None and "signal 11" in reason and "real GPU" in reason and "\n" not in reason


def test_importing_the_package_imports_no_torch() -> None:
    code = (
        "import sys, devlint.simulated, devlint.pytest_plugin; sys.exit(bool({'torch', 'libcst'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_program_ends_well() -> None:
    """libtorch's destructors use the vtables after the interpreter is gone."""
    code = (
        "from devlint import simulated; simulated.activate(2); import torch;"
        "torch.ones(3, device='cuda', requires_grad=True).sum().backward()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_spawned_children_have_the_same_devices(tmp_path: object) -> None:
    code = (
        "from devlint import simulated; simulated.activate(2)\n"
        "import torch.multiprocessing as mp\n"
        "from operator import methodcaller\n"
        "import torch.cuda\n"
        "with mp.get_context('spawn').Pool(1) as pool: assert pool.apply(torch.cuda.device_count) == 2\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=600).returncode == 0
