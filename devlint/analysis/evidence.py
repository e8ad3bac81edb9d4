"""What speaks for a program that means to run without a GPU.

A program that asks whether CUDA is there, has a device flag or a branch for the CPU, means to: what it forgets is
reported. One that is built on packages which are nothing without a GPU does not. `machine.evidence` gathers this for
one entry point; `devlint.analysis.reading` weighs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.access import path_of
from devlint.analysis.choices import Decision, decide
from devlint.semantics import table
from devlint.syntax import ir

if TYPE_CHECKING:
    from devlint.analysis.frames import Frame
    from devlint.analysis.machine import Machine

ASKED = "availability"
NEEDS_GPU = "needs a GPU"


def decide_branch(machine: Machine, node: ir.If, frame: Frame) -> Decision:
    """Decide the condition of an `if`. That CUDA was asked for counts only where something hangs on the answer."""
    known = ASKED in machine.evidence
    decision = decide(machine, node.test, frame)
    if not known and ASKED in machine.evidence and not node.orelse:
        if all(_needs_no_guard(statement, frame) for statement in node.body):
            machine.evidence.discard(ASKED)
    return decision


def _needs_no_guard(statement: ir.Stmt, frame: Frame) -> bool:
    """Whether a statement needs no GPU: `torch.cuda.manual_seed_all(0)`, `torch.backends.cudnn.benchmark = True`."""
    if isinstance(statement, ir.Assign):
        return all(outside_path(target, frame).startswith("torch.backends.") for target in statement.targets)
    if not isinstance(statement, ir.ExprStatement) or not isinstance(statement.value, ir.Call):
        return False
    row = table.lookup(outside_path(statement.value.function, frame))
    return row is not None and row.effect == "harmless"


def outside_path(node: ir.Expr, frame: Frame) -> str:
    """The dotted name of what an expression names outside the project; nothing is evaluated."""
    if isinstance(node, ir.Name):
        value = frame.names.get(node.id) or frame.namespace.names.get(node.id)
        return (path_of(value) or "") if value is not None else ""
    base = outside_path(node.value, frame) if isinstance(node, ir.Attribute) else ""
    return f"{base}.{node.name}" if base and isinstance(node, ir.Attribute) else ""
