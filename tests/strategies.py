"""Hypothesis strategies for program texts.

`programs()` gives small PyTorch programs with every kind of statement; they parse, and may raise when run, for devices
and shapes are free. `pure_programs()` gives programs of plain Python that run to the end, whose module-level variables
can be compared with what an interpreter says of them: `i0..` integers, `s0..` strings, `l0..` lists of integers,
`d0..` dicts from string to integer. Both are deterministic, and every loop ends.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

_PURE = ("int", "str", "list", "dict")
_TORCH = (*_PURE, "tensor", "module", "device")
_PREFIX = {"int": "i", "str": "s", "list": "l", "dict": "d", "tensor": "t", "module": "m", "device": "dev"}
_HEAD = {
    "int": ["i0 = 1", "i1 = 2", "i2 = 3"],
    "str": ["s0 = 'a'", "s1 = 'cpu'"],
    "list": ["l0 = [1, 2]", "l1 = []"],
    "dict": ["d0 = {'a': 1}", "d1 = {}"],
    "tensor": ["t0 = torch.zeros(2)", "t1 = torch.ones(2)"],
    "module": ["m0 = nn.Linear(2, 2)"],
    "device": ["dev0 = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "dev1 = 'cpu'"],
}


@st.composite
def programs(draw: st.DrawFn, statements: int = 8) -> str:
    """PyTorch programs of some `statements` statements at module level."""
    return _Writer(draw, torch=True).program(statements)


@st.composite
def pure_programs(draw: st.DrawFn, statements: int = 8) -> str:
    """Programs of plain Python without effects outside themselves."""
    return _Writer(draw, torch=False).program(statements)


class _Writer:
    """Writes one program. Nothing is read before it is bound: inner scopes get what they need as parameters."""

    def __init__(self, draw: st.DrawFn, *, torch: bool) -> None:
        self.draw = draw
        self.torch = torch
        self.kinds = _TORCH if torch else _PURE
        self.names: dict[str, list[str]] = {}
        self.functions: list[str] = []
        self.classes: list[str] = []
        self.count = 0
        self.loops = 0
        self.definitions = 0

    def program(self, statements: int) -> str:
        lines = ["import torch", "from torch import nn", "import torch.nn.functional as F"] if self.torch else []
        self.names = {kind: [line.split(" ")[0] for line in _HEAD[kind]] for kind in self.kinds}
        for kind in self.kinds:
            lines += _HEAD[kind]
        lines += self.block(0, self.number(1, statements))
        if self.flip():
            lines += ["if __name__ == '__main__':", *_indented(self.block(1, 2))]
        return "\n".join(lines) + "\n"

    # Choosing

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def pick(self, options: list[str]) -> str:
        return self.draw(st.sampled_from(options))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count}"

    # Expressions

    def value(self, kind: str, depth: int = 2) -> str:
        names = self.names[kind]
        if depth <= 0:
            return self.pick(names)
        return self.pick(_OPTIONS[kind])(self, depth - 1) if self.number(0, 3) else self.pick(names)  # type: ignore[operator]

    def condition(self, depth: int = 1) -> str:
        left, right = self.value("int", depth), self.value("int", depth)
        options = [
            f"{left} < {right}",
            f"{left} == {right}",
            f"0 < {left} <= {right}",
            f"{left} in {self.value('list', depth)}",
            f"not {left}",
            f"{left} and {right} > 1",
            f"{self.value('str', depth)} != 'a'",
            f"str({left}) is not None",
        ]
        if self.torch:
            options += ["torch.cuda.is_available()", f"{self.value('tensor', 0)}.is_cuda"]
        return self.pick(options)

    # Statements

    def block(self, depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.number(1, most)):
            lines += self.draw(st.sampled_from(self._statements(depth)))(depth)
        return lines

    def inner(self, depth: int) -> list[str]:
        """An indented block; names that it binds anew are forgotten after it."""
        before = {kind: list(names) for kind, names in self.names.items()}
        lines = self.block(depth + 1, 3)
        self.names = before
        return _indented(lines)

    def _statements(self, depth: int) -> list[Callable[[int], list[str]]]:
        simple = [self.assign, self.assign, self.augmented, self.mutation, self.unpack, self.checked]
        if depth >= 3:
            return simple
        compound = [self.if_, self.for_, self.while_, self.try_, self.match, self.with_]
        if depth == 0 and self.definitions < 4:
            compound += [self.function, self.class_, self.generator]
        return [*simple, *compound]

    def assign(self, depth: int) -> list[str]:
        kind = self.pick(list(self.kinds))
        value = self.value(kind)
        name = self.pick(self.names[kind])
        if self.flip():
            name = self.fresh(_PREFIX[kind])
            self.names[kind].append(name)
        annotation = ": int" if kind == "int" and self.number(0, 4) == 0 else ""
        return [f"{name}{annotation} = {value}"]

    def augmented(self, depth: int) -> list[str]:
        name = self.pick(self.names["int"])
        if self.torch and self.flip():
            return [f"{self.pick(self.names['tensor'])} {self.pick(['+=', '*=', '-='])} {self.value('int', 1)}"]
        return [f"{name} {self.pick(['+=', '-=', '|='])} {self.value('int', 1)}"]

    def mutation(self, depth: int) -> list[str]:
        options = [
            f"{self.pick(self.names['list'])}.append({self.value('int', 1)})",
            f"{self.pick(self.names['dict'])}[{self.value('str', 0)}] = {self.value('int', 1)}",
        ]
        if self.torch:
            options += [
                f"{self.value('module', 0)}.to({self.value('device', 1)})",
                f"{self.pick(self.names['tensor'])}.to({self.value('device', 1)})",
                f"{self.pick(self.names['module'])}.extra = {self.value('tensor', 1)}",
                f"str({self.value('tensor', 1)})",
            ]
        return [self.pick(options)]

    def unpack(self, depth: int) -> list[str]:
        first, second = self.pick(self.names["int"]), self.pick(self.names["str"])
        star = self.pick(self.names["list"])
        rest = f"*{star}, " if self.flip() else ""
        middle = f"{self.value('int', 0)}, " if rest else ""
        return [f"{first}, {rest}{second} = {self.value('int', 1)}, {middle}{self.value('str', 1)}"]

    def checked(self, depth: int) -> list[str]:
        return [self.pick([f"assert {self.condition()} or True, 'no'", "pass", f"del {self._doomed()}", "..."])]

    def _doomed(self) -> str:
        return f"[{self.value('int', 0)}][0]"

    def if_(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *self.inner(depth)]
        if self.flip():
            lines += [f"elif {self.condition()}:", *self.inner(depth)]
        if self.flip():
            lines += ["else:", *self.inner(depth)]
        return lines

    def for_(self, depth: int) -> list[str]:
        name = self.fresh("i")
        iterable = self.pick([f"range({self.number(0, 3)})", f"list({self.value('list', 0)})[:3]", "(1, 2)"])
        head = f"for {name} in {iterable}:"
        if self.flip():
            head = f"for {self.fresh('n')}, {name} in enumerate({iterable}):"
        before = list(self.names["int"])
        self.names["int"].append(name)
        lines = [head, *self.inner(depth)]
        self.names["int"] = before
        if self.flip():
            lines += [f"    if {self.condition()}:", f"        {self.pick(['break', 'continue'])}"]
        if self.flip():
            lines += ["else:", *self.inner(depth)]
        return lines

    def while_(self, depth: int) -> list[str]:
        counter = self.fresh("n")
        return [f"{counter} = 0", f"while {counter} < {self.number(0, 3)}:", f"    {counter} += 1", *self.inner(depth)]

    def try_(self, depth: int) -> list[str]:
        lines = ["try:", *self.inner(depth)]
        if self.flip():
            lines += [f"    if {self.condition()}:", "        raise ValueError('x')"]
        error = self.fresh("e")
        lines += [
            f"except (ValueError, RuntimeError) as {error}:",
            f"    {self.pick(self.names['str'])} = type({error}).__name__",
        ]
        lines += self.inner(depth)
        if self.flip():
            lines += ["finally:", *self.inner(depth)]
        return lines

    def match(self, depth: int) -> list[str]:
        name = self.fresh("i")
        lines = [f"match ({self.value('int', 1)}, {self.value('str', 0)}):"]
        for case in (f"(0 | 1 as {name}, _)", f"({name}, 'a') if {self.condition()}", "_"):
            lines += [f"    case {case}:", *_indented(self.inner(depth))]
        return lines

    def with_(self, depth: int) -> list[str]:
        if self.torch and self.flip():
            manager = self.pick(["torch.no_grad()", "torch.device(dev1)", "torch.autocast('cpu')"])
        else:
            manager = f"memoryview(b'ab') as {self.fresh('v')}"
        return [f"with {manager}:", *self.inner(depth)]

    def function(self, depth: int) -> list[str]:
        self.definitions += 1
        name = self.fresh("f")
        outer = self.names
        parameters = {kind: self.fresh(_PREFIX[kind]) for kind in self.kinds}
        self.names = {kind: [parameters[kind]] for kind in self.kinds}
        head = ", ".join(f"{parameters[kind]}" for kind in self.kinds)
        body = self.inner_body(depth, f"return {self.value('int', 1)}")
        self.names = outer
        arguments = ", ".join(self.value(kind, 1) for kind in self.kinds)
        result = self.pick(self.names["int"])
        decorator = ["@torch.no_grad()"] if self.torch and self.flip() else []
        return [*decorator, f"def {name}({head}):", *body, f"{result} = {name}({arguments})"]

    def inner_body(self, depth: int, last: str) -> list[str]:
        return [*self.inner(depth), *_indented([last])]

    def generator(self, depth: int) -> list[str]:
        self.definitions += 1
        name, item = self.fresh("g"), self.fresh("i")
        result = self.pick(self.names["list"])
        lines = [f"def {name}({item}, n=2, *rest, k=1, **more):", f"    for j in range(min({item} % 4, n)):"]
        lines += ["        yield j + k", f"    yield from ({item},)"]
        return [*lines, f"{result} = list({name}({self.value('int', 0)}, k={self.value('int', 0)}))"]

    def class_(self, depth: int) -> list[str]:
        self.definitions += 1
        name = self.fresh("C")
        base = "(nn.Module)" if self.torch else ""
        start = ["        super().__init__()"] if self.torch else []
        fields = [f"        self.a = {self.value('int', 1)}"]
        body = ["        return self.a + x"]
        if self.torch:
            fields += ["        self.layer = nn.Linear(2, 2)", f"        self.t = {self.value('tensor', 1)}"]
            body = ["        return self.layer(x) + self.t"]
        lines = [f"class {name}{base}:", "    kind: str = 'a'", "    def __init__(self):", *start, *fields]
        lines += ["    def forward(self, x):", *body, "    @property", "    def b(self):", "        return self.a"]
        instance = self.fresh("c")
        lines += [f"{instance} = {name}()"]
        if self.torch:
            self.names["module"].append(instance)
            return [*lines, f"{self.pick(self.names['int'])} = {instance}.b"]
        return [*lines, f"{self.pick(self.names['int'])} = {instance}.forward({instance}.b)"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


_Option = Callable[[_Writer, int], str]
_OPTIONS: dict[str, list[_Option]] = {
    "int": [
        lambda w, d: str(w.number(-2, 9)),
        lambda w, d: f"({w.value('int', d)} {w.pick(['+', '-', '*', '&'])} {w.value('int', d)}) % 97",
        lambda w, d: f"len({w.value('list', d)})",
        lambda w, d: f"({w.value('int', d)} if {w.condition(0)} else {w.value('int', d)})",
        lambda w, d: f"sum(q for q in {w.value('list', d)} if q)",
        lambda w, d: f"(lambda q, r=2: q + r)({w.value('int', d)})",
        lambda w, d: f"{w.value('dict', 0)}.get({w.value('str', d)}, {w.value('int', d)})",
        lambda w, d: f"-{w.value('int', 0)}",
    ],
    "str": [
        lambda w, d: w.pick(["'a'", "'cpu'", "'é'", "''"]),
        lambda w, d: f"({w.value('str', d)} + 'b')[:3]",
        lambda w, d: f"f'{{{w.value('int', 0)}}}-{{{w.pick(w.names['str'])}!s:>2}}'[:4]",
        lambda w, d: f"str({w.value('int', d)})",
    ],
    "list": [
        lambda w, d: f"[{w.value('int', d)}, {w.value('int', d)}]",
        lambda w, d: f"[q + 1 for q in {w.value('list', d)} if q != 1]",
        lambda w, d: f"[*{w.value('list', d)}, {w.value('int', d)}][:5]",
        lambda w, d: f"sorted({w.value('list', d)})[1:]",
        lambda w, d: f"[r for q in range(2) for r in (q, {w.value('int', 0)})]",
    ],
    "dict": [
        lambda w, d: f"{{'a': {w.value('int', d)}, {w.value('str', 0)}: 2}}",
        lambda w, d: f"{{**{w.value('dict', 0)}, 'k': {w.value('int', d)}}}",
        lambda w, d: f"{{str(k): k for k in {w.value('list', d)}[:4]}}",
    ],
    "tensor": [
        lambda w, d: w.pick(["torch.zeros(2)", "torch.rand(2)", "torch.tensor([1.0, 2.0])", "torch.tensor(1.0)"]),
        lambda w, d: f"torch.ones(2, device={w.value('device', d)})",
        lambda w, d: f"({w.value('tensor', d)} {w.pick(['+', '*', '-'])} {w.value('tensor', d)})",
        lambda w, d: f"{w.value('tensor', d)}.to({w.value('device', d)})",
        lambda w, d: f"{w.value('tensor', d)}.{w.pick(['cpu()', 'sum()', 'detach()', 'float()', 'clone()'])}",
        lambda w, d: f"F.relu({w.value('tensor', d)})",
        lambda w, d: f"torch.stack([{w.value('tensor', d)} for q in range(2)]).mean(0)",
        lambda w, d: f"torch.zeros_like({w.value('tensor', d)})",
        lambda w, d: f"{w.value('module', d)}({w.value('tensor', d)})",
    ],
    "module": [
        lambda w, d: "nn.Linear(2, 2)",
        lambda w, d: f"nn.Sequential({w.value('module', d)}, nn.ReLU())",
        lambda w, d: f"{w.value('module', d)}.to({w.value('device', d)})",
    ],
    "device": [
        lambda w, d: w.pick(["'cpu'", "torch.device('cpu')", "'cuda'", "'cuda:0'", "torch.device('cuda', 0)"]),
        lambda w, d: f"{w.value('tensor', 0)}.device",
    ],
}
