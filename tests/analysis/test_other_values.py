"""Ways that a program goes with values of its options that are not the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.findings import Finding
from devlint.linter import check

PROGRAM = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--mixing", type=float, default=0.0)
parser.add_argument("--rate", type=float, default=0.1)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--kind", default="none")
parser.add_argument("--depth", type=int, default=18, choices=[18, 50])
parser.add_argument("--ranking", type=float, default=0.0)
parser.add_argument("--form", default="plain", choices=("plain", "smooth"))
parser.add_argument("--rank_of_node", type=int, default=0)
args = parser.parse_args()
rows = torch.rand(2, 3).to("cuda" if torch.cuda.is_available() else "cpu")
for epoch in range(5):
    {condition}
        rows = rows + torch.rand(2, 3)
"""


@pytest.mark.parametrize(
    ("condition", "when"),
    [
        ("if args.mixing > 0:", "args.mixing == 0.5"),
        ("if args.mixing:", "args.mixing == 1.0"),
        ("if 0 < args.mixing < 1:", "args.mixing == 0.5"),
        ("if args.mixing != 0 and epoch > 2:", "args.mixing == 0.5 epoch > 2"),
        ("if not args.mixing == 0:", "args.mixing == 0.5"),
        ("if args.rate <= 0.05:", "args.rate == 0.05"),
        ("if args.layers >= 4:", "args.layers == 4"),
        ("if args.layers in (3, 4):", "args.layers == 3"),
        ("if args.layers > 2.5:", "args.layers == 3"),
        ("if args.layers not in (2, 3):", "args.layers == 1"),
        ("if args.ranking > 0:", "args.ranking == 0.5"),
        ("if args.depth > 18:", "args.depth == 50"),
        ("if args.form != 'plain':", "args.form == 'smooth'"),
        ("if 1 == args.layers:", "args.layers == 1"),
        ("if args.mixing > 0 and args.layers > 3:", "args.mixing == 0.5 args.layers == 4"),
        ("if args.mixing > 0 or args.layers > 3:", "args.mixing == 0.5"),
        ("if args.depth == 50:", "args.depth == 50"),
        ("if args.kind == 'normal':", "args.kind == 'normal'"),
        ("if args.kind in ['normal', 'even']:", "args.kind == 'normal'"),
        ("if 'norm' in args.kind:", "args.kind == 'norm'"),
        ("if args.kind.startswith('norm'):", "args.kind == 'norm'"),
        ("if args.kind != 'none':", "not args.kind == 'none'"),
        ("mixes = args.mixing > 0\n    if mixes:", "args.mixing == 0.5"),
    ],
)  # fmt: skip
def test_the_other_way_is_tried(condition: str, when: str, tmp_path: Path) -> None:
    found = _check(PROGRAM.format(condition=condition), tmp_path)
    assert [one.code for one in found] == ["DEV303"]
    assert " ".join(("" if part.value else "not ") + part.condition for part in found[0].when) == when


@pytest.mark.parametrize(
    "condition",
    [
        "if args.rank_of_node > 0:",  # a launcher's
        "if args.depth > 50:",  # no choice of that option
        "if args.form == 'sharp':",
        "if args.mixing > 1 and args.mixing < 0.5:",  # never
        "if args.mixing > 0 and args.mixing == 0:",
        "if args.rate == 0.1 and args.kind == 'none' and epoch > 9:",  # by data of its own
        "if 'none' not in args.kind and args.kind == 'none':",
    ],
)
def test_the_other_way_is_none(condition: str, tmp_path: Path) -> None:
    assert not _check(PROGRAM.format(condition=condition), tmp_path)


COMMAND = """\
import {library}
import torch

def plain(rows):
    return rows

def noisy(rows):
    return rows + torch.rand(2, 3)

WAYS = {{"plain": plain, "noisy": noisy}}

{decorated}
def main(way{default}):
    rows = torch.rand(2, 3).to("cuda" if torch.cuda.is_available() else "cpu")
    {body}
    print(done(rows))

if __name__ == "__main__":
    {call}
"""


@pytest.mark.parametrize(
    ("library", "decorated", "default", "call"),
    [
        ("click", '@click.command()\n@click.option("--way", default="plain")', "", "main()"),
        ("fire", "", '="plain"', "fire.Fire(main)"),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        "done = WAYS[way]",
        "done = WAYS.get(way, plain)",
        "done = noisy if way == 'noisy' else plain",
        "match way:\n        case 'plain':\n            done = plain\n        case 'noisy':\n            done = noisy",
    ],
)
def test_what_other_values_pick(
    library: str, decorated: str, default: str, call: str, body: str, tmp_path: Path
) -> None:
    text = COMMAND.format(library=library, decorated=decorated, default=default, body=body, call=call)
    assert [one.code for one in _check(text, tmp_path)] == ["DEV303"]


def _check(text: str, folder: Path) -> list[Finding]:
    program = folder / "program.py"
    program.write_text(text)
    return list(check([program], Config(root=folder)))


NETS = """\
from torch import nn


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, rows):
        return self.layer(rows)


class Wide(Deep):
    pass
"""

CHOOSING = """\
import argparse
import torch
import nets

parser = argparse.ArgumentParser()
parser.add_argument("--net", default="deep", choices=["deep", "wide"])
parser.add_argument({flag})
args = parser.parse_args()
device = torch.device("cuda" if {asked} and torch.cuda.is_available() else "cpu")
net = nets.Deep().to(device) if args.net == "deep" else nets.Wide(){moved}
print(net(torch.rand(2, 3, device=device)))
"""


