"""Forged and tampered certificates of the protocols: none is accepted."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from proofs.claims.theorems import TABLES as PROTOCOLS
from tests.proofs.shipped_certificates import DOCUMENTS, TABLES, accepts, tampered
from tests.sampling import swept

# Forgeries: each is a certificate that says more than there is to say, or less.


def each_part(**changes: Any) -> Callable[[Any], Any]:
    return lambda d: d | {"parts": [{**part, **changes} for part in d["parts"]]}


def each_claim(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda d: (
        d | {"parts": [{**part, "claims": [*map(change, part["claims"])]} for part in d["parts"]]}
    )


def other_protocol(document: Any) -> str:
    return "pxp" if document["protocol"] != "pxp" else "interact"


FORGERIES: dict[str, Callable[[Any], Any]] = {
    "no parts": lambda d: d | {"parts": []},
    "parts of another kind": lambda d: d | {"parts": {}},
    "no claims": each_part(claims=[]),
    "no atoms or lemmas": each_part(atoms=[], lemmas=[], relations=""),
    "only the first part": lambda d: d | {"parts": d["parts"][:1]},
    "no last part": lambda d: d | {"parts": d["parts"][:-1]},
    "a part twice": lambda d: d | {"parts": [*d["parts"], d["parts"][0]]},
    "another order": lambda d: d | {"parts": d["parts"][::-1]},
    "other digests": lambda d: d | {"members": [["m", "0" * 64], ["h", "0" * 64]]},
    "another name of a member": lambda d: d | {"members": [["m", d["members"][0][1]],
                                                           ["x", d["members"][1][1]]]},
    "one member": lambda d: d | {"members": d["members"][:1]},
    "no members": lambda d: {key: one for key, one in d.items() if key != "members"},
    "another protocol": lambda d: d | {"protocol": other_protocol(d)},
    "no such protocol": lambda d: d | {"protocol": "", "parts": []},
    "a protocol that is no text": lambda d: d | {"protocol": None},
    "a truth value for a format": lambda d: d | {"format": True},
    "a float for a format": lambda d: d | {"format": 1.0},
    "something else besides": lambda d: d | {"comment": "proved"},
    "fewer assumptions": each_part(relations=""),
    "no relations": each_part(relations=None),
    "assumptions of parameters": each_part(assume=["n >= 3"]),
    "assumptions that nothing fulfils": each_part(assume=["k < 0"]),
    "who begins": each_part(starts="h"),
    "sessions that nobody follows": each_part(**{"while": "over and not over"}),
    "ghosts that see nothing": each_part(ghosts={}),
    "a part with a comment": each_part(by="Z3"),
    "other names": each_claim(lambda c: c | {"name": "all-is-well"}),
    "other expressions": each_claim(
        lambda c: c | {key: "m.at == IDLE" for key in ("never", "step") if key in c}
    ),
    "other checks": each_claim(lambda c: {"name": c["name"], "check": "never-stuck"}),
    "a claim with a comment": each_claim(lambda c: c | {"by": "Z3"}),
}  # fmt: skip


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_rejected(protocol: str, name: str) -> None:
    assert not accepts(FORGERIES[name](tampered(protocol)), TABLES[protocol])


@pytest.mark.deep
@pytest.mark.parametrize("protocol", ["interact", "pxp(k)"])
def test_other_ranks_do_not_make_sessions_end(protocol: str) -> None:
    others: tuple[Any, ...] = (
        [],
        [{"n": 1}],
        [{"": -1, "m.j": -1}],
        [{"m.j": 1}],
        [{"k": 1}],
        [{}],
        {},
        None,
    )
    for ranks in others:
        document = tampered(protocol)
        for part in document["parts"]:
            for claim in part["claims"]:
                if "ranks" in claim:
                    claim["ranks"] = ranks
        assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", ["interact", "pxp(k)"])
def test_a_lemma_that_is_false_is_refused_though_its_factors_are_positive(protocol: str) -> None:
    atom = [[["k", 1]], 0]
    for lemma in (
        [[atom, 1]],
        [[atom, 1], [[[["k", -1]], 0], 1]],
        [[atom, 2], [[[["k", -2]], 1], 1]],
        [[atom, True], [[[["k", -1]], 1], 1]],
        [[atom, 0.5], [[[["k", -1]], 1], 0.5]],
    ):
        document = tampered(protocol)
        document["parts"][0]["lemmas"].append(lemma)
        assert not accepts(document, TABLES[protocol])


@pytest.mark.deep
def test_a_lemma_that_is_needed_cannot_be_left_out() -> None:
    missed = 0
    for place in range(len(DOCUMENTS["pxp(k)"]["parts"])):
        for number in range(len(DOCUMENTS["pxp(k)"]["parts"][place]["lemmas"])):
            document = tampered("pxp(k)")
            del document["parts"][place]["lemmas"][number]
            missed += not accepts(document, TABLES["pxp(k)"])
    assert missed > 10


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
    *(None, 0, 1, -1, 2, True, False, 1.0, "", "0", "k", "true", "watch != s1", "dhrst"),
    *([], [[]], {}, ["n >= 3"], "never", "terminates"),
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


def statement(document: Any) -> str:
    """All that a certificate says: everything but its evidence, which may be found otherwise."""
    try:
        parts = [
            {key: one for key, one in part.items() if key not in ("atoms", "lemmas")}
            | {"claims": [{k: x for k, x in c.items() if k != "ranks"} for c in part["claims"]]}
            for part in document["parts"]
        ]
        return json.dumps({**document, "parts": parts}, sort_keys=True)
    except (KeyError, TypeError, AttributeError):
        return "no statement"


@pytest.mark.deep
@pytest.mark.parametrize("tamperings", [12, pytest.param(swept(400), marks=pytest.mark.deep)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_accepted_after_tampering_says_what_the_certificate_said(
    protocol: str, tamperings: int
) -> None:
    """Evidence may be more than is needed, or other; the statement cannot change."""
    draw, paths = random.Random(14), list(places(DOCUMENTS[protocol]))
    whole = statement(DOCUMENTS[protocol])
    shallow = [path for path in paths if len(path) < 6]
    for number in range(tamperings):
        document = tamper(DOCUMENTS[protocol], shallow if number % 2 else paths, draw)
        if "protocol" not in document:
            continue  # it says in full what it claims, and not that it is all that is due
        if statement(document) != whole:
            assert not accepts(document, TABLES[protocol])
        if number % 5 == 0:
            accepts(document, TABLES[protocol])  # refused or not, it stops with no other error
