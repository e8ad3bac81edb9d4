"""Command lines: known defaults are values, flags and what has no default are choices of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.analysis.domain.values import Const, DeviceValue, Mapping, Unknown
from devlint.config import Config
from devlint.linter import check
from devlint.worlds import CPU, GPU1
from tests.analysis.programs import Run

PARSER = """
import argparse, torch
parser = argparse.ArgumentParser()
group = parser.add_argument_group("training")
parser.add_argument("--device", default="cuda")
parser.add_argument("-b", "--batch-size", type=int, default="32")
group.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--keep", action="store_false", dest="drop")
parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--gpu", type=int)
parser.add_argument("--ids", nargs="+", type=int, default=[0, 1])
parser.add_argument("--cuda", type=bool, default=True)
parser.add_argument("--there", default=torch.cuda.is_available())
parser.add_argument("--where", type=torch.device, default="cuda:0")
parser.add_argument("path")
parser.set_defaults(mode="train")
"""


def _choice(run: Run, name: str) -> tuple[str | None, bool, object]:
    value = run[name]
    assert isinstance(value, Unknown)
    return value.path, value.named, value.default.value if isinstance(value.default, Const) else ...


def test_defaults() -> None:
    run = Run(
        PARSER + "opt = parser.parse_args()\n"
        "a, b, c, d, e, f = opt.device, opt.batch_size, opt.lr, opt.ids, opt.mode, opt.there\n"
        "device, cuda = opt.where, opt.device"
    )
    assert [run.python(name) for name in "abcdef"] == ["cuda", 32, 0.1, [0, 1], "train", True]
    literal = run["cuda"]
    assert isinstance(literal, Const) and literal.site is not None and literal.site.row == 5
    assert isinstance(run["device"], DeviceValue)


def test_texts_are_converted() -> None:
    run = Run(
        """
import argparse, ast, json
from somewhere import convert
parser = argparse.ArgumentParser()
parser.add_argument("--ids", default="[0]", type=eval)
parser.add_argument("--more", default="(1, 2)", type=ast.literal_eval)
parser.add_argument("--rest", default='{"a": [3]}', type=json.loads)
parser.add_argument("--device", default="CPU", type=str.lower)
parser.add_argument("--cuda", default="False", type=eval)
parser.add_argument("--gpu", default="None", type=eval)
parser.add_argument("--half", default="no", type=lambda text: text == "yes")
parser.add_argument("--where", default="cuda", type=convert)
parser.add_argument("--there", default="torch.cuda.is_available()", type=eval)
opt = parser.parse_args()
a, b, c, d = opt.ids, opt.more, opt.rest, opt.device
e, f, g, h, i = opt.cuda, opt.gpu, opt.half, opt.where, opt.there
opt = parser.parse_args(["--ids", "[1]", "--cuda", "True", "--half=yes"])
j, k, m, n = opt.ids, opt.cuda, opt.half, opt.where
"""
    )
    assert [run.python(name) for name in "abcd"] == [[0], (1, 2), {"a": [3]}, "cpu"]
    assert [_choice(run, name) for name in "efg"] == [
        ("opt.cuda", True, False),
        ("opt.gpu", True, None),
        ("opt.half", True, False),
    ]
    assert [_choice(run, name)[:2] for name in "hin"] == [(f"opt.{name}", True) for name in ("where", "there", "where")]
    assert [run.python(name) for name in "jkm"] == [[1], True, True]


def test_evaluated_defaults_are_the_world_s() -> None:
    text = PARSER + "there = parser.parse_args().there"
    assert Run(text, CPU).python("there") is False
    assert Run(text, GPU1).python("there") is True


def test_choices() -> None:
    run = Run(
        PARSER + "opt, rest = parser.parse_known_args()\n"
        "a, b, c, d, e, f, g = opt.no_cuda, opt.drop, opt.amp, opt.gpu, opt.cuda, opt.path, opt.unheard"
    )
    assert _choice(run, "a") == ("opt.no_cuda", True, False)
    assert _choice(run, "b") == ("opt.drop", True, True)
    assert _choice(run, "c") == ("opt.amp", True, True)
    assert _choice(run, "d") == ("opt.gpu", True, None)
    assert _choice(run, "e") == ("opt.cuda", True, True)
    assert _choice(run, "f") == ("opt.path", True, ...)
    assert _choice(run, "g") == ("opt.unheard", True, ...)


def test_name_of_the_namespace() -> None:
    run = Run(
        PARSER + "def get_args():\n    return parser.parse_args()\n"
        "def main():\n    args = get_args()\n    args.gpu = 1\n    return args\n"
        "args = main()\na, b, c = args.no_cuda, args.gpu, vars(args)['device']"
    )
    assert _choice(run, "a")[0] == "args.no_cuda"
    assert (run.python("b"), run.python("c")) == (1, "cuda")


def test_known_command_line() -> None:
    run = Run(
        PARSER.replace('parser.add_argument("path")', "") + "a = parser.parse_args([])\n"
        "b = parser.parse_args(['--no-cuda', '--gpu', '1', '--lr=0.5'])\n"
        "c, d, e, f, g = a.no_cuda, a.gpu, b.no_cuda, b.gpu, b.lr"
    )
    assert [run.python(name) for name in "cdefg"] == [False, None, True, 1, 0.5]


def test_known_command_line_is_parsed_as_argparse_does() -> None:
    run = Run(
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("path")
parser.add_argument("--ids", nargs="+", type=int, default=[0])
parser.add_argument("--where", nargs="?", const="cuda", default="cpu")
parser.add_argument("--half", action="store_const", const=16, default=32)
parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("-v", action="count", default=0)
parser.add_argument("--tag", action="append", type=int)
words = ["--ids", "0", "1", "--wher", "--half", "--no-amp", "-vv", "--tag", "3", "--tag=4", "file.pt"]
args = parser.parse_args(words)
a, b, c, d, e, f, g = args.path, args.ids, args.where, args.half, args.amp, args.v, args.tag
args = parser.parse_args(["file.pt", "--where", "cuda:1"])
h, i, j, k, m, n, o = args.path, args.ids, args.where, args.half, args.amp, args.v, args.tag
"""
    )
    assert [run.python(name) for name in "abcdefg"] == ["file.pt", [0, 1], "cuda", 16, False, 2, [3, 4]]
    assert [run.python(name) for name in "hijkmno"] == ["file.pt", [0], "cuda:1", 32, True, 0, None]


