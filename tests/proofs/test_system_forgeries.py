"""Certificates of systems: no forgery is accepted, and no tampering that is not still true."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from proofs import recheck
from proofs.claims.system_certificates import (
    certify_system,
)
from proofs.systems import (
    Channel,
    Composition,
    Member,
    System,
    check_unbounded,
    parse_channel,
)
from proofs.systems.reachability import reach
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.tables import builtin
from tests.proofs.certified_systems import (
    CLIENT_SERVER_LOGGER,
    EXAMPLE_SYSTEMS,
    LOOP,
    accepts,
    asked,
    random_one,
    read,
    tables,
    verdicts,
)
from tests.proofs.random_systems import (
    CHANNELS,
)
from tests.proofs.test_forgeries import places, tamper


def test_forged_termination_with_a_loop_is_refused() -> None:
    """a may ping for ever, and be fair to its row that stops only where fairness is strong."""
    said = verdicts(asked(LOOP))
    assert said["ends-if-strong-rows"] == "HOLDS"
    assert said["ends-if-weak-rows"] == said["always-ends"] == "FAILS"
    results = asked(LOOP)
    honest = read(certify_system(LOOP, results))
    (strong,) = (one for one in honest["claims"] if one["name"] == "ends-if-strong-rows")
    assert accepts(honest, LOOP)
    plain = [claim for claim in honest["claims"] if "ranks" not in claim]
    states = len(honest["states"])
    over = [number for number, rank in enumerate(strong["ranks"]) if rank is None]
    stop = "a: q0 q2 ⊤ +stop to b"
    assert any(stop in json.dumps(rank, ensure_ascii=False) for rank in strong["ranks"])
    forged: list[Any] = [
        [None if n in over else [[rank(n), helpful]] for n in range(states)]
        for rank in (lambda n: 0, lambda n: n, lambda n: -n, lambda n: states - n)
        for helpful in (None, stop, "a", "b", "", "a: q0 q1 ⊤ +ping to b", "b: q1 q0 ⊤ +pong to a")
    ]
    forged += [[None] * states, [], None, strong["ranks"]]
    for name in (
        "ends-if-weak-rows",
        "ends-if-weak-agents",
        "always-ends",
        "ends-if-strong-agents",
    ):
        for ranks in forged:
            claim = {"name": name, "verdict": "HOLDS", "ranks": ranks}
            assert not accepts(honest | {"claims": [*plain, claim]}, LOOP), (name, ranks)
            assert not accepts(honest | {"claims": [*plain, claim | {"verdict": "FAILS"}]}, LOOP)


def truths(stated: Any, system: System) -> None:
    """Assert that all that an accepted certificate says is true, by exploring what it is of."""
    tables = [one.automaton.without_rules() for one in system.members]
    known = {table.fingerprint: table for table in tables}
    members = tuple(Member(one["name"], known[one["fingerprint"]]) for one in stated["members"])
    if stated["channel"] == "fifo":
        said = verdicts([*check_unbounded(System(members))])
    else:
        over = System(members, parse_channel(stated["channel"]))
        formulas = [one["name"] for one in stated["claims"] if one["name"][0] in "GA"]
        said = verdicts(asked(over, *formulas))
        assert len(stated["states"]) == len(reach(Composition(over)).states)
    assert {one["name"]: one["verdict"] for one in stated["claims"]}.items() <= said.items()


def tampered(stated: Any, paths: list[Any], draw: random.Random) -> Any:
    """The certificate with something else in it: anything, or what somebody would forge."""
    found = json.loads(json.dumps(stated))
    number = draw.randrange(len(found["states"]))
    match draw.randrange(8):
        case 0:
            found["states"].pop(number)
        case 1:
            found["states"].insert(number, draw.choice(stated["states"]))
        case 2:
            found["channel"] = draw.choice((*CHANNELS, "fifo", "fifo:3", "fifo:0", "", None))
        case 3:
            claim = draw.choice(found["claims"])
            claim["verdict"] = {"HOLDS": "FAILS", "FAILS": "HOLDS"}[claim["verdict"]]
        case 4:
            ranked = [claim for claim in found["claims"] if "ranks" in claim] or [{"ranks": [0]}]
            ranks = draw.choice(ranked)["ranks"]
            ranks[number % len(ranks)] = draw.choice((None, [[0, None]], *ranks))
        case 5:
            values = draw.choice([*found["distances"].values()])
            values[number] = draw.choice((None, 0, 1, *values))
        case 6:
            one, other = draw.choice(found["members"]), draw.choice(stated["members"])
            one[draw.choice(("name", "fingerprint"))] = other[draw.choice(("name", "fingerprint"))]
        case _:
            found = tamper(stated, paths, draw)
    return found


TAMPERED = [
    EXAMPLE_SYSTEMS[0],
    EXAMPLE_SYSTEMS[8],
    LOOP.over(Channel(1)),
    CLIENT_SERVER_LOGGER,
    *(one for one in map(random_one, (2, 6, 16, 21, 28)) if one is not None),
]


@pytest.mark.parametrize("tamperings", [60, pytest.param(600, marks=pytest.mark.deep)])
@pytest.mark.parametrize("place", range(len(TAMPERED)))
def test_no_tampering_is_accepted_unless_it_is_still_true(place: int, tamperings: int) -> None:
    system, draw, kept = TAMPERED[place], random.Random(place), 0
    unbounded = system is CLIENT_SERVER_LOGGER
    results = [*check_unbounded(system)] if unbounded else asked(system, "G true")
    stated = read(certify_system(system, results))
    paths = [path for path in places(stated) if len(path) < 5]
    for _ in range(tamperings):
        other = tampered(stated, paths, draw)
        if other != stated and accepts(other, system):
            kept += 1
            truths(other, system)
    assert kept < tamperings / 4


FORGERIES: dict[str, Callable[[Any], Any]] = {
    "no format": lambda d: {k: v for k, v in d.items() if k != "format"},
    "a truth value for a format": lambda d: d | {"format": True},
    "something else besides": lambda d: d | {"comment": "proved"},
    "no claims": lambda d: d | {"claims": []},
    "the claims but one": lambda d: d | {"claims": d["claims"][1:]},
    "a claim twice": lambda d: d | {"claims": [*d["claims"], d["claims"][0]]},
    "another order of the claims": lambda d: d | {"claims": d["claims"][::-1]},
    "a claim that there is none of": lambda d: (
        d | {"claims": [*d["claims"], {"name": "live", "verdict": "HOLDS"}]}
    ),
    "a claim with a comment": lambda d: d | {"claims": [one | {"by": "us"} for one in d["claims"]]},
    "no states": lambda d: d | {"states": []},
    "the first state alone": lambda d: d | {"states": d["states"][:1]},
    "states that come from themselves": lambda d: (
        d | {"states": [[*one[:3], n] for n, one in enumerate(d["states"])]}
    ),
    "states with a note": lambda d: d | {"states": [[*one, ""] for one in d["states"]]},
    "no distances": lambda d: d | {"distances": {}},
    "distances of nothing": lambda d: d | {"distances": d["distances"] | {"sends x": []}},
    "true distances": lambda d: d | {"distances": {"end": [*map(bool, d["distances"]["end"])]}},
    "floats for distances": lambda d: (
        d | {"distances": {"end": [*map(float, d["distances"]["end"])]}}
    ),
    "no members": lambda d: d | {"members": []},
    "one member": lambda d: d | {"members": d["members"][:1]},
    "a third member": lambda d: d | {"members": [*d["members"], {**d["members"][0], "name": "x"}]},
    "members with a note": lambda d: d | {"members": [one | {"a": 1} for one in d["members"]]},
    "members without a name": lambda d: (
        d | {"members": [one | {"name": ""} for one in d["members"]]}
    ),
    "a k": lambda d: d | {"k": 1},
    "a channel of no room": lambda d: d | {"channel": "fifo:0"},
    "a list": lambda d: [d],
    "nothing": lambda d: None,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str) -> None:
    system = EXAMPLE_SYSTEMS[8]
    stated = read(certify_system(system))
    assert accepts(stated, system)
    assert not accepts(FORGERIES[name](stated), system)


def test_tables_that_are_missing_superfluous_or_others_are_refused() -> None:
    system = EXAMPLE_SYSTEMS[8]
    stated, given = read(certify_system(system)), tables(system)
    for wrong in ([], given[:1], [*given, given[0]], [*given, document(builtin("pxp"))]):
        with pytest.raises(ValueError, match="table"):
            list(recheck.check_system(stated, *wrong))
    renamed = [one | {"initial": one["final"][0]} for one in given]
    with pytest.raises(ValueError, match="table"):
        list(recheck.check_system(stated, *renamed))
    twice = [one | {"rows": [*one["rows"], one["rows"][0]]} for one in given]
    with pytest.raises(ValueError, match="two rows"):
        list(recheck.check_system(stated, *twice))
