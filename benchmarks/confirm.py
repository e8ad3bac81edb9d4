"""What a snippet costs once the servers are warm: `python benchmarks/confirm.py`.

Prints the median, in milliseconds by the clock, of small programs in each world, one at a time, from the call to the
outcome; and of an empty fork of the server, which is the floor.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from devlint.confirm.machines import Machines, Program

RUNS = 40

EMPTY = "pass\n"
MIXED = (
    "import torch\n"
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    "weight = torch.ones(3, device=device)\n"
    "print(weight + torch.ones(3))\n"
)
TRAINING = (
    "import torch\nfrom torch import nn\n"
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    "net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for _ in range(3):\n"
    "    loss = net(torch.rand(4, 8, device=device)).square().mean()\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)


def median(action: Callable[[], object]) -> float:
    """Return the median time of an action in milliseconds."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def main() -> None:
    """Print one row a program and world."""
    started = time.perf_counter()
    folder = os.getcwd()
    with Machines("simulated") as machines:
        for world in ("cpu", "gpu1"):
            print(f"{machines.machine(world)}")
        print(f"servers started in {time.perf_counter() - started:.1f} s; sandbox: {machines.strength}")
        for name, text in (("empty", EMPTY), ("two tensors meet", MIXED), ("three training steps", TRAINING)):
            program = Program(os.path.join(folder, "snippet.py"), text, folder)
            for world in ("cpu", "gpu1", "gpu2"):
                machines.run(program, world)
                print(f"{name:<22}{world:<6}{median(lambda p=program, w=world: machines.run(p, w)):7.1f} ms")  # type: ignore[misc]


if __name__ == "__main__":
    main()
