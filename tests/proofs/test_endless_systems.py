"""Systems that never end: which standard checks are asked of them, and what these mean."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.systems import Channel, Composition, Member, System, decide_standard, parse_channel
from proofs.systems.standard_checks import EVENTUAL_RECEPTION, PROGRESS
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.errors import UsageError
from tests.oracles.system_explorer import Place, explored
from tests.proofs.random_systems import random_system
from tests.sampling import first_and_rest

SERVER = pxp.build_automaton(
    "server",
    [
        {"from": "READY", "to": "ASKED", "receive": "ASK"},
        {"from": "ASKED", "to": "READY", "send": "ANSWER"},
    ],
)
CLIENT = pxp.build_automaton(
    "client",
    [
        {"from": "IDLE", "to": "WAIT", "send": "ASK"},
        {"from": "WAIT", "to": "IDLE", "receive": "ANSWER"},
    ],
)
ONCE = pxp.build_automaton(
    "once",
    [
        {"from": "IDLE", "to": "WAIT", "send": "ASK"},
        {"from": "WAIT", "to": "DONE", "receive": "ANSWER"},
    ],
    final=["DONE"],
)


@pytest.mark.parametrize("channel", ["sync", "fifo:1", "fifo:3", "fifo", "duplicating:1"])
def test_a_server_that_goes_on_for_ever_is_proved(channel: str) -> None:
    results = pxp.check(System.load(CLIENT, SERVER), channels=[channel])
    assert results.as_expected or channel == "duplicating:1"
    assert {PROGRESS, EVENTUAL_RECEPTION} <= {one.name for one in results}


def test_what_is_asked_depends_on_who_can_end() -> None:
    def names(*tables: Automaton) -> list[str]:
        return [one.name for one in pxp.check(System.load(*tables))]

    end = ["nothing-sent-after-the-end", "end-reachable-from-everywhere"]
    endless, mixed = names(CLIENT, SERVER), names(ONCE, SERVER)
    assert not {*end} & {*endless}
    assert {*end} & {*mixed} == {end[0]}
    assert "no-finding" not in mixed
    ending = pxp.build_automaton("server", [*_rows(SERVER)], final=["READY"])
    assert {*end} <= {*names(ONCE, ending)}
    assert not {PROGRESS, EVENTUAL_RECEPTION} & {*names(ONCE, ending)}


def _rows(table: Automaton) -> list[dict[str, str]]:
    key = {Kind.SEND: "send", Kind.RECEIVE: "receive"}
    return [{"from": r.source, "to": r.target, key[r.kind]: r.label} for r in table.transitions]


def test_termination_is_not_asked_of_what_never_ends() -> None:
    with pytest.raises(UsageError, match="client, server has no end state, so that nothing ends"):
        list(pxp.check(System.load(CLIENT, SERVER), "termination"))


def test_a_client_that_has_ended_does_not_wait() -> None:
    found = dict(decide_standard(Composition(System.load(ONCE, SERVER))))
    assert found["no-deadlock"].status is Status.FAILS  # the server would go on, and cannot
    assert found[PROGRESS].status is Status.FAILS
    left = "the server waits for ever after the client has ended"
    assert str(found[PROGRESS].trace) == "once>server ASK, server>once ANSWER", left


def test_each_finding_is_a_result_with_its_place_and_remedy() -> None:
    rows = [*_rows(CLIENT), {"from": "IDLE", "to": "IDLE", "send": "BYE"}, _rows(CLIENT)[0]]
    loud = pxp.build_automaton("client", rows)
    found = [one for one in pxp.check(System.load(loud, SERVER)) if one.name == "no-finding"]
    assert [one.status for one in found] == [Status.FAILS] * 2
    assert "row 4 " in found[0].reason
    assert found[0].reason.endswith("row 1 says the same (IDLE +ASK); drop one")
    assert found[1].reason.startswith("client sends BYE, which server receives in no state; add")
    (clean,) = pxp.check(System.load(CLIENT, SERVER), "no-finding")
    assert clean.status is Status.HOLDS


@pytest.mark.parametrize("seeds", first_and_rest(40, 2_000))
def test_progress_and_reception_are_those_of_the_definitions(seeds: range) -> None:
    met = dict.fromkeys(((n, s) for n in (PROGRESS, EVENTUAL_RECEPTION) for s in (0, 1)), 0)
    for seed in seeds:
        chance = random.Random(seed)
        drawn = random_system(chance, guards=chance.choice((0, 0.5)), most=3)
        system = replace(drawn, members=tuple(_sometimes_endless(chance, drawn)))
        channel = parse_channel(chance.choice(("fifo:1", "fifo:2", "lossy:1", "reordering:2")))
        found = explored(system, channel, 400)
        if found is None:
            continue
        names = frozenset((PROGRESS, EVENTUAL_RECEPTION))
        verdicts = dict(decide_standard(Composition(system.over(channel)), names=names))
        due = {
            PROGRESS: all(
                _leads_to(found.steps, place, to=lambda link, i=i: link[1] == i)
                for place in found.places
                for i in range(len(system.members))
                if _waits(system, place, i)
            ),
            EVENTUAL_RECEPTION: all(
                _leads_to(found.steps, place, to=lambda link, one=one: link == one)
                for place in found.places
                for one, _ in place.buffers
            ),
        }
        for name, holds in due.items():
            assert (verdicts[name].status is Status.HOLDS) is holds, (seed, name)
            met[name, holds] += 1
    assert min(met.values()) > 0, met


def _sometimes_endless(chance: random.Random, system: System) -> list[Member]:
    return [
        Member(one.name, replace(one.automaton, final=frozenset()))
        if chance.random() < 0.7
        else one
        for one in system.members
    ]


def _waits(system: System, place: Place, i: int) -> bool:
    table = system.members[i].automaton
    rows = [row for row in table.transitions if row.source == place.at[i]]
    return (
        bool(rows)
        and place.at[i] not in table.final
        and all(row.kind is Kind.RECEIVE for row in rows)
    )


def _leads_to(steps: dict[Place, tuple[Place, ...]], start: Place, to: object) -> bool:
    """Whether some run from `start` receives on a link that is wanted."""
    assert callable(to)
    seen, left = {start}, [start]
    while left:
        place = left.pop()
        before = dict(place.buffers)
        for target in steps[place]:
            after = dict(target.buffers)
            if any(
                to(link) and len(after.get(link, ())) < len(tags) for link, tags in before.items()
            ):
                return True
            if target not in seen:
                seen.add(target)
                left.append(target)
    return False


def test_a_channel_of_any_capacity_is_no_other_question() -> None:
    bounded = System.load(CLIENT, SERVER).over(Channel(1))
    assert all(one.status is Status.HOLDS for _, one in decide_standard(Composition(bounded)))
