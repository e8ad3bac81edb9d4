"""The files of one configuration, as one program: sources, analysis, rules, fixes, suppressions, in this order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from devlint import analysing, merging
from devlint.analysing import FILE_TIMEOUT, Outcome, Progress, Request
from devlint.analysis.events import Event
from devlint.config import Config
from devlint.files import FoundFile, excluded, matches
from devlint.findings import Finding, Location, Position
from devlint.lines import split_rows
from devlint.merging import Checked
from devlint.places import Places, display_name
from devlint.rules.base import Mend, Rule
from devlint.selection import PARSE_CODE, ignored_in_files, select_rules
from devlint.sources import Source, read_source
from devlint.suppression import Comments, Unused
from devlint.syntax.frontend import FrontEnd
from devlint.worlds import WORLDS

if TYPE_CHECKING:
    from devlint.syntax.tree import Tree

LOAD_CODE = "DEV106"
"""The rule about loads: who saved what is loaded, files that nothing imports may tell."""
START = Position(1, 1)

LONGEST_ROW = 50_000
LONGEST_TEXT = 3_000_000
"""Characters of a row and of a file up to which fixes are made: libcst takes some 100 us for an element of a list."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to lint, beside the configuration.

    `contents` are texts that stand in for what is on disk (an editor's buffer, standard input), `names` how files are
    shown, `rules` the rules to choose from (default: the catalogue). `cache`: read and write results in the configured
    folder; not with `contents`. `file_timeout`, `front_end` and `progress`: see `devlint.analysing`.
    """

    contents: Mapping[Path, bytes] = field(default_factory=dict)
    names: Mapping[Path, str] = field(default_factory=dict)
    rules: Sequence[Rule] | None = None
    cache: bool = False
    file_timeout: float = FILE_TIMEOUT
    front_end: FrontEnd = "auto"
    progress: Progress | None = None


@dataclass(slots=True)
class Report:
    """What a run gave. `suppressed` counts what comments and per-file ignores held back; `errors` are for stderr and
    make the exit code 2, `warnings` don't."""

    checked: list[Checked] = field(default_factory=list)
    sources: dict[str, Source] = field(default_factory=dict)
    files: int = 0
    suppressed: int = 0
    unused: list[Unused] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        """The findings, by file, cell, row, column and code."""
        return [item.finding for item in self.checked]


class Pipeline:
    """A run over the files of one configuration."""

    def __init__(self, config: Config, rules: Sequence[Rule], options: Options, report: Report) -> None:
        self.config = config
        self.options = options
        self.catalogue = rules
        codes = select_rules(config.selections, rules)
        self.rules = [rule for rule in rules if rule.code in codes]
        self.report = report
        self.places = Places()
        self.trees: dict[str, Tree] = {}
        self.found: list[Checked] = []
        self.names: dict[str, str] = {}
        self.affordable: dict[str, bool] = {}
        self.rule_failed = False

    def run(self, files: Sequence[FoundFile]) -> None:
        """Lint the files and add what was found to the report."""
        data: dict[str, bytes] = {}
        for file in files:
            self._read(file, data)
        if self.options.cache and not self.options.contents:
            self._check_with_cache(data)
        else:
            self._check(data)
        self._ask_who_saved(data)
        self.report.sources.update({source.filename: source for source in self.places.sources.values()})
        self._filter()

    def _read(self, file: FoundFile, data: dict[str, bytes]) -> None:
        path = str(file.path)
        name = self.names[path] = self.options.names.get(file.path) or display_name(path)
        try:
            content = self.options.contents.get(file.path)
            data[path] = file.path.read_bytes() if content is None else content
        except OSError as error:
            reason = error.strerror or str(error)
            if file.named:
                self.report.errors.append(f"{name}: {reason}")
                self.report.files -= 1
            else:
                self.found.append(Checked(self._unchecked(name, f"the file can't be read: {reason}"), path))

    def _open(self, path: str, content: bytes) -> Source:
        source = self.places.sources[path] = read_source(Path(path), self.names[path], content)
        return source

    def _check(self, data: Mapping[str, bytes]) -> Outcome:
        """Find what is to be found in these files; their cells and fences that can't be parsed included."""
        programs: dict[str, Source] = {}
        for path, content in data.items():
            source = self._open(path, content)
            for problem in source.problems:
                where = Position(problem.row, problem.column)
                finding = self._unchecked(source.filename, problem.message, where, problem.cell)
                self.found.append(Checked(finding, path))
            if source.text.strip():
                programs[path] = source
        outcome = analysing.analyse(self._request(), programs)
        for failure in outcome.failures:
            self._fail(failure.path, failure.reason, failure.row, failure.column)
        for verdict in self._diagnose(outcome.events):
            self._take(verdict)
        self.report.statistics.update(outcome.statistics)
        return outcome

    def _check_with_cache(self, data: Mapping[str, bytes]) -> None:
        """As `_check`, but only what is not known. A known component that a changed file imports is checked again."""
        from devlint.cache import Cache, components, digest

        config = self.config
        settings = (config.root, config.worlds, config.per_file_worlds, config.min_torch, config.models)
        codes = (rule.code for rule in self.rules)
        cache = Cache.open(config.cache_directory, (*settings, self.options.front_end, *codes))
        digests = {path: digest(content) for path, content in data.items()}
        hits = cache.lookup(digests)
        unreadable = self.found
        outcome = Outcome()
        while True:
            known = {path for component in hits for path in component.files}
            fresh = {path: content for path, content in data.items() if path not in known}
            self.found = []
            if fresh:
                outcome = self._check(fresh)
            reached = {path for imported in outcome.dependencies.values() for path in imported}
            still = [component for component in hits if reached.isdisjoint(component.files)]
            if len(still) == len(hits):
                break
            hits = still
        if fresh and not outcome.failures and not self.rule_failed:
            try:
                listed = {path: digests[path] for path in fresh}
                new = components(listed, outcome.dependencies, self.found, frozenset(outcome.absent))
                kept = [component for component in new if outcome.uncached.isdisjoint(component.files)]
                cache.save([*kept, *hits], digests)
            except OSError as error:
                self.report.warnings.append(f"the cache was not written: {error}")
        self.found += unreadable
        for component in hits:
            self.found += component.checked
            speaking = {item.path for item in component.checked}
            for path in component.listed:
                if path in speaking or b"noqa" in data[path] or b"devlint" in data[path]:
                    self._open(path, data[path])
        self.report.statistics["files known from the cache"] += len(data) - len(fresh)

    def _request(self) -> Request:
        worlds = tuple(world for world in WORLDS if world.name in self._worlds())
        wanted = merging.wanted_events(self.rules)
        options = self.options
        limits = (options.file_timeout, options.front_end, options.progress)
        return Request(self.config.root, worlds, wanted, *limits, self.config.models)

    def _worlds(self) -> set[str]:
        return set(self.config.worlds).union(*(names for _, names in self.config.per_file_worlds))

    def _allowed(self, path: str) -> tuple[str, ...]:
        worlds = self.config.worlds
        for pattern, names in self.config.per_file_worlds:
            if matches(Path(path), self.config.root, (pattern,)):
                worlds = names
        return worlds

    def _diagnose(self, events: Iterable[Event]) -> list[merging.Verdict]:
        def failed(event: Event, rule: Rule, error: Exception) -> None:
            self.rule_failed = True
            self._fail(event.site.path, f"rule {rule.code} failed: {type(error).__name__}: {error}", event.site.row)

        return merging.diagnose(events, self.rules, self.places, self._allowed, failed)

    def _take(self, verdict: merging.Verdict) -> None:
        path = verdict.first.site.path
        try:
            finding = merging.finding(verdict, self.places)
            source = self.places.source(path)
        except OSError as error:
            self._fail(path, f"the file can't be read any more: {error.strerror or error}")
            return
        mend = self._mend(verdict, source)
        if mend is not None:
            fix = merging.fix(mend, source)
            finding = replace(finding, fix=fix)
            mend = mend if fix is not None else None
        self.found.append(Checked(finding, path, mend))

    def _mend(self, verdict: merging.Verdict, source: Source) -> Mend | None:
        fixer = verdict.rule.fixer
        if fixer is None or not self._affordable(source):
            return None
        from devlint.syntax.tree import Tree

        try:
            tree = self.trees.get(source.path)
            if tree is None:
                tree = self.trees[source.path] = Tree.parse(source.text, self.config.min_torch)
            return fixer(verdict.first, tree)
        except Exception as error:
            code, row = verdict.rule.code, verdict.first.site.row
            self.report.warnings.append(f"{source.filename}:{row}: no fix for {code}: {type(error).__name__}: {error}")
            return None

    def _affordable(self, source: Source) -> bool:
        """Whether a libcst tree of the source can be built in reasonable time: not that of a file of generated data."""
        known = self.affordable.get(source.path)
        if known is None:
            longest = max(map(len, split_rows(source.text)))
            known = self.affordable[source.path] = longest <= LONGEST_ROW and len(source.text) <= LONGEST_TEXT
            if not known:
                self.report.warnings.append(f"{source.filename}: no fixes for a file of this size")
        return known

    def _fail(self, path: str, reason: str, row: int = 1, column: int = 1) -> None:
        cell, where = None, Position(row, column)
        name = display_name(path)
        source = self.places.sources.get(path)
        if source is not None:
            name = source.filename
            cell, where = source.locate(row, column)
        self.found.append(Checked(self._unchecked(name, reason, where, cell), path))

    def _unchecked(self, filename: str, reason: str, where: Position = START, cell: int | None = None) -> Finding:
        page = next((rule for rule in self.catalogue if rule.code == PARSE_CODE), None)
        return Finding(
            code=PARSE_CODE,
            name=page.name if page else "not-analysed",
            message=reason,
            location=Location(filename, where, where, cell),
            severity="error",
            noqa_row=where.row,
            url=page.url if page else "",
        )

    def _ask_who_saved(self, data: Mapping[str, bytes]) -> None:
        """Give loads as advice where programs beside them bring to the CPU what they save. Other components' files say
        that, so it is no part of what the cache keeps."""
        if all(item.finding.code != LOAD_CODE for item in self.found):
            return
        from devlint.saving import Savers

        savers = Savers(data)
        for index, item in enumerate(self.found):
            if item.finding.code == LOAD_CODE and item.finding.severity != "advice" and savers.bring_to_cpu(item.path):
                self.found[index] = replace(item, finding=replace(item.finding, severity="advice"))

    def _filter(self) -> None:
        """Hold back what comments, per-file ignores and excludes say; what remains goes to the report."""
        ignores = ignored_in_files(self.config, self.catalogue)
        by_path: dict[str, list[Checked]] = {path: [] for path in self.places.sources}
        for item in self.found:
            by_path.setdefault(item.path, []).append(item)
        enabled = frozenset(rule.code for rule in self.rules)
        for path, items in by_path.items():
            if path not in self.names and excluded(Path(path), self.config):
                continue
            source = self.places.sources.get(path)
            comments = Comments.read(source, bool(items)) if source is not None else None
            for item in items:
                code = item.finding.code
                if code != PARSE_CODE:
                    if any(code in codes and matches(Path(path), self.config.root, (p,)) for p, codes in ignores):
                        self.report.suppressed += 1
                        continue
                    if comments is not None:
                        noqa_row = comments.noqa_row(item.finding)
                        item = replace(item, finding=replace(item.finding, noqa_row=noqa_row))
                        if comments.suppresses(item.finding):
                            self.report.suppressed += 1
                            continue
                self.report.checked.append(item)
            if comments is not None and path in self.names:
                self.report.unused += comments.unused(enabled, self.catalogue)
