"""A transformer encoder with linear position biases (ALiBi) over radar patches, and its pre-training loop."""

import math

import torch
from torch import nn


def alibi_biases(heads: int, patches: int) -> torch.Tensor:
    """Return biases of shape (heads, patches, patches) that grow with the distance between patches."""
    slopes = torch.tensor([2 ** (-8 * (head + 1) / heads) for head in range(heads)])
    position = torch.arange(patches)
    distance = (position[None, :] - position[:, None]).abs()
    return -slopes[:, None, None] * distance


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, patches: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.bias = alibi_biases(heads, patches)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        batch, patches, width = tokens.shape
        q, k, v = self.qkv(tokens).reshape(batch, patches, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores + self.bias
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, patches, width))


class Encoder(nn.Module):
    def __init__(self, width: int = 64, depth: int = 2, heads: int = 4, patches: int = 49) -> None:
        super().__init__()
        self.mask_token = nn.Parameter(torch.zeros(width))
        self.layers = nn.ModuleList(Attention(width, heads, patches) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor, mask_ratio: float = 0.5) -> tuple[torch.Tensor, torch.Tensor]:
        masked = torch.rand(tokens.shape[:2], device=tokens.device) < mask_ratio
        tokens = torch.where(masked[..., None], self.mask_token, tokens)
        for layer in self.layers:
            tokens = tokens + layer(tokens)
        return self.norm(tokens), masked


def pretrain(steps: int = 10) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder().to(device)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=3e-4)
    for step in range(steps):
        patches = torch.randn(8, 49, 64, device=device)
        encoded, masked = encoder(patches)
        loss = ((encoded - patches) ** 2).mean(dim=-1)[masked].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f}")


if __name__ == "__main__":
    pretrain()
