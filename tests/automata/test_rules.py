"""Rules of tables: what they declare and decide, and each fault with its place and remedy."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import Value, enumeration
from pxp_fsm.automata.rules import Oracle, Rules
from pxp_fsm.automata.serialization import to_json, to_toml
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import TableError, UsageError

EXAMPLES = Path(__file__).parents[2] / "examples" / "with_rules"
TABLE = """
format = 1
name = "courier"
title = "A courier"
initial = "IDLE"
final = ["DONE"]
states = [
  { name = "IDLE" },
  { name = "ASKED", guards = ["YES", "NO", "LATER"] },
  { name = "WAIT" },
  { name = "DONE" },
]
rows = [
  { from = "IDLE", to = "WAIT", send = "ASK", when = "tries < most", do = { tries = "tries + 1" } },
  { from = "IDLE", to = "DONE", event = "GIVE_UP", when = "tries >= most", by = "clock" },
  { from = "IDLE", to = "ASKED", receive = "ASK" },
  { from = "ASKED", to = "DONE", guard = "YES", send = "GIVE", do = { price = "offer" } },
  { from = "ASKED", to = "DONE", guard = "NO", send = "DENY", carry = "own" },
  { from = "ASKED", to = "IDLE", guard = "LATER", send = "WAIT_FOR_ME" },
  { from = "WAIT", to = "DONE", receive = ["GIVE", "DENY"] },
  { from = "WAIT", to = "IDLE", receive = "WAIT_FOR_ME" },
  { from = "IDLE", to = "DONE", event = "CLOSE", when = "last == DENY", urgent = true },
]
[parameters]
most = { min = 1 }
strict = { type = "bool" }
mood = { of = ["GOOD", "BAD"] }
[registers]
tries = { init = 0, min = 0 }
price = { init = 0 }
last = { of = ["NOTHING", "ASK", "GIVE", "DENY", "WAIT_FOR_ME"], init = "NOTHING" }
file = { type = "id" }
[oracles]
free = {}
offer = { type = "int", min = 0 }
how = { of = ["FAST", "SLOW"] }
[let]
fine = "offer <= 10 or mood == GOOD"
[guards]
YES = { when = "free and fine", about = "it is free and cheap" }
NO = { when = "not free and (strict or how == SLOW)" }
LATER = { when = "else" }
[each.message]
last = "tag"
"""


def courier(*changes: tuple[str, str]) -> Automaton:
    text = TABLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return parse_automaton(text, "courier.toml")


def test_what_a_table_declares() -> None:
    rules = courier().rules
    assert rules.names == (
        *("most", "strict", "mood", "tries", "price", "last", "file"),
        *("free", "offer", "how"),
    )
    assert rules.types["mood"] == enumeration({"GOOD", "BAD"})
    assert rules.initial == (0, 0, "NOTHING", "")
    assert rules.oracles[1] == Oracle("offer", rules.types["tries"], 0)
    assert rules.deciding == {"ASKED": ("YES", "NO", "LATER")}
    assert [one.name for one in pxp.load_automaton("interact").rules.parameters] == ["n", "k"]
    assert not Rules()


def test_a_table_with_rules_is_written_and_read_back() -> None:
    table = courier()
    for again in (parse_automaton(to_toml(table)), parse_automaton(to_json(table), "x.json")):
        assert again == table
        assert again.fingerprint == table.fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("most = { min = 1 }", "most = { min = 2 }"),
        ("tries = { init = 0", "tries = { init = 1"),
        ("tries + 1", "tries + 2"),
        ('when = "tries < most"', 'when = "tries <= most"'),
        ("offer <= 10", "offer <= 11"),
        (", urgent = true", ""),
        ('by = "clock"', 'by = "world"'),
        (', carry = "own"', ""),
        ('last = "tag"', 'last = "ASK"'),
        ("free = {}\n", ""),
    ],
)
def test_the_fingerprint_covers_the_rules(old: str, new: str) -> None:
    changes = [(old, new)]
    if old.startswith("free"):  # asked in another order
        changes.append(("how = {", "free = {}\nhow = {"))
    assert courier(*changes).fingerprint != courier().fingerprint


def test_the_fingerprint_does_not_depend_on_what_definitions_are_called() -> None:
    other = courier(("fine = ", "good = "), ("free and fine", "free and good"))
    assert other.fingerprint == courier().fingerprint


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, "free"),
        ({"free": True}, "offer"),
        ({"free": True, "offer": 10}, "YES"),
        ({"free": True, "offer": 11}, "LATER"),
        ({"free": False}, "how"),
        ({"free": False, "how": "SLOW"}, "NO"),
        ({"free": True, "mood": "GOOD"}, "YES"),
        ({"free": False, "strict": True}, "NO"),
        ({"strict": True, "mood": "GOOD"}, "free"),
    ],
)
def test_an_oracle_is_asked_only_while_the_decision_depends_on_it(
    answers: dict[str, Value], expected: str
) -> None:
    rules = courier().rules
    stored: dict[str, Value] = {"most": 3, "strict": False, "mood": "BAD"}
    stored |= dict(zip(rules.stored[3:], rules.initial, strict=True))
    found = rules.next_question("ASKED", stored | answers)
    assert (found if isinstance(found, str) else found.name) == expected


def test_rows_are_taken_when_their_rule_says_so_and_update_all_at_once() -> None:
    table = courier(
        ('do = { tries = "tries + 1" }', 'do = { tries = "price", price = "tries" }'),
        ("price = { init = 0 }", "price = { init = 0, min = 0 }"),
    )
    rules, (ask, give_up, *_) = table.rules, table.leaving("IDLE")
    start: tuple[Value, ...] = (3, False, "BAD", 2, 7, "NOTHING", "")
    assert (rules.when(ask, start), rules.when(give_up, start)) == (True, False)
    assert rules.step(ask, start) == (7, 2, "ASK", "")
    assert rules.step(give_up, start) == (2, 7, "NOTHING", "")
    give = table.leaving("ASKED")[0]
    assert rules.step(give, (*start, True, 5, "FAST")) == (2, 5, "GIVE", "")


def test_a_guard_of_a_state_is_chosen_by_the_rules() -> None:
    rules = courier().rules
    stored: tuple[Value, ...] = (3, False, "BAD", 2, 7, "NOTHING", "")
    assert rules.decide("ASKED", (*stored, True, 10, "FAST")) == "YES"
    assert rules.decide("ASKED", (*stored, True, 11, "FAST")) == "LATER"
    assert rules.decide("ASKED", (*stored, False, 0, "SLOW")) == "NO"


class Odd(int):
    """A number that is not quite an int."""


@pytest.mark.parametrize(
    "value", [True, Odd(3), Fraction(3), 3.0, np.int64(3), "3", None], ids=repr
)
def test_a_number_is_exactly_an_int(value: object) -> None:
    with pytest.raises(UsageError, match="most is a whole number"):
        courier().rules.arguments({"most": value, "strict": False, "mood": "BAD"})


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"most": 0}, "most is at least 1, not 0"),
        ({"strict": 1}, "strict is True or False, not 1"),
        ({"mood": "UGLY"}, "mood is one of BAD, GOOD, not 'UGLY'"),
        ({"more": 3}, "there is no parameter more; there are: most, strict, mood"),
    ],
)
def test_parameters_are_checked_where_they_enter(given: dict[str, Any], problem: str) -> None:
    right = {"most": 3, "strict": True, "mood": "GOOD"}
    assert courier().rules.arguments(right) == (3, True, "GOOD")
    with pytest.raises(UsageError, match=problem):
        courier().rules.arguments(right | given)
    with pytest.raises(UsageError, match="strict has no value"):
        courier().rules.arguments({"most": 3, "mood": "GOOD"})


FAULTS = {
    "a word that is no name": (
        ('when = "tries < most"', 'when = "tries < mst"'),
        "line 14, column 63: when: unknown name 'mst'; did you mean most?",
    ),
    "an update of nothing": (
        ('do = { tries = "tries + 1" }', 'do = { trys = "tries + 1" }'),
        "line 14, column 85: trys: there is no register trys (there are: tries, price, last, file)",
    ),
    "an update of another type": (
        ('tries = "tries + 1"', 'tries = "tries < 1"'),
        "'tries < 1' is a truth value, and a whole number belongs here",
    ),
    "a member that is none of the register's": (
        ('last = "tag"', 'last = "GOOD"'),
        "'GOOD' is one of GOOD, and one of ASK, DENY, GIVE, NOTHING, WAIT_FOR_ME belongs here",
    ),
    "a name for two things": (
        ("price = { init", "most = { init"),
        "registers.most: most is declared under [parameters] too",
    ),
    "a name that is a label": (
        ("free = {}", "ASK = {}"),
        "oracles.ASK: ASK is a label or a member of an enumeration too",
    ),
    "a reserved name": (
        ("free = {}", "over = {}"),
        "oracles.over: over has a meaning of its own in expressions",
    ),
    "a first value that does not fit": (
        ("tries = { init = 0, min = 0 }", "tries = { init = 0, min = 1 }"),
        "init of tries is at least 1, not 0",
    ),
    "two guards left over": (
        ('when = "not free and (strict or how == SLOW)"', 'when = "else"'),
        'NO, LATER are "else" in ASKED; one guard is at most',
    ),
    "a guard without a rule beside others": (
        ('LATER = { when = "else" }', 'LATER = "later"'),
        "YES, NO decide by rules in ASKED, and LATER do not; give each a when, or none",
    ),
    "two guards at once": (
        ('"not free and (strict or how == SLOW)"', '"strict or tries + 2 > most"'),
        "in state ASKED YES and NO are both true at most=1, not strict, mood=GOOD, tries=0, free",
    ),
    "no guard": (
        ('LATER = { when = "else" }', 'LATER = { when = "free and not fine" }'),
        "in state ASKED no guard is true at not strict, not free, how=FAST; add a guard with when",
    ),
    "a when under a guard": (
        ('guard = "NO", send = "DENY"', 'guard = "NO", send = "DENY", when = "strict"'),
        'a row under a guard has no when of its own; write it at the guard, as in NO = { when = "',
    ),
    "a when where something is received": (
        ('to = "ASKED", receive = "ASK"', 'to = "ASKED", receive = "ASK", when = "strict"'),
        "a row that receives has no when: what is received is the peer's choice, and never refused",
    ),
    "an oracle where nothing is decided": (
        ('when = "tries < most"', 'when = "free"'),
        "when: free asks an oracle, and oracles are asked where guards decide alone",
    ),
    "a definition with an oracle where nothing is decided": (
        ('when = "tries < most"', 'when = "fine"'),
        "when: fine asks an oracle, and oracles are asked where guards decide alone",
    ),
    "urgent without when": (
        ('when = "last == DENY", urgent = true', "urgent = true"),
        "urgent belongs to an event with a when",
    ),
    "an event that carries": (
        ('event = "GIVE_UP"', 'event = "GIVE_UP", carry = "own"'),
        "carry belongs to a row with send; drop it",
    ),
    "a message by the clock": (
        ('receive = "WAIT_FOR_ME"', 'receive = "WAIT_FOR_ME", by = "clock"'),
        "by belongs to a row with event; drop it",
    ),
    "a number below its least": (
        ('tries = "tries + 1"', 'tries = "tries - 1"'),
        "IDLE +ASK: tries = tries - 1 is below its min 0 at most=1, tries=0; add a when",
    ),
    "a definition that uses a later one": (
        ("[let]\n", '[let]\nearly = "fine"\n'),
        "let.early: unknown name 'fine'",
    ),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_names_its_place_and_the_remedy(kind: str) -> None:
    change, said = FAULTS[kind]
    with pytest.raises(TableError) as refused:
        courier(change)
    assert said in str(refused.value)
    assert str(refused.value).startswith("courier.toml, line ")


def test_a_number_may_fall_where_a_rule_keeps_it_from_falling_too_far() -> None:
    change = (
        'when = "tries < most", do = { tries = "tries + 1" }',
        "when = 'tries > 0', do = { tries = 'tries - 1' }",
    )
    assert courier(change).rules


@pytest.mark.parametrize("quotes", ['"', "'", '"""', "'''"])
def test_the_column_is_that_of_the_word_in_the_file(quotes: str) -> None:
    written = f"{quotes}tries < mst{quotes}"
    line = TABLE.splitlines()[13].replace('"tries < most"', written)
    with pytest.raises(TableError) as refused:
        courier(('"tries < most"', written))
    assert f"line 14, column {line.index('mst') + 1}: " in str(refused.value)


