"""Reports read their counts in one pass, with equal results from SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from backends.databases import SqlBlackboard, recordings
from pxp_fsm.experiments.reports.tallies import observed, reason
from pxp_fsm.protocol.relations import LEARN, Judgement, Outcome
from tests.backends.records import RUN, as_stored, message, record


def said(name: str, *outcomes: str) -> list[Judgement]:
    names = (*("MATCH", "AGREE") * 2,)
    kept = zip(names, outcomes, strict=False)
    return [Judgement(LEARN, "", "", Outcome.YES, True, 0.0, name)] + [
        Judgement(relation, "l", "r", Outcome(outcome), True, 0.0) for relation, outcome in kept
    ]


def test_sessions_are_read_whole_and_in_their_order(
    empty: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few rows come at once, and with sessions that have no message or no judgement."""
    monkeypatch.setattr(recordings, "_BATCH", 2)
    empty.start_run(RUN)
    lengths = {1: 3, 2: 0, 3: 5, 4: 1, 5: 2}
    for position in reversed(lengths):  # stored in another order than planned
        name = f"drug-1/1/{position}"
        empty.start_session(record(name, position))
        for number in range(1, lengths[position] + 1):
            judged = said(name, "no", "yes", "yes", "no") if number > 1 else []
            empty.append(*as_stored(message(number, session=name), "{}", judged))
    empty.end("drug-1/1/3", "broken", "x", said("", "yes"))
    found = list(observed(empty, "drug-1"))
    assert list(observed(empty, "nobody")) == []
    assert [session.position for session in found] == [1, 2, 3, 4, 5]
    assert {session.position: len(session.steps) for session in found} == lengths
    assert [session.ending for session in found] == [None, None, "broken", None, None]
    steps = [step for session in found for step in session.steps]
    firsts = [session.steps[0] for session in found if session.steps]
    assert all(step.machine and step.tag == "INIT" and step.reason is None for step in firsts)
    others = {step.reason for step in steps if step not in firsts}
    assert others == {reason((False, True, True, False))}
