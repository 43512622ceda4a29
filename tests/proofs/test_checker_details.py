"""What the checker of certificates does where no whole proof tells it: changes of it that lived."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import suppress
from itertools import chain, combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest

from proofs import recheck
from proofs.claims import certificates
from proofs.rules.prover import prove_tables
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.tables import builtin

EVERYTHING: dict[str, Any] = {
    "relations": None, "starts": "", "assume": [], "ghosts": {}, "while": "", "claims": [],
}  # fmt: skip


def asking(**more: Any) -> dict[str, Any]:
    """A table that is asked, and says by a rule which of two ways it goes."""
    return {
        "format": 1, "name": "one", "title": "One", "initial": "A", "final": ["YES", "NO"],
        "states": [{"name": "A"}, {"name": "B", "guards": ["Y", "N"]}],
        "rows": [
            {"from": "A", "to": "B", "receive": "ASK"},
            {"from": "B", "to": "YES", "guard": "Y", "event": "SAID_YES"},
            {"from": "B", "to": "NO", "guard": "N", "event": "SAID_NO"},
        ],
        "oracles": {"fine": {}},
        "guards": {"Y": {"when": "fine"}, "N": {"when": "else"}},
        **more,
    }  # fmt: skip


def obstacles(table: dict[str, Any], *never: str, **part: Any) -> dict[str, str]:
    claims = [{"name": text, "check": "never", "never": text} for text in never]
    return dict(prove_tables({"one": table}, {**EVERYTHING, "claims": claims, **part}).obstacles)


def test_an_oracle_may_say_either() -> None:
    assert obstacles(asking(), "one.at == YES", "one.at == NO", "one.at == A and over").keys() == {
        "one.at == YES",
        "one.at == NO",
    }


def test_ghosts_compare_numbers_of_a_table_alone() -> None:
    ghost = {"seen": {"type": "int", "init": 0, "step": "seen + 1 if seen < 5 else seen"}}
    assert obstacles(asking(), "seen < 0 or seen > 5", ghosts=ghost) == {}
    assert len(obstacles(asking(), "seen > 1", ghosts=ghost)) == 1


def test_members_of_enumerations_are_not_ordered() -> None:
    found = obstacles(asking(), "one.at < YES")
    assert "compares whole numbers" in found["one.at < YES"]


def test_a_name_stands_for_one_thing() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        recheck.Rules(asking(parameters={"fine": {"type": "bool"}}))
    first = asking(parameters={"most": {"min": 0}})
    second = asking(registers={"most": {"init": 0, "min": 0}})
    found = prove_tables(
        {"one": first, "other": second},
        {**EVERYTHING, "claims": [{"name": "it", "check": "never-stuck"}]},
    )
    assert "stands for two things" in found.obstacles["it"]


def test_an_expression_has_an_end() -> None:
    assert recheck.parse("1" + " + 1" * 400)
    with pytest.raises(ValueError, match="at most 2000 characters"):
        recheck.parse("1" + " + 1" * 500)


def test_components_are_those_of_networkx() -> None:
    for seed in range(200):
        draw, size = random.Random(seed), 6
        pairs = [(one, other) for one, other in product(range(size), repeat=2)]
        edges = draw.sample(pairs, draw.randint(3, 12))
        graph: nx.DiGraph[int] = nx.DiGraph(edges)
        graph.add_nodes_from(range(size))
        part = recheck.components(size, edges)
        found = {frozenset(v for v in range(size) if part[v] == number) for number in part}
        assert found == {frozenset(one) for one in nx.strongly_connected_components(graph)}


def test_a_certificate_of_a_protocol_is_of_its_table() -> None:
    """What is due holds of a table with another name for a state, too; it is another table."""
    [path] = Path(certificates.__file__).parent.joinpath("certificates").glob("pxp-*.json")
    certificate = json.loads(path.read_text("utf-8"))
    table = document(builtin("pxp"))
    assert all(fine for fine, _ in recheck.check_rules(certificate, table))
    other = json.loads(json.dumps(table).replace('"WAIT"', '"WAITS"'))
    certificate["members"] = [[name, recheck.Rules(other).digest] for name in ("m", "h")]
    [(fine, why)] = recheck.check_rules(certificate, other)
    assert not fine and "its tables are not those of pxp" in why


def ringing(event: str) -> recheck.Table:
    rows = [{"from": "A", "to": "B", "event": event}]
    return recheck.Table({"initial": "A", "final": ["B"], "rows": rows, "states": []})


def test_an_event_reaches_those_that_have_it() -> None:
    system = recheck.System(["one", "other"], [ringing("BELL"), ringing("HORN")], "sync")
    assert {step[0].at for step in system.steps(system.first)} == {("B", "A"), ("A", "B")}
    both = recheck.System(["one", "other"], [ringing("BELL"), ringing("BELL")], "sync")
    assert {step[0].at for step in both.steps(both.first)} == {("B", "B")}
    with pytest.raises(ValueError, match="each with a name of its own"):
        recheck.System(["one", "an other"], [ringing("BELL"), ringing("HORN")], "sync")


@pytest.mark.parametrize("who", [0, 1])
def test_a_relation_that_is_not_shared_is_kept_for_each_agent(who: int) -> None:
    theory = recheck.Theory("d", True, False)
    known = frozenset({(0, 0)}), frozenset({(0, 1), (1, 1)})
    found = theory.judged(known, who, False, (("received", "own"),))
    assert found.keys() == {(pair in known[who],) for pair in [(1 - who, who)]}
    for ways in found.values():
        assert ways and all(stays == known for stays, _ in ways)


@pytest.mark.parametrize(
    ("who", "values", "lost"), [(0, 1, False), (1, 1, True), (0, 2, False), (1, 2, False)]
)
def test_only_who_has_a_value_can_send_it_again(who: int, values: int, lost: bool) -> None:
    raw = document(builtin("interact"))
    claims = [{"name": "it", "check": "never-stuck"}]
    part = {**EVERYTHING, "relations": "dhrst", "starts": "m", "claims": claims}
    sessions = recheck.Sessions(
        [(name, recheck.Rules(raw)) for name in ("m", "h")], part, [], recheck.Knowledge()
    )
    data = recheck.Data(values, frozenset(), frozenset())
    [after] = sessions.follow(data, who, "WAIT", None, "plain own")
    assert after == (recheck.Data(2, lost=True) if lost else data)


def test_a_lemma_that_only_a_claim_needs_is_in_the_certificate() -> None:
    table = asking(
        states=[{"name": "A"}],
        rows=[
            {"from": "A", "to": "A", "event": "MORE", "when": "x < 3", "do": {"x": "x + 1"}},
            {"from": "A", "to": "YES", "event": "DONE"},
        ],
        oracles={},
        guards={},
        final=["YES"],
        registers={"x": {"init": 0, "min": 0}},
    )
    claims = [{"name": "it", "check": "never", "never": "one.x > 7"}]
    proof = prove_tables({"one": table}, {**EVERYTHING, "claims": claims}, ["one.x <= 3"])
    assert proof.proved == ("it",)
    sessions = recheck.sessions_of([("one", recheck.Rules(table))], proof.evidence)
    assert sessions.against(claims[0]) is None


def test_who_has_settled_a_guard_of_two_waits_for_ever() -> None:
    """The other one takes nothing, so neither can do anything, not even what comes from outside."""
    rows = [
        {"from": "A", "to": "B", "guard": "G", "send": "X"},
        {"from": "A", "to": "B", "event": "BELL"},
    ]
    first = recheck.Table({"initial": "A", "rows": rows, "states": [{"name": "A"}]})
    heard = [{"from": "C", "to": "C", "receive": "X"}, {"from": "A", "to": "C", "event": "BELL"}]
    system = recheck.System(
        ["one", "other"],
        [first, recheck.Table({"initial": "A", "rows": heard, "states": []})],
        "sync",
    )
    steps = [*system.steps(system.first)]
    settled = [step[0] for step in steps if any(step[0].settled)]
    assert len(settled) == 1
    assert [*system.steps(settled[0])] == []


def rows_of(initial: str, final: list[str], *rows: dict[str, Any]) -> recheck.Table:
    return recheck.Table({"initial": initial, "final": final, "rows": [*rows], "states": []})


def proof_of(system: recheck.System) -> recheck.Proof:
    """All states, found by going through them."""
    states, listed = [system.first], list[Any]([[*system.first, None]])
    for number, state in enumerate(states):
        for step in system.steps(state):
            if step.target not in states:
                states.append(step.target)
                listed.append([*step.target, number])
    return recheck.Proof(system, {}, json.loads(json.dumps(listed)))


def test_a_row_whose_guard_is_settled_and_whose_message_never_goes_is_dead() -> None:
    """By the time that `one` may say X, `other`, which took it from `third`, has gone on."""
    one = rows_of(
        "A", ["A"],
        {"from": "A", "to": "B", "receive": "Y"},
        {"from": "B", "to": "A", "guard": "G", "send": "X"},
    )  # fmt: skip
    other = rows_of(
        "C", ["E"],
        {"from": "C", "to": "D", "receive": "X"}, {"from": "D", "to": "E", "send": "Y"},
    )  # fmt: skip
    third = rows_of("F", ["H"], {"from": "F", "to": "H", "send": "X"})
    system = recheck.System(["one", "other", "third"], [one, other, third], "sync")
    proof = proof_of(system)
    assert any(any(state.settled) for state in proof.states)
    sent = {
        row for some in proof.steps for _, step in some if len(step.rows) > 1 for row in step.rows
    }
    assert {*system.ways} - sent == {(0, one.rows[1])}
    assert not proof.holds("no-dead-row")


def test_of_two_what_nobody_receives_is_for_the_other_and_of_three_for_nobody() -> None:
    said = rows_of("A", ["B"], {"from": "A", "to": "B", "send": "X"})
    system = recheck.System(["one", "other"], [said, ringing("BELL")], "fifo:1")
    assert system.links == [(0, 1)]
    assert (("B", "A"), (("X",),)) in {step[0][:2] for step in system.steps(system.first)}
    with pytest.raises(ValueError, match="sends to nobody"):
        recheck.System(["one", "other", "third"], [said, ringing("BELL"), ringing("HORN")], "sync")


def test_one_event_may_have_rows_of_two_guards_and_one_message_may_not() -> None:
    rows = [{"from": "A", "to": to, "guard": guard} for to, guard in (("B", "G"), ("C", "H"))]
    assert len(rows_of("A", [], *({**row, "event": "X"} for row in rows)).rows) == 2
    with pytest.raises(ValueError, match="two rows for one tag"):
        rows_of("A", [], *({**row, "send": "X"} for row in rows))


Edge = tuple[int, int, str, str]
"""A step of a small graph: from, to, whose it is, and its row."""


def proof_over(states: int, edges: list[Edge]) -> recheck.Proof:
    """A proof of a system of which nothing but its steps matters."""
    proof = object.__new__(recheck.Proof)
    proof.system = SimpleNamespace(names=["a", "b"])  # type: ignore[assignment]
    proof.states, proof.steps = list[Any](range(states)), [[] for _ in range(states)]
    for source, to, actor, row in edges:
        name, _, own = row.partition(": ")
        rows: Any = ((["a", "b"].index(name), own),)
        proof.steps[source].append((to, recheck.Step(to, rows, actor)))  # type: ignore[arg-type]
    proof.over = [not some for some in proof.steps]
    return proof


def accepts(proof: recheck.Proof, evidence: Any, how: str, whose: str) -> bool:
    """Whether ranks are accepted, as whoever reads a certificate has it."""
    with suppress(IndexError, ValueError):
        return proof.ends(evidence, how, whose)
    return False


def key_of(edge: Edge, whose: str) -> str:
    return edge[2] if whose == "agent" else edge[3]


def goes_on_fairly(edges: list[Edge], how: str, whose: str) -> bool:
    """Whether some steps, taken again and again, are a run that is fair: by trying all sets."""
    can: dict[str, set[int]] = {}
    for edge in edges:
        can.setdefault(key_of(edge, whose), set()).add(edge[0])
    can.pop("", None)
    for chosen in chain.from_iterable(
        combinations(edges, size) for size in range(1, len(edges) + 1)
    ):
        graph = nx.DiGraph((source, to) for source, to, *_ in chosen)
        if nx.is_strongly_connected(graph):
            there, taken = {*graph}, {key_of(edge, whose) for edge in chosen}
            unfair = {
                "": set[str](),
                "weak": {key for key, where in can.items() if there <= where},
                "strong": {key for key, where in can.items() if there & where},
            }[how]
            if unfair <= taken:
                return True
    return False


def ranked(
    edges: list[Edge], among: set[int], how: str, whose: str
) -> tuple[dict[int, list[Any]], bool]:
    """Ranks of the states, found component by component, and whether they are a proof."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(among)
    graph.add_edges_from((edge[0], edge[1]) for edge in edges if {*edge[:2]} <= among)
    parts, ranks, proved = nx.condensation(graph), dict[int, list[Any]](), True
    for rank, part in enumerate(reversed([*nx.topological_sort(parts)])):
        block, helpful, rest = set(parts.nodes[part]["members"]), None, set[int]()
        inside = [edge for edge in edges if {*edge[:2]} <= block]
        if inside:
            for key in sorted({key_of(edge, whose) for edge in edges} - {""}):
                can = {edge[0] for edge in edges if edge[0] in block and key_of(edge, whose) == key}
                stays = any(key_of(edge, whose) == key for edge in inside)
                if can and not stays and (how == "strong" or (how == "weak" and can == block)):
                    helpful, rest = key, block - can
                    break
            else:
                proved = False
        deeper, also = ranked(edges, rest, how, whose)
        proved = proved and also
        ranks |= {state: [[rank, helpful], *deeper.get(state, [])] for state in block}
    return ranks, proved


