"""The options by which a command says how models are asked: limits, caps, cache, recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from backends.models.serving import Settings

_FILE = click.Path(path_type=Path, dir_okay=False)

_OPTIONS = (
    click.option("--max-dollars", type=float, metavar="X", help="Models: stop before X is passed."),
    click.option(
        "--max-calls", type=int, metavar="N", help="Models: stop before more than N calls are made."
    ),
    click.option(
        "--requests", type=int, metavar="N", help="Models: at most N requests a minute to a server."
    ),
    click.option(
        "--tokens", type=int, metavar="N", help="Models: at most N tokens a minute to a server."
    ),
    click.option(
        "--in-flight",
        type=int,
        default=16,
        show_default=True,
        metavar="N",
        help="Models: at most N requests at a time to a server, and N sessions at a time.",
    ),
    click.option(
        "--batches", is_flag=True, help="Models: each round of all open sessions as one batch."
    ),
    click.option("--cache", type=_FILE, metavar="FILE", help="Models: keep calls, to share them."),
    click.option(
        "--replay", type=_FILE, metavar="FILE", help="Models: a recording answers in their place."
    ),
    click.option(
        "--catalogue", type=_FILE, metavar="FILE", help="Models: your own servers and prices."
    ),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; `settings_of` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(options: Mapping[str, Any]) -> Settings | None:
    """What the options say, or None where they say nothing else than their defaults.

    Models' libraries are not loaded for a run without models.
    """
    if options["in_flight"] < 1:
        raise click.UsageError("--in-flight is 1 or more")
    if options["cache"] is not None and options["replay"] is not None:
        raise click.UsageError("--replay asks nobody, so that --cache has nothing to keep")
    said = {name: value for name, value in options.items() if value not in (None, False)}
    if said == {"in_flight": 16}:
        return None
    from backends.models.serving import Settings

    return Settings(
        requests=options["requests"],
        tokens=options["tokens"],
        in_flight=options["in_flight"],
        dollars=options["max_dollars"],
        calls=options["max_calls"],
        cache=options["cache"],
        replay=options["replay"],
        batches=options["batches"],
        catalogue=options["catalogue"],
    )
