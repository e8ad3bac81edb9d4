"""What speaks for a program that means to run without a GPU: there a missing GPU is an error, elsewhere advice."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from devlint.config import Config
from devlint.linter import check

MEANT = {
    "asks and takes another number where there is no GPU": """\
        import torch
        print(torch.ones(2).cuda(), torch.cuda.device_count() * 2 if torch.cuda.is_available() else 1)
        """,
    "asks what there is and takes the accelerator for granted elsewhere": """\
        import torch
        print(torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu"))
        kind = torch.accelerator.current_accelerator().type
        print(torch.ones(2, device=kind))
        """,
    "asks and chooses": """\
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        print(torch.ones(2).cuda())
        """,
    "shows the answer and asks by it": """\
        import torch
        has_cuda = torch.cuda.is_available()
        print("CUDA:", has_cuda)
        print(torch.ones(2).cuda() if has_cuda else 0, torch.ones(2).cuda())
        """,
    "doubts the default of an option elsewhere": """\
        import argparse
        import torch
        def decoder(device):
            if str(device).startswith("cuda") and not torch.cuda.is_available():
                device = "cpu"
            return torch.ones(2, device=device)
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda")
        args = parser.parse_args()
        print(torch.zeros(2, device=args.device), decoder(args.device))
        """,
    "takes what a setting names in one place only if it is there": """\
        from dataclasses import dataclass
        import torch
        import resolving
        @dataclass
        class Config:
            device: str = "cuda:0"
        config = Config()
        print(torch.zeros(2, device=config.device), torch.ones(2, device=resolving.resolve(config.device)))
        """,
    "takes the default of an option in one place only if it is there": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda:0")
        args = parser.parse_args()
        device = torch.device(args.device if torch.cuda.is_available() else "cpu")
        print(torch.ones(2, device=device), torch.zeros(2, device=args.device))
        """,
    "does without a package for GPUs": """\
        import argparse
        import torch
        try:
            import apex
        except ImportError:
            apex = None
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=int, default=0, help="-1: none")
        args = parser.parse_args()
        x = torch.ones(2)
        if args.gpu >= 0:
            x = x.cuda(args.gpu)
        print(x + torch.ones(2).cuda())
        """,
    "asks in a helper of its own": """\
        import torch
        def pick():
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(torch.ones(2).to(pick()) + torch.ones(2).cuda())
        """,
    "counts devices": """\
        import torch
        if torch.cuda.device_count() > 0:
            torch.cuda.init()
        print(torch.ones(2).cuda())
        """,
    "takes -1 for no GPU": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=int, default=0, help="-1: none")
        args = parser.parse_args()
        x = torch.ones(2)
        if args.gpu >= 0:
            x = x.cuda(args.gpu)
        print(x + torch.ones(2).cuda())
        """,
    "a flag to do without": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", action="store_true")
        args = parser.parse_args()
        print(torch.ones(2).cuda())
        """,
    "an option that is on by default and says nothing of GPUs": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--pretrained", action=argparse.BooleanOptionalAction, default=True)
        args = parser.parse_args()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        x = torch.ones(2).to(device)
        print(x.cuda() if args.pretrained else x)
        """,
    "an option whose default is a device": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda")
        args = parser.parse_args()
        print(torch.ones(2).cuda())
        """,
    "chooses between two devices by a setting": """\
        import json
        import torch
        settings = json.load(open("settings.json"))
        device = torch.device("cuda" if settings["fast"] else "cpu")
        print(torch.ones(2).cuda())
        """,
    "a branch for each": """\
        import sys
        import torch
        if len(sys.argv) > 3:
            place = "cpu"
        else:
            place = "cuda"
        print(torch.ones(2).cuda())
        """,
    "a network that runs on the CPU": """\
        import torch
        class Loss:
            def __init__(self, device=torch.device("cuda")):
                self.device = device
            def __call__(self, out):
                return out.to(self.device).mean()
        net = torch.nn.Linear(3, 3)
        print(Loss()(net(torch.ones(2, 3))))
        """,
    "loads where it chose, and works there": """\
        import torch
        def load(path):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = torch.nn.Linear(2, 2).to(device)
            net.load_state_dict(torch.load(path, map_location=device))
            return net
        print(load("net.pt")(torch.ones(2).cuda()))
        """,
    "a flag that is on and can be turned off": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--cuda", action="store_false", default=True)
        args = parser.parse_args()
        print(torch.ones(2).cuda())
        """,
    "asks after it divided by their number": """\
        import os
        import torch
        settings = {"gpus": torch.cuda.device_count()}
        settings["share"] = os.cpu_count() // settings["gpus"]
        print(torch.ones(2, device="cuda" if settings["gpus"] > 0 else "cpu"))
        """,
    "asks after it took the first of them": """\
        import torch
        names = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
        first = names[0]
        print(torch.ones(2, device=first if torch.cuda.is_available() else "cpu"))
        """,
    "prints what its own helper chose": """\
        import torch
        def pick():
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        print(pick())
        print(torch.ones(2).cuda())
        """,
}

GOES_ON = {
    "falls back": "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nprint(torch.ones(2, device=device))\n",
    "an option": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--cpu', action='store_true')\n"
    "if not p.parse_args().cpu and not torch.cuda.is_available():\n    sys.exit('no GPU')\n",
    "a move": "if torch.cuda.is_available():\n    y = torch.ones(2).cuda()\n",
    "leaves with one": "if torch.cuda.is_available():\n    sys.exit()\n",
}
LEAVES = {
    "raise": "if not torch.cuda.is_available():\n    raise RuntimeError('no GPU')\n",
    "exit": "if not torch.cuda.is_available():\n    print('no GPU')\n    sys.exit(1)\n",
    "the other side": "if torch.cuda.is_available():\n    y = x\nelse:\n    raise SystemExit('no GPU')\n",
    "assertion": "assert torch.cuda.is_available()\n",
    "by number": "if torch.cuda.device_count() == 0:\n    quit()\n",
    "in a function": "def ask():\n    if not torch.cuda.is_available():\n        raise RuntimeError('no GPU')\nask()\n",
}
MEASURES = {
    "waits": "if torch.cuda.is_available():\n    torch.cuda.synchronize()\n",
    "begins anew": "if torch.cuda.is_available():\n    torch.cuda.reset_peak_memory_stats()\n",
    "shows": "print('GPU', torch.cuda.is_available())\n",
    "tells the memory": "if torch.cuda.is_available():\n    print(torch.cuda.max_memory_allocated())\n",
}

NOT_SHOWN = {
    "asks what the GPU is able to do": """\
        import torch
        is_new = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 8
        print(torch.ones(2, dtype=torch.bfloat16 if is_new else torch.float).cuda())
        """,
    "asks before it measures how much memory is taken": """\
        import torch
        def taken():
            return torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0
        print(torch.ones(2).cuda(), taken())
        """,
    "has a list of numbers of GPUs": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", default=[0], type=list)
        args = parser.parse_args()
        print(torch.ones(2).cuda())
        """,
    "a network that runs on the CPU before the script names a GPU": """\
        import torch
        small = torch.nn.Linear(3, 3)
        print(small(torch.ones(2, 3)))
        device = torch.device("cuda:0")
        print(torch.nn.Linear(3, 3).to(device)(torch.ones(2, 3).to(device)))
        """,
    "takes the accelerator for granted": """\
        import torch
        kind = torch.accelerator.current_accelerator().type if hasattr(torch, "accelerator") else "cuda"
        print(torch.ones(2, device=kind))
        """,
    "an option that says which GPU": """\
        import argparse, os
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", default="0", help="which GPU")
        os.environ["CUDA_VISIBLE_DEVICES"] = parser.parse_args().gpu
        print(torch.ones(2).cuda())
        """,
    "an option that says which GPU, and none unless it is given": """\
        import argparse, os
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=str, help="0/1/2/3")
        os.environ["CUDA_VISIBLE_DEVICES"] = parser.parse_args().gpu
        print(torch.ones(2).cuda())
        """,
    "an option that says which GPU by its number": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=int, default=0, help="which GPU")
        args = parser.parse_args()
        print(torch.ones(2).cuda(args.gpu))
        """,
    "an option for the number of a GPU": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", type=int, default=None, help="which GPU, all unless given")
        args = parser.parse_args()
        net = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()
        print(net, args.gpu)
        """,
    "an option that selects all GPUs": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--gpu", default="all", help="the GPUs to use")
        args = parser.parse_args()
        print(torch.ones(2).cuda())
        """,
    "a flag that is on for good": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--cuda", action="store_true", default=True)
        args = parser.parse_args()
        x = torch.ones(2).cuda()
        if args.cuda:
            print(x + torch.ones(2).cuda())
        """,
    "asks where to load to": """\
        import torch
        def load(path):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            return torch.load(path, map_location=device)
        net = torch.nn.Linear(2, 2)
        net.load_state_dict(load("net.pt"))
        net.load_state_dict(torch.load("net.pt", map_location="cuda" if torch.cuda.is_available() else "cpu"))
        print(net.cuda())
        """,
    "tells one GPU from several": """\
        import torch
        count = torch.cuda.device_count()
        if count == 1:
            print("alone")
        if count > 1:
            print("together")
        print(torch.ones(2).cuda())
        """,
    "leaves one GPU for itself": """\
        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        import torch
        print(torch.ones(2).cuda())
        """,
    "never asks": """\
        import torch
        print(torch.ones(2).cuda())
        """,
    "only shows the answer": """\
        import torch
        print("CUDA:", torch.cuda.is_available())
        print(torch.ones(2).cuda())
        """,
    "insists": """\
        import sys
        import torch
        def start(ranks):
            assert torch.cuda.is_available(), "this needs CUDA"
        if len(sys.argv) > 1:
            start(2)
        print(torch.ones(2).cuda())
        """,
    "only warns": """\
        import torch
        if torch.cuda.is_available():
            print("WARNING: you have a CUDA device, so use it")
        print(torch.ones(2).cuda())
        """,
    "skips its tests": """\
        import pytest
        import torch
        pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="it needs CUDA")
        def test_sum():
            assert torch.ones(2).cuda().sum() == 2
        if __name__ == "__main__":
            print(torch.ones(2).cuda())
        """,
    "asks for speed alone": """\
        import torch
        if torch.cuda.is_available():
            torch.backends.cudnn.benchmark = True
        print(torch.ones(2).cuda())
        """,
    "builds a module with a trial run": """\
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body = torch.nn.Linear(3, 3)
                self.size = self.body(torch.ones(1, 3)).shape[1]
            def forward(self, x):
                return self.body(x)
        print(Net().cuda())
        """,
    "which GPU is another matter": """\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--num-gpus", type=int, default=1)
        args = parser.parse_args()
        if args.num_gpus > 1:
            print("many")
        print(torch.ones(2).cuda())
        """,
    "says mps": """\
        import torch
        print(torch.ones(2, device="mps"))
        """,
    "shows the answer beside what it calls": """\
        import torch
        from importlib.metadata import version
        print("cuda", torch.cuda.is_available(), "torch", version("torch"))
        print(torch.ones(2).cuda())
        """,
    "puts the answer into a text": """\
        import torch
        class Log:
            def log(self, text):
                print(text)
        logger = Log()
        logger.log("CUDA available: {:}".format(torch.cuda.is_available()))
        logger.log(f"CUDA available: {torch.cuda.is_available()}")
        print(torch.ones(2).cuda())
        """,
    "keeps the answer and shows it": """\
        import torch
        has_cuda = torch.cuda.is_available()
        print("CUDA:", has_cuda, "cuda:0")
        print(torch.ones(2).cuda())
        """,
}


