"""Reports read their counts in one pass, with equal results from SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from backends.databases import SqlBlackboard, blackboard, recordings
from backends.databases.erasure import erase, sessions_of
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


def test_sessions_that_are_read_together_are_those_read_one_by_one(
    empty: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order in which they are asked for; those that there are not are left out."""
    monkeypatch.setattr(blackboard, "_AT_ONCE", 2)
    empty.start_run(RUN)
    lengths = {"drug-1/1/1": 3, "drug-1/1/2": 0, "drug-1/1/3": 5, "drug-1/1/4": 1}
    for position, (name, length) in enumerate(lengths.items(), start=1):
        empty.start_session(record(name, position))
        for number in range(1, length + 1):
            judged = said(name, "no", "yes", "yes", "no") if number > 1 else []
            empty.append(*as_stored(message(number, session=name), "{}", judged))
    empty.end("drug-1/1/3", "broken", "x", said("", "yes"))
    erase(empty, sessions_of(empty, ["drug-1/1/1"]))
    asked = ["drug-1/1/4", "nobody", "drug-1/1/2", "drug-1/1/1", "drug-1/1/3", "drug-1/1/4"]
    found = list(empty.stored(iter(asked)))
    assert found == [empty.session(name) for name in asked if name in lengths]
    assert [len(stored.events) for stored in found] == [1, 0, 3, 5, 1]
    assert list(empty.stored([])) == []
