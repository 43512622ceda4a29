"""Certificates of what is proved from rules: checked by a file that stands alone, never forged."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs import recheck
from proofs.check import answer
from proofs.requests import Request
from proofs.rules.certificates import TITLES, prove_system
from proofs.rules.certificates import _refusal as refusal
from proofs.rules.prover import prove, prove_tables
from proofs.systems import System
from pxp_fsm.automata.expressions import BOOL, INT, ExpressionError, enumeration, parse_expression
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.automata.tables import load_automaton
from tests.proofs import random_rules
from tests.proofs.test_rules import INTERACT, about, agents, never, watch
from tests.sampling import swept

EXAMPLES = Path(__file__).parents[2] / "examples" / "with_rules"
RECHECK = Path(recheck.__file__)
TABLES = {
    "commit": ("commit_coordinator.toml", "commit_participant.toml"),
    "net": ("net_manager.toml", "net_bidder.toml"),
    "polls": ("polls_client.toml", "polls_server.toml"),
}


@cache
def raw_tables(name: str) -> tuple[Any, ...]:
    return tuple(tomllib.loads((EXAMPLES / one).read_text("utf-8")) for one in TABLES[name])


@cache
def text_of(name: str) -> str:
    results = answer(Request((str(EXAMPLES / f"{name}.toml"),), certificate=Path("unused.json")))
    len(results)
    return results.certificates[0].text()


def certificate(name: str) -> Any:
    return json.loads(text_of(name))


@cache
def related_text() -> str:
    """A certificate about relations, with lemmas: INTERACT is not refuted and then ratified."""
    counts = {"sent": {"type": "int", "init": 0, "step": "sent if kind == event else sent + 1"}}
    ghosts = watch("INIT", "REFUTE", "REFUTE", "RATIFY") | counts
    part = about(
        "dhst",
        ghosts,
        [*never("watch == s4"), {"name": "n", "check": "never", "never": "sent > n"}],
    )
    proof = prove(agents(), part, ["m.j == sent"])
    digest = recheck.Rules(tomllib.loads(INTERACT.read_text("utf-8"))).digest
    members = [["m", digest], ["h", digest]]
    return json.dumps({"format": 1, "members": members, "parts": [proof.evidence]})


def accepts(found: Any, *tables: Any) -> bool:
    """Whether all claims are accepted; what cannot be read at all is not."""
    try:
        lines = list(recheck.check(found, *tables))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return bool(lines) and all(fine for fine, _ in lines)


@pytest.mark.deep
@pytest.mark.parametrize("name", TABLES)
def test_a_certificate_is_small_and_is_checked_by_one_file_that_imports_nothing_of_ours(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text_of(name), "utf-8")
    assert path.stat().st_size < 3_000
    command = [sys.executable, "-I", "-S", str(RECHECK), str(path)]
    tables = [str(EXAMPLES / one) for one in TABLES[name]]
    done = subprocess.run([*command, *tables], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line.startswith("ok ") for line in done.stdout.splitlines())
    done = subprocess.run([*command, *tables[:1]], capture_output=True, text=True, check=False)
    assert done.returncode == 1


def test_the_checker_does_not_run_as_a_module_which_would_import_the_product() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "proofs.recheck"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "python -I -S" in done.stderr
    source = RECHECK.read_text("utf-8")
    assert "import pxp_fsm" not in source
    assert "from pxp_fsm" not in source
    assert "from proofs" not in source


# Forgeries, by somebody who knows the checker.

Change = Callable[[Any], Any]


def first(found: Any) -> Any:
    return found["parts"][0]


def changed(name: str, change: Change) -> Any:
    found = certificate(name)
    change(found)
    return found


def claims_other(text: str) -> Change:
    return lambda c: first(c)["claims"].append({"name": "more", "check": "never", "never": text})


FORGERIES: dict[str, Change] = {
    "what is false": claims_other("coordinator.tries > 0"),
    "what happens at the end": claims_other("over"),
    "what cannot be read": claims_other("coordinator.tries >"),
    "another member": claims_other("nobody.tries > most"),
    "two lines that look like one of ours": claims_other("over\nok    all-is-well"),
    "a claim twice": lambda c: first(c)["claims"].append(first(c)["claims"][0]),
    "a claim without a name": lambda c: first(c)["claims"][0].update(name=""),
    "a name on two lines": lambda c: first(c)["claims"][0].update(name="a\nok  b"),
    "a claim with a comment": lambda c: first(c)["claims"][0].update(note="by Z3"),
    "no ranks": lambda c: first(c)["claims"][0].update(ranks=[]),
    "a rank that rises": lambda c: first(c)["claims"][0].update(ranks=[{"coordinator.tries": 1}]),
    "a rank that is never at least 0": lambda c: first(c)["claims"][0].update(
        ranks=[{"": -1, "coordinator.tries": -1}]
    ),
    "a rank that is no number": lambda c: first(c)["claims"][0].update(
        ranks=[{"most": 1.0, "coordinator.tries": -1}]
    ),
    "sessions that nobody follows": lambda c: first(c).update({"while": "over and not over"}),
    "assumptions that nothing fulfils": lambda c: (
        first(c).update(assume=["most < 0"]) or claims_other("coordinator.tries >= 0")(c)
    ),
    "a part with a comment": lambda c: first(c).update(note="checked"),
    "no parts": lambda c: c.update(parts=[]),
    "no claims": lambda c: first(c).update(claims=[]),
    "another format": lambda c: c.update(format=2),
    "a format that is true": lambda c: c.update(format=True),
    "something besides": lambda c: c.update(note=""),
    "another digest": lambda c: c["members"][0].__setitem__(1, "0" * 64),
    "members that change places": lambda c: (
        c["members"].reverse()
        or [c["members"][0].__setitem__(0, "coordinator"), c["members"][2].__setitem__(0, "right")]
    ),
    "a partner that is no member": lambda c: c["members"][1].__setitem__(0, "somebody"),
    "two members of one name": lambda c: c["members"][1].__setitem__(0, "right"),
    "one member less": lambda c: c["members"].pop(),
    "four members": lambda c: c["members"].append(["far", c["members"][1][1]]),
    "who starts": lambda c: first(c).update(starts="nobody"),
    "a ghost with the name of a parameter": lambda c: first(c).update(
        ghosts={"most": {"type": "int", "init": 0, "step": "most"}}
    ),
    "a ghost with the name of a state": lambda c: first(c).update(
        ghosts={"COMMITTED": {"type": "bool", "init": False, "step": "false"}}
    ),
    "a ghost with no such value": lambda c: first(c).update(
        ghosts={"seen": {"of": ["no"], "init": "yes", "step": "seen"}}
    ),
    "relations among three": lambda c: first(c).update(relations="dhs", starts="coordinator"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_not_accepted(name: str) -> None:
    assert accepts(certificate("commit"), *raw_tables("commit"))
    assert not accepts(changed("commit", FORGERIES[name]), *raw_tables("commit"))


COUNTING = """
format = 1
name = "counting"
title = "Counts without end"
initial = "A"
final = ["Z"]
states = [{ name = "A" }, { name = "Z" }]
rows = [
  { from = "A", to = "A", event = "UP", do = { count = "count + 1", up = "true" } },
  { from = "A", to = "Z", event = "STOP" },
]
[registers]
count = { init = 0, min = 0 }
up = { type = "bool", init = false }
on = { type = "bool", init = true }
"""


def counted(member: str = "m", **part: Any) -> Any:
    """A certificate of COUNTING; its claim is true if the part changes nothing."""
    claim = {"name": "ends", "check": "never", "never": f"{member}.at == Z and not over"}
    rest: dict[str, Any] = {
        "relations": None,
        "starts": "",
        "assume": [],
        "ghosts": {},
        "while": "",
        "lemmas": [],
    }
    atoms = [[[[f"{member}.count", 1]], -3]]
    whole = {**rest, "atoms": atoms, "claims": [claim], **part}
    digest = recheck.Rules(tomllib.loads(COUNTING)).digest
    return {"format": 1, "members": [[member, digest]], "parts": [whole]}


LINE = "a\nok    all-is-well: never over"
MISNAMED: dict[str, Any] = {
    "a member called next": counted("next", claims=never("next.up")),
    **{f"a member called {name}": counted(name) for name in ("msg", "over", "NONE", "event")},
    "a register that is always true": counted(claims=never("m.count > 3"), **{"while": "m.on"}),
    "a ghost with two lines": counted(ghosts={"g": {"of": [LINE], "init": LINE, "step": "g"}}),
    "a ghost of nothing": counted(ghosts={"g": {"type": "of", "init": LINE, "step": "g"}}),
    "a ghost of letters": counted(ghosts={"g": {"of": "ab", "init": "a", "step": "g"}}),
}


@pytest.mark.parametrize("name", MISNAMED)
def test_a_name_that_means_something_else_makes_nothing_true(name: str) -> None:
    raw = tomllib.loads(COUNTING)
    assert accepts(counted(), raw)
    assert not accepts(counted(claims=never("m.up")), raw)
    assert not accepts(MISNAMED[name], raw)


def test_of_a_member_with_such_a_name_nothing_is_proved() -> None:
    part = counted("next", claims=never("next.up"))["parts"][0]
    proof = prove_tables({"next": tomllib.loads(COUNTING)}, part)
    assert proof.proved == ()
    assert ["call the member otherwise" in text for text in proof.obstacles.values()] == [True]


def test_a_certificate_about_ids_is_of_every_value() -> None:
    """Ids are compared for equality alone: the checker reads nothing else of them."""
    raw = tomllib.loads((EXAMPLES / "approval_gateway.toml").read_text("utf-8"))
    results = answer(
        Request((str(EXAMPLES / "approval_gateway.toml"),), certificate=Path("unused.json"))
    )
    assert [str(one.status) for one in results] == ["HOLDS"] * 4
    found = json.loads(results.certificates[0].text())
    assert accepts(found, raw)
    me = "approval_gateway"
    for text in (
        f"tag != TRANSFER or {me}.approved != {me}.called",
        f"tag != TRANSFER or {me}.approved <= {me}.called",
        f"tag != TRANSFER or {me}.approved == 0",
        f"tag != TRANSFER or {me}.approved + 1 == {me}.called + 1",
        f"tag != CALL or {me}.called == msg.arguments",
        "tag != CALL or msg.amount == msg.amount",
        "tag != TRANSFER or msg.arguments == msg.arguments",
        f"tag != CALL or next.{me}.called == msg",
    ):
        forged = copy.deepcopy(found)
        first(forged)["claims"][0]["step"] = text
        assert not accepts(forged, raw), text
    for old, new in (
        ('"approved == called"', '"approved == called or true"'),
        ('approved = "msg.arguments"', 'approved = "called"'),
        ('required = ["arguments"]', "required = []"),
        ('approved = { type = "id" }', "approved = { init = 0 }"),
        ('approved = { type = "id" }', 'approved = { type = "id", init = "x" }'),
    ):
        text = (EXAMPLES / "approval_gateway.toml").read_text("utf-8")
        assert old in text
        assert not accepts(found, tomllib.loads(text.replace(old, new))), new


LEMMAS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "false, with positive factors": lambda _: [[[[["k", 1]], 0], 1], [[[["k", -1]], 1], 2]],
    "false, of two atoms that hold together": lambda _: [
        [[[["sent", 1], ["n", -1]], 1], 1], [[[["sent", -1]], 1], 1],
    ],
    "without a factor": lambda one: [[one[0][0], 0], *one[1:]],
    "with a factor below 0": lambda one: [[one[0][0], -1], *one[1:]],
    "with a fraction": lambda one: [[one[0][0], 0.5], *one[1:]],
    "with true for 1": lambda one: [[one[0][0], True], *one[1:]],
    "of nothing": lambda _: [],
    "of a constant alone": lambda _: [[[[], 1], 1]],
    "that is not rounded": lambda _: [[[[["n", 2]], 1], 1], [[[["n", -2]], 1], 1]],
    "with a name twice": lambda _: [[[[["n", 1], ["n", -2]], 1], 1], [[[["n", 1]], 0], 1]],
    "with an atom twice": lambda one: [*one, one[0]],
    "with a factor of 0 in an atom": lambda _: [[[[["n", 0]], 1], 1]],
}  # fmt: skip


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_that_is_none_is_refused_even_where_it_is_not_needed(name: str) -> None:
    raw = tomllib.loads(INTERACT.read_text("utf-8"))
    found = json.loads(related_text())
    assert accepts(found, raw)
    assert found["parts"][0]["lemmas"]
    forged = LEMMAS[name](copy.deepcopy(found["parts"][0]["lemmas"][0]))
    found["parts"][0]["lemmas"].append(forged)
    assert not accepts(found, raw)


def test_without_its_lemmas_a_certificate_is_wrong_and_not_believed() -> None:
    raw, found = tomllib.loads(INTERACT.read_text("utf-8")), json.loads(related_text())
    found["parts"][0]["lemmas"] = []
    assert not accepts(found, raw)


@pytest.mark.parametrize("given", ["", "dh", "dhs", "hst"])
def test_fewer_assumptions_are_not_enough(given: str) -> None:
    raw, found = tomllib.loads(INTERACT.read_text("utf-8")), json.loads(related_text())
    found["parts"][0]["relations"] = given
    assert not accepts(found, raw)


def test_another_table_is_refused_whatever_the_change_but_prose() -> None:
    text = (EXAMPLES / "polls_client.toml").read_text("utf-8")
    server = raw_tables("polls")[1]
    for old, new in (
        ("polls < most", "polls <= most"),
        ('"polls + 1"', '"polls + 2"'),
        ("min = 0 }\n\n[registers]", "min = 1 }\n\n[registers]"),
        ("polls = { init = 0", "polls = { init = 1"),
        ('final = ["END"]', 'final = ["IDLE", "END"]'),
        ('receive = "ACK"', 'receive = "NACK"'),
    ):
        assert old in text
        assert not accepts(certificate("polls"), tomllib.loads(text.replace(old, new)), server)
    prose = text.replace("with a bound on polls", "that polls").replace(" + 1", "  +  1")
    assert accepts(certificate("polls"), tomllib.loads(prose), server)


def test_a_payload_is_part_of_what_is_certified() -> None:
    client, server = raw_tables("polls")
    schema = {"payloads": {"CALL": {"type": "object"}}}
    assert not accepts(certificate("polls"), {**client, **schema}, server)
    system = pxp.System.load("interact")
    table = tomllib.loads((EXAMPLES / "commit_participant.toml").read_text("utf-8"))
    marks = {recheck.Table(one).fingerprint for one in (table, table | schema)}
    assert len(marks) == 2
    assert system.members[0].automaton.fingerprint


# Alterations: anything, anywhere. What is accepted must be true all the same.

ODD: tuple[Any, ...] = (None, 0, 1, -1, 2, True, 1.0, "", "m", "most", "d", "dhrst", [], [[]], {})


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(data[key], (*path, key))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def altered(found: Any, draw: random.Random) -> Any:
    new, paths = copy.deepcopy(found), list(places(found))[1:]
    path = draw.choice(paths)
    owner, key = at(new, path[:-1]), path[-1]
    match draw.randrange(4):
        case 0:
            del owner[key]
        case 1:
            owner[key] = draw.choice(ODD)
        case 2:
            owner[key] = copy.deepcopy(at(found, draw.choice(paths)))
        case 3 if isinstance(owner, list):
            owner.insert(draw.randint(0, len(owner)), copy.deepcopy(owner[key]))
        case 3:
            owner[draw.choice(("note", "free", "format"))] = draw.choice(ODD)
    return new


def unnamed(claim: Any) -> Any:
    """What a claim says, whatever it is called: its name promises nothing."""
    return {key: value for key, value in claim.items() if key != "name"}


def weakened(new: Any, old: Any) -> bool:
    """Whether it says no more than the certificate did: fewer claims, other evidence, or the same
    claims under assumptions that hold of more."""
    try:
        if new["members"] != old["members"]:
            return False
        for part in new["parts"]:
            if not any(
                all(
                    unnamed(claim) in map(unnamed, known["claims"])
                    or claim["check"] == "terminates"
                    for claim in part["claims"]
                )
                and (part["assume"], part["while"], part["ghosts"])
                == (known["assume"], known["while"], known["ghosts"])
                and {*(known["relations"] or "")} <= {*(part["relations"] or "")}
                and (part["starts"] or known["starts"]) == (known["starts"] or part["starts"])
                for known in old["parts"]
            ):
                return False
    except (TypeError, KeyError):
        return False
    return True


@pytest.mark.parametrize("count", [40, pytest.param(swept(2_000), marks=pytest.mark.deep)])
@pytest.mark.parametrize("name", [*TABLES, "related"])
def test_whatever_is_altered_is_refused_or_says_nothing_more(name: str, count: int) -> None:
    draw = random.Random(7)
    tables = (
        (tomllib.loads(INTERACT.read_text("utf-8")),) if name == "related" else raw_tables(name)
    )
    old = json.loads(related_text()) if name == "related" else certificate(name)
    for _ in range(count):
        new = altered(old, draw)
        if accepts(new, *tables):
            assert weakened(new, old), json.dumps(new)


# Two parsers: the one of the product, and the checker's own.

NAMES = {
    "n": INT, "k": INT, "c": INT, "flag": BOOL, "asked": BOOL,
    "hue": enumeration(random_rules.COLOURS),
}  # fmt: skip
WORDS = (
    *("and", "or", "not", "if", "else", "in", "true", "false", "(", ")", "{", "}", ","),
    *("+", "-", "*", "==", "!=", "<", "<=", ">", ">=", "0", "1", "23", "01", "n", "k", "c"),
    *("flag", "hue", "RED", "GREEN", "1.5", "é", "ﬁ", "a.b", "'", "\n", "\t", "=", "**", "1x"),
)


def reads(text: str) -> bool:
    try:
        recheck.parse(text)
    except ValueError:
        return False
    return True


def is_fault_of_grammar(text: str) -> bool:
    """Whether the product refuses it, for a reason that is not about names and types."""
    try:
        parse_expression(text, NAMES, {*random_rules.COLOURS}, {})
    except ExpressionError:
        return True
    return False


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.deep)])
def test_what_the_product_reads_the_checker_reads(count: int) -> None:
    draw, both = random.Random(1), 0
    for _ in range(count):
        words = draw.choices(WORDS, k=draw.randint(1, 9))
        text = draw.choice((" ", "")).join(words)
        if not is_fault_of_grammar(text):
            both += 1
            assert reads(text), text
    assert both > count / 100


@pytest.mark.parametrize("count", [60, pytest.param(5_000, marks=pytest.mark.deep)])
def test_both_parsers_mean_the_same(count: int) -> None:
    """Values on numbers: by the compiled expression of the product, by the checker's evaluation,
    and by Python, which reads these expressions alike."""
    from pxp_fsm.automata.expressions import compiled
    from tests.oracles.rule_sessions import evaluated

    draw = random.Random(2)
    for _ in range(count):
        text = random_rules.condition(draw, 3, ("asked",))
        run = compiled(parse_expression(text, NAMES, {*random_rules.COLOURS}, {}), tuple(NAMES))
        tree = recheck.parse(text)
        for _ in range(6):
            values: dict[str, Any] = {name: draw.randint(-3, 6) for name in ("n", "k", "c")}
            values |= {"flag": draw.random() < 0.5, "asked": draw.random() < 0.5}
            values["hue"] = draw.choice(random_rules.COLOURS)
            plain = {x: recheck.number(v) if type(v) is int else v for x, v in values.items()}
            checked = recheck.value(
                tree, plain, {*random_rules.COLOURS}, lambda atom: atom.constant <= 0
            )
            assert checked is run(*values.values()) is evaluated(text, values), text


def test_a_table_is_read_alike_by_loader_and_checker() -> None:
    from pxp_fsm.automata.serialization import document

    for path in (INTERACT, *EXAMPLES.glob("*_*.toml")):
        raw = tomllib.loads(path.read_text("utf-8"))
        written = document(load_automaton(str(path)))
        assert recheck.Rules(raw).digest == recheck.Rules(written).digest, path


def test_a_certificate_shows_its_members_and_claims() -> None:
    results = answer(Request((str(EXAMPLES / "polls.toml"),), certificate=Path("unused.json")))
    assert len(results) == 4
    assert repr(results.certificates[0]) == (
        "<RulesCertificate of client, server: terminates, never-stuck, one-guard, "
        "at-most-most-polls>"
    )


def test_a_claim_that_is_not_proved_is_to_be_explored_for_one_value_of_each_parameter() -> None:
    """3 where that is allowed: with less, much that is counted never happens."""
    for name, case in (("net", "--with deadline=3"), ("polls", "--with most=3")):
        file = str(EXAMPLES / f"{name}.toml")
        properties = read_system(file).properties
        results, proved = prove_system(System.load(file), properties, "fifo:2")
        assert proved is None and results
        for result in results:
            assert case in result.verdict.remedy.split(" --formula")[0]


def test_a_result_is_named_after_its_claim_where_nothing_is_said_about_it() -> None:
    file = str(EXAMPLES / "polls.toml")
    system, properties = System.load(file), read_system(file).properties
    results, _ = prove_system(system, [replace(one, about="") for one in properties])
    titles = {result.name: result.title for result in results}
    assert titles["terminates"] == TITLES["terminates"]
    (never,) = (one for one in properties if one.claim and "never" in one.claim["claims"][0])
    claim = never.claim["claims"][0]
    assert titles[claim["name"]] == f"never {claim['never']}"
    assert {result.model for result in results} == {system.name}


def test_why_the_checker_refuses_a_certificate_is_said() -> None:
    file = str(EXAMPLES / "polls.toml")
    system = System.load(file)
    _, certificate = prove_system(system, read_system(file).properties)
    assert certificate is not None
    tables = [member.automaton for member in system.members]
    document = json.loads(certificate.text())
    assert refusal(document, tables) == ""
    (claim,) = (
        claim for part in document["parts"] for claim in part["claims"] if claim["check"] == "never"
    )
    claim["never"] = "client.polls <= most"
    assert claim["name"] in refusal(document, tables)
    assert refusal({}, tables).startswith("KeyError")
