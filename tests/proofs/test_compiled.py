"""Sessions over explicit values: every state and transition, as a plain search finds them."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from proofs.core.explore import Model, S, TooLarge, explore
from proofs.sessions import model
from proofs.sessions.explicit import PackedSessions, Values
from proofs.sessions.model import SessionModel, SessionState, action_of, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Blocked
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Interact, Pxp
from tests.changed_tables import STOP, changed
from tests.oracles.model_checkers import C_COMPILER, needs_spin
from tests.oracles.packed_sweep import reach
from tests.oracles.spin_sessions import OPTIONS, promela
from tests.sampling import sampled

EQUIVALENCE = Theory(frozenset(Assumption))
SMALL = tuple(product((1, 2, 3, 4, 5), (1, 2, 3, 4), (1, 2, 3)))
"""All (n, k, values) that are compared with the reference."""

PINNED = {
    2: (2_737, 5_988),
    3: (13_564, 66_186),
    4: (41_665, 356_880),
    8: (622_849, 20_652_096),
    12: (3_059_137, 224_653_968),
}
"""States and transitions by the number of values, at n = 10 and k = 4."""


def reference(n: int, k: int, values: int) -> tuple[int, int]:
    """States and transitions, by a set of tuples and the procedures' own words."""

    def tag(j: int, new: tuple[int, int], own: tuple[int, int], peer: tuple[int, int]) -> str:
        matches, agrees = peer[0] == own[0], peer[1] == own[1]
        if j == 1:
            return "INIT"
        if matches and agrees:
            return "RATIFY"
        if not matches and not agrees and j > k:
            return "REJECT"
        return "REFUTE" if new == own else "REVISE"

    def bits(old: tuple[bool, ...], named: str) -> tuple[bool, ...]:
        if named == "INIT":
            return old
        accepts = named in ("RATIFY", "REVISE")
        return (
            old[0] or accepts,
            old[1] or named == "REJECT",
            old[2] and accepts,
            old[3] or named == "REVISE",
        )

    nothing = ((0, 0), "", (False, False, True, False))
    start = (0, nothing, nothing, False)
    seen, transitions, left = {start}, 0, [start]
    for j, m, h, over in left:  # grows while it is read
        for new in product(range(values), range(values)) if not over else ():
            transitions += 1
            me, peer = (m, h) if j % 2 == 0 else (h, m)
            named = tag(j + 1, new, me[0] if me[1] else new, peer[0])
            now = (new, named, bits(me[2], named))
            stop = named == "REJECT" or named == peer[1] == "RATIFY"
            both = (now, h) if j % 2 == 0 else (m, now)
            target = (j + 1, *both, stop or j + 2 > n)
            if target not in seen:
                seen.add(target)
                left.append(target)
    return len(seen), transitions


@pytest.mark.parametrize(("n", "k", "values"), sampled(SMALL, 4))
def test_the_counts_are_those_of_a_plain_search(n: int, k: int, values: int) -> None:
    model = PackedSessions(Interact(n, k), values)
    swept, explored = reach(model, compiled=False), explore(model)
    assert (swept.states, swept.transitions) == reference(n, k, values)
    assert {state for state, one in enumerate(swept.seen) if one} == set(explored.steps)
    followed = sum(len(list(model.successors(state))) for state in explored.steps)
    assert swept.transitions == followed


@pytest.mark.deep
@pytest.mark.parametrize("values", [2, 3, 4, 8, pytest.param(12, marks=pytest.mark.deep)])
def test_the_counts_are_pinned(values: int) -> None:
    reached = reach(PackedSessions(Interact(10, 4), values))
    assert (reached.states, reached.transitions) == PINNED[values]
    assert sum(reached.levels) == reached.states


def test_what_is_compiled_is_what_python_runs() -> None:
    for values in (1, 2, 3):
        model = PackedSessions(Interact(10, 3), values)
        plain, fast = reach(model, compiled=False), reach(model, compiled=True)
        assert (plain.seen, plain.transitions) == (fast.seen, fast.transitions)


def test_with_symmetry_the_number_of_values_does_not_count() -> None:
    space = explore(SessionModel(Interact(10, 4), EQUIVALENCE))
    assert (space.states, space.transitions) == (685, 1742)


