"""Which devices there are, which is current, and what an index that isn't there says."""

from __future__ import annotations

import os

import pytest
import torch
from torch import nn

from devlint.simulated.devices import visible_among
from tests.simulated.forked import in_child, on_machine_with


@pytest.mark.parametrize(
    ("installed", "setting", "visible"),
    [
        (2, None, (0, 1)),
        (2, "", ()),
        (2, "-1", ()),
        (2, "0", (0,)),
        (2, "1", (1,)),
        (2, "1,0", (1, 0)),
        (2, "0,7,1", (0,)),
        (2, "0,0", ()),
        (2, "2,3", (0, 1)),
        (2, "5", (0,)),
        (1, "1", ()),
        (1, "2,3", ()),
        (1, "0,1", (0,)),
        (2, "NoDevFiles", ()),
    ],
)
def test_visible_devices(installed: int, setting: str | None, visible: tuple[int, ...]) -> None:
    assert visible_among(installed, setting) == visible


@on_machine_with(2)
def test_environment_is_read_when_cuda_is_first_touched() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    assert torch.cuda.device_count() == 1
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    assert torch.cuda.is_available() and torch.ones(1, device="cuda").is_cuda
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    assert torch.cuda.device_count() == 1
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:1")


@on_machine_with(2)
def test_counting_reads_the_environment_anew() -> None:
    """As long as CUDA is not initialised: torch asks the management library then (torch/cuda/__init__.py)."""
    for setting, count in (("1", 1), ("0,1", 2), ("", 0)):
        os.environ["CUDA_VISIBLE_DEVICES"] = setting
        assert torch.cuda.device_count() == count


@on_machine_with(1)
def test_no_visible_device() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    assert not torch.cuda.is_available()
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        torch.ones(1, device="cuda")


@on_machine_with(1)
def test_index_out_of_range() -> None:
    assert torch.device("cuda:3").index == 3
    for action in (
        lambda: torch.ones(1, device="cuda:1"),
        lambda: torch.ones(1).to("cuda:1"),
        lambda: torch.ones(1).cuda(2),
        lambda: torch.cuda.set_device(1),
        lambda: nn.Linear(1, 1).to(1),
    ):
        with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
            action()


@on_machine_with(2)
def test_current_device() -> None:
    with torch.cuda.device(1):
        made = [
            torch.ones(1, device="cuda"),
            torch.ones(1).cuda(),
            torch.ones(1).to("cuda"),
            torch.tensor(1, device="cuda"),
        ]
        assert [tensor.device.index for tensor in made] == [1, 1, 1, 1]
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device("cuda:1")
    assert torch.empty(1, device="cuda").device == torch.device("cuda:1")
    torch.accelerator.set_device_index(0)
    assert torch.cuda.current_device() == torch.accelerator.current_device_index() == 0


@on_machine_with(2)
def test_module_to_an_index() -> None:
    assert nn.Linear(2, 2).to(device=0).weight.device == torch.device("cuda:0")
    assert nn.Linear(2, 2).cuda(1).weight.device == torch.device("cuda:1")


@on_machine_with(2)
def test_default_device() -> None:
    torch.set_default_device("cuda:1")
    assert torch.ones(1).device.index == 1 and nn.Linear(1, 1).weight.device.index == 1
    torch.set_default_device(None)
    with torch.device("cuda"):
        assert torch.zeros(1).device.index == 0


@on_machine_with(2)
def test_queries() -> None:
    properties = torch.cuda.get_device_properties("cuda:1")
    assert properties.major == torch.cuda.get_device_capability(1)[0]
    assert properties.name == torch.cuda.get_device_name()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(2)
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 2
    assert torch.version.cuda and torch.backends.cuda.is_built()


@on_machine_with(1)
def test_memory_is_what_tensors_hold() -> None:
    before = torch.cuda.memory_allocated()
    held = torch.zeros(1024, device="cuda")
    view = held[:10]
    assert torch.cuda.memory_allocated() - before == 4096
    assert torch.cuda.max_memory_allocated() >= 4096 and view.is_cuda
    free, total = torch.cuda.mem_get_info()
    assert total - free == torch.cuda.memory_allocated()
    del held, view
    assert torch.cuda.memory_allocated() == before
    assert "CUDA memory summary" in torch.cuda.memory_summary()


@on_machine_with(1)
def test_forked_child_of_a_process_that_touched_cuda() -> None:
    torch.ones(1).cuda()
    assert "Cannot re-initialize CUDA in forked subprocess" in in_child(lambda: torch.ones(1).cuda())
    there = torch.ones(1).cuda()
    assert "CUDA error: initialization error" in in_child(lambda: there + 1)
    assert not in_child(lambda: torch.ones(1) + 1)
    assert "IndexError" in in_child(lambda: [][0] if torch.cuda.is_available() else None)  # its parent has counted


@on_machine_with(1)
def test_forked_child_of_a_process_that_did_not() -> None:
    assert not in_child(lambda: torch.ones(1).cuda())


@on_machine_with(2)
def test_streams_and_events() -> None:
    stream, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        value = torch.ones(2, device="cuda") * 2
        value.record_stream(stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
    torch.cuda.current_stream().wait_stream(stream)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and stream.query() and value.sum().item() == 4
    with torch.cuda.stream(torch.cuda.Stream(device="cuda:1")):
        assert torch.cuda.current_device() == 1
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(torch.cuda.Event(enable_timing=True))
