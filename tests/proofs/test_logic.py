"""Temporal logic: against definitions on single runs, a second algorithm, and known traps."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.core.explore import Step, TooLarge, Trace, explore
from proofs.core.results import Status
from proofs.logic import (
    FairClass,
    Fairness,
    FormulaChecker,
    Runs,
    Strength,
    graph_of,
    parse,
)
from proofs.logic.explanations import explain
from proofs.logic.formulas import Atom, Exists, Formula, Not, negated
from proofs.logic.parsing import DEEPEST, unknown
from proofs.logic.tableau import Tableau
from pxp_fsm.errors import UsageError
from tests.oracles.ctl_fixpoints import satisfying
from tests.oracles.graphs import (
    NAMES,
    Graph,
    complete_runs,
    random_branching,
    random_graph,
    random_path,
)
from tests.oracles.runs import satisfied
from tests.sampling import first_and_rest

VOCABULARY = frozenset(NAMES)


def checker(graph: Graph, runs: Runs = Runs.COMPLETE, *fair: FairClass[int]) -> FormulaChecker:
    return FormulaChecker(graph_of(graph, explore(graph), Fairness(fair), VOCABULARY), runs)


def test_which_kinds_of_states_follow_is_what_the_edges_say() -> None:
    for seed in range(20):
        graph = random_graph(random.Random(seed))
        own = checker(graph)
        kinds, known = own._kinds([Atom("p"), Atom("q")])
        following = own._following(kinds, len(known))
        order = list(explore(graph).steps)
        kind_of = dict(zip(order, kinds, strict=True))
        for kind in range(len(known)):
            after = {kind_of[t] for s in order if kind_of[s] == kind for t in graph.edges[s]}
            assert following(kind) == sorted(after), seed


def on_run(graph: Graph, formula: Formula, run: Sequence[int], cycle: int) -> bool:
    """Whether a run of the graph satisfies the formula, by its definition."""
    return satisfied(formula, run, cycle, lambda atom, s: _true(graph, atom, s))


def _true(graph: Graph, atom: Formula, state: int) -> bool:
    return isinstance(atom, Atom) and atom.name in graph.true[state]


def states_of(trace: Trace[int]) -> list[int]:
    return [trace.start, *(step.target for step in trace.steps)]


def breaks(graph: Graph, formula: Formula, trace: Trace[int], cycle: int) -> bool:
    """Whether the run is one of the graph, and breaks the formula; of a prefix, every run on."""
    states = states_of(trace)
    assert all(target in graph.edges[source] for source, target in pairwise(states))
    if cycle:
        assert states[-1] == states[-1 - cycle]
        return not on_run(graph, formula, states[:-1], cycle)
    ahead = Graph(graph.edges, graph.true)
    return all(
        not on_run(graph, formula, [*states[:-1], *run], loop)
        for run, loop in runs_from(ahead, states[-1])
    )


def runs_from(graph: Graph, state: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Complete runs of up to 5 states from `state`."""
    order = [state, *(s for s in range(len(graph.edges)) if s != state)]
    place = {s: index for index, s in enumerate(order)}
    renamed = Graph(
        tuple(tuple(place[t] for t in graph.edges[s]) for s in order),
        tuple(graph.true[s] for s in order),
    )
    for run, loop in complete_runs(renamed, 5):
        yield tuple(order[s] for s in run), loop