def severities(folder: Path, entry: str) -> list[str]:
    """The severities of what is said of missing CUDA in a program of a folder."""
    found = check([folder / entry], Config(root=folder))
    return [finding.severity for finding in found if finding.code in ("DEV102", "DEV107", "DEV109")]


def write(folder: Path, **files: str) -> None:
    """Write files, with the indentation of their first row taken away."""
    for name, text in files.items():
        rows = text.splitlines()
        margin = len(rows[0]) - len(rows[0].lstrip())
        (folder / f"{name}.py").write_text("\n".join(row[margin:] for row in rows) + "\n")


RESOLVING = """\
    import torch
    def resolve(name):
        if name.startswith("cuda") and not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device(name)
    """


@pytest.mark.parametrize("text", MEANT.values(), ids=MEANT)
def test_meant_for_a_machine_without_a_gpu(text: str, tmp_path: Path) -> None:
    write(tmp_path, program=text, resolving=RESOLVING)
    assert severities(tmp_path, "program.py") == ["error"]


@pytest.mark.parametrize("text", NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_nothing_shows_that_it_is_meant(text: str, tmp_path: Path) -> None:
    write(tmp_path, program=text)
    assert severities(tmp_path, "program.py") == ["advice"]


def test_what_is_asked_of_a_device_that_a_setting_names_is_its_users(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="""\
        import torch
        from somewhere import settings
        def info(config):
            found = {"torch": torch.__version__}
            if config.device != "cpu":
                found["gpu"] = torch.cuda.get_device_name(0)
            return found
        config = settings()
        if not torch.cuda.is_available():
            config.device = "cpu"
        config = settings(config)
        print(info(config), torch.ones(2, device=config.device))
        """,
    )
    assert severities(tmp_path, "program.py") == []


def test_the_default_of_an_option_that_nobody_doubts_is_the_users(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="""\
        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cuda")
        args = parser.parse_args()
        print(torch.zeros(2, device=args.device), torch.cuda.is_available() and torch.ones(2, device="cuda"))
        """,
    )
    assert severities(tmp_path, "program.py") == []


@pytest.mark.parametrize(("option", "expected"), [("use_cuda", []), ("cuda_steps", ["advice"])])
def test_a_switch_in_numbers_is_an_option_like_any_other(option: str, expected: list[str], tmp_path: Path) -> None:
    write(
        tmp_path,
        program=f"""\
        import argparse
        import torch
        def objective(config):
            use_cuda = bool(config["{option}"])
            if torch.cuda.is_available() and not use_cuda:
                print("There is a GPU, and it is not used.")
            device = torch.device("cuda" if use_cuda else "cpu")
            return torch.nn.Linear(2, 1).to(device)(torch.ones(2, device=device))
        parser = argparse.ArgumentParser()
        parser.add_argument("--{option}", type=int, default=1)
        objective(vars(parser.parse_args()))
        """,
    )
    assert severities(tmp_path, "program.py") == expected


@pytest.mark.parametrize(
    ("last", "expected"), [("pass", "advice"), ("other = torch.zeros(4) if torch.cuda.is_available() else 0", "error")]
)
def test_a_constant_of_another_file_is_the_switch_of_what_is_imported(last: str, expected: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        config='DEVICE = "cuda"',
        spectra=f"import config, torch\nwindow = torch.ones(4).to(config.DEVICE)\n{last}",
    )
    found = check([tmp_path / "spectra.py"], Config(root=tmp_path))
    assert [finding.severity for finding in found if finding.code == "DEV110"] == [expected]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ('"cuda:1"', "advice"),
        ('"cuda:2"', "error"),
        ('"cuda:1" if torch.cuda.is_available() else "cpu"', "error"),
    ],
)
def test_a_program_that_makes_two_gpus_visible_is_for_two(second: str, expected: str, tmp_path: Path) -> None:
    program = f"""\
        import os, torch
        os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
        print(torch.ones(2, device="cuda:0"), torch.ones(2, device={second}))
        """
    for text in (program, program.replace("print(", "both = (")):  # a program, and what is imported
        write(tmp_path, program=text)
        found = check([tmp_path / "program.py"], Config(root=tmp_path))
        assert [finding.severity for finding in found if finding.code == "DEV101"] == [expected]


