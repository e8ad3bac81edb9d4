"""`devlint confirm`: the command line around the runtime companion."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click

from devlint.commands.check import _words
from devlint.config import Config, ConfigError, Overrides, Resolver, ordered_worlds
from devlint.worlds import WORLD_NAMES

OK, REFUTED, USAGE = 0, 1, 2

WARNING = (
    "devlint confirm RUNS the code that it reads, in a sandbox with limits (docs/confirm.md says what it guarantees)."
)


def _split(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Split as a shell does."""
    try:
        return tuple(shlex.split(value or ""))
    except ValueError as error:
        raise click.BadParameter(f"{error}: {value}") from None


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]")
@click.option("--select", multiple=True, callback=_words, metavar="CODES", help="Rules to confirm.")
@click.option("--extend-select", multiple=True, callback=_words, metavar="CODES", help="Rules to confirm on top.")
@click.option("--ignore", multiple=True, callback=_words, metavar="CODES", help="Rules to leave out.")
@click.option(
    "--on",
    "machine",
    type=click.Choice(["auto", "real", "simulated"]),
    default="auto",
    show_default=True,
    help="The GPUs: real ones, simulated ones, or real ones where they are there.",
)
@click.option("--world", multiple=True, type=click.Choice(WORLD_NAMES), help="Run in this world only (repeatable).")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    show_default=True,
    help="The report.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write what was run there, as programs of their own.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=20.0,
    show_default=True,
    help="Seconds for one run in one world.",
)
@click.option("--memory", type=click.IntRange(min=64), default=4096, show_default=True, help="MiB for one run.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Runs at a time.  [default: one a processor]")
@click.option("--slices-only", is_flag=True, help="Never run a whole program, only what is cut from it.")
@click.option(
    "--args",
    "arguments",
    callback=_split,
    metavar="WORDS",
    help="The command line that programs are given, in quotes: --args 'data.csv --steps 2'.",
)
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="Use this configuration file.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("-q", "--quiet", is_flag=True, help="Print refuted findings and the summary only.")
@click.pass_context
def confirm(context: click.Context, /, **options: Any) -> None:
    """RUN what was flagged, on machines with and without GPUs, and say whether each finding is true.

    This runs the code in the files and folders named (default: the current folder), in child processes with limits
    on time, memory, processes and files, without network, and with a private folder as the only place to write to.

    Exits with 0 if no finding is refuted, 1 if one is, 2 if the command is used wrongly or nothing can be run.
    """
    try:
        context.exit(_confirm(options))
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _confirm(options: dict[str, Any]) -> int:
    from devlint.confirm.claims import NOT_RUN
    from devlint.confirm.confirming import Options, confirm
    from devlint.confirm.keeping import keep
    from devlint.confirm.machines import MachineError, Machines
    from devlint.confirm.report import render
    from devlint.confirm.sandbox import Limits
    from devlint.files import find_files
    from devlint.linter import lint
    from devlint.terminal import progress

    machine_readable = options["output_format"] != "text"
    click.echo(WARNING, err=machine_readable)
    resolver = _resolver(options)
    found = find_files(options["paths"] or (".",), resolver)
    for name, reason in found.missing + found.unreadable:
        click.echo(f"error: {name}: {reason}", err=True)
    report = lint(found.files)
    for text in report.errors:
        click.echo(f"error: {text}", err=True)
    for finding in report.findings:
        if finding.code in NOT_RUN:
            click.echo(f"warning: {finding.location.filename}: not linted: {finding.message}", err=True)
    failed = bool(found.missing or found.unreadable or report.errors)
    limits = Limits(seconds=options["timeout"], memory=options["memory"])
    roots = tuple({_root(file.path, file.config) for file in found.files})
    with progress(len(report.findings), options["quiet"] or machine_readable) as bar:
        settings = Options(
            worlds=ordered_worlds(options["world"] or WORLD_NAMES),
            jobs=options["jobs"] or os.cpu_count() or 1,
            arguments=options["arguments"],
            slices_only=options["slices_only"],
            progress=bar,
            roots=roots,
        )
        try:
            with Machines(options["machine"], limits) as machines:
                confirmations = confirm(report, machines, settings)
                strength = machines.strength if confirmations else ""
        except MachineError as error:
            click.echo(f"error: {error}", err=True)
            return USAGE
    if options["keep"] is not None:
        keep(confirmations, options["keep"])
    click.echo(render(options["output_format"], confirmations, report.sources, strength, options["quiet"]), nl=False)
    if failed:
        return USAGE
    return REFUTED if any(item.status == "refuted" for item in confirmations) else OK


def _root(path: Path, config: Config) -> Path:
    return config.root if path.is_relative_to(config.root) else path.parent


def _resolver(options: dict[str, Any]) -> Resolver:
    if options["isolated"] and options["config"]:
        raise ConfigError("--isolated and --config exclude each other")
    overrides = Overrides(
        select=options["select"], extend_select=options["extend_select"] or (), ignore=options["ignore"] or ()
    )
    return Resolver(overrides, options["config"], options["isolated"])
