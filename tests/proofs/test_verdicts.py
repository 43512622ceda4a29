"""Verdicts, bounds and results are data; their words say what the data say."""

from __future__ import annotations

import random
from itertools import pairwise

import networkx as nx
import pytest

from proofs.core.explore import Step, Trace, explore, explore_as_read
from proofs.core.graphs import leading_to
from proofs.core.kernels import Interpreter
from proofs.core.properties import each_step, longest_run, terminates
from proofs.core.results import Bound, Result, Status, Verdict, stopped, table
from pxp_fsm.automata.actions import Say
from pxp_fsm.errors import UsageError
from tests.oracles.graphs import Graph, random_graph

TRACE = Trace(0, (Step(Say("m", "INIT"), 1), Step(Say("h", "RATIFY"), 2)))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (Bound(10, 3), "n = 10, k = 3"),
        (Bound(k=3), "k = 3"),
        (Bound(5, 2, values=3), "n = 5, k = 2, 3 values"),
        (Bound(k=3, steps=11), "k = 3; the longest run has 11 steps"),
        (Bound(steps=4), "the longest run has 4 steps"),
        (Bound(iterations=2, retries=1), "iterations = 2, retries = 1"),
        (Bound("all", "all"), "for all n and k"),
        (Bound(k="all"), "for all k"),
        (Bound(iterations="all", retries="all"), "for all bounds"),
        (Bound(capacities_from=2), "2-multiparty compatible: any capacity from 2, and unbounded"),
    ],
)
def test_a_bound_says_how_far_it_reaches(bound: Bound, words: str) -> None:
    assert str(bound) == words
    assert bound.is_all == (words.startswith("for all"))


def test_a_verdict_says_bound_reason_trace_and_cycle() -> None:
    unknown = Verdict(Status.UNKNOWN, "not proved: X", bound=Bound(5, 1))
    assert str(unknown) == "UNKNOWN not proved: X; holds up to n = 5, k = 1"
    assert str(Verdict(Status.HOLDS_UP_TO, "4 words", bound=Bound(k=1))) == (
        "HOLDS UP TO k = 1; 4 words"
    )
    fails = Verdict(Status.FAILS, trace=TRACE, cycle=1)
    assert str(fails) == "FAILS m INIT, h RATIFY (the last 1 for ever)"
    assert str(Verdict(Status.FAILS, trace=Trace(0, ()))) == "FAILS (at once, before any step)"


@pytest.mark.parametrize(
    ("expected", "reached", "fine"),
    [
        (None, Status.UNKNOWN, True),
        (Status.HOLDS, Status.HOLDS, True),
        (Status.HOLDS, Status.HOLDS_UP_TO, True),
        (Status.HOLDS, Status.VACUOUS, False),
        (Status.HOLDS, Status.UNKNOWN, False),
        (Status.FAILS, Status.HOLDS_UP_TO, False),
        (Status.FAILS, Status.FAILS, True),
    ],
)
def test_a_bounded_verdict_does_not_contradict_what_is_expected(
    expected: Status | None, reached: Status, fine: bool
) -> None:
    result = Result("a", "no-x", "never x", "noisy", Verdict(reached), expected)
    assert result.as_expected is fine
    assert str(result) == f"a.no-x (noisy): {reached}"
    assert result.status is reached


def test_a_trace_maps_to_another_model() -> None:
    mapped = TRACE.map(str)
    assert mapped.labels == TRACE.labels
    assert [mapped.start, *(step.target for step in mapped.steps)] == ["0", "1", "2"]


def test_an_endless_run_is_a_shortest_stem_and_then_a_shortest_cycle() -> None:
    """Beside NetworkX, where a state without a cycle may stand before one, between and after."""
    met = dict.fromkeys((Status.HOLDS, Status.FAILS), 0)
    for seed in range(400):
        graph = random_graph(random.Random(seed), 8)
        plain = nx.DiGraph((s, t) for s, targets in enumerate(graph.edges) for t in targets)
        plain.add_node(0)
        plain = plain.subgraph({0} | nx.descendants(plain, 0))
        verdict = terminates(explore(graph))
        met[verdict.status] += 1
        if nx.is_directed_acyclic_graph(plain):
            assert verdict.bound == Bound(steps=nx.dag_longest_path_length(plain)), seed
            continue
        depth = nx.single_source_shortest_path_length(plain, 0)
        round_trip = {
            state: 1 + min(nx.shortest_path_length(plain, state, one) for one in before)
            for state in plain
            if (before := [s for s in plain.pred[state] if nx.has_path(plain, state, s)])
        }
        least = min((depth[state], length) for state, length in round_trip.items())
        assert verdict.trace is not None and verdict.cycle is not None
        steps = verdict.trace.steps
        assert (len(steps) - verdict.cycle, verdict.cycle) == least, seed
        states = [0, *(step.target for step in steps)]
        assert states[-1] == states[least[0]]
        assert all(plain.has_edge(*pair) for pair in pairwise(states))
    assert min(met.values()) > 50


def test_a_longest_run_is_as_long_as_any() -> None:
    chain = Graph(((1, 2), (3,), (), ()), (frozenset(),) * 4)
    assert [step.target for step in longest_run(explore(chain)).steps] == [1, 3]


def test_exploring_stops_where_it_was_to_come() -> None:
    chain = Graph(((1, 2), (3,), (4,), (), ()), (frozenset(),) * 5)
    assert [*explore(chain, until=lambda state: state == 2).steps] == [0, 2]
    assert [*explore(chain, until=lambda state: state == 9).steps] == [0, 1, 2, 3, 4]


