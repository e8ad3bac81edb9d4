"""Who speaks of devices."""

from __future__ import annotations

import pytest

from devlint.syntax import ir, lower_ast, lower_cst
from tests.syntax.dump import walk

LOWERINGS = pytest.mark.parametrize("lower", [lower_ast.lower, lower_cst.lower], ids=["ast", "libcst"])


def speakers(module: ir.Module) -> set[str]:
    return {node.name for node in walk(module.body) if isinstance(node, (ir.Function, ir.Class)) and node.speaks}


@LOWERINGS
@pytest.mark.parametrize(
    "body",
    [
        "x.cuda()",
        "x.to(d)",
        "return 'cuda:0'",
        "torch.zeros(2)",
        "zeros(2)",
        "torch.Tensor(2)",
        "torch.load(p)",
        "nn.Linear(1, 2)",
        "DataLoader(d, pin_memory=True)",
        "self.register_buffer('a', b)",
        "os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
        "return x.device",
        "torch.cuda.is_available()",
        "return x.numpy()",
        "f(map_location=None)",
        "return lambda x: x.cuda()",
        "return f'{x.device}'",
    ],
)
def test_words_that_speak(lower, body: str) -> None:
    module = lower(f"def f(x):\n    {body}\n", "x.py")
    assert "f" in speakers(module)
    assert module.speaks


@LOWERINGS
@pytest.mark.parametrize(
    "text",
    [
        "def f(x: Tensor) -> torch.Tensor:\n    '''Moves x to the cuda device.'''\n    return x + 1\n",
        "def f(to, load):\n    return to + load\n",
        "def f(x):\n    return x.items()\n",
        "def f(x):\n    r'''One\n    cuda row.\n    '''\n    'cpp'\n    return x\n",
    ],
)
def test_words_that_do_not(lower, text: str) -> None:
    module = lower(text, "x.py")
    assert speakers(module) == set()
    assert not module.speaks


@LOWERINGS
def test_speaking_passes_through_calls_and_methods(lower) -> None:
    text = (
        "def silent(x): return x + 1\n"
        "def helper(x): return x.cuda()\n"
        "def caller(x): return helper(x)\n"
        "class C:\n"
        "    def quiet(self): return 1\n"
        "    def moves(self): return caller(self.x)\n"
        "def uses(c): return c.moves()\n"
        "def makes(): return C()\n"
        "class Holds:\n"
        "    def __init__(self): self.c = C()\n"
        "def far(c): return helper(c) + c.moves()\n"
        "def layers(x): return nn.Sequential(nn.Linear(2, 2), caller(x))\n"
    )
    assert speakers(lower(text, "x.py")) == {"helper", "C", "moves", "Holds", "far"}


@LOWERINGS
def test_a_function_that_only_passes_on_says_nothing(lower) -> None:
    text = (
        "def create(name, **kwargs):\n    return build(name, **kwargs).cuda()\n"
        "def tiny(pretrained=False, **kwargs):\n"
        "    return create('tiny', norm=nn.LayerNorm, **dict(kwargs, depth=12))\n"
        "def tiny_on(device):\n    return create('tiny').to(device)\n"
        "def again(n):\n    return again(n - 1) if n else create('small')\n"
    )
    assert speakers(lower(text, "x.py")) == {"create", "tiny_on"}


@LOWERINGS
def test_an_outer_function_speaks_for_its_inner_one(lower) -> None:
    text = "def outer():\n    def inner(x):\n        return x.cuda()\n    return 1\ndef after(): return 2\n"
    assert speakers(lower(text, "x.py")) == {"outer", "inner"}


@LOWERINGS
def test_lambdas(lower) -> None:
    text = "def move(x): return x.cuda()\na = lambda x: move(x)\nb = lambda x: x\n"
    functions = [node for node in walk(lower(text, "x.py").body) if isinstance(node, ir.Function)]
    assert [function.speaks for function in functions] == [True, True, False]


@LOWERINGS
def test_other_line_ends(lower) -> None:
    text = "def f():\r\n    '''cuda'''\r\n    return 1\r\ndef g(x):\r\n    return x.cuda()\r\n"
    assert speakers(lower(text, "x.py")) == {"g"}


@LOWERINGS
def test_module_level_words_make_the_file_speak(lower) -> None:
    module = lower("import torch\nprint(torch.zeros(2))\ndef f(): pass\n", "x.py")
    assert module.speaks
    assert speakers(module) == set()
