"""Automata learning of the running agent gives the table; of a wrong agent it never does."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from tests.changed_tables import STOP, changed
from tests.plugins.conformance.mealy_machines import machine, mutant

pytest.importorskip("aalpy", reason="learning needs AALpy (extra conformance)")

from pxp_fsm.automata.automaton import Automaton, Transition, Trigger, Valuation, happening
from pxp_fsm.automata.tables import BUILTIN, builtin, load_automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.conformance.at_channel import AtChannel
from pxp_fsm.plugins.conformance.endpoints import AgentEnd, Build, TableEnd
from pxp_fsm.plugins.conformance.learning import Algorithm, learn
from pxp_fsm.plugins.conformance.mealy import as_mealy, difference, minimal
from pxp_fsm.plugins.conformance.session_agent import INPUTS, InSession, counted
from pxp_fsm.plugins.conformance.testing import Simulated, conform
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.machine import Machine
from tests.sampling import sampled

ASKING = Path(__file__).parents[3] / "examples" / "asking.toml"
ENDS: dict[str, Build] = {"machine": TableEnd, "agent": AgentEnd}
CASES = [(name, end) for name in BUILTIN for end in ENDS if (name, end) != ("pxp_k", "agent")]
CASES.append(("asking", "machine"))


def table_of(name: str) -> Automaton:
    return builtin(name) if name in BUILTIN else load_automaton(ASKING)


@pytest.fixture(name="runner")
def _runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.parametrize(
    ("name", "end", "algorithm"),
    [
        *sampled([(*case, "KV") for case in CASES], 2),
        pytest.param("interact", "machine", "L*", marks=pytest.mark.deep),
        *(pytest.param(*case, "L*", marks=pytest.mark.deep) for case in (CASES[1], *CASES[3::3])),
    ],
)
def test_the_running_agent_learned_back_is_the_table(
    name: str, end: str, algorithm: Algorithm, runner: asyncio.Runner
) -> None:
    table = table_of(name)
    build = partial(AgentEnd, run=runner.run) if end == "agent" else ENDS[end]
    learned = learn(as_mealy(table), AtChannel(table, build), 0, algorithm)
    assert learned.difference is None
    assert learned.machine == minimal(as_mealy(table))


def one_row_changed(table: Automaton) -> Iterator[Automaton]:
    """`table` with each row left out, led elsewhere, or with another label."""
    names = [state.name for state in table.states]
    labels = sorted({row.label for row in table.transitions})
    for place, row in enumerate(table.transitions):
        others: list[Sequence[Transition]] = [()]
        others += [(replace(row, target=name),) for name in names if name != row.target]
        others += [(replace(row, label=tag),) for tag in labels if tag != row.label]
        for new in others:
            rows = table.transitions
            yield replace(table, transitions=(*rows[:place], *new, *rows[place + 1 :]))


def deterministic(table: Automaton) -> bool:
    places = [(row.source, row.trigger, row.guard) for row in table.transitions]
    return len(set(places)) == len(places)


def wrong(table: Automaton) -> list[Automaton]:
    """Those that do something else, which is found by going through both tables."""
    seen = as_mealy(table)
    return [
        other
        for other in one_row_changed(table)
        if deterministic(other) and difference(as_mealy(other, seen.inputs), seen) is not None
    ]


def run_by(other: Automaton, end: str) -> Build:
    """Agents that run `other`, whatever table they are asked for."""
    return lambda name, _table: ENDS[end](name, other)


def unseen(name: str, end: str, every: int) -> list[tuple[str, str]]:
    """Which tables with one row changed pass the suite of `name`: what changed, and into what."""
    table = table_of(name)
    seen = as_mealy(table)
    found = []
    for other in wrong(table)[::every]:
        if end == "agent" and "INIT" not in {row.label for row in other.transitions}:
            continue
        subject = AtChannel(table, run_by(other, end))
        if conform(seen, subject, 0, searched=0).conforms:
            (old,) = set(table.transitions) - set(other.transitions)
            (new,) = set(other.transitions) - set(table.transitions)
            found.append((f"{old.source} {old.action}", f"{new.source} {new.action} {new.target}"))
    return found


TABLES = {"interact": 96, "asking": 50}
"""How many other tables there are with one row changed."""


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "every"),
    [("interact", 8), ("asking", 5), *(pytest.param(n, 1, marks=pytest.mark.deep) for n in TABLES)],
)
def test_a_machine_with_one_row_changed_never_passes(name: str, every: int) -> None:
    assert len(wrong(table_of(name))) == TABLES[name]
    assert unseen(name, "machine", every) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", ["pxp", "pxp_hang_up"])
def test_no_other_machine_with_one_row_changed_passes_either(name: str) -> None:
    assert unseen(name, "machine", 1) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in BUILTIN if (name, "agent") in CASES])
def test_an_agent_of_a_session_shows_every_changed_row_but_those_that_lead_back(name: str) -> None:
    """An agent sends INIT as the first message and never again.

    So a row that leads back to IDLE after the last message, where another INIT would be possible,
    looks to everybody as the right one does.
    """
    assert (
        unseen(name, "agent", 1)
        == {
            "interact": [("DECIDE !CLOSE", "DECIDE !CLOSE IDLE")],
            "pxp": [("DECIDE +TERM", "DECIDE +TERM IDLE")],
            "pxp_hang_up": [
                ("DECIDE +TERM", "DECIDE +TERM IDLE"),
                ("WAIT -TERM", "WAIT -TERM IDLE"),
                ("DECIDE -TERM", "DECIDE -TERM IDLE"),
                ("END -TERM", "END -TERM IDLE"),
            ],
        }[name]
    )


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", ["KV", pytest.param("L*", marks=pytest.mark.deep)])
def test_a_machine_with_one_row_changed_is_never_learned_as_the_table(
    algorithm: Algorithm,
) -> None:
    """And the sequence on which they are told to differ is one."""
    table = builtin("interact")
    seen = as_mealy(table)
    for other in wrong(table)[::20]:
        learned = learn(seen, AtChannel(table, run_by(other, "machine")), 0, algorithm)
        truth = as_mealy(other, seen.inputs)
        word = learned.difference
        assert word is not None
        assert truth.answers(word) != seen.answers(word)
        assert learned.machine.answers(word) == truth.answers(word)


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", ["KV", pytest.param("L*", marks=pytest.mark.deep)])
def test_no_machine_of_so_many_states_is_learned_as_one_that_it_is_not(
    algorithm: Algorithm,
) -> None:
    chance = random.Random(40)
    equal = 0
    for _ in range(150):
        real = machine(chance, 6, 3)
        other = mutant(chance, real, 1, chance.randint(0, 1))
        learned = learn(real, Simulated(other), 1, algorithm)
        assert (learned.difference is None) is (difference(other, real) is None)
        equal += learned.difference is None
    assert 20 < equal < 140


@pytest.mark.deep
@pytest.mark.parametrize(("n", "initiator"), [*product((1, 2, 3), (True, False)), (10, False)])
def test_the_agent_of_a_bounded_session_is_its_table_with_counters(
    n: int, initiator: bool, runner: asyncio.Runner
) -> None:
    rules = Interact(n, 3)
    expected = counted(rules, initiator=initiator)
    learned = learn(expected, InSession(rules, initiator=initiator, run=runner.run))
    assert learned.difference is None
    assert learned.machine == minimal(expected)
    assert learned.machine.size == {1: 2, 2: 3, 3: 5, 10: 19}[n]


@pytest.mark.deep
def test_twenty_messages(runner: asyncio.Runner) -> None:
    rules = Interact(20, 3)
    expected = counted(rules, initiator=False)
    report = conform(expected, InSession(rules, initiator=False, run=runner.run), 0)
    assert report.conforms
    assert (report.states, report.tests) == (39, 815)


BOUNDS = [(11, 3), (9, 3), (10, 2), (10, 9)]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("n", "k"),
    [(11, 3), (10, 4), *(pytest.param(*one, marks=pytest.mark.deep) for one in BOUNDS[1:])],
)
def test_a_wrong_bound_is_caught(n: int, k: int, runner: asyncio.Runner) -> None:
    expected = counted(Interact(10, 3), initiator=False)
    subject = InSession(Interact(n, k), initiator=False, run=runner.run)
    found = conform(expected, subject, 0, searched=0).difference
    assert found is not None
    assert len(found.inputs) >= (min(n, 10) if k == 3 else min(k, 3) + 1)


@pytest.mark.deep
@pytest.mark.parametrize(("n", "k"), BOUNDS[:1])
def test_a_wrong_bound_is_learned_as_one(n: int, k: int, runner: asyncio.Runner) -> None:
    expected = counted(Interact(10, 3), initiator=False)
    truth = counted(Interact(n, k), initiator=False)
    learned = learn(expected, InSession(Interact(n, k), initiator=False, run=runner.run))
    word = learned.difference
    assert word is not None
    assert truth.answers(word) == learned.machine.answers(word) != expected.answers(word)


def test_a_wrong_stop_rule_is_caught_by_its_shortest_session(runner: asyncio.Runner) -> None:
    wrongly = Interact(10, 3, changed("interact", (STOP, "tag in {RATIFY, REJECT}")))
    expected = counted(Interact(10, 3), initiator=True)
    subject = InSession(wrongly, initiator=True, run=runner.run)
    found = conform(expected, subject, 0).difference
    assert found is not None
    assert found.got[-1] == "-RATIFY, ratified"
    assert found.expected == ("+INIT", "-RATIFY")
    assert len(INPUTS) == 13


class _Restless(Machine):
    """Moves on an event that it refuses."""

    def fire(
        self, event: Trigger, valuation: Valuation | None = None, payload: object = None
    ) -> Transition:
        if self.state == "WAIT" and event == happening("CLOSE"):
            self._model.state = "DECIDE"
            raise KeyError("lost")
        return super().fire(event, valuation, payload)


def test_a_machine_that_breaks_is_told_as_it_broke() -> None:
    table = builtin("interact")

    def build(name: str, table: Automaton) -> TableEnd:
        return TableEnd(name, table, _Restless)

    found = conform(as_mealy(table), AtChannel(table, build), 0).difference
    assert found is not None
    assert [str(given) for given in found.inputs] == ["send INIT", "event CLOSE"]
    assert str(found.got[-1]) == "KeyError: 'lost'"


def test_an_agent_of_a_session_needs_a_table_of_its_protocols() -> None:
    with pytest.raises(UsageError, match="asking is not a table of INTERACT or PXP"):
        AgentEnd("agent", table_of("asking"))


def test_without_aalpy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aalpy", None)
    table = builtin("interact")
    with pytest.raises(UsageError, match=r"pip install 'pxp-fsm\[conformance\]'"):
        learn(as_mealy(table), AtChannel(table))