@pytest.mark.parametrize("how, whose", [("", ""), *recheck.HOW])
def test_ranks_are_accepted_where_no_fair_run_goes_on_for_ever(how: str, whose: str) -> None:
    """What goes on fairly is found by trying all sets of steps; altered ranks prove no more."""
    counts = Counter[str]()
    for seed in range(150):
        chance = random.Random(seed)
        drawn = [
            (chance.randrange(4), chance.randrange(5), chance.choice(["a", "b", ""]),
             chance.choice(["a: 1", "a: 2", "b: 1"]))
            for _ in range(chance.randint(2, 9))
        ]  # fmt: skip
        graph = nx.DiGraph((source, to) for source, to, *_ in drawn)
        graph.add_node(0)
        reached = sorted(nx.descendants(graph, 0) | {0})
        number = {state: place for place, state in enumerate(reached)}
        edges = [
            (number[source], number[to], actor, row)
            for source, to, actor, row in drawn
            if source in number
        ]
        proof, goes_on = proof_over(len(reached), edges), goes_on_fairly(edges, how, whose)
        running = {state for state in range(len(reached)) if not proof.over[state]}
        keys = [None, *sorted({key_of(edge, whose) for edge in edges})]
        for other in {("", ""), *recheck.HOW}:
            ranks, proved = ranked(edges, running, *other)
            evidence: list[Any] = [ranks.get(state) for state in range(len(reached))]
            accepted = accepts(proof, evidence, how, whose)
            if other == (how, whose):
                assert accepted == proved == (not goes_on), seed
                own_evidence = evidence
            assert not (accepted and goes_on), (seed, other)
        counts["goes on" if goes_on else "ends"] += 1
        if not running:
            continue
        for _ in range(4):
            altered = json.loads(json.dumps(own_evidence))
            own = altered[chance.choice(sorted(running))]
            level, key = chance.randrange(len(own)), chance.choice(keys)
            match chance.randrange(5):
                case 0:
                    own[level][0] += chance.choice([-1, 1])
                case 1:
                    for other in filter(None, altered):
                        if other[0][0] == own[0][0]:
                            other[0][1] = key
                case 2:
                    own.append([0, key])
                case 3 if level:
                    own.pop()
                case _:
                    altered[chance.randrange(len(altered))] = None
            accepted = accepts(proof, altered, how, whose)
            assert not (accepted and goes_on), (seed, altered)
            counts["altered, accepted" if accepted else "altered, refused"] += 1
    assert min(counts.values()) > 5 and len(counts) == 4, counts


