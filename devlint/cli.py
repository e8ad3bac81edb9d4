"""The command line: finds the command and hands over. A command's file is imported when the command is used."""

from __future__ import annotations

import gc
import importlib
import sys
import traceback
from typing import Any

import click

from devlint import __version__

COMMANDS = {
    "check": "Find where code breaks because of devices.",
    "confirm": "Run what was flagged, in each world, and say whether it is true.",
    "run": "Run a program in a world of simulated devices.",
    "rule": "Explain a rule.",
    "reveal": "Print what is known about each name on a line, in each world.",
    "server": "Serve an editor, by the Language Server Protocol.",
}


INTERRUPTED = 130
"""As shells have it for a program that Ctrl-C has ended; 1 would say that something was found."""
FAILED = 2


class LazyGroup(click.Group):
    """A group whose commands are `devlint.commands.<name>`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"devlint.commands.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what stops it from outside or fails in devlint itself must not look like a finding."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise
        except OSError as error:
            click.echo(f"error: {error.filename or 'output'}: {error.strerror or error}", err=True)
            ctx.exit(FAILED)
        except Exception:
            traceback.print_exc()
            click.echo("error: devlint itself has failed; nothing is said about the files", err=True)
            ctx.exit(FAILED)


def _print_version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the version, and whether this is a compiled build."""
    if wanted and not ctx.resilient_parsing:
        from devlint.syntax.stacks import is_compiled

        click.echo(f"devlint {__version__}{' (compiled)' if is_compiled() else ''}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Find where PyTorch code breaks because of devices: on a machine without a GPU, with one, with two."""


def main() -> None:
    """Run the command line; the console script."""
    # File names and messages may hold any character, the terminal's encoding may not.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        cli(prog_name="devlint")
    finally:
        gc.freeze()  # the process ends: what has been read goes with it, and needn't be looked through for that