def after_a_use(text: str) -> str:
    """A program that uses CUDA first and then does what is given."""
    return (
        "import sys, torch\ndef main():\n    x = torch.zeros(2).cuda()\n"
        + indent(text, "    ")
        + "    print(x)\nmain()\n"
    )


@pytest.mark.parametrize("text", GOES_ON.values(), ids=GOES_ON)
def test_goes_on_without_a_gpu(text: str, tmp_path: Path) -> None:
    write(tmp_path, program=after_a_use(text))
    assert severities(tmp_path, "program.py") == ["error"]


@pytest.mark.parametrize("text", [*LEAVES.values(), *MEASURES.values()], ids=[*LEAVES, *MEASURES])
def test_leaves_without_a_gpu_or_only_measures_one(text: str, tmp_path: Path) -> None:
    write(tmp_path, program=after_a_use(text))
    assert severities(tmp_path, "program.py") == ["advice"]


ASKING_LIBRARY = """\
    import torch
    def speed():
        return 2 if torch.cuda.is_available() else 1
    """


def test_what_a_library_asks_deep_inside_says_nothing_of_its_user(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nimport middle\nmiddle.work()\nprint(torch.ones(2).cuda())\n",
        middle="import deep\ndef work():\n    return deep.speed()\n",
        deep=ASKING_LIBRARY,
    )
    assert severities(tmp_path, "program.py") == ["advice"]