def test_the_states_that_are_not_left_for_good_have_ranks_of_their_own() -> None:
    edges = [
        (0, 0, "", "b: 1"), (0, 1, "", "b: 1"), (1, 0, "", "b: 1"), (1, 2, "a", "a: 1"),
        (0, 2, "b", "b: 2"),
    ]  # fmt: skip
    proof = proof_over(3, edges)
    evidence = [[[1, "a"], [0, "b"]], [[1, "a"]], None]
    assert proof.ends(evidence, "strong", "agent")
    assert not accepts(proof, evidence, "weak", "agent")
    assert not accepts(proof, [[[1, "a"], [0, None]], *evidence[1:]], "strong", "agent")


def test_ranks_are_a_list_of_as_many_as_there_are_states() -> None:
    """Of those that are running, and of no other; ranks are whole numbers."""
    edges = [(0, 1, "a", "a: 1"), (1, 2, "a", "a: 1")]
    proof = proof_over(3, edges)
    assert proof.ends([[[2, None]], [[1, None]], None], "", "")
    for lacking in (
        [None, [[1, None]], None],
        [[[2, None]], None, None],
        [[[2, None]], [[1, None]], [[0, None]]],
        [[[2, None]], [[True, None]], None],
    ):
        assert not accepts(proof, lacking, "", "")
    proof.over[2] = False  # it is stuck there, and has not ended
    assert not accepts(proof, [[[2, None]], [[1, None]], [[0, None]]], "", "")
    states: list[Any] = [[[2, None]], [[1, None]], None]
    for other in (states[:2], [*states, None], tuple(states), dict(enumerate(states))):
        with pytest.raises(ValueError, match="there are not as many ranks as states"):
            proof.ends(other, "", "")


