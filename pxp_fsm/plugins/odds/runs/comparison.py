"""Comparison of a run or a published table with the simple model: tables, text, JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.sessions.model import SentSoFar
from pxp_fsm.errors import counted
from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.experiments.statistics import ROWS, Interval
from pxp_fsm.plugins.odds.chain import Conclusion, classes
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.plugins.odds.runs.answers import OddsAnswer
from pxp_fsm.plugins.odds.runs.estimates import SENT, Counts, Estimates, Share
from pxp_fsm.plugins.odds.runs.fit import Fit, FittedRow
from pxp_fsm.plugins.odds.runs.parameters import ROLES
from pxp_fsm.plugins.odds.runs.published import ExplainedColumn
from pxp_fsm.protocol.rules import Ending, Interact

_SHOWN = tuple(name for name in OUTCOMES if name != "endless")


def seen(counts: Counts) -> dict[str, int]:
    """How many of a run's sessions are each of `OUTCOMES`."""
    totals = dict.fromkeys(_SHOWN, 0)
    for tags, count in counts.sequences.items():
        result = _result(tags)
        for outcome in _SHOWN:
            totals[outcome] += count * OUTCOMES[outcome](result)
    return totals


def _result(tags: tuple[str, ...]) -> Conclusion:
    sent = [SentSoFar(), SentSoFar()]
    for place, tag in enumerate(tags):
        sent[place % 2] = sent[place % 2].and_then(tag)
    longer = Interact(n=len(tags) + 1)  # the tags alone stop it, or else the bound did
    why = longer.ending_after(len(tags), tags[-1], tags[-2] if len(tags) > 1 else "")
    return Conclusion(why or Ending.BOUND, (classes(sent[0]), classes(sent[1])))


def estimate_sheets(answered: OddsAnswer | None, estimates: Estimates, fit: Fit) -> Iterator[Sheet]:
    """What was estimated; what follows, beside what was seen; and how well it fits.

    `answered` is None where the odds were asked for with other bounds than the run's.
    """
    rows = [
        (
            f"{role}.{tag and f'{tag}:'}{name}",
            _share(share),
            _interval(share.interval),
            f"{share.of} of {share.total}",
        )
        for role, agent in zip(ROLES, estimates.agents, strict=True)
        for tag, estimated in agent.items()
        if tag or not estimates.by_tag
        for name, share in estimated.shares.items()
    ]
    yield Sheet("Estimates", ("parameter", "estimate", "95% interval", "counted"), tuple(rows))
    if answered is not None:
        yield _beside(answered, estimates)
    yield Sheet(
        "Tags by what they answer: seen (and expected)",
        ("who answers what", *SENT, "G²", "p"),
        tuple(_fit_row(row, estimates.counts.k) for row in fit.rows),
    )


def _beside(answered: OddsAnswer, estimates: Estimates) -> Sheet:
    shares, sessions = seen(estimates.counts), estimates.counts.sessions
    outcomes = [
        (
            name,
            f"{shares[name] / sessions:.3f}",
            f"{float(answered.odds.of(name)):.3f}",
            _interval(estimates.intervals[name]),
        )
        for name in _SHOWN
    ]
    total = sum(len(tags) * count for tags, count in estimates.counts.sequences.items())
    length = answered.odds.length
    outcomes.append(
        (
            "messages, mean",
            f"{total / sessions:.2f}",
            "-" if length is None else f"{float(length):.2f}",
            f"{estimates.length.low:.2f} to {estimates.length.high:.2f}",
        )
    )
    headings = ("a session is", "seen", "by the model", "95% interval")
    return Sheet("What was seen, and the odds", headings, tuple(outcomes))


def _share(share: Share) -> str:
    return f"{float(share.value):.3f}" if share.total else "-"


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"


def _fit_row(row: FittedRow, k: int) -> tuple[str, ...]:
    cells = (f"{n} ({e:.1f})" for n, e in zip(row.seen, row.expected, strict=True))
    return (_who(row, k), *cells, f"{row.statistic:.1f}", f"{row.p:.3f}")


def _who(row: FittedRow, k: int) -> str:
    when = f"after message {k}" if row.context.late else f"up to message {k}"
    return f"{ROLES[row.context.agent]}, {row.context.received}, {when}"


