"""What messages carry is explored: as a naive explorer does, and as is proved for all values."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.logic.formulas import atoms
from proofs.logic.parsing import parse
from proofs.rules import prover
from proofs.rules.prover import prove_tables
from proofs.systems import intervals
from proofs.systems.encoding import Configuration
from proofs.systems.product import Composition
from proofs.systems.propositions import vocabulary
from pxp_fsm.automata.message_values import MessageValues
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.unfolding import written
from pxp_fsm.errors import TableError
from tests.oracles.message_systems import Fields, MessageSystem, Place, Step
from tests.oracles.rule_sessions import evaluated
from tests.proofs import random_rules
from tests.proofs.random_messages import Tables, random_system
from tests.proofs.test_rules import EVERYTHING, automaton_of
from tests.sampling import first_and_rest

CHANNELS = ("sync", "sync", "fifo:1", "lossy:1", "duplicating:1", "fifo:2", "reordering:2")
MOST, MOST_EXPLORED, MOST_CHECKED = 300, 2_000, 40
"""Places, states of the explorer, and states of a table beyond which a system is left out."""


def built(tables: Tables, channel: str = "sync") -> System:
    members = tuple(Member(name, automaton_of(raw)) for name, raw in tables.items())
    return System(members).over(channel)


def naive(tables: Tables, carried: Any, given: Mapping[str, Any], channel: str) -> MessageSystem:
    kind, _, capacity = channel.partition(":")
    faults = frozenset(kind.split("+")) - {"sync", "fifo"}
    return MessageSystem(tables, given, carried, int(capacity or 0), faults)


def fields_of(messages: MessageValues, label: str) -> Fields:
    """What a message carries, as the naive explorer has it."""
    for tag in messages.of.get(written(label), ()):
        if tag.label == label:
            named = (("msg" if not path else f"msg.{path}", text) for path, text in tag.values)
            return tuple(sorted((x, int(text) if x == "msg.size" else text) for x, text in named))
    return ()


class Reading:
    """The states of an explorer, as the naive explorer has them."""

    def __init__(self, system: System, messages: MessageValues) -> None:
        self._links = () if system.channel.synchronous else system.links
        self._messages = messages
        self._states, self._rows = list[dict[str, Any]](), list[dict[tuple[str, str], str]]()
        for member in system.members:
            table = member.automaton
            made = table.unfolding
            assert made is not None
            names = [register.name for register in made.table.rules.registers]
            self._states.append(
                {
                    one.name: (one.base, tuple((x, v) for x, v in one.values if x in names))
                    for one in table.states
                }
            )
            self._rows.append({(r.source, r.guard or ""): r.label for r in table.transitions})

    def place(self, at: Configuration) -> Place:
        states, registers = zip(
            *(known[name] for known, name in zip(self._states, at.at, strict=True)), strict=True
        )
        chosen = [
            (written(guard), *self._carried(rows[name, guard])) if guard else None
            for rows, name, guard in zip(
                self._rows, at.at, at.chosen or ("",) * len(at.at), strict=True
            )
        ]
        buffers = {
            link: tuple(map(self._carried, buffer))
            for link, buffer in zip(self._links, at.buffers, strict=True)
            if buffer
        }
        kept = tuple(sorted(buffers.items(), key=repr))
        return Place(states, registers, tuple(chosen), kept)

    def _carried(self, label: str) -> tuple[str, Fields]:
        return written(label), fields_of(self._messages, label)


Edges = set[tuple[Place, str, Place]]


def explored(system: System, messages: MessageValues, oracle: MessageSystem) -> Edges | None:
    """The places and steps that the explorer finds, ids called as the naive one calls them."""
    composition, reading = Composition(system), Reading(system, messages)
    number, of_state = dict[Place, int](), dict[int, int]()

    def called(state: int) -> int:
        if state not in of_state:
            place = oracle.called(reading.place(composition.encoding.configuration(state)))
            of_state[state] = number.setdefault(place, len(number))
        return of_state[state]

    left = list(composition.initial())
    seen, found = {*left}, set[tuple[int, str, int]]()
    for state in left:
        if len(left) > MOST_EXPLORED:
            return None
        found.add((called(state), "", called(state)))
        for move in composition.moves(state):
            target = state + move.difference
            action: Any = move.action
            label = written(getattr(action, "tag", "") or getattr(action, "label", ""))
            found.add((called(state), label, called(target)))
            if target not in seen:
                seen.add(target)
                left.append(target)
    places = [*number]
    return {(places[source], label, places[target]) for source, label, target in found}


def naively(oracle: MessageSystem) -> Edges | None:
    places = oracle.reachable(MOST)
    if places is None:
        return None
    steps = {(p, s.label, oracle.called(s.target)) for p, some in places.items() for s in some}
    return steps | {(place, "", place) for place in places}


@pytest.mark.parametrize("seeds", first_and_rest(3, 240), ids=str)
def test_the_explorer_finds_what_a_naive_one_finds(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        draw = random.Random(seed)
        channel, given = draw.choice(CHANNELS), {"n": draw.randint(1, 3), "k": 1}
        tables, carried = random_system(seed, third=seed % 4 == 3)
        try:
            system = built(tables, channel)
        except TableError:
            continue
        oracle = naive(tables, carried, given, channel)
        expected = naively(oracle)
        if expected is None:
            continue
        messages = system.messages(range(len(tables)))
        followed = system.with_parameters(given)
        found = explored(followed, messages, oracle)
        if found is None:
            continue
        assert found == expected, (seed, channel)
        assert intervals.by_rules(system, given).system == followed
        sizes = [len(one.automaton.states) for one in followed.members]
        if len(sizes) == 2 and max(sizes) <= MOST_CHECKED:
            check_verdicts(followed, oracle, expected)
        compared += 1
    assert compared >= len(seeds) / 2, "hardly anything is compared: this test says nothing"


def check_verdicts(system: System, oracle: MessageSystem, edges: Edges) -> None:
    """Verdicts by what the naive explorer has found, the compiled kernels' among them."""
    places = {place for place, _, _ in edges}
    moving = {source for source, label, _ in edges if label}
    ended = {p for p in places if p.at == ("END", "END") and not any(p.chosen)}
    held = [(dict(p.registers[0]), dict(p.registers[1]), p) for p in places]
    sent = {(label, target) for _, label, target in edges}
    expected = {
        "no-deadlock": places - moving <= ended,
        "G m.c<=1": all(m["c"] <= 1 for m, _, _ in held),
        "G h.key=seen": all(h["key"] == h["seen"] for _, h, _ in held),
        "EF (m.key=seen & h.key!=seen)": any(
            m["key"] == m["seen"] and h["key"] != h["seen"] for m, h, _ in held
        ),
        "EF (m@T & h@S)": any(p.at == ("T", "S") for p in places),
    }
    if oracle.capacity == 0:
        expected["G !h?A"] = not any(
            label == "A" and not any(target.chosen) for label, target in sent
        )
    else:
        expected["G !m:h@has.A"] = not any(
            tag == "A" for p in places for _, some in p.buffers for tag, _ in some
        )
    known = [one for one in expected if one == "no-deadlock" or can_say(system, one)]
    for text in known:
        (result,) = pxp.check(system, text)
        assert (str(result.status) == "HOLDS") == expected[text], text