@pytest.mark.parametrize("seeds", first_and_rest(60, 2_400))
def test_verdicts_and_traces_agree_with_the_definition_on_single_runs(seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_path(chance, 3)
        verdict = checker(graph).check(formula)
        if verdict.status is Status.FAILS:
            assert verdict.trace is not None
            assert breaks(graph, formula, verdict.trace, verdict.cycle), (seed, formula, graph)
            continue
        assert verdict.status is Status.HOLDS
        for run, cycle in complete_runs(graph, 6):
            assert on_run(graph, formula, run, cycle), (seed, formula, graph, run, cycle)


@pytest.mark.parametrize("seeds", first_and_rest(60, 2_400))
def test_branching_time_agrees_with_fixpoints(seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance), random_branching(chance, 3)
        expected = 0 in satisfying(graph, formula)
        found = checker(graph).check(formula).status is Status.HOLDS
        assert found is expected, (seed, formula, graph)


@pytest.mark.parametrize("runs", list(Runs))
@pytest.mark.parametrize("seeds", first_and_rest(60, 400))
def test_finite_and_infinite_runs_are_told_apart(runs: Runs, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_path(chance, 2)
        verdict = checker(graph, runs).check(formula)
        counting = [
            on_run(graph, formula, run, cycle)
            for run, cycle in complete_runs(graph, 6)
            if runs is Runs.COMPLETE or (cycle > 0) is (runs is Runs.INFINITE)
        ]
        if not counting:
            assert verdict.status is Status.VACUOUS, (seed, graph)
        elif verdict.status is Status.HOLDS:
            assert all(counting), (seed, formula, graph)
        else:
            assert verdict.status is Status.FAILS, (seed, formula, graph)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("seeds", "least_met"),
    [(range(600), 25), pytest.param(range(600, 1_800), 50, marks=pytest.mark.deep)],
    ids=["few", "many"],
)
def test_a_lasso_has_a_shortest_stem_then_a_shortest_cycle(seeds: range, least_met: int) -> None:
    met = 0
    for seed in seeds:
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_path(chance, 2)
        verdict = checker(graph, Runs.INFINITE).check(formula)
        if verdict.status is not Status.FAILS or verdict.trace is None or not verdict.cycle:
            continue
        met += 1
        found = (len(verdict.trace.steps) - verdict.cycle, verdict.cycle)
        least = min(
            (len(run) - cycle, cycle)
            for run, cycle in complete_runs(graph, 7)
            if cycle and not on_run(graph, formula, run, cycle)
        )
        assert found <= least, (seed, formula, graph)
    assert met > least_met


def test_a_safety_trace_is_a_shortest_one() -> None:
    line = Graph(((1, 2), (3,), (4,), (4,), (4,)), tuple(map(frozenset, ("p", "p", "p", "p", ""))))
    verdict = checker(line).check(parse("G p"))
    assert verdict.trace is not None
    assert states_of(verdict.trace) == [0, 2, 4]
    verdict = checker(line).check(parse("X X X q | p"))
    assert verdict.status is Status.HOLDS


SAID = {
    "true": "true",
    "false": "false",
    "p": "p",
    "!p": "not p",
    "!(p & q)": "not [p and q]",
    "p & X q": "p and [there is a next state, and there q]",
    "p | q": "p or q",
    "p -> F q": "if p, then at some time from here on: q",
    "EF p": "on some run, at some time from here on: p",
    "AG p": "on every run, in every state from here on: p",
    "G p": "in every state from here on: p",
    "p U q": "[p] until [q], which comes",
    "p W q": "[p] until [q], or for ever",
    "p R q": "q up to where also p, or for ever",
    "N p": "if there is a next state, there p",
    "Y p": "there was a state before, and there p",
    "Z p": "if there was a state before, there p",
    "O p": "at some time up to here: p",
    "H p": "in every state up to here: p",
    "p S q": "p ever since q, which has been",
    "p T q": "q ever since also p, or always up to here",
}


@pytest.mark.parametrize("text", SAID)
def test_a_formula_says_in_words_what_it_means(text: str) -> None:
    assert explain(parse(text)) == SAID[text]


TRAPS = {
    "true for ever on a cycle of two": (((1,), (0,)), ("", ""), "A G true", Status.HOLDS),
    "eventually, where branches join": (
        ((1, 2), (3,), (3,), ()),
        ("", "", "", "p"),
        "F p",
        "HOLDS",
    ),
    "eventually, on one branch only": (((1, 2), (), ()), ("", "p", ""), "F p", Status.FAILS),
    "until, where a run ends first": (((1,), ()), ("p", "p"), "p U q", Status.FAILS),
    "weak until, where a run ends first": (((1,), ()), ("p", "p"), "p W q", Status.HOLDS),
    "next, at the end of a run": (((),), ("",), "X true", Status.FAILS),
    "weak next, at the end of a run": (((),), ("",), "N false", Status.HOLDS),
    "always next always, at the end of a run": (((1,), ()), ("p", "p"), "G X G p", Status.FAILS),
    "never a next at all, at the end of a run": (((1,), ()), ("", ""), "F N F p", Status.HOLDS),
    "a state that leads to itself": (((0,),), ("p",), "G F p & G p", Status.HOLDS),
    "always eventually on a stem": (((1,), (1,)), ("p", ""), "G F p", Status.FAILS),
    "eventually always after a stem": (((1,), (1,)), ("", "p"), "F G p", Status.HOLDS),
    "AF AG is more than F G": (((0, 1), (2,), (2,)), ("p", "", "p"), "AF AG p", Status.FAILS),
    "F G where AF AG fails": (((0, 1), (2,), (2,)), ("p", "", "p"), "F G p", Status.HOLDS),
    "eventually next is more than next": (((1,), (2,), (2,)), ("", "", "p"), "F X p", "HOLDS"),
    "always next is more than next": (((1,), (2,), ()), ("", "p", ""), "G N p", Status.FAILS),
    "a way out from everywhere": (((0, 1), ()), ("", "p"), "AG EF p", Status.HOLDS),
    "a way out is not taken for ever": (((0, 1), ()), ("", "p"), "AF p", Status.FAILS),
}


def test_a_node_waits_for_what_its_kind_and_its_valuation_wait_for() -> None:
    ring = Graph(((1,), (2,), (0,)), tuple(map(frozenset, ("p", "q", "pq"))))
    product = checker(ring)._product(Tableau(parse("G F p & G F (q & X !q)")))
    values = product.nodes // product.graph.states
    waits = [
        product.moves.settles(product.kinds[n // values], n % values) for n in range(product.nodes)
    ]
    assert [product.settled(node) for node in range(product.nodes)] == waits
    assert len({*waits}) > 2


def test_of_many_names_one_of_each_form_is_named() -> None:
    names = [*(f"m@S{number}" for number in range(30)), *(f"m.r{n}" for n in range(9)), "over"]
    error = str(unknown(["nobody"], names, "there is no"))
    assert error.endswith("there are 40 names like: m.r0, m@S0, over (pxp help logic)")


@pytest.mark.parametrize("name", TRAPS)
def test_traps_of_other_checkers(name: str) -> None:
    edges, true, formula, expected = TRAPS[name]
    graph = Graph(edges, tuple(frozenset(each.split()) for each in true))
    assert checker(graph).check(parse(formula)).status == expected


def leaving(graph: Graph, state: int, strength: Strength) -> FairClass[int]:
    """The class of steps out of `state` to another one."""
    return FairClass(strength, lambda source, step: source == state and step.target != state)


def entering(state: int, strength: Strength) -> FairClass[int]:
    """The class of steps to `state`."""
    return FairClass(strength, lambda _source, step: step.target == state)


def test_a_cycle_that_is_fair_on_its_way_goes_no_further() -> None:
    """Out of 1, as it must, where nothing leads to 2: it need not go there again for that."""
    graph = Graph(((0, 1, 2), (0,), ()), tuple(map(frozenset, ("", "", "p"))))
    back = FairClass[int](Strength.STRONG, lambda source, _step: source == 1)
    out = FairClass[int](Strength.WEAK, lambda source, step: step.target == 2)
    verdict = checker(graph, Runs.COMPLETE, back, out).check(parse("F p"))
    assert verdict.status is Status.FAILS
    assert verdict.trace is not None and verdict.cycle == 3
    assert verdict.trace.labels == ("0-0", "0-1", "1-0")


def test_more_promises_than_have_bits_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    back = Graph(((1,), (0,)), (frozenset({"p"}), frozenset({"q"})))
    several = parse("F G p | F G q")
    assert checker(back, Runs.INFINITE).check(several).status is Status.FAILS
    monkeypatch.setattr("proofs.logic.checking.MOST_EXACT", 0)
    monkeypatch.setattr("proofs.logic.product.MOST_WAITING", 1)
    with pytest.raises(TooLarge, match="2 different U, F and M may be put off for ever"):
        checker(back, Runs.INFINITE).check(several)


def test_an_unfair_loop_is_no_counterexample() -> None:
    loop = Graph(((0, 1), ()), (frozenset(), frozenset({"p"})))
    assert checker(loop).check(parse("F p")).status is Status.FAILS
    weak = leaving(loop, 0, Strength.WEAK)
    assert checker(loop, Runs.COMPLETE, weak).check(parse("F p")).status is Status.HOLDS


def test_strong_fairness_asks_for_what_is_enabled_again_and_again() -> None:
    back = Graph(((1,), (0, 2), ()), tuple(map(frozenset, ("", "", "p"))))
    out = FairClass[int](Strength.WEAK, lambda source, step: step.target == 2)
    assert checker(back, Runs.COMPLETE, out).check(parse("F p")).status is Status.FAILS
    out = FairClass[int](Strength.STRONG, lambda source, step: step.target == 2)
    assert checker(back, Runs.COMPLETE, out).check(parse("F p")).status is Status.HOLDS


def test_a_fair_cycle_takes_what_it_must_and_still_waits_for_nothing() -> None:
    """From 1 a cycle leads over 2, where p is true, and one over 3; 4 is left behind."""
    graph = Graph(((1, 4), (3, 2), (1,), (1,), ()), tuple(map(frozenset, ("", "", "p", "", ""))))
    classes = [entering(state, Strength.STRONG) for state in (3, 4)]
    verdict = checker(graph, Runs.INFINITE, *classes).check(parse("F G !p"))
    assert verdict.trace is not None
    assert {2, 3} <= {step.target for step in verdict.trace.steps[-verdict.cycle :]}
    assert breaks(graph, parse("F G !p"), verdict.trace, verdict.cycle)


@pytest.mark.deep
def test_a_fair_lasso_is_real_and_fair() -> None:
    met = 0
    for seed in range(1_500):
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 5), random_path(chance, 2)
        classes = [entering(chance.randrange(5), chance.choice(list(Strength))) for _ in range(2)]
        verdict = checker(graph, Runs.INFINITE, *classes).check(formula)
        if verdict.trace is None or not verdict.cycle:
            continue
        met += 1
        assert breaks(graph, formula, verdict.trace, verdict.cycle), (seed, formula, graph)
        round_ = verdict.trace.steps[-verdict.cycle :]
        sources = [verdict.trace.start, *(s.target for s in verdict.trace.steps)][
            -verdict.cycle - 1 : -1
        ]
        for one in classes:
            taken = any(one.contains(s, step) for s, step in zip(sources, round_, strict=True))
            enabled = [
                any(one.contains(source, Step(f"{source}-{t}", t)) for t in graph.edges[source])
                for source in sources
            ]
            if one.strength is Strength.STRONG:
                assert taken or not any(enabled), (seed, formula, graph)
            else:
                assert taken or not all(enabled), (seed, formula, graph)
    assert met > 50


def test_a_formula_and_its_negation_never_both_hold_unless_there_is_no_run() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        graph, formula = random_graph(chance, 4), random_path(chance, 3)
        one = checker(graph).check(formula).status
        other = checker(graph).check(negated(formula)).status
        assert not (one is other is Status.HOLDS), (seed, formula, graph)
        some = checker(graph).check(Exists(formula)).status
        assert (some is Status.HOLDS) is (other is Status.FAILS), (seed, formula, graph)


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("p U", "ends too early", "a proposition"),
        ("p & & q", "at character 5", "a temporal operator"),
        ("(p", "ends too early", ")"),
        ("AG p q", "at character 6", "U, R, W or M"),
        ("", "ends too early", "true"),
        ("p ^ q", "at character 3", "->"),
        ("p <- q", "at character 3", "<->"),
        ('"p', "at character 1", "a proposition in quotes"),
        ("E[p U q]", "at character 2", "("),
        ("p\x1b[2J", "at character 2", "&"),
        ("p)", "at character 2", "the end"),
        ("p ∧ q", "at character 3", "write & for ∧"),
        ("G p → q", "at character 5", "write -> for →"),
        ("[] p", "at character 1", "write G for []"),
        ("p and q", "at character 3", "write & for and"),
        ("not p", "at character 5", "write ! for not"),
        ("p V q", "at character 3", "write R for V"),
        ("'p'", "at character 1", "write \" for '"),
        ("\u0430 U b", "at character 1", "CYRILLIC SMALL LETTER A"),
        ("p \u200b q", "at character 3", "ZERO WIDTH SPACE"),
        ("number == 3", "at character 8", "write = for =="),
        ("number > -q", "at character 8", "with a whole number"),
        ("number>=3=4", "at character 10", "the end"),
        ("p U & q", "at character 5", "a comparison (number>=3)"),
    ],
)
def test_a_mistyped_formula_says_where_and_what_was_expected(
    text: str, where: str, expected: str
) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert where in str(raised.value)
    assert expected in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_comparison_is_one_proposition_however_it_is_spaced() -> None:
    assert parse("G number >= 3") == parse("G number>=3") == parse('G "number>=3"')
    assert parse("p<->q") == parse("p <-> q")


