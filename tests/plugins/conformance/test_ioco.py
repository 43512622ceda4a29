"""uioco by state counting, beside its definition on explicit systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.plugins.conformance.ioco import IocoReport, conform_ioco
from pxp_fsm.plugins.conformance.mealy import Stimulus
from pxp_fsm.plugins.conformance.suspension import Transitions, as_transitions
from pxp_fsm.plugins.conformance.testing import ProgramFault
from tests.plugins.conformance.ioco import System, after, judge, out, unseen

HERE = Path(__file__).parents[3] / "examples" / "agent_protocols"
INPUTS = ("?a", "?b")
PATIENCE = 200_000
"""The inputs after which a case is left: the tests of a few programs are millions."""


class TooManyInputs(BaseException):
    """A case is left; no fault of the program."""


def read(system: System, size: int) -> Transitions[str]:
    def steps(mark: str) -> tuple[Mapping[str, frozenset[int]], ...]:
        return tuple(
            {
                label: frozenset(t for s, a, t in system.edges if (s, a) == (state, label))
                for label in sorted({a for s, a, _ in system.edges if s == state and a[0] == mark})
            }
            for state in range(size)
        )

    receives = tuple(
        {INPUTS.index(label): targets for label, targets in row.items()} for row in steps("?")
    )
    silent = tuple(row.get("tau", frozenset()) for row in steps("t"))
    return Transitions(INPUTS, receives, steps("!"), silent, system.initial)


class Rotating:
    """A program that gives all of its answers to a sequence of inputs in turn."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.left = PATIENCE
        self.known: dict[frozenset[int], list[tuple[tuple[str, ...], frozenset[int]]]] = {}
        self.turns: Counter[tuple[object, ...]] = Counter()
        self.most = 1
        self.trace: tuple[object, ...] = ()

    def words(self, states: frozenset[int]) -> Iterator[tuple[tuple[str, ...], frozenset[int]]]:
        for label in sorted(out(self.system, states)):
            then = after(self.system, states, label)
            if label == "delta":
                yield (), then
            else:
                for word, quiet in self.words(then):
                    yield (label, *word), quiet

    def answer(self, states: frozenset[int], label: str) -> tuple[str, ...]:
        self.left -= 1
        if not self.left:
            raise TooManyInputs
        if states not in self.known:
            self.known[states] = sorted(self.words(states))
        words = self.known[states]
        self.most = max(self.most, len(words))
        self.trace = (*self.trace, label)
        word, self.states = words[self.turns[self.trace] % len(words)]
        self.turns[self.trace] += 1
        self.trace = (*self.trace, word)
        return word

    def reset(self) -> tuple[str, ...]:
        self.trace = ()
        return self.answer(unseen(self.system, {self.system.initial}), "")

    def step(self, label: str) -> tuple[str, ...]:
        return self.answer(self.system.go(self.states, label), label)


@st.composite
def systems(draw: st.DrawFn, complete: bool) -> tuple[System, int]:
    """Quiet states take inputs, the others send or move unseen, and come to rest."""
    quiet, active = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    edges: set[tuple[int, str, int]] = set()
    size = quiet + active
    for state in range(size):
        for label in INPUTS:
            targets = draw(st.sets(st.integers(0, size - 1), max_size=2))
            if complete and not targets:
                targets = {state}
            edges |= {(state, label, target) for target in targets}
        if state >= quiet:
            ends = [*range(quiet), *range(state + 1, size)]
            step = st.tuples(st.sampled_from(("!x", "!y", "tau")), st.sampled_from(ends))
            edges |= {(state, a, t) for a, t in draw(st.sets(step, min_size=1, max_size=2))}
    return System(frozenset(edges), draw(st.integers(0, size - 1))), size


@st.composite
def programs(draw: st.DrawFn, specification: System, size: int) -> System:
    """The specification with at most two edges changed, complete in its inputs."""
    edges = set(specification.edges)
    for _ in range(draw(st.integers(0, 2))):
        if not edges:
            break
        source, label, target = draw(st.sampled_from(sorted(edges)))
        edges.remove((source, label, target))
        if label[0] == "?":
            edges.add((source, label, draw(st.integers(0, size - 1))))
        elif draw(st.booleans()):
            edges.add((source, draw(st.sampled_from(("!x", "!y", "!z"))), target))
    taken = {(s, a) for s, a, _ in edges}
    edges |= {(s, a, s) for s in range(size) for a in INPUTS if (s, a) not in taken}
    return System(frozenset(edges), specification.initial)


