"""Proofs for all parameters, from the rules in tables: what is proved is so, session by session."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs import recheck
from proofs.check import answer
from proofs.core.explore import explore
from proofs.requests import Request
from proofs.rules import prover
from proofs.rules.prover import prove, prove_tables
from proofs.systems import Composition, System
from pxp_fsm.automata.actions import Choose
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import document, to_toml
from pxp_fsm.automata.system import Member
from pxp_fsm.automata.tables import load_automaton, parse_automaton
from pxp_fsm.automata.unfolding import TooManyStates
from pxp_fsm.errors import TableError
from pxp_fsm.sessions.machine import Machine
from pxp_fsm.sessions.pending import Chance
from tests.oracles.rule_sessions import Done, Pairs, Sessions, State, evaluated
from tests.proofs import random_rules
from tests.proofs.random_systems import random_system
from tests.sampling import WHOLE, first_and_rest, sampled

EXAMPLES = Path(__file__).parents[2] / "examples" / "with_rules"
INTERACT = Path(__file__).with_name("interact_rules.toml")
NO_STEP = ("error", "choose", "none")
EVERYTHING: dict[str, Any] = {
    "relations": None, "starts": "", "assume": [], "ghosts": {}, "while": "", "claims": [],
}  # fmt: skip


def found_of(members: Mapping[str, Automaton], part: Any) -> recheck.Sessions:
    return found_in({name: document(one) for name, one in members.items()}, part)


def found_in(raw: Mapping[str, Any], part: Any) -> recheck.Sessions:
    return recheck.sessions_of([(name, recheck.Rules(one)) for name, one in raw.items()], part)


def covers(found: recheck.Sessions, sessions: Sessions, state: State) -> bool:
    """Whether a state is one of those that were found for all numbers."""
    values = sessions.values(state)
    at = tuple(member.at for member in state.members)
    registers = [dict(member.registers) for member in state.members]
    finite = tuple(found.forget[i, x][registers[i][x]] for i, x in found.finite)
    chosen = tuple(sessions.parameters[x] for x in found.chosen)
    ghosts = tuple(dict(state.ghosts)[x] for x in found.ghosts)

    # Any whole numbers that differ stand for ids; 0 is none yet.
    ids = {"": 0, "a": -7, "b": 1, "a0": 40, "a2": 2, "b0": -1, "b2": 3}
    values = {name: ids.get(value, value) for name, value in values.items()}

    def holds(literal: int) -> bool:
        atom = found.about.atoms[literal]
        if any(name.startswith("?") for name, _ in atom.terms):
            return True
        total = atom.constant + sum(times * int(values[name]) for name, times in atom.terms)
        return total <= 0

    return any(
        (one.control.at, one.control.finite, one.control.chosen, one.control.ghosts)
        == (at, finite, chosen, ghosts)
        and all(holds(n) for n in range(one.region.bit_length()) if one.region >> n & 1)
        for one in found.nodes
    )


def is_bad(claim: Any, sessions: Sessions, state: State, done: Done) -> bool:
    """Whether a claim fails in a state, or in a step from it."""
    names = sessions.values(state)
    match claim["check"]:
        case "never":
            return bool(evaluated(claim["never"], names))
        case "never-stuck":
            return done.target.over == "stuck"
        case "one-guard":
            return done.target.over == "guards"
        case "terminates":
            return done.target.over in ("stuck", "guards")
    if done.kind in NO_STEP:
        return False
    names |= dict(done.message)
    names |= {f"next.{name}": value for name, value in sessions.values(done.target).items()}
    names |= {"who": done.who, "kind": done.kind, "ends": done.target.over == "end"}
    names["tag"] = done.label if done.kind != "event" else "NONE"
    return not evaluated(claim["step"], names)


# Random systems: whatever is proved is so for all small numbers.


def random_members(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    draw = random.Random(seed)
    tables = {
        "m": random_rules.table(draw, "A", "B", "h"),
        "h": random_rules.table(draw, "B", "A", "m"),
    }
    tables["h"]["parameters"] = tables["m"]["parameters"]
    if seed % 4 == 0:
        del tables["h"]
    return tables, random_rules.claims(draw, tuple(tables))


def automaton_of(raw: Any) -> Automaton:
    return parse_automaton(json.dumps(raw), "table.json")


@pytest.mark.parametrize("seeds", first_and_rest(3, 128 if WHOLE else 48), ids=str)
def test_what_is_proved_of_random_systems_never_fails(seeds: range) -> None:
    proved = tried = 0
    for seed in seeds:
        raw, claims = random_members(seed)
        proof = prove_tables(raw, EVERYTHING | {"claims": claims})
        tried, proved = tried + len(claims), proved + len(proof.proved)
        found = found_in(raw, proof.evidence)
        least = raw["m"]["parameters"]["n"]["min"]
        for n, k in product((least, 2, 4), (1, 4)):
            check_sessions(Sessions(raw, {"n": n, "k": k}), found, proof.evidence["claims"])
    assert proved > tried / 3, "hardly anything is proved: this test says nothing"


MESSAGES = tuple(
    {"msg": f"{x}{size}", "msg.x": x, "msg.size": size} for x, size in product("ab", (0, 2))
)


@pytest.mark.deep
@pytest.mark.parametrize(
    "seeds", [range(2, 10), pytest.param(range(10, 40), marks=pytest.mark.deep)], ids=str
)
def test_what_is_proved_of_ids_and_messages_never_fails(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions on a few ids; what is proved is so of all."""
    monkeypatch.setattr(prover, "MOST_ATOMS", 16)
    monkeypatch.setattr(prover, "MOST_STATES", 600)
    proved = tried = 0
    for seed in seeds:
        raw, claims = random_members(seed)
        draw = random.Random(f"ids {seed}")
        raw = {name: random_rules.with_ids(draw, one) for name, one in raw.items()}
        claims += random_rules.claims_of_ids(draw, tuple(raw))
        proof = prove_tables(raw, EVERYTHING | {"claims": claims})
        assert not [one for one in proof.obstacles.values() if "not proved" not in one]
        tried, proved = tried + len(claims), proved + len(proof.proved)
        found = found_in(raw, proof.evidence)
        sessions = Sessions(raw, {"n": 2, "k": 1}, messages=MESSAGES)
        check_sessions(sessions, found, proof.evidence["claims"])
    assert proved > tried / 5, "hardly anything is proved: this test says nothing"


