"""What simulated CUDA costs: the same work on the CPU and on `cuda:0`, one thread, processor time.

Run with `python benchmarks/simulated.py`; prints microseconds (operations) and milliseconds (training steps).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from devlint import simulated

Work = Callable[[str], Callable[[], object]]


def addition(device: str) -> Callable[[], object]:
    first, second = torch.randn(16, device=device), torch.randn(16, device=device)
    return lambda: first + second


def scaling(device: str) -> Callable[[], object]:
    first = torch.randn(16, device=device)
    return lambda: first * 2.0


def product(device: str) -> Callable[[], object]:
    first = torch.randn(64, 64, device=device)
    return lambda: first @ first


def view(device: str) -> Callable[[], object]:
    first = torch.randn(4, 4, device=device)
    return lambda: first.view(16)


def creation(device: str) -> Callable[[], object]:
    return lambda: torch.zeros(16, device=device)


def step(
    model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, device: str, learning_rate: float = 1e-3
) -> Callable[[], object]:
    """Return one training step: forward, cross entropy, backward, Adam."""
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

    def train() -> float:
        optimizer.zero_grad()
        logits = model(inputs)
        loss = nn.functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    return train


def mlp(device: str) -> Callable[[], object]:
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return step(model, torch.randn(64, 784), torch.randint(10, (64,)), device)


def cnn(device: str) -> Callable[[], object]:
    blocks: list[nn.Module] = []
    for inward, outward in ((3, 32), (32, 64), (64, 64)):
        blocks += [nn.Conv2d(inward, outward, 3, padding=1), nn.BatchNorm2d(outward), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(64 * 16, 10))
    return step(model, torch.randn(16, 3, 32, 32), torch.randint(10, (16,)), device)


class LanguageModel(nn.Module):
    """A transformer of 4 layers with 4 heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True), 4)
        self.head = nn.Linear(width, 256)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embedding(tokens)))  # type: ignore[no-any-return]


def transformer(device: str) -> Callable[[], object]:
    """Width 128, 8 sequences of 64 tokens."""
    tokens = torch.randint(256, (8, 65))
    return step(LanguageModel(128), tokens[:, :-1], tokens[:, 1:], device)


def small_transformer(device: str) -> Callable[[], object]:
    """Width 32, 4 sequences of 16 tokens: little but overhead."""
    tokens = torch.randint(256, (4, 17))
    return step(LanguageModel(32), tokens[:, :-1], tokens[:, 1:], device)


OPERATIONS: tuple[Work, ...] = (addition, scaling, product, view, creation)
STEPS: tuple[Work, ...] = (mlp, cnn, transformer, small_transformer)


def seconds(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Return the least processor time of one call of each: the best of seven runs of `repeats` calls, taken in turn."""
    best = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(7):
        for number, work in enumerate(works):
            start = time.process_time()
            for _ in range(repeats):
                work()
            best[number] = min(best[number], (time.process_time() - start) / repeats)
    return best


def main() -> None:
    torch.set_num_threads(1)
    simulated.activate(1)
    print(f"torch {torch.__version__}, one thread\n{'':20}{'cpu':>10}{'cuda:0':>10}{'times':>8}")
    for works, repeats, scale, unit in ((OPERATIONS, 2000, 1e6, "us"), (STEPS, 5, 1e3, "ms")):
        for work in works:
            torch.manual_seed(0)
            host, device = seconds([work("cpu"), work("cuda:0")], repeats)
            times = device / host
            print(f"{work.__name__:18}{unit}{host * scale:10.2f}{device * scale:10.2f}{times:8.1f}")


if __name__ == "__main__":
    main()
