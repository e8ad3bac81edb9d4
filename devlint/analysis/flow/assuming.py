"""What further runs of a program assume of several conditions at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from devlint.analysis.flow.choices import ChoiceKey
from devlint.analysis.flow.conditions import excludes
from devlint.analysis.flow.option_names import are_independent, asks_for_gpu, is_gpu_option, option_of
from devlint.analysis.running import ON_THE_CPU

if TYPE_CHECKING:
    from devlint.analysis.machine import Machine

MAX_PAIRS = 3
MAX_BEYOND = 4
"""So many runs assume a further answer that became worth a run when another was known."""


def together(machine: Machine) -> list[dict[ChoiceKey, bool]]:
    """What is to be assumed of two conditions at a time: those whose operands met, if they may have any answers."""
    pairs = dict.fromkeys(frozenset(pair) for pair in machine.entry.pairs if are_independent(*pair))
    keys = [sorted(pair, key=str) for pair in list(pairs)[:MAX_PAIRS]]
    return [{one: first, other: second} for one, other in keys for first in (True, False) for second in (True, False)]


def usual(machine: Machine, asked: Iterable[ChoiceKey]) -> dict[ChoiceKey, bool]:
    """The answers of a program that is started without arguments, to those of its conditions that are options."""
    answers = {key: machine.run.unless_given.get(key) for key in asked}
    return {key: answer for key, answer in answers.items() if answer is not None}


def on_a_gpu(machine: Machine, asked: Iterable[ChoiceKey]) -> dict[ChoiceKey, bool]:
    """The same answers, but of options that are about where the program runs those that ask for a GPU: the first, if
    one option is compared with several."""
    gpu: dict[ChoiceKey, bool] = {}
    for key in asked:
        if isinstance(key, str) and is_gpu_option(key):
            is_other = any(holds and excludes(str(known), key) for known, holds in gpu.items())
            gpu[key] = asks_for_gpu(key, True) and not is_other
    return {**usual(machine, asked), **gpu}


def in_turn(promoted: Iterable[ChoiceKey]) -> list[ChoiceKey]:
    """The conditions in their order, but the first of each option before further ones of the same: what forty networks
    are called leaves no turn to whether there is a GPU."""
    count: Counter[str] = Counter()
    turns: list[tuple[int, ChoiceKey]] = []
    for key in promoted:
        name = option_of(key) if isinstance(key, str) else ""
        turns.append((count[name] if name else 0, key))
        count[name] += 1
    return [key for _, key in sorted(turns, key=lambda turn: turn[0])]


def one_of_each(machine: Machine) -> dict[ChoiceKey, bool]:
    """For options that have to be given one of the values that the program asks for: `args.net == "vgg"`."""
    chosen: dict[str, ChoiceKey] = {}
    for key in machine.run.asked:
        name = option_of(key) if isinstance(key, str) and " == " in key else ""
        if isinstance(key, str) and name and not is_gpu_option(name) and machine.run.unless_given.get(key) is None:
            chosen.setdefault(name, key)
    return dict.fromkeys(chosen.values(), True)


def joint(machine: Machine, asked: list[ChoiceKey]) -> list[dict[ChoiceKey, bool]]:
    """What to assume of conditions of several parts the first of which is worth a run, and of an offered CPU."""
    stays: dict[ChoiceKey, bool] = {ON_THE_CPU: True} if ON_THE_CPU in machine.run.asked else {}
    return [stays] * bool(stays) + [assume for key in asked for assume in machine.run.joint.get(key, ())][:MAX_PAIRS]


def beyond(
    machine: Machine, assumed: dict[ChoiceKey, bool], known: Container[ChoiceKey]
) -> list[dict[ChoiceKey, bool]]:
    """What to assume besides `assumed`, answers that a program without arguments gives: of options that became choices
    under them alone. `if args.device is None: args.device = "cpu" if args.no_cuda else "cuda"` loses the device inside
    first."""
    usually = machine.run.unless_given
    if any(usually.get(key) is not answer for key, answer in assumed.items()):
        return []
    return [
        {**assumed, key: answer}
        for key in machine.run.promoted
        if key not in known and key not in assumed
        for answer in (True, False)
        if machine.run.defaults.get(key) is not answer and usually.get(key) in (None, answer)
    ]
