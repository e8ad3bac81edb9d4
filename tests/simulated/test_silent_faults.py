"""What is wrong without an error on a GPU: noticed, counted, and on request made to show."""

from __future__ import annotations

import os
import warnings

import pytest
import torch

from devlint import simulated
from devlint.simulated import SilentDeviceWarning
from tests.simulated.forked import on_machine_with


@on_machine_with(1)
def test_read_before_the_copy_arrives() -> None:
    device = torch.arange(4.0, device="cuda")
    with pytest.warns(SilentDeviceWarning, match="before the non-blocking copy into it was waited for"):
        device.to("cpu", non_blocking=True).numpy()
    with pytest.warns(SilentDeviceWarning):
        torch.empty(4, pin_memory=True).copy_(device, non_blocking=True)[1:].sum()
    with pytest.warns(SilentDeviceWarning):
        device.to("cpu", non_blocking=True).tolist()
    first = simulated.observations()[0]
    assert first.kind == "unsynchronised-read" and first.where[0] == first.cause[0] == __file__


@on_machine_with(1)
def test_reads_that_are_right() -> None:
    warnings.simplefilter("error", SilentDeviceWarning)
    device = torch.arange(4.0, device="cuda")
    for wait in (torch.cuda.synchronize, torch.cuda.current_stream().synchronize, device.sum().item, device.cpu):
        host = device.to("cpu", non_blocking=True)
        wait()
        assert host.sum() == 6
    event, host = torch.cuda.Event(), device.to("cpu", non_blocking=True)
    event.record()
    event.synchronize()
    assert host.numpy().sum() == 6
    pageable = torch.empty(4)
    assert pageable.copy_(device, non_blocking=True).sum() == 6  # returns when it is done
    assert device.to("cpu", non_blocking=True).to("cuda").sum().item() == 6  # in the order of the stream
    assert torch.ones(3).to("cuda", non_blocking=True).cpu().sum() == 3
    assert not simulated.observations()


@on_machine_with(1)
def test_poison() -> None:
    warnings.simplefilter("ignore", SilentDeviceWarning)
    simulated.poison_unsynchronised_reads()
    host = torch.arange(4.0, device="cuda").to("cpu", non_blocking=True)
    assert host.isnan().all()
    torch.cuda.synchronize()
    assert host.tolist() == [0, 1, 2, 3]


@on_machine_with(2)
def test_visible_devices_set_too_late() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    torch.ones(1).cuda()
    with pytest.warns(SilentDeviceWarning, match="after CUDA was touched"):
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    assert [found.kind for found in simulated.observations()] == ["visible-devices-too-late"]


@on_machine_with(2)
def test_visible_devices_set_in_time_or_unchanged() -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    torch.ones(1).cuda()
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    assert not simulated.observations()


@on_machine_with(2)
def test_transfers_are_counted_by_line() -> None:
    for _ in range(3):
        device = torch.ones(256).to("cuda")
    device.to("cuda:1")
    device.sum().item()
    device.cpu()
    torch.cuda.synchronize()
    statistics = simulated.statistics()
    found = {
        (name == __file__, tuple(line.transfers.items()), tuple(line.synchronisations))
        for (name, _), line in statistics.lines.items()
    }
    assert (True, (("host to device", 3),), ()) in found
    assert (True, (("device to device", 1),), ()) in found
    assert (True, (("device to host", 1),), ("copy to the host",)) in found
    assert (True, (), ("item",)) in found and (True, (), ("synchronize",)) in found
    assert statistics.total("bytes") == 5 * 1024 and statistics.total("transfers") == 5


@on_machine_with(1)
def test_operations_that_wait() -> None:
    device = torch.ones(4, device="cuda")
    for action in (
        device.nonzero,
        lambda: device[device > 0],
        device.unique,
        lambda: torch.equal(device, device),
        lambda: bool(device[0]),
    ):
        before = simulated.statistics().total("synchronisations")
        action()
        assert simulated.statistics().total("synchronisations") > before
    before = simulated.statistics().total("synchronisations")
    (device @ device).add(1).relu()
    assert simulated.statistics().total("synchronisations") == before
