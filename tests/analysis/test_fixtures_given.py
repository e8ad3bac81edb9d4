"""What pytest's fixtures give to tests, by the names of their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config import Config
from devlint.linter import check

HEAD = """
import pytest
import torch

class Where:
    def __init__(self, device="cuda:0"):
        self.device = torch.device(device)

class State:
    def __init__(self, place):
        self.place = place

    @classmethod
    def zeros(cls, size, where):
        return cls(torch.zeros(size, device=where.device))
"""
IN_A_CLASS = """
class TestState:
    @pytest.fixture{called}
    def where(self{more}):
        {gives} Where({device})

    @pytest.fixture
    def state(self, where):
        return State.zeros(3, where)

    def test_zeros(self, where):
        assert torch.allclose(State.zeros(3, where).place, torch.zeros(3))

    def test_given(self, state):
        assert torch.allclose(state.place, torch.zeros(3))
"""
IN_THE_FILE = """
@pytest.fixture
def where():
    return Where({device})

def test_zeros(where):
    assert torch.allclose(State.zeros(3, where).place, torch.zeros(3))
"""


def rows(tmp_path: Path, text: str) -> list[int]:
    program = tmp_path / "test_state.py"
    program.write_text(HEAD + text)
    found = check([program], Config(root=tmp_path))
    return [one.location.start.row for one in found if one.code == "DEV303"]


@pytest.mark.parametrize(("device", "told"), [("'cpu'", []), ("'cuda'", [27, 30])])
def test_of_its_class(tmp_path: Path, device: str, told: list[int]) -> None:
    assert rows(tmp_path, IN_A_CLASS.format(called="", more="", gives="return", device=device)) == told


@pytest.mark.parametrize(("device", "told"), [("'cpu'", []), ("'cuda'", [22])])
def test_of_its_file(tmp_path: Path, device: str, told: list[int]) -> None:
    assert rows(tmp_path, IN_THE_FILE.format(device=device)) == told


@pytest.mark.parametrize(
    ("called", "more", "gives"),
    [
        ("(params=['small', 'large'])", ", request", "return"),
        ("", "", "yield"),
        ("(scope='class')", ", request", "return"),
    ],
)
def test_what_hangs_on_a_request(tmp_path: Path, called: str, more: str, gives: str) -> None:
    """Where a fixture has several values, or is not followed, what it gives is not known."""
    assert rows(tmp_path, IN_A_CLASS.format(called=called, more=more, gives=gives, device="'cuda'")) == []


SEVERAL = """
import elsewhere
DEVICES = ["cpu", "cuda"]
CUDA = torch.cuda.is_available()
LATER = pytest.mark.skip(reason="later")

def places():
    return ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])

@pytest.mark.parametrize({given})
def test_zeros({parameters}):
    assert torch.allclose(torch.zeros(3, device={device}), torch.zeros(3))
