"""Tables beyond the papers': intervals, comparison of two runs, the effect of order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from backends.databases import RunRecord, SqlBlackboard, origin_of
from pxp_fsm.errors import UsageError, counted, quoted
from pxp_fsm.experiments.outcomes import (
    MESSAGES,
    Contrast,
    Outcomes,
    Place,
    RunComparison,
    estimates,
    order_effect,
    outcomes_of,
)
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.experiments.sheets import Sheet
from pxp_fsm.experiments.statistics import CONFIDENCE, Interval, rounded

_NONE = "-"


def estimate_sheet(outcomes: Outcomes) -> Sheet:
    """For each class the proportion of all sessions, its interval and its clustered errors."""
    headings = (
        "of all sessions",
        "proportion",
        f"{CONFIDENCE:.0%} interval",
        "error by repetition",
        "error by instance",
        "effective sessions",
    )
    rows = tuple(
        (
            row,
            rounded(estimate.share),
            str(estimate.interval),
            _number(estimate.by_repetition),
            _number(estimate.by_instance),
            rounded(estimate.size, 1),
        )
        for row, estimate in estimates(outcomes).items()
    )
    return Sheet("How sure the proportions are", headings, rows)


def explanation(outcomes: Outcomes) -> Sequence[str]:
    """What the intervals are, in words, as far as the run has them."""
    repetitions = {repetition for repetition, _ in outcomes.classes}
    instances = {instance for _, instance in outcomes.classes}
    if not repetitions:
        return ()
    if len(repetitions) == 1:
        return ("Intervals are Wilson's; of one repetition, sessions count as independent.",)
    few = " Few repetitions make their error a rough one." if len(repetitions) < 10 else ""
    return (
        "Intervals are Wilson's for the effective number of sessions: repetitions are about the "
        f"same {counted(len(instances), 'instance')}, and sessions of a repetition share a "
        "machine, so the larger of the two "
        f"clustered standard errors counts.{few}",
    )


def order_lines(outcomes: Outcomes, seed: int) -> Sequence[str]:
    """The effect of order on two classes that depend on learning, as lines to print."""
    lines = []
    for row in ("two-way", "strong, human"):
        effect = order_effect(outcomes, row, seed)
        if effect is None:
            continue
        line = (
            f"Order, {row}: {rounded(effect.early)} in the first half of the positions, "
            f"{rounded(effect.late)} in the second; {effect.varying} of "
            f"{counted(effect.instances, 'instance')} depend on the repetition"
        )
        if effect.slope is not None and effect.p is not None:
            p = _p_value(effect.p, equals=True)
            line += f"; {_signed(effect.slope, 3)} a position, p {p} (permutation test)"
        lines.append(f"{line}.")
    return lines


def carried_on(board: SqlBlackboard, run: str) -> list[RunRecord]:
    """The runs that carry sessions of `run` on; raises `UsageError` where there are none."""
    records = []
    for record in board.runs():
        origin = origin_of(record.plan)
        if origin is not None and board.session(origin.session).record.run == run:
            records.append(record)
    if not records:
        raise UsageError(
            f"no run carries sessions of {run} on; name another run, or fork a session of it with "
            f"pxp run SESSION@MESSAGE"
        )
    return records


def compared_outcomes(board: SqlBlackboard, records: Sequence[RunRecord]) -> Outcomes:
    """The outcomes of a run, or of several as those of one.

    Raises `UsageError` where a session is in two of them, or they are of different kinds.
    """
    outcomes = [
        outcomes_of(board, record.run)
        if (kind := kind_of(record)) is None
        else kind.outcomes(board, record)
        for record in records
    ]
    if len(outcomes) == 1:
        return outcomes[0]
    if len({part.rows for part in outcomes}) > 1:
        raise UsageError("these runs have no classes in common; compare runs of one kind")
    seen = dict[Place, str]()
    for part in outcomes:
        for place in part.classes:
            if place in seen:
                raise UsageError(
                    f"{seen[place]} and {part.run} have both a session about {quoted(place[1])} in "
                    f"repetition {place[0]}; name one of them alone, as in "
                    f"pxp compare RUN {part.run}"
                )
            seen[place] = part.run
    return Outcomes(
        counted(len(outcomes), "run"),
        {place: at for part in outcomes for place, at in part.positions.items()},
        {place: of for part in outcomes for place, of in part.classes.items()},
        sum(part.left_out for part in outcomes),
        outcomes[0].rows,
        {place: many for part in outcomes for place, many in part.lengths.items()},
        {place: ending for part in outcomes for place, ending in part.endings.items()},
    )


def seed_lines(first: Sequence[RunRecord], second: Sequence[RunRecord]) -> Sequence[str]:
    """What a reader must know of a pairing of runs whose plans have other seeds."""
    seeds = [sorted({record.seed for record in records}) for records in (first, second)]
    if seeds[0] == seeds[1]:
        return ()
    shown = " and ".join(", ".join(map(str, of_side)) for of_side in seeds)
    return (
        f"Their seeds differ ({shown}): what a repetition draws, such as the order of its "
        f"instances, is another in each, so that a pair has its instance in common and not what "
        f"came before.",
    )


def change_lines(first: Outcomes, second: Outcomes) -> Sequence[str]:
    """How endings and lengths of paired sessions differ, in words; none of sessions of two."""
    pairs = [place for place in first.endings if place in second.endings]
    if not pairs:
        return ()
    moved = Counter(
        (first.endings[place], second.endings[place])
        for place in pairs
        if first.endings[place] != second.endings[place]
    )
    changes = ", ".join(
        f"{before} to {after} {many}" for (before, after), many in sorted(moved.items())
    )
    listed = f": {changes}" if changes else ""
    return (f"Endings that differ: {sum(moved.values())} of {len(pairs)}{listed}.",)


def comparison_sheet(comparisons: Sequence[RunComparison], first: str, second: str) -> Sheet:
    """Two runs side by side."""
    headings = (
        "sessions that are",
        first,
        second,
        "difference",
        f"{CONFIDENCE:.0%} interval",
        "only first",
        "only second",
        "p",
    )
    rows = tuple(
        (
            compared.row,
            rounded(compared.first),
            rounded(compared.second),
            _signed(compared.second - compared.first),
            _NONE if compared.interval is None else _from_to(compared.interval),
            str(compared.only_first),
            str(compared.only_second),
            _p_value(float(compared.p)),
        )
        for compared in comparisons
    )
    return Sheet(f"{first} and {second}, paired", headings, rows)


def _p_value(p: float, *, equals: bool = False) -> str:
    """`p` with four digits; a smaller one is no 0."""
    return "< 0.0001" if p < 0.0001 else f"{'= ' if equals else ''}{rounded(p, 4)}"


def comparison_lines(
    first: Outcomes, second: Outcomes, comparisons: Sequence[RunComparison]
) -> Sequence[str]:
    """What a reader must know of a comparison, of which `comparisons` are the rows."""
    pairs = comparisons[0].pairs
    repetitions = {r for r, _ in first.classes} & {r for r, _ in second.classes}
    lines = [f"Sessions are paired by repetition and instance: {counted(pairs, 'pair')}."]
    if len(repetitions) == 1:
        lines.append("p is McNemar's exact test, two-sided.")
    else:
        lines.append(
            "p is the exact two-sided test that flips whole instances, each with all its "
            "repetitions: McNemar's test for pairs that are not independent of each other."
        )
    instances = {i for r, i in first.classes if (r, i) in second.classes}
    lines.append(
        "Of one instance there is no interval of the difference."
        if len(instances) == 1
        else "The interval of the difference is from its standard error clustered over instances; "
        "where no pair differs there is none."
    )
    if len(comparisons) > 1:
        lines.append(
            f"Of {len(comparisons)} rows each has a p of its own, which is not corrected for the "
            f"others: decide beforehand which one you ask about, or multiply p by "
            f"{len(comparisons)} (Bonferroni)."
        )
    if comparisons[-1].row == MESSAGES:
        lines.append(
            "Messages are means; only first and only second say which session of a pair has more, "
            "and p is of flipping whole instances."
        )
    apart = [compared.row for compared in comparisons if _disagree(compared)]
    if apart:
        lines.append(
            f"Interval and p disagree about {'; '.join(apart)}: p is exact, of the pairs that "
            f"differ; the interval is an approximation, rough where few of them do. Go by p."
        )
    left = [
        f"{counted(len(run.classes) - pairs + run.left_out, 'session')} of {run.run}"
        for run in (first, second)
        if len(run.classes) - pairs + run.left_out
    ]
    if left:
        lines.append(f"Left out, with no partner, not over or ended by a fault: {', '.join(left)}.")
    return lines


def contrast_sheet(contrasts: Sequence[Contrast], first: str, second: str) -> Sheet:
    """Two groups of sessions side by side, not paired."""
    headings = ("sessions that are", first, second, "difference", f"{CONFIDENCE:.0%} interval")
    rows = tuple(
        (
            contrast.row,
            rounded(contrast.first),
            rounded(contrast.second),
            _signed(contrast.second - contrast.first),
            _NONE
            if contrast.interval.low == contrast.interval.high
            else _from_to(contrast.interval),
        )
        for contrast in contrasts
    )
    return Sheet(f"{first} and {second}", headings, rows)


def contrast_lines(first: Outcomes, second: Outcomes) -> Sequence[str]:
    """What a reader must know of such a comparison."""
    people = {number for group in (first, second) for number, _instance in group.classes}
    few = " Few participants make it a rough one." if len(people) < 30 else ""
    return (
        f"{counted(len(first.classes), 'session')} of {first.run} and {len(second.classes)} of "
        f"{second.run}, of {counted(len(people), 'participant')}; {first.left_out} and "
        f"{second.left_out} are left out: not over, or ended by a fault.",
        "The interval is from the error of the difference, clustered over participants; where "
        f"the sessions of each are all alike there is none.{few}",
    )


def _from_to(interval: Interval) -> str:
    return f"{_signed(interval.low)} to {_signed(interval.high)}"


def _signed(difference: float, digits: int = 2) -> str:
    shown = rounded(difference, digits)
    return shown if shown.startswith("-") else f"+{shown}"


def _disagree(comparison: RunComparison) -> bool:
    """Whether only one of interval and p says that two runs differ."""
    if comparison.interval is None:
        return False
    away = not comparison.interval.low <= 0 <= comparison.interval.high
    return away is not (float(comparison.p) < 1 - CONFIDENCE)


def _number(value: float) -> str:
    return _NONE if value == float("inf") else rounded(value, 3)