def sequences(model: Model[S]) -> set[tuple[str, ...]]:
    """The complete tag sequences of a model."""

    @cache
    def after(state: S) -> frozenset[tuple[str, ...]]:
        steps = set(model.successors(state))
        if not steps:
            return frozenset([()])
        return frozenset((s.label, *rest) for s in steps for rest in after(s.target))

    return {sequence for start in model.initial() for sequence in after(start)}


@pytest.mark.parametrize(("n", "k", "count"), [(3, 1, 4), (4, 2, 8), (5, 2, 19), (6, 3, 45)])
def test_three_values_show_every_tag_sequence(n: int, k: int, count: int) -> None:
    reduced = sequences(SessionModel(Interact(n, k), EQUIVALENCE))
    assert sequences(PackedSessions(Interact(n, k), 3)) == reduced
    assert len(reduced) == count


@pytest.mark.parametrize(("n", "k"), [(3, 1), (6, 2), (10, 4)])
def test_shortest_traces_are_as_short_as_with_symmetry(n: int, k: int) -> None:
    model = PackedSessions(Interact(n, k), 3)
    reduced = explore(SessionModel(Interact(n, k), EQUIVALENCE))
    reached = reach(model)
    for situation in {(s.tags, s.history, s.over) for s in reduced.steps}:

        def there(state: SessionState, at: object = situation) -> bool:
            return (state.tags, state.history, state.over) == at

        ours, theirs = reached.find(there), reduced.find(there)
        assert ours is not None
        assert theirs is not None
        assert len(ours.steps) == len(theirs.steps)
    assert reached.find(lambda state: state.over == "stuck") is None
    assert reached.find(lambda state: state.sent > n) is None


def test_a_trace_is_a_path_of_the_model() -> None:
    model = PackedSessions(Interact(6, 2), 3)
    reached = reach(model)
    for state in range(0, model.size, 7):
        if reached.seen[state]:
            trace = reached.trace_to(state)
            at = trace.start
            for step in trace.steps:
                assert step in set(model.successors(at))
                at = step.target
            assert at == state
            assert len(trace.steps) == model.controls.states[model.unpack(state)[0]].sent


def test_two_ratifications_may_end_in_different_pairs() -> None:
    """Spec 5.6: the shortest counterexample has three messages, found on the values themselves."""

    def differ(values: Values) -> bool:
        return (values.y_m, values.e_m) != (values.y_h, values.e_h)

    reached = reach(PackedSessions(Interact(10, 4), 2))
    trace = reached.find(lambda state: state.over == "ratified", differ)
    assert trace is not None
    assert trace.labels == ("m INIT", "h RATIFY", "m RATIFY")
    assert trace.steps[-1].facts == (True, True)
    assert reached.find(lambda state: state.sent == 2 and state.tags[1] == "RATIFY", differ) is None


