"""How often functions are run, and what that takes: the bounds that keep the cost of a run linear."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devlint.analysis.domain.values import Function
    from devlint.analysis.machine import Machine
    from devlint.syntax import ir

MAX_CONTEXTS = 6
MIN_STEPS_CONTEXTS = 400
SHARE_OF_CONTEXTS = 8
MAX_DEPTH_OF_PHASES = 2
MAX_STEPS_ABROAD = 500


def count_call(machine: Machine, function: Function) -> str:
    """Count a call of a function; returns which bound leaves it out, "" if none does."""
    run = machine.run
    times, spent, descended = run.contexts.get(function.node, (0, 0, 0))
    if times >= MAX_CONTEXTS and spent > max(MIN_STEPS_CONTEXTS, run.budget // SHARE_OF_CONTEXTS):
        return "contexts"
    run.contexts[function.node] = times + 1, spent, descended
    if run.home is not None and function.frame.namespace.path != run.home:
        abroad = run.abroad if run.left_at is None else run.abroad + run.steps - run.left_at
        if abroad > MAX_STEPS_ABROAD:
            return "other files"
    return ""


def begin_phase(machine: Machine) -> None:
    """What a program trains, and what it tests afterwards, are counted apart: each of its calls, and of those of the
    function that does the rest, has contexts of its own."""
    phase = tuple(activation.call.node for activation in machine.run.activations)
    machine.run.contexts = machine.run.phases.setdefault(phase, {})


def count_steps(machine: Machine, node: ir.Function, steps: int, before: int, descends: bool) -> None:
    """Count what a call took. Calls of itself inside count again in the calls around them, but on the way down a
    structure, which has an end."""
    times, spent, descended = machine.run.contexts[node]
    counted = steps - (descended - before)
    machine.run.contexts[node] = times, spent + counted, descended + counted if descends else descended
