"""Each fix, applied alone to each program that it is offered for."""

from __future__ import annotations

import ast
import difflib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from devlint.config import Config, Selection
from devlint.files import FoundFile
from devlint.fixes import mended
from devlint.linter import Checked, Report, lint
from devlint.rules import edits
from devlint.worlds import WORLD_NAMES
from tests.rules.expectations import RULES, Expected, as_expected, breaks, config_for
from tests.rules.machines import Machines
from tests.rules.programs import EXAMPLES, Program, fixtures, lay_out, program_text

FIXED_CODES = {
    *("DEV104", "DEV106", "DEV108", "DEV201", "DEV202", "DEV203", "DEV303", "DEV304", "DEV306"),
    *("DEV401", "DEV402", "DEV403", "DEV501", "DEV502", "DEV601", "DEV603", "DEV701", "DEV702", "DEV703"),
    *("DEV801", "DEV901"),
}
"""The rules of which a fix is promised."""

BAD_FIXTURES = [program for program in fixtures() if program.expected]
BAD_EXAMPLES = [item for item in EXAMPLES if item[0].fixer is not None]


@dataclass(frozen=True, slots=True)
class Applied:
    """A file after one fix: what was there, what is there, what is found now, and which finding was mended."""

    mended: Expected
    before: bytes
    after: bytes
    found: list[Expected]


def reports_of(path: Path, code: str) -> Report:
    """Lint a file on its own."""
    return lint([FoundFile(path, config_for(code, path.parent), named=True)])


def apply_each(path: Path, code: str) -> list[Applied]:
    """Apply every fix that is offered in the file, each to the file as it was."""
    before = path.read_bytes()
    report = reports_of(path, code)
    everything = Config(root=path.parent, selections=(Selection(extend_select=(code,)),))
    result = []
    for item in report.checked:
        if item.mend is None or item.path != str(path):
            continue
        after, codes = mended(report.sources[item.finding.location.filename], [(item.finding.code, item.mend)])
        assert codes == [item.finding.code], f"{item.finding.code}: the fix could not be written"
        path.write_bytes(after)
        found = as_expected(lint([FoundFile(path, everything, named=True)]).findings)
        path.write_bytes(before)
        result.append(Applied(as_expected([item.finding])[0], before, after, found))
    return result


def check_fix(applied: Applied, path: Path) -> None:
    """Check what must hold of every fix, without running anything."""
    same = [
        item for item in applied.found if (item.file, item.cell, item.row) == place(applied) and is_same(item, applied)
    ]
    assert not same, "the finding is still there"
    path.write_bytes(applied.after)
    ast.parse(program_text(path))
    again = [item for item in reports_of(path, applied.mended.code).checked if fixes_again(item, applied)]
    path.write_bytes(applied.before)
    assert not again, "a second run would change it again"
    matcher = difflib.SequenceMatcher(None, applied.before, applied.after, autojunk=False)
    untouched = sum(size for _, _, size in matcher.get_matching_blocks())
    assert untouched >= len(applied.before) - 400, "more was rewritten than the finding's own statement"


def place(applied: Applied) -> tuple[str, int, int]:
    return applied.mended.file, applied.mended.cell, applied.mended.row


def is_same(item: Expected, applied: Applied) -> bool:
    return item.code == applied.mended.code


def fixes_again(item: Checked, applied: Applied) -> bool:
    """Whether a fix of the same rule is offered at the same place."""
    there = as_expected([item.finding])[0]
    return item.mend is not None and is_same(there, applied) and (there.file, there.cell, there.row) == place(applied)


def run_all(applied: Applied, path: Path, machines: Machines, worlds: tuple[str, ...]) -> None:
    """Run the mended file: it breaks only where something else is still found."""
    path.write_bytes(applied.after)
    text = program_text(path)
    for world in worlds:
        if not breaks(applied.found, world):
            outcome = machines.run(text, world, path=path)
            assert outcome.error is None, (world, outcome.error)


@pytest.mark.parametrize("code", sorted(FIXED_CODES))
def test_promised_fix_is_there(code: str) -> None:
    assert RULES[code].fixer is not None
    assert RULES[code].fix_safety


@pytest.mark.parametrize("program", BAD_FIXTURES, ids=[program.name for program in BAD_FIXTURES])
def test_fixes_of_fixtures(program: Program, tmp_path: Path, machines: Machines) -> None:
    here = tmp_path / "program"
    shutil.copytree(program.entry.parent, here)
    if (here / "prepare.py").exists() and program.worlds_to_run:
        machines.run((here / "prepare.py").read_text(), "gpu1", path=here / "prepare.py")
    for file in program.files:
        for applied in apply_each(here / file.name, program.code):
            check_fix(applied, here / file.name)
            if file == program.entry:
                run_all(applied, here / file.name, machines, program.worlds_to_run)


@pytest.mark.parametrize(
    ("rule", "number", "example"), BAD_EXAMPLES, ids=[f"{rule.code}-{number}" for rule, number, _ in BAD_EXAMPLES]
)
def test_fixes_of_examples(rule: object, number: int, example: object, tmp_path: Path, machines: Machines) -> None:
    from devlint.rules.base import Example, Rule

    assert isinstance(rule, Rule) and isinstance(example, Example)
    path = lay_out(example, example.bad, tmp_path)
    if example.prepare:
        machines.run(example.prepare, "gpu1", path=tmp_path / "prepare.py")
    for applied in apply_each(path, rule.code):
        check_fix(applied, path)
        if example.runs and not example.args:
            run_all(applied, path, machines, WORLD_NAMES)


@pytest.mark.parametrize("code", sorted(FIXED_CODES))
def test_promised_fix_is_offered_somewhere(code: str, tmp_path: Path) -> None:
    example = RULES[code].example
    path = lay_out(example, example.bad, tmp_path)
    offered = {item.finding.code for item in reports_of(path, code).checked if item.mend is not None}
    assert code in offered


def test_a_scope_is_read_once_for_all_findings_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a file with many findings takes as many times its rows."""
    read: list[int] = []
    once = edits._own
    monkeypatch.setattr(edits, "_own", lambda scope: read.append(id(scope)) or once(scope))
    functions = "".join(
        f"def f{number}():\n    y = torch.ones(3)\n    return torch.zeros(3, device=device) + y\nf{number}()\n"
        for number in range(20)
    )
    path = tmp_path / "program.py"
    path.write_text(f"import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n{functions}")
    report = reports_of(path, "DEV303")
    assert sum(item.mend is not None for item in report.checked) == 20
    assert len(read) == len(set(read))
