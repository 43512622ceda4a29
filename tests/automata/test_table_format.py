"""The table format: its schema and its loader agree, and one table can be written many ways."""

from __future__ import annotations

import hashlib
import json
import tomllib
from copy import deepcopy
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pxp_fsm.automata import table_files
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.soundness import check_peers
from pxp_fsm.automata.tables import BUILTIN, builtin, load_automaton, parse_automaton
from pxp_fsm.errors import TableError
from tests.sessions.custom_tables import CLIENT, ROWS_APART, TABLE, problems


def written(name: str) -> dict[str, Any]:
    """A built-in table as it stands in its file."""
    text = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def test_a_table_written_apart_is_the_same_table() -> None:
    assert parse_automaton(ROWS_APART).fingerprint == parse_automaton(TABLE).fingerprint


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('to = "B"', 'to = "X"', 25),
        ('guard = "H"', 'guard = "X"', 32),
        ('  "B",\n', '  "B", "X",\n', 36),
        ("complete = true", "complete = false", 9),
        ('guards."H"', 'guards."H H"', 7),
        ('guards.G = "go on"', "guards.G = 4", 6),
        ('  "H",', "  7,", 13),
        ('guards.G = "go on"', 'guards.G = "go on"\nnote = 3', 7),
    ],
)
def test_lines_are_right_in_arrays_of_tables_and_dotted_keys(old: str, new: str, line: int) -> None:
    found = problems(ROWS_APART.replace(old, new, 1))
    assert f"mine.toml, line {line}" in {p.split(":")[0] for p in found}, found


def test_the_line_of_a_finding_is_right_too() -> None:
    trapped = ROWS_APART.replace('to = "C"\nreceive', 'to = "B"\nreceive', 1)
    (found,) = parse_automaton(trapped, "mine.toml").findings
    assert str(found).startswith("mine.toml, line 18: state B is a trap")


@pytest.mark.parametrize("name", BUILTIN)
def test_json_is_the_same_table(name: str, tmp_path: Path) -> None:
    raw = written(name)
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(raw), "utf-8")
    assert load_automaton(path) == load_automaton(name) == builtin(name)
    path.write_text(json.dumps(raw | {"initial": "X"}), "utf-8")
    with pytest.raises(TableError, match=rf"{name}\.json, at initial: unknown state X"):
        load_automaton(path)


def test_a_protocol_of_ones_own_with_two_different_ends() -> None:
    client = parse_automaton(CLIENT)
    mirrored = CLIENT.replace('"server"', '"client"').replace('name = "client"', 'name = "server"')
    for old, new in (("send = ", "SEND"), ("receive = ", "send = "), ("SEND", "receive = ")):
        mirrored = mirrored.replace(old, new)
    server = parse_automaton(mirrored)
    check_peers(client, server)
    deaf = parse_automaton(mirrored.replace('receive = "ASK1"', 'event = "ASK1"'))
    with pytest.raises(TableError, match="client sends ASK1, which server receives in no state"):
        check_peers(client, deaf)
    alone = parse_automaton(CLIENT.replace('peer = "server"\n', ""))
    assert {one.kind for one in alone.findings} == {"unreceived-tag"}
    with pytest.raises(TableError, match="client sends ASK0, which client receives in no state"):
        check_peers(client, client)


SOUNDNESS = (
    *(
        "a relation is of two of ",
        "a relation has no type",
        "init is missing; add it, or write",
        "say what it is: ",
    ),
    "unknown state ",
    " stands here twice",
    " is declared nowhere",
    "a row that receives has no guard",
    " is left under guards, but",
    " is left under guards that are declared not ",
    " but no row leaves it under ",
    "rows leave state ",
    "a second row leaves ",
    "; a session is rebuilt from its tags",
    " stands on no row",
    " stands at an earlier row too",
    *(" is declared under [", "has a meaning of its own", "a word of the expressions"),
    *("is no name; use at most", "unknown name ", "cannot be read from ", "the expression "),
    *(" belongs here", "is a label or a member of", "init of ", "there is no register "),
    *(" decide by rules in ", ' are "else" in ', "has no when", "urgent belongs to "),
    *("belongs to a row with ", "in state ", " is below its min ", "type alone can be compared"),
    *("compares whole numbers", "have no member in common", "is none of the members of "),
    *("of an enumeration's members", "have one type", "oracles are asked where guards decide"),
)
"""What the loader says of tables that the schema allows."""

