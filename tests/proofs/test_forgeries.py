"""Forged and tampered certificates: none is accepted."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from proofs.claims.certificates import PROTOCOLS
from tests.proofs.shipped_certificates import DOCUMENTS, TABLES, accepts, tampered

# Forgeries: each is a certificate that says more than there is to say, or less.


def part_of(document: Any, subject: str, claim: str) -> Any:
    return next(
        part
        for part in document["parts"]
        if part["subject"] == subject
        and f"{subject}.{claim}" in {c["name"] for c in part["claims"]}
    )


def test_a_part_without_its_counters_does_not_make_noisy_sessions_end() -> None:
    """The states of a session in which nothing is counted are closed under every step."""
    document = tampered("pxp")
    part = part_of(document, "pxp(k)", "terminates")
    noisy = part_of(document, "pxp(k)", "never-stuck")
    for dropped in (["others"], ["others", "RATIFY", "REFUTE", "REVISE", "REJECT"]):
        forged = copy.deepcopy(noisy)
        forged["claims"] = [c for c in part["claims"] if c["name"] == "pxp(k).terminates"]
        for state in forged["states"]:
            state["numbers"] = {k: v for k, v in state["numbers"].items() if k not in dropped}
        forged["states"] = list({json.dumps(s): s for s in forged["states"]}.values())
        for parts in ([forged], [*document["parts"], forged], [*document["parts"][:-1], forged]):
            assert not accepts(document | {"parts": parts}, TABLES["pxp"])


def test_terminates_without_assumptions_is_rejected() -> None:
    document = tampered("pxp")
    part_of(document, "pxp(k)", "terminates")["assumptions"] = []
    assert not accepts(document, TABLES["pxp"])
    document = tampered("pxp")
    claims = part_of(document, "pxp(k)", "terminates")["claims"]
    part_of(document, "pxp(k)", "never-stuck")["claims"].append(claims[0])
    assert not accepts(document, TABLES["pxp"])


FORGERIES: dict[str, Callable[[Any], Any]] = {
    "no parts": lambda d: d | {"parts": []},
    "parts of another kind": lambda d: d | {"parts": {}},
    "no claims": lambda d: d | {"parts": [p | {"claims": []} for p in d["parts"]]},
    "no states": lambda d: d | {"parts": [p | {"states": []} for p in d["parts"]]},
    "only the first part": lambda d: d | {"parts": d["parts"][:1]},
    "no last part": lambda d: d | {"parts": d["parts"][:-1]},
    "a part twice": lambda d: d | {"parts": [*d["parts"], d["parts"][0]]},
    "another order": lambda d: d | {"parts": d["parts"][::-1]},
    "another fingerprint": lambda d: d | {"fingerprint": d["decisions"]},
    "no fingerprint": lambda d: {k: v for k, v in d.items() if k != "fingerprint"},
    "another protocol": lambda d: d | {"protocol": "pxp" if d["protocol"] != "pxp" else "interact"},
    "no such protocol": lambda d: d | {"protocol": "", "parts": []},
    "a protocol that is no text": lambda d: d | {"protocol": None, "parts": []},
    "other decisions": lambda d: d | {"decisions": "0" * 64},
    "no decisions": lambda d: {k: v for k, v in d.items() if k != "decisions"},
    "a truth value for a format": lambda d: d | {"format": True},
    "a float for a format": lambda d: d | {"format": 2.0},
    "something else besides": lambda d: d | {"comment": "proved"},
    "another subject": lambda d: d | {"parts": [p | {"subject": "pxp(k)"} for p in d["parts"]]},
    "along another": lambda d: d | {"parts": [p | {"along": ["m INIT"]} for p in d["parts"]]},
    "an agent that is free": lambda d: d | {"parts": [p | {"free": 1} for p in d["parts"]]},
    "a part with a comment": lambda d: d | {"parts": [p | {"by": "Z3"} for p in d["parts"]]},
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected(protocol: str, name: str) -> None:
    assert not accepts(FORGERIES[name](tampered(protocol)), TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_states_that_lead_to_each_other_and_that_no_session_reaches_are_rejected(
    protocol: str,
) -> None:
    """A state that is over leads nowhere, so adding it keeps the others closed under every step."""
    for p, part in enumerate(DOCUMENTS[protocol]["parts"]):
        over = next(state for state in part["states"] if state["over"])
        document = tampered(protocol)
        document["parts"][p]["states"].append({**over, "over": "no reason"})
        assert not accepts(document, TABLES[protocol])
        document["parts"][p]["states"][-1] = over
        assert not accepts(document, TABLES[protocol])


# Tamperings: anything, anywhere.


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(data[key], (*path, key))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


ODD: tuple[Any, ...] = (
    None,
    0,
    1,
    -1,
    2,
    True,
    False,
    1.0,
    "",
    "0",
    "1..k",
    "> k",
    "< n",
    [],
    [[]],
    {},
    "proved",
)


def tamper(document: Any, paths: Sequence[tuple[Any, ...]], draw: random.Random) -> Any:
    """The document with something deleted, added, doubled, replaced, exchanged."""
    found = json.loads(json.dumps(document))
    path = draw.choice(paths[1:])
    owner, key = at(found, path[:-1]), path[-1]
    match draw.randrange(5):
        case 0:
            del owner[key]
        case 1:
            owner[key] = draw.choice(ODD)
        case 2:
            owner[key] = copy.deepcopy(at(document, draw.choice(paths)))
        case 3 if isinstance(owner, list):
            owner.insert(draw.randint(0, len(owner)), copy.deepcopy(owner[key]))
        case 3:
            owner[draw.choice(("others", "RATIFY", "note", "free"))] = draw.choice(ODD)
        case 4 if isinstance(owner, list):
            other = draw.randrange(len(owner))
            owner[key], owner[other] = owner[other], owner[key]
        case 4:
            other = draw.choice(sorted(owner))
            owner[key], owner[other] = owner[other], owner[key]
    return found


def meaning(document: Any) -> str:
    """The text of a certificate; the order of states is nothing that it says."""
    try:
        parts = [
            {**part, "states": sorted(json.dumps(one, sort_keys=True) for one in part["states"])}
            for part in document["parts"]
        ]
        return json.dumps({**document, "parts": parts}, sort_keys=True)
    except (KeyError, TypeError):
        return json.dumps(document, sort_keys=True)


@pytest.mark.parametrize("tamperings", [60, pytest.param(1000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_tampering_is_accepted(protocol: str, tamperings: int) -> None:
    draw, paths = random.Random(14), list(places(DOCUMENTS[protocol]))
    whole, tried = meaning(DOCUMENTS[protocol]), 0
    shallow = [path for path in paths if len(path) < 6]
    while tried < tamperings:
        document = tamper(DOCUMENTS[protocol], shallow if tried % 2 else paths, draw)
        if meaning(document) != whole:
            tried += 1
            assert not accepts(document, TABLES[protocol])