PIECES = st.sampled_from(
    [
        *("p", "1.RATIFY", "(", ")", "!", "&", "|", "->", "<->", "U", "G", "AF", "X", " ", "E"),
        *("number>3", "∧", "[]", "'", '"', "=", "<", "\n", "\x00", "0", "é", "\u202e", "not"),
    ]
)


@given(st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=20)))
def test_whatever_is_written_is_a_formula_or_an_error_in_words(text: str) -> None:
    try:
        parse(text)
    except UsageError as error:
        told = str(error)
        assert told.isprintable()
        assert "expected there" in told or "too" in told


@pytest.mark.parametrize("text", ["p " * 9_000, "!" * 3_000 + "p", "<->".join("p" * 40)])
def test_a_formula_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"too large|too deeply|cannot be read"):
        parse(text)


def test_a_formula_may_be_as_deep_as_is_said() -> None:
    parse("!" * (DEEPEST - 1) + "p")
    with pytest.raises(UsageError, match=f"too deeply: at most {DEEPEST} levels"):
        parse("!" * DEEPEST + "p")


def test_long_formulas_of_one_operator_are_read() -> None:
    parse(" & ".join(["p"] * 2_000))
    assert parse("(" * 3_000 + "p" + ")" * 3_000) == parse("p")


def test_operators_bind_as_documented() -> None:
    for short, full in [
        ("p & q | p", "(p & q) | p"),
        ("p -> q -> p", "p -> (q -> p)"),
        ("p U q U p", "p U (q U p)"),
        ("! p & q", "(! p) & q"),
        ("G p & q", "(G p) & q"),
        ("AG p -> q", "(A (G p)) -> q"),
        ("p | q -> p", "(p | q) -> p"),
        ("X p U q", "(X p) U q"),
    ]:
        assert parse(short) == parse(full), short