def test_what_a_library_does_without_says_nothing_of_who_names_a_gpu(tmp_path: Path) -> None:
    """The library asks what there is; the program names the GPU that it wants."""
    write(
        tmp_path,
        program='from zoo import load\nprint(load(device="cuda"))\n',
        zoo="""\
        import deep
        import torch
        def load(device="cpu"):
            deep.speed()
            return torch.nn.Linear(2, 2).to(device)
        """,
        deep=ASKING_LIBRARY,
    )
    assert severities(tmp_path, "program.py") == ["advice"]


def test_what_a_helper_is_called_to_ask_does(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nimport deep\ndeep.speed()\nprint(torch.ones(2).cuda())\n",
        deep=ASKING_LIBRARY,
    )
    assert severities(tmp_path, "program.py") == ["error"]


def test_what_a_helper_asks_for_its_own_work_does_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nimport helper\nhelper.evaluate(torch.nn.Linear(2, 2))\nprint(torch.ones(2).cuda())\n",
        helper="""\
        import torch
        def evaluate(net):
            if torch.cuda.is_available():
                net = net.cuda()
            return net(torch.ones(3, 2).to(net.weight.device))
        """,
    )
    assert severities(tmp_path, "program.py") == ["advice"]


def test_an_option_whose_file_asks_what_there_is_does(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nfrom options import Options\nopt = Options().parse()\nprint(torch.ones(2).cuda())\n",
        options="""\
        import argparse
        import torch
        class Options:
            def __init__(self):
                self.parser = argparse.ArgumentParser()
                default = "0" if torch.cuda.is_available() else "-1"
                self.parser.add_argument("--gpus", default=default)
            def parse(self):
                opt = self.parser.parse_args()
                opt.gpus = [int(gpu) for gpu in opt.gpus.split(",")]
                return opt
        """,
    )
    assert severities(tmp_path, "program.py") == ["error"]


