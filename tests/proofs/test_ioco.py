"""ioco by state counting, beside its definition on explicit systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from proofs.conformance.ioco import IocoReport, conform_ioco
from proofs.conformance.mealy import Stimulus
from proofs.conformance.suspension import Suspension, Transitions, as_transitions
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import build_automaton, builtin
from pxp_fsm.errors import NoAnswer, UsageError
from tests.oracles.ioco import System, after, judge, out, unseen

INPUTS = ("?a", "?b")
import os

EXAMPLES = int(os.environ.get("EX", "30"))


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
        self.turns: Counter[tuple[object, ...]] = Counter()
        self.most = 1

    def words(self, states: frozenset[int]) -> Iterator[tuple[tuple[str, ...], frozenset[int]]]:
        for label in sorted(out(self.system, states)):
            then = after(self.system, states, label)
            if label == "delta":
                yield (), then
            else:
                for word, quiet in self.words(then):
                    yield (label, *word), quiet

    def answer(self, states: frozenset[int], label: str) -> tuple[str, ...]:
        words = sorted(self.words(states))
        self.most = max(self.most, len(words))
        self.trace = (*self.trace, label)
        word, self.states = words[self.turns[self.trace] % len(words)]
        self.turns[self.trace] += 1
        self.trace = (*self.trace, word)
        return word

    def reset(self) -> tuple[str, ...]:
        self.trace: tuple[object, ...] = ()
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
    report = conform_ioco(read(specification, size), subject, extra, repetitions)
    assert subject.most <= repetitions
    assert not report.unknown
    if inputs is None:
        assert report.conforms
    elif report.deviation is None:
        assert states > report.states + extra
    else:
        assert report.deviation.shortest
        assert len(report.deviation.inputs) == inputs == report.deviation.none_below


@settings(max_examples=EXAMPLES, deadline=None)
@cases(st.data())
def test_changed_programs_are_judged_as_by_the_definition(data: st.DataObject) -> None:
    specification, size = data.draw(systems(complete=False))
    program = data.draw(programs(specification, size))
    agree(specification, size, program, data.draw(st.integers(0, 2)))


@settings(max_examples=EXAMPLES, deadline=None)
@cases(systems(complete=False), systems(complete=True), st.integers(0, 2))
def test_any_program_is_judged_as_by_the_definition(
    specification: tuple[System, int], program: tuple[System, int], extra: int
) -> None:
    agree(*specification, program[0], extra)