def test_a_session_carries_out_what_a_table_counts() -> None:
    """Run without its rules, the table would be another one."""
    system = pxp.System.load(str(EXAMPLES / "polls.toml"))
    actors: dict[str, Any] = dict.fromkeys(system.places, lambda turn: None)
    with pytest.raises(UsageError, match="the parameter most has no value; give one"):
        pxp.Session(system, actors)
    session = pxp.Session(system, actors, parameters={"most": 2})
    names = [state.name for state in session.system.members[0].automaton.states]
    assert any("polls=2" in name for name in names)
    assert not any("polls=3" in name for name in names)
    with pytest.raises(UsageError, match=r"no table of .* has a parameter least"):
        pxp.Session(system, actors, parameters={"least": 2})
    unfolded = system.with_parameters({"most": 2})
    assert pxp.Session(unfolded, actors).system == session.system
    with pytest.raises(UsageError, match=r"no table of .* has a parameter most; there are: none"):
        pxp.Session(unfolded, actors, parameters={"most": 2})
    with pytest.raises(UsageError, match="parameters has no effect in a session of interact"):
        pxp.Session(pxp.Interact(), actors, parameters={"n": 2})


CARRIES = """
[payloads.ASK]
type = "object"
required = ["size", "file"]
properties = { size = { type = "integer", minimum = 2 }, file = { type = "string" }, more = {} }
"""
ASKS = ('receive = "ASK" }', 'receive = "ASK", do = { file = "msg.file", price = "msg.size" } }')


