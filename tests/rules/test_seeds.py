"""The tutorials that the project began with: their own code, as far as it is live, gives what was written down of it.

They are no part of this repository. Set `DEVLINT_SEEDS` to the folder that has them to run this. Findings are looked
for by code and by the text of their line, never by its number.
"""

from __future__ import annotations

import ast
import os
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from devlint.config import Config, Selection
from devlint.findings import Finding
from devlint.linter import check
from devlint.rules.catalogue import CATALOGUE

FOLDER = os.environ.get("DEVLINT_SEEDS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="DEVLINT_SEEDS does not name the folder of the tutorials")

CELL = re.compile(r"^In \[\d+\]:$")
FENCE = re.compile(r"^```\s*(\w*)\s*$")
OUTPUT = re.compile(r"tensor\(|torch\.(Size|float)|[\[(]*device\(|Device: |\w+Error: |\w+$")
ADVICE = ("DEV103", "DEV801", "DEV802", "DEV803", "DEV901")
EVERYTHING = Config(root=Path("/"), selections=(Selection(extend_select=ADVICE),))


def cells(text: str) -> list[str]:
    """The code of a notebook that was copied as text: cells begin with `In [n]:`, what they print follows them.

    Python fences between the cells are code too; they may be indented, and may end where a heading begins.
    """
    found: list[tuple[str, list[str]]] = []
    state = ""
    for line in text.splitlines():
        fence = FENCE.match(line)
        if state.endswith("fence") and (fence or line.startswith("### ")):
            state = ""
        elif fence or CELL.match(line):
            state = "cell" if fence is None else "fence" if fence[1] == "python" else "other fence"
            found.append((state, []))
        elif state in ("cell", "fence"):
            found[-1][1].append(line)
    blocks = ((kind, textwrap.dedent("\n".join(lines)).strip("\n")) for kind, lines in found)
    return [code for kind, text in blocks if (code := _without_output(text) if kind == "cell" else text)]


def _without_output(text: str) -> str:
    """Leave away what a cell printed and the prose below it: they begin after an empty line."""
    kept: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        together = "\n\n".join([*kept, paragraph])
        if OUTPUT.match(paragraph) or not _parses(together):
            break
        kept.append(paragraph)
    return "\n\n".join(kept)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Seed:
    """A document as it is linted, and what was found in it."""

    lines: list[str]
    findings: list[Finding]

    def has(self, code: str, line: str, worlds: str | None = None) -> bool:
        """Whether a finding of this code stands on a line with this text."""
        return any(
            finding.code == code
            and line in self.lines[finding.location.start.row - 1]
            and (worlds is None or " ".join(finding.worlds) == worlds)
            for finding in self.findings
        )

    def codes(self, line: str) -> set[str]:
        """The codes of all findings on lines with this text; the text must be there."""
        assert any(line in text for text in self.lines), f"the document has no line with {line!r}"
        return {f.code for f in self.findings if line in self.lines[f.location.start.row - 1]}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seed]:
    assert FOLDER
    folder = tmp_path_factory.mktemp("seeds")
    found = {}
    for source in sorted(Path(FOLDER).glob("00?_*.txt")):
        number, text = source.name[:3], source.read_text(encoding="utf-8")
        if number in ("002", "003"):
            path = folder / f"{number}.md"
        elif number == "000":
            path = folder / f"{number}.md"
            text = "\n".join(f"```python\n{code}\n```\n" for code in cells(text))
        else:
            path = folder / f"{number}.py"
            text = "\n\n".join(cells(text)) + "\n"
        path.write_text(text, encoding="utf-8")
        found[number] = Seed(text.splitlines(), check([path], EVERYTHING))
    return found