def test_ranks_that_nothing_needs_are_refused() -> None:
    proof = proof_of(recheck.System(["one", "other"], [ringing("BELL"), ringing("HORN")], "sync"))
    order = {("A", "A"): 2, ("A", "B"): 1, ("B", "A"): 1}
    ranks: list[Any] = [
        [[order[state.at], None]] if state.at in order else None for state in proof.states
    ]
    assert proof.ends(ranks, "", "")
    for number, own in enumerate(ranks):
        if own is not None:
            more = [*ranks[:number], [*own, [0, None]], *ranks[number + 1 :]]
            assert not proof.ends(more, "", "")


def test_who_sends_to_two_in_one_state_is_in_no_directed_system() -> None:
    one = rows_of(
        "A", ["B"],
        {"from": "A", "to": "B", "send": "X", "partner": "other"},
        {"from": "A", "to": "B", "send": "Y", "partner": "third"},
    )  # fmt: skip
    heard = [rows_of("C", ["C"], {"from": "C", "to": "C", "receive": label}) for label in "XY"]
    proof = proof_of(recheck.System(["one", "other", "third"], [one, *heard], "fifo:1"))
    proof.given = {f"sends {name}": [0] * len(proof.states) for name in proof.system.names}
    with pytest.raises(ValueError, match="no directed system"):
        proof.safe()