CARRIED = tuple({"x": x, "size": size} for x, size in product(("a", 1, True), (0, 2)))


@pytest.mark.deep
@pytest.mark.parametrize("seeds", first_and_rest(10, 60), ids=str)
def test_sessions_do_with_messages_what_is_proved(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step is one that expressions run by Python allow, and no claim that is proved fails."""
    monkeypatch.setattr(prover, "MOST_ATOMS", 10)
    monkeypatch.setattr(prover, "MOST_STATES", 200)
    moved = sent = proved = 0
    for seed in seeds:
        raw, claims = random_members(4 * seed + 1)
        draw = random.Random(f"ids {seed}")
        for name, one in raw.items():
            raw[name] = random_rules.with_ids(draw, one, stores_answers=False)
            for row in raw[name]["rows"]:  # no event is of both members, and most go on
                row.update({"event": f"{row['event']}_{name}"} if "event" in row else {})
                row["to"] = "S" if row["to"] == "END" and draw.random() < 0.8 else row["to"]
                if "send" in row and draw.random() < 0.7:
                    row.pop("when", None)
        claims += random_rules.claims_of_ids(draw, tuple(raw))
        try:
            system = System(tuple(Member(name, automaton_of(one)) for name, one in raw.items()))
            ruled = system.by_rules({"n": 2, "k": 1})
        except (TableError, TooManyStates):
            continue
        claims = prove_tables(raw, EVERYTHING | {"claims": claims}).evidence["claims"]
        proved += len(claims)
        for number in range(6):
            steps = [*played(ruled, number)]
            follow(raw, claims, steps)
            moved, sent = (
                moved + len(steps),
                sent + sum(one.message is not None for one, _ in steps),
            )
    assert moved > 3 * len(seeds), "hardly anything happens: this test says nothing"
    assert sent > len(seeds), "hardly anything is sent: this test says nothing"
    assert proved > 2 * len(seeds), "hardly anything is proved: this test says nothing"


Places = dict[str, tuple[str, dict[str, Any]]]


def played(system: System, seed: int) -> Iterator[tuple[pxp.Event, Places]]:
    """What happens in a session at random, and where its machines are after each event."""
    draw, found = random.Random(seed), list[Places]()

    def decide(turn: pxp.Turn) -> pxp.Intent | None:
        names = (*turn.guards, *turn.tags)
        waits = not names or draw.random() < 0.2
        return None if waits else pxp.Intent(draw.choice(names), draw.choice(CARRIED))

    def note(_event: pxp.Event) -> None:
        found.append({name: place_of(one) for name, one in session.live.machines.items()})

    session = pxp.Session(
        system,
        dict.fromkeys(system.places, decide),
        events=dict.fromkeys(system.events, Chance(0.5)),
        seed=seed,
        limit=12,
        on_event=note,
    )
    session.run_sync()
    return zip(session.events, found, strict=True)


def place_of(machine: Machine) -> tuple[str, dict[str, Any]]:
    """The state as it is written, and what the registers hold, in the state or beside it."""
    made = machine.automaton.unfolding
    assert made is not None
    names = [register.name for register in made.table.rules.registers]
    if machine.automaton.registers_beside:
        return machine.state, dict(zip(names, machine.registers, strict=True))
    state = next(one for one in machine.automaton.states if one.name == machine.state)
    return state.base, {name: value for name, value in state.values if name in names}


def follow(raw: Any, claims: list[Any], steps: list[tuple[pxp.Event, Places]]) -> None:
    """A session's steps by the naive sessions, where each is one, and no claim fails."""
    known = [canonical(value) for one in CARRIED for value in (one, one["x"])]
    ids = ("", *dict.fromkeys(known), "another")
    state = Sessions(raw, {"n": 2, "k": 1}).first()
    for event, places in steps:
        if isinstance(event.action, Choose):
            return
        value = CARRIED[0] if event.message is None else event.message.value
        message: dict[str, Any] = {"msg": canonical(value), "msg.x": canonical(value["x"])}
        message["msg.size"] = value["size"]
        sessions = Sessions(raw, {"n": 2, "k": 1}, messages=(message,), ids=ids)
        label = event.label or event.carried.tag
        alike = [
            done
            for done in sessions.steps(state)
            if done.label == label
            and [(one.at, dict(one.registers)) for one in done.target.members] == [*places.values()]
        ]
        assert alike, (event, state)
        assert not any(is_bad(claim, sessions, state, alike[0]) for claim in claims), event
        state = alike[0].target


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def check_sessions(sessions: Sessions, found: recheck.Sessions, claims: list[Any]) -> None:
    """All states that one can get to, up to a number: found for all numbers, and as is claimed."""
    first = sessions.first()
    after, left = dict[State, list[State]](), [first]
    for state in left:
        if len(after) > 40:
            return
        if state in after:
            continue
        assert state.over in ("stuck", "guards") or covers(found, sessions, state)
        steps = sessions.steps(state)
        for done in steps:
            assert not any(is_bad(claim, sessions, state, done) for claim in claims), state
        after[state] = [done.target for done in steps]
        left += after[state]
    if "terminates" in [claim["check"] for claim in claims]:
        TopologicalSorter(after).prepare()  # raises where sessions go on for ever


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.deep)], ids=str
)
def test_without_rules_a_system_can_do_what_its_explorer_says(seeds: range) -> None:
    """Choices that wait, events of the outside world, deadlocks: as in the product of tables."""
    for seed in seeds:
        draw = random.Random(seed)
        try:
            system = random_system(draw, guards=draw.choice((0, 0.5, 0.8)), most=3).over("sync")
        except TableError:
            continue
        compare(system)


