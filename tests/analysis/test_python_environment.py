"""Environment variables, and what CUDA_VISIBLE_DEVICES leaves."""

from __future__ import annotations

import pytest

from devlint.analysis.domain.values import Const, Unknown
from devlint.analysis.events import VisibleDevices
from devlint.analysis.python.environment import is_misspelled, visible_devices
from devlint.worlds import CPU, GPU1, GPU2, WORLDS
from tests.analysis.programs import Run


@pytest.mark.parametrize(
    ("text", "count", "ids"),
    [
        ("0", 2, (0,)),
        ("1", 2, (1,)),
        ("1", 1, ()),
        ("1,0", 2, (1, 0)),
        ("1,0", 1, ()),
        ("0, 1", 2, (0, 1)),
        ("0,1", 1, (0,)),
        ("0,1,2,3", 2, (0, 1)),
        ("2,3", 2, (2, 3)),
        ("2,3", 1, ()),
        ("", 2, ()),
        ("-1", 2, ()),
        ("0,-1,1", 2, (0,)),
        ("0,0", 2, ()),
        ("0", 0, ()),
        ("0.0", 2, (0,)),
        ("1st,0", 2, (1, 0)),
        ("cuda:0", 2, ()),
        ("GPU-8932f937", 2, None),
    ],
)
def test_visible_devices(text: str, count: int, ids: tuple[int, ...] | None) -> None:
    assert visible_devices(text, count) == ids


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_VISIBLE_DEVICE",
        "CUDA_VISIBLE_DEVICES_",
        "CUDA_VISIABLE_DEVICES",
        "CUDA_VISIBLE_DEVCIES",
        "CUDA_VISIBLE_DEVICES ",
        "cuda_visible_devices",
        "CUDA_VISIBLE_GPUS",
        "CUDA_VISBLE_DEVICES",
        "CUDA_VISIBLEDEVICES",
    ],
)
def test_misspelled(name: str) -> None:
    assert is_misspelled(name)


@pytest.mark.parametrize(
    "name",
    [
        "CUDA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "MUSA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING",
        "OLD_CUDA_VISIBLE_DEVICES",
        "CUDA_HOME",
    ],
)
def test_other_names(name: str) -> None:
    assert not is_misspelled(name)


SET = {
    "item": "os.environ['{}'] = '1'",
    "setdefault": "os.environ.setdefault('{}', '1')",
    "update": "os.environ.update({{'{}': '1'}})",
    "update keywords": "os.environ.update({}='1')",
    "putenv": "os.putenv('{}', '1')",
    "environ": "from os import environ; environ['{}'] = '1'",
    "import": "__import__('os').environ['{}'] = '1'",
}


@pytest.mark.parametrize("form", SET)
def test_set(form: str) -> None:
    """Each way to set the variable hides devices, or is seen to be misspelled."""
    run = Run("import os\n" + SET[form].format("CUDA_VISIBLE_DEVICES"), GPU2)
    assert run.machine.state.visible == (1,)
    assert run.machine.device_count == 1
    assert "count" in run.machine.entry.consulted
    assert not run.events(VisibleDevices)
    (event,) = Run("import os\n" + SET[form].format("CUDA_VISIBLE_DEVICE"), GPU2).events(VisibleDevices)
    assert isinstance(event, VisibleDevices)
    assert (event.kind, event.text) == ("misspelled", "CUDA_VISIBLE_DEVICE")
    assert not Run("import os\n" + SET[form].format("CUDA_VISIBLE_DEVICE"), GPU1).events(VisibleDevices)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("os.environ['CUDA_VISIBLE_DEVICES'] = 0", "TypeError: str expected, not int"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = [0]", "TypeError: str expected, not list"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = None", "TypeError: str expected, not NoneType"),
        (
            "os.putenv('CUDA_VISIBLE_DEVICES', 0)",
            "TypeError: expected str, bytes or os.PathLike object, not int",
        ),
        (
            "os.environ.setdefault('CUDA_VISIBLE_DEVICES', '0', '1')",
            "TypeError: _Environ.setdefault() takes 3 positional arguments but 4 were given",
        ),
        (
            "os.environ.setdefault('CUDA_VISIBLE_DEVICES')",
            "TypeError: _Environ.setdefault() missing 1 required positional argument: 'value'",
        ),
    ],
)
def test_not_set(statement: str, error: str) -> None:
    """Python raises there, with this text."""
    with pytest.raises(TypeError) as raised:
        exec(f"import os\n{statement}", {})
    assert f"TypeError: {raised.value}" == error
    for world in WORLDS:
        run = Run(f"import os\n{statement}", world)
        assert not run.ended
        (event,) = run.events(VisibleDevices)
        assert isinstance(event, VisibleDevices)
        assert (event.kind, event.error) == ("not-set", error)


def test_other_variables_raise_too() -> None:
    run = Run("import os\nos.environ['MASTER_PORT'] = 29500")
    assert not run.ended
    assert not run.machine.entry.events


LATE = "import os, torch\nn = torch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '{}'\n"


def test_late() -> None:
    """Once CUDA is initialised, nothing changes; that is told where it would have made a difference."""
    run = Run(LATE.format("1"), GPU2)
    (event,) = run.events(VisibleDevices)
    assert isinstance(event, VisibleDevices)
    assert event.kind == "late"
    assert event.first_cuda is not None and event.first_cuda.row == 2
    assert run.machine.device_count == 2
    for world in (CPU, GPU1):
        assert not Run(LATE.format("0"), world).events(VisibleDevices)
    assert not Run(LATE.format("0,1"), GPU2).events(VisibleDevices)
    counted = Run(LATE.format("1").replace("is_available", "device_count"), GPU2)
    assert not counted.events(VisibleDevices)
    assert counted.machine.device_count == 1


def test_reading() -> None:
    run = Run(
        "import os\nos.environ['A'] = 'x'\na = os.environ['A']; b = os.getenv('A'); c = 'A' in os.environ\n"
        "d = os.environ.get('B', 'cuda'); e = os.environ.get('C'); f = int(os.environ.get('LOCAL_RANK', 0))\n"
        "g = os.environ['D']; h = int(os.environ['RANK'])"
    )
    assert (run.python("a"), run.python("b"), run.python("c"), run.python("d")) == ("x", "x", True, "cuda")
    paths = {name: run[name] for name in "efgh"}
    assert all(isinstance(value, Unknown) and value.named for value in paths.values())
    assert {name: value.path for name, value in paths.items() if isinstance(value, Unknown)} == {
        "e": "os.environ['C']",
        "f": "os.environ['LOCAL_RANK']",
        "g": "os.environ['D']",
        "h": "os.environ['RANK']",
    }
    rank = run["f"]
    assert isinstance(rank, Unknown) and isinstance(rank.default, Const) and rank.default.value == 0


def test_undone_with_its_branch() -> None:
    """A variable that one side of an open branch sets is not taken as set on the other."""
    run = Run("import os, sys\nif input():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n    sys.exit()\n", GPU2)
    assert run.machine.state.visible is None
