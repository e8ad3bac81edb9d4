"""Made-up inputs: what a function or module that nobody calls could be called with.

For each parameter a short list of expressions, the likeliest first, after its name, its annotation and the numbers that
stand in the class. Which of them fit is found by trying (`devlint.confirm.searching`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devlint.confirm.claims import Claim

SIZES = ("4", "2", "8", "1", "16", "3")
SHAPES = ("4, 4", "2, 4, 8, 8", "2, 4, 4", "4", "2, 3, 32, 32", "4, 4, 4, 4", "")
MOST_LITERALS = 3

PRELUDE = 'import torch\nDEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")\ntorch.manual_seed(0)\n'


@dataclass(frozen=True, slots=True)
class Target:
    """Something to call: `names` are what the program must define; `template` is a text with a place `{0}`, `{1}` ...
    for each parameter, and `choices` the expressions to try there."""

    names: tuple[str, ...]
    template: str
    choices: tuple[tuple[str, ...], ...]


Function = ast.FunctionDef | ast.AsyncFunctionDef


def targets(claim: Claim, text: str, path: str) -> Iterator[Target]:
    """Return what can be called to reach the claim in this file, the outermost caller first."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    seen: set[str] = set()
    for place in (*claim.calls, claim.crash, claim.place, *claim.steps):
        if place.path != path:
            continue
        target = _target(tree, place.row)
        if target is not None and target.template not in seen:
            seen.add(target.template)
            yield target


def _target(tree: ast.Module, row: int) -> Target | None:
    for node in tree.body:
        if not node.lineno <= row <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.FunctionDef):
            return _function(node)
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            around = [item for item in methods if item.lineno <= row <= (item.end_lineno or 0)]
            return _method(node, around[0] if around else None, methods)
    return None


def _function(node: ast.FunctionDef) -> Target:
    choices = [_choices(arg, node, ()) for arg in _required(node, 0)]
    return Target((node.name,), f"{node.name}({_arguments(_required(node, 0), 0)})\n", tuple(choices))


def _method(owner: ast.ClassDef, method: ast.FunctionDef | None, methods: Sequence[ast.FunctionDef]) -> Target:
    literals = _literals(owner)
    constructor = next((item for item in methods if item.name == "__init__"), None)
    built = _required(constructor, 1) if constructor is not None else []
    choices = [_choices(arg, constructor, literals) for arg in built]
    forward = next((item for item in methods if item.name == "forward"), None)
    is_module = forward is not None or any("Module" in ast.unparse(base) for base in owner.bases)
    if method is None or method.name == "__init__":
        method = forward
    static = method is not None and any(
        isinstance(item, ast.Name) and item.id in ("staticmethod", "classmethod") for item in method.decorator_list
    )
    lines = [f"subject = {owner.name}({_arguments(built, 0)})"]
    if is_module:
        lines.append("subject = subject.to(DEVICE)")
    if method is not None:
        given = _required(method, 0 if static and method.args.args[:1] and method.args.args[0].arg != "cls" else 1)
        choices += [_choices(arg, method, literals) for arg in given]
        called = "subject" if method is forward else f"subject.{method.name}"
        prop = any(isinstance(item, ast.Name) and item.id == "property" for item in method.decorator_list)
        lines.append(called if prop else f"{called}({_arguments(given, len(built))})")
    return Target((owner.name,), "\n".join(lines) + "\n", tuple(choices))


