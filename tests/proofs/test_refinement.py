"""Refinement and equivalence: verdicts are those of the definitions, and what fails is shown."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from automata.fa.nfa import NFA

import pxp_fsm as pxp
from proofs.core.kernels import Compiled, Interpreter
from proofs.core.results import Status
from proofs.refinement.behaviour import joint
from proofs.refinement.formulas import Can, telling_apart
from proofs.refinement.partition import Labelled, refined
from proofs.refinement.relations import SIMULATION, STRONG, TRACES, WEAK, Refinement
from proofs.refinement.traces import first_missing
from tests.oracles.equivalences import HIDDEN, Answers, Graph, largest, missing
from tests.proofs.random_behaviours import Drawn, behaviour, plain, random_pair
from tests.proofs.random_systems import random_channel, random_system
from tests.proofs.text_tables import table
from tests.sampling import sampled


def verdicts(one: Drawn, other: Drawn, hidden: bool) -> Refinement:
    patterns = ("t",) if hidden and any(edge[1] == "t" for edge in one[1] + other[1]) else ()
    return Refinement.of(behaviour("one", one), behaviour("other", other), patterns)


def check_pair(seed: int) -> None:
    """Each relation holds exactly where its definition says so, and what is shown tells apart."""
    one, other = random_pair(seed)
    hidden = seed % 2 == 0
    graph, first, second = plain(one, other, hidden)
    comparison = verdicts(one, other, hidden)
    found = {name: comparison.decide(name) for name in (TRACES, SIMULATION, STRONG, WEAK)}
    shortest = missing(graph, first, second)
    strong = largest(graph, graph.after, both_ways=True)
    weak = largest(graph, graph.weakly, both_ways=True)
    assert (found[TRACES].status is Status.HOLDS) == (shortest is None), seed
    similar = (first, second) in largest(graph, graph.weakly, both_ways=False)
    assert (found[SIMULATION].status is Status.HOLDS) == similar, seed
    assert (found[STRONG].status is Status.HOLDS) == ((first, second) in strong), seed
    assert (found[WEAK].status is Status.HOLDS) == ((first, second) in weak), seed
    if shortest is not None:
        trace = found[TRACES].trace
        assert trace is not None
        observed = [one for one in trace.labels if not (hidden and one == "t")]
        ended = "have ended" in found[TRACES].reason
        assert len(observed) + ended == shortest
        assert missing_trace(graph, first, second, [*observed, *(["(ended)"] if ended else [])])
    for name, answers in ((SIMULATION, graph.weakly), (STRONG, graph.after), (WEAK, graph.weakly)):
        verdict = found[name]
        if (
            verdict.status is Status.FAILS
            and verdict.trace is None
            and "too long" not in verdict.reason
        ):
            formula = read(verdict.reason.split("it is true: ")[1])
            assert is_true(graph, answers, first, formula), (seed, verdict.reason)
            assert not is_true(graph, answers, second, formula), (seed, verdict.reason)


def missing_trace(graph: Graph, first: int, second: int, actions: list[str]) -> bool:
    """Whether the first can do these actions, and the second cannot."""
    ours, theirs = graph.weakly(first, HIDDEN), graph.weakly(second, HIDDEN)
    for action in actions:
        ours = frozenset(to for one in ours for to in graph.weakly(one, action))
        theirs = frozenset(to for one in theirs for to in graph.weakly(one, action))
    return bool(ours) and not theirs


Parsed = tuple[str, str, list["Parsed"]]


def read(words: str) -> Parsed:
    """A formula from its words: `can A then (F and G)`."""
    can, _, rest = words.partition(" ")
    action, _, rest = rest.partition(" then ")
    if not rest:
        return can, action, []
    if rest.startswith("("):
        parts, depth, begin = [], 0, 1
        for place, letter in enumerate(rest):
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if depth == 1 and rest[place : place + 5] == " and ":
                parts.append(rest[begin:place])
                begin = place + 5
        return can, action, [read(part) for part in [*parts, rest[begin:-1]]]
    return can, action, [read(rest)]


def is_true(graph: Graph, answers: Answers, state: int, formula: Parsed) -> bool:
    """What the formula means, by its definition."""
    can, action, then = formula
    found = any(
        all(is_true(graph, answers, to, part) for part in then) for to in answers(state, action)
    )
    return found == (can == "can")


@pytest.mark.parametrize("seed", sampled(range(120), 3))
def test_verdicts_are_those_of_the_definitions(seed: int) -> None:
    check_pair(seed)


@pytest.mark.deep
def test_verdicts_of_many_pairs_are_those_of_the_definitions() -> None:
    for seed in range(120, 2_000):
        check_pair(seed)


@pytest.mark.parametrize("seed", range(30))
def test_compiled_and_interpreted_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = random_pair(seed)
    interpreted = verdicts(one, other, hidden=True)
    monkeypatch.setattr("proofs.refinement.behaviour.COMPILE_FROM", 0)
    monkeypatch.setattr("proofs.refinement.behaviour.Compiled", lambda: Compiled(checked=True))
    compiled = verdicts(one, other, hidden=True)
    assert isinstance(compiled.pair.runner, Compiled)
    for name in (TRACES, SIMULATION, STRONG, WEAK):
        left, right = interpreted.decide(name), compiled.decide(name)
        assert (left.status, left.reason) == (right.status, right.reason)
        assert str(left.trace) == str(right.trace)


@pytest.mark.parametrize("seed", range(40))
def test_trace_inclusion_is_that_of_automata_lib(seed: int) -> None:
    """Inclusion of the languages of prefixes, by another library's automata."""
    one, other = random_pair(seed)
    left, right = (as_nfa(drawn) for drawn in (one, other))
    included = verdicts(one, other, hidden=True).decide(TRACES).status is Status.HOLDS
    assert included == (left | right == right)


