"""The audit of panels: sessions that ran have no fault, and each kind of fault is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from proofs.audit import AuditedSession, AuditFinding, FindingKind, Possible, audited
from proofs.audit.findings import FAULTS
from pxp_fsm.plugins.panels.audit import PanelRules
from pxp_fsm.protocol.relations import Outcome, digest
from tests.plugins.panels.random_panels import random_panel
from tests.plugins.panels.test_verdicts import stored
from tests.sampling import swept

WHALE, FISH = pxp.Answer("mammal", "It breathes."), pxp.Answer("fish", "It swims.")


def findings(board: SqlBlackboard, session: str, panel: pxp.Panel) -> Sequence[AuditFinding]:
    found = board.session(session)
    return audit(panel, found.record, found.events, found.record.ending)


def audit(
    panel: pxp.Panel, record: object, events: Sequence[pxp.Event], ending: str | None
) -> Sequence[AuditFinding]:
    rules = PanelRules(panel, record)  # type: ignore[arg-type]
    names = tuple(name for name, _ in rules.record.agents)
    recording = AuditedSession("s", (), ending, events=tuple(events), agents=names)
    return audited(recording, rules).findings


def faults_of(seeds: Iterable[int]) -> list[object]:
    with pxp.open_blackboard(":memory:") as board:
        return [
            (seed, finding)
            for seed in seeds
            for finding in findings(board, stored(seed, board).name, random_panel(seed).panel)
            if finding.kind in FAULTS
        ]


def test_sessions_of_random_panels_have_no_fault() -> None:
    assert faults_of(range(4)) == []


@pytest.mark.deep
def test_sessions_of_more_random_panels_have_no_fault() -> None:
    assert faults_of(range(4, swept(130))) == []


class Ran:
    """A session of three that agree but for c, of which an audit finds nothing."""

    def __init__(self, rules: pxp.Interact | pxp.Pxp) -> None:
        def agent(answer: pxp.Answer) -> pxp.Agent:
            return pxp.Agent(lambda _: answer, match=pxp.exact, agree=pxp.exact)

        self.panel = pxp.Panel(rules)
        members = {"a": agent(WHALE), "b": agent(WHALE), "c": agent(FISH)}
        with pxp.open_blackboard(":memory:") as board:
            pxp.Session(
                self.panel, members, instance="a whale", name="s/1", blackboard=board
            ).run_sync()
            self.stored = board.session("s/1")

    def kinds(
        self, events: Sequence[pxp.Event] | None = None, **record: object
    ) -> list[tuple[FindingKind, int | None]]:
        changed = replace(self.stored.record, **record)  # type: ignore[arg-type]
        events = self.stored.events if events is None else events
        return [
            (finding.kind, finding.number)
            for finding in audit(self.panel, changed, events, changed.ending)
        ]

    def changed(self, number: int, **parts: object) -> list[pxp.Event]:
        """The events, with other parts of one of the messages."""
        events = list(self.stored.events)
        event = events[number - 1]
        events[number - 1] = replace(event, message=replace(event.carried, **parts))  # type: ignore[arg-type]
        return events


@pytest.fixture(scope="module")
def interact() -> Ran:
    return Ran(pxp.Interact(n=6, k=3))


def test_a_message_out_of_turn_and_a_tag_that_no_table_has_are_impossible(interact: Ran) -> None:
    assert interact.kinds() == []
    assert [one.carried.tag for one in interact.stored.events[:5]] == [
        *["INIT"] * 3,
        "RATIFY",
        "REFUTE",
    ]
    assert interact.kinds(interact.changed(4, receiver="c")) == [(FindingKind.MESSAGE, 4)]
    assert interact.kinds(interact.changed(4, tag="REJECT")) == [(FindingKind.MESSAGE, 4)]


def test_a_tag_against_its_judgements_is_found(interact: Ran) -> None:
    assert (FindingKind.TAG, 5) in interact.kinds(interact.changed(5, tag="RATIFY"))


def test_judgements_of_other_texts_are_found(interact: Ran) -> None:
    events = list(interact.stored.events)
    others = tuple(replace(one, left=digest("bird")) for one in events[4].judgements)
    events[4] = replace(events[4], judgements=others)
    assert (FindingKind.QUESTION, 5) in interact.kinds(events)


def test_an_ending_that_the_rules_do_not_give_is_found(interact: Ran) -> None:
    many = len(interact.stored.events)
    assert interact.kinds(ending="ratified") == [(FindingKind.ENDING, many)]
    assert interact.kinds(interact.stored.events[:-1]) == [(FindingKind.ENDING, many - 1)]


def test_in_pxp_who_ratifies_with_another_pair_than_its_current_one_is_found() -> None:
    ran = Ran(pxp.Pxp(k=1))
    assert ran.kinds() == []
    number = next(event.number for event in ran.stored.events if event.carried.tag == "RATIFY")
    later = [
        event.number
        for event in ran.stored.events
        if event.carried.tag == "RATIFY" and event.number > number
    ]
    assert (FindingKind.PAIR, later[0]) in ran.kinds(ran.changed(later[0], payload=FISH))


def test_a_judge_that_contradicts_the_judge_of_another_channel_is_found(interact: Ran) -> None:
    events = list(interact.stored.events)
    whale, fish = digest(WHALE.prediction), digest(FISH.prediction)
    told = [
        one
        for event in events
        for one in event.judgements
        if {one.left, one.right} == {whale, fish}
    ]
    assert {one.outcome for one in told} == {Outcome.NO}
    last = next(event for event in reversed(events) if event.carried.sender == "c")
    other = replace(last.judgements[0], left=whale, right=fish, outcome=Outcome.YES)
    place = events.index(last)
    events[place] = replace(last, judgements=(*last.judgements, other))
    kinds = {kind for kind, _ in interact.kinds(events)}
    assert kinds & {FindingKind.APART, FindingKind.TWICE, FindingKind.MIRROR}


def test_what_is_possible_of_a_session_is_told(interact: Ran) -> None:
    names = tuple(name for name, _ in interact.stored.record.agents)
    recording = AuditedSession(
        "s", (), interact.stored.record.ending, events=interact.stored.events, agents=names
    )
    found = audited(recording, PanelRules(interact.panel, interact.stored.record))
    assert (found.possible, recording.counts) == (Possible.EQUIVALENCE, "message")
