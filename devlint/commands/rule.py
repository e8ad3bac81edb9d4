"""`devlint rule`: what a rule finds, why it is bad, and how it looks mended."""

from __future__ import annotations

import json

import click

from devlint.config import ConfigError
from devlint.selection import expand


@click.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="Explain all rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def rule(code: str | None, every: bool, output_format: str) -> None:
    """Explain a rule, given by its code (`DEV301`), a prefix (`DEV3`) or its name (`mixed-devices`).

    Without an argument the rules are listed.
    """
    from devlint.rules.catalogue import CATALOGUE
    from devlint.rules.pages import as_json, page

    if code is not None and every:
        raise click.UsageError("--all and a code exclude each other")
    rules = list(CATALOGUE)
    if code is not None:
        try:
            codes = expand(code, rules)[1]
        except ConfigError as error:
            raise click.UsageError(str(error)) from None
        rules = [item for item in rules if item.code in codes]
    if output_format == "json":
        described = [as_json(item) for item in rules]
        one = code is not None and len(rules) == 1
        click.echo(json.dumps(described[0] if one else described, indent=2, ensure_ascii=False))
    elif code is None and not every:
        for item in rules:
            click.echo(f"{item.code}  {item.name:32}  {item.summary}")
    else:
        click.echo("\n\n".join(page(item).rstrip() for item in rules))
