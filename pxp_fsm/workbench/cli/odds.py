"""`pxp odds`: how probable what a protocol can do is, for agents whose judgements are by chance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from pxp_fsm.errors import UsageError


def _bound(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """A whole number of messages, or `inf` for no bound."""
    if value is None or value == "inf":
        return value
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise click.BadParameter(f"{value!r} is not a whole number below 1,000,000,000, nor inf")
    return int(value)


def _protocol(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value == "interact":
        return value
    why = (
        "a session of PXP ends when somebody sends TERM, which no judgement decides"
        if value == "pxp"
        else f"there is no protocol {value!r}"
    )
    raise click.BadParameter(f"{why}; odds are of interact")


@click.command()
@click.argument("protocol", callback=_protocol)
@click.option(
    "--machine",
    multiple=True,
    metavar="A=P,B=P,C=P,D=P,revise=P",
    help="What the initiator does; RATIFY:A=1 is what it does in answer to RATIFY. Repeatable.",
)
@click.option(
    "--human", multiple=True, metavar="A=P,...", help="The same of the responder. Repeatable."
)
@click.option(
    "--from",
    "source",
    nargs=2,
    metavar="DATABASE RUN",
    help="Estimate both from a run, and test how well that explains it.",
)
@click.option(
    "--by-tag", is_flag=True, help="With --from: what agents do may go by the tag they answer."
)
@click.option(
    "--published",
    metavar="TITLE|all",
    help="What explains a published column best, such as 'RAD 2025'; nothing else is told.",
)
@click.option("--n", callback=_bound, metavar="N|inf", help="The most messages.  [default: 10]")
@click.option("--k", type=int, help="REJECT is allowed after message k.  [default: 3]")
@click.option("--exact/--float", "exactly", default=None, help="Rationals, or floats.")
@click.option("--free", metavar="AGENT.NAME", help="Leave a parameter open, such as human.A.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="OUTCOME=P",
    help="Where the free parameter makes an outcome as probable as that. Repeatable.",
)
@click.option("--sensitivities", is_flag=True, help="How far each result hangs on each parameter.")
@click.option("--lengths", is_flag=True, help="How probable each length is.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--prism",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the chain in the PRISM language, for Storm or PRISM.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON on standard output.")
def odds(protocol: str, published: str | None, seed: int, as_json: bool, **asked: Any) -> None:
    """The odds of a session of PROTOCOL: its classes, its ends, its length.

    At each message an agent finds category A, B, C or D, and revises, with the probabilities given,
    whatever went before. Numbers such as 2/5 and 0.4 are exact; what is left out is 0.
    """
    if seed < 0:
        raise UsageError(f"--seed is 0 or more; it was {seed}")
    if published is not None:
        untouched = (value is None or value is False or value == () for value in asked.values())
        if asked["exactly"] is not None or not all(untouched):
            raise UsageError("--published goes with --seed and --json alone")
        _explain(published, seed, as_json)
    else:
        _answer(seed, as_json, **asked)


def _answer(
    seed: int,
    as_json: bool,
    *,
    machine: tuple[str, ...],
    human: tuple[str, ...],
    source: tuple[str, str] | None,
    by_tag: bool,
    n: Any,
    k: int | None,
    exactly: bool | None,
    free: str | None,
    targets: tuple[str, ...],
    sensitivities: bool,
    lengths: bool,
    prism: Path | None,
) -> None:
    """The odds of two agents who are given, or estimated from a run."""
    from pxp_fsm.workbench.odds import comparing, reading, telling
    from pxp_fsm.workbench.odds.answering import Question, answer

    estimated = None
    if by_tag and source is None:
        raise UsageError(
            "--by-tag goes with --from; what agents do in answer to a tag can be given, too, for "
            "instance --human RATIFY:A=1"
        )
    if source is None:
        players = reading.player(machine, "machine"), reading.player(human, "human")
    elif machine or human:
        raise UsageError("--from estimates both agents: leave out --machine and --human")
    else:
        estimated = _estimated(*source, seed, by_tag)
        players = estimated[0].players
        n = estimated[0].counts.n if n is None else n
        k = estimated[0].counts.k if k is None else k
    question = Question(
        players,
        None if n == "inf" else 10 if n is None else n,
        3 if k is None else k,
        exactly,
        None if free is None else reading.parameter(free),
        tuple(map(reading.target, targets)),
        sensitivities,
        lengths,
    )
    answered = answer(question)
    if as_json:
        told = telling.as_json(answered)
        _json(told if estimated is None else told | {"from": comparing.estimate_json(*estimated)})
    else:
        _said(telling.lines(answered), telling.sheets(answered), telling.targets(answered))
        if estimated is not None:
            own = (estimated[0].counts.n, estimated[0].counts.k) == (question.n, question.k)
            _said(
                (),
                comparing.estimate_sheets(answered if own else None, *estimated),
                comparing.estimate_lines(*estimated),
            )
    if prism is not None:
        _written(prism, question)


def _estimated(database: str, run: str, seed: int, by_tag: bool) -> Any:
    from backends.databases import SqlBlackboard
    from pxp_fsm.workbench.odds.counting import counts_of
    from pxp_fsm.workbench.odds.estimating import estimates
    from pxp_fsm.workbench.odds.fitting import fit

    with SqlBlackboard(database, create=False) as board:
        counts = counts_of(board, run)
    return estimates(counts, seed, by_tag=by_tag), fit(counts, seed, by_tag=by_tag)


def _explain(title: str, seed: int, as_json: bool) -> None:
    from pxp_fsm.workbench.odds import comparing
    from pxp_fsm.workbench.odds.published import MODELS, columns, explain

    found = [tuple(explain(column, model, seed) for model in MODELS) for column in columns(title)]
    if as_json:
        _json([each for column in found for each in comparing.explained_json(column)])
    else:
        _said((), map(comparing.explained_sheet, found), comparing.explained_lines())


def _said(first: Iterable[str], sheets: Iterable[Any], then: Iterable[str]) -> None:
    """Lines, tables, lines."""
    from pxp_fsm.workbench.cli.printing import console, printable
    from pxp_fsm.workbench.report import as_rich

    for line in first:
        click.echo(printable(line))
    shown = console()
    for sheet in sheets:
        shown.print(as_rich(sheet))
    for line in then:
        click.echo(printable(line))


def _json(told: Any) -> None:
    import json

    click.echo(json.dumps(told, indent=1))


def _written(file: Path, question: Any) -> None:
    from proofs.odds.prism import prism
    from pxp_fsm.workbench.cli.printing import printable

    file.write_text(prism(question.players, question.k, question.n, question.free), "utf-8")
    click.echo(printable(f"Written: {file}"), err=True)