def test_words_that_are_left_over_or_not_understood() -> None:
    run = Run(
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
parser.add_argument("--ids", action="append", type=int, default=[0])
parser.add_argument("-g", action="count", default=2)
parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--host", dest="where", action="store_const", const="cpu", default="auto")
parser.add_argument("--card", dest="where", action="store_const", const="cuda")
a = parser.parse_known_args(["--device", "cpu", "--ids", "1", "--other", "3"])[0].device
b = parser.parse_known_args(["--ids", "1", "--other", "3"])[0].ids
c = parser.parse_args(["-gg"]).g
d, e = parser.parse_args(["--host"]).where, parser.parse_args([]).where
f = parser.parse_args(["--device", "cpu", "unheard"]).ids
commands = parser.add_subparsers(dest="command", required=True)
commands.add_parser("train").set_defaults(func=len)
commands.add_parser("bench").set_defaults(func=max)
g = parser.parse_args(["train"]).device
"""
    )
    assert [run.python(name) for name in "abcdefg"] == ["cpu", [0, 1], 4, "cpu", "auto", [0], "cuda"]


@pytest.mark.parametrize(
    "options",
    [
        'parser.add_argument("my-file")',
        'parser.add_argument("a", dest="b")',
        'parser.add_argument("")',
        'parser.add_argument("--a", nargs=10**9)',
        'parser.add_argument("--a", nargs=-3)',
        'parser.add_argument("--a"); parser.add_argument("--a")',
        'parser.add_argument("x", nargs="*"); parser.add_argument("y", nargs="*"); parser.add_argument("z", nargs="*")',
        'parser.add_argument("--a", nargs=argparse.REMAINDER)',
        'parser.add_argument("--a", action=type("Put", (argparse.Action,), {}))',
        "parser.add_subparsers(); parser.add_subparsers()",
    ],
)
def test_odd_options_leave_what_was_given_unknown(options: str) -> None:
    run = Run(
        "import argparse\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument('--device', default='cuda')\n{options}\n"
        "a = parser.parse_args(['--a', '1', '2', '3', '--device', 'cpu']).device\n"
        "b = parser.parse_args(['--a', '1', '2', '3']).device\n"
    )
    assert isinstance(run["a"], Unknown)
    assert run.python("b") == "cuda"


def test_subparsers_and_parents() -> None:
    run = Run(
        "import argparse\nbase = argparse.ArgumentParser(add_help=False)\n"
        "base.add_argument('--device', default='cpu')\n"
        "parser = argparse.ArgumentParser(parents=[base])\ncommands = parser.add_subparsers(dest='command')\n"
        "train = commands.add_parser('train')\ntrain.add_argument('--epochs', type=int, default=3)\n"
        "args = parser.parse_args()\na, b, c = args.device, args.epochs, args.command"
    )
    assert (run.python("a"), run.python("b")) == ("cpu", 3)
    assert _choice(run, "c")[0] == "args.command"


def test_config_objects() -> None:
    run = Run(
        "from easydict import EasyDict as edict\nfrom argparse import Namespace\n"
        "cfg = edict({'device': 'cuda', 'train': {'lr': 0.1}})\ncfg.gpu = 0\ncfg['amp'] = True\n"
        "n = Namespace(device='cpu')\n"
        "result = (cfg.device, cfg['device'], cfg.train.lr, cfg.gpu, cfg.amp, cfg.get('gpu'), n.device)\n"
        "missing = cfg.other"
    )
    assert run.python("result") == ("cuda", "cuda", 0.1, 0, True, 0, "cpu")
    assert _choice(run, "missing")[:2] == ("cfg.other", True)


def test_config_from_a_list() -> None:
    run = Run(
        "from yacs.config import CfgNode\nfrom elsewhere import words, name\n"
        "cfg = CfgNode()\ncfg.MODEL = CfgNode()\ncfg.MODEL.DEVICE = 'cpu'\ncfg.MODEL.IDS = [1]\ncfg.SEED = 3\n"
        "kept = cfg.clone()\n"
        "cfg.merge_from_list(['MODEL.DEVICE', 'cuda', 'MODEL.IDS', '[0, 2]', 'SEED', 4, name, 5, 'NONE.SUCH', 6])\n"
        "cfg.merge_from_list(words)\ncfg.merge_from_list(['SEED'])\n"
        "result = (cfg.MODEL.DEVICE, cfg.MODEL.IDS, cfg.SEED, kept.MODEL.DEVICE, kept.MODEL.IDS, kept.SEED)"
    )
    assert run.python("result") == ("cuda", [0, 2], 4, "cpu", [1], 3)


def test_click_fire_absl_hydra() -> None:
    run = Run(
        "import click, fire, hydra\nfrom absl import app, flags\n"
        "found = []\n"
        "@click.command()\n@click.option('--device', '-d', default='cuda')\n"
        "@click.option('--amp/--no-amp', default=True)\n"
        "def one(device, amp):\n    found.append((device, amp))\n"
        "one()\n"
        "def two(device='cpu', verbose=False, name=None):\n    found.append((device, verbose, name))\n"
        "fire.Fire(two)\n"
        "flags.DEFINE_string('device', 'cuda:0', 'where')\nFLAGS = flags.FLAGS\n"
        "def three(argv):\n    found.append(FLAGS.device)\n"
        "app.run(three)\n"
        "@hydra.main(config_path='conf')\ndef four(cfg):\n    found.append(cfg.device)\n"
        "four()\n"
        "a, b = found[0]\nc, d, e = found[1]\nf, g = found[2:]"
    )
    assert run.ended
    assert (run.python("a"), run.python("c"), run.python("f")) == ("cuda", "cpu", "cuda:0")
    assert _choice(run, "b") == ("amp", True, True)
    assert _choice(run, "d") == ("verbose", True, False)
    assert _choice(run, "e") == ("name", True, None)
    assert _choice(run, "g")[:2] == ("cfg.device", True)


def test_groups_of_commands() -> None:
    run = Run(
        "import click, fire, typer\n"
        "found = {}\n"
        "@click.group()\n@click.option('--device', default='cuda')\n"
        "def cli(device):\n    found['device'] = device\n"
        "@cli.command()\n@click.argument('path')\ndef train(path):\n    found['path'] = path\n"
        "cli()\n"
        "app = typer.Typer()\n"
        "@app.callback()\ndef first(seed=3):\n    found['seed'] = seed\n"
        "@app.command()\ndef show(path):\n    return path\n"
        "app()\n"
        "class Cli:\n    def __init__(self, size=2):\n        found['size'] = size\n"
        "    def run(self):\n        found['run'] = 1\n"
        "fire.Fire(Cli)\n"
        "a, b, c = found['device'], found['seed'], found['size']\n"
        "d = train('x') is None, show('y'), 'path' in found, 'run' in found"
    )
    assert run.ended
    assert [run.python(name) for name in "abc"] == ["cuda", 3, 2]
    assert run.python("d") == (True, "y", True, False)


def test_a_flag_that_is_on_for_good_is_no_choice() -> None:
    run = Run(
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--cuda", action="store_true", default=True)\n'
        'parser.add_argument("--gpu", action="store_false", default=False)\n'
        'parser.add_argument("--cpu", action="store_true", default=False)\n'
        "opt = parser.parse_args()\n"
        "a, b, c = opt.cuda, opt.gpu, opt.cpu"
    )
    assert [run.python(name) for name in "ab"] == [True, False]
    assert _choice(run, "c") == ("opt.cpu", True, False)


LACKING = """\
import argparse
import torch
{before}
def describe(args):
    print(args.lr)
parser = argparse.ArgumentParser(description="a program")
group = parser.add_argument_group("all")
group.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--weight-decay", "-w", type=float)
{between}
args = parser.parse_args()
print(args, args.lr, args.weight_decay)
describe(args)
{after}
x = torch.rand(1, 3)
x.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
print(x)
"""


@pytest.mark.parametrize(
    ("after", "before", "between", "ends"),
    [
        ("print(args.epochs)", "", "", True),
        ("if hasattr(args, 'epochs'): exit()", "", "", False),
        ("if not hasattr(args, 'epochs'): exit()", "", "", True),
        ("if getattr(args, 'epochs', None) is None: exit()", "", "", True),
        ("try:\n    print(args.epochs)\nexcept AttributeError:\n    pass", "", "", False),
        ("print(args.lr)", "", "", False),
        ("print(args._get_kwargs())", "", "", False),
        ("args.epochs = 3\nprint(args.epochs)", "", "", False),
        ("print(args.epochs)", "class Other:\n    def put(self, a):\n        a.epochs = 3", "", False),
        ("from lib import name\nsetattr(args, name, 3)\nprint(args.epochs)", "", "", False),
        ("print(vars(args))\nprint(args.epochs)", "", "", False),
        ("import lib\nargs.__dict__.update(lib.read())\nprint(args.epochs)", "", "", False),
        ("import lib\nlib.start(args)\nprint(args.epochs)", "", "", False),
        ("import lib\nlib.Trainer([args])\nprint(args.epochs)", "", "", False),
        ("print(args.epochs)", "import lib", "lib.add_options(parser)", False),
        ("print(args.epochs)", "import lib", "lib.add_options(group)", False),
        ("print(args.epochs)", "", "parser.set_defaults(epochs=3)", False),
        ("print(args.epochs)", "", "if torch.rand(1) > 2: parser.add_argument('--epochs')", False),
        ("print(args.epochs)", "", "for name in ['epo']:\n    parser.add_argument('--' + name + 'chs')", False),
        ("print(args.epochs)", "from lib import Own", "parser.add_argument('--n', action=Own)", False),
        ("print(args.epochs)", "", "parser.add_argument('--n', dest='num_epochs')", True),
        ("print(args.epochs)", "", "parser.add_subparsers()", False),
        ("print(args.epochs)", "import configargparse as argparse", "", False),
        ("args, rest = parser.parse_known_args()\nprint(args.epochs)", "", "", False),
        ("args = parser.parse_args(namespace=argparse.Namespace(a=1))\nprint(args.epochs)", "", "", False),
    ],
)  # fmt: skip
def test_an_option_that_the_parser_surely_lacks(
    after: str, before: str, between: str, ends: bool, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(LACKING.format(before=before, between=between, after=after))
    assert [one.code for one in check([program], Config(root=tmp_path))] == ([] if ends else ["DEV201"])


@pytest.mark.parametrize(("between", "ends"), [("", True), ("lib.add_options(parser)", False)])
def test_an_option_that_a_parser_of_another_file_surely_lacks(between: str, ends: bool, tmp_path: Path) -> None:
    """The other file's run is one of its own: what it says of its parser holds for who imports it."""
    (tmp_path / "options.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, default=0.1)\n"
    )
    (tmp_path / "other.py").write_text("import torch\n")
    program = tmp_path / "program.py"
    program.write_text(
        f"import lib\nimport torch\nfrom options import parser\nimport other\n{between}\nargs = parser.parse_args()\n"
        "print(args.epochs)\nx = torch.rand(1, 3)\nx.to('cuda' if torch.cuda.is_available() else 'cpu')\nprint(x)\n"
    )
    assert [one.code for one in check([program], Config(root=tmp_path))] == ([] if ends else ["DEV201"])


MANY_OPTIONS = """\
import argparse
import torch
import lib
def numbers(text):
    found = []
    for part in text.split(","):
        {work}
        found.append(int(part))
    return found
def note(text):
    {work}
    print(args.option_1, text)
def pass_on(given):
    {work}
    lib.start({given})
parser = argparse.ArgumentParser()
{options}
args = parser.parse_args()
{between}
print(args.epochs)
x = torch.rand(1, 3)
x.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
print(x)
"""


@pytest.mark.parametrize("count", [13, 14, 100])
@pytest.mark.parametrize(
    ("between", "given", "ends"),
    [
        ("", "", True),
        ("note({i})", "", True),
        ("pass_on({i})", "given", True),
        ("pass_on(args if {i} == 12 else {i})", "given", False),
        ("pass_on([args] if {i} == 12 else {i})", "given", False),
        ("pass_on({i})", "args if given == 12 else 0", False),
    ],
)
def test_a_parser_of_many_options(count: int, between: str, given: str, ends: bool, tmp_path: Path) -> None:
    options = [f'parser.add_argument("--option-{i}", type=numbers, default="{i},2")' for i in range(count)]
    program = tmp_path / "program.py"
    text = MANY_OPTIONS.format(
        work="; ".join(f"n{i} = str({i})" for i in range(100)),
        options="\n".join(options),
        between="\n".join(between.format(i=i) for i in range(count)),
        given=given,
    )
    program.write_text(text)
    assert [one.code for one in check([program], Config(root=tmp_path))] == ([] if ends else ["DEV201"])


def test_another_file_may_write_an_option(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def fill(options):\n    options.epochs = 3\n")
    (tmp_path / "apart.py").write_text("def fill(options):\n    options.steps = 3\n")
    program = tmp_path / "program.py"
    for name, codes in (("epochs", ["DEV201"]), ("steps", [])):
        program.write_text(LACKING.format(before="import tools", between="", after=f"print(args.{name})"))
        assert [one.code for one in check([program], Config(root=tmp_path))] == codes


GOES_OVER_ALL = (
    "opt = parser.parse_args()\n"
    "for name in vars(opt):\n"
    "    if vars(opt)[name] == 'True':\n"
    "        vars(opt)[name] = True\n"
)


def test_going_over_all_options_goes_over_those_of_the_parser() -> None:
    run = Run(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--arch', default='unet')\n"
        "parser.add_argument('--half', default='True')\nparser.add_argument('--cpu', action='store_true')\n"
        + GOES_OVER_ALL
        + "a, b, c = opt.arch, opt.half, opt.cpu\n"
    )
    assert [run.python(name) for name in "ab"] == ["unet", True]
    assert _choice(run, "c") == ("opt.cpu", True, False)


@pytest.mark.parametrize(
    ("between", "is_open"),
    [("", False), ("print(opt)", False), ("somewhere.fill(opt)", True), ("vars(opt)[somewhere.name()] = 1", True)],
)
def test_a_namespace_that_others_may_have_filled_has_further_names(between: str, is_open: bool) -> None:
    run = Run(
        "import argparse, somewhere\nparser = argparse.ArgumentParser()\nparser.add_argument('--arch')\n"
        f"opt = parser.parse_args()\n{between}\nfields = vars(opt)"
    )
    fields = run["fields"]
    assert isinstance(fields, Mapping)
    assert fields.open is is_open