@pytest.mark.parametrize("knows_all", [False, True])
def test_a_shortest_path_that_another_state_cannot_do_is_found(knows_all: bool) -> None:
    """With sets that are left out because a state of them simulates, and without."""
    lengths = Counter[int | None]()
    for seed in range(80):
        chance, states = random.Random(seed), 7
        drawn = {
            (chance.randrange(states), chance.randint(1, 2), chance.randrange(states))
            for _ in range(18)
        }
        graph = Graph(
            frozenset((state, str(label), to) for state, label, to in drawn),
            frozenset(range(states)),
        )
        edges = sorted(drawn)
        offsets = array("q", [sum(edge[0] < state for edge in edges) for state in range(8)])
        targets = array("q", [to for _, _, to in edges])
        labelled = Labelled(
            Interpreter(), offsets, targets, array("q", [label for _, label, _ in edges])
        )
        simulated = largest(graph, graph.after, both_ways=False)

        def is_simulated(
            one: int, other: int, known: frozenset[tuple[int, int]] = simulated
        ) -> bool:
            return one == other or (knows_all and (one, other) in known)

        path = first_missing(labelled, 0, 1, is_simulated)
        assert (None if path is None else len(path)) == missing(graph, 0, 1), seed
        lengths[None if path is None else len(path)] += 1
        if path is not None:
            sources = (0, *(to for _, to in path))
            assert all((state, *step) in drawn for state, step in zip(sources, path, strict=False))
            assert missing_trace(graph, 0, 1, [str(label) for label, _ in path])
    assert lengths[None] and lengths[1] and lengths[3]


def as_nfa(drawn: Drawn) -> NFA:
    """The prefixes of what it does, and whether it ended, as a language; t is the empty word."""
    states, edges, ended = drawn
    moves: dict[object, dict[str, set[object]]] = {state: {} for state in (*range(states), "end")}
    for source, label, to in edges:
        moves[source].setdefault("" if label == "t" else label, set()).add(to)
    for state in ended:
        moves[state].setdefault("e", set()).add("end")
    return NFA(
        states=set(moves),
        input_symbols={"a", "b", "e"},
        transitions=moves,
        initial_state=0,
        final_states=set(moves),
    )


