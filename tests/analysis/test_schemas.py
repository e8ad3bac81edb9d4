"""Classes of pydantic and msgspec: their instances hold what they are given by keyword, or the defaults."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from devlint.analysis.domain.values import Unknown
from devlint.worlds import GPU2
from tests.analysis.programs import Run

SETTINGS = """
import torch
from pydantic import BaseModel, Field, field_validator, model_validator
from typing import ClassVar, Optional
class Base(BaseModel):
    device: str = "cuda:0"
    size: Optional[int] = 4
    _hidden: int = 5
    known: ClassVar[int] = 6
class Context(Base):
    sizes: list[int] = Field(default_factory=lambda: [1, 2])
    name: str = Field("x", alias="n")
    needed: str
    also: str = Field(...)
"""


@pytest.mark.parametrize(
    ("made", "value"),
    {
        "Base(device='cpu').device": "cpu",
        "Base(size=2).device": "cuda:0",
        "Base(size=None).size": None,
        "Base()._hidden": 5,
        "Base().known": 6,
        "Context(needed='a', also='b').sizes": [1, 2],
        "Context(needed='a', also='b', size=1).size": 1,
        "Context(needed='a', also='b').name": "x",
        "Context(needed='a', also='b').sizes is Context(needed='a', also='b').sizes": False,
    }.items(),
)
def test_fields(made: str, value: object) -> None:
    assert Run(f"{SETTINGS}r = {made}").python("r") == value


def test_what_comes_after() -> None:
    run = Run(
        f"{SETTINGS}class C(Base):\n    def model_post_init(self, context):\n        self.device = 'cpu'\n"
        "class D(Base):\n    def __init__(self, where, **more):\n        super().__init__(device=where, **more)\n"
        "r = C().device\ns = D('cuda:1', size=1).device"
    )
    assert (run.python("r"), run.python("s")) == ("cpu", "cuda:1")


@pytest.mark.parametrize(
    "made",
    [
        "Context(also='b').needed",  # this raises
        "Context(needed='a').also",
        "Context(n='z', needed='a', also='b').name",
        "Validated(device='gpu').device",
        "Checked(device='gpu').device",
        "Base(**unknown()).device",
        "Member(kind='a').kind",
        "Outer(inner={'device': 'cpu'}).inner",
        "FromOutside().device",
    ],
)
def test_not_known(made: str) -> None:
    run = Run(
        f"{SETTINGS}from elsewhere import Kind, unknown\nfrom pydantic_settings import BaseSettings\n"
        "class Validated(Base):\n    @field_validator('device')\n    def f(cls, v):\n        return 'cuda'\n"
        "class Checked(Base):\n    @model_validator(mode='before')\n    def f(cls, v):\n        return {}\n"
        "class Member(BaseModel):\n    kind: Kind\nclass Outer(BaseModel):\n    inner: Base\n"
        f"class FromOutside(BaseSettings):\n    device: str = 'cuda'\nr = {made}"
    )
    assert run.ended and isinstance(run["r"], Unknown)


def test_tensors_stay_where_they_are() -> None:
    run = Run(
        "import torch, msgspec\nfrom pydantic import BaseModel, ConfigDict\n"
        "class Batch(BaseModel):\n    model_config = ConfigDict(arbitrary_types_allowed=True)\n    x: torch.Tensor\n"
        "class Item(msgspec.Struct):\n    x: torch.Tensor\n"
        "r = Batch(x=torch.rand(2).cuda()).x.device.type\ns = Item(x=torch.rand(2)).x.device.type",
        GPU2,
    )
    assert (run.python("r"), run.python("s")) == ("cuda", "cpu")


def test_fields_of_attrs_without_annotations() -> None:
    run = Run(
        "import attr\n@attr.s\nclass C:\n    x = attr.ib()\n    y = attr.ib(default=2)\n"
        "    z = attr.ib(factory=list)\nc = C(1)\nr = (c.x, c.y, c.z, C(3, y=4).y, attr.asdict(c))"
    )
    assert run.python("r") == (1, 2, [], 4, {"x": 1, "y": 2, "z": []})


def test_annotations_of_a_class_of_their_own() -> None:
    run = Run(
        "class Base:\n    def __init__(self, **values):\n        for name in self.__annotations__:\n"
        "            self.__dict__[name] = values.get(name, getattr(type(self), name, None))\n"
        "class C(Base):\n    device: str = 'auto'\n    size: int\nclass D(C):\n    pass\n"
        "c = D(size=2)\nr = (c.device, c.size)"
    )
    assert run.python("r") == ("auto", 2)


def test_private_fields_of_attrs() -> None:
    run = Run(
        "import attr\n@attr.s\nclass C:\n    _device = attr.ib(default='cpu')\n"
        "r = (C(device='cuda')._device, C()._device)"
    )
    assert run.python("r") == ("cuda", "cpu")


RECORDS = {
    "class variable": """