def test_who_has_settled_what_nobody_takes_has_not_ended() -> None:
    """Where `one` has settled X before GO it misses GO; where not, it ends by it."""

    def table(name: str, initial: str, final: list[str], *rows: dict[str, Any]) -> dict[str, Any]:
        return {"format": 1, "name": name, "title": name, "initial": initial, "final": final,
                "states": [], "rows": [*rows]}  # fmt: skip

    members = {
        "one": table(
            "one", "A", ["A", "Z"],
            {"from": "A", "to": "B", "guard": "G", "send": "X"},
            {"from": "A", "to": "Z", "event": "GO"},
        ),
        "other": table("other", "C", ["C"], {"from": "D", "to": "D", "receive": "X"}),
        "third": table("third", "E", ["F"], {"from": "E", "to": "F", "event": "GO"}),
    }  # fmt: skip
    claims = [
        {"name": "stuck", "check": "never-stuck"},
        {"name": "over", "check": "never", "never": "over and one.at != Z"},
    ]
    proof = prove_tables(members, {**EVERYTHING, "claims": claims})
    assert proof.proved == ("over",)
    assert proof.obstacles.keys() == {"stuck"}


def test_a_decision_without_relations_may_come_after_a_value_that_is_lost() -> None:
    """Of the value nothing is known, and nothing is asked of it."""
    part = {**EVERYTHING, "relations": "dhrst", "starts": "m"}
    members = [(name, recheck.Rules(asking())) for name in ("m", "h")]
    sessions = recheck.Sessions(members, part, [], recheck.Knowledge())
    lost = recheck.Data(2, lost=True)
    assert sessions.follow(lost, 0, "B", frozenset({()}), "same") == (lost,)
    assert sessions.follow(lost, 0, "B", frozenset({()}), "new") == (lost,)


