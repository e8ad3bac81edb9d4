"""Numbers of GPUs that an option gives: its default is the author's machine, and whoever has another says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.analysis.domain.values import Const, Sequence, Value
from devlint.analysis.flow.option_names import says_which_gpu

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.machine import Machine


def says_which(name: str, default: Value) -> bool:
    """Whether an option says which GPU, or which of them: `--gpu 0`, `--gpu_ids 0,1`, a list of numbers."""
    if isinstance(default, Sequence):
        numbers = [item for item in default.items if isinstance(item, Const) and type(item.value) is int]
        are_numbers = bool(numbers) and len(numbers) == len(default.items) and not default.open
        return are_numbers and says_which_gpu(name, True)
    content = default.value if isinstance(default, Const) else None
    if isinstance(content, str):
        return content.replace(",", "").replace(" ", "").isdigit() and says_which_gpu(name, True)
    is_number = isinstance(content, int) and not isinstance(content, bool) and content >= 0
    return is_number and says_which_gpu(name, False)


def read(machine: Machine, default: Value, site: Site) -> Value:
    """The default of such an option, which knows where it was read."""
    machine.places.gpu_numbers.add(site.key)
    if isinstance(default, Sequence):
        return Sequence(default.kind, [Const(item.value, site) for item in default.items if isinstance(item, Const)])
    assert isinstance(default, Const)
    return Const(default.value, site)


def is_chosen(machine: Machine, value: Value | None) -> bool:
    """Whether a value is a number of a GPU that an option gives, or was made of one."""
    return isinstance(value, Const) and value.site is not None and value.site.key in machine.places.gpu_numbers


def is_rank(machine: Machine, value: Value | None) -> bool:
    """Whether a value is the number that an option for the rank of a process has by default, or was made of it."""
    return isinstance(value, Const) and value.site is not None and value.site.key in machine.places.ranks


def handed_on(machine: Machine, value: Value, made: Value) -> Value:
    """What is made of such a text, `int(args.gpu)`, `args.gpu_ids.split(",")`, or of the number of a process,
    `str(args.local_rank)`: the numbers are still the option's."""
    if not (machine.places.gpu_numbers or machine.places.ranks):
        return made
    if not is_chosen(machine, value) and not is_rank(machine, value):
        return made
    assert isinstance(value, Const)
    if isinstance(made, Sequence):
        items = [handed_on(machine, value, item) for item in made.items]
        return Sequence(made.kind, items, made.open)
    is_one = isinstance(made, Const) and isinstance(made.value, (int, str)) and not isinstance(made.value, bool)
    return Const(made.value, value.site) if is_one and isinstance(made, Const) else made


def note_name(machine: Machine, value: Value | None, made: Value) -> None:
    """Note that the name of a device, `f"cuda:{args.gpu}"`, was made with such a number."""
    if machine.places.gpu_numbers and is_chosen(machine, value) and isinstance(made, Const) and made.site is not None:
        machine.places.gpu_numbers.add(made.site.key)
