"""The odds from what was recorded, and beside what was published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import comb, factorial, log, prod
from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.experiments.reports.tallies import ObservedMessage, ObservedSession, Reason
from pxp_fsm.experiments.statistics import ROWS, Published, statistics_of, wilson
from pxp_fsm.plugins.odds.floats import many
from pxp_fsm.plugins.odds.runs import published as counted_columns
from pxp_fsm.plugins.odds.runs.comparison import seen
from pxp_fsm.plugins.odds.runs.estimates import Counts, counts_of, estimates
from pxp_fsm.plugins.odds.runs.fit import fit
from pxp_fsm.plugins.odds.runs.published import (
    MODELS,
    as_far,
    columns,
    explain,
    joint_levels,
    ways,
)
from pxp_fsm.protocol.decisions import Category
from tests.analysis.published_sessions import stored

INIT, RAT, REF, REV, REJ = "INIT", "RATIFY", "REFUTE", "REVISE", "REJECT"
SESSIONS = [
    *[(INIT, RAT, RAT)] * 3,
    (INIT, REF, REV, RAT, RAT),
    (INIT, REF, REF, REJ),
    (INIT, REV, REF, REF, REJ),
    (INIT, REF, REF, REF, REF, REF, REF, REF, REF, REF),
]
OF = {RAT: Category.A, REF: Category.B, REV: Category.C, REJ: Category.D}


def counted(sequences: Iterable[Sequence[str]], n: int = 10, *, judged: bool = False) -> Counts:
    """The counts of sessions with these tags, of a category each where they were judged."""
    counts = Counts("r", n, 3)
    for tags in sequences:
        steps = (
            ObservedMessage(
                place % 2 == 0, tag, "", Reason(OF[tag], None) if judged and place else None
            )
            for place, tag in enumerate(tags)
        )
        counts.add(ObservedSession("s", 1, 1, "i", 3, "bound", tuple(steps)))
    return counts


def drawn(sessions: int, seed: int, *, mind: float = 0.4, n: int = 8) -> Counts:
    """Sessions by chance: each agent agrees at 0.4, but with `mind` in answer to RATIFY."""
    chance = Random(seed)
    found = []
    for _ in range(sessions):
        tags = [INIT]
        while len(tags) < n and tags[-1] != REJ and tags[-2:] != [RAT, RAT]:
            rejects = 0.2 if len(tags) >= 3 else 0
            agrees = mind if tags[-1] == RAT else 0.4
            draw = chance.random()
            if draw < agrees:
                tags.append(RAT)
            elif draw < agrees + rejects:
                tags.append(REJ)
            else:
                tags.append(REF if chance.random() < 0.5 else REV)
        found.append(tags)
    return counted(found, n)


def test_named_tags_give_the_estimates_of_greatest_likelihood() -> None:
    found = estimates(counted(SESSIONS), draws=50)
    machine, human = (agent[""] for agent in found.agents)
    assert not machine.known
    sent = Counter((p % 2, tag, p + 1 > 3) for tags in SESSIONS for p, tag in enumerate(tags) if p)
    for agent, place in ((machine, 0), (human, 1)):
        own = {key: count for key, count in sent.items() if key[0] == place}
        late = {key: count for key, count in own.items() if key[2] and key[1] != RAT}
        again = sum(count for key, count in own.items() if key[1] in (REF, REV))
        due = {
            "A": (sum(c for key, c in own.items() if key[1] == RAT), sum(own.values())),
            "D": (sum(c for key, c in late.items() if key[1] == REJ), sum(late.values())),
            "revise": (sum(c for key, c in own.items() if key[1] == REV), again),
        }
        assert {name: (each.of, each.total) for name, each in agent.shares.items()} == due
        for name, each in agent.shares.items():
            assert each.interval == wilson(*due[name])


def test_known_categories_are_shares_and_may_go_by_the_tag() -> None:
    counts = counted(SESSIONS, judged=True)
    found = estimates(counts, by_tag=True, draws=50)
    human = found.agents[1]
    assert human[""].known
    assert set(human) == {"", INIT, REF, REV}
    assert human[INIT].shares["A"].value == Fraction(3, 7)
    assert found.players[1].after[INIT].of(Category.A) == Fraction(3, 7)
    assert sum(each.of for name, each in human[""].shares.items() if name in "ABCD") == sum(
        len(tags) // 2 for tags in SESSIONS
    )


@pytest.mark.parametrize(
    ("sessions", "who"), [([(INIT,)] * 3, "machine"), ([(INIT, RAT)] * 3, "machine")]
)
def test_of_an_agent_that_answered_nothing_nothing_is_estimated(
    sessions: list[tuple[str, ...]], who: str
) -> None:
    with pytest.raises(UsageError, match=f"the {who} never answered anything"):
        estimates(counted(sessions, n=2))


def test_what_was_seen_is_what_table_1_counts(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        stored(board, SESSIONS)
        counts, statistics = counts_of(board, "drug-1"), statistics_of(board, "drug-1")
        with pytest.raises(NotThere, match="no sessions of run 'drug-2'; runs: drug-1"):
            counts_of(board, "drug-2")
    found = seen(counts)
    rows = statistics.classes()[1:]
    assert {row.name: found[row.name] for row in rows} == {row.name: row.most for row in rows}
    assert (found["ratified"], found["rejected"], found["bound"]) == (4, 2, 1)
    assert counts.sessions == 7
    assert not counts.named.total()


def test_the_intervals_of_the_odds_are_narrow_for_many_sessions_and_hold_the_truth() -> None:
    agent = {"A": 0.4, "B": 0.4, "C": 0.0, "D": 0.2, "revise": 0.5}
    truth = many(({"": agent}, {"": agent}), 8, 3)
    few, lots = (estimates(drawn(sessions, 5)) for sessions in (30, 3000))
    for outcome in ("two-way", "strong, human", "rejected"):
        wide, narrow = few.intervals[outcome], lots.intervals[outcome]
        assert narrow.low < truth.of(outcome) < narrow.high, outcome
        assert narrow.high - narrow.low < (wide.high - wide.low) / 4
    assert truth.length is not None
    assert lots.length.low < truth.length < lots.length.high


def test_the_statistic_is_the_likelihood_ratio() -> None:
    counts = drawn(40, 1)
    found = fit(counts, replicates=3)
    for row in found.rows:
        due = 2 * sum(s * log(s / e) for s, e in zip(row.seen, row.expected, strict=True) if s)
        assert row.statistic == pytest.approx(due)
        assert sum(row.expected) == pytest.approx(sum(row.seen))
    assert found.answers == pytest.approx(sum(row.statistic for row in found.rows))
    chance = {
        (*row.context, tag): e / sum(row.seen)
        for row in found.rows
        for tag, e in zip((RAT, REF, REV, REJ), row.expected, strict=True)
    }
    whole = 0.0
    for tags, count in counts.sequences.items():
        p = prod(
            chance[place % 2, tags[place - 1], place + 1 > 3, tags[place]]
            for place in range(1, len(tags))
        )
        whole += 2 * count * log(count / counts.sessions / p)
    assert found.sequences == pytest.approx(whole)


def test_chance_is_found_to_be_chance_and_a_habit_to_be_none() -> None:
    alike, minded = fit(drawn(120, 3)), fit(drawn(120, 3, mind=0.95))
    assert alike.p_answers > 0.05
    assert alike.p_sequences > 0.05
    assert minded.p_answers == 0.001
    assert minded.worst.context.received == RAT
    assert fit(drawn(120, 3, mind=0.95), by_tag=True).p_answers > 0.05
    assert fit(drawn(120, 3)) == alike, "a seed gives the same again"


@pytest.mark.deep
def test_the_p_values_of_chance_are_spread_evenly() -> None:
    found = [fit(drawn(60, seed), replicates=199).p_answers for seed in range(200)]
    for level in (0.1, 0.25, 0.5, 0.75, 0.9):
        below = sum(p <= level for p in found)
        tail = sum(comb(200, i) * level**i * (1 - level) ** (200 - i) for i in range(below, 201))
        head = sum(comb(200, i) * level**i * (1 - level) ** (200 - i) for i in range(below + 1))
        assert min(tail, head) > 1e-4, level


def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    database = str(tmp_path / "b.sqlite")
    with SqlBlackboard(database) as board:
        stored(board, SESSIONS)
    asked = ["odds", "interact", "--from", database, "drug-1"]
    shown = CliRunner().invoke(commands, asked).output
    assert "From 7 sessions of drug-1 that the protocol ended." in shown
    assert "That tags do not depend on what they answer: G² = " in shown
    assert "Furthest from the model: " in shown
    done = CliRunner().invoke(commands, [*asked, "--by-tag", "--json", "--n", "20"])
    found = json.loads(done.output)
    assert (found["n"], found["from"]["sessions"]) == (20, 7)
    assert found["from"]["seen"]["two-way"] == 4
    assert found["from"]["estimates"]["human"]["INIT"]["A"]["total"] == 7
    none = CliRunner().invoke(commands, ["odds", "interact", "--from", database, "rad-1"])
    assert none.exit_code == 2
    assert "runs: drug-1" in none.output


def test_the_likelihood_of_a_column_is_that_of_every_way_to_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over all columns of two sessions it adds up to 1, and each is a sum over pairs of levels."""
    monkeypatch.setattr(counted_columns, "SESSIONS", 2)
    odds = many(MODELS[0].agents([0.3, 0.2, 0.6, 0.5, 0.3, 0.4]), 10, 3)
    joint = joint_levels(odds)
    assert joint.sum() == pytest.approx(1)
    by_counts: Counter[tuple[int, ...]] = Counter()
    for one, other in product(range(16), repeat=2):
        rows = [counted_columns._rows(*divmod(each, 4)) for each in (one, other)]
        counts = tuple(sum(pair) for pair in zip(*rows, strict=True))
        by_counts[counts] += joint[one] * joint[other]
    for counts, due in by_counts.items():
        tables, scales = ways.__wrapped__(Published("t", str(counts), counts))
        found = sum(
            np.exp(scale) * prod(joint**table) for table, scale in zip(tables, scales, strict=True)
        )
        assert found == pytest.approx(due)
        assert {round(float(np.exp(scale))) for scale in scales} <= {1, factorial(2)}
    with pytest.raises(UsageError, match="no twenty sessions have the counts of odd"):
        ways.__wrapped__(Published("t", "odd", (2, 1, 2, 0, 0, 0, 0)))


def test_how_far_a_column_is_off_is_measured_by_draws() -> None:
    odds = many(MODELS[0].agents([0.3, 0.2, 0.6, 0.5, 0.3, 0.4]), 10, 3)
    joint = joint_levels(odds)
    likely = np.array([20 * float(odds.of(row)) for row in ROWS]).round()
    assert as_far(likely, joint, 0) > 0.5
    assert as_far(np.array([20, 0, 0, 20, 0, 20, 0]), joint, 0) < 0.001


@pytest.mark.deep
def test_what_explains_a_published_column_best() -> None:
    (column,) = columns("DRUG 2024")
    found = explain(column, MODELS[2])
    assert found.log_likelihood == pytest.approx(-4.350, abs=2e-3)
    assert found.expected == pytest.approx((18.1, 19.8, 18.1, 10.7, 18.0, 0, 7.3), abs=0.06)
    assert found.values["human A"] == pytest.approx(0.536, abs=2e-3)
    (within, later) = found.told
    assert within[:2] == ("ratified by both within 3 messages", 11)
    assert within[2] == pytest.approx(20 * found.values["human A"])
    assert later[2] == pytest.approx(7.18, abs=0.02)