# Live code that must be found: statement, document, text of the line, code, worlds.
FOUND = [
    ("S3", "000", "device = torch.device(cpu)", "DEV108", "cpu gpu1 gpu2"),
    ("S6", "002", "gpu_index = torch.cuda.current_device()", "DEV107", "cpu"),
    ("S13", "001", "print(y.shape, y.dtype, y.device)", "DEV105", "cpu"),
    ("S16", "001", "x = torch.rand(2, 2, device='cuda')", "DEV103", ""),
    ("S17", "002", "x = torch.tensor([1,2,3]).to(device)", "DEV801", ""),
    ("S17", "003", "inputs = torch.randn(4, 2).cuda()", "DEV801", ""),
    ("S18", "001", "device0, device1 = 'cuda:0', 'cuda:1'", "DEV101", "cpu gpu1"),
    ("S19", "001", "x = torch.rand(2, 2, device='cuda')", "DEV102", "cpu"),
    ("S23", "002", "gpu_index = torch.cuda.current_device()", "DEV107", "cpu"),
    ("S23", "002", "x=x.cuda(gpu_index)", "DEV102", "cpu"),
    ("S28", "003", "with torch.cuda.device(0):", "DEV102", "cpu"),
    ("S28", "003", "a = torch.cuda.FloatTensor(2, 3)", "DEV901", "cpu"),
    ("S29", "003", "torch.set_default_tensor_type('torch.cuda.FloatTensor')", "DEV901", "cpu"),
]
# Live code that is right, or about which devlint makes no claim: statement, document, text of the line.
SILENT = [
    ("S1", "002", "net(x)"),
    ("S2", "000", "module.to(device)"),
    ("S2", "000", 'tensor = tensor.to("cpu")'),
    ("S2", "003", "module.cuda(device=0)"),
    ("S4", "000", "x = x.to(torch.float64)"),
    ("S5", "000", 'device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")'),
    ("S6", "001", "torch.cuda.device_count()"),
    ("S10", "000", "inputs, labels = inputs.to(device), labels.to(device)"),
    ("S10", "000", "net = nn.DataParallel(net)"),
    ("S10", "000", "outputs = net(inputs)"),
    ("S11", "000", 'os.environ.setdefault("CUDA_VISIBLE_DEVICES", gpu_list_str)'),
    ("S14", "001", "n = t.numpy()"),
    ("S15", "001", "np.add(n, 2, out=n)"),
    ("S20", "003", "t_cuda = t.to('cuda:0')"),
    ("S21", "002", "y=x**2"),
    ("S24", "002", "print(list(net.parameters())[0].device)"),
    ("S24", "004", "net[0].weight.data.device"),
    ("S25", "002", "net=net.cuda()"),
    ("S26", "003", "print(t_cuda.is_cuda)"),
    ("S27", "003", "loss = criterion(inputs, target)"),
    ("S28", "003", "c = a + b"),
    ("S29", "003", "torch.set_default_tensor_type('torch.FloatTensor')"),
    ("S32", "003", "%env CUDA_VISIBLE_DEVICES=0,1"),
    ("S33", "003", "y_gpu = x_gpu.new_zeros(3, 4)"),
    ("S33", "003", "z_cpu = torch.ones_like(x_cpu)"),
    ("S34", "003", "x_gpu = torch.empty(2, device=device)"),
    ("S35", "004", "return torch.device(f'cuda:{i}')"),
    ("S35", "004", "try_gpu(), try_gpu(10), try_all_gpus()"),
    ("S37", "004", "net = net.to(device=try_gpu())"),
    ("S37", "004", "net(x)"),
    ("S38", "003", "print(a.get_divice)"),
    ("-", "004", "torch.device('cpu'), torch.device('cuda'), torch.device('cuda:1')"),
    ("-", "003", "target = t.Tensor([1, 0, 0, 1]).long().cuda()"),
    ("-", "002", "x=torch.tensor([1,2,3]).cuda()"),
]


@pytest.mark.parametrize(("statement", "document", "line", "code", "worlds"), FOUND)
def test_what_breaks_is_found(
    seeds: dict[str, Seed], statement: str, document: str, line: str, code: str, worlds: str | None
) -> None:
    assert seeds[document].has(code, line, worlds), f"{statement}: {seeds[document].codes(line)}"


@pytest.mark.parametrize(("statement", "document", "line"), SILENT)
def test_what_is_right_is_silent(seeds: dict[str, Seed], statement: str, document: str, line: str) -> None:
    assert seeds[document].codes(line).isdisjoint({rule.code for rule in CATALOGUE} - set(ADVICE)), statement


def test_nothing_else_is_found(seeds: dict[str, Seed]) -> None:
    expected = {(document, code, line) for _, document, line, code, _ in FOUND}
    for document, seed in seeds.items():
        for finding in seed.findings:
            if finding.code not in ADVICE:
                line = seed.lines[finding.location.start.row - 1]
                assert any(d == document and c == finding.code and text in line for d, c, text in expected), finding