def agree(specification: System, size: int, program: System, extra: int) -> None:
    subject = Rotating(program)
    inputs, states = judge(specification, program)
    repetitions = 8  # more than the ways through three active states
    try:
        report = conform_ioco(read(specification, size), subject, extra, repetitions)
    except TooManyInputs:
        return
    assert subject.most <= repetitions
    assert not report.unknown
    if inputs is None:
        assert report.conforms
    elif report.deviation is None:
        assert states > report.states + extra
    else:
        assert report.deviation.shortest
        assert len(report.deviation.inputs) == inputs == report.deviation.none_below


CHANGED = st.data()
ANY = (systems(complete=False), systems(complete=True), st.integers(0, 2))


def changed(data: st.DataObject) -> None:
    specification, size = data.draw(systems(complete=False))
    program = data.draw(programs(specification, size))
    agree(specification, size, program, data.draw(st.integers(0, 2)))


def compared(specification: tuple[System, int], program: tuple[System, int], extra: int) -> None:
    agree(*specification, program[0], extra)


@settings(max_examples=12, deadline=None)
@cases(CHANGED)
def test_changed_programs_are_judged_as_by_the_definition(data: st.DataObject) -> None:
    changed(data)


@settings(max_examples=25, deadline=None)
@cases(*ANY)
def test_any_program_is_judged_as_by_the_definition(
    specification: tuple[System, int], program: tuple[System, int], extra: int
) -> None:
    compared(specification, program, extra)


@pytest.mark.deep
@settings(max_examples=300, deadline=None)
@cases(CHANGED)
def test_many_changed_programs(data: st.DataObject) -> None:
    changed(data)


@pytest.mark.deep
@settings(max_examples=300, deadline=None)
@cases(*ANY)
def test_many_programs(
    specification: tuple[System, int], program: tuple[System, int], extra: int
) -> None:
    compared(specification, program, extra)


class Task:
    """A server of MCP tasks that honours each cancellation; `wrong` changes its replies."""

    def __init__(self, wrong: Callable[[str, str], Sequence[str]] | None = None) -> None:
        self.wrong = wrong
        self.status = ""

    def reset(self) -> Sequence[str]:
        self.status = ""
        return ()

    def step(self, given: Stimulus) -> Sequence[str]:
        label = given.event.label
        if self.wrong is not None and (said := self.wrong(self.status, label)):
            return said
        if label in ("NEEDS_INPUT", "WORK_DONE", "WORK_BROKEN"):
            ends = {"NEEDS_INPUT": "INPUT_REQUIRED", "WORK_DONE": "COMPLETED"}
            self.status = ends.get(label, "FAILED")
            return ()
        if label == "CALL":
            self.status = "WORKING"
            return ("+TASK to client",)
        if label == "GET":
            return (f"+{self.status} to client",)
        if label == "CANCEL" and self.status in ("WORKING", "INPUT_REQUIRED"):
            self.status = "CANCELLED"
        if label == "UPDATE" and self.status == "INPUT_REQUIRED":
            self.status = "WORKING"
        return ("+ACK to client",)


def judged(
    task: Task, extra: int = 0, repetitions: int = 1, searched: int = 100_000
) -> IocoReport[Stimulus]:
    system = as_transitions(load_automaton(str(HERE / "mcp_task_server.toml")))
    return conform_ioco(system, task, extra, repetitions, searched)


def test_sizes_of_the_suites_for_a_task_of_mcp() -> None:
    sizes = [(report.tests, report.inputs) for report in (judged(Task()), judged(Task(), 1))]
    assert sizes == [(88, 555), (506, 4073)]
    report = judged(Task())
    assert (report.conforms, report.states) == (True, 5)
    assert report.unseen == (
        "receive CALL from client: +RESULT to client",
        "receive GET from client: +WORKING to client",
        "receive GET from client: +INPUT_REQUIRED to client",
    )


