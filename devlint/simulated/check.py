"""The self-test: `python -m devlint.simulated.check` tries what programs need and prints what is wrong, or nothing.

It runs in a process of its own because a wrong guess about torch's objects can crash it.
"""

from __future__ import annotations

import sys


def _check() -> None:
    import torch
    from torch import nn

    from devlint.simulated.session import activate

    activate(2)
    torch.manual_seed(0)
    value = torch.arange(6.0).reshape(2, 3)
    moved = value.to("cuda:1")
    assert type(moved) is torch.Tensor and moved.device == torch.device("cuda", 1) and moved.is_cuda
    assert torch.equal((moved * 2 + 1).cpu(), value * 2 + 1)
    assert moved.view(3, 2).t().contiguous().device.index == 1
    _raises("found at least two devices, cuda:1 and cpu", lambda: moved + value)
    _raises("can't convert cuda:1 device type tensor to numpy", moved.numpy)
    _raises("invalid device ordinal", lambda: value.to("cuda:2"))
    host, device = nn.Linear(3, 2), nn.Linear(3, 2)
    device.load_state_dict(host.state_dict())
    device.to("cuda:0")
    host(value).square().sum().backward()
    device(moved.to("cuda:0")).square().sum().backward()
    torch.optim.Adam(device.parameters()).step()
    torch.optim.Adam(host.parameters()).step()
    for expected, found in zip(host.parameters(), device.parameters(), strict=True):
        assert found.is_cuda and torch.allclose(expected, found.cpu(), atol=1e-6)
    generator = torch.Generator("cuda:0").manual_seed(3)
    assert torch.randn(2, device="cuda:0", generator=generator).is_cuda
    assert torch.accelerator.device_count() == torch.cuda.device_count() == 2


def _raises(text: str, action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except Exception as error:
        assert text in str(error), f"{error} instead of {text}"
        return
    raise AssertionError(f"no error: {text}")


def main() -> int:
    """Print why it doesn't work and return 1, or return 0."""
    import torch

    from devlint.simulated.selftest import failure, refusal

    reason = refusal()
    if reason is None:
        try:
            _check()
        except Exception as error:
            reason = failure(torch.__version__, f"{type(error).__name__}: {error}".splitlines()[0])
    if reason:
        print(reason)
    return int(bool(reason))


if __name__ == "__main__":
    sys.exit(main())
