"""Results by content: what was found in files that belong together is kept until one of them changes.

Files that import each other, directly or not, are one component: a finding in one may come from another. A component
is known again if the same files of it are linted, all of them have the content they had, and no file has appeared that
an import looked for. A cache that can't be read counts as empty.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from devlint import __version__
from devlint.findings import Condition, Edit, Finding, Fix, Location, Position, TraceStep
from devlint.fixes import write_atomically
from devlint.merging import Checked
from devlint.rules.base import Mend, Replacement

MOST_COMPONENTS = 20_000
OLDEST = 30 * 24 * 3600
"""Seconds after which results that were not written again are removed: each set of settings has a file of its own."""


_HEAD: Final = b'{"absent": ['
"""How results begin: other files in the folder, which the user may share with others, are left alone."""


def digest(data: bytes) -> str:
    """Return what stands for a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(slots=True)
class Component:
    """Files that belong together, with the digest of each, and what was found in them.

    `listed` are those that were asked for, `absent` the files whose appearance would change what an import means.
    """

    files: dict[str, str]
    listed: frozenset[str]
    checked: list[Checked] = field(default_factory=list)
    absent: frozenset[str] = frozenset()


def components(
    listed: Mapping[str, str],
    dependencies: Mapping[str, Iterable[str]],
    checked: Iterable[Checked],
    absent: frozenset[str],
) -> list[Component]:
    """Group files by who imports whom, with what was found in them. `listed` gives the digests of the files asked for.

    Raises:
        OSError: a file that was imported can't be read any more.
    """
    leader: dict[str, str] = {}

    def find(path: str) -> str:
        leader.setdefault(path, path)
        while leader[path] != path:
            leader[path] = path = leader[leader[path]]
        return path

    for path in listed:
        find(path)
    for path, imported in dependencies.items():
        for other in imported:
            leader[find(other)] = find(path)
    members: dict[str, list[str]] = {}
    for path in leader:
        members.setdefault(find(path), []).append(path)
    found: dict[str, list[Checked]] = {}
    for item in checked:
        found.setdefault(find(item.path), []).append(item)
    return [
        Component(
            {path: listed.get(path) or digest(Path(path).read_bytes()) for path in paths},
            frozenset(path for path in paths if path in listed),
            found.get(head, []),
            absent,
        )
        for head, paths in members.items()
    ]


@dataclass(slots=True)
class Cache:
    """The results of one project under one set of settings: one file in the cache folder."""

    file: Path
    known: list[Component] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, settings: Iterable[object]) -> Cache:
        """Read the results that were found under `settings` by this very devlint, seen from this working folder."""
        words = [__version__, _build(), str(sys.version_info[:2]), os.getcwd(), *map(str, settings)]
        name = digest("\0".join(words).encode("utf-8", "surrogatepass"))
        cache = cls(folder / __version__ / f"{name}.json")
        try:
            document = json.loads(cache.file.read_bytes())
            absent = [frozenset[str](paths) for paths in document["absent"]]
            cache.known = [_load(entry, absent) for entry in document["components"]]
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            cache.known = []
        return cache

    def lookup(self, listed: Mapping[str, str]) -> list[Component]:
        """Return the components that are still right when the files `listed` (with their digests) are linted."""
        digests: dict[str, str | None] = dict(listed)
        exists: dict[str, bool] = {}
        taken: set[str] = set()
        hits = []
        for component in self.known:
            paths = component.files.keys()
            if component.listed != paths & listed.keys() or not taken.isdisjoint(paths):
                continue
            if all(_current(path, digests) == known for path, known in component.files.items()) and not any(
                exists.setdefault(path, os.path.exists(path)) for path in component.absent
            ):
                hits.append(component)
                taken |= paths
        return hits

    def save(self, fresh: Iterable[Component], listed: Mapping[str, str]) -> None:
        """Write the fresh components and those of before that the files `listed` don't contradict.

        Raises:
            OSError: the cache can't be written.
        """
        kept = list(fresh)
        replaced = {(component.listed, frozenset(component.files)) for component in kept}
        for component in self.known:
            right = all(listed.get(path, known) == known for path, known in component.files.items())
            if right and (component.listed, frozenset(component.files)) not in replaced:
                kept.append(component)
        kept = kept[:MOST_COMPONENTS]
        absent = list(dict.fromkeys(component.absent for component in kept))
        number = {paths: index for index, paths in enumerate(absent)}
        document = {  # `_HEAD` says how it begins
            "absent": [sorted(paths) for paths in absent],
            "components": [_dump(component, number[component.absent]) for component in kept],
        }
        top = self.file.parent.parent
        self.file.parent.mkdir(parents=True, exist_ok=True)
        for name, text in (("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"), (".gitignore", "*\n")):
            if not (top / name).exists():
                (top / name).write_text(text)
        write_atomically(self.file, json.dumps(document).encode())
        _forget_old(top)


