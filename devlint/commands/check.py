"""`devlint check`: the command line around the linter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devlint.config import OUTPUT_FORMATS, Config, ConfigError, Overrides, Resolver, ordered_worlds
from devlint.worlds import WORLD_NAMES, world_named

if TYPE_CHECKING:
    from devlint.files import Found, FoundFile
    from devlint.findings import Finding
    from devlint.fixes import Fixed
    from devlint.linter import Report
    from devlint.terminal import Bar

OK, FINDINGS, USAGE = 0, 1, 2

STDIN = "-"


def _words(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    """Split repeated options at commas; None where the option was not given."""
    words = tuple(word.strip() for item in value for word in item.split(",") if word.strip())
    return words if value else None


def _by_pattern(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    pairs = []
    for word in _words(context, parameter, value) or ():
        pattern, separator, code = word.rpartition(":")
        if not separator or not pattern or not code:
            raise click.BadParameter(f"`{word}` is not of the form PATTERN:CODE")
        pairs.append((pattern, (code,)))
    return tuple(pairs) if value else None


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS | -]")
@click.option(
    "--select", multiple=True, callback=_words, metavar="CODES", help="Rules to apply instead of the default."
)
@click.option("--extend-select", multiple=True, callback=_words, metavar="CODES", help="Rules to apply on top.")
@click.option("--ignore", multiple=True, callback=_words, metavar="CODES", help="Rules to leave out.")
@click.option(
    "--per-file-ignores",
    multiple=True,
    callback=_by_pattern,
    metavar="PATTERN:CODE",
    help="Rules to leave out in files.",
)
@click.option("--exclude", multiple=True, callback=_words, metavar="PATTERNS", help="Files to leave out of walks.")
@click.option(
    "--extend-exclude", multiple=True, callback=_words, metavar="PATTERNS", help="Further files to leave out of walks."
)
@click.option("--force-exclude", is_flag=True, help="Leave excluded files out even if they are named.")
@click.option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="The form of the report.  [default: full]")
@click.option("-o", "--output-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also what may change the meaning.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, change nothing.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule instead of the findings.")
@click.option("--show-files", is_flag=True, help="Print the files that would be checked.")
@click.option("--stdin-filename", metavar="NAME", help="The name of the file that comes from standard input.")
@click.option("--world", multiple=True, type=click.Choice(WORLD_NAMES), help="Check in this world only (repeatable).")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), help="Report only what is not in there.")
@click.option("--write-baseline", type=click.Path(dir_okay=False, path_type=Path), help="Accept all findings of now.")
@click.option("--add-noqa", is_flag=True, help="Suppress all findings of now by comments.")
@click.option("--warn-unused-suppressions", is_flag=True, help="Tell of suppressions that hold nothing back.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="Use this configuration file.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--cache-dir", type=click.Path(file_okay=False, path_type=Path), help="Where results are kept.")
@click.option(
    "--file-timeout",
    type=click.FloatRange(min=0.1),
    default=60.0,
    metavar="SECONDS",
    show_default=True,
    help="Time for one file in one world.",
)
@click.option("--front-end", type=click.Choice(["auto", "ast", "libcst"]), default="auto", hidden=True)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print the findings and nothing else.")
@click.pass_context
def check(context: click.Context, /, **options: Any) -> None:
    """Find where code breaks because of devices, in the files and folders named (default: the current folder).

    Exits with 0 if nothing is found, 1 if something is, 2 if the command is used wrongly or a named file can't be read.
    """
    try:
        context.exit(_check(options))
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def _check(options: dict[str, Any]) -> int:
    resolver = _resolver(options)
    arguments: tuple[str, ...] = options["paths"] or ((STDIN,) if options["stdin_filename"] else (".",))
    _reject_what_does_not_go_together(arguments, options)
    found, contents, names = _find(arguments, resolver, options)
    top = found.files[0].config if len(found.files) == 1 else resolver.config(Path.cwd())
    for name, reason in found.missing + found.unreadable:
        click.echo(f"error: {name}: {reason}", err=True)
    failed = bool(found.missing or found.unreadable)
    if options["show_files"]:
        for file in found.files:
            click.echo(names.get(file.path) or _shown(file.path))
        return USAGE if failed else OK
    if not found.files and not options["quiet"]:
        click.echo("warning: no Python files, notebooks or Markdown documents found", err=True)
    from devlint.terminal import progress

    with progress(len(found.files), options["quiet"]) as bar:
        report, fixed = _run(found.files, contents, names, options, bar)
    for text in report.errors:
        click.echo(f"error: {text}", err=True)
    for text in report.warnings:
        click.echo(f"warning: {text}", err=True)
    failed = failed or bool(report.errors)
    if options["write_baseline"] or options["add_noqa"]:
        return _accept(report, options) or (USAGE if failed else OK)
    if options["diff"]:
        return _show_diff(fixed, options) or (USAGE if failed else OK)
    failed = not _write(fixed, contents, options) or failed
    to_stdout = bool(contents) and options["fix"]
    _print(report, top, options, to_stderr=to_stdout)
    if options["statistics"] and not options["quiet"]:
        counts = {"files": report.files, "suppressed": report.suppressed, **report.statistics}
        click.echo(", ".join(f"{what}: {count}" for what, count in counts.items()), err=True)
    if options["warn_unused_suppressions"]:
        _print_unused(report)
    if failed:
        return USAGE
    return FINDINGS if report.checked and not options["exit_zero"] else OK


def _resolver(options: dict[str, Any]) -> Resolver:
    if options["isolated"] and options["config"]:
        raise ConfigError("--isolated and --config exclude each other")
    overrides = Overrides(
        select=options["select"],
        extend_select=options["extend_select"] or (),
        ignore=options["ignore"] or (),
        per_file_ignores=options["per_file_ignores"],
        exclude=options["exclude"],
        extend_exclude=options["extend_exclude"] or (),
        worlds=ordered_worlds(options["world"]) if options["world"] else None,
        output_format=options["output_format"],
        cache_dir=options["cache_dir"].absolute() if options["cache_dir"] else None,
    )
    return Resolver(overrides, options["config"], options["isolated"])


def _reject_what_does_not_go_together(arguments: Sequence[str], options: dict[str, Any]) -> None:
    """Refuse options of which one would silently undo what the other is for."""
    if STDIN in arguments and len(arguments) > 1:
        raise ConfigError("`-` excludes other paths")
    if options["stdin_filename"] and STDIN not in arguments:
        raise ConfigError("--stdin-filename names what comes from standard input, and excludes other paths")
    if options["add_noqa"] and STDIN in arguments:
        raise ConfigError("--add-noqa writes into files, and excludes `-`")
    mending = next((name for name in ("fix", "diff") if options[name]), None)
    accepting = next((name for name in ("add_noqa", "write_baseline") if options[name]), None)
    if mending and accepting:
        raise ConfigError(f"--{mending} and --{accepting.replace('_', '-')} exclude each other")


def _find(
    arguments: Sequence[str], resolver: Resolver, options: dict[str, Any]
) -> tuple[Found, dict[Path, bytes], dict[Path, str]]:
    from devlint.files import Found, FoundFile, excluded, find_files

    if STDIN not in arguments:
        return find_files(arguments, resolver, options["force_exclude"]), {}, {}
    name: str = options["stdin_filename"] or STDIN
    path = Path(name).absolute()
    config = resolver.config(path.parent)
    data = sys.stdin.buffer.read()
    found = Found()
    if not (options["force_exclude"] and excluded(path, config)):
        found.files.append(FoundFile(path, config, named=True))
    elif options["fix"]:
        sys.stdout.buffer.write(data)
    return found, {path: data}, {path: name}


def _run(
    files: Sequence[FoundFile], contents: dict[Path, bytes], names: dict[Path, str], options: dict[str, Any], bar: Bar
) -> tuple[Report, list[Fixed]]:
    from devlint.linter import Options, lint, lint_and_fix

    screen: Callable[[Report], None] | None = None
    baseline: Path | None = options["baseline"]
    # A baseline that is written anew holds all findings of now, those that an older one has accepted included.
    if baseline is not None and not options["write_baseline"]:
        accepted = baseline

        def screen(report: Report) -> None:
            from devlint.baseline import is_new

            answers = is_new(report.findings, accepted, line_of(report))
            report.checked = [item for item, new in zip(report.checked, answers, strict=True) if new]

    wanted = Options(
        contents=contents,
        names=names,
        cache=not options["no_cache"],
        file_timeout=options["file_timeout"],
        front_end=options["front_end"],
        progress=bar,
    )
    if options["fix"] or options["diff"]:
        return lint_and_fix(files, wanted, unsafe=options["unsafe_fixes"], screen=screen)
    report = lint(files, wanted)
    if screen is not None:
        screen(report)
    return report, []


def line_of(report: Report) -> Callable[[Finding], str]:
    """Return a function that gives the source line on which a finding starts."""

    def line(finding: Finding) -> str:
        source = report.sources.get(finding.location.filename)
        return source.line(finding.location.start.row, finding.location.cell) if source is not None else ""

    return line


def _write(fixed: Sequence[Fixed], contents: dict[Path, bytes], options: dict[str, Any]) -> bool:
    """Write what was mended; standard input comes out on standard output, changed or not."""
    from devlint.fixes import write_atomically

    written = True
    if contents and options["fix"]:
        sys.stdout.buffer.write(fixed[0].after if fixed else next(iter(contents.values())))
        sys.stdout.flush()
    else:
        for item in fixed:
            try:
                write_atomically(Path(item.source.path), item.after, item.before)
            except OSError as error:
                click.echo(f"error: {item.source.filename}: {error.strerror or error}", err=True)
                written = False
    if fixed and not options["quiet"]:
        total = sum(len(item.codes) for item in fixed)
        click.echo(f"Fixed {_counted(total, 'finding')} in {_counted(len(fixed), 'file')}.", err=True)
    return written


def _show_diff(fixed: Sequence[Fixed], options: dict[str, Any]) -> int:
    from devlint.fixes import diff

    for item in fixed:
        click.echo(diff(item), nl=False)
    if not options["quiet"]:
        total = sum(len(item.codes) for item in fixed)
        click.echo(f"Would fix {_counted(total, 'finding')} in {_counted(len(fixed), 'file')}.", err=True)
    return FINDINGS if fixed and not options["exit_zero"] else OK


def _accept(report: Report, options: dict[str, Any]) -> int:
    """Accept what was found, by comments or a baseline; return the exit code."""
    accepted = OK
    if options["add_noqa"]:
        from devlint.fixes import write_atomically
        from devlint.suppression import noqa_replacements

        added = 0
        for source in report.sources.values():
            findings = [
                item.finding
                for item in report.checked
                if item.path == source.path and item.finding.code != "DEV000" and source.exact
            ]
            replacements = noqa_replacements(source, findings) if findings else []
            try:
                text = source.encode(source.apply(replacements))
                if replacements:
                    write_atomically(Path(source.path), text, source.encode(source.content))
            except (OSError, ValueError) as error:
                click.echo(f"error: {source.filename}: {getattr(error, 'strerror', None) or error}", err=True)
                accepted = USAGE
                continue
            added += len(replacements)
        click.echo(f"Added {_counted(added, 'comment')}.", err=True)
    if options["write_baseline"]:
        from devlint.baseline import write_baseline

        try:
            count = write_baseline(options["write_baseline"], report.findings, line_of(report))
        except OSError as error:
            raise ConfigError(f"{options['write_baseline']}: {error.strerror or error}") from None
        click.echo(f"Wrote {_counted(count, 'finding')} to {options['write_baseline']}.", err=True)
    return accepted


def _print(report: Report, config: Config, options: dict[str, Any], *, to_stderr: bool) -> None:
    from devlint.terminal import wants_colour

    stream = sys.stderr if to_stderr else sys.stdout
    from devlint.reports import render
    from devlint.rules.catalogue import CATALOGUE

    text = render(
        "statistics" if options["statistics"] else config.output_format,
        report.findings,
        sources=report.sources,
        worlds=[world_named(name) for name in config.worlds],
        color=options["output_file"] is None and wants_colour(stream),
        checked=report.files,
        rules=CATALOGUE,
        summary=not options["quiet"],
    )
    if options["output_file"] is not None:
        try:
            options["output_file"].write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise ConfigError(f"{options['output_file']}: {error.strerror or error}") from None
    elif text:
        click.echo(text, nl=not text.endswith("\n"), err=to_stderr, color=True)


def _print_unused(report: Report) -> None:
    for item in report.unused:
        cell = f"cell {item.cell}:" if item.cell is not None else ""
        what = f"of {', '.join(item.codes)}" if item.codes else "comment"
        unknown = f" ({', '.join(item.unknown)}: no such rule)" if item.unknown else ""
        click.echo(f"{item.filename}:{cell}{item.row}: unused suppression {what}{unknown}", err=True)


def _shown(path: Path) -> str:
    from devlint.places import display_name

    return display_name(path)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