def test_an_unknown_proposition_is_refused_by_name() -> None:
    graph = Graph(((),), (frozenset({"p"}),))
    with pytest.raises(UsageError, match=r"no reachable state has 'r'.*there are: p, q"):
        checker(graph).check(parse("G (p -> r)"))
    graph = Graph(((),), (frozenset({"1.RATIFY"}),))
    with pytest.raises(UsageError, match=r"did you mean 1\.RATIFY"):
        checker(graph).check(parse("F 1.ratfy"))
    with pytest.raises(UsageError, match="did you mean true"):
        checker(graph).check(parse("F True"))


def test_many_temporal_operators_are_checked() -> None:
    graph = Graph(((0,),), (frozenset({"p"}),))
    many = " & ".join("F (" + "X " * count + "p & G F p)" for count in range(14))
    assert checker(graph).check(parse(many)).status is Status.HOLDS
    assert checker(graph).check(parse(f"{many} & F G !p")).status is Status.FAILS


def test_what_an_automaton_is_too_large_for_is_told() -> None:
    graph = Graph(((0, 1), (0, 1)), (frozenset({"p"}), frozenset({"q"})))
    many = " | ".join(
        f"G F (p & {'X ' * count} q) & F G (q | {'X ' * count} p)" for count in range(20)
    )
    with pytest.raises(TooLarge, match="formula"):
        checker(graph).check(parse(many))


def test_double_negation_is_kept_out_of_formulas() -> None:
    assert negated(Not(parse("p"))) == parse("p")


def test_a_word_of_another_notation_is_told_where_it_stands() -> None:
    with pytest.raises(UsageError, match="write ! for not"):
        parse("p & not q")
