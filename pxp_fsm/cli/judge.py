"""`pxp judge`: the pairs of explanations compared in a run, submitted to a judge again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import click

from backends.databases import SqlBlackboard
from backends.models.registry import Serving
from backends.models.settings import Settings
from guards.judge import Consistency, Judge, consistency, majority
from pxp_fsm.cli.options import sessions as options
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import NotThere, quoted
from pxp_fsm.experiments import members
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.plan_data import stored_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.statistics import rounded, wilson
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import Outcome, digest
from pxp_fsm.tasks.prompts import prompts_text
from pxp_fsm.tasks.task import DataSet, find_task


def judge(request: options.JudgeOptions) -> None:
    """Put the pairs of a run to a judge, and print how consistent its verdicts are."""
    model, meter = request.model, Meter()
    with SqlBlackboard(request.database, create=False) as board:
        pairs = judged_pairs(board, request.run)[: request.limit]
        selection = _named(board, request.run, model, request.prompts, request.models.settings)
    measured = asyncio.run(
        _measured(selection, model, pairs, request.repetitions, request.models.settings, meter)
    )
    if request.as_json:
        document = {
            "run": request.run,
            "judge": model,
            "pairs": len(pairs),
            "repetitions": request.repetitions,
            "as in the run": _same(measured, pairs),
            "answered": measured.pairs,
            "unanimous": measured.unanimous,
            "agreement": measured.agreement,
            "turned": measured.turned,
            "symmetric": measured.symmetric,
            "silent": measured.silent,
        }
        click.echo(json.dumps(document, indent=1))
        return
    click.echo(
        printable(
            f"{model} on run {request.run}: {len(pairs)} pairs, {request.repetitions} each way"
        )
    )
    for line in _lines(measured, pairs):
        click.echo(line)
    click.echo(f"Models were asked: {meter.shown()}")


def _named(
    board: SqlBlackboard, run: str, model: str, prompts: Path | None, settings: Settings
) -> members.Selection:
    """The judge and how it is asked; raises what `named.models` does."""
    (record,) = [record for record in board.runs() if record.run == run]
    plan = stored_plan(record)
    source = plan.prompts if prompts is None else prompts_text(prompts, plan.task)
    wanted = Plan(plan.task, judge=model, prompts=source)
    return members.models(wanted, find_task(plan.task), DataSet("", ()), settings)


async def _measured(
    selection: members.Selection,
    model: str,
    pairs: tuple[RejudgedPair, ...],
    number: int,
    settings: Settings,
    meter: Meter,
) -> Consistency:
    async with Serving(settings, meter) as serving:
        assert selection.prompts is not None  # noqa: S101 - a judge was named
        judge = Judge(serving.model(model), selection.prompts)
        return await consistency(judge, [(pair.left, pair.right) for pair in pairs], number)


@dataclass(frozen=True, slots=True)
class RejudgedPair:
    """A pair of explanations, and every verdict that was given on it in a run."""

    left: str
    right: str
    outcomes: tuple[Outcome, ...]


def judged_pairs(board: SqlBlackboard, run: str) -> tuple[RejudgedPair, ...]:
    """Each two different explanations that were judged in `run`, in the order first met.

    The verdicts are those that were given in that order. Pairs of which a text was never sent are
    left out: only its digest is stored. Raises `NotThere`.
    """
    if run not in [record.run for record in board.runs()]:
        raise NotThere(f"{board.shown} has no run {quoted(run)}")
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    texts: dict[str, str] = {}
    for record in board.sessions(run):
        entries = board.events(record.session)
        for entry in entries:
            explanation = entry.carried.answer.explanation
            texts[digest(explanation)] = explanation
        judgements = [judgement for entry in entries for judgement in entry.judgements]
        for judgement in (*judgements, *board.closing(record.session)):
            verdict = judgement.outcome in (Outcome.YES, Outcome.NO, Outcome.UNSURE)
            if (
                judgement.relation != "AGREE"
                or not judgement.asked
                or not verdict
                or judgement.left == judgement.right
            ):
                continue
            if (judgement.right, judgement.left) not in outcomes:
                outcomes.setdefault((judgement.left, judgement.right), []).append(judgement.outcome)
    return tuple(
        RejudgedPair(texts[left], texts[right], tuple(outcomes))
        for (left, right), outcomes in outcomes.items()
        if left in texts and right in texts
    )


def _same(measured: Consistency, judged: Sequence[RejudgedPair]) -> int:
    """How many pairs have the verdict that they had in the run."""
    return sum(
        majority(asked.samples) is before.outcomes[0]
        for asked, before in zip(measured.asked, judged, strict=True)
        if asked.samples
    )


def _lines(measured: Consistency, judged: Sequence[RejudgedPair]) -> Sequence[str]:
    """What came of it, a line each; shares with their 95% intervals."""
    same = _same(measured, judged)
    lines = [f"  {'the verdict of the run':<34}{_share(same, measured.pairs)}"]
    if measured.number > 1:
        agreement = measured.agreement
        shown = "none" if agreement is None else rounded(agreement)
        lines += [
            f"  {'all samples of a pair alike':<34}{_share(measured.unanimous, measured.pairs)}",
            f"  {'two samples of a pair alike':<34}{shown} on average",
        ]
    lines.append(
        f"  {'the same the other way round':<34}{_share(measured.symmetric, measured.turned)}"
    )
    if measured.silent:
        lines.append(f"  {'questions without a verdict':<34}{measured.silent}")
    return lines


def _share(count: int, among: int) -> str:
    if among == 0:
        return "none"
    share = wilson(count, among)
    bounds = f"{rounded(share.low)}-{rounded(share.high)}"
    return f"{count}/{among} ({rounded(count / among)}, 95% {bounds})"
