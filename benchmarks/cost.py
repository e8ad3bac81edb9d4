"""What an analysis costs: processor time per 1,000 lines, steps per line, memory, and pyflakes beside it.

Run with `python benchmarks/cost.py [FOLDER ...]` (default: parts of the installed torch). Each measurement is a process
of its own: a cold run of parse, lowering, and all worlds and choices over the whole folder, then pyflakes on the same
files. `--linear` measures generated programs of growing size and call depth instead.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from devlint.analysis.project import Project
from devlint.analysis.run import Options, analyse
from devlint.sources import Source, read_source

_DEFAULTS = ("nn", "optim", "ao")


@dataclass(frozen=True, slots=True)
class Cost:
    """One measurement. Times are milliseconds of processor time per 1,000 lines, `memory` is MiB at the peak.

    `cut` is the share of runs (of programs and entries, replays counted) that their budget of steps ended.
    """

    name: str
    lines: int
    analysis: float
    pyflakes: float
    steps: float
    cut: float
    memory: float
    failures: int

    @property
    def ratio(self) -> float:
        """The analysis in units of pyflakes' time."""
        return self.analysis / self.pyflakes if self.pyflakes else float("nan")


def measure(root: Path) -> Cost:
    """Measure the Python files below a folder in this process."""
    root = root.resolve()
    sources = {str(path): read_source(path, str(path)) for path in sorted(root.rglob("*.py"))}
    return measure_sources(root, sources, root.name)


def measure_sources(root: Path, sources: dict[str, Source], name: str) -> Cost:
    """Measure an analysis of these sources, then pyflakes."""
    texts = {path: source.text for path, source in sources.items()}
    lines = max(1, sum(text.count("\n") for text in texts.values()))
    began = time.process_time()
    result = analyse(Project(root, sources), options=Options(file_timeout=0))
    spent = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = result.statistics
    failures = len(result.failures)
    del result
    return Cost(
        name=name,
        lines=lines,
        analysis=spent * 1e6 / lines,
        pyflakes=_pyflakes(texts) * 1e6 / lines,
        steps=counts["steps"] / lines,
        cut=(counts["budget: entries"] + counts["budget: module"]) / max(1, counts["runs"]),
        memory=memory,
        failures=failures,
    )


def _pyflakes(texts: dict[str, str]) -> float:
    """Seconds of processor time that pyflakes takes over the same files; 0 where it is not installed."""
    import ast

    try:
        from pyflakes.checker import Checker
    except ImportError:
        return 0.0
    began = time.process_time()
    for path, text in texts.items():
        try:
            Checker(ast.parse(text), path)
        except (SyntaxError, ValueError, RecursionError):
            continue
    return time.process_time() - began


def long_program(lines: int) -> str:
    """A training script of about that many lines: models, helpers and loops, a group of them for every 30 lines."""
    parts = ["import torch", "from torch import nn", "device = 'cuda' if torch.cuda.is_available() else 'cpu'", ""]
    for number in range(max(1, lines // 30)):
        parts.append(_GROUP.replace("NUMBER", str(number)))
    return "\n".join(parts)


_GROUP = """
class NetNUMBER(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.second(x) * self.scale


def evaluateNUMBER(net, batches):
    total = 0
    for batch in batches:
        if batch is None:
            continue
        total += net(batch.to(device)).sum().item()
    return total


netNUMBER = NetNUMBER().to(device)
optimizerNUMBER = torch.optim.SGD(netNUMBER.parameters(), lr=0.1)
for epoch in range(3):
    optimizerNUMBER.zero_grad()
    loss = netNUMBER(torch.randn(8, 16, device=device)).mean()
    loss.backward()
    optimizerNUMBER.step()
    print(epoch, loss.item(), evaluateNUMBER(netNUMBER, [torch.randn(8, 16)]))
"""


def deep_program(depth: int) -> str:
    """A program whose calls nest that deeply, each function calling the next one twice."""
    parts = ["import torch", "def call0(x):", "    return x + torch.ones(3)", ""]
    for level in range(1, depth + 1):
        parts += [
            f"def call{level}(x):",
            f"    first = call{level - 1}(x)",
            f"    return first + call{level - 1}(x * 2)",
            "",
        ]
    parts += [f"print(call{depth}(torch.ones(3).cuda()))", ""]
    return "\n".join(parts)


def generated(name: str, text: str) -> Cost:
    """Measure one generated program."""
    path = f"/{name}.py"
    return measure_sources(Path("/"), {path: read_source(Path(path), path, text.encode())}, name)


def _linear() -> list[Cost]:
    generated("warm", long_program(30))
    sizes = [generated(f"{lines} lines", long_program(lines)) for lines in (250, 500, 1000, 2000, 4000, 8000)]
    depths = [generated(f"depth {depth}", deep_program(depth)) for depth in (3, 6, 12, 20)]
    return sizes + depths


def _separately(folder: str, times: int) -> Cost:
    """Measure a folder in several processes; the median by ratio to pyflakes."""
    command = [sys.executable, __file__, "--one", folder]
    found = [
        Cost(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        for _ in range(times)
    ]
    middle = statistics.median_low(cost.ratio for cost in found)
    return next(cost for cost in found if cost.ratio == middle or middle != middle)


def table(costs: list[Cost]) -> str:
    """The measurements as a Markdown table."""
    rows = ["| code | lines | ms/1,000 lines | pyflakes | ratio | steps/line | cut, of 100 | peak, MiB |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    rows += [
        f"| {c.name} | {c.lines:,} | {c.analysis:.1f} | {c.pyflakes:.1f} | {c.ratio:.2f} | {c.steps:.1f} "
        f"| {100 * c.cut:.2f} | {c.memory:.0f} |"
        for c in costs
    ]
    return "\n".join(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--times", type=int, default=3, help="how often each folder is measured (median)")
    parser.add_argument("--linear", action="store_true", help="generated programs of growing size and call depth")
    parser.add_argument("--one", metavar="FOLDER", help="measure one folder once, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asdict(measure(Path(options.one)))))
        return
    if options.linear:
        print(table(_linear()))
        return
    folders = options.folders or _torch_folders()
    print(table([_separately(folder, options.times) for folder in folders]))


def _torch_folders() -> list[str]:
    import importlib.util

    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("torch is not installed; name the folders to measure")
    return [str(Path(spec.origin).parent / name) for name in _DEFAULTS]


if __name__ == "__main__":
    main()
