"""What is found stays when a program is changed without changing what it does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hypothesis import Phase, given, settings

from devlint.linter import check
from tests import metamorphic
from tests.metamorphic import MAIN, MOVED, Changed, Place
from tests.rules.expectations import config_for
from tests.rules.programs import fixtures
from tests.strategies import programs

FIXTURES = Path(__file__).parents[1] / "fixtures"
OTHER_CAUSE = {
    "DEV101/once_a_function.py": "the helper is a further function that names the second GPU",
    "DEV105/device_below.py": "what is bound below names no device any more, a helper does",
    "DEV301/last_gpu_unless_told.py": "the helper itself names the GPU that its argument is not on (DEV101)",
    "DEV303/autograd_function.py": "the helper gets the wrong tensor as an argument: the caller is blamed (DEV301)",
    "DEV303/drawn_transitions.py": "the helper gets the wrong tensor as an argument: the caller is blamed (DEV301)",
    "DEV303/hidden_state.py": "the helper gets the wrong tensor as an argument: the caller is blamed (DEV301)",
    "DEV303/spread_over_gpus.py": "the helper gets the wrong tensor as an argument: the caller is blamed (DEV301)",
    "DEV402/right_looked_up_on_the_host.py": "the helper reads what shows where the input is",
    "DEV501/masks_from_a_helper.py": "the helper fills the container: told is where the constructor made it",
    "DEV503/projection.py": "the layer is no longer built in `forward` itself",
}
"""Where an extracted helper changes by design which rule speaks, or where."""

NOT_YET: dict[str, str] = {}
"""Moved programs whose findings get lost."""

TELLING = {"DEV106/warned_and_went_on.py": "what else stands in its handler may be an answer to the error"}
"""Programs in which no statement has nothing to do with the finding."""

BY_PROTOCOL = {
    "DEV201/parameter_among_parts.py": "what gives back what it has moved may be called for its checks",
    "DEV301/last_gpu_unless_told.py": "the helper names the GPU that its argument is not on (DEV101)",
    "DEV301/right_patched_by_decorator.py": "the helper is entered by itself, where nothing is patched",
    "DEV301/right_spread_over_gpus.py": "the same question, in two files",
    "DEV303/past_or_number.py": "the helper speaks of no device, nor does what calls it",
    "DEV401/predictions.py": "the helper speaks of no device, nor does what calls it",
    "DEV405/right_next_copy_waits.py": "the helper is entered by itself",
    "DEV405/right_synchronized.py": "the helper is entered by itself, on a device that nobody knows",
}
"""What is not the same when nobody calls the program and a helper is extracted from it."""

Found = tuple[str, tuple[str, ...], Place]


def name_of(path: Path) -> str:
    return str(path.relative_to(FIXTURES))


def applicable(change: Callable[[str], list[Changed]], excluded: Mapping[str, str]) -> list[ParameterSet]:
    """The fixtures that a change applies to, each with its code, its text and the changed texts."""
    found = []
    for program in fixtures():
        name = name_of(program.entry)
        if program.entry.suffix == ".py" and program.files == [program.entry] and name not in excluded:
            text = program.entry.read_text(encoding="utf-8")
            changed = change(text)
            marks = (
                [pytest.mark.xfail(strict=True, reason=NOT_YET[name])] if name in NOT_YET and is_move(changed) else []
            )
            if changed:
                found.append(pytest.param(program.code, text, changed, id=name, marks=marks))
    return found


def is_move(changes: list[Changed]) -> bool:
    return any(MOVED in changed.files for changed in changes)


def only(change: Callable[[str], Changed | None]) -> Callable[[str], list[Changed]]:
    return lambda text: [changed for changed in [change(text)] if changed is not None]


def extractions(text: str) -> list[Changed]:
    changes = [metamorphic.extract(text, row) for row in metamorphic.assignments(text)]
    return [changed for changed in changes if changed is not None]


def found_in(files: dict[str, str], code: str, folder: Path) -> list[Found]:
    """Lint a program; return code, worlds and place of each finding."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    findings = check([folder / MAIN], config_for(code, folder))
    return sorted(
        (item.code, item.worlds, (Path(item.location.filename).name, item.location.start.row)) for item in findings
    )


