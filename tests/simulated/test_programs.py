"""Whole programs: training, two devices, mixed precision, checkpoints and loaders give what the CPU gives."""

from __future__ import annotations

import copy
import io
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tests.simulated.forked import on_machine_with


def losses(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, device: str, steps: int = 4) -> list[float]:
    """Train a copy of `model` on `device` and return the losses."""
    model, inputs, targets = copy.deepcopy(model).to(device), inputs.to(device), targets.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.head = (
            nn.LSTM(6, 8, batch_first=True),
            nn.GRU(8, 8, batch_first=True),
            nn.Linear(8, 3),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(self.lstm(inputs)[0])[0][:, -1])


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(6, 2, 16, dropout=0.0, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(6, 3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(inputs).mean(1))


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(5, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(8, 3)
    )


@on_machine_with(1)
def test_training_gives_the_values_of_the_cpu() -> None:
    torch.manual_seed(0)
    inputs, targets = torch.randn(16, 5, 6), torch.randint(3, (16,))
    mlp = nn.Sequential(nn.Flatten(), nn.Linear(30, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))
    for model in (
        mlp,
        convolutional(),
        Recurrent(),
        Attention(),
        nn.Sequential(nn.RMSNorm(6), nn.Flatten(), nn.Linear(30, 3)),
    ):
        expected, found = losses(model, inputs, targets, "cpu"), losses(model, inputs, targets, "cuda")
        assert found == pytest.approx(expected, rel=1e-4), type(model)
        assert found[-1] < found[0]


@on_machine_with(2)
def test_model_on_two_devices() -> None:
    torch.manual_seed(0)  # so that not all of its four units happen to be dead
    first, second = nn.Linear(3, 4).to("cuda:0"), nn.Linear(4, 2).to("cuda:1")
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    before = first.weight.clone()
    second(first(torch.ones(5, 3, device="cuda:0")).relu().to("cuda:1")).square().sum().backward()
    optimizer.step()
    assert first.weight.grad.device.index == 0 and second.weight.grad.device.index == 1
    assert not torch.equal(before, first.weight)


@on_machine_with(2)
def test_data_parallel() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    inputs = torch.randn(6, 3)
    expected = model(inputs)
    expected.sum().backward()
    parallel = nn.DataParallel(copy.deepcopy(model).cuda())
    parallel.zero_grad()
    found = parallel(inputs)
    assert found.device.index == 0 and torch.allclose(found.cpu(), expected, atol=1e-6)
    found.sum().backward()
    assert torch.allclose(parallel.module[0].weight.grad.cpu(), model[0].weight.grad, atol=1e-5)
    text = r"parameters and buffers on device cuda:1 \(device_ids\[0\]\) but found one of them on device: cuda:0"
    with pytest.raises(RuntimeError, match=text):
        nn.DataParallel(copy.deepcopy(model).cuda(0), device_ids=[1, 0])(inputs)


@on_machine_with(2)
def test_replicas_are_named_by_their_place() -> None:
    class Picky(nn.Module):
        def __init__(self, broken: int) -> None:
            super().__init__()
            self.broken = broken

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.device.index == self.broken:
                raise ValueError("not here")
            return x

    for number, device in enumerate((1, 0)):
        with pytest.raises(ValueError, match=f"Caught ValueError in replica {number} on device {device}"):
            nn.DataParallel(Picky(device), device_ids=[1, 0])(torch.ones(4, 3))


@on_machine_with(1)
def test_mixed_precision() -> None:
    model, scaler = nn.Linear(4, 4).cuda(), torch.amp.GradScaler("cuda", init_scale=8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.weight.clone()
    with torch.autocast("cuda"):
        output = model(torch.ones(2, 4, device="cuda"))
        assert output.dtype is torch.float16
    scaler.scale(output.float().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.grad.is_cuda and not torch.equal(before, model.weight)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (
            F.conv2d(torch.ones(1, 1, 4, 4, device="cuda"), torch.ones(1, 1, 3, 3, device="cuda")).dtype
            is torch.bfloat16
        )
    half = torch.randn(2, 3).half().cuda()
    assert torch.cdist(half, half).dtype is torch.float16


@on_machine_with(2)
def test_checkpoints_between_worlds() -> None:
    model, buffer = nn.Linear(3, 2).cuda(1), io.BytesIO()
    torch.save({"model": model.state_dict(), "step": 3}, buffer)
    for where, expected in ((None, "cuda:1"), ("cpu", "cpu"), ({"cuda:1": "cuda:0"}, "cuda:0"), ("cuda:0", "cuda:0")):
        buffer.seek(0)
        weight = torch.load(buffer, map_location=where)["model"]["weight"]
        assert str(weight.device) == expected and torch.equal(weight.cpu(), model.weight.cpu())
    assert pickle.loads(pickle.dumps(model.weight.data)).device.index == 1
    assert copy.deepcopy(model).weight.device.index == 1
    model.load_state_dict({name: value.cpu() for name, value in model.state_dict().items()})
    assert model.weight.device.index == 1


@on_machine_with(1)
def test_checkpoint_of_a_bigger_machine() -> None:
    with pytest.raises(
        RuntimeError, match=r"Attempting to deserialize object on CUDA device 1 but .*device_count\(\) is 1"
    ):
        torch.serialization._deserialize("cuda", torch.ones(3).untyped_storage(), "cuda:1")


class OnDevice(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.ones(2).cuda() * number


@on_machine_with(1)
def test_loaders() -> None:
    torch.ones(1).cuda()
    batches = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=2, pin_memory=True)
    total = sum(batch.cuda(non_blocking=True).sum().item() for (batch,) in batches)
    assert total == 28
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(DataLoader(OnDevice(), num_workers=1))


@on_machine_with(1)
def test_views_functions_and_compilation() -> None:
    device = torch.arange(6.0, device="cuda").view(2, 3)
    device[:, 0].add_(10)
    assert device.cpu()[1, 0] == 13 and device.T.contiguous().shape == (3, 2)
    assert torch.func.grad(lambda value: value.square().sum())(device).tolist() == (device * 2).tolist()
    assert torch.vmap(lambda row: row.sum())(device).tolist() == device.sum(1).tolist()
    assert torch.compile(lambda value: value.sin() + 1)(device).device.type == "cuda"
    traced = torch.jit.trace(nn.Linear(3, 2).cuda(), device)
    assert traced(device).is_cuda
    conjugate = torch.complex(device, device).conj()
    assert torch.equal(conjugate.imag.cpu(), -device.cpu())


@on_machine_with(1)
def test_resizing_and_outputs() -> None:
    out = torch.empty(0, device="cuda")
    torch.add(torch.ones(3, device="cuda"), 1, out=out)
    assert out.tolist() == [2, 2, 2] and out.untyped_storage().device == torch.device("cuda:0")
    assert out.resize_(100).fill_(1).sum().item() == 100
    parameter = nn.Linear(2, 2).weight
    parameter.data = torch.ones(2, 2, device="cuda")
    assert (parameter @ torch.ones(2, device="cuda")).tolist() == [2, 2]


@on_machine_with(1)
def test_legacy_types() -> None:
    made = torch.cuda.FloatTensor([1, 2])
    assert made.type() == "torch.cuda.FloatTensor" and isinstance(made, torch.cuda.FloatTensor)
    assert torch.ones(2).type(torch.cuda.HalfTensor).dtype is torch.float16
    assert torch.ones(2).type("torch.cuda.LongTensor").is_cuda and not made.type(torch.FloatTensor).is_cuda
    for name, dtype in (("Double", torch.float64), ("Half", torch.float16), ("Float", torch.float32)):
        torch.set_default_tensor_type(getattr(torch.cuda, f"{name}Tensor"))
        assert torch.ones(1).is_cuda and torch.ones(1).dtype is dtype
        torch.set_default_tensor_type(torch.FloatTensor)
        assert not torch.ones(1).is_cuda


@on_machine_with(1)
def test_sparse_tensors() -> None:
    dense = torch.eye(3, device="cuda")
    coordinates = dense.to_sparse()
    rows = dense.to_sparse_csr()
    for sparse in (coordinates, rows):
        assert sparse.is_cuda and sparse.cpu().to_dense().tolist() == dense.tolist() and not sparse.cpu().is_cuda
        assert (sparse @ torch.ones(3, 2, device="cuda")).device == dense.device
        assert "device='cuda:0'" in repr(sparse)
    assert coordinates.coalesce().values().is_cuda and rows.crow_indices().is_cuda
    embedding = nn.Embedding(5, 3, sparse=True).cuda()
    before = embedding.weight.detach().clone()
    embedding(torch.tensor([1, 2, 2], device="cuda")).sum().backward()
    assert embedding.weight.grad.is_sparse and embedding.weight.grad.is_cuda
    torch.optim.SparseAdam(embedding.parameters()).step()
    assert (embedding.weight != before).any(1).tolist() == [False, True, True, False, False]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.sparse.mm(coordinates, torch.ones(3, 2))


@on_machine_with(1)
def test_threads_that_share_tensors() -> None:
    weight = torch.randn(64, 64, device="cuda")
    expected = (weight @ weight).sum().item()
    found: list[float] = []

    def work() -> None:
        for _ in range(200):
            found.append((weight @ weight).sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800 and set(found) == {expected}