@pytest.mark.parametrize("laws", ["", "rst", "d"])
def test_answers_for_which_no_guard_is_true_are_found(laws: str) -> None:
    """Those that the relations allow: where the values differ in one way alone."""
    raw, part = document(builtin("pxp")), {"relations": laws, "starts": "m", "atoms": []}
    gap = "match and not agree and not (same_y and same_e)"  # and not the other way round
    found = list[Any]()
    for when in ("else", gap):
        raw["guards"]["REF"]["when"] = when
        members = [(name, recheck.Rules(raw)) for name in ("m", "h")]
        sessions = recheck.sessions_of(members, {**EVERYTHING, **part, "lemmas": []})
        found.append(sessions.against({"check": "one-guard"}))
    assert found[0] is None
    assert found[1].control.over == "guards"


def test_a_register_becomes_one_of_its_own_members_alone() -> None:
    for member, why in (("blue", ""), ("large", "c becomes large, which it cannot be")):
        rows = [{"from": "A", "to": "YES", "event": "GO", "do": {"c": member}}]
        registers = {
            "c": {"of": ["red", "blue"], "init": "red"},
            "size": {"of": ["small", "large"], "init": "small"},
        }
        table = asking(rows=rows, registers=registers, oracles={}, guards={}, states=[])
        found = obstacles(table, "one.at == NO")
        assert found == ({"one.at == NO": why} if why else {})


