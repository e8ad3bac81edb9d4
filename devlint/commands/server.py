"""`devlint server`: the language server over standard input and output."""

from __future__ import annotations

import sys

import click


@click.command()
@click.pass_context
def server(context: click.Context) -> None:
    """Tell an editor what is found while files are typed, by the Language Server Protocol.

    It speaks over standard input and output, and is started by the editor.
    """
    from devlint.server.service import Server

    sent, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else may come between the messages
    context.exit(Server(sys.stdin.buffer, sent).run())
