"""Monitors: beside the checker on every continuation, and beside the definition on sessions."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import Model, Step, Trace, explore
from proofs.core.results import Status
from proofs.logic import FormulaChecker, graph_of, parse
from proofs.logic.formulas import Atom, Formula, atoms, negated
from proofs.logic.monitor import MonitorVerdict, atoms_of, by_itself, over
from proofs.logic.sessions import ObservedSessions, reading
from proofs.monitor import EventMonitor, SessionObserver
from proofs.sessions.model import SessionModel, SessionState
from proofs.sessions.relational import Theory
from proofs.sessions.replay import replay
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.decisions import concluded
from pxp_fsm.protocol.relations import NOISY, TOLERANCE
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.events import Event
from tests.oracles.graphs import NAMES, Graph, random_path, random_with_past
from tests.oracles.runs import satisfied
from tests.sampling import first_and_rest

Props = frozenset[str]
Entered = tuple[int, Props, bool]
"""After how many letters, which letter, whether more follows."""
S = TypeVar("S", bound=Hashable)
LETTERS = tuple(
    frozenset(name for name, true in zip(NAMES, bits, strict=True) if true)
    for bits in product((False, True), repeat=len(NAMES))
)


def expected(formula: Formula, model: Model[S], so_far: Sequence[Props]) -> MonitorVerdict:
    """The verdict by the checker, on a model whose complete runs are all that may follow."""
    checker = FormulaChecker(graph_of(model, explore(model), vocabulary=frozenset(NAMES)))
    if checker.check(formula).status is Status.HOLDS:
        return MonitorVerdict.TRUE
    if checker.check(negated(formula)).status is Status.HOLDS:
        return MonitorVerdict.FALSE
    now = satisfied(formula, so_far, 0, lambda atom, true: _name(atom) in true)
    return MonitorVerdict.PRESUMABLY_TRUE if now else MonitorVerdict.PRESUMABLY_FALSE


def _name(atom: Formula) -> str:
    assert isinstance(atom, Atom)
    return atom.name


@dataclass(frozen=True)
class Anything:
    """Runs that begin with `so_far`, and then go on with anything, or stop anywhere."""

    so_far: tuple[Props, ...]
    name: str = "anything"

    def initial(self) -> Iterable[Entered]:
        return self._entered(0, self.so_far[0])

    def successors(self, state: Entered) -> Iterator[Step[Entered]]:
        place, _, goes_on = state
        if not goes_on:
            return
        letters = LETTERS if place + 1 >= len(self.so_far) else (self.so_far[place + 1],)
        for letter in letters:
            following = min(place + 1, len(self.so_far))
            yield from (Step("go on", target) for target in self._entered(following, letter))

    def propositions(self, state: Entered) -> Props:
        return state[1]

    def _entered(self, place: int, letter: Props) -> Iterator[Entered]:
        yield (place, letter, True)
        if place + 1 >= len(self.so_far):
            yield (place, letter, False)


@pytest.mark.parametrize("seeds", first_and_rest(60, 350))
def test_a_formula_by_itself_is_settled_just_where_nothing_can_change_it(seeds: range) -> None:
    met = dict.fromkeys(MonitorVerdict, 0)
    for seed in seeds:
        chance = random.Random(seed)
        formula = (random_path, random_with_past)[seed % 2](chance, 3)
        monitor, so_far = by_itself(formula), list[Props]()
        place = monitor.start
        for _ in range(chance.randint(1, 4)):
            so_far.append(chance.choice(LETTERS))
            letter = tuple(_name(atom) in so_far[-1] for atom in atoms_of(formula))
            place = monitor.after(place, letter)
        outlook = monitor.outlooks[place]
        met[outlook] += 1
        assert outlook is expected(formula, Anything(tuple(so_far)), so_far), (seed, formula)
    assert min(met.values()) > len(seeds) // 50, met


@dataclass(frozen=True)
class Labelled:
    """A graph whose steps say what is true after them, and nothing of where they lead."""

    graph: Graph
    name: str = "labelled"

    def initial(self) -> Iterable[int]:
        yield 0

    def successors(self, state: int) -> Iterator[Step[int]]:
        for target in self.graph.edges[state]:
            yield Step(",".join(sorted(self.graph.true[target])), target)

    def propositions(self, state: int) -> Props:
        return self.graph.true[state]


@dataclass(frozen=True)
class Along:
    """The runs of a labelled graph that begin with these labels."""

    model: Labelled
    labels: tuple[str, ...]
    name: str = "along"

    def initial(self) -> Iterable[tuple[int, int]]:
        return ((0, state) for state in self.model.initial() if self._leads_on(0, state))

    def successors(self, state: tuple[int, int]) -> Iterator[Step[tuple[int, int]]]:
        followed, here = state
        for step in self.model.successors(here):
            at = min(followed + 1, len(self.labels))
            wanted = followed >= len(self.labels) or step.label == self.labels[followed]
            if wanted and self._leads_on(at, step.target):
                yield Step(step.label, (at, step.target))

    def propositions(self, state: tuple[int, int]) -> Props:
        return self.model.propositions(state[1])

    def _leads_on(self, followed: int, state: int) -> bool:
        """Whether the rest of the labels can be followed from here."""
        if followed == len(self.labels):
            return True
        return any(
            step.label == self.labels[followed] and self._leads_on(followed + 1, step.target)
            for step in self.model.successors(state)
        )


def tangled(chance: random.Random) -> Graph:
    """A graph in which much can follow, and some states end."""
    edges = tuple(
        tuple(t for t in range(5) if state < 4 and chance.random() < 0.6) for state in range(5)
    )
    return Graph(edges, tuple(chance.choice(LETTERS) for _ in range(5)))


@pytest.mark.parametrize("seeds", first_and_rest(60, 350))
def test_over_a_model_it_is_settled_just_where_nothing_the_model_allows_can_change_it(
    seeds: range,
) -> None:
    met = dict.fromkeys(MonitorVerdict, 0)
    for seed in seeds:
        chance = random.Random(seed)
        model = Labelled(tangled(chance))
        formula = (random_path, random_with_past)[seed % 2](chance, 3)
        monitor = over(formula, model)
        place, state, labels = monitor.start, 0, list[str]()
        so_far = [model.propositions(0)]
        for _ in range(chance.randint(0, 4)):
            steps = list(model.successors(state))
            if not steps:
                break
            step = chance.choice(steps)
            place, state = monitor.after(place, step.label), step.target
            labels.append(step.label)
            so_far.append(model.propositions(state))
        outlook = monitor.outlooks[place]
        met[outlook] += 1
        assert outlook is expected(formula, Along(model, tuple(labels)), so_far), (seed, formula)
    assert min(met.values()) > len(seeds) // 40, met


def test_a_label_that_the_model_does_not_allow_is_refused() -> None:
    line = Labelled(Graph(((1,), ()), (frozenset(), frozenset({"p"}))))
    monitor = over(parse("F p"), line)
    with pytest.raises(Refused, match="does not allow 'q' here; it allows p"):
        monitor.after(monitor.start, "q")
    with pytest.raises(Refused, match="nothing, it has ended"):
        monitor.after(monitor.after(monitor.start, "p"), "p")


class _TwoStarts(Graph):
    def initial(self) -> tuple[int, ...]:
        return 0, 1


def test_where_one_of_several_states_has_ended_the_run_may_end() -> None:
    none, p = frozenset[str](), frozenset("p")
    model = _TwoStarts(((), (2,), (2,)), (none, none, p))
    for text, verdict in (
        ("X p", MonitorVerdict.PRESUMABLY_FALSE),
        ("!X p", MonitorVerdict.PRESUMABLY_TRUE),
    ):
        monitor = over(parse(text), model)
        assert monitor.outlooks[monitor.start] is verdict


def test_what_labels_do_not_tell_cannot_be_monitored_by_them() -> None:
    graph = Graph(((1, 2), (), ()), (frozenset(), frozenset({"p"}), frozenset()))

    class Silent(Labelled):
        def successors(self, state: int) -> Iterator[Step[int]]:
            return (Step("on", step.target) for step in super().successors(state))

    monitor = over(parse("F p"), Silent(graph))
    with pytest.raises(UsageError, match="do not tell what is true"):
        monitor.after(monitor.start, "on")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("A F p", "A and E speak of others"),
        ("G (p -> E X q)", "A and E speak of others"),
        (" & ".join(f"F (q & X {'X ' * i}p)" for i in range(8)), "at most 12 are monitored"),
        (" & ".join(f"p{i}" for i in range(16)), "at most 15 are monitored by themselves"),
    ],
)
def test_a_formula_that_cannot_be_monitored_is_refused(formula: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        by_itself(parse(formula))


NOISY_4 = SessionModel(Interact(4, 1), Theory(NOISY), observes=False)
RULES = [Interact(6, 2), Interact(4, 1), Pxp(), Pxp(2)]
ATOMS = (
    *("1.RATIFY", "2.REVISE", "2?REJECT", "h:REF", "m@DECIDE", "number>=3", "number=2"),
    *("human.strong", "m.one_way", "two_way", "ended", "ended.ratified", "h.ultra_strong"),
)


BINARY = ("U", "R", "W", "&", "|", "->")


def formulas() -> st.SearchStrategy[Formula]:
    """Formulas about sessions, without A and E."""
    texts = st.recursive(
        st.sampled_from(ATOMS),
        lambda inner: st.one_of(
            st.builds(
                "({} {} {})".format, inner, st.sampled_from(["U", "R", "W", "&", "|", "->"]), inner
            ),
            st.builds("{} {}".format, st.sampled_from(["!", "X", "N", "F", "G"]), inner),
        ),
        max_leaves=4,
    )
    return texts.map(parse)


def walk(rules: Rules, seed: int, longest: int = 12) -> Trace[SessionState]:
    """A session under noisy relations, cut off after so many messages."""
    chance = random.Random(seed)
    model = SessionModel(rules, Theory(NOISY), observes=False)
    start = state = next(iter(model.initial()))
    steps = list[Step[SessionState]]()
    while not state.over and len(steps) < longest:
        step = chance.choice(list(model.successors(state)))
        steps.append(step)
        state = step.target
    return Trace(start, tuple(steps))


def heard_in(model: SessionModel, trace: Trace[SessionState]) -> list[Event]:
    """The events of a real session that takes the steps of `trace`."""
    return [Event.of_message(message) for message in replay(model, trace)]


def by_definition(formula: Formula, rules: Rules, messages: Iterable[Event]) -> bool:
    """Whether a session satisfies the formula, by the meaning of each operator."""
    read = reading(atoms(formula), (rules.automaton, rules.automaton))
    hearing = SessionObserver(read, rules, ("m", "h"))
    seen = [hearing.seen, *(hearing.hear(message) for message in messages)]
    return satisfied(formula, seen, 0, lambda atom, at: read.tests[_name(atom)](at))


@settings(max_examples=40)
@given(formulas(), st.sampled_from(RULES), st.integers(0, 10**6), st.booleans())
def test_after_any_session_of_real_machines_the_verdict_is_the_definitions(
    formula: Formula, rules: Rules, seed: int, alone: bool
) -> None:
    trace = walk(rules, seed)
    messages = heard_in(SessionModel(rules, Theory(NOISY), observes=False), trace)
    watch = EventMonitor(formula, rules, alone=alone).watch()
    outlooks = [watch.outlook, *map(watch.hear, messages)]
    for count, outlook in enumerate(outlooks):
        if outlook.settled:
            assert set(outlooks[count:]) == {outlook}
        if alone or not outlook.settled:  # else the protocol may not let it end here
            assert outlook.positive is by_definition(formula, rules, messages[:count])
    if trace.steps[-1].target.over:
        assert outlooks[-1].settled
        assert outlooks[-1].positive is by_definition(formula, rules, messages)


@settings(max_examples=25)
@given(st.sampled_from(RULES), st.integers(0, 10**6))
def test_what_is_heard_is_what_the_model_sees(rules: Rules, seed: int) -> None:
    trace = walk(rules, seed)
    model = SessionModel(rules, Theory(NOISY), observes=False)
    messages = heard_in(model, trace)
    read = reading(ATOMS, model.both)
    sessions, hearing = ObservedSessions(model, read), SessionObserver(read, rules, ("m", "h"))
    state = next(iter(sessions.initial()))
    for step, message in zip(trace.steps, messages, strict=True):
        state = next(
            one.target
            for one in sessions.successors(state)
            if one.target.state == step.target and one.label == step.label
        )
        assert hearing.hear(message) == state.seen


def test_a_step_after_which_a_session_is_stuck_takes_no_row() -> None:
    model = SessionModel(Interact(3, 1), Theory(TOLERANCE))
    read = reading((), model.both)
    sessions = ObservedSessions(model, read)
    first = next(iter(sessions.initial()))
    step = next(iter(sessions.successors(first)))
    assert len([*sessions.rows(first, step)]) == 2
    stuck = step.target._replace(state=step.target.state._replace(over="stuck"))
    assert [*sessions.rows(first, Step(step.action, stuck))] == []


def sessions_of(model: SessionModel) -> Iterator[tuple[Event, ...]]:
    """Every complete session of a small model, as messages."""

    def after(state: SessionState, labels: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if state.over:
            yield labels
        for step in model.successors(state):
            yield from after(step.target, (*labels, step.label))

    found = (labels for start in model.initial() for labels in after(start, ()))
    return (spoken(*labels) for labels in dict.fromkeys(found))


def spoken(*labels: str) -> tuple[Event, ...]:
    """`m INIT` and the like as messages."""
    said = [label.split() for label in labels]
    return tuple(
        Event(number, Exchange(who, "h" if who == "m" else "m", tag))
        for number, (who, tag) in enumerate(said, start=1)
    )


EVERY = tuple(sessions_of(NOISY_4))


@settings(max_examples=40)
@given(formulas(), st.integers(0, len(EVERY) - 1), st.integers(0, 4))
def test_over_the_model_a_verdict_is_what_all_sessions_that_go_on_say(
    formula: Formula, which: int, count: int
) -> None:
    rules, begun = NOISY_4.rules, EVERY[which][:count]
    watch = EventMonitor(formula, rules).watch()
    for message in begun:
        watch.hear(message)
    going_on = [one for one in EVERY if one[: len(begun)] == begun]
    said = {by_definition(formula, rules, one) for one in going_on}
    assert watch.outlook.settled is (len(said) == 1)
    if watch.outlook.settled:
        assert said == {watch.outlook.positive}


def test_the_four_verdicts_of_one_session() -> None:
    def told(formula: str, rules: Rules, *labels: str, alone: bool = False) -> list[str]:
        watch = EventMonitor(parse(formula), rules, alone=alone).watch()
        return [watch.outlook.value, *(watch.hear(m).value for m in spoken(*labels))]

    ratified = ("m INIT", "h REFUTE", "m REVISE", "h RATIFY", "m RATIFY")
    four = Interact(10, 3)
    assert told("F ended.ratified", four, *ratified) == [*["presumably false"] * 5, "true"]
    assert told("G (1.REJECT -> number>3)", four) == ["true"]
    assert told("G (1.REJECT -> number>3)", four, alone=True) == ["presumably true"]
    assert told("G !2.REFUTE", four, *ratified[:2]) == ["presumably true"] * 2 + ["false"]
    bound = ("m INIT", "h REFUTE", "m REFUTE", "h REFUTE")
    assert told("F ended.ratified", Interact(4, 3), *bound)[-2:] == ["false", "false"]
    tolerant = EventMonitor(parse("G !2.REVISE"), Interact(3, 1), TOLERANCE).watch()
    assert tolerant.outlook is MonitorVerdict.TRUE


@pytest.mark.deep
def test_large_bounds_and_hanging_up_are_monitored_by_the_formula_alone() -> None:
    for rules in (Interact(10**9, 3), Pxp(hang_up=concluded)):
        monitor = EventMonitor(parse("F 2.RATIFY"), rules)
        assert not monitor.over_the_model
        watch = monitor.watch("a", "b")
        for event in spoken("a INIT", "b RATIFY"):
            watch.hear(event)
        assert watch.outlook is MonitorVerdict.TRUE


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    "wrong", [("h INIT",), ("m INIT", "m RATIFY"), ("m INIT", "h TERM"), ("x INIT",)]
)
def test_what_the_protocol_does_not_allow_is_refused(wrong: tuple[str, ...], alone: bool) -> None:
    watch = EventMonitor(parse("F ended"), Interact(4, 1), alone=alone).watch()
    messages = spoken(*wrong)
    with pytest.raises(Refused):
        for message in messages:
            watch.hear(message)


def test_a_second_session_walks_where_the_first_has_been() -> None:
    monitor = EventMonitor(parse("G (2.REFUTE -> F 1.REVISE)"), Interact(10, 3))
    said = spoken("m INIT", "h REFUTE", "m REVISE", "h RATIFY", "m RATIFY")
    for _ in range(3):
        watch = monitor.watch()
        for message in said:
            watch.hear(message)
    assert monitor.model is not None
    assert monitor.model.size == 6


@pytest.mark.parametrize("alone", [False, True])
def test_agents_that_messages_do_not_tell_apart_are_refused(alone: bool) -> None:
    monitor = EventMonitor(parse("F ended"), Interact(4, 1), alone=alone)
    with pytest.raises(UsageError, match="both agents are named 'a'"):
        monitor.watch("a", "a")
    with pytest.raises(UsageError, match="between two agents, not 3"):
        monitor.watch("a", "b", "c")
