"""`devlint reveal FILE:LINE`: what is known about each name on a line, in each world."""

from __future__ import annotations

from pathlib import Path

import click

from devlint.analysis.events import Site
from devlint.config import ConfigError, Resolver
from devlint.worlds import WORLD_NAMES, world_named


@click.command()
@click.argument("place", metavar="FILE:LINE")
@click.option("--cell", type=click.IntRange(min=1), help="The cell of a notebook that LINE counts in.")
@click.option("--world", multiple=True, type=click.Choice(WORLD_NAMES), help="Look at this world only (repeatable).")
def reveal(place: str, cell: int | None, world: tuple[str, ...]) -> None:
    """Print what is known about each name on a line after it ran, in each world."""
    name, separator, line = place.rpartition(":")
    if not separator or not line.isdigit() or line == "0":
        raise click.UsageError(f"`{place}` is not of the form FILE:LINE")
    from devlint.analysis.project import Project
    from devlint.analysis.reveal import reveal as look
    from devlint.lines import split_rows
    from devlint.places import Places
    from devlint.semantics import own
    from devlint.sources import read_source

    path = Path(name).absolute()
    try:
        source = read_source(path, name)
        config = Resolver().config(path.parent)
    except OSError as error:
        raise click.UsageError(f"{name}: {error.strerror or error}") from None
    except ConfigError as error:
        raise click.UsageError(str(error)) from None
    rows = range(1, len(split_rows(source.text)) + 1)
    places = ((row, *source.locate(row, 1)) for row in rows)
    row = next((row for row, at, position in places if position.row == int(line) and at == cell), None)
    if row is None:
        where_in = f" in cell {cell}" if cell else ""
        hint = "; --cell says in which cell of a notebook" if source.kind == "notebook" and not cell else ""
        raise click.UsageError(f"{name} has no line {line} of code{where_in}{hint}")

    shown = Places({source.path: source})

    def where(site: Site) -> str:
        location = shown.location(site)
        cell_text = f"cell {location.cell} " if location.cell is not None else ""
        file_text = f" of {location.filename}" if site.path != source.path else ""
        return f"{cell_text}line {location.start.row}{file_text}"

    known: dict[str, dict[str, str]] = {}
    unreached = []
    for chosen in world or WORLD_NAMES:
        project = Project(config.root, {source.path: source}, "auto")
        with own.models(config.models):
            found = look(project, source.path, row, world_named(chosen), where)
        if found is None:
            unreached.append(chosen)
        for text, descriptions in (found or {}).items():
            known.setdefault(text, {})[chosen] = " | ".join(descriptions) or "not bound"
    click.echo(f"{place}: {source.line(int(line), cell).strip()}")
    for text, by_world in known.items():
        click.echo(f"  {text}")
        for description in dict.fromkeys(by_world.values()):
            worlds = ", ".join(item for item in by_world if by_world[item] == description)
            click.echo(f"    {worlds:16}  {description}")
    if not known and not unreached:
        click.echo("  nothing is told of this line: no variable is read or given a value")
    if unreached:
        click.echo(f"  not reached on {', '.join(unreached)}")
