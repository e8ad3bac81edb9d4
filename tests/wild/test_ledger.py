"""The ledger keeps verdicts over runs, and its figures count what was judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.wild.__main__ import main
from benchmarks.wild.checkouts import Failed, parse_checkout
from benchmarks.wild.figures import by_rule, report, total
from benchmarks.wild.ledger import Entry, Ledger, Measured, Misjudged, form

PROGRAM = """\
import torch

def weighted(x):
    mask = torch.zeros(3)
    if torch.cuda.is_available:
        x = x.cuda()
    return x * mask
"""
TWICE = "\nif torch.cuda.is_available:\n    torch.manual_seed(0)\n"


def measured(lines: int = 50_000, aside: bool = False, name: str = "someone/thing") -> Measured:
    return Measured(name, "1f", 10, lines, 1.5, 80, aside)


def entry(mark: str, code: str = "DEV104", row: int = 4, name: str = "someone/thing") -> Entry:
    return Entry(name, "1f", "train.py", None, row, code, mark)


def judged(item: Entry, verdict: str, reason: str = "read") -> str:
    return "\t".join((item.repository, item.place, item.code, item.mark, verdict, reason))


def test_what_is_new_and_what_is_gone() -> None:
    ledger = Ledger()
    first = ledger.update(measured(), [entry("a"), entry("b")])
    assert [item.mark for item in first.new] == ["a", "b"]
    ledger.judge(judged(entry("a"), "right"))
    second = ledger.update(measured(), [entry("a", row=9)])
    assert second.new == ()
    assert [item.mark for item in second.gone] == ["b"]
    kept = ledger.entries["someone/thing", "a"]
    assert (kept.verdict, kept.row, kept.present) == ("right", 9, True)
    third = ledger.update(measured(), [entry("a", row=9), entry("b")])
    assert [item.mark for item in third.new] == ["b"]


def test_runs_over_others_leave_a_repository_alone() -> None:
    ledger = Ledger()
    ledger.update(measured(), [entry("a")])
    ledger.update(measured(name="other/thing"), [])
    assert ledger.entries["someone/thing", "a"].present


def test_files_round_trip(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.update(measured(), [entry("a"), entry("b")])
    ledger.judge("# a comment\n\n" + judged(entry("b"), "wrong", "a guard, «elsewhere»"))
    ledger.write(tmp_path)
    again = Ledger.read(tmp_path)
    assert again.entries == ledger.entries
    assert again.measured == ledger.measured


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a b c", "columns"),
        (judged(entry("z"), "right"), "no finding"),
        (judged(entry("a"), "maybe"), "verdict"),
        (judged(entry("a"), "right", ""), "reason"),
    ],
)
def test_judgements_that_can_not_be_followed(row: str, complaint: str) -> None:
    ledger = Ledger()
    ledger.update(measured(), [entry("a")])
    with pytest.raises(Misjudged, match=complaint):
        ledger.judge(row)
    assert ledger.waiting()


def test_figures() -> None:
    ledger = Ledger()
    ledger.update(measured(150_000), [entry("a"), entry("b"), entry("c", "DEV301")])
    ledger.update(measured(50_000, aside=True, name="other/thing"), [entry("d", name="other/thing")])
    ledger.judge("\n".join((judged(entry("a"), "right"), judged(entry("b"), "wrong"))))
    assert total(ledger).density == 2.0
    assert total(ledger, aside=True).findings == 1
    assert total(ledger, aside=False).share == 0.5
    assert total(ledger, aside=True).share is None
    assert by_rule(ledger)["DEV301"].waiting == 1
    ledger.update(measured(150_000), [])
    assert total(ledger).findings == 1
    assert "| kept aside | 50,000 | 1 | 2.0 |" in report(ledger)


def test_a_run_and_its_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, home = tmp_path / "code", tmp_path / "home"
    code.mkdir()
    home.mkdir()
    (code / "train.py").write_text(PROGRAM, encoding="utf-8")
    arguments = [f"someone/thing@1f={code}", "--folder", str(home)]
    assert main(arguments) == 1
    shown = capsys.readouterr().out
    row = next(row for row in shown.splitlines() if "\tDEV104\t" in row)
    assert "train.py:5" in row
    judgements = tmp_path / "judgements.tsv"
    rows = [row.rstrip("\t") + "\tright\ta function is true" for row in shown.splitlines() if row.startswith("someone")]
    judgements.write_text("\n".join(rows), encoding="utf-8")
    assert main(["--judge", str(judgements), "--folder", str(home)]) == 0
    capsys.readouterr()
    (code / "train.py").write_text("# a row more\n" + PROGRAM + TWICE, encoding="utf-8")
    assert main(arguments) == 1
    shown = capsys.readouterr().out
    assert "0 gone, 1 new" in shown
    assert "train.py:10\tDEV104" in shown
    assert Ledger.read(home).measured["someone/thing"].lines == 11


def test_the_form_names_the_finding() -> None:
    assert form(entry("a")).splitlines()[1].split("\t")[:4] == ["someone/thing", "train.py:4", "DEV104", "a"]


def test_git_says_what_a_checkout_is(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="say what it is"):
        parse_checkout(str(tmp_path / "nothing"))
    for command in (
        ("init", "-q"),
        ("remote", "add", "origin", "https://example.org/someone/thing.git"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    checkout = parse_checkout(str(tmp_path))
    assert checkout.repository == "someone/thing"
    assert len(checkout.commit) == 40