@pytest.mark.parametrize("name", ["two_phase", "three_phase"])
def test_two_phase_commit_without_rules_is_found_as_its_explorer_finds_it(name: str) -> None:
    compare(System.load(str(EXAMPLES.parent / "two_phase_commit" / f"{name}.toml")))


def compare(system: System) -> None:
    composition = Composition(system)
    space = explore(composition, limit=50_000)
    places = {composition.encoding.configuration(state).at for state in space.steps}
    dead = any(not steps and not composition.ended(s) for s, steps in space.steps.items())
    found = found_of(
        {member.name: member.automaton for member in system.members},
        EVERYTHING | {"atoms": [], "lemmas": []},
    )
    assert {node.control.at for node in found.nodes} == places
    assert dead == any(node.control.over == "stuck" for node in found.nodes)


# Three protocols, for all their parameters.


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("commit", ["terminates", "never-stuck", "agreement", "at-most-most-retries"]),
        ("net", ["terminates", "never-stuck", "one-guard", "one-award", "in-time"]),
        ("polls", ["terminates", "never-stuck", "one-guard", "at-most-most-polls"]),
    ],
)
def test_a_protocol_of_no_paper_of_ours_is_proved_for_all_parameters(
    name: str, claims: list[str], tmp_path: Path
) -> None:
    system = pxp.System.load(str(EXAMPLES / f"{name}.toml"))
    results = {r.name: r for r in pxp.check(str(EXAMPLES / f"{name}.toml"))}
    assert [one for one in results if one in claims] == claims
    for claim in claims:
        assert results[claim].status.value == "HOLDS"
        assert results[claim].reason.startswith("for all ")
    assert all(result.as_expected for result in results.values())
    tables = {m.name: document(m.automaton) for m in system.members}
    for number in range(3):
        parameter = system.members[0].automaton.rules.parameters[0]
        values = {parameter.name: number + (parameter.minimum or 0)}
        sessions = Sessions(tables, values)
        left, seen = [sessions.first()], {sessions.first()}
        for state in left:
            for done in sessions.steps(state):
                assert done.target.over not in ("stuck", "guards")
                if done.target not in seen:
                    seen.add(done.target)
                    left.append(done.target)


