"""Two devices in one operation: what torch says on CUDA, word for word, and the mixtures that are legal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.simulated.forked import on_machine_with

TWO = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def refused(action: Callable[[], object], text: str, kind: type[Exception] = RuntimeError) -> None:
    with pytest.raises(kind) as caught:
        action()
    assert text in str(caught.value)


def argument(name: str, operator: str, where: str = "cpu", others: str = "cuda:0") -> str:
    return (
        f"Expected all tensors to be on the same device, but got {name} is on {where}, different from other tensors on "
        f"{others} (when checking argument in method wrapper_CUDA_{operator})"
    )


@on_machine_with(1)
def test_elementwise() -> None:
    device, host = torch.ones(3, device="cuda"), torch.ones(3)
    refused(lambda: device + host, TWO)
    refused(lambda: host + device, TWO)
    refused(lambda: host + device.sum(), TWO)
    refused(lambda: device.add_(host), TWO)
    refused(lambda: torch.where(device > 0, host, device), TWO)
    refused(lambda: torch.add(device, 1, out=torch.empty(3)), TWO)
    refused(lambda: device.masked_fill(host > 0, 0.0), "but got mask on cpu and self on cuda:0")


@on_machine_with(1)
def test_zero_dimensional_host_tensors_are_welcome_elementwise() -> None:
    device, number = torch.ones(3, device="cuda"), torch.tensor(2.0)
    for result in (device + number, number * device, device / number, torch.where(device > 0, number, device)):
        assert result.is_cuda
    assert (device + number).tolist() == [3, 3, 3]
    refused(lambda: torch.cat([device, number[None]]), "Expected all tensors to be on the same device")
    refused(lambda: device.clamp(max=number), "Expected all tensors to be on the same device")


@on_machine_with(1)
def test_matrices_and_modules() -> None:
    device, host = torch.ones(3, 3, device="cuda"), torch.ones(3, 3)
    refused(lambda: device @ host, argument("mat2", "mm"))
    refused(lambda: nn.Linear(3, 2)(device), argument("mat1", "addmm", "cuda:0", "cpu"))
    refused(lambda: nn.Linear(3, 2).cuda()(host), argument("mat1", "addmm"))
    refused(lambda: torch.cat([device, host]), argument("tensors", "cat"))
    refused(lambda: F.embedding(torch.zeros(2, dtype=torch.long), device), argument("index", "_index_select"))
    refused(lambda: device.gather(0, torch.zeros(1, 3, dtype=torch.long)), argument("index", "gather"))


@on_machine_with(1)
def test_losses() -> None:
    logits, classes = torch.randn(4, 2, device="cuda"), torch.zeros(4, dtype=torch.long)
    refused(lambda: F.cross_entropy(logits, classes), argument("target", "nll_loss_forward"))
    weighted = nn.CrossEntropyLoss(weight=torch.ones(2))
    refused(lambda: weighted(logits, classes.cuda()), argument("weight", "nll_loss_forward"))
    refused(lambda: F.mse_loss(logits, torch.zeros(4, 2)), TWO)


@on_machine_with(1)
def test_convolutions_and_recurrences() -> None:
    image = torch.ones(1, 1, 5, 5, device="cuda")
    types = ("torch.cuda.FloatTensor", "torch.FloatTensor")
    text = "Input type ({}) and weight type ({}) should be the same"
    refused(lambda: nn.Conv2d(1, 2, 3)(image), text.format(*types))
    dense = " or input should be a MKLDNN tensor and weight is a dense tensor"
    refused(lambda: nn.Conv2d(1, 2, 3).cuda()(torch.ones(2, 1, 5, 5)), text.format(*reversed(types)) + dense)
    slow = (
        "got weight is on cuda:0, different from other tensors on cpu (when checking argument in method wrapper_CUDA_"
    )
    refused(lambda: nn.Conv2d(1, 2, 3).cuda()(image.cpu()), f"{slow}__slow_conv2d_forward)")
    refused(lambda: nn.Conv2d(1, 2, 3, dilation=2).cuda()(image.cpu()), f"{slow}_slow_conv_dilated2d)")
    refused(lambda: nn.ConvTranspose2d(1, 2, 3).cuda()(image.cpu()), f"{slow}slow_conv_transpose2d)")
    refused(lambda: nn.Conv3d(1, 2, 1).cuda()(image.cpu()[None]), "Could not run 'aten::slow_conv3d_forward'")
    sequence = torch.ones(5, 2, 3)
    refused(
        lambda: nn.LSTM(3, 4).cuda()(sequence.cuda(), (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))),
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    )
    refused(
        lambda: nn.utils.rnn.pack_padded_sequence(sequence.cuda(), torch.tensor([5, 3], device="cuda")),
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    )
    packed = nn.utils.rnn.pack_padded_sequence(sequence.cuda(), torch.tensor([5, 3]))
    assert packed.data.is_cuda and not packed.batch_sizes.is_cuda


@on_machine_with(1)
def test_indices() -> None:
    device, index = torch.arange(5.0, device="cuda"), torch.tensor([1, 2])
    assert device[index].tolist() == [1, 2] and device[torch.tensor([True, False, False, False, True])].tolist() == [
        0,
        4,
    ]
    device[index] = 7.0
    assert device.tolist() == [0, 7, 7, 3, 4]
    text = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    refused(lambda: torch.arange(5)[index.cuda()], text)

    def assign() -> None:
        device[torch.tensor([0, 1])] = torch.ones(2)

    refused(assign, TWO)
    device[device == 0] = torch.ones(1)  # one number fills a mask
    assert device.tolist() == [1, 7, 7, 3, 4]


@on_machine_with(1)
def test_the_host_and_numpy() -> None:
    device = torch.ones(3, device="cuda")
    text = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    for action in (device.numpy, lambda: np.asarray(device), lambda: np.sqrt(device), lambda: np.mean([device[0]])):
        refused(action, text, TypeError)
    assert device.cpu().numpy().sum() == 3 and device.tolist() == [1, 1, 1] and float(device[0]) == 1
    refused(device.pin_memory, "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")


@on_machine_with(1)
def test_copies_cross_devices_on_purpose() -> None:
    host, device = torch.zeros(3), torch.zeros(3, device="cuda")
    assert host.copy_(torch.ones(3, device="cuda")).sum() == 3
    device[:2] = torch.ones(2)
    assert device.sum().item() == 2
    assert torch.ones(3).to(device).is_cuda and torch.ones(3).expand_as(device).device.type == "cpu"


@on_machine_with(2)
def test_lists_are_done_one_by_one() -> None:
    there, here = torch.ones(2, device="cuda:1"), torch.zeros(2)
    torch._foreach_copy_([here, there], [there, torch.full((2,), 3.0)])
    assert here.tolist() == [1, 1] and there.tolist() == [3, 3] and there.is_cuda and not here.is_cuda
    torch._foreach_copy_([there], [here], non_blocking=True)
    assert there.tolist() == [1, 1]
    doubled = torch._foreach_mul([there, here], 2)
    assert [tensor.device for tensor in doubled] == [there.device, here.device]
    torch._foreach_add_([there, here], [1.0, 2.0])
    assert (there.tolist(), here.tolist()) == ([2, 2], [3, 3])
    assert [norm.device for norm in torch._foreach_norm([here, there])] == [here.device, there.device]
    summed = torch._foreach_add([here, torch.tensor(1.0)], [here, there])
    assert [part.device for part in summed] == [here.device, there.device]
    refused(lambda: torch._foreach_add_([there], [here]), TWO.replace("cuda:0", "cuda:1"))
    refused(lambda: torch._foreach_mul_([here, there], [here, here]), TWO.replace("cuda:0", "cuda:1"))
    refused(lambda: torch._foreach_copy_([there], [here, here]), "must have the same number of tensors, got 1 and 2")


@on_machine_with(1)
def test_lists_keep_their_gradients() -> None:
    weights = [torch.ones(2, device="cuda", requires_grad=True), torch.ones(2, requires_grad=True)]
    torch.stack([part.sum().cpu() for part in torch._foreach_mul(weights, 3)]).sum().backward()
    assert [weight.grad is not None and weight.grad.device == weight.device for weight in weights] == [True, True]
    with torch.no_grad():
        torch._foreach_copy_(weights, weights[::-1])


@on_machine_with(2)
def test_two_devices() -> None:
    first, second = torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1")
    refused(lambda: first + second, TWO.replace("cpu", "cuda:1"))
    assert (first.to("cuda:1") + second).device.index == 1
    refused(lambda: nn.BatchNorm1d(3).cuda(1)(torch.ones(4, 3, device="cuda:0")), "on the same device")


@on_machine_with(1)
def test_gradients_on_another_device() -> None:
    weight = torch.ones(3, device="cuda", requires_grad=True)

    def assign() -> None:
        weight.grad = torch.ones(3)

    refused(assign, "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'")


@on_machine_with(1)
def test_generators() -> None:
    generator = torch.Generator(device="cuda").manual_seed(1)
    first = torch.randn(3, device="cuda", generator=generator)
    generator.manual_seed(1)
    assert torch.equal(first, torch.randn(3, device="cuda", generator=generator))
    assert generator.device == torch.device("cuda:0") and isinstance(generator, torch.Generator)
    text = "Expected a 'cuda' device type for generator but found 'cpu'"
    refused(lambda: torch.randn(3, device="cuda", generator=torch.Generator()), text)
    text = "Expected a 'cpu' device type for generator but found 'cuda'"
    refused(lambda: torch.rand(3, generator=generator), text)
    torch.manual_seed(3)
    first = torch.rand(2, device="cuda")
    torch.cuda.manual_seed_all(3)
    assert torch.equal(first, torch.rand(2, device="cuda"))