def test_a_deviation_is_told_with_all_that_was_allowed() -> None:
    found = judged(Task(lambda status, label: ["+NO"] * (label == "UPDATE" and status == "FAILED")))
    different = found.deviation
    assert different is not None
    assert [str(given) for given in different.inputs] == [
        "receive CALL from client",
        "event WORK_BROKEN",
        "receive UPDATE from client",
    ]
    assert different.replies == ((), ("+TASK to client",), (), ("+NO",))
    assert (different.place, different.allowed) == (0, ("+ACK to client",))
    assert different.shortest


def test_silence_where_an_output_is_due_and_an_output_where_silence_is_due() -> None:
    class Silent(Task):
        def step(self, given: Stimulus) -> Sequence[str]:
            return () if given.event.label == "GET" else super().step(given)

    silent = judged(Silent()).deviation
    assert silent is not None
    assert (silent.replies[-1], silent.allowed) == ((), ("+WORKING to client",))
    twice = judged(Task(lambda _, label: ["+TASK to client"] * 2 * (label == "CALL"))).deviation
    assert twice is not None
    assert (len(twice.inputs), twice.place, twice.allowed) == (1, 1, (None,))


def test_without_a_search_a_deviation_is_made_shorter_by_leaving_inputs_out() -> None:
    class Tires(Task):
        """Its third reply to GET in one test is wrong."""

        def reset(self) -> Sequence[str]:
            self.asked = 0
            return super().reset()

        def step(self, given: Stimulus) -> Sequence[str]:
            self.asked += given.event.label == "GET"
            return ("+NO",) if self.asked == 3 else super().step(given)

    found = judged(Tires(), extra=1, searched=0).deviation
    assert found is not None
    assert [given.event.label for given in found.inputs] == ["CALL", "GET", "GET", "GET"]
    assert not found.shortest
    best = judged(Tires(), extra=1).deviation
    assert best is not None
    assert (best.inputs, best.shortest) == (found.inputs, True)


def test_what_breaks_the_program_deviates() -> None:
    class Breaks(Task):
        def step(self, given: Stimulus) -> Sequence[str]:
            if given.event.label == "UPDATE":
                raise KeyError("state")
            return super().step(given)

    found = judged(Breaks()).deviation
    assert found is not None
    assert found.replies[-1] == (ProgramFault("KeyError: 'state'"),)


def test_a_program_that_is_not_always_alike_needs_repetitions() -> None:
    class Moody(Task):
        calls = 0

        def step(self, given: Stimulus) -> Sequence[str]:
            if given.event.label == "CANCEL" and self.status == "WORKING":
                self.calls += 1
                if self.calls % 2:
                    return ("+ACK to client",)
            return super().step(given)

    once = judged(Moody())
    assert "within 1 repetition; take more of them" in once.unknown
    often = judged(Moody(), repetitions=6)
    assert often.conforms
    assert not any("+WORKING" in answer for answer in often.unseen)


def test_a_program_that_is_never_quiet_is_not_judged() -> None:
    class Never(Task):
        def step(self, given: Stimulus) -> Sequence[str]:
            raise NoAnswer("it went on for ever")

    assert judged(Never()).unknown == "it went on for ever"


ROUND = """\
format = 1
name = "round"
title = "Round"
initial = "A"
final = ["B"]
states = [{ name = "A", guards = ["ON", "OFF"] }, { name = "B" }]
rows = [
  { from = "A", to = "A", guard = "ON", event = "TURNS" },
  { from = "A", to = "B", guard = "OFF", event = "STOPS" },
]
guards = { ON = "on", OFF = "off" }
"""


def test_what_cannot_be_tested(tmp_path: Path) -> None:
    (tmp_path / "round.toml").write_text(ROUND, "utf-8")
    with pytest.raises(UsageError, match="round can go round for ever from A without an input"):
        as_transitions(load_automaton(str(tmp_path / "round.toml")))
    with pytest.raises(UsageError, match="extra states are at least 0"):
        judged(Task(), extra=-1)