IMPORTED = "import torch\nSHAPES = torch.ones(2).cuda()\ndef area():\n    return SHAPES.prod().item()\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("shapes", IMPORTED, "error"),
        ("test_shapes", IMPORTED, "advice"),
        ("test_shapes", f"{IMPORTED}PLACE = 'cuda' if torch.cuda.is_available() else 'cpu'\n", "error"),
    ],
)
def test_importing_tests_that_ask_for_nothing(name: str, text: str, expected: str, tmp_path: Path) -> None:
    """All of such tests may need a GPU; a library is imported for other things, too."""
    write(tmp_path, **{name: text})
    found = check([tmp_path / f"{name}.py"], Config(root=tmp_path))
    assert [(finding.code, finding.severity) for finding in found] == [("DEV110", expected)]


def unavailable(folder: Path, *entries: str) -> list[tuple[str, str, int]]:
    """What is said of missing CUDA in the files of a folder: rule, file and row."""
    found = check([folder / entry for entry in entries], Config(root=folder))
    return [
        (finding.code, Path(finding.location.filename).name, finding.location.start.row)
        for finding in found
        if finding.code in ("DEV102", "DEV107", "DEV110")
    ]


def test_of_a_file_that_cannot_be_imported_no_more_is_said(tmp_path: Path) -> None:
    """Nobody comes to its functions; what its user does beside it is another matter."""
    write(
        tmp_path,
        program="""\
        import torch
        import shapes
        device = "cuda" if torch.cuda.is_available() else "cpu"
        print(shapes.area())
        """,
        shapes="""\
        import torch
        SHAPES = torch.ones(2).cuda()
        def area():
            return torch.zeros(2).cuda()
        """,
    )
    assert unavailable(tmp_path, "program.py", "shapes.py") == [("DEV110", "shapes.py", 2)]