@cache
def found_before(code: str, text: str) -> list[Found]:
    """What is found in a program as it is."""
    with tempfile.TemporaryDirectory() as folder:
        return found_in({MAIN: text}, code, Path(folder))


def assert_equal(code: str, text: str, changed: Changed, folder: Path) -> None:
    before = found_before(code, text)
    after = found_in(dict(changed.files), code, folder)
    missing = list(after)
    for name, worlds, (_, row) in before:
        fitting = [item for item in missing if item[:2] == (name, worlds) and item[2] in changed.rows[row]]
        assert fitting, f"{name} {worlds} of row {row} is gone: {after}"
        missing.remove(fitting[0])
    assert not missing, f"new: {missing}"


@pytest.mark.parametrize(("code", "text", "changes"), applicable(only(metamorphic.rename), {}))
def test_renamed(code: str, text: str, changes: list[Changed], tmp_path: Path) -> None:
    assert_equal(code, text, changes[0], tmp_path)


@pytest.mark.parametrize(("code", "text", "changes"), applicable(only(metamorphic.insert), TELLING))
def test_unrelated_statements(code: str, text: str, changes: list[Changed], tmp_path: Path) -> None:
    assert_equal(code, text, changes[0], tmp_path)


@pytest.mark.parametrize(("code", "text", "changes"), applicable(only(metamorphic.move), {}))
def test_moved_to_another_file(code: str, text: str, changes: list[Changed], tmp_path: Path) -> None:
    assert_equal(code, text, changes[0], tmp_path)


@pytest.mark.parametrize(("code", "text", "changes"), applicable(extractions, OTHER_CAUSE))
def test_extracted_helpers(code: str, text: str, changes: list[Changed], tmp_path: Path) -> None:
    for changed in changes:
        assert_equal(code, text, changed, tmp_path)


def handed_out(text: str) -> list[Changed]:
    """Helpers made of what a text that nobody runs evaluates: in the same file (of assignments), or in another one (of
    every fourth row)."""
    bare = metamorphic.unguarded(text)
    if bare is None:
        return []
    rows = range(1, bare.count("\n") + 1, 4)
    changes = [*extractions(bare), *(metamorphic.hand_out(bare, row) for row in rows)]
    return [changed for changed in changes if changed is not None]


MIXED = {"DEV302": "DEV301", "DEV303": "DEV301"}
"""Where a value is made and meets another in two functions, another rule speaks, and of another row."""


@pytest.mark.parametrize(("code", "text", "changes"), applicable(handed_out, BY_PROTOCOL))
def test_helpers_of_what_nobody_calls(code: str, text: str, changes: list[Changed], tmp_path: Path) -> None:
    bare = metamorphic.unguarded(text)
    assert bare is not None

    def kinds(files: dict[str, str]) -> list[tuple[str, tuple[str, ...]]]:
        return sorted((MIXED.get(name, name), worlds) for name, worlds, _ in found_in(files, code, tmp_path))

    before = kinds({MAIN: bare})
    for changed in changes:
        assert kinds(dict(changed.files)) == before, changed.files


@pytest.mark.parametrize("change", [metamorphic.rename, metamorphic.insert], ids=["renamed", "unrelated statements"])
@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(text=programs())
def test_generated_programs(change: Callable[[str], Changed | None], text: str) -> None:
    text += "if __name__ == '__main__':\n    print(i0)\n"  # a program, whatever else it does
    with tempfile.TemporaryDirectory() as folder:
        changed = change(text)
        assert changed is not None
        assert_equal("DEV301", text, changed, Path(folder))
