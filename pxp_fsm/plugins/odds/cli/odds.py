"""`pxp odds`: probabilities of the outcomes of a protocol, for agents with random judgements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from backends.databases import SqlBlackboard
from pxp_fsm import defaults
from pxp_fsm.cli.presentation.text import console, printable
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.sheets import as_rich
from pxp_fsm.plugins.odds.cli.options import OddsOptions
from pxp_fsm.plugins.odds.prism import prism
from pxp_fsm.plugins.odds.runs import comparison, formatting, parameters
from pxp_fsm.plugins.odds.runs.answers import OddsQuestion, answer
from pxp_fsm.plugins.odds.runs.estimates import counts_of, estimates
from pxp_fsm.plugins.odds.runs.fit import fit
from pxp_fsm.plugins.odds.runs.published import MODELS, columns, explain

_ALIKE = "A=1/4,B=1/4,C=1/4,D=1/4,revise=1/2"
"""What both agents do where nothing is said of either."""


def odds(request: OddsOptions) -> None:
    """Print the odds of two agents, or what explains a published column."""
    _check_protocol(request.protocol)
    if request.seed < 0:
        raise UsageError(f"--seed is 0 or more; it was {request.seed}")
    if request.published is None:
        _answer(request, _bound(request.n))
        return
    alone = OddsOptions(
        protocol=request.protocol,
        published=request.published,
        seed=request.seed,
        as_json=request.as_json,
    )
    if request != alone:
        raise UsageError("--published can be combined with --seed and --json only")
    _explain(request.published, request.seed, request.as_json)


def _bound(value: str | None) -> Any:
    """A whole number of messages, or `inf` for no bound."""
    if value is None or value == "inf":
        return value
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise UsageError(f"{value!r} is not a whole number below 1,000,000,000, nor inf")
    return int(value)


def _check_protocol(value: str) -> None:
    if value == "interact":
        return
    why = (
        "a session of PXP ends when somebody sends TERM, which no judgement decides"
        if value == "pxp"
        else f"there is no protocol {value!r}"
    )
    raise UsageError(f"{why}; probabilities are computed for interact")


def _answer(request: OddsOptions, n: Any) -> None:
    """The odds of two agents who are given, or estimated from a run."""
    source, k = request.source, request.k
    estimated = None
    if request.by_tag and source is None:
        raise UsageError(
            "--by-tag requires --from; behaviour in reply to a tag is given directly, for "
            "instance --human RATIFY:A=1"
        )
    if source is None:
        alike = () if request.machine or request.human else (_ALIKE,)
        players = (
            parameters.player(request.machine or alike, "machine"),
            parameters.player(request.human or alike, "human"),
        )
        if alike and not request.as_json:
            click.echo(
                f"No behaviour is given, so both agents have every category equally often, and "
                f"revise half of the time ({_ALIKE}); set it with --machine and --human."
            )
    elif request.machine or request.human:
        raise UsageError("--from estimates both agents; it excludes --machine and --human")
    else:
        estimated = _estimated(*source, request.seed, request.by_tag)
        players = estimated[0].players
        n = estimated[0].counts.n if n is None else n
        k = estimated[0].counts.k if k is None else k
    question = OddsQuestion(
        players,
        None if n == "inf" else defaults.N if n is None else n,
        defaults.K if k is None else k,
        request.exactly,
        None if request.free is None else parameters.parameter(request.free),
        tuple(map(parameters.target, request.targets)),
        "sensitivities" in request.also,
        "lengths" in request.also,
    )
    answered = answer(question)
    if request.as_json:
        told = formatting.as_json(answered)
        _json(told if estimated is None else told | {"from": comparison.estimate_json(*estimated)})
    else:
        _said(formatting.lines(answered), formatting.sheets(answered), formatting.targets(answered))
        if estimated is not None:
            own = (estimated[0].counts.n, estimated[0].counts.k) == (question.n, question.k)
            _said(
                (),
                comparison.estimate_sheets(answered if own else None, *estimated),
                comparison.estimate_lines(*estimated),
            )
    if request.output is not None:
        _written(request.output, question)


def _estimated(database: str, run: str, seed: int, by_tag: bool) -> Any:
    with SqlBlackboard(database, create=False) as board:
        counts = counts_of(board, run)
    return estimates(counts, seed, by_tag=by_tag), fit(counts, seed, by_tag=by_tag)


def _explain(title: str, seed: int, as_json: bool) -> None:
    explained = [
        tuple(explain(column, model, seed) for model in MODELS) for column in columns(title)
    ]
    if as_json:
        _json([record for column in explained for record in comparison.explained_json(column)])
    else:
        _said((), map(comparison.explained_sheet, explained), comparison.explained_lines())


def _said(first: Iterable[str], sheets: Iterable[Any], then: Iterable[str]) -> None:
    """Lines, tables, lines."""
    for line in first:
        click.echo(printable(line))
    shown = console()
    for sheet in sheets:
        shown.print(as_rich(sheet))
    for line in then:
        click.echo(printable(line))


def _json(told: Any) -> None:
    click.echo(json.dumps(told, indent=1))


def _written(file: Path, question: OddsQuestion) -> None:
    file.write_text(prism(question.players, question.k, question.n, question.free), "utf-8")
    click.echo(printable(f"Written: {file}"), err=True)