NAMES = ["IDLE", "WAIT", "DECIDE", "END", "INIT", "TERM", "RAT", "REJ", "ZERO", "ASK0"]
KEYS = ["name", "from", "to", "send", "receive", "event", "guard", "guards", "number", "peer"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    # For a schema 1.0 is a whole number, for the loader it is none (tested by itself).
    st.floats().filter(lambda number: not number.is_integer()),
    st.sampled_from([*NAMES, *KEYS]),
    st.text(max_size=8),
)
JUNK = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.sampled_from([*KEYS, ""]) | st.text(max_size=3), SCALARS, max_size=4),
)


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """A valid table after up to three changes anywhere in it."""
    tables = [*map(written, BUILTIN), tomllib.loads(TABLE), tomllib.loads(CLIENT)]
    raw = deepcopy(draw(st.sampled_from(tables)))
    for _ in range(draw(st.integers(1, 3))):
        inner = list(containers(raw))
        if not inner:
            return raw
        node = draw(st.sampled_from(inner))
        place = draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node))))
        match draw(st.sampled_from(["drop", "replace", "rename", "add", "copy"])):
            case "drop":
                del node[place]
            case "replace":
                node[place] = draw(JUNK)
            case "rename":
                node[place] = draw(st.sampled_from(NAMES))
            case "add" if isinstance(node, dict):
                node[draw(st.sampled_from(KEYS) | st.text(max_size=5))] = draw(JUNK)
            case "copy" if isinstance(node, list):
                node.append(deepcopy(node[place]))
    return raw


def containers(value: Any) -> list[Any]:
    """Every non-empty object and list within `value`, itself included."""
    if not isinstance(value, dict | list) or not value:
        return []
    below = value.values() if isinstance(value, dict) else value
    return [value, *(inner for item in below for inner in containers(item))]


@settings(max_examples=100)
@given(mutants())
def test_schema_and_loader_agree_on_every_table(raw: Any) -> None:
    schema_and_loader_agree(raw)


@pytest.mark.deep
@settings(max_examples=600)
@given(mutants())
def test_schema_and_loader_agree_on_many_tables(raw: Any) -> None:
    schema_and_loader_agree(raw)


def schema_and_loader_agree(raw: Any) -> None:
    """What the schema refuses the loader refuses; what is left is the loader's own to say."""
    valid = Draft202012Validator(table_files.TABLE.schema()).is_valid(raw)
    try:
        automaton: Automaton | None = parse_automaton(json.dumps(raw), "mutant.json")
    except TableError as error:
        automaton = None
        own = [
            fault.kind == "spelling" or any(said in str(fault) for said in SOUNDNESS)
            for fault in error.faults
        ]
        assert all(own) is valid  # what an entry says of itself may stand beside others
        assert own
    if automaton is not None:
        assert valid
        assert parse_automaton(json.dumps(raw), "again.json").fingerprint == automaton.fingerprint


