"""The command `pxp greet`."""

import click

from greetings.task import PHRASES


@click.command()
@click.argument("language")
def greet(language: str) -> None:
    """Print how one greets in LANGUAGE."""
    words = [word for word, own in PHRASES.items() if own.lower() == language.lower()]
    if not words:
        raise click.BadParameter(f"known are {', '.join(sorted(set(PHRASES.values())))}")
    click.echo(", ".join(words))
