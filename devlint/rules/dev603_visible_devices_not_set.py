"""DEV603: a statement that means to set CUDA_VISIBLE_DEVICES and raises instead.

https://docs.python.org/3/library/os.html#os.environ
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devlint.analysis.events import VisibleDevices
from devlint.rules.base import Diagnosis, Example, FixContext, Mend, Replacement, Rule, TextContext
from devlint.rules.edits import function_name, walk
from devlint.rules.text import trail
from devlint.syntax.late import cst

BAD = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = 0  # DEV603: cpu gpu1 gpu2

import torch

print(torch.cuda.is_available())
"""

GOOD = """\
import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"

import torch

print(torch.cuda.is_available())
"""

BAD_DEFAULT = """\
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")  # DEV603: cpu gpu1 gpu2
"""

GOOD_DEFAULT = """\
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2,3")
"""

RULE = Rule(
    code="DEV603",
    name="visible-devices-not-set",
    summary="`CUDA_VISIBLE_DEVICES` is given a value that the environment does not take.",
    what="""\
`os.environ["CUDA_VISIBLE_DEVICES"] = 0` or `= [0, 1]`: the environment holds strings. And
`os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")`: the list of GPUs is one string, `"2,3"`.""",
    why="""\
The statement raises a TypeError on every machine, at the very start of the program.""",
    example=Example(bad=BAD, good=GOOD),
    more_examples=(
        Example(
            bad=BAD_DEFAULT,
            good=GOOD_DEFAULT,
            errors=dict.fromkeys(
                ("cpu", "gpu1", "gpu2"), "TypeError: ...setdefault() takes 3 positional arguments but 4 were given"
            ),
        ),
    ),
    error="TypeError: str expected, not int",
    fix_safety="Safe: the statement worked in no world. Offered where the value is written out in numbers and strings.",
    references=("https://docs.python.org/3/library/os.html#os.environ",),
)


@RULE.on(VisibleDevices)
def not_a_string(event: VisibleDevices, context: TextContext) -> Iterator[Diagnosis]:
    """The environment does not take the value."""
    if event.kind != "not-set":
        return
    message = f'`{context.text(event.site)}` raises: the value is one string, such as `"2,3"`'
    yield Diagnosis(event.site, message, event, trail(event, event.site))


@RULE.fix
def one_string(diagnosis: Diagnosis, context: FixContext) -> Mend | None:
    """Join the numbers and strings of the value into one string."""
    node = context.node(diagnosis.site)
    if node is None:
        return None
    values = _values(context.statement(node))
    written = [_number(value) for value in values]
    if not written or None in written:
        return None
    span = context.span(values[0])[0], context.span(values[-1])[1]
    text = ",".join(item for item in written if item is not None)
    return Mend("safe", "write the value as one string", (Replacement(*_outer(context, values, span), f'"{text}"'),))


def _values(statement: cst.CSTNode) -> Sequence[cst.BaseExpression]:
    for node in walk(statement):
        if isinstance(node, cst.Call) and function_name(node) in {"setdefault", "putenv"}:
            return [argument.value for argument in node.args[1:] if not argument.star and argument.keyword is None]
        if isinstance(node, cst.Assign):
            value = node.value
            if isinstance(value, cst.List | cst.Tuple):
                return [element.value for element in value.elements]
            return [value]
    return []


def _number(value: cst.BaseExpression) -> str | None:
    if isinstance(value, cst.Integer):
        return value.value
    if isinstance(value, cst.SimpleString) and not value.prefix:
        return str(value.raw_value)
    return None


def _outer(context: FixContext, values: Sequence[cst.BaseExpression], span: tuple[int, int]) -> tuple[int, int]:
    """Widen the span to the brackets of a list or tuple that holds the values."""
    for parent in context.parents(values[0]):
        if isinstance(parent, cst.List | cst.Tuple):
            return context.span(parent)
        if isinstance(parent, cst.Assign | cst.Call):
            break
    return span
