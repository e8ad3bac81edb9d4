"""`devlint server`: the language server over standard input and output."""

from __future__ import annotations

import sys

import click

USAGE = 2


@click.command()
@click.pass_context
def server(context: click.Context) -> None:
    """Tell an editor what is found while files are typed, by the Language Server Protocol.

    It speaks over standard input and output, and is started by the editor. Needs pygls:
    pip install "devlint[server]" brings it.
    """
    try:
        from devlint.server.service import serve
    except ModuleNotFoundError as error:
        click.echo(f'error: {error}; pip install "devlint[server]" brings what is needed', err=True)
        context.exit(USAGE)
    sent, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may come between the messages
    context.exit(serve(sys.stdin.buffer, sent))