def _required(function: ast.FunctionDef, skip: int) -> list[ast.arg]:
    """The parameters without a default."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    bare = positional[skip : len(positional) - len(args.defaults)]
    return [*bare, *(arg for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None)]


def _arguments(args: Sequence[ast.arg], first: int) -> str:
    return ", ".join(f"{{{number}}}" for number in range(first, first + len(args)))


def _literals(owner: ast.ClassDef) -> tuple[int, ...]:
    """The sizes that stand in the class as numbers: the first arguments of its layers, defaults of its constructor."""
    found: list[int] = []
    for node in ast.walk(owner):
        numbers: list[ast.expr] = []
        if isinstance(node, ast.Call) and node.args and _last_name(node.func)[:1].isupper():
            numbers = node.args[:1]
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            numbers = node.args.defaults
        for number in numbers:
            value = number.value if isinstance(number, ast.Constant) else None
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 2048 and value not in found:
                found.append(value)
    return tuple(found[:MOST_LITERALS])


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


_BY_NAME: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"device", ("DEVICE", '"cuda" if torch.cuda.is_available() else "cpu"')),
    (r"dtype", ("torch.float32",)),
    (r"(model|net|network|encoder|decoder|backbone|module|layer|block|generator|discriminator)s?$", (
        "torch.nn.Linear(4, 4).to(DEVICE)", "torch.nn.Conv2d(4, 4, 3, padding=1).to(DEVICE)",
        "torch.nn.Identity()")),
    (r"(criterion|loss_fn|loss_func|loss_function)$", (
        "torch.nn.MSELoss()", "torch.nn.CrossEntropyLoss()")),
    (r"optim", ("torch.optim.SGD([torch.nn.Parameter(torch.zeros(1, device=DEVICE))], lr=0.1)",)),
    (r"(loader|dataloader|iterator|batches|data_iter)", (
        "[(torch.rand(2, 4), torch.rand(2, 4))]", "[(torch.rand(2, 4), torch.randint(0, 4, (2,)))]",
        "[(torch.rand(2, 4, 8, 8), torch.randint(0, 4, (2,)))]")),
    (r"(dataset|data)$", (
        "torch.rand(4, 4, device=DEVICE)", "torch.utils.data.TensorDataset(torch.rand(4, 4), torch.rand(4, 4))",
        "[(torch.rand(4), 0)]")),
    (r"(activation|act|act_layer|nonlinearity|act_fn)$", ("torch.nn.ReLU()", "torch.nn.ReLU")),
    (r"norm_layer$", ("torch.nn.LayerNorm", "torch.nn.BatchNorm2d")),
    (r"(path|file|filename|name|mode|prefix|suffix|type|title|text|root|dir)$", ('"x"',)),
    (r"(args|opts?|options?|cfg|config|hparams|hps|params)$", (
        "__import__('types').SimpleNamespace()", "{}", "__import__('unittest.mock').mock.MagicMock()")),
    (r"(rate|drop|dropout|p|prob|lr|alpha|beta|gamma|eps|epsilon|momentum|decay|scale|temperature|tau)$", (
        "0.1", "1.0", "torch.rand(4, 4, device=DEVICE)")),
    (r"(mask)", ("torch.ones(4, 4, dtype=torch.bool, device=DEVICE)",
        "torch.ones(2, 4, dtype=torch.bool, device=DEVICE)", "torch.ones(4, dtype=torch.bool, device=DEVICE)", "None")),
    (r"(labels?|targets?|y|ids?|idx|index|indices|tokens?|t|timesteps?|steps?|classes|class_labels|lengths?)$", (
        "torch.randint(0, 2, (4,), device=DEVICE)", "torch.randint(0, 2, (4, 4), device=DEVICE)",
        "torch.randint(0, 2, (2, 4), device=DEVICE)", "torch.rand(4, 4, device=DEVICE)", "2")),
    (r"(shape|size|kernel_size|img_size|image_size|resolution)$", ("4", "(4, 4)", "(2, 4, 8, 8)", "8")),
    (r"(dims?|channels?|features?|hidden|width|height|num|heads?|layers|vocab|length|batch|depth|units|count|"
     r"groups|seq_len|max_len|embed|latent|[dnkbhwc]|nz|ngf|ndf|nc|in_|out_|epochs?)", SIZES),
)  # fmt: skip

_BY_ANNOTATION: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bbool\b", ("False", "True")),
    (r"\bint\b", SIZES),
    (r"\bfloat\b", ("0.1", "1.0")),
    (r"\bstr\b", ('"x"', '"cuda" if torch.cuda.is_available() else "cpu"')),
    (r"torch\.device\b", ("DEVICE",)),
    (r"(List|list|Sequence|Tuple|tuple)\[.*(Tensor)", (
        "[torch.rand(4, 4, device=DEVICE), torch.rand(4, 4, device=DEVICE)]",)),
    (r"Callable", ("torch.nn.functional.relu", "torch.nn.ReLU")),
    (r"Module\b", ("torch.nn.Linear(4, 4).to(DEVICE)", "torch.nn.Identity()")),
    (r"(ndarray)", ("torch.rand(4, 4).numpy()",)),
    (r"(List|list|Sequence)\[int", ("[4, 4]", "[4]")),
)  # fmt: skip


def _choices(arg: ast.arg, function: Function | None, literals: Sequence[int]) -> tuple[str, ...]:
    annotation = ast.unparse(arg.annotation) if arg.annotation is not None else ""
    constructing = function is not None and function.name == "__init__"
    name = arg.arg.lower().strip("_")
    if "Tensor" not in annotation:
        for pattern, expressions in _BY_ANNOTATION:
            if annotation and re.search(pattern, annotation):
                if pattern == r"\bint\b" and literals:
                    return (*SIZES[:1], *map(str, literals), *SIZES[1:])
                return expressions
    for pattern, expressions in _BY_NAME:
        if re.search(rf"(^|_){pattern}", name) and not ("Tensor" in annotation and expressions == SIZES):
            return expressions
    if constructing:
        return (*SIZES, '"x"', "None")
    return _tensors(literals, integers="Long" in annotation)


def _tensors(literals: Sequence[int], integers: bool) -> tuple[str, ...]:
    shapes = [*SHAPES]
    for number in reversed(literals):
        shapes = [f"2, {number}", f"2, {number}, 32, 32", f"2, 4, {number}", f"{number}", *shapes]
    floats = [f"torch.rand({f'{shape}, ' if shape else '(), '}device=DEVICE)" for shape in shapes]
    counts = [f"torch.randint(0, 2, ({shape + ',' if shape else ''}), device=DEVICE)" for shape in SHAPES[:4]]
    lists = ["[torch.rand(4, 4, device=DEVICE), torch.rand(4, 4, device=DEVICE)]"]
    ordered = [*counts, *floats] if integers else [*floats[: len(floats) - 2], *counts, *floats[-2:]]
    return (*ordered, *lists, "4")
