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
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.refinement.behaviour import behaviour_of, joint
from proofs.refinement.formulas import Can, TooLong, not_answered, telling_apart
from proofs.refinement.partition import Labelled, refined
from proofs.refinement.relations import SIMULATION, STRONG, TRACES, WEAK, Refinement
from proofs.refinement.saturation import saturated
from proofs.refinement.simulation import meet, play
from proofs.refinement.traces import first_missing
from proofs.systems import Member, System
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


Edges = list[tuple[int, int, int]]
"""Steps between states that are numbers: from, label and to; label 0 is hidden."""


def labelled(states: int, edges: Edges) -> Labelled:
    """A graph for the kernels."""
    ordered = sorted(edges)
    offsets = [sum(edge[0] < state for edge in ordered) for state in range(states + 1)]
    return Labelled(
        Interpreter(),
        array("i", offsets),
        array("i", [to for _, _, to in ordered]),
        array("i", [label for _, label, _ in ordered]),
    )


def drawn(chance: random.Random, states: int, steps: int, labels: int) -> Edges:
    return [
        (chance.randrange(states), chance.randrange(1, labels + 1), chance.randrange(states))
        for _ in range(steps)
    ]


@pytest.mark.parametrize("knows_all", [False, True])
def test_a_shortest_path_that_another_state_cannot_do_is_found(knows_all: bool) -> None:
    """With sets that are left out because a state of them simulates, and without."""
    lengths = Counter[int | None]()
    for seed in range(80):
        edges = drawn(random.Random(seed), 7, 18, 2)
        graph = as_graph(7, edges)
        simulated = largest(graph, graph.after, both_ways=False)

        def is_simulated(
            one: int, other: int, known: frozenset[tuple[int, int]] = simulated
        ) -> bool:
            return one == other or (knows_all and (one, other) in known)

        path = first_missing(labelled(7, [*{*edges}]), 0, 1, is_simulated)
        assert (None if path is None else len(path)) == missing(graph, 0, 1), seed
        lengths[None if path is None else len(path)] += 1
        if path is not None:
            sources = (0, *(to for _, to in path))
            assert all((state, *step) in edges for state, step in zip(sources, path, strict=False))
            assert missing_trace(graph, 0, 1, [str(label) for label, _ in path])
    assert lengths[None] and lengths[1] and lengths[3]


def as_graph(states: int, edges: Edges) -> Graph:
    """The same for the definitions."""
    steps = ((state, str(label) if label else HIDDEN, to) for state, label, to in edges)
    return Graph(frozenset(steps), frozenset(range(states)))


def test_classes_are_those_of_refinement_round_by_round() -> None:
    """Split by what steps lead to, until nothing changes; chains take many rounds."""
    for seed in range(40):
        chance, states = random.Random(seed), 30
        edges = drawn(chance, states, chance.randint(20, 60), 2)
        if seed % 2:
            edges += [(state, 1, state + 1) for state in range(states - 1)]
        classes = [0] * states
        while True:
            signs = [
                (classes[state], frozenset((a, classes[to]) for at, a, to in edges if at == state))
                for state in range(states)
            ]
            numbers = {sign: number for number, sign in enumerate(dict.fromkeys(signs))}
            finer = [numbers[sign] for sign in signs]
            if len(numbers) == len({*classes}):
                break
            classes = finer
        partition = refined(labelled(states, edges))
        pairs = {*zip(partition.class_of, classes, strict=True)}
        assert len(pairs) == partition.classes == len({*classes}), seed


def test_the_weak_steps_are_those_of_the_definition_each_once() -> None:
    """Of small graphs, and of some that take more room than there is at first."""
    for seed in range(40):
        chance = random.Random(seed)
        states = chance.randint(1, 8)
        edges = drawn(chance, states, 2 * states, 2)
        edges += [(at, 0, to) for at, _, to in drawn(chance, states, states, 1)]
        check_weak_steps(states, [*{*edges}])
    for states in (16, 24):  # all lead to all: at 16 the room ends where a state ends
        check_weak_steps(states, [(one, 0, to) for one in range(states) for to in range(states)])
    chance = random.Random(1)
    far = chance.sample(range(1, 3_000), 600)  # they collide in a table of 1,024, and outgrow it
    graph = saturated(labelled(3_000, [(0, 0, to) for to in far] + [(0, 1, 1)]))
    assert [to for label, to in graph.edges(0) if label == 0] == sorted([0, *far])


def check_weak_steps(states: int, edges: Edges) -> None:
    graph, found = as_graph(states, edges), saturated(labelled(states, edges))
    for state in range(states):
        due = [
            (label, to)
            for label in range(3)
            for to in sorted(graph.weakly(state, str(label) if label else HIDDEN))
        ]
        assert found.edges(state) == due


