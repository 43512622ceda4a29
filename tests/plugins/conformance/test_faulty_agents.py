"""Agents with one fault each: what the suite finds, by which inputs, and what it cannot find."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.automata.automaton import DECIDE
from pxp_fsm.automata.tables import builtin
from pxp_fsm.plugins.conformance import programs, views
from pxp_fsm.plugins.conformance.mealy import Answer, Stimulus, answer_of, as_mealy
from pxp_fsm.plugins.conformance.process import request, written
from pxp_fsm.plugins.conformance.testing import ConformanceReport, conform

ROOT = Path(__file__).parents[3]
TABLE = builtin("interact")
EXPECTED = as_mealy(TABLE)

_spec = importlib.util.spec_from_file_location("own_agent", ROOT / "examples" / "own_agent.py")
assert _spec is not None
assert _spec.loader is not None
own_agent = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(own_agent)

Wrap = Callable[[Any, dict[str, Any], str | None], str | None]
"""What an agent says to a request, by what one without the fault has just said to it."""


class Faulty:
    """The agent of `examples/own_agent.py`, asked in JSON, whose answers pass through a fault."""

    def __init__(self, fault: Wrap) -> None:
        self._fault = fault
        self._resets = 0
        self.reset()

    def reset(self) -> None:
        self._resets += 1
        self._agent = own_agent.Agent()
        self._agent.inputs = []
        self._agent.resets = self._resets

    def step(self, given: Stimulus) -> Answer:
        asked = json.loads(written(request(given.event, given.valuation)))
        self._agent.before = self._agent.state
        self._agent.inputs.append(asked)
        return self._fault(self._agent, asked, own_agent.answer(self._agent, asked))


def says(do: str, name: str, when: str, answer: str, then: str | None = None) -> Wrap:
    """In the state `when` it takes what it should refuse, or takes it otherwise."""

    def fault(agent: Any, asked: dict[str, Any], said: str | None) -> str | None:
        named = asked.get("tag", asked.get("name", ""))
        if (asked["do"], named, agent.before) == (do, name, when):
            agent.state = then or agent.state
            return answer
        return said

    return fault


def leads(do: str, name: str, when: str, then: str) -> Wrap:
    """What it does is right; where it goes is not."""

    def fault(agent: Any, asked: dict[str, Any], said: str | None) -> str | None:
        if (asked["do"], asked.get("tag", asked.get("name", name))) == (do, name):
            agent.state = then if agent.before == when else agent.state
        return said

    return fault


def replaces(old: str, new: str | None) -> Wrap:
    return lambda _agent, _asked, said: new if said == old else said


def decides(choose: Callable[[dict[str, Any]], str | None]) -> Wrap:
    """In DECIDE it reads the guards by `choose`, which names the one that it takes for true."""

    def fault(agent: Any, asked: dict[str, Any], said: str | None) -> str | None:
        if asked["do"] != "decide" or agent.before != "deciding":
            return said
        agent.state = "deciding"
        true = choose(asked["guards"])
        if true not in own_agent.TAGS:
            return None
        agent.state = "waiting"
        return f"+{own_agent.TAGS[true]}"

    return fault


def breaks(where: Callable[[Any, dict[str, Any]], bool]) -> Wrap:
    """It hangs up, without a word, where `where` says so."""

    def fault(agent: Any, asked: dict[str, Any], said: str | None) -> str | None:
        if where(agent, asked):
            agent.state = "over"
        return said

    return fault


TAGS: tuple[str, ...] = tuple(own_agent.TAGS)


def proper(guards: dict[str, Any]) -> bool:
    return set(guards) == set(TAGS) and all(type(holds) is bool for holds in guards.values())


def ones(guards: dict[str, Any]) -> list[str]:
    return [name for name, holds in guards.items() if holds is True]


def sole(guards: dict[str, Any]) -> str | None:
    true = ones(guards)
    return true[0] if len(true) == 1 else None


def first_of_two(guards: dict[str, Any]) -> str | None:
    return ones(guards)[0] if proper(guards) and len(ones(guards)) in (1, 2) else None


def parity(guards: dict[str, Any]) -> str | None:
    return ones(guards)[0] if proper(guards) and len(ones(guards)) % 2 else None


def by_place(guards: dict[str, Any]) -> str | None:
    values = list(guards.values())
    return TAGS[values.index(True)] if proper(guards) and values.count(True) == 1 else None


def truthy(guards: dict[str, Any]) -> str | None:
    true = [name for name, holds in guards.items() if holds]
    return true[0] if set(guards) == set(TAGS) and len(true) == 1 else None


def equal(guards: dict[str, Any]) -> str | None:
    true = [name for name, holds in guards.items() if holds == True]  # noqa: E712 - the fault
    return true[0] if set(guards) == set(TAGS) and len(true) == 1 else None


def null_is_false(guards: dict[str, Any]) -> str | None:
    return sole(guards) if proper({n: h is not None and h for n, h in guards.items()}) else None


def last_is_else(guards: dict[str, Any]) -> str | None:
    known = {name: guards.get(name, False) for name in TAGS[:-1]} | {TAGS[-1]: guards.get("REJ")}
    known[TAGS[-1]] = bool(known[TAGS[-1]])
    return sole(known) if proper(known) and set(guards) >= set(TAGS[:-1]) else None


# found by what a table does: its rows, an unknown tag, none or all guards true
BY_ORDINARY: dict[str, Wrap] = {
    "refuses the first INIT": replaces("-INIT", None),
    "RATIFY where it should REFUTE": replaces("+REFUTE", "+RATIFY"),
    "REFUTE where it should REVISE": replaces("+REVISE", "+REFUTE"),
    "RATIFY where it should REJECT": replaces("+REJECT", "+RATIFY"),
    "never sends INIT": replaces("+INIT", None),
    "says sent of what it received": replaces("-RATIFY", "+RATIFY"),
    "decides twice": leads("decide", "", "deciding", "deciding"),
    "does not move at INIT": leads("receive", "INIT", "idle", "idle"),
    "waits on after a REVISE": leads("receive", "REVISE", "waiting", "waiting"),
    "is idle again after CLOSE": leads("event", "CLOSE", "waiting", "idle"),
    "does not end at CLOSE": leads("event", "CLOSE", "deciding", "deciding"),
    "hangs up at a late REJECT": leads("receive", "REJECT", "deciding", "over"),
    "is received while it decides": says("receive", "RATIFY", "deciding", "-RATIFY"),
    "sends INIT again": says("send", "INIT", "waiting", "+INIT"),
    "receives INIT while it waits": says("receive", "INIT", "waiting", "-INIT", "deciding"),
    "closes before it begins": says("event", "CLOSE", "idle", "!CLOSE", "over"),
    "receives after the end": says("receive", "REJECT", "over", "-REJECT"),
    "receives any tag": lambda agent, asked, said: (
        f"-{asked['tag']}" if asked["do"] == "receive" and agent.before == "waiting" else said
    ),
    "rejects where no guard is true": decides(
        lambda guards: sole(guards) or ("REJ" if proper(guards) and not ones(guards) else None)
    ),
    "the first of all that are true": decides(
        lambda guards: ones(guards)[0] if proper(guards) and ones(guards) else None
    ),
}

# found by the inputs that no table expects
BY_UNUSUAL: dict[str, Wrap] = {
    "RATIFY in DECIDE without a decision": says("send", "RATIFY", "deciding", "+RATIFY", "waiting"),
    "an unknown event closes": says(
        "event", "SOMETHING_UNHEARD_OF", "waiting", "!SOMETHING_UNHEARD_OF", "over"
    ),
    "a missing guard is false": decides(
        lambda guards: sole(guards) if proper(dict.fromkeys(TAGS, False) | guards) else None
    ),
    "the last guard may be missing": decides(last_is_else),
    "an additional guard is not looked at": decides(
        lambda guards: (
            sole({n: h for n, h in guards.items() if n in TAGS})
            if set(guards) > set(TAGS) or proper(guards)
            else None
        )
    ),
    "one or three guards true": decides(parity),
    "a value is true as in Python": decides(truthy),
    "a value of 1 is true": decides(equal),
    "guards by their order": decides(by_place),
    "one or two guards true": decides(first_of_two),
    "no value is false": decides(null_is_false),
    "an unknown tag is sent": says(
        "send", "SOMETHING_UNHEARD_OF", "waiting", "+SOMETHING_UNHEARD_OF"
    ),
}

ELSEWHERE: list[dict[str, Any]] = []


def tells(_agent: Any, asked: dict[str, Any], said: str | None) -> str | None:
    ELSEWHERE.append(asked)
    return said


# not found: each lies outside what the verdict claims
OUTSIDE: dict[str, Wrap] = {
    "hangs up after forty inputs": breaks(lambda agent, _: len(agent.inputs) > 40),
    "three REVISE in a row are too many": breaks(
        lambda agent, _: (
            [a.get("tag") for a in agent.inputs if a["do"] != "decide"][-4:] == ["REVISE"] * 4
        )
    ),
    "breaks at the hundred-thousandth reset": breaks(lambda agent, _: agent.resets > 100_000),
    "another tag is a password": says("receive", "SESAME", "waiting", "-SESAME", "over"),
    "another event is a back door": says("event", "DEBUG", "idle", "!DEBUG", "over"),
    "a very long tag breaks it": breaks(lambda _, asked: len(asked.get("tag", "")) > 1_000),
    "a hundred guards break it": breaks(lambda _, asked: len(asked.get("guards", ())) > 100),
    "one more tag under a partner": breaks(lambda _, asked: asked.get("partner") == "eve"),
    "it tells somebody else what it hears": tells,
}


def test_a_list_of_agents_with_faults() -> None:
    assert (len(BY_ORDINARY), len(OUTSIDE)) == (20, 9)
    assert conform(EXPECTED, Faulty(lambda _agent, _asked, said: said), extra=0).conforms


@pytest.mark.parametrize("fault", [*BY_ORDINARY, *BY_UNUSUAL])
def test_a_fault_within_the_claim_is_found(fault: str) -> None:
    wrap = (BY_ORDINARY | BY_UNUSUAL)[fault]
    report = conform(EXPECTED, Faulty(wrap), extra=0)
    assert report.difference is not None
    assert report.difference.shortest


def expected_by_tables(given: Stimulus) -> bool:
    """Whether a row somewhere takes it, or it was among the inputs of a table's rows."""
    everywhere = [answer_of(TABLE, state.name, given)[0] for state in TABLE.states]
    truths = [holds for _, holds in given.truths or ()]
    plain = given.event == DECIDE and not given.unusual and sum(map(bool, truths)) in (0, 1, 4)
    unknown_tag = str(given).startswith("receive ")
    return plain or unknown_tag or (any(everywhere) and not given.unusual)


@pytest.mark.parametrize("fault", BY_UNUSUAL)
def test_without_unusual_inputs_it_would_conform(fault: str) -> None:
    ordinary = as_mealy(TABLE, tuple(filter(expected_by_tables, EXPECTED.inputs)))
    assert conform(ordinary, Faulty(BY_UNUSUAL[fault]), extra=0).conforms


@pytest.mark.parametrize("fault", OUTSIDE)
def test_a_fault_outside_the_claim_is_not_found(fault: str) -> None:
    assert conform(EXPECTED, Faulty(OUTSIDE[fault]), extra=0).conforms


def test_the_verdict_says_what_it_does_not_claim() -> None:
    report = ConformanceReport[Stimulus](4, 1, 10_466, 43_672)
    asked = programs.ConformanceRequest("true")
    assert list(views.lines(programs.Conformance(asked, TABLE, report)))[1:] == [
        "Proved for a program that always answers alike after a reset and has at most 5 states "
        "(4 of the table, 1 extra), and for 42 different inputs.",
        "Not tested: any other input, how long it takes, what it does besides replying.",
    ]