MUTANTS = {
    "a category": ("match and agree", "match"),
    "from when on it is rejected": ("j + 1 > k", "j + 1 > k + 1"),
    "where it is asked what changed": (
        "not (match and agree) and not rejects and changed",
        "match and not agree and changed",
    ),
    "the stop": (STOP, "tag in {REJECT, RATIFY}"),
    "the bound": ("j >= n", "j > n"),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("fast", [False, True])
def test_a_changed_rule_is_noticed(name: str, fast: bool) -> None:
    rules = Interact(10, 4, changed("interact", MUTANTS[name]))
    reached = reach(PackedSessions(rules, 3), compiled=fast)
    assert (reached.states, reached.transitions) != PINNED[3]


@pytest.mark.parametrize("fast", [False, True])
def test_a_changed_turn_is_noticed(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def begins(number: int) -> bool:
        return number < 3 or number % 2 == 1

    monkeypatch.setattr(decisions, "initiator_speaks", begins)
    monkeypatch.setattr(model, "initiator_speaks", begins)
    reached = reach(PackedSessions(Interact(10, 4), 3), compiled=fast)
    assert (reached.states, reached.transitions) != PINNED[3]


def test_a_changed_table_is_noticed() -> None:
    real = builtin("interact")
    for old in real.transitions:
        new = replace(old, label="REVISE" if old.label == "REFUTE" else "REFUTE")
        rows = tuple(new if row is old else row for row in real.transitions)
        table = replace(real, transitions=rows)
        reached = reach(PackedSessions(Interact(10, 4), 3, (table, table)))
        stuck = reached.find(lambda state: state.over == "stuck")
        assert stuck or (reached.states, reached.transitions) != PINNED[3], old


@pytest.mark.parametrize("deaf", [0, 1])
def test_a_message_that_cannot_be_sent_changes_no_data(deaf: int) -> None:
    """A new pair goes with REVISE, which one of the two does not take."""
    real = builtin("interact")
    rows = tuple(t for t in real.transitions if (t.kind, t.label) != (Kind.RECEIVE, "REVISE"))
    tables = [real, real]
    tables[deaf] = replace(real, transitions=rows)
    space = explore(SessionModel(Interact(4, 1), EQUIVALENCE, (tables[0], tables[1])))
    blocked = [
        (state, step.target)
        for state, steps in space.steps.items()
        for step in steps
        if isinstance(action_of(step), Blocked)
    ]
    assert blocked
    assert all(target == state._replace(over="stuck") for state, target in blocked)


def test_what_the_relations_say_is_told_as_they_are_asked() -> None:
    """First whether predictions match and explanations agree, then whether either has changed."""
    sessions = SessionModel(Interact(5, 2), EQUIVALENCE)
    second, third = (
        next(one for one in explore(sessions).steps if one.sent == sent and not one.over)
        for sent in (1, 2)
    )
    for state, (match, agree, same_y, same_e) in product(
        (second, third), product((False, True), repeat=4)
    ):
        step = sessions.answering(state, (match, same_y), (agree, same_e))
        asked: tuple[bool, ...] = (match, agree)
        if match and agree:
            tag = "RATIFY"
        elif not match and not agree and state is third:
            tag = "REJECT"
        else:
            asked += (same_y, same_e)[: 1 + same_y]
            tag = "REFUTE" if same_y and same_e else "REVISE"
        assert (tag_of(step), step.facts) == (tag, asked)


def test_small_models_need_no_compiler() -> None:
    code = (
        "import sys, proofs, tests.oracles.packed_sweep as c, proofs.sessions.explicit as p\n"
        "import pxp_fsm.protocol.rules as r\n"
        "assert c.reach(p.PackedSessions(r.Interact(5, 2), 3)).states == 1837\n"
        "sys.exit(bool({'wasmtime', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(UsageError, match="at least one value"):
        PackedSessions(Interact(3, 1), 0)
    with pytest.raises(UsageError, match="INTERACT's rules only"):
        PackedSessions(Pxp(), 2)  # type: ignore[arg-type] # it is refused
    with pytest.raises(TooLarge, match="a map of"):
        reach(PackedSessions(Interact(10, 4), 99))
    reached = reach(PackedSessions(Interact(3, 1), 2))
    for state in (-1, reached.seen.index(0), len(reached.seen)):
        with pytest.raises(UsageError, match="cannot be reached"):
            reached.trace_to(state)


@needs_spin
@pytest.mark.parametrize(
    ("n", "k", "values"),
    [(10, 4, 3), *(pytest.param(n, 1, 2, marks=pytest.mark.deep) for n in (1, 4))],
)
def test_spin_finds_the_same_states(n: int, k: int, values: int, tmp_path: Path) -> None:
    model = PackedSessions(Interact(n, k), values)
    (tmp_path / "model.pml").write_text(promela(model))
    for command in (
        ["spin", "-a", "model.pml"],
        [C_COMPILER, "-w", *OPTIONS, "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run(["./pan"], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = [
        int(re.findall(rf"(\d+) {what}", told.stdout)[0]) for what in ("states", "transitions")
    ]
    reached = reach(model)
    # SPIN counts the initial state as a transition into it.
    assert found == [reached.states, reached.transitions + 1]


def test_promela_needs_what_its_state_vector_shows() -> None:
    with pytest.raises(UsageError, match="byte"):
        promela(PackedSessions(Interact(256, 1), 2))
    real = builtin("interact")
    deaf = replace(real, transitions=tuple(t for t in real.transitions if t.action != "-RATIFY"))
    with pytest.raises(UsageError, match="stuck"):
        promela(PackedSessions(Interact(3, 1), 2, (real, deaf)))