@pytest.mark.parametrize(
    ("flag", "asked"),
    [
        ('"--cuda", action="store_true"', "args.cuda"),
        ('"--no-cuda", action="store_true"', "not args.no_cuda"),
        ('"--enable-cuda", type=bool, default=True', "args.enable_cuda"),
        ('"--seed", type=int', "True"),
    ],
)
@pytest.mark.parametrize("moved", ["", ".to(device)"])
def test_a_module_that_another_value_builds_is_met_on_the_gpu(
    flag: str, asked: str, moved: str, tmp_path: Path
) -> None:
    """Nothing on the other side speaks of devices: the module alone is worth a run, and in it the flag for the GPU is
    given."""
    (tmp_path / "nets.py").write_text(NETS)
    found = _check(CHOOSING.format(flag=flag, asked=asked, moved=moved), tmp_path)
    here = {(one.code, tuple(sorted(one.worlds))) for one in found if "args.net" in str(one.when)}
    assert here == (set() if moved else {("DEV302", ("gpu1", "gpu2"))})


FOURTH = """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--{name}", type={kind}, default={default!r})
args = parser.parse_args()
net = torch.nn.Linear(3, 1).to({device})
print(net(torch.rand(2, 3)))
"""


@pytest.mark.parametrize(
    ("name", "default", "device", "instead"),
    [
        ("device", "cuda:3", "args.device", "'cuda:0'"),
        ("device", "cuda:2", "torch.device(args.device)", "'cuda:0'"),
        ("gpu", 5, "args.gpu", "0"),
        ("device", "cuda:1", "args.device", None),  # a world has it
        ("gpu", 1, "args.gpu", None),
        ("device", "cuda:3", '"cuda:3"', None),  # nobody can give another
    ],
)
def test_another_gpu_is_given_for_a_default_that_no_world_has(
    name: str, default: str | int, device: str, instead: str | None, tmp_path: Path
) -> None:
    text = FOURTH.format(name=name, kind=type(default).__name__, default=default, device=device)
    found = _check(text, tmp_path)
    assert "DEV101" in {one.code for one in found}
    behind = [(str(one.when[0].condition), one.worlds) for one in found if one.code == "DEV302" and one.when]
    assert behind == ([(f"args.{name} == {instead}", ("gpu1", "gpu2"))] if instead else [])


def test_each_way_of_several_is_tried_with_its_value(tmp_path: Path) -> None:
    """Any other value would leave open which of them is gone."""
    ways = "".join(
        f"elif args.kind == '{kind}':\n    rows = rows + torch.rand(2, 3)\n" for kind in ("normal", "even", "poisson")
    )
    text = PROGRAM[: PROGRAM.index("for epoch")] + f"if args.kind == 'none':\n    pass\n{ways}print(rows.sum())\n"
    found = _check(text, tmp_path)
    asked = [" ".join(part.condition for part in one.when) for one in found]
    assert asked == [f"args.kind == '{kind}'" for kind in ("normal", "even", "poisson")]


REQUIRED = """\
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--net", required=True)
parser.add_argument("--gpu", action="store_true")
args = parser.parse_args()
if args.net == "deep":
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
elif args.net == "wide":
    net = nn.Linear(3, 3)
else:
    raise SystemExit("unknown")
rows = torch.rand(2, 3)
if args.gpu:
    net{moved}
    rows = rows.cuda()
print(net(rows))
"""


@pytest.mark.parametrize("moved", [".eval()", ".cuda()"])
def test_of_an_option_that_must_be_given_one_value_is_tried(moved: str, tmp_path: Path) -> None:
    """Of all networks together nothing is known."""
    found = _check(REQUIRED.format(moved=moved), tmp_path)
    assert [one.code for one in found if one.severity != "advice"] == ([] if moved == ".cuda()" else ["DEV302"])


def test_a_program_of_many_networks_comes_to_its_end(tmp_path: Path) -> None:
    """Where all that an option may be takes more steps than there are, one of them is taken."""
    names = [f"net{n}" for n in range(40)]
    layers = "".join(f"        self.part{n} = nn.Linear(3, 3)\n" for n in range(90))
    classes = "".join(
        f"class {name.title()}(nn.Module):\n    def __init__(self):\n        super().__init__()\n{layers}"
        "    def forward(self, x):\n        return self.part0(x)\n"
        for name in names
    )
    (tmp_path / "nets.py").write_text("from torch import nn\n" + classes)
    chain = "".join(f"elif args.net == '{name}':\n    net = nets.{name.title()}()\n" for name in names)
    text = REQUIRED.format(moved=".eval()").replace("import torch\n", "import torch\nimport nets\n")
    start, end = text.index("if args.net"), text.index("else:\n")
    found = _check(text[:start] + chain[2:] + text[end:], tmp_path)
    assert [one.code for one in found] == ["DEV302"]


WHICH = """\
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--net", required=True)
parser.add_argument("--gpu", type=int, required=True)
args = parser.parse_args()
net = nn.Linear(3, 3) if args.net == "deep" else nn.Bilinear(3, 3, 3) if args.net == "wide" else None
rows = torch.rand(2, 3)
count = torch.cuda.device_count()
if args.gpu == 0 and count > 0:
    net.to("cuda:0")
elif args.gpu == 1 and count > 1:
    net.to("cuda:1")
if args.gpu == 1 and count > 1:
    rows = rows.to("cuda:1")
elif args.gpu == 0 and count > {least}:
    rows = rows.to("cuda:0")
print(net(rows))
"""


@pytest.mark.parametrize(("least", "expected"), [(0, []), (1, [("gpu1",)])])
def test_an_option_is_one_gpu_at_a_time(least: int, expected: list[tuple[str, ...]], tmp_path: Path) -> None:
    found = _check(WHICH.format(least=least), tmp_path)
    assert [tuple(one.worlds) for one in found if one.code == "DEV302"] == expected
