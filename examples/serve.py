"""Load a checkpoint and answer requests: the code around the model, where devices are chosen and compared."""

import sys
from pathlib import Path

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, features: int = 32) -> None:
        super().__init__()
        self.score = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, candidates: torch.Tensor) -> torch.Tensor:
        return self.score(candidates).squeeze(-1)


def pick_device() -> torch.device:
    if torch.cuda.is_available():
        index = torch.cuda.device_count() - 1
        print("serving on", torch.cuda.get_device_name(index))
        return torch.device("cuda", index)
    return torch.device("cpu")


def load(path: Path, device: torch.device) -> Ranker:
    model = Ranker()
    if path.exists():
        state = torch.load(path)
        model.load_state_dict(state)
    return model.to(device).eval()


@torch.inference_mode()
def rank(model: Ranker, candidates: torch.Tensor, device: torch.device) -> list[int]:
    scores = model(candidates.to(device))
    if scores.device == "cuda":
        torch.cuda.synchronize()
    order = scores.argsort(descending=True)
    return candidates[:, 0][order].tolist()


def main() -> None:
    device = pick_device()
    model = load(Path(sys.argv[1] if len(sys.argv) > 1 else "ranker.pt"), device)
    print(rank(model, torch.randn(100, 32), device)[:10])
    print(f"memory in use: {torch.cuda.memory_allocated(torch.cuda.current_device())}")


if __name__ == "__main__":
    main()