def test_a_retry_too_many_is_not_proved() -> None:
    table = load_automaton(str(EXAMPLES / "commit_coordinator.toml"))
    raw = document(table)
    for row in raw["rows"]:
        if row.get("event") == "TIMEOUT":
            row["when"] = "tries <= most"
    members = {
        "coordinator": automaton_of(raw),
        "left": load_automaton(str(EXAMPLES / "commit_participant.toml")),
        "right": load_automaton(str(EXAMPLES / "commit_participant.toml")),
    }
    claim = {"name": "retries", "check": "never", "never": "coordinator.tries > most"}
    proof = prove(members, EVERYTHING | {"claims": [claim]})
    assert not proof.proved
    assert "nothing excludes" in proof.obstacles["retries"]


def test_a_session_that_gets_stuck_does_not_terminate() -> None:
    """A participant that does not take what comes late: its coordinator waits for ever."""
    raw = tomllib.loads((EXAMPLES / "commit_coordinator.toml").read_text("utf-8"))
    raw["rows"] = [row for row in raw["rows"] if row["to"] != row["from"]]
    members = {
        "coordinator": automaton_of(raw),
        "left": load_automaton(str(EXAMPLES / "commit_participant.toml")),
        "right": load_automaton(str(EXAMPLES / "commit_participant.toml")),
    }
    claims = [{"name": "ends", "check": "terminates"}, {"name": "on", "check": "never-stuck"}]
    proof = prove(members, EVERYTHING | {"claims": claims})
    assert not proof.proved
    assert "stuck" in proof.obstacles["ends"]


def test_one_table_is_proved_against_an_environment_that_sends_anything() -> None:
    client = load_automaton(str(EXAMPLES / "polls_client.toml"))
    claims = [
        {"name": "ends", "check": "terminates"},
        {"name": "polls", "check": "never", "never": "client.polls > most"},
        {"name": "fewer", "check": "never", "never": "client.polls >= most"},
    ]
    proof = prove({"client": client}, EVERYTHING | {"claims": claims})
    assert proof.proved == ("ends", "polls")