"""


@pytest.mark.parametrize(
    ("given", "parameters", "device"),
    [
        ("'device', ['cpu', 'cuda']", "device", "device"),
        ("'device', ('cpu', 'cuda:0')", "device", "device"),
        ("'device', DEVICES", "device", "device"),
        ("'device', places()", "device", "device"),
        ("'device', [None, *places()]", "device", "device"),
        ("argnames='device', argvalues=['cpu', 'cuda']", "device", "device"),
        ("'device', [torch.device('cpu'), torch.device('cuda')]", "device", "device"),
        ("'size, device', [(3, 'cpu'), (3, 'cuda')]", "size, device", "device"),
        ("('size', 'device'), [[3, 'cpu'], [3, 'cuda']]", "size, device", "device"),
        ("'where', [Where('cpu'), Where()]", "where", "where.device"),
        ("'where, device', [(Where('cpu'), 'cuda')]", "where, device", "device"),
        (
            "'device', ['cpu', pytest.param('cuda', marks=pytest.mark.skipif(not CUDA, reason=''))]",
            "device",
            "device",
        ),
        ("'size, device', [pytest.param(3, 'cuda', id='on a GPU')]", "size, device", "device"),
    ],
)
def test_one_of_several_values(tmp_path: Path, given: str, parameters: str, device: str) -> None:
    """A test that is run on the CPU and on a GPU is followed on the GPU."""
    told = rows(tmp_path, SEVERAL.format(given=given, parameters=parameters, device=device))
    assert told == ([] if parameters == "where" else [27])


@pytest.mark.parametrize(
    ("given", "device"),
    [
        ("'device', ['cpu']", "device"),
        ("'device', ['cpu', 'cuda:1']", "device"),  # not every machine with a GPU has it
        ("'device', ['cpu', pytest.param('cuda', marks=pytest.mark.skip)]", "device"),
        ("'device', [pytest.param('cuda', marks=[pytest.mark.xfail(strict=True)])]", "device"),
        ("'device', ['cpu', 'cuda'], indirect=True", "device"),
        ("'device', [elsewhere.unknown(), *elsewhere.others()]", "device"),
        ("'device, size', [('cpu', 3), 'cuda']", "device"),
        ("'other', ['cpu', 'cuda']", "device"),
        ("'device', ['cpu', pytest.param('cuda', marks=LATER)]", "device"),
        ("'device', ['cpu', pytest.param('cuda', marks=pytest.mark.skipif(CUDA, reason=''))]", "device"),
        ("'dev' + 'ice', ['cpu', 'cuda']", "device"),
        ("'device', ['half', 'cuda']", "device"),  # the test tells them apart
        ("'device', [torch.device('cpu'), 'cuda']", "device"),
    ],
)
def test_none_of_several_values(tmp_path: Path, given: str, device: str) -> None:
    assert rows(tmp_path, SEVERAL.format(given=given, parameters="device, size, other", device=device)) == []


ASKED = """
@pytest.fixture(params={params})
def device(request):
    return {gives}

@pytest.mark.parametrize("device", {own})
def test_its_own(device):
    assert torch.allclose(torch.zeros(3, device=device), torch.zeros(3))

class TestZeros:
    def test_zeros(self, device):
        assert torch.allclose(torch.zeros(3, device=device), torch.zeros(3))

def test_moved(device):
    assert torch.allclose(torch.zeros(3, device=device), torch.zeros(3).to(device))
"""


@pytest.mark.parametrize(
    ("params", "gives", "own", "told"),
    [
        ("['cpu', 'cuda']", "request.param", "['cpu']", [27]),
        ("['cpu', 'cuda']", "torch.device(request.param)", "['cuda']", [23, 27]),
        ("['cpu', 'meta']", "request.param", "['cpu']", []),
    ],
)
def test_a_fixture_of_several_values(tmp_path: Path, params: str, gives: str, own: str, told: list[int]) -> None:
    assert rows(tmp_path, ASKED.format(params=params, gives=gives, own=own)) == told


def test_of_files_above(tmp_path: Path) -> None:
    """Fixtures of a `conftest.py` are there for the tests below it; a nearer one of the same name goes first."""
    device = "@pytest.fixture\ndef device():\n    return {}\n"
    above = "import pytest\nimport torch\n" + device
    pair = "@pytest.fixture\ndef pair(device):\n    return torch.zeros(3, device=device), torch.zeros(3)\n"
    test = "import torch\n\ndef test_pair(pair):\n    assert torch.equal(*pair)\n"
    (tmp_path / "conftest.py").write_text(above.format("torch.device('cuda' if torch.cuda.is_available() else 'cpu')"))
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "conftest.py").write_text("import pytest\nimport torch\n" + pair)
    (tmp_path / "near" / "test_pair.py").write_text(test)
    (tmp_path / "near" / "on_cpu").mkdir()
    (tmp_path / "near" / "on_cpu" / "test_pair.py").write_text(
        test + device.format("'cpu'").join(["import pytest\n", ""])
    )
    found = check(sorted(tmp_path.rglob("*.py")), Config(root=tmp_path))
    assert [(one.code, Path(one.location.filename).parent.name, one.location.start.row) for one in found] == [
        ("DEV301", "near", 4)
    ]


@pytest.mark.parametrize(("does", "told"), [("torch.set_default_device('cuda')", 1), ("torch.manual_seed(0)", 0)])
def test_of_files_above_unnamed(tmp_path: Path, does: str, told: int) -> None:
    """What a `conftest.py` does before each test holds in the tests."""
    (tmp_path / "conftest.py").write_text(
        f"import pytest\nimport torch\n\n@pytest.fixture(autouse=True)\ndef before():\n    {does}\n"
    )
    (tmp_path / "test_pair.py").write_text(
        "import torch\n\ndef test_pair():\n    assert torch.equal(torch.zeros(3), torch.zeros(3, device='cpu'))\n"
    )
    found = check([tmp_path / "test_pair.py"], Config(root=tmp_path, worlds=("gpu1",)))
    assert len(found) == told


LEFT = """
ONLY_CPU = pytest.mark.parametrize("device", ["cpu"])