def reads_messages() -> Automaton:
    return parse_automaton(TABLE.replace(*ASKS) + CARRIES)


def test_a_row_reads_what_its_message_carries() -> None:
    """A number where the schema says so; all else is an id, which is its canonical JSON."""
    table = reads_messages()
    row = next(row for row in table.transitions if row.action == "-ASK")
    values: tuple[Value, ...] = (1, True, "GOOD", 3, 0, "NOTHING", "")
    after = table.rules.step(row, values, {"size": 7, "file": {"b": [1], "a": None}})
    assert after == (3, 7, "ASK", '{"a":null,"b":[1]}')
    assert [field.name for field in table.rules.reads(row)] == ["msg.size", "msg.file"]
    assert parse_automaton(to_toml(table)) == table
    whole = parse_automaton(TABLE.replace(ASKS[0], 'receive = "ASK", do = { file = "msg" } }'))
    row = next(row for row in whole.transitions if row.action == "-ASK")
    assert whole.rules.step(row, values, [1, "ß"])[-1] == '[1,"\\u00df"]'


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"file": "x"}, "msg.size: the message carries no size"),
        ({"file": "x", "size": 2.0}, r"msg.size is a whole number \(an int\), not 2.0"),
        ({"file": "x", "size": True}, r"msg.size is a whole number \(an int\)"),
        ({"file": "x", "size": 1}, "msg.size is at least 2, not 1"),
        ([7], "msg.size: the message carries no size"),
    ],
)
def test_a_message_without_what_a_row_reads_is_refused(payload: Any, problem: str) -> None:
    table = reads_messages()
    row = next(row for row in table.transitions if row.action == "-ASK")
    with pytest.raises(UsageError, match=problem):
        table.rules.step(row, (1, True, "GOOD", 3, 0, "NOTHING", ""), payload)


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ("msg.more", r"unknown name .msg.more.; updates at a message read msg, .*\[payloads\]"),
        ("msg.file", "'msg.file' is an id, and a whole number belongs here"),
        ("msg.size + msg", "msg is an id, and a whole number belongs here"),
        ("msg.size if msg.size < msg.file else 0", "values of one type alone can be compared"),
    ],
)
def test_what_a_message_does_not_carry_is_a_fault(new: str, problem: str) -> None:
    with pytest.raises(TableError, match=problem):
        parse_automaton(TABLE.replace(*ASKS).replace('"msg.size"', f'"{new}"') + CARRIES)


