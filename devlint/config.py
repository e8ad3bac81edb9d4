"""`[tool.devlint]`: where it is found, what it may say, and what the command line adds to it."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devlint.patterns import BadPattern, compiled
from devlint.worlds import WORLD_NAMES

OUTPUT_FORMATS = ("full", "concise", "grouped", "json", "json-lines", "github", "gitlab", "sarif", "junit", "rdjson")

DEFAULT_INCLUDE = ("*.py", "*.pyi", "*.ipynb", "*.md")

# fmt: off
DEFAULT_EXCLUDE = (
    ".bzr", ".devlint_cache", ".direnv", ".eggs", ".git", ".hg", ".idea", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__",
    "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)
# fmt: on


class ConfigError(Exception):
    """The configuration or the command line says something that devlint can't follow; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One layer of rule selection. `select` None leaves the lower layers standing; anything else starts afresh.

    `file` is where it was read, for messages; None for the command line.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    file: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Config:
    """Settings for the files below `root`. Patterns are gitignore patterns, relative to `root`.

    `selections` run from the lowest layer (the file) to the highest (the command line). `file` is where it was read,
    and `ignores_file` where `per_file_ignores` were: None if the command line has said them. `models` are lines of
    `devlint.semantics.table` for libraries that devlint does not know.
    """

    root: Path
    file: Path | None = None
    selections: tuple[Selection, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    ignores_file: Path | None = field(default=None, compare=False)
    include: tuple[str, ...] = DEFAULT_INCLUDE
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    worlds: tuple[str, ...] = WORLD_NAMES
    per_file_worlds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    output_format: str = "full"
    cache_dir: Path | None = None
    min_torch: tuple[int, int] = (2, 4)
    models: tuple[str, ...] = ()

    @property
    def cache_directory(self) -> Path:
        """Where results are kept: `cache-dir`, else `.devlint_cache` in the root."""
        return self.cache_dir or self.root / ".devlint_cache"


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says; None and empty tuples say nothing."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    worlds: tuple[str, ...] | None = None
    output_format: str | None = None
    cache_dir: Path | None = None

    def apply(self, config: Config) -> Config:
        """Return `config` with what is said here on top."""
        changes: dict[str, Any] = {}
        if self.select is not None or self.extend_select or self.ignore:
            layer = Selection(self.select, self.extend_select, self.ignore)
            changes["selections"] = (*config.selections, layer)
        if self.per_file_ignores is not None:
            changes["per_file_ignores"] = self.per_file_ignores
            changes["ignores_file"] = None
        if self.exclude is not None or self.extend_exclude:
            exclude = config.exclude if self.exclude is None else self.exclude
            changes["exclude"] = (*exclude, *self.extend_exclude)
        if self.worlds is not None:
            changes["worlds"] = self.worlds
            changes["per_file_worlds"] = ()
        if self.output_format is not None:
            changes["output_format"] = self.output_format
        if self.cache_dir is not None:
            changes["cache_dir"] = self.cache_dir
        return replace(config, **changes)


def ordered_worlds(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return `names` without duplicates, in the order of `devlint.worlds.WORLDS`.

    Raises:
        ConfigError: one of them is no world, or there are none.
    """
    for name in names:
        if name not in WORLD_NAMES:
            raise ConfigError(f"unknown world `{name}`{nearest(name, WORLD_NAMES)}")
    if not names:
        raise ConfigError("at least one world is needed")
    return tuple(name for name in WORLD_NAMES if name in names)


def nearest(word: str, known: tuple[str, ...] | list[str]) -> str:
    """Return `; did you mean ...?` for a word that is close to a known one, else the list of the known ones."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else f" (known: {', '.join(known)})"


def place_of(file: Path | None, key: str) -> str:
    """Return where a file sets `key`, as a message begins: `pyproject.toml:7: `.

    Without a file, as for the command line, that is nothing; where no row shows the key, it is the file alone.
    """
    if file is None:
        return ""
    try:
        row = _row_of(file.read_text(encoding="utf-8", errors="replace"), key)
    except OSError:
        row = None
    return f"{file}:{row}: " if row else f"{file}: "


def _row_of(text: str, key: str) -> int | None:
    """The row on which a key of `[tool.devlint]` is set, or its own table begins; a named file may be that table."""
    top = "tool.devlint" if "[tool.devlint" in text else ""
    table = ""
    for row, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+([^\[\]]+)\]", line)
        if header is not None:
            table = re.sub(r"[\s\"']", "", header[1])
            if table == f"{top}.{key}".lstrip("."):
                return row
        elif table == top and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", line):
            return row
    return None


# --- reading -----------------------------------------------------------------------------------------------------


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError("expected a list of strings")
    return tuple(value)


def _patterns(value: Any) -> tuple[str, ...]:
    patterns = _strings(value)
    try:
        compiled(patterns)
    except BadPattern as error:
        raise ConfigError(str(error)) from None
    return patterns


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError("expected a string")
    return value


def _by_pattern(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ConfigError('expected a table, for example {"tests/*" = ["DEV102"]}')
    return tuple(
        (pattern, _strings(items)) for pattern, items in zip(_patterns(list(value)), value.values(), strict=True)
    )


def _worlds_by_pattern(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((pattern, ordered_worlds(names)) for pattern, names in _by_pattern(value))


def _worlds(value: Any) -> tuple[str, ...]:
    return ordered_worlds(_strings(value))


def _output_format(value: Any) -> str:
    name = _string(value)
    if name not in OUTPUT_FORMATS:
        raise ConfigError(f"unknown output format `{name}`{nearest(name, OUTPUT_FORMATS)}")
    return name


def _version(value: Any) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", _string(value))
    if match is None:
        raise ConfigError('expected a version, for example "2.4"')
    return int(match[1]), int(match[2])


def _models(value: Any) -> tuple[str, ...]:
    from devlint.semantics import own

    if not isinstance(value, dict):
        raise ConfigError('expected a table, for example {cpu = ["mylib.load"]}')
    found: dict[str, str] = {}
    for key, entries in value.items():
        if key not in own.KEYS:
            raise ConfigError(f"unknown key `{key}`{nearest(key, own.KEYS)}")
        try:
            for line in own.lines(key, _strings(entries)):
                for name in own.names(line):
                    if found.setdefault(name, line) != line:
                        raise ConfigError(f"`{name}` is described twice")
        except (own.ModelError, ConfigError) as error:
            raise ConfigError(f"`{key}`: {error}") from None
    return tuple(dict.fromkeys(found.values()))


KEYS: Mapping[str, Callable[[Any], Any]] = {
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "per-file-ignores": _by_pattern,
    "include": _patterns,
    "exclude": _patterns,
    "extend-exclude": _patterns,
    "worlds": _worlds,
    "per-file-worlds": _worlds_by_pattern,
    "output-format": _output_format,
    "cache-dir": _string,
    "min-torch": _version,
    "models": _models,
}


def parse_settings(table: Mapping[str, Any], root: Path, file: Path | None = None) -> Config:
    """Turn the table `[tool.devlint]` into a Config.

    Raises:
        ConfigError: an unknown key or a bad value; the text names it.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{place_of(file, key)}unknown key `{key}` in [tool.devlint]{nearest(key, list(KEYS))}")
        try:
            values[key] = KEYS[key](value)
        except ConfigError as error:
            raise ConfigError(f"{place_of(file, key)}[tool.devlint] `{key}`: {error}") from None
    exclude = values.get("exclude", DEFAULT_EXCLUDE) + values.get("extend-exclude", ())
    layer = Selection(values.get("select"), values.get("extend-select", ()), values.get("ignore", ()), file)
    cache_dir = values.get("cache-dir")
    return Config(
        root=root,
        file=file,
        selections=(layer,),
        per_file_ignores=values.get("per-file-ignores", ()),
        ignores_file=file,
        include=values.get("include", DEFAULT_INCLUDE),
        exclude=exclude,
        worlds=values.get("worlds", WORLD_NAMES),
        per_file_worlds=values.get("per-file-worlds", ()),
        output_format=values.get("output-format", "full"),
        cache_dir=(root / Path(cache_dir).expanduser()) if cache_dir else None,
        min_torch=values.get("min-torch", (2, 4)),
        models=values.get("models", ()),
    )


def read_config(file: Path) -> Config:
    """Read a configuration that was named. A TOML file without `[tool.devlint]` is taken for the table itself,
    unless it is a `pyproject.toml`.

    Raises:
        ConfigError: it can't be read, is no TOML, or says something wrong.
    """
    document = _load_toml(file)
    tool = document.get("tool")
    if isinstance(tool, dict) and "devlint" in tool:
        table = tool["devlint"]
    else:
        table = {} if file.name == "pyproject.toml" else document
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: `tool.devlint` is not a table")
    return parse_settings(table, file.resolve().parent, file)


def _load_toml(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document: dict[str, Any] = tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    return document


def find_config(directory: Path) -> Path | None:
    """Return the nearest `pyproject.toml` with a `[tool.devlint]` table, in `directory` or above it.

    Raises:
        ConfigError: a file on the way speaks of devlint but is no TOML.
    """
    for folder in (directory, *directory.parents):
        file = folder / "pyproject.toml"
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # Only a file that speaks of devlint is parsed: a broken one of somebody else is no concern of ours.
        if "devlint" in text:
            tool = _load_toml(file).get("tool")
            if isinstance(tool, dict) and "devlint" in tool:
                return file
    return None


PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


def project_root(directory: Path, top: Path | None = None) -> Path:
    """Return the nearest folder that looks like the top of a project, in `directory` or above it.

    Where nothing does, the working directory is taken, if it is above; else `top`, the folder of the command line
    through which `directory` was reached; of a package, the folder that it lies in.
    """
    for folder in (directory, *directory.parents):
        if any(os.path.exists(folder / mark) for mark in PROJECT_MARKS):
            return folder
    here = Path.cwd()
    if here in directory.parents:
        return here
    folder = top or directory
    while os.path.isfile(folder / "__init__.py") and folder != folder.parent:
        folder = folder.parent
    return folder


@dataclass(slots=True)
class Resolver:
    """Which configuration holds for which folder: the nearest file, or the one that was named, or none.

    The command line's `overrides` come on top of each.
    """

    overrides: Overrides = field(default_factory=Overrides)
    named: Path | None = None
    isolated: bool = False
    _known: dict[Path | None, Config] = field(default_factory=dict)
    _folders: dict[Path, Config] = field(default_factory=dict)

    def config(self, directory: Path, top: Path | None = None) -> Config:
        """Return the configuration for files in `directory` (absolute), reached through the folder `top`.

        Raises:
            ConfigError: see `read_config`.
        """
        known = self._folders.get(directory)
        if known is None:
            known = self._folders[directory] = self._resolve(directory, top)
        return known

    def _resolve(self, directory: Path, top: Path | None) -> Config:
        file = None if self.isolated else self.named or find_config(directory)
        if file is None:
            return self.overrides.apply(Config(root=project_root(directory, top)))
        if file not in self._known:
            self._known[file] = self.overrides.apply(read_config(file))
        return self._known[file]