class _TwoStarts(Graph):
    def initial(self) -> tuple[int, ...]:
        return 0, 1


def test_a_longest_run_begins_where_the_longest_does() -> None:
    for edges, most in ((((3,), (2,), (3,), ()), [2, 3]), (((2,), (3,), (3,), ()), [2, 3])):
        run = longest_run(explore(_TwoStarts(edges, (frozenset(),) * 4)))
        assert [step.target for step in run.steps] == most


def test_what_leads_to_marked_nodes_is_marked_with_ones() -> None:
    for seed in range(30):
        graph, runner = random_graph(random.Random(seed)), Interpreter()
        nodes = len(graph.edges)
        plain: nx.DiGraph[int] = nx.DiGraph()
        plain.add_nodes_from(range(nodes))
        plain.add_edges_from((a, b) for a, targets in enumerate(graph.edges) for b in targets)
        offsets = [sum(map(len, graph.edges[:node])) for node in range(nodes + 1)]
        marks = runner.put("B", [int(node == nodes - 1) for node in range(nodes)])
        targets = [target for row in graph.edges for target in row]
        leading_to(runner, runner.put("i", offsets), runner.put("i", targets), marks)
        marked = {nodes - 1} | nx.ancestors(plain, nodes - 1)
        assert [*marks] == [int(node in marked) for node in range(nodes)], seed


def test_a_table_of_results_is_as_wide_as_its_longest_cells() -> None:
    def line(name: str, subject: str = "s") -> list[str]:
        result = Result(subject, name, "t", "a", Verdict(Status.HOLDS), Status.HOLDS)
        return [*table([result])]

    long = "x" * 40
    head, row, _ = line(long)
    assert head.index("assumptions") == row.index(" a ") + 1 == row.index(long) + len(long) + 2
    head, row, _ = line("y" * 300)
    assert head.index("assumptions") < 120, "a long name does not push the others away"
    assert "y" * 300 in row
    long = "z" * 80
    head, row, _ = line(long)
    assert head.index("assumptions") == row.index(long) + len(long) + 2, "there is room for it"


@pytest.mark.parametrize(
    ("expected", "shown"),
    [(Status.FAILS, "FAILS (expected)"), (None, "FAILS (not required)"), (Status.HOLDS, "FAILS")],
)
def test_a_table_says_of_what_fails_whether_it_may(expected: Status | None, shown: str) -> None:
    result = Result("s", "p", "t", "a", Verdict(Status.FAILS), expected)
    head, row, _ = table([result])
    assert row[head.index("verdict") :].split("  ")[0] == shown
    assert row.startswith("!") is (expected is Status.HOLDS)


def test_a_table_names_at_its_end_what_is_not_as_expected() -> None:
    results = [
        Result("s", f"p{number}", "t", "a", Verdict(Status.FAILS), expected)
        for number, expected in enumerate((Status.FAILS, Status.HOLDS, None))
    ]
    assert [*table(results)][-1].endswith(", 1 not as expected: p1 (a)")
    assert [*table(results[:1])][-1].endswith(", 0 not as expected")


def test_a_trace_is_drawn_on_members_where_there_is_one() -> None:
    there = Result("s", "p", "t", "a", Verdict(Status.FAILS, trace=TRACE), ways=lambda _: {})
    assert there.member_diagrams() == {}
    for verdict, ways in ((Verdict(Status.HOLDS), there.ways), (there.verdict, None)):
        with pytest.raises(UsageError, match="p has no trace of members to draw"):
            Result("s", "p", "t", "a", verdict, ways=ways).member_diagrams()


def test_names_of_checks_leave_the_columns_in_line_however_much_is_assumed() -> None:
    assumed = ("free guards, sync", "free guards, sync, fair to " + "coordinator, " * 6)
    names = ("end-reachable-from-everywhere", "no-trap", "ends-if-strong-agents")
    results = [
        Result(
            "coordinator; left, right: participant", name, "", assumptions, Verdict(Status.HOLDS)
        )
        for name in names
        for assumptions in assumed
    ]
    header, *rows, _ = table(results)
    assert {row.index("HOLDS") for row in rows} == {header.index("verdict")}
    assert {row.index("free guards") for row in rows} == {header.index("assumptions")}


def test_what_each_step_does_not_do_is_shown_with_the_step() -> None:
    space = explore(Graph(((1,), (2,), (2,)), (frozenset(),) * 3))
    verdict = each_step(space, lambda at, _: at > 0, lambda _, step: step.target != 2)
    assert verdict.status is Status.FAILS and verdict.trace is not None
    assert [verdict.trace.start, *(step.target for step in verdict.trace.steps)] == [0, 1, 2]
    always = lambda *_: True  # noqa: E731 - of every step
    assert each_step(space, always, always).status is Status.HOLDS
    assert each_step(space, lambda *_: False, always).status is Status.VACUOUS


def test_what_is_wrong_with_a_request_does_not_stop_a_check() -> None:
    with pytest.raises(UsageError, match="no such thing"):
        stopped(UsageError("no such thing"))


def test_steps_that_are_read_are_those_that_are_explored() -> None:
    for seed in range(10):
        graph = random_graph(random.Random(seed))
        whole, read = explore(graph), explore_as_read(graph)
        assert [*read.steps] == [*whole.steps]
        assert dict(read.steps) == dict(whole.steps)