def test_of_files_that_import_one_another_the_first_to_fail_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        outer="import torch\nimport inner\nSIZES = torch.ones(3).cuda()\ndef size():\n    return SIZES\n",
        inner="import torch\nSHAPES = torch.ones(2).cuda()\ndef area():\n    return SHAPES\n",
    )
    assert unavailable(tmp_path, "outer.py", "inner.py") == [("DEV110", "inner.py", 2)]


def test_a_device_that_is_imported_does(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nfrom config import DEVICE\nprint(torch.ones(2).cuda())\n",
        config='import torch\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n',
    )
    assert severities(tmp_path, "program.py") == ["error"]


def test_an_import_further_down_does_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import torch\nimport middle\nprint(torch.ones(2).cuda())\n",
        middle="import config\n",
        config='import torch\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n',
    )
    assert severities(tmp_path, "program.py") == ["advice"]


def test_an_option_of_a_program_that_imports_what_needs_a_gpu_is_not_taken_at_its_word(tmp_path: Path) -> None:
    write(
        tmp_path,
        program="import nvidia.dali\n" + "\n".join(row[8:] for row in MEANT["a flag to do without"].splitlines()),
    )
    assert severities(tmp_path, "program.py") == []


def test_one_that_asks_is(tmp_path: Path) -> None:
    write(
        tmp_path, program="import nvidia.dali\n" + "\n".join(row[8:] for row in MEANT["asks and chooses"].splitlines())
    )
    assert severities(tmp_path, "program.py") == ["error"]


ASKS = "import torch\nplace = 'cuda' if torch.cuda.is_available() else 'cpu'\n"


@pytest.mark.parametrize(
    "body, rows",
    [
        ("def far():\n    return torch.ones(2).cuda()\ntorch.cuda.set_device(0)\nfar()\n", [5]),
        (
            "def far():\n    return torch.ones(2).cuda()\nif len(input()) > 2:\n    torch.cuda.set_device(0)\nfar()\n",
            [4, 6],
        ),
        (
            "def far():\n    return torch.ones(2).cuda()\n"
            "try:\n    torch.cuda.set_device(0)\nexcept Exception:\n    pass\nfar()\n",
            [4],
        ),
    ],
    ids=["dies before", "may have gone on", "catches it"],
)
def test_what_comes_after_the_end_of_a_run_is_counted(tmp_path: Path, body: str, rows: list[int]) -> None:
    write(tmp_path, program=ASKS + body)
    found = [f for f in check([tmp_path / "program.py"], Config(root=tmp_path)) if f.code in ("DEV102", "DEV107")]
    assert sorted(finding.location.start.row for finding in found) == rows
    assert ("1 more use of CUDA follows" in found[0].message) is (rows == [5])


def test_an_index_that_is_written_again_is_counted(tmp_path: Path) -> None:
    """The second is to be mended too, but was decided with the first; what only passes an index on is not where it is
    written."""
    text = (
        "import torch\nif torch.cuda.is_available():\n    ids = [int(name) for name in ('1',)]\n"
        "    a = torch.ones(2).cuda(1)\n    with torch.cuda.device(1):\n        pass\n"
        "    b = torch.ones(2).cuda(ids[0])\n"
    )
    write(tmp_path, program=text)
    found = check([tmp_path / "program.py"], Config(root=tmp_path))
    assert [(finding.code, finding.location.start.row) for finding in found] == [("DEV101", 4)]
    assert "and 1 more place here names it" in found[0].message


def test_where_one_program_is_meant_for_the_cpu_and_another_is_not_the_words_are_those_of_the_first(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        a_trains="import torch\nfrom shared import build\nprint(build())\n",
        b_shows='import torch\nfrom shared import build\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "print(build().to(device))\n",
        shared="import torch\ndef build():\n    return torch.nn.Linear(2, 2).cuda()\n",
    )
    found = check([tmp_path / name for name in ("a_trains.py", "b_shows.py", "shared.py")], Config(root=tmp_path))
    assert [(item.severity, "nothing here asks" in item.message) for item in found] == [("error", False)]


