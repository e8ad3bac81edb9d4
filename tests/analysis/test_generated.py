"""Generated programs: the analysis neither fails nor hangs, and finds the same whatever a program's form."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from devlint.analysis import run
from devlint.analysis.events import DeviceUnavailable, DroppedMove, MixedDevices, NameUnbound
from tests import metamorphic
from tests.analysis.analysed import analysed, told
from tests.metamorphic import MAIN, Changed
from tests.strategies import programs

QUIET = settings(
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def _faults_escape() -> Iterator[None]:
    run.raise_faults()
    yield
    run.raise_faults(False)


@settings(QUIET, max_examples=80)
@given(programs(12))
def test_never_fails(text: str) -> None:
    started = time.process_time()
    analysis = analysed(text + "print(i0)\n")
    assert analysis.failures == []
    assert analysis.statistics["runs"] > 0
    assert time.process_time() - started < 60


@settings(QUIET, max_examples=40)
@given(programs(8))
def test_never_fails_as_a_library(text: str) -> None:
    """The same inside a function and a module's forward, which are entered by protocol."""
    body = "".join(f"    {line}\n" for line in text.partition("if __name__ ==")[0].splitlines())
    method = "".join(f"    {line}\n" for line in body.splitlines())
    library = (
        f"import torch\nfrom torch import nn\ndef library(x, flag=None):\n{body}    return x.cuda()\n"
        f"class Net(nn.Module):\n    def forward(self, x, flag=None):\n{method}        return x\n"
    )
    analysis = analysed(library)
    assert analysis.failures == []
    assert analysis.statistics["runs"] + analysis.statistics["entries"] > 0


@settings(QUIET, max_examples=25)
@given(programs(8), st.integers(0, 3), st.randoms(use_true_random=False))
def test_never_fails_on_what_is_cut(text: str, cut: int, draw: object) -> None:
    """Programs from which statements are missing: names are unbound, loops lose what ends them."""
    lines = text.splitlines()
    for _ in range(cut):
        row = draw.randrange(len(lines))  # type: ignore[attr-defined]
        candidate = [*lines[:row], *lines[row + 1 :]]
        try:
            compile("\n".join(candidate), "x.py", "exec")
        except SyntaxError:
            continue
        lines = candidate
    assert analysed("\n".join(lines) + "\nprint(1)\n").failures == []


PLACES = ("'cuda' if torch.cuda.is_available() else 'cpu'", "'cpu'")


@st.composite
def right_programs(draw: st.DrawFn) -> str:
    """Programs whose tensors and modules are all on one device, by every way of getting there."""
    lines = [
        "import torch",
        "from torch import nn",
        f"device = torch.device({draw(st.sampled_from(PLACES))})",
        "class Net(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.layer = nn.Linear(2, 2)",
        "        self.register_buffer('offset', torch.ones(2))",
        "    def forward(self, x):",
        "        noise = torch.zeros(2, device=x.device)",
        "        return self.layer(x) + self.offset + noise",
        "def place(t):",
        "    return t.to(device)",
        "def run():",
        "    net = Net().to(device)",
        "    x0 = torch.ones(1, 2, device=device)",
    ]
    makers = (
        "torch.zeros(1, 2, device=device)",
        "torch.ones(1, 2).to(device)",
        "place(torch.rand(1, 2))",
        "torch.zeros_like({0})",
        "{0}.new_ones(1, 2)",
        "net({0})",
        "torch.cat([{0}, {1}])[:1]",
        "({0} + {1}) * 2",
        "[t for t in ({0}, {1})][0]",
        "{{'a': {0}}}['a']",
        "nn.functional.relu({0}.clone())",
        "torch.stack([{0}, {1}]).mean(0)",
    )
    for number in range(1, draw(st.integers(2, 8))):
        names = [f"x{draw(st.integers(0, number - 1))}" for _ in range(2)]
        statement = f"x{number} = {draw(st.sampled_from(makers)).format(*names)}"
        form = draw(
            st.sampled_from(
                ["{}", "if {c}:\n        {}\n    else:\n        x{n} = x0", "for _ in range(2):\n        {}"]
            )
        )
        condition = draw(st.sampled_from(["torch.cuda.is_available()", "x0.is_cuda", "len(x0) > 1"]))
        lines.append("    " + form.format(statement, c=condition, n=number))
    lines += ["    total = net(x0) + " + " + ".join(f"x{i}" for i in range(number + 1)), "    return total"]
    return (
        "\n".join([*lines, "if __name__ == '__main__':", "    result = run()", "    print(result.sum().item())"]) + "\n"
    )


FAULTS = (MixedDevices, DeviceUnavailable, NameUnbound, DroppedMove)
CHANGES: dict[str, Callable[[str], list[Changed | None]]] = {
    "as it is": lambda text: [Changed({MAIN: text}, {}, {})],
    "renamed": lambda text: [metamorphic.rename(text)],
    "with unrelated statements": lambda text: [metamorphic.insert(text)],
    "in two files": lambda text: [metamorphic.move(text)],
    "with a helper": lambda text: [metamorphic.extract(text, row) for row in metamorphic.assignments(text)],
}


@pytest.mark.parametrize("change", CHANGES)
@settings(QUIET, max_examples=20)
@given(text=right_programs())
def test_right_programs_stay_silent(change: str, text: str) -> None:
    changed = [found for found in CHANGES[change](text) if found is not None]
    assert changed
    for version in changed:
        analysis = analysed(version.files, [MAIN])
        assert analysis.failures == []
        assert analysis.statistics["runs"] > 0
        assert not {fact for kind in FAULTS for fact in told(analysis, kind)}


@settings(QUIET, max_examples=20)
@given(text=right_programs())
def test_one_fault_among_what_is_right_is_found(text: str) -> None:
    """So that the silence above is no deafness."""
    broken = text.replace("self.register_buffer('offset', torch.ones(2))", "self.offset = torch.ones(2)")
    worlds = {world for _, _, _, world in told(analysed(broken), MixedDevices)}
    assert worlds == ({"gpu1", "gpu2"} if "is_available() else" in text else set())