@dataclass
class C:
    shared: ClassVar[str] = "x"
    device: str = "cpu"
r = (C("cuda").device, C("cuda").shared, [f.name for f in dataclasses.fields(C)])
s = ("cuda", "x", ["device"])
""",
    "class variable under another name": """
import typing as t
from typing import ClassVar as Shared
@dataclass
class C:
    one: Shared = 1
    two: "t.ClassVar[int]" = 2
    device: str = "cpu"
r = C("cuda").device
s = "cuda"
""",
    "field that becomes a class variable": """
@dataclass
class A:
    size: int = 1
    device: str = "cpu"
@dataclass
class C(A):
    size: ClassVar[int] = 3
r = (C("cuda").device, C("cuda").size)
s = ("cuda", 3)
""",
    "not given": """
@dataclass
class C:
    seen: list = field(init=False, default_factory=list)
    device: str = "cpu"
r = (C("cuda").device, C("cuda").seen, C(*["cuda"]).seen, dataclasses.asdict(C("cuda")))
s = ("cuda", [], [], {"seen": [], "device": "cuda"})
""",
    "what follows is by keyword": """
@dataclass
class A:
    size: int
    _: KW_ONLY
    name: str = "a"
@dataclass
class C(A):
    device: str = "cpu"
r = (C(1, "cuda").device, C(1, "cuda").name, C(1, name="b").name)
s = ("cuda", "a", "b")
""",
    "by keyword": """
@dataclass
class C:
    name: str = field(kw_only=True, default="a")
    device: str = "cpu"
r = (C("cuda").device, C("cuda", name="b").name)
s = ("cuda", "b")
""",
    "all by keyword": """
@dataclass(kw_only=True)
class A:
    name: str = "a"
    size: int = field(kw_only=False, default=1)
@dataclass
class C(A):
    device: str = "cpu"
r = (C(2, "cuda").device, C(2, "cuda").size, C(name="b").name)
s = ("cuda", 2, "b")
""",
    "an option that is applied later": """
record = dataclass(kw_only=True)
@record
class A:
    name: str = "a"
@dataclass
class C(A):
    device: str = "cpu"
r = C("cuda").device
s = "cuda"
""",
    "handed on": """
@dataclass
class C:
    name: str
    where: InitVar[str]
    index: InitVar[int] = 1
    size: int = 2
    device: str = field(init=False)
    def __post_init__(self, where, index):
        self.device = f"{where}:{index}"
c = C("a", "cuda", size=3)
r = (c.device, c.size, "where" in vars(c), dataclasses.asdict(C("a", "cuda", 0)))
s = ("cuda:1", 3, False, {"name": "a", "size": 2, "device": "cuda:0"})
""",
    "default of a base": """
@dataclass
class A:
    device: str = "cpu"
    size: int = 1
class B(A):
    device = "cuda"
r = (B().device, B(size=2).size)
s = ("cpu", 2)
""",
    "attrs": """