CHOOSES = 'import torch\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
LOADS = {
    "a program that was exported": ('net = torch.jit.load("net.ts").to(device)\nprint(net)\n', "advice"),
    "its own": ('def load(path):\n    return torch.load(path)\nprint(load("net.pt").eval())\n', "error"),
    "downloaded": (
        "import os, urllib.request\n"
        "def load(path):\n"
        "    if not os.path.exists(path):\n"
        '        urllib.request.urlretrieve("https://example.org/net.pt", path)\n'
        "    return torch.load(path)\n"
        'print(load("net.pt").eval())\n',
        "advice",
    ),
    "named by the download": (
        "from huggingface_hub import hf_hub_download\n"
        "def load():\n"
        '    path = hf_hub_download(repo_id="an/example", filename="net.pt")\n'
        "    return torch.load(path)\n"
        "print(load().eval())\n",
        "advice",
    ),
    "brought by a helper": (
        "import gdown\n"
        "def fetch(path):\n"
        '    gdown.download("https://example.org/net.pt", path)\n'
        "def load(path):\n"
        "    fetch(path)\n"
        "    return torch.load(path)\n"
        'print(load("net.pt").eval())\n',
        "advice",
    ),
    "brought by what has its path": (
        "def load(weights):\n"
        "    weights.download_if_necessary()\n"
        "    return torch.load(weights.path)\n"
        "from elsewhere import Weights\n"
        'print(load(Weights("net")).eval())\n',
        "advice",
    ),
    "of another than was downloaded": (
        "def load(weights, pictures):\n"
        "    pictures.download()\n"
        "    return torch.load(weights.path)\n"
        "from elsewhere import Files\n"
        'print(load(Files("net"), Files("cats")).eval())\n',
        "error",
    ),
    "beside what is downloaded": (
        "import urllib.request\n"
        "def load(path, image):\n"
        '    urllib.request.urlretrieve("https://example.org/cat.png", image)\n'
        "    return torch.load(path)\n"
        'print(load("net.pt", "cat.png").eval())\n',
        "error",
    ),
}


@pytest.mark.parametrize(("text", "severity"), LOADS.values(), ids=LOADS)
def test_who_made_a_file_that_was_downloaded_nobody_here_can_tell(text: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(CHOOSES + text)
    found = check([tmp_path / "program.py"], Config(root=tmp_path))
    assert [item.severity for item in found if item.code == "DEV106"] == [severity]


def test_nor_who_made_one_that_the_readers_of_a_document_load(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(f"# Use\n\n```python\n{CHOOSES}print(torch.load('net.pt'))\n```\n")
    found = check([tmp_path / "guide.md"], Config(root=tmp_path))
    assert [(item.code, item.severity) for item in found] == [("DEV106", "advice")]


@pytest.mark.parametrize("row", ["x = x.cuda()", "torch.cuda.synchronize()", "x = x.to('cuda:1')"])
def test_what_a_document_shows_is_advice(row: str, tmp_path: Path) -> None:
    text = f"{CHOOSES}x = torch.zeros(2, device=device)\n{row}\n"
    (tmp_path / "guide.markdown").write_text(f"# Use\n\n```python\n{text}```\n")
    (tmp_path / "program.py").write_text(text)
    assert [item.severity for item in check([tmp_path / "guide.markdown"], Config(root=tmp_path))] == ["advice"]
    assert [item.severity for item in check([tmp_path / "program.py"], Config(root=tmp_path))] == ["error"]


def test_a_program_that_computes_on_the_cpu_says_nothing_of_another_with_the_same_modules(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(
        tmp_path,
        a_shows="import torch\nfrom parts.net import Net\nprint(Net()(torch.ones(2)))\n",
        b_trains="import torch\nfrom parts.net import Net\nprint(Net().cuda())\n",
    )
    (tmp_path / "parts" / "__init__.py").write_text("from parts.net import Net\n")
    (tmp_path / "parts" / "net.py").write_text(
        "import torch\nfrom parts.size import SIZE\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.out = torch.nn.Linear(SIZE, SIZE)\n"
        "    def forward(self, x):\n"
        "        return self.out(x)\n"
    )
    (tmp_path / "parts" / "size.py").write_text("SIZE = 2\n")
    files = [tmp_path / name for name in ("a_shows.py", "b_trains.py")]
    assert [item.severity for item in check(files, Config(root=tmp_path)) if item.code == "DEV102"] == ["advice"]