@pytest.mark.parametrize("kind", [{"type": "real"}, {"min": 0, "max": 3}])
def test_what_is_declared_in_another_way_is_not_proved_about(kind: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not proved about"):
        recheck.Rules(asking(parameters={"most": kind}))


def test_a_part_that_is_due_says_all_but_its_evidence() -> None:
    due = recheck._due("r", [("it", "never", "x > n")], {"x": {}}, "x < 2", ["n > 3"])
    assert due == {
        "relations": "r", "starts": "m", "assume": ["n > 3"], "ghosts": {"x": {}},
        "while": "x < 2", "claims": [{"name": "it", "check": "never", "never": "x > n"}],
    }  # fmt: skip
    assert due.keys() == recheck.PART_KEYS


@pytest.mark.parametrize("laws", ["r", "rs"])
def test_reflexive_relations_amalgamate(laws: str) -> None:
    assert recheck.amalgamates(frozenset(laws))


def test_of_a_relation_that_grows_all_that_keep_its_laws_are_there() -> None:
    points = (0, 1, 2)
    pairs = [*product(points, repeat=2)]
    for laws in ("", "r", "s", "t", "rs", "rt", "st", "rst"):
        every = {
            frozenset(some)
            for bits in product((0, 1), repeat=len(pairs))
            for some in [[pair for pair, bit in zip(pairs, bits, strict=True) if bit]]
            if ("r" not in laws or all((p, p) in some for p in points))
            if ("s" not in laws or all((b, a) in some for a, b in some))
            if ("t" not in laws or all((a, d) in some for a, b in some for c, d in some if b == c))
        }
        found = recheck._relations(3, frozenset(laws))
        assert len(found) == len(every) and {*map(frozenset, found)} == every


def test_a_certificate_that_claims_nothing_is_none() -> None:
    table = asking()
    digest = recheck.Rules(table).digest
    empty = {"format": recheck.FORMAT, "members": [["one", digest]], "parts": []}
    for parts in ([], [{**EVERYTHING, "atoms": [], "lemmas": []}]):
        with pytest.raises(ValueError, match="nothing is claimed"):
            list(recheck.check_rules({**empty, "parts": parts}, table))


def test_a_guard_on_a_row_that_receives_is_refused() -> None:
    rows = [{"from": "A", "to": "B", "receive": "X", "guard": "G"}]
    raw = {"initial": "A", "final": ["B"], "rows": rows, "states": []}
    with pytest.raises(ValueError, match="a guard on a row that receives"):
        recheck.Table(raw)


def test_a_definition_is_not_called_as_a_member_of_an_enumeration() -> None:
    enums = {"enums": {"COLOR": ["RED", "GREEN"]}}
    assert recheck.Rules(asking(**enums, let={"BLUE": "fine"})).lets
    with pytest.raises(ValueError, match="a definition has the name of a member"):
        recheck.Rules(asking(**enums, let={"RED": "fine"}))


@pytest.mark.parametrize("size", [recheck.LONGEST_NAME, recheck.LONGEST_NAME + 1])
def test_a_name_is_so_long_and_no_longer(size: int) -> None:
    name = "a" * size
    if size == recheck.LONGEST_NAME:
        assert recheck.parse(name)
    else:
        with pytest.raises(ValueError, match="this is no name"):
            recheck.parse(name)


def test_a_value_that_is_copied_in_one_case_is_told_apart() -> None:
    """What is copied may be looked at later, whichever branch copies it."""
    either = {"of": ["LEFT", "RIGHT"], "init": "LEFT"}
    for copied in ("first if fine else second", "second if fine else first"):
        table = asking(
            rows=[
                {"from": "A", "to": "A", "event": "TURN", "do": {"first": "RIGHT"}},
                {"from": "A", "to": "A", "event": "COPY", "do": {"second": copied}},
            ],
            states=[{"name": "A"}],
            final=[],
            guards={},
            oracles={},
            parameters={"fine": {"type": "bool"}},
            registers={"first": either, "second": either},
        )
        assert len(obstacles(table, "one.second == RIGHT")) == 1
        assert obstacles(table, "one.second == RIGHT and one.first == LEFT") == {}


def test_a_value_that_is_compared_with_a_parameter_is_told_apart() -> None:
    colours = ["RED", "BLUE"]
    table = asking(
        rows=[
            {"from": "A", "to": "A", "event": "PAINT", "do": {"c": "BLUE"}},
            {"from": "A", "to": "YES", "event": "GO", "when": "c == p"},
        ],
        states=[{"name": "A"}],
        final=["YES"],
        guards={},
        oracles={},
        parameters={"p": {"of": colours}},
        registers={"c": {"of": colours, "init": "RED"}},
    )
    assert len(obstacles(table, "one.at == YES and p == BLUE")) == 1
    assert obstacles(table, "one.at == YES and one.c != p") == {}


def test_a_multiple_may_be_of_a_number_that_depends_on_a_member() -> None:
    table = asking(
        rows=[{"from": "A", "to": "A", "event": "PAINT", "do": {"c": "BLUE"}}],
        states=[{"name": "A"}],
        final=[],
        guards={},
        oracles={},
        registers={"c": {"of": ["RED", "BLUE"], "init": "RED"}},
    )
    assert obstacles(table, "2 * (1 if one.c == BLUE else 2) < 2") == {}
    assert len(obstacles(table, "2 * (1 if one.c == BLUE else 2) < 4")) == 1


def test_what_is_not_in_a_set_is_read_as_that() -> None:
    inside = ("in", ("name", "x"), ("a", "b"))
    assert recheck.parse("x in {a, b}") == inside
    assert recheck.parse("x not in {a, b}") == ("not", inside)


@pytest.mark.parametrize("key", ["send", "receive"])
def test_an_urgent_row_is_an_event_with_a_condition(key: str) -> None:
    row = {"from": "A", "to": "YES", "urgent": True}
    rows = {"states": [{"name": "A"}], "guards": {}, "oracles": {}}
    assert recheck.Rules(asking(rows=[{**row, "event": "X", "when": "true"}], **rows)).rows
    for wrong in ({key: "X", "when": "true"}, {key: "X"}, {"event": "X"}):
        with pytest.raises(ValueError, match="`when` or `urgent` that cannot have it"):
            recheck.Rules(asking(rows=[{**row, **wrong}], **rows))


def test_a_system_is_named_by_its_members_and_the_beginnings_of_their_fingerprints() -> None:
    bell, horn = ringing("BELL"), ringing("HORN")
    system = recheck.System(["one", "other"], [bell, horn], "sync")
    assert str(system) == f"one {bell.fingerprint[:12]}, other {horn.fingerprint[:12]}"
    for names in (["one", "one"], ["one"], ["one", "an other"]):
        with pytest.raises(ValueError, match="each with a name of its own"):
            recheck.System(names, [bell, horn][: len(names)], "sync")


def test_a_part_says_all_that_it_assumes() -> None:
    part = {
        **EVERYTHING, "relations": "", "starts": "m", "assume": ["n > 1 and\nk > 0"],
        "while": "sent < 3\n", "ghosts": {"sent": {"init": 0, "step": "sent +\n 1"}},
    }  # fmt: skip
    assert [*recheck.given(part)] == [
        "relations noisy",
        "m starts",
        "where n > 1 and k > 0",
        "while sent < 3",
        "with sent = 0 and then sent + 1",
    ]
    assert [*recheck.given(EVERYTHING)] == []
    members = [("one", recheck.Rules(asking()))]
    for relations in (3, ["r"], True):
        wrong = {**EVERYTHING, "atoms": [], "lemmas": [], "relations": relations}
        with pytest.raises(ValueError, match="values of other types than they must be"):
            recheck.sessions_of(members, wrong)


def test_distances_are_a_list_of_as_many_as_there_are_states() -> None:
    """One more than the least of those that steps lead to; None where no step leads on."""
    proof = proof_over(4, [(0, 1, "a", "a: 1"), (1, 2, "b", "b: 1"), (0, 3, "b", "b: 1")])

    def reached(evidence: Any, without: str | None = None) -> list[bool]:
        proof.given, proof.used = {"end": evidence}, set()
        return proof.distances("end", lambda number: number == 2, without)

    assert reached([2, 1, 0, None]) == [True, True, True, False]
    assert reached([None, None, 0, None], "b") == [False, False, True, False]
    for wrong in ([2, 1, 0], [2, 1, 0, None, None], (2, 1, 0, None), {0: 2, 1: 1, 2: 0, 3: None}):
        with pytest.raises(ValueError, match="there are not as many distances as states: end"):
            reached(wrong)
    for wrong in ([1, 1, 0, None], [2, 1, 0, 0], [None, None, 0, None], [2, True, 0, None]):
        with pytest.raises(ValueError, match="is at the distance"):
            reached(wrong)


COUNTED: dict[str, Any] = {
    "states": [{"name": "A"}],
    "final": [],
    "guards": {},
    "oracles": {},
    "registers": {"x": {"init": 0, "min": 0}},
}


def test_what_elimination_refutes_once_is_refuted() -> None:
    table = asking(rows=[{"from": "A", "to": "A", "event": "UP", "do": {"x": "x + 1"}}], **COUNTED)
    assert obstacles(table, "one.x > 7 and one.x < 3") == {}
    assert len(obstacles(table, "one.x > 7 and one.x < 9")) == 1


def test_a_hint_is_known_of_from_the_start() -> None:
    """Without it each round asks about the number below only."""
    up = {"from": "A", "to": "A", "event": "UP", "when": "x < 50"}
    both = {name: {"init": 0, "min": 0} for name in ("x", "y")}
    table = asking(
        rows=[{**up, "do": {"x": "x + 1", "y": "y + 1"}}], **{**COUNTED, "registers": both}
    )
    claims = [{"name": "it", "check": "never", "never": "one.y > 90"}]
    proofs = [
        prove_tables({"one": table}, {**EVERYTHING, "claims": claims}, hints)
        for hints in ((), ("one.y <= one.x",))
    ]
    assert [proof.proved for proof in proofs] == [(), ("it",)]
    assert all(0 <= proof.seconds < 600 for proof in proofs)


def test_no_atoms_are_added_where_every_claim_is_proved() -> None:
    table = asking(
        rows=[{"from": "A", "to": "A", "event": "UP", "when": "x < 3", "do": {"x": "x + 1"}}],
        **COUNTED,
    )
    claims = [{"name": "it", "check": "never", "never": "one.at != A"}]
    proof = prove_tables({"one": table}, {**EVERYTHING, "claims": claims})
    assert (proof.proved, proof.evidence["atoms"]) == (("it",), [])
