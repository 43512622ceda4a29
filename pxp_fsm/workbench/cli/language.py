"""`pxp language`: the tag sequences of a protocol, a class or a recording, and comparisons."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("what", metavar="LANGUAGE")
@click.option("--n", metavar="N", help="INTERACT's bound on messages, or any.  [default: 10]")
@click.option(
    "--k",
    type=click.IntRange(min=1, max=1000),
    metavar="K",
    help="INTERACT's k, or that of PXP(k).  [default: 3; PXP: none]",
)
@click.option(
    "--relations",
    metavar="NAME",
    help="What is assumed of MATCH and AGREE: equivalence, tolerance, noisy, 'without symmetric', "
    "deterministic+shared and the like.  [default: each of the first three; else noisy]",
)
@click.option("--class", "classes", metavar="CLASS", multiple=True, help="The same as --and CLASS.")
@click.option("--and", "within", metavar="LANGUAGE", multiple=True, help="Only what is in it too.")
@click.option("--minus", metavar="LANGUAGE", multiple=True, help="Without what is in it.")
@click.option(
    "--compare", metavar="LANGUAGE", help="Whether one includes the other, with shortest witnesses."
)
@click.option(
    "--list",
    "limit",
    type=click.IntRange(min=1, max=100_000),
    metavar="N",
    help="Print the first N sequences, the shortest first, in place of counts.",
)
@click.option("--run", metavar="RUN", help="Of a DATABASE: this run alone.")
@click.option(
    "--draw",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The minimal automaton as .svg, .png, .dot or .mmd.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
def language(
    what: str,
    n: str | None,
    k: int | None,
    relations: str | None,
    classes: tuple[str, ...],
    within: tuple[str, ...],
    minus: tuple[str, ...],
    compare: str | None,
    limit: int | None,
    run: str | None,
    draw: Path | None,
    as_json: bool,
) -> None:
    """Count, list, compare and draw the complete tag sequences of LANGUAGE.

    LANGUAGE is interact or pxp, with its own bounds and relations if need be
    (interact(4,2)/tolerance, interact(any,3), pxp(2)); published, the authors' code, of 5 rounds
    or so many (published(9)/noisy); a class (strong:human, two_way); the name of relations, beside
    a protocol; or a DATABASE (or the published code's tags.txt), for the sessions recorded in it.
    """
    import json

    from pxp_fsm.workbench import languages
    from pxp_fsm.workbench.cli.printing import printable
    from pxp_fsm.workbench.operands import Settings, operand

    if compare is not None and limit is not None:
        raise click.UsageError(
            f"--list is of one language; `--minus {compare} --list {limit}` lists what only the "
            f"first has"
        )
    given = Settings(n, k, relations, run)
    both = (*classes, *within)
    lines: list[str] = []
    one = languages.chosen(what, given, both, minus)
    if compare is not None:
        other = operand(compare, given, beside=one.reading)
        comparison = languages.compared(one, other)
        lines += languages.comparison_lines(comparison)
        record: object = comparison.record()
    elif limit is not None:
        lines += languages.listed(one.language, limit)
        record = lines
    elif relations is None and draw is None:
        counts = languages.by_relations(what, given, both, minus)
        lines += languages.count_lines(counts)
        record = [each.record() for each in counts]
    else:
        counts = (languages.counted(one.language),)
        lines += languages.count_lines(counts)
        record = [each.record() for each in counts]
    if as_json:
        click.echo(json.dumps(record, indent=1))
    else:
        for line in lines:
            click.echo(printable(line))
    if draw is not None:
        from proofs.languages.picture import pictured
        from pxp_fsm.diagrams import write

        write(pictured(one.language), draw)
        click.echo(f"Drawn: {printable(str(draw))}", err=as_json)