@attr.s(kw_only=True)
class A:
    name = attr.ib(default="a")
    unused: int = 3
@attr.s
class C(A):
    seen = attr.ib(init=False, factory=list)
    device = attr.ib(default="cpu")
    size = attr.ib(kw_only=True, default=1)
    place = attr.ib(alias="where", default="here")
c = C("cuda", "there", name="b")
r = (c.device, c.place, c.name, c.seen, C(where="x").place)
s = ("cuda", "there", "b", [], "x")
""",
    "attrs with annotations": """
@attr.s(auto_attribs=True)
class C:
    shared: ClassVar[int] = 1
    _device: str = "cpu"
    size: int = attr.ib(init=False)
    def __attrs_post_init__(self):
        self.size = 3
r = (C("cuda")._device, C(device="cuda")._device, C().size)
s = ("cuda", "cuda", 3)
""",
    "attrs again": """
@attr.define
class A:
    device: str = "cpu"
    size: int = 1
@attr.define
class C(A):
    device: str = "cuda"
r = (C(2).size, C(2).device, C(2, "cpu").device)
s = (2, "cuda", "cpu")
""",
}
IMPORTS = """
import dataclasses
import attr
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar
"""


@pytest.mark.parametrize("case", RECORDS)
def test_what_init_takes(case: str) -> None:
    run = Run(IMPORTS + RECORDS[case])
    assert run.python("r") == run.python("s")


@pytest.mark.parametrize("case", RECORDS)
def test_python_takes_the_same(case: str, tmp_path: Path) -> None:
    pytest.importorskip("attr")
    program = tmp_path / "program.py"
    program.write_text(IMPORTS + RECORDS[case], encoding="utf-8")
    names = runpy.run_path(str(program), run_name="program")
    assert names["r"] == names["s"]


SHARED = """
import torch, msgspec
from pydantic import BaseModel
from typing import Any
class C(BaseModel):
    items: list
    rows: list[list[int]] = []
    any: Any = None
class S(msgspec.Struct):
    items: list
"""


def test_lists_are_made_anew() -> None:
    run = Run(
        f"{SHARED}xs = [1]\nrows = [[1]]\nc = C(items=xs, rows=rows, any=xs)\ns = S(items=xs)\n"
        "xs.append(2)\nrows[0].append(2)\nr = (c.items, c.rows, c.any, s.items)"
    )
    assert run.python("r") == ([1], [[1]], [1, 2], [1, 2])


def test_what_is_in_them_is_the_same() -> None:
    run = Run(
        f"{SHARED}layer = torch.nn.Linear(2, 2)\nc = C(items=[layer])\nlayer.cuda()\n"
        "r = next(c.items[0].parameters()).device.type"
    )
    assert run.python("r") == "cuda"


VALIDATED = """
import pydantic
from pydantic import BaseModel
class C(BaseModel):
    device: str = "cpu"
    @{}
    def check(cls, value):
        return "cuda"
r = C(device="cuda:0").device
"""
OWN = "def validator(*names):\n    return lambda function: function\n"


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("from pydantic import validator as check\n", "check('device')"),
        ("from pydantic import root_validator as check\n", "check(pre=True)"),
        ("import pydantic as p\n", "p.field_validator('device')"),
        ("from nowhere.compat import validator\n", "validator('device')"),
        ("from pydantic import validator\ndef own(*names):\n    return validator(*names)\n", "own('device')"),
    ],
)
def test_validators_by_what_they_are(imports: str, decorator: str) -> None:
    run = Run(imports + VALIDATED.format(decorator))
    assert run.ended and isinstance(run["r"], Unknown)


@pytest.mark.parametrize("decorator", ["validator('device')", "pydantic.computed_field"])
def test_no_validators(decorator: str) -> None:
    assert Run(OWN + VALIDATED.format(decorator)).python("r") == "cuda:0"