class Noting(Interpreter):
    """It notes how large the arrays are that it makes."""

    def __init__(self) -> None:
        self.made = list[tuple[str, int]]()

    def new(self, kind: str, count: int) -> Any:
        self.made.append((kind, count))
        return super().new(kind, count)


def test_the_pairs_of_a_play_are_those_that_can_be_met_each_once() -> None:
    """And each has its answers, step by step."""
    for seed in range(40):
        chance = random.Random(seed)
        states = chance.randint(4, 14)
        edges = [*{*drawn(chance, states, 3 * states, 3)}]
        graph = labelled(states, edges)
        met = [(0, 1)]
        answers: list[list[tuple[int, int]]] = []
        for left, right in met:
            own = [
                (to, answer)
                for label, to in graph.edges(left)
                for known, answer in graph.edges(right)
                if known == label
            ]
            answers.append(own if left != right else [])
            met += [pair for pair in dict.fromkeys(answers[-1]) if pair not in met]
        size = 1 << (2 * len(met) - 1).bit_length()
        firsts, seconds, slots = (array("i", bytes(4 * size)) for _ in range(3))
        room = sum(map(len, answers))
        offsets, targets = array("i", bytes(4 * size)), array("i", bytes(4 * room))
        at, (firsts[0], seconds[0]) = array("q", bytes(16)), met[0]
        steps = graph.offsets, graph.targets, graph.labels
        assert meet(*steps, firsts, seconds, offsets, targets, slots, at) == 0
        assert [*zip(firsts, seconds, strict=True)][: at[0]] == met, seed
        for number, own in enumerate(answers):
            places = range(offsets[number], offsets[number + 1])
            assert [met[targets[place]] for place in places] == own
        several = any(
            sum(known == label for known, _ in graph.edges(right)) > 1
            for left, right in met
            if left != right
            for label, _ in graph.edges(left)
        )
        assert at[1] == several
        simulated = largest(as_graph(states, edges), as_graph(states, edges).after, both_ways=False)
        assert play(graph, 0, 1).simulated == ((0, 1) in simulated), seed


def test_a_play_of_many_pairs_has_a_slot_free_for_each() -> None:
    edges = [(side + 2 * place, 1, side + 2 * place + 2) for place in range(40) for side in (0, 1)]
    edges += [(0, 1, 2 * place) for place in range(40)]
    edges += [(1, 1, 2 * place + 1) for place in range(40)]
    graph = labelled(82, edges)
    graph = Labelled(noting := Noting(), graph.offsets, graph.targets, graph.labels)
    assert len(play(graph, 0, 1).firsts) > 1_024
    rooms = [noting.made[place : place + 6] for place in (0, 6)]
    assert [room[4][1] / room[0][1] for room in rooms] == [2, 2]


def test_what_is_not_answered_may_take_too_many_words() -> None:
    """The two answers to each step fail for reasons of their own."""
    for depth, fits in ((3, True), (6, False)):
        edges, count = Edges(), depth + 1
        edges += [(state, 1, state + 1) for state in range(depth)]
        edges += [(depth, label, depth) for label in range(2, 2 + 2**depth)]
        level = [(count, range(2, 2 + 2**depth))]
        count += 1
        for _ in range(depth):
            further = list[tuple[int, range]]()
            for state, lacks in level:
                for half in (lacks[: len(lacks) // 2], lacks[len(lacks) // 2 :]):
                    edges.append((state, 1, count))
                    further.append((count, half))
                    count += 1
            level = further
        for state, lacks in level:
            edges += [(state, label, state) for label in range(2, 2 + 2**depth)]
            edges = [edge for edge in edges if edge[0] != state or edge[1] not in lacks]
        found = play(labelled(count, edges), 0, depth + 1)
        assert not found.simulated
        if fits:
            assert not_answered(found, 0, depth + 1).size() == 2 ** (depth + 1) - 1
        else:
            with pytest.raises(TooLong):
                not_answered(found, 0, depth + 1)


def test_that_a_guard_is_chosen_nobody_observes() -> None:
    one = table("one", "A -> B receive Y\n B -> [A] send X if G")
    other = table("other", "C -> D receive X\n D -> [E] send Y")
    third = table("third", "F -> [H] send X")
    members = tuple(
        Member(name, automaton)
        for name, automaton in zip(("one", "other", "third"), (one, other, third), strict=True)
    )
    graph = behaviour_of(System(members), Effort())
    assert [graph.actions[number] for number in graph.internal] == ["one G/+X"]


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
