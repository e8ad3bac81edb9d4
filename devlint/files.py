"""Which files: those that were named, and those that a walk finds. Git ignore files and excludes are honoured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.config import Config, ConfigError, Resolver
from devlint.patterns import BadPattern, compiled, of_git

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to lint, and the configuration that holds for it. `named`: it stood on the command line itself."""

    path: Path
    config: Config
    named: bool


@dataclass(slots=True)
class Found:
    """What a search gave. `missing`: arguments that lead nowhere; `unreadable`: folders that could not be listed."""

    files: list[FoundFile] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)


def find_files(arguments: Sequence[str], resolver: Resolver, force_exclude: bool = False) -> Found:
    """Return the files that the arguments mean, each once, in the order of the arguments and then by path.

    A named file is always taken, unless `force_exclude` is set and the configuration excludes it. Links to folders are
    not followed (but an argument may be one), so that loops end. Of a file and links to it, a walk takes the file.

    Raises:
        devlint.config.ConfigError: a configuration on the way is wrong.
    """
    found = Found()
    chosen: dict[str, FoundFile] = {}
    for argument in arguments:
        path = Path(os.path.abspath(argument))
        try:
            is_folder = path.is_dir()
            if not is_folder:
                path.stat()
        except (OSError, ValueError) as error:
            found.missing.append((argument, getattr(error, "strerror", None) or str(error)))
            continue
        if is_folder:
            if force_exclude and excluded(path, resolver.config(path.parent), is_folder=True):
                continue
            walked: Iterator[FoundFile] = _Walk(resolver, found).files(path)
        else:
            config = resolver.config(path.parent)
            if force_exclude and excluded(path, config):
                continue
            walked = iter([FoundFile(path, config, named=True)])
        for file in walked:
            real = os.path.realpath(file.path)
            other = chosen.get(real)
            if other is None or (not other.named and other.path.is_symlink() and not file.path.is_symlink()):
                chosen.pop(real, None)
                chosen[real] = file
    found.files = list(chosen.values())
    return found


def excluded(path: Path, config: Config, is_folder: bool = False) -> bool:
    """Whether the configuration's `exclude` means `path` or a folder around it."""
    relative = _relative(path, config.root)
    return relative is not None and _spec(config.exclude).match_file(relative + "/" * is_folder)


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    try:
        return compiled(patterns)
    except BadPattern as error:
        raise ConfigError(str(error)) from None


@lru_cache(maxsize=256)
def _plain_names(patterns: tuple[str, ...]) -> frozenset[str] | None:
    """The patterns as a set, if all of them are names without wildcards: then no pattern matching is needed."""
    if any(set(pattern) & set("*?[]!/\\# ") for pattern in patterns):
        return None
    return frozenset(patterns)


def _relative(path: Path, root: Path) -> str | None:
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return None


def matches(path: Path, root: Path, patterns: tuple[str, ...]) -> bool:
    """Whether a gitignore pattern relative to `root` means `path`, or its name where it lies outside of `root`."""
    if not patterns:
        return False
    return _spec(patterns).match_file(_relative(path, root) or path.name)


class _Walk:
    """A walk through one folder of the command line."""

    def __init__(self, resolver: Resolver, found: Found) -> None:
        self.resolver = resolver
        self.found = found
        self.top = Path()

    def files(self, top: Path) -> Iterator[FoundFile]:
        self.top = top
        return self._folder(top, _ignores_above(top))

    def _folder(self, folder: Path, ignores: list[tuple[Path, GitIgnoreSpec]]) -> Iterator[FoundFile]:
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.found.unreadable.append((str(folder), error.strerror or str(error)))
            return
        config = self.resolver.config(folder, self.top)
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = [*ignores, *_read_ignores(folder, folder / ".gitignore")]
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith("._"):
                continue  # AppleDouble: attributes that macOS keeps beside a file of that name (RFC 1740)
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                is_file = not is_folder and entry.is_file()
            except OSError:
                continue
            if is_folder:
                if not self._skipped(path, config, ignores, is_folder=True):
                    yield from self._folder(path, ignores)
            elif (
                is_file
                and matches(path, config.root, config.include)
                and not self._skipped(path, config, ignores, is_folder=False)
            ):
                yield FoundFile(path, config, named=False)

    def _skipped(
        self, path: Path, config: Config, ignores: list[tuple[Path, GitIgnoreSpec]], *, is_folder: bool
    ) -> bool:
        return self._excluded(path, config, is_folder) or _ignored(path, ignores, is_folder)

    def _excluded(self, path: Path, config: Config, is_folder: bool) -> bool:
        names = _plain_names(config.exclude)
        if names is not None:
            return path.name in names
        # Below a folder that was named, what the folder's own name says no longer counts.
        top = self.top if _named_inside_excluded(self.top, config) else config.root
        relative = _relative(path, top) or path.name
        return _spec(config.exclude).match_file(relative + "/" * is_folder)


@lru_cache(maxsize=256)
def _named_inside_excluded(top: Path, config: Config) -> bool:
    return top != config.root and (_relative(top, config.root) is None or excluded(top, config, is_folder=True))


def _ignored(path: Path, ignores: list[tuple[Path, GitIgnoreSpec]], is_folder: bool) -> bool:
    for folder, spec in reversed(ignores):
        relative = _relative(path, folder)
        if relative is not None:
            answer = spec.check_file(relative + "/" * is_folder).include
            if answer is not None:
                return answer
    return False


def _read_ignores(folder: Path, file: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [(folder, of_git(lines))]


def _ignores_above(top: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """The git ignore files of the folders around `top`, outermost first; none if they ignore `top` itself."""
    folders = []
    for folder in top.parents:
        folders.append(folder)
        if os.path.exists(folder / ".git"):
            break
    else:
        folders = []
    if os.path.exists(top / ".git"):  # False, and no error, for what may not be looked into
        folders = []
    ignores: list[tuple[Path, GitIgnoreSpec]] = []
    repository = top if os.path.exists(top / ".git") else folders[-1] if folders else None
    if repository is not None:
        ignores += _read_ignores(repository, repository / ".git" / "info" / "exclude")
    for folder in reversed(folders):
        ignores += _read_ignores(folder, folder / ".gitignore")
    if any(_ignored(part, ignores, is_folder=True) for part in (top, *top.parents)):
        return []
    return ignores
