"""The main job: files in, findings out, and files mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from devlint.config import Config
from devlint.files import FoundFile
from devlint.findings import Finding
from devlint.fixes import MOST_ROUNDS, Fixed, choose, mended
from devlint.merging import Checked
from devlint.pipeline import Options, Pipeline, Report

__all__ = ["Checked", "Options", "Report", "check", "lint", "lint_and_fix", "order"]

DEFAULT = Options()


def order(finding: Finding) -> tuple[str, int, int, int, str]:
    """Return the sort key of a finding."""
    where = finding.location
    return (where.filename, where.cell or 0, where.start.row, where.start.column, finding.code)


def check(paths: Sequence[Path], config: Config) -> list[Finding]:
    """Return the findings in the files at `paths`, and in project files that they reach.

    Raises:
        devlint.config.ConfigError: the configuration selects rules that don't exist.
    """
    return lint([FoundFile(Path(path).absolute(), config, named=True) for path in paths]).findings


def lint(files: Sequence[FoundFile], options: Options = DEFAULT) -> Report:
    """Lint files; those of one configuration together, as one program.

    Raises:
        devlint.config.ConfigError: a configuration selects rules that don't exist.
    """
    rules = options.rules
    if rules is None:
        from devlint.rules.catalogue import CATALOGUE

        rules = CATALOGUE
    groups: dict[Config, list[FoundFile]] = {}
    for file in files:
        groups.setdefault(file.config, []).append(file)
    report = Report(files=len(files))
    for config, group in groups.items():
        Pipeline(config, rules, options, report).run(group)
    unique = {(item.path, item.finding.code, item.finding.location): item for item in report.checked}
    report.checked = sorted(unique.values(), key=lambda item: order(item.finding))
    return report


def lint_and_fix(
    files: Sequence[FoundFile],
    options: Options = DEFAULT,
    *,
    unsafe: bool,
    screen: Callable[[Report], None] | None = None,
) -> tuple[Report, list[Fixed]]:
    """Lint and mend in memory until nothing changes; return the last report and the files that changed.

    Only listed files are mended. `screen` may take findings out of each report before they are mended (a baseline).

    Raises:
        devlint.config.ConfigError: see `lint`.
    """
    texts = dict(options.contents)
    fixed: dict[Path, Fixed] = {}
    seen: set[tuple[Path, bytes]] = set()
    for _ in range(MOST_ROUNDS):
        report = lint(files, replace(options, contents=texts))
        if screen is not None:
            screen(report)
        changed = False
        for file in files:
            items = [item for item in report.checked if item.path == str(file.path) and item.mend is not None]
            chosen = choose(((item.finding.code, item.mend) for item in items if item.mend), unsafe)
            if not chosen:
                continue
            source = report.sources[items[0].finding.location.filename]
            after, codes = mended(source, chosen)
            before = source.encode(source.content)
            seen.add((file.path, before))
            if (file.path, after) in seen:
                continue
            record = fixed.setdefault(file.path, Fixed(source, before, after))
            record.after = texts[file.path] = after
            record.codes += codes
            changed = True
        if not changed:
            break
    return report, list(fixed.values())