def _forget_old(top: Path) -> None:
    """Remove the results of settings, and of devlints, under which nothing was written for long."""
    for file in top.glob("*/*.json"):
        with contextlib.suppress(OSError):
            if re.fullmatch("[0-9a-f]{32}", file.stem) and time.time() - file.stat().st_mtime > OLDEST:
                with file.open("rb") as content:
                    is_ours = content.read(len(_HEAD)) == _HEAD
                if is_ours:
                    file.unlink()


def _current(path: str, digests: dict[str, str | None]) -> str | None:
    if path not in digests:
        try:
            digests[path] = digest(Path(path).read_bytes())
        except OSError:
            digests[path] = None
    return digests[path]


def _build() -> str:
    """What tells this devlint from one that was edited since: sizes and times of its files."""
    top = os.path.dirname(__file__)
    stamps = []
    for folder, _, names in os.walk(top):
        for name in names:
            if not name.endswith(".pyc"):
                status = os.stat(os.path.join(folder, name))
                stamps.append(f"{name}:{status.st_size}:{status.st_mtime_ns}")
    return digest("\n".join(sorted(stamps)).encode("utf-8", "surrogatepass"))


# --- as JSON -----------------------------------------------------------------------------------------------------


def _dump(component: Component, absent: int) -> dict[str, Any]:
    return {
        "files": component.files,
        "listed": sorted(component.listed),
        "checked": [_dump_checked(item) for item in component.checked],
        "absent": absent,
    }


def _load(entry: dict[str, Any], absent: list[frozenset[str]]) -> Component:
    checked = [_load_checked(item) for item in entry["checked"]]
    return Component(entry["files"], frozenset(entry["listed"]), checked, absent[entry["absent"]])


def _dump_checked(item: Checked) -> dict[str, Any]:
    finding = item.finding
    fix = finding.fix
    mend = item.mend
    return {
        "path": item.path,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "location": _dump_location(finding.location),
        "severity": finding.severity,
        "worlds": finding.worlds,
        "errors": dict(finding.errors),
        "when": [[c.condition, c.value, c.filename, c.row] for c in finding.when],
        "trace": [[_dump_location(step.location), step.message] for step in finding.trace],
        "fix": fix and [fix.applicability, fix.message, [[e.content, e.start, e.end, e.cell] for e in fix.edits]],
        "mend": mend and [mend.applicability, mend.message, [[r.start, r.end, r.content] for r in mend.replacements]],
        "noqa_row": finding.noqa_row,
        "url": finding.url,
        "help": finding.help,
    }


def _load_checked(entry: dict[str, Any]) -> Checked:
    fix = mend = None
    if entry["fix"]:
        applicability, message, edits = entry["fix"]
        parts = (Edit(content, Position(*start), Position(*end), cell) for content, start, end, cell in edits)
        fix = Fix(applicability, message, tuple(parts))
    if entry["mend"]:
        applicability, message, replacements = entry["mend"]
        mend = Mend(applicability, message, tuple(Replacement(*part) for part in replacements))
    finding = Finding(
        code=entry["code"],
        name=entry["name"],
        message=entry["message"],
        location=_load_location(entry["location"]),
        severity=entry["severity"],
        worlds=tuple(entry["worlds"]),
        errors=entry["errors"],
        when=tuple(Condition(*condition) for condition in entry["when"]),
        trace=tuple(TraceStep(_load_location(location), message) for location, message in entry["trace"]),
        fix=fix,
        noqa_row=entry["noqa_row"],
        url=entry["url"],
        help=entry["help"],
    )
    return Checked(finding, entry["path"], mend)


def _dump_location(location: Location) -> list[Any]:
    return [location.filename, location.start, location.end, location.cell]


def _load_location(entry: list[Any]) -> Location:
    filename, start, end, cell = entry
    return Location(filename, Position(*start), Position(*end), cell)