def large_graph(chance: random.Random, states: int) -> Drawn:
    """A graph of many states, some of them alike, whose classes take many rounds to find."""
    edges = [(state, chance.choice("ab"), state + 1) for state in range(states - 1)]
    edges += [(state, "a", chance.randrange(states)) for state in range(0, states, 7)]
    edges += [(state, "t", state // 2) for state in range(0, states, 50)]
    return states, sorted(set(edges)), frozenset(range(states - 3, states))


def classes_of(states: int, edges: list[tuple[int, str, int]]) -> list[int]:
    """The classes of strong bisimilarity, as we compute them."""
    drawn = (states, edges, frozenset[int]())
    pair = joint(behaviour("one", drawn), behaviour("other", (1, [], frozenset())))
    partition = refined(Labelled(pair.runner, pair.offsets, pair.targets, pair.labels))
    return [int(partition.class_of[state]) for state in range(states)]


@pytest.mark.deep
def test_the_classes_of_large_graphs_are_those_of_bispy() -> None:
    """Another library's Paige-Tarjan, on the same graph with a node for each label on its way."""
    bispy = pytest.importorskip("bispy")
    networkx = pytest.importorskip("networkx")
    for seed in range(60):
        chance = random.Random(seed)
        states, edges, _ = large_graph(chance, chance.randint(2, 400))
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(states + len(edges)))
        for number, (source, _label, to) in enumerate(edges, start=states):
            graph.add_edges_from([(source, number), (number, to)])
        labels = [[states + n for n, e in enumerate(edges) if e[1] == label] for label in "abt"]
        begin = [tuple(range(states)), *(tuple(some) for some in labels if some)]
        theirs = bispy.compute_maximum_bisimulation(graph, begin)
        ours: dict[int, set[int]] = {}
        for state, number in enumerate(classes_of(states, edges)):
            ours.setdefault(number, set()).add(state)
        same = {frozenset(n for n in some if n < states) for some in theirs} - {frozenset()}
        assert same == {frozenset(some) for some in ours.values()}, seed


def test_a_chain_is_parted_in_as_many_rounds_as_it_has_states() -> None:
    """Each round tells one more state apart; the log says which and when."""
    size = 30
    drawn = (size, [(state, "a", state + 1) for state in range(size - 1)], frozenset[int]())
    shorter = (size - 1, drawn[1][:-1], frozenset[int]())
    comparison = verdicts(drawn, shorter, hidden=False)
    verdict = comparison.decide(TRACES)
    assert verdict.trace is not None
    assert len(verdict.trace.steps) == size - 1
    pair = comparison.pair
    partition = refined(Labelled(pair.runner, pair.offsets, pair.targets, pair.labels))
    assert partition.parted(*pair.starts) == size - 1
    formula: tuple[Can, ...] = (telling_apart(partition, *pair.starts),)
    depth = 0
    while formula:
        depth, formula = depth + 1, formula[0].then
    assert depth == size - 1


EXAMPLES = Path(__file__).parents[2] / "examples"
VERSIONS = EXAMPLES / "versions"


def statuses(first: object, second: object, *hide: str) -> list[str]:
    return [result.status.value for result in pxp.compare(first, second, hide=hide)]  # type: ignore[arg-type] # also what it refuses


def test_a_choice_that_is_made_too_early_shows_in_a_formula_alone() -> None:
    service, early = str(VERSIONS / "service.toml"), str(VERSIONS / "version_2.toml")
    traces, simulation, strong, weak = pxp.compare(service, early, hide=["!PLAN_*"])
    assert traces.status is Status.HOLDS
    assert simulation.trace is weak.trace is None
    assert simulation.reason.endswith(
        "can -ORDER then can +CONFIRM then (can +DELAYED and can +SHIPPED)"
    )
    assert "cannot" in weak.reason or "can +CONFIRM" in weak.reason
    assert strong.status is Status.FAILS
    assert statuses(early, service, "!PLAN_*")[:2] == ["HOLDS", "HOLDS"]


def test_ending_where_the_specification_goes_on_is_no_refinement() -> None:
    rows = [{"from": "A", "to": "B", "send": "X"}, {"from": "B", "to": "C", "receive": "X"}]
    once = pxp.build_automaton("once", rows, final=["C"])
    early = pxp.build_automaton("early", rows, final=["B", "C"])
    [result] = pxp.compare(early, once, "trace-inclusion")
    assert (result.trace and result.trace.labels) == ("+X",)
    assert result.reason == "the first can have ended here, and the second cannot"
    assert statuses(once, early)[:2] == ["HOLDS", "HOLDS"]


def test_systems_are_compared_over_their_channels() -> None:
    met = pxp.System.load("pxp")
    assert statuses(met, met) == ["HOLDS"] * 4
    buffered = met.over("fifo:1")
    losing = met.over("lossy:1")
    assert statuses(buffered, losing)[:2] == ["HOLDS", "HOLDS"]
    [found] = pxp.compare(losing, buffered, "trace-inclusion")
    assert (found.trace and found.trace.labels) == ("pxp1>pxp2 +INIT lost",)


def test_a_system_that_is_too_large_is_unknown() -> None:
    met = pxp.System.load("pxp", channel="fifo:2")
    found = pxp.compare(met, met, limit=3)
    assert [one.status for one in found] == [Status.UNKNOWN] * 4
    assert "more than 3 states" in found[0].reason


@pytest.mark.parametrize(
    ("first", "second", "relations", "hide", "error"),
    [
        ("pxp", "pxp", ("bisimulation",), (), "no relation 'bisimulation'"),
        ("pxp", "pxp", (), ("+TAKE*",), r"no action fits '\+TAKE\*'; there are: "),
        (str(EXAMPLES / "approval" / "approval.toml"), "pxp", (), (), "pxp is a table"),
        (3, "pxp", (), (), "compare takes a System"),
        ("pxp", "pxp", (), 3, "hide is a pattern or several"),
        ("pxp", "pxp", (), (3,), "hide is a pattern or several"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    first: Any, second: str, relations: tuple[str, ...], hide: Any, error: str
) -> None:
    with pytest.raises(pxp.PXPError, match=error):
        len(pxp.compare(first, second, *relations, hide=hide))


@pytest.mark.parametrize("seed", range(12))
def test_random_systems_are_bisimilar_to_themselves_and_their_traces_run(seed: int) -> None:
    """Real machines take what tells a system from the same with a row less."""
    chance = random.Random(seed)
    system = random_system(chance, guards=0.3).over(random_channel(chance))
    [strong, weak] = pxp.compare(system, system, "strong-bisimilarity", "weak-bisimilarity")
    assert strong.status is weak.status is Status.HOLDS
    other = random_system(random.Random(seed + 1), guards=0.3)
    for found in pxp.compare(system, other):
        assert found.status in (Status.HOLDS, Status.FAILS), found


def test_rules_are_looked_at_where_parameters_are_given() -> None:
    """Without them every choice is compared, and the result says so."""
    system = pxp.System.load("m=interact", "h=interact")
    first, second = (system.with_parameters({"n": n, "k": 1}) for n in (2, 3))
    free, *_ = pxp.compare(system, system, "trace-inclusion")
    assert free.assumptions == "whoever decides, nothing hidden"
    same, other = (pxp.compare(first, one, "trace-inclusion")[0] for one in (first, second))
    assert (same.assumptions, same.status.value) == ("nothing hidden", "HOLDS")
    assert other.status.value == "FAILS"


def test_the_second_one_too_is_told_by_what_it_alone_can_do() -> None:
    """Either has a trace that the other has not."""
    short = behaviour("short", (2, [(0, "a", 1)], frozenset({1})))
    long = behaviour("long", (3, [(0, "a", 1), (1, "b", 2)], frozenset({1, 2})))
    for one, other in ((short, long), (long, short)):
        verdict = Refinement.of(one, other, ()).decide(STRONG)
        assert verdict.status is Status.FAILS
        assert verdict.trace is not None
        assert verdict.trace.labels == ("a", "b")


def test_what_a_second_table_cannot_do_is_shown_and_what_is_asked_for_is_expected() -> None:
    one = table("one", "A -> B send X\nB -> [C] send Y\nB -> [C] send Z")
    other = table("other", "A -> B send X\nB -> [C] send Y")
    every = {result.name: result for result in pxp.compare(one, other)}
    for result in every.values():
        assert result.status is Status.FAILS and result.trace is not None
        assert result.trace.labels == ("+X", "+Z")
    required = [name for name, result in every.items() if result.expected is Status.HOLDS]
    assert required == [TRACES]
    assert every[SIMULATION].expected is None
    [asked] = pxp.compare(other, one, SIMULATION)
    assert (asked.status, asked.expected) == (Status.HOLDS, Status.HOLDS)