@settings(max_examples=200)
@given(st.data())
def test_any_text_is_an_automaton_or_a_table_error(data: st.DataObject) -> None:
    """A slip anywhere in a TOML file is an error with a line in the file, never a crash."""
    text = data.draw(st.sampled_from([TABLE, ROWS_APART, CLIENT]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = start + data.draw(st.integers(0, 30))
        slip = st.text(max_size=3) | st.sampled_from(["[[rows]]\n", "\n", '"', "'", ".", "# ", "]"])
        text = text[:start] + data.draw(slip) + text[stop:]
    try:
        parse_automaton(text, "slip.toml")
    except TableError as error:
        for problem in error.problems:
            assert problem.startswith("slip.toml")
            if problem.startswith("slip.toml, line "):
                line = int(problem.removeprefix("slip.toml, line ").split(":")[0])
                assert 1 <= line <= text.count("\n") + 1


def fingerprint_of(raw: dict[str, Any]) -> str:
    return parse_automaton(json.dumps(raw), "table.json").fingerprint


_PXP = [
    "asks once",
    "oracle match: a truth value 0 MATCH received own",
    "oracle agree: a truth value 1 AGREE received own",
    "oracle same_y: a truth value 2 MATCH new received",
    "oracle same_e: a truth value 3 AGREE new received",
    "decides DECIDE: RAT REF REV REJ",
    "guard RAT: match and agree",
    "guard REF: else",
    "guard REV: match != agree and same_y and same_e",
    "guard REJ: not match and not agree",
]
_TAGS = "one of INIT, NONE, RATIFY, REFUTE, REJECT, REVISE"
_REJECTS = "(not match and not agree and j + 1 > k)"
_LOOPS = {
    "RATIFY": ("ratified", "match and agree"),
    "REFUTE": ("refuted", "match != agree and not (same_y and same_e)"),
    "REVISE": ("revised", "match != agree and same_y and same_e"),
    "REJECT": ("rejected", "not match and not agree"),
}
_GUARDS = ("RAT", "REF", "REV", "REJ")
_OF_K = ["parameter k: a whole number min 1"]
_OF_K += [f'register last: {_TAGS}, TERM init "NONE"']
_OF_K += [f"register {one}: a whole number min 0 init 0" for one, _ in _LOOPS.values()]
_OF_K += [*_PXP[:5], "decides DECIDE: RAT REF REV REJ FULL"]
_OF_K += [
    f"guard {guard}: {when} and not (last == {tag} and {register} >= k)"
    for guard, (tag, (register, when)) in zip(
        ("RAT", "REF", "REV", "REJ"), _LOOPS.items(), strict=True
    )
]
_OF_K += ["guard FULL: else", "message last: tag"]
_OF_K += [
    f"message {one}: {one} + 1 if last == {tag} and tag == {tag} else {one}"
    for tag, (one, _) in _LOOPS.items()
]
MEANING = {
    "pxp": _PXP,
    "pxp_k": _OF_K,
    "pxp_hang_up": _PXP,
    "interact": [
        *("parameter n: a whole number min 1", "parameter k: a whole number min 1"),
        "register j: a whole number min 0 init 0",
        f'register last: {_TAGS} init "NONE"',
        "register stop: a truth value init false",
        *("oracle match: a truth value 0 MATCH received own",),
        *("oracle agree: a truth value 1 AGREE received own",),
        *("oracle same_y: a truth value 2 MATCH new own",),
        *("oracle same_e: a truth value 3 AGREE new own",),
        "decides DECIDE: RAT REF REV REJ",
        "guard RAT: match and agree",
        "guard REF: else",
        f"guard REV: not (match and agree) and not {_REJECTS} and not (same_y and same_e)",
        f"guard REJ: {_REJECTS.strip('()')}",
        *("message j: j + 1", "message last: tag"),
        "message stop: tag == REJECT or tag == RATIFY and last == RATIFY",
    ],
}
"""What the rules of a table mean, names of [let] replaced, written by hand."""


@pytest.mark.parametrize("name", BUILTIN)
def test_the_fingerprint_is_of_what_the_table_means(name: str) -> None:
    """Computed here from the file in its own words."""
    raw = written(name)
    lines = [f"initial {raw['initial']}", *(f"final {state}" for state in raw["final"])]
    for row in raw["rows"]:
        (key,) = {"send", "receive", "event"} & set(row)
        for source in [row["from"]] if isinstance(row["from"], str) else row["from"]:
            for label in [row[key]] if isinstance(row[key], str) else row[key]:
                sign = {"send": "+", "receive": "-", "event": "!"}[key]
                line = f"{source} {row['to']} {row.get('guard', '⊤')} {sign}{label}"
                line += f" when {row['when']} urgent by {row['by']}" if "when" in row else ""
                lines.append(line + (" carry own" if row.get("carry") == "own" else ""))
    lines += MEANING[name]
    text = "".join(f"{line}\n" for line in sorted(lines))
    assert builtin(name).fingerprint == hashlib.sha256(text.encode()).hexdigest()


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(BUILTIN), st.randoms(use_true_random=False), st.text())
def test_prose_numbers_and_order_leave_the_fingerprint(name: str, order: Any, prose: str) -> None:
    raw = written(name) | {"source": prose, "note": prose, "title": "t" + prose}
    raw["guards"] = {name: {**guard, "about": prose} for name, guard in raw["guards"].items()}
    for state in raw["states"]:
        state["about"] = prose
    for number, row in enumerate(raw["rows"], start=50):
        row["number"] = number
        order.shuffle(row["receive"]) if isinstance(row.get("receive"), list) else None
    order.shuffle(raw["rows"])
    order.shuffle(raw["states"])
    assert fingerprint_of(raw) == builtin(name).fingerprint


@pytest.mark.parametrize("name", BUILTIN)
def test_any_change_of_a_row_changes_the_fingerprint(name: str) -> None:
    real = builtin(name)
    found = {real.fingerprint, replace(real, initial="WAIT").fingerprint}
    found.add(replace(real, final=frozenset({"WAIT"})).fingerprint)
    changes = 3
    for row in real.transitions:
        rest = tuple(t for t in real.transitions if t is not row)
        fields: list[dict[str, Any]] = [{"target": "X"}, {"source": "X"}, {"label": "X"}]
        fields += [{"guard": "X"}, {"kind": next(k for k in Kind if k is not row.kind)}]
        for table in [rest, *((*rest, replace(row, **field)) for field in fields)]:
            found.add(replace(real, transitions=table).fingerprint)
            changes += 1
    assert len(found) == changes


def test_of_many_faults_the_first_are_told_and_how_many_follow() -> None:
    error = TableError(f"row {number}" for number in range(1, 26))
    assert len(error.problems) == 25
    assert str(error).splitlines()[-2:] == ["row 20", "and 5 more faults"]
    assert str(TableError(["row 1", "row 2"])) == "row 1\nrow 2"