def test_no_event_and_no_decision_reads_a_message() -> None:
    for old, new in (
        ('by = "clock" }', 'by = "clock", do = { file = "msg" } }'),
        ('when = "tries < most"', 'when = "file == msg"'),
        ('"free and fine"', '"free and msg.size > 3"'),
        ('last = "tag"', 'price = "msg.size"'),
    ):
        assert old in TABLE
        with pytest.raises(TableError, match="unknown name 'msg"):
            parse_automaton(TABLE.replace(old, new, 1) + CARRIES)


def test_a_number_of_a_message_that_takes_a_register_below_its_minimum_is_a_fault() -> None:
    rows = TABLE.replace(ASKS[0], 'receive = "ASK", do = { tries = "msg.size - 2" } }')
    assert parse_automaton(rows + CARRIES).rules
    with pytest.raises(TableError, match=r"is below its min 0 at msg.size=1"):
        parse_automaton(rows + CARRIES.replace("minimum = 2", "minimum = 1"))


def test_a_claim_of_a_table_is_no_formula() -> None:
    stated = '[[properties]]\nname = "few"\nnever = "courier.tries > most"\n'
    assert parse_automaton(TABLE + stated).properties[0].name == "few"
    with pytest.raises(TableError, match="formulas and other checks stand in a system file"):
        parse_automaton(TABLE + '[[properties]]\nformula = "G true"\n')
