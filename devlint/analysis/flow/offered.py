"""Values that an option offers besides its default: `--agent dqn`, `choices=["dqn", "dueling"]`.

Which of them are worth a run of the program is seen by what it is written to do with them: one picks a class or a
function to which the runs before did not come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from devlint.analysis.domain.values import Const, Mapping, Sequence, Value, constant
from devlint.analysis.events import Choice
from devlint.analysis.flow.option_names import speaks_of_gpu
from devlint.analysis.memo import memoized
from devlint.semantics.devices import parse_device
from devlint.syntax import ir
from devlint.syntax.walk import last_name, walk

if TYPE_CHECKING:
    from devlint.analysis.events import Site
    from devlint.analysis.flow.choices import ChoiceKey
    from devlint.analysis.machine import Machine
    from devlint.analysis.project import Project

MAX_OFFERED: Final = 8
"""Of how many values of an option the others are looked for."""
MAX_TRIED: Final = 2
"""How many of those that pick something are tried in a program."""


def texts_offered(name: str, default: Value, choices: Value | None) -> tuple[str, ...]:
    """The texts that an option takes besides its default; none where it is about devices, or they are not known."""
    if isinstance(choices, Mapping) and not choices.open:
        found: list[object] = list(choices.items)
    elif isinstance(choices, Sequence) and not choices.open:
        found = [constant(choice) for choice in choices.items]
    else:
        return ()
    first = constant(default)
    texts = tuple(text for text in found if isinstance(text, str))
    if len(texts) != len(found) or first not in texts or len(texts) > MAX_OFFERED or speaks_of_gpu(name):
        return ()
    if any(parse_device(text) is not None for text in texts):
        return ()
    return tuple(text for text in texts if text != first)


def given(machine: Machine, path: str, default: Value, offered: tuple[str, ...], site: Site) -> Value:
    """What an option is in this run: its default, unless the run assumes another value that it offers."""
    chosen = default
    for text in offered:
        key = f"{path} == {text!r}"
        machine.run.offered[key] = text
        if machine.run.assume.get(key):
            machine.run.path.append(Choice(key, True, site))
            chosen = Const(text)
    return chosen


def worth_a_run(machine: Machine, paths: set[str], offered: dict[str, str]) -> list[ChoiceKey]:
    """Which assumptions pick something new, by the files that a program is made of."""
    modules = [module for path, module in machine.project.loaded() if path in paths]
    missed = {
        part.name
        for module in modules
        for part in module.body
        if isinstance(part, (ir.Class, ir.Function)) and part.speaks and part not in machine.visited
    }
    if not missed:
        return []
    worth: list[ChoiceKey] = []
    for key, text in offered.items():
        asking = (module for module in modules if f'"{text}"' in module.text or f"'{text}'" in module.text)
        picked = (_picks(machine.project, module).get(text, ()) for module in asking)
        if text in missed or any(not missed.isdisjoint(names) for names in picked):
            worth.append(key)
    return worth[:MAX_TRIED]


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