GATEWAY = EXAMPLES / "approval_gateway.toml"


def gateway(**changes: str) -> Any:
    """The gateway of the examples, with changes of what rows do and what is claimed."""
    raw = tomllib.loads(GATEWAY.read_text("utf-8"))
    for row in raw["rows"]:
        for label in {row.get("receive"), row.get("send")} & changes.keys():
            row["do"] = {"approved": changes[label]}
    return raw


def test_a_table_states_what_is_so_whatever_its_peers_send() -> None:
    results = pxp.check(str(GATEWAY))
    assert [(one.name, str(one.status)) for one in results] == [
        ("only-what-was-approved", "HOLDS"),
        ("called-is-what-was-sent", "HOLDS"),
        ("approved-is-what-was-sent", "HOLDS"),
        ("one-guard", "HOLDS"),
    ]
    assert {one.assumptions for one in results} == {"by rules, any peers"}
    table = load_automaton(str(GATEWAY))
    assert pxp.check(table)[0].as_expected
    assert parse_automaton(to_toml(table)) == table
    assert [one.name for one in answer(Request((str(GATEWAY),), names=("one-guard",)))] == [
        "one-guard"
    ]


def test_what_a_table_claims_and_does_not_do_is_not_proved() -> None:
    for raw, unproved in (
        (gateway(APPROVE="called"), {"approved-is-what-was-sent"}),
        (gateway(ASK_AGAIN="msg"), set[str]()),
        (gateway(CALL="msg.arguments"), {"called-is-what-was-sent"}),
    ):
        found = pxp.check(automaton_of(raw))
        assert {one.name for one in found if str(one.status) == "UNKNOWN"} == unproved
    raw = gateway()
    raw["guards"]["SAME"]["when"] = "approved != called"
    (first, *_) = pxp.check(automaton_of(raw))
    assert "by TRANSFER, where " in first.reason


def test_sender_and_receiver_read_the_same_message() -> None:
    carries = {"A": {"type": "object", "required": ["x", "size"], "properties": {
        "x": {"type": "string"}, "size": {"type": "integer", "minimum": 2}}}}  # fmt: skip
    both = {"parameters": {"n": {"min": 0}}, "payloads": carries, "format": 1, "initial": "S"}
    both |= {"registers": {"c": {"init": 0, "min": 0}, "key": {"type": "id"}}, "final": ["END"]}
    both |= {"states": [{"name": "S"}, {"name": "END"}], "title": "T"}
    do = {"c": "msg.size - 1", "key": "msg.x"}
    tables = {
        "m": both | {"name": "m", "rows": [{"from": "S", "to": "END", "send": "A", "do": do}]},
        "h": both | {"name": "h", "rows": [{"from": "S", "to": "END", "receive": "A", "do": do}]},
    }
    claims = {
        "same-id": "over and m.key != h.key", "same-number": "m.c != h.c",
        "at-least": "over and m.c < 1", "false": "over and m.key == h.key", "low": "m.c > 1",
    }  # fmt: skip
    stated = [{"name": n, "check": "never", "never": text} for n, text in claims.items()]
    proof = prove_tables(tables, EVERYTHING | {"claims": stated})
    assert proof.proved == ("same-id", "same-number", "at-least")


# Relations, on real values: INTERACT between two agents.


def watch(*tags: str) -> dict[str, Any]:
    step = "off"
    for place, tag in reversed([*enumerate(tags)]):
        step = f"s{place + 1} if watch == s{place} and tag == {tag} else ({step})"
    of = ["off", *(f"s{place}" for place in range(len(tags) + 1))]
    return {"watch": {"of": of, "init": "s0", "step": f"watch if kind == event else ({step})"}}


def never(text: str) -> list[Any]:
    return [{"name": "it", "check": "never", "never": text}]


