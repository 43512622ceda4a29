"""The pairs of explanations compared in a run, for another judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backends.databases import SqlBlackboard
from guards.relations.judge import Consistency, majority
from pxp_fsm.errors import NotThere, quoted
from pxp_fsm.experiments.intervals import wilson
from pxp_fsm.protocol.relations import Outcome, digest


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair of explanations, and every verdict that was given on it in a run."""

    left: str
    right: str
    outcomes: tuple[Outcome, ...]


def judged_pairs(board: SqlBlackboard, run: str) -> tuple[Judged, ...]:
    """Each two different explanations that were judged in `run`, in the order first met.

    The verdicts are those that were given in that order. Pairs of which a text was never sent are
    left out: only its digest is stored. Raises `NotThere`.
    """
    if run not in [record.run for record in board.runs()]:
        raise NotThere(f"{board.shown} has no run {quoted(run)}")
    found: dict[tuple[str, str], list[Outcome]] = {}
    texts: dict[str, str] = {}
    for record in board.sessions(run):
        entries = board.entries(record.session)
        for entry in entries:
            explanation = entry.message.answer.explanation
            texts[digest(explanation)] = explanation
        judgements = [judgement for entry in entries for judgement in entry.judgements]
        for one in (*judgements, *board.closing(record.session)):
            verdict = one.outcome in (Outcome.YES, Outcome.NO, Outcome.UNSURE)
            if one.relation != "AGREE" or not one.asked or not verdict or one.left == one.right:
                continue
            if (one.right, one.left) not in found:
                found.setdefault((one.left, one.right), []).append(one.outcome)
    return tuple(
        Judged(texts[left], texts[right], tuple(outcomes))
        for (left, right), outcomes in found.items()
        if left in texts and right in texts
    )


def report(measured: Consistency, judged: Sequence[Judged]) -> Sequence[str]:
    """What came of it, a line each; shares with their 95% intervals."""
    answered = [
        (asked, before)
        for asked, before in zip(measured.asked, judged, strict=True)
        if asked.samples
    ]
    same = sum(majority(asked.samples) is before.outcomes[0] for asked, before in answered)
    lines = [f"  {'the verdict of the run':<34}{_share(same, len(answered))}"]
    if measured.number > 1:
        agreement = measured.agreement
        shown = "none" if agreement is None else f"{agreement:.2f}"
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
    return f"{count}/{among} ({count / among:.2f}, 95% {share.low:.2f}-{share.high:.2f})"
