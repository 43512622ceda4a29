"""Traces of systems: run with live members, read from files, drawn."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import pxp_fsm as pxp
from proofs.export.traces import actions_of, to_itf
from proofs.systems import check_standard
from proofs.systems.results import MACHINE, TITLES
from pxp_fsm.automata.actions import Deliver, Exchange, Send
from pxp_fsm.diagrams import SequenceChart
from pxp_fsm.diagrams.notebook import diagram_of
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.protocol.rules import Ending
from tests.proofs.random_systems import CHANNELS
from tests.sessions.random_sessions import drawn_system
from tests.sessions.small_systems import (
    STUCK,
    bids,
    contract,
    hub,
    system_over,
)


def test_a_counterexample_is_run_with_live_members() -> None:
    (found,) = check_standard(STUCK, ["no-deadlock"])
    assert found.verdict.trace is not None
    trace = [step.action for step in found.verdict.trace.steps]
    obedient = pxp.Session(STUCK, {}, follow=trace).run_sync()
    assert (obedient.ending, len(obedient.events)) == (Ending.DEADLOCK, len(trace))
    same = pxp.Session(STUCK, {}, follow=found.verdict.trace).run_sync()
    assert [one.action for one in same.events] == trace
    with pytest.raises(UsageError, match="step 1 of the trace is 'a', no system's action"):
        pxp.Session(STUCK, {}, follow=["a"])
    other = pxp.Session(STUCK, {"a": lambda _turn: "G"}, follow=trace).run_sync()
    assert other.ending is Ending.DIVERGED
    assert other.cause == "action 1 of the trace is a H/+Y, but a chose G"
    with pytest.raises(UsageError, match="the trace is none of this system: a>b Y was refused"):
        pxp.Session(STUCK, {}, follow=[Exchange("a", "b", "Y")])


def test_a_trace_is_read_back_from_its_file() -> None:
    system = system_over("lossy:1")
    (found,) = check_standard(system, ["no-deadlock"])
    assert found.verdict.trace is not None
    written = to_itf(found.name, "contract", found.verdict)
    trace = actions_of(written)
    assert trace == tuple(step.action for step in found.verdict.trace.steps)
    assert pxp.Session(system, {}, follow=trace).run_sync().ending is Ending.DEADLOCK
    for wrong, said in (
        ("[]", "not a list"),
        ("{}", "no trace of a system"),
        (written.replace('"lose"', '"loose"').replace('"send"', '"sent"'), "there is no action"),
        (written.replace('"kind"', '"sort"'), "does not say by which action"),
    ):
        with pytest.raises(PXPError, match=said):
            actions_of(wrong)


def followed(seed: int) -> tuple[str, int]:
    """The channel of a random system, and how many of its counterexamples ran as they say."""
    system, ran = drawn_system(random.Random(seed)), 0
    for found in check_standard(system, set(TITLES) - {MACHINE}):
        trace = found.verdict.trace
        if trace is None or not trace.steps:
            continue
        actions = actions_of(to_itf(found.name, "random", found.verdict))
        session = pxp.Session(system, {}, follow=actions, faults=pxp.Faults(0, 0)).run_sync()
        assert tuple(one.action for one in session.events[: len(actions)]) == actions, seed
        if found.name == "no-deadlock":
            assert session.ending is Ending.DEADLOCK, seed
            assert len(session.events) == len(actions)
        ran += 1
    return system.channel.name, ran


@pytest.mark.deep
def test_counterexamples_over_every_channel_are_run_from_their_files() -> None:
    ran = Counter[str]()
    for seed in range(25):
        channel, traces = followed(seed)
        ran[channel] += traces
    assert {channel.split(",")[0] for channel in +ran} == set(CHANNELS)


@pytest.mark.deep
def test_counterexamples_of_hundreds_of_systems_are_run_from_their_files() -> None:
    assert sum(followed(seed)[1] for seed in range(60, 360)) > 300


def test_a_session_is_drawn_with_all_its_members() -> None:
    session = contract("lossy:1", seed=1, faults=pxp.Faults(loss=0.3)).run_sync()
    chart = diagram_of(session)
    assert isinstance(chart, SequenceChart)
    assert [one.name for one in chart.lifelines] == ["hub", "left", "right"]
    sent = [one for one in session.events if isinstance(one.action, Send)]
    assert [arrow.number for arrow in chart.arrows] == [one.number for one in sent]
    for arrow, one in zip(chart.arrows, sent, strict=True):
        delivered = [
            other.number
            for other in session.events
            if isinstance(other.action, Deliver) and other.message == one.message
        ]
        fate = f"received in step {delivered[0]}" if delivered else "not received"
        assert isinstance(one.action, Send)
        assert arrow.fate == ("lost" if one.action.lost else fate)


def test_a_trace_says_what_the_channel_does() -> None:
    system = system_over("lossy:1")
    trace = [
        Send("hub", "left", "TASK", lost=True),
        Send("hub", "right", "TASK"),
        Deliver("hub", "right", "TASK"),
    ]
    session = pxp.Session(
        system, {"hub": hub, "right": bids(5)}, follow=trace, faults=pxp.Faults(loss=0)
    ).run_sync()
    assert [one.action for one in session.events[:3]] == trace
    assert session.ending is Ending.DEADLOCK
