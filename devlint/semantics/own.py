"""`[tool.devlint.models]`: what a project's own libraries do with devices, turned into lines of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from devlint.semantics import libraries, table

_FORMS: Mapping[str, tuple[str, str]] = {
    "in-place": ("*args, **kwargs", "instance to=in-place"),
    "returned": ("*args, **kwargs", "instance to=returned"),
    "cpu": ("*args, **kwargs", "create -> tensor rank=unknown +cpu"),
    "moves": ("value, device?, *args, **kwargs", "move({first}) -> same"),
    "transparent": ("function?, *args, **kwargs", "transparent({first}) +decorator"),
}
"""Parameters where an entry gives none, and what follows the colon of the line."""

KEYS = (*_FORMS, "rows")
_ENTRY = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(?:[A-Za-z_]\w*|\*))(?:\((?P<parameters>[^()]*)\))?")


class ModelError(ValueError):
    """An entry that can't be understood; the text names it and is for the user."""


def lines(key: str, entries: Sequence[str]) -> Iterator[str]:
    """Yield the table lines that the entries of one key stand for.

    Raises:
        ModelError: an entry is no dotted name with or without parameters or, under `rows`, no line of a table.
    """
    for entry in entries:
        if key == "rows":
            _check(entry, entry)
            yield entry
            continue
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ModelError(f'`{entry}` is no dotted name, for example "mylib.load" or "mylib.send(batch, device)"')
        parameters, effect = _FORMS[key]
        parameters = match["parameters"] or parameters
        first = parameters.partition(",")[0].strip().lstrip("*").removesuffix("?")
        line = f"{match['name']}({parameters}): {effect.format(first=first)}"
        _check(line, entry)
        yield line


def _check(line: str, entry: str) -> None:
    head = line.partition("(")[0].partition(":")[0]
    if line[:1] in ("", "#", " ") or "." not in head:
        raise ModelError(f"`{entry}` is no line of a table (see docs/semantics.md)")
    try:
        for name, rest in table.read([line]).items():
            table.parse(name, rest)
    except table.TableError as error:
        raise ModelError(f"`{entry}` is no line of a table (see docs/semantics.md): {error}") from None


def names(line: str) -> Iterator[str]:
    """Yield the dotted names that a line speaks of."""
    yield from table.read([line])


@contextmanager
def models(own: Sequence[str]) -> Iterator[None]:
    """Have these lines go before the tables for a while. A class whose methods they name exists as well."""
    if not own:
        yield
        return
    known = {name for line in own for name in names(line)}
    owners = {name.rpartition(".")[0] for name in known}
    classes = (owner for owner in sorted(owners - known) if owner.rpartition(".")[2][:1].isupper())
    table.extend([*(f"{owner}(*args, **kwargs): instance" for owner in classes if table.lookup(owner) is None), *own])
    libraries.forget()
    try:
        yield
    finally:
        table.forget()
        libraries.forget()