def estimate_lines(estimates: Estimates, fit: Fit) -> Iterator[str]:
    """What a reader must know of the estimates, and what the tests say."""
    counts = estimates.counts
    left = f"; {counted(counts.left_out, 'other')} left out" if counts.left_out else ""
    sessions = counted(counts.sessions, "session")
    yield f"From {sessions} of {counts.run} that the protocol ended{left}."
    for role, agent in zip(ROLES, estimates.agents, strict=True):
        if not agent[""].known:
            yield (
                f"The {role}'s tags were named: B stands for B and C, and D is its share of what "
                f"is not A after message {counts.k}."
            )
    yield (
        "Intervals of estimates are Wilson's; those of the odds are from draws of the parameters "
        "(Jeffreys' prior). Messages count as independent."
    )
    alone = "tags do not depend on what they answer"
    if estimates.by_tag:
        alone = "what was answered decides, but for k"
    yield (
        f"That {alone}: G² = {fit.answers:.1f}, p = "
        f"{fit.p_answers:.3f}. That sequences are as the model says: G² = {fit.sequences:.1f}, p = "
        f"{fit.p_sequences:.3f}. ({fit.replicates} runs drawn from the fitted model; the p of a "
        f"row is not corrected for there being several.)"
    )
    yield f"Furthest from the model: {_who(fit.worst, counts.k)}, p = {fit.worst.p:.3f}."


def estimate_json(estimates: Estimates, fit: Fit) -> dict[str, Any]:
    """Estimates and fit as JSON."""
    return {
        "run": estimates.counts.run,
        "sessions": estimates.counts.sessions,
        "left_out": estimates.counts.left_out,
        "estimates": {
            role: {
                tag or "usual": {
                    name: {
                        "value": str(share.value),
                        "of": share.of,
                        "total": share.total,
                        "interval": _ends(share.interval),
                    }
                    for name, share in estimated.shares.items()
                }
                for tag, estimated in agent.items()
            }
            | {"categories_known": agent[""].known}
            for role, agent in zip(ROLES, estimates.agents, strict=True)
        },
        "seen": seen(estimates.counts),
        "intervals": {name: _ends(interval) for name, interval in estimates.intervals.items()}
        | {"length": _ends(estimates.length)},
        "fit": {
            "answers": {"statistic": fit.answers, "p": fit.p_answers},
            "sequences": {"statistic": fit.sequences, "p": fit.p_sequences},
            "replicates": fit.replicates,
            "rows": [
                {
                    "agent": ROLES[row.context.agent],
                    "received": str(row.context.received),
                    "late": row.context.late,
                    "seen": dict(zip(map(str, SENT), row.seen, strict=True)),
                    "expected": dict(zip(map(str, SENT), row.expected, strict=True)),
                    "statistic": row.statistic,
                    "p": row.p,
                }
                for row in fit.rows
            ],
        },
    }


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def explained_sheet(models: tuple[ExplainedColumn, ...]) -> Sheet:
    """A published column, and what each model makes of it."""
    column = models[0].column
    rows = [
        (
            row,
            str(column.counts[place]),
            *(f"{explained.expected[place]:.1f}" for explained in models),
        )
        for place, row in enumerate(ROWS)
    ]
    for place, (name, count, _, _) in enumerate(models[0].told):
        cells = (
            f"{explained.told[place][2]:.1f} (p = {explained.told[place][3]:.3f})"
            for explained in models
        )
        rows.append((f"{name} *", str(count), *cells))
    rows.append(
        ("likelihood, log", "", *(f"{explained.log_likelihood:.2f}" for explained in models))
    )
    rows.append(("p of the counts", "", *(f"{explained.p:.2f}" for explained in models)))
    for name in models[0].model.parameters:
        cells = (
            f"{explained.values[name]:.2f}" if name in explained.values else "0"
            for explained in models
        )
        rows.append((name, "", *cells))
    headings = ("of 20 sessions", "published", *(explained.model.name for explained in models))
    return Sheet(f"{column.title}, and what explains it best", headings, tuple(rows))


def explained_lines() -> Iterator[str]:
    """What a reader must know of fits to published columns."""
    yield (
        "Assumed: sessions are independent and alike, n = 10, k = 3, and a column is one run (RAD "
        "2025 is medians of five)."
    )
    yield (
        "Parameters are those of greatest likelihood for the seven counts; p, which does not allow "
        "for that, is too large rather than too small. Rows with * were not fitted."
    )


def explained_json(models: tuple[ExplainedColumn, ...]) -> list[dict[str, Any]]:
    """The same as JSON."""
    return [
        {
            "column": explained.column.title,
            "model": explained.model.name,
            "parameters": dict(explained.values),
            "log_likelihood": explained.log_likelihood,
            "counts": dict(zip(ROWS, explained.column.counts, strict=True)),
            "expected": dict(zip(ROWS, explained.expected, strict=True)),
            "p": explained.p,
            "not_fitted": [
                {"what": label, "published": count, "expected": expected, "p": p}
                for label, count, expected, p in explained.told
            ],
        }
        for explained in models
    ]