@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    return request.param

{before}
def test_zeros(device):
    {first}
    assert torch.allclose(torch.zeros(3, device=device), torch.zeros(3))
"""


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("", "if device == 'cuda':\n        pytest.skip('on the CPU alone')"),
        ("", "if torch.device(device).type != 'cpu':\n        pytest.xfail(reason='later')"),
        ("", "if device == 'cuda':\n        pytest.fail('unwanted')"),
        ("", "try:\n        pytest.exit('over')\n    except Exception:\n        pass"),
        ("@pytest.mark.xfail", ""),
        ("@pytest.mark.xfail(raises=RuntimeError, strict=True)", ""),
        ("@pytest.mark.skipif(torch.cuda.is_available(), reason='on the CPU alone')", ""),
        ("@ONLY_CPU", ""),
        ("@pytest.mark.parametrize('device', ['cpu'], indirect=True)", ""),
        ("@pytest.mark.parametrize('dev' + 'ice', ['cpu'])", ""),
        ("pytestmark = pytest.mark.parametrize('device', ['cpu'])", ""),
        ("def pytest_generate_tests(metafunc):\n    metafunc.parametrize('device', ['cpu'])\n", ""),
        ("@pytest.mark.slow", "device = 'cpu'"),
    ],
)
def test_what_is_not_run_on_a_gpu(tmp_path: Path, before: str, first: str) -> None:
    assert rows(tmp_path, LEFT.format(before=before, first=first)) == []


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ("", "if device == 'cpu':\n        pytest.skip('on a GPU alone')"),
        ("@pytest.mark.slow", ""),
        ("@pytest.mark.xfail(not torch.cuda.is_available(), reason='needs a GPU')", ""),
        ("@pytest.mark.parametrize('size', [3])", ""),
    ],
)
def test_what_is_run_on_a_gpu(tmp_path: Path, before: str, first: str) -> None:
    assert len(rows(tmp_path, LEFT.format(before=before, first=first))) == 1


@pytest.mark.parametrize(("does", "told"), [("skipTest", 0), ("fail", 0), ("subTest", 1)])
def test_cases_of_unittest(tmp_path: Path, does: str, told: int) -> None:
    case = f"""
import unittest

class TestZeros(unittest.TestCase):
    def test_zeros(self):
        if torch.cuda.is_available():
            self.{does}("on the CPU alone")
        assert torch.allclose(torch.zeros(3, device="cuda"), torch.zeros(3))
"""
    assert len(rows(tmp_path, case)) == told


def test_that_asks_for_its_request(tmp_path: Path) -> None:
    """A test may mark itself: `request.node.add_marker(pytest.mark.xfail)`."""
    assert rows(tmp_path, LEFT.format(before="", first="").replace("zeros(device)", "zeros(request, device)")) == []
