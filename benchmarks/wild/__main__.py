"""The command line: lint checkouts and show what is new or gone, take judgements in, print the figures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.wild.checkouts import Failed, measure, parse_checkout
from benchmarks.wild.figures import report
from benchmarks.wild.ledger import Change, Entry, Ledger, Measured, Misjudged, form

HOME = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, 1 where findings wait for a verdict, 2 where something could not be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wild", description=__doc__)
    parser.add_argument("checkouts", nargs="*", metavar="[NAME[@COMMIT]=]FOLDER", help="a checkout to lint")
    parser.add_argument("--jobs", type=int, default=2, help="how many checkouts at once")
    parser.add_argument("--aside", action="store_true", help="the checkouts are not to be mended by: counted apart")
    parser.add_argument("--judge", type=Path, metavar="FILE", help="take verdicts from the form that a run prints")
    parser.add_argument("--figures", action="store_true", help="print the figures alone")
    parser.add_argument("--folder", type=Path, default=HOME, help="where the ledger is")
    options = parser.parse_args(arguments)
    ledger = Ledger.read(options.folder)
    try:
        if options.judge is not None:
            ledger.judge(options.judge.read_text(encoding="utf-8"))
        checkouts = [parse_checkout(word, options.aside) for word in options.checkouts]
        with ThreadPoolExecutor(options.jobs) as pool:
            for measured, found in pool.map(measure, checkouts):
                show(measured, found, ledger.update(measured, found))
                ledger.write(options.folder)
    except (Failed, Misjudged, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    ledger.write(options.folder)
    if options.figures or not options.checkouts:
        print(report(ledger))
    return 1 if ledger.waiting() else 0


def show(measured: Measured, found: Sequence[Entry], change: Change) -> None:
    """Print what changed, new findings as rows in which verdict and reason are to be filled in."""
    print(
        f"# {measured.repository}: {measured.lines} lines, {len(found)} findings, "
        f"{measured.seconds:.1f} s, {measured.megabytes} MB; {len(change.gone)} gone, {len(change.new)} new"
    )
    for entry in change.gone:
        print(f"# gone, was {entry.verdict or 'not judged'}: {entry.place} {entry.code}")
    for entry in change.new:
        print(form(entry), flush=True)


if __name__ == "__main__":
    sys.exit(main())
