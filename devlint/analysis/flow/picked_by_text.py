"""What a program picks by the text of an option: `--agent dqn` where `choices=["dqn", "dueling"]`.

Classes and functions that a program looks up by such a text are seen by its form alone, also where it goes by a
registry of which nothing is known; another choice is worth a run where it picks one to which the runs before did not
come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.flow.other_values import OtherWay, note
from devlint.analysis.memo import memoized
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.flow.other_values import Limited
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

MAX_TEXTS: Final = 8
"""Of how many texts that an option takes the others are looked for."""


def note_picked(machine: Machine, paths: set[str], options: dict[str, Limited]) -> None:
    """Note the choices of options that pick something to which no run came, in the files that a program is made of."""
    modules = [module for path, module in machine.project.loaded() if path in paths]
    missed: dict[str, list[ir.Node]] = {}
    for module in modules:
        for part in module.body:
            if isinstance(part, (ir.Class, ir.Function)) and part.speaks and part not in machine.visited:
                missed.setdefault(part.name, []).append(part)
    if not missed:
        return
    for path, option in options.items():
        for text in _others(option):
            asking = (module for module in modules if f'"{text}"' in module.text or f"'{text}'" in module.text)
            names = {text}.union(*(_picks(machine.project, module).get(text, ()) for module in asking))
            aims = [node for name in names if name in missed for node in missed[name]]
            if aims:
                note(machine, OtherWay({path: text}, tuple(aims), option.site))


def _others(option: Limited) -> list[str]:
    """The texts that an option takes besides its default, where it takes nothing else."""
    if len(option.taken) > MAX_TEXTS or option.default not in option.taken:
        return []
    others = [value for value in option.taken if value != option.default]
    return others if all(isinstance(value, str) for value in others) else []


@memoized
def _picks(project: Project, module: ir.Module) -> dict[str, set[str]]:
    """What a file names where it goes by a text: `if args.agent == "dueling": Dueling()`, `{"dueling": Dueling}`,
    `@register("dueling")`."""
    found: dict[str, set[str]] = {}
    for asked, chosen in _by_text(module):
        texts = {part.value for part in walk(asked) if isinstance(part, ir.Const) and isinstance(part.value, str)}
        names = {last_name(part) for part in walk(chosen)} if texts else set()
        for text in texts:
            found.setdefault(text, set()).update(names)
    return found


def _by_text(module: ir.Module) -> Iterator[tuple[object, object]]:
    """What is asked, and what is chosen by it."""
    for part in walk(module.body):
        if isinstance(part, ir.If) and isinstance(part.test, ir.Compare):
            yield part.test, part.body
        elif isinstance(part, ir.Conditional):
            yield part.test, part.body
        elif isinstance(part, ir.DictDisplay):
            yield from ((key, value) for key, value in part.items if isinstance(key, ir.Const))
        elif isinstance(part, ir.Match):
            yield from ((case.pattern, case.body) for case in part.cases)
        elif isinstance(part, ir.Class) and part.decorators:
            yield part.decorators, ir.Name(part.name, ir.NameScope.GLOBAL, part.at)