RELATED = [
    ("r", watch("INIT", "REVISE"), never("watch == s2")),
    ("dst", watch("INIT", "REVISE", "REVISE", "RATIFY", "RATIFY"), never("watch == s5")),
    ("dhst", watch("INIT", "REFUTE", "REFUTE", "RATIFY"), never("watch == s4")),
    ("dhs", watch("INIT", "RATIFY", "REJECT"), never("watch == s3")),
]


def agents() -> dict[str, Automaton]:
    table = load_automaton(str(INTERACT))
    return {"m": table, "h": table}


def about(relations: str, ghosts: Any, claims: Any) -> Any:
    part = {"relations": relations, "starts": "m", "ghosts": ghosts, "claims": claims}
    return EVERYTHING | part | {"while": "watch != off"}


@pytest.mark.parametrize(
    ("relations", "ghosts", "claims"), sampled(RELATED, 3), ids=lambda one: str(one)[:6]
)
def test_what_relations_exclude_no_session_does(relations: str, ghosts: Any, claims: Any) -> None:
    proof = prove(agents(), about(relations, ghosts, claims))
    assert proof.proved == ("it",)
    found, raw = found_of(agents(), proof.evidence), document(load_automaton(str(INTERACT)))
    draw = random.Random(3)
    for _ in range(10):
        bounds = {"n": draw.randint(1, 6), "k": draw.randint(1, 3)}
        sessions = Sessions({"m": raw, "h": raw}, bounds, ghosts, "m", drawn(relations, draw))
        state = sessions.first()
        while steps := sessions.steps(state, draw):
            assert covers(found, sessions, state)
            done = draw.choice(steps)
            assert not is_bad(claims[0], sessions, state, done)
            state = done.target
            if dict(state.ghosts)["watch"] == "off":
                break


@pytest.mark.deep
@pytest.mark.parametrize(
    ("relations", "ghosts", "claims"), sampled(RELATED, 3), ids=lambda one: str(one)[:6]
)
def test_each_assumption_is_needed(relations: str, ghosts: Any, claims: Any) -> None:
    for letter in relations.replace("h", "") if "h" in relations else relations[:1]:
        fewer = relations.replace(letter, "")
        assert not prove(agents(), about(fewer, ghosts, claims)).proved, f"without {letter}"


def drawn(relations: str, draw: random.Random) -> Any:
    """Relations on 0, 1, 2 as is assumed: of MATCH and AGREE, of each agent."""
    if "d" not in relations:
        return ((None, None), (None, None))
    mine = relation(relations, draw), relation(relations, draw)
    other = relation(relations, draw), relation(relations, draw)
    return (mine, mine if "h" in relations else other)


def relation(relations: str, draw: random.Random) -> Pairs:
    often = draw.choice((0.2, 0.5, 0.8))
    found = {(one, two) for one in range(3) for two in range(3) if draw.random() < often}
    if "r" in relations:
        found |= {(value, value) for value in range(3)}
    if "s" in relations:
        found |= {(two, one) for one, two in found}
    if "t" in relations:
        while new := {*links(found)} - found:
            found |= new
    return frozenset(found)


def links(pairs: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    return ((a, d) for a, b in pairs for c, d in pairs if b == c)


@pytest.mark.parametrize("when", ["x >= -1 and y >= 0", "y >= 0 and x >= -1"])
def test_a_rank_is_at_least_0_where_it_falls(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """x falls below 0, y never: y is the rank, without a second round."""
    monkeypatch.setattr(prover, "ROUNDS", 1)
    down = {"from": "S", "to": "S", "event": "TICK", "when": when}
    raw = {
        "format": 1, "name": "clock", "title": "Clock", "initial": "S", "final": ["S"],
        "states": [{"name": "S"}], "registers": {"x": {"init": 9}, "y": {"init": 9}},
        "rows": [down | {"do": {"x": "x - 1", "y": "y - 1"}}],
    }  # fmt: skip
    claims = [{"name": "ends", "check": "terminates"}]
    assert prove_tables({"clock": raw}, EVERYTHING | {"claims": claims}).proved == ("ends",)