def can_say(system: System, text: str) -> bool:
    """Whether there is such a proposition: of a label that is sent, say."""
    return {*atoms(parse(text))} <= vocabulary(Composition(system))


@pytest.mark.parametrize("seeds", first_and_rest(2, 300), ids=str)
def test_what_is_proved_for_all_values_never_fails_in_exploration(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "MOST_ATOMS", 8)
    monkeypatch.setattr(prover, "MOST_STATES", 150)
    proved = tried = 0
    for seed in seeds:
        tables, carried = random_system(seed, parts=True)
        draw = random.Random(f"claims {seed}")
        claims = random_rules.claims(draw, ("m", "h")) + random_rules.claims_of_ids(
            draw, ("m", "h")
        )
        claims = [one for one in claims if one["check"] in ("never", "step", "never-stuck")]
        read = {name for fields in carried.values() for name in fields}
        claims = [one for one in claims if ("msg" not in str(one)) or read >= {"msg.x", "msg.size"}]
        try:
            built(tables)
            claims = prove_tables(tables, EVERYTHING | {"claims": claims}).evidence["claims"]
        except (TableError, ValueError):
            continue
        tried, proved = tried + 1, proved + len(claims)
        for size in (1, 2, 4):
            given = {"n": size, "k": size}
            oracle = naive(tables, carried, given, "sync")
            places = oracle.reachable(300)
            for place, steps in (places or {}).items():
                for claim in claims:
                    assert not any(failing(claim, oracle, place, steps)), (seed, claim, place)
    assert proved > tried, "hardly anything is proved: this test says nothing"


def failing(claim: Any, oracle: MessageSystem, place: Place, steps: list[Step]) -> Iterator[bool]:
    """Where a claim fails: in a place, or in a step from it."""
    here = values_of(oracle, place)
    if claim["check"] == "never":
        yield bool(evaluated(claim["never"], here))
    elif claim["check"] == "never-stuck":
        yield not steps and not here["over"]
    else:
        for step in steps:
            if any(step.target.chosen):
                continue
            after = {f"next.{x}": v for x, v in values_of(oracle, step.target).items()}
            is_event = step.label not in ("A", "B")
            known = {"who": step.who or "NONE", "kind": "event" if is_event else "message"}
            known |= {"tag": "NONE" if is_event else step.label, "ends": after["next.over"]}
            yield not evaluated(claim["step"], here | after | known | dict(step.message))


def values_of(oracle: MessageSystem, place: Place) -> dict[str, Any]:
    found = dict(oracle.parameters)
    for name, at, registers in zip(oracle.tables, place.at, place.registers, strict=True):
        found |= {f"{name}.at": at} | {f"{name}.{x}": value for x, value in registers}
    return found | {"over": place.at == ("END", "END") and not any(place.chosen)}
