"""Everything that the loader refuses, with file, line and remedy; and what it accepts."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

import pytest

from pxp_fsm.automata.tables import BUILTIN, VALIDATED, builtin, load_automaton, parse_automaton
from pxp_fsm.errors import TableError
from tests.sessions.custom_tables import TABLE, problems

REFUSALS = {
    # case: (replace this, by that, line, what is wrong, what to do)
    "unknown state in to": ('to = "B"', 'to = "X"', 13, "unknown state X", "write one of A, B, C"),
    "unknown state in from": ('"B", to', '"X", to', 15, "unknown state X", "add it to states"),
    "unknown state among several": (
        'from = "B"',
        'from = ["B", "X"]',
        15,
        "unknown state X",
        "write one of A, B, C",
    ),
    "unknown initial": ('initial = "A"', 'initial = "X"', 4, "unknown state X", "A, B, C"),
    "unknown final": ('["C"]', '["C", "X"]', 5, "unknown state X", "the states are A, B, C"),
    "duplicate state": (
        '{ name = "B" },',
        '{ name = "B" },\n  { name = "B" },',
        9,
        "state B stands here twice",
        "drop one",
    ),
    "guard of a row undeclared": (
        'guard = "H"',
        'guard = "X"',
        14,
        "guard X is declared nowhere (declared: G, H)",
        "add it under [guards]",
    ),
    "guard of a state undeclared": (
        '["G", "H"]',
        '["G", "H", "X"]',
        7,
        "guard X is declared nowhere",
        "add it under [guards]",
    ),
    "guard of a state without a row": (
        'guard = "H", send',
        'guard = "G", send',
        7,
        "no row leaves it under H",
        "add that row, or take H out",
    ),
    "guard listed twice": ('["G", "H"]', '["G", "H", "H"]', 7, "H stands here twice", "drop one"),
    "guard not listed": ('["G", "H"]', '["G"]', 7, "under H", 'list them: guards = ["G", "H"]'),
    "not exclusive": (
        "exclusive = true, ",
        "exclusive = false, ",
        7,
        "declared not exclusive;",
        "drop exclusive = false",
    ),
    "not complete": (
        "complete = true",
        "complete = false",
        7,
        "declared not complete;",
        "drop complete = false",
    ),
    "guard on a receiving row": (
        "receive = [",
        'guard = "G", receive = [',
        15,
        "a row that receives has no guard",
        "receive without one",
    ),
    "second row under a guard": (
        "rows = [",
        'rows = [ { from = "A", to = "C", guard = "G", send = "BYE" },',
        13,
        "a second row leaves A under G",
        "drop one",
    ),
    "second row on a tag": (
        "  # line 15",
        '\n  { from = "B", to = "B", receive = "ASK" },',
        16,
        "a second row leaves B on -ASK (row 3",
        "drop one, or tell them apart",
    ),
    "one tag to two states": (
        "  # line 15",
        '\n  { from = "A", to = "A", send = "ASK" },',
        16,
        "a second row sends ASK from A (row 1 does already)",
        "use two tags",
    ),
    "unknown key": ('title = "Mine"', 'titel = "Mine"', 3, "unknown key titel", "known here: "),
    "unknown key in a row": (
        'guard = "H", send',
        'if = "H", send',
        14,
        "rows[1]: unknown key if",
        "known here: number, from, to, guard",
    ),
    "unknown key in a state": (
        '{ name = "B" }',
        '{ name = "B", final = true }',
        8,
        "states[1]: unknown key final",
        "known here: name, about",
    ),
    "wrong format version": ("format = 1", "format = 2", 1, "format: 2 is not", "write 1"),
    "format is no truth value": ("= 1", "= true", 1, "format: True is not", "write 1"),
    "name that is none": (
        '"mine"',
        '"My own"',
        2,
        "'My own' is not a valid name",
        "use letters, digits",
    ),
    "guard name that is none": ("H = ", '"a b" = ', 19, "'a b' is not a valid name", "use letters"),
    "row with two actions": (
        'send = "BYE"',
        'send = "BYE", receive = "ASK"',
        14,
        "write exactly one of",
        "send, receive and event",
    ),
    "from that is not a valid name": (
        'from = "B"',
        "from = 3",
        15,
        "from: 3 is neither",
        "list of names",
    ),
    "no rows": ("rows = [", "rows = []\nignored = [", 13, "unknown key", "known here"),
    "not TOML": ("final = ", "final ", 5, "this is not TOML", "Expected '='"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_names_file_line_and_remedy(case: str) -> None:
    old, new, line, wrong, remedy = REFUSALS[case]
    assert old in TABLE
    found = problems(TABLE.replace(old, new, 1))
    assert any(
        p.startswith("mine.toml") and f"line {line}" in p and wrong in p and remedy in p
        for p in found
    ), found


FINDINGS = {
    "unreachable state": (
        '  # a comment between two states\n  { name = "C" },',
        '  { name = "C" },\n  { name = "D" },\n',
        10,
        "state D is unreachable from A",
        "add a row that leads to it, or drop it",
    ),
    "trap": (
        '{ from = "B", to = "C", receive = ["ASK", "BYE"] }',
        '{ from = "B", to = "B", receive = ["ASK", "BYE"] }',
        8,
        "state B is a trap",
        "add a row out, or make it final",
    ),
    "tag that nobody receives": (
        '["ASK", "BYE"]',
        '"ASK"',
        14,
        "BYE is sent, but no state of the peer receives it",
        "peer = ...",
    ),
    "row that is written twice": (
        "  # line 15",
        '\n  { from = "B", to = "C", receive = "ASK" },',
        16,
        "row 3 says the same (B -ASK)",
        "drop one",
    ),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_a_finding_names_file_line_and_remedy(case: str) -> None:
    old, new, line, wrong, remedy = FINDINGS[case]
    assert old in TABLE
    assert parse_automaton(TABLE).findings == ()
    found = [str(one) for one in parse_automaton(TABLE.replace(old, new, 1)).findings]
    assert any(
        p.startswith("table.toml") and f"line {line}" in p and wrong in p and remedy in p
        for p in found
    ), found


def test_what_all_those_refusals_start_from_is_accepted() -> None:
    mine = parse_automaton(TABLE)
    assert [t.action for t in mine.transitions] == ["+ASK", "+BYE", "-ASK", "-BYE"]
    assert [t.row for t in mine.transitions] == [1, 2, 3, 3]
    assert dict(mine.guards) == {"G": "go on", "H": "halt"}


def test_several_faults_are_told_at_once() -> None:
    names = TABLE.replace('to = "B"', 'to = "X"').replace('"B", to', '"Y", to')
    assert [p.split(":")[0] for p in problems(names.replace('["C"]', '["Z"]'))] == [
        f"mine.toml, line {line}" for line in (5, 13, 15)
    ]
    guards = TABLE.replace("complete = true", "").replace('guard = "H"', 'guard = "X"')
    guards = guards.replace("receive = [", 'guard = "G", receive = [')
    lines = {p.split(":")[0].rsplit(" ", 1)[1] for p in problems(guards.replace("true,", "true"))}
    assert lines == {"7", "8", "14", "15", "19"}
    structure = TABLE.replace("format = 1", "format = 9").replace("title", "titel")
    assert len(problems(structure.replace("send", "sent"))) == 7


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    def refusal(path: Path) -> str:
        with pytest.raises(TableError) as caught:
            load_automaton(path)
        (only,) = caught.value.problems
        assert str(path) in only
        return only

    path = tmp_path / "mine.toml"
    assert "give the path of a table, or one of interact, pxp" in refusal(path)
    assert "cannot be read" in refusal(tmp_path)
    path.write_bytes(b'format = 1\nname = "caf\xe9"\n')
    assert "line 2: not UTF-8; save the file as UTF-8" in refusal(path)
    path.write_bytes(b"#" * 1_000_001)
    assert "1,000,001 bytes; a table has at most 1,000,000: take a part of it" in refusal(path)
    path.write_bytes(TABLE.encode() + b"#" * (1_000_000 - len(TABLE)))
    assert load_automaton(path).name == "mine"
    path.write_text("n = " + "1" * 5000)
    assert "this is not TOML" in refusal(path)
    path.write_text("n = " + "[" * 5000)
    assert "nested too deeply" in refusal(path)
    for text in ("[" * 100_000, "1" * 5000, '{"a": 1', "[]", "NaN"):
        (tmp_path / "mine.json").write_text(text)
        assert refusal(tmp_path / "mine.json")


def test_a_name_that_is_not_built_in_is_refused() -> None:
    with pytest.raises(TableError, match="there are interact, pxp, pxp_hang_up"):
        builtin("no_such_protocol")


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_tables_are_the_files_that_were_validated(name: str) -> None:
    """They are read without being validated again, so here they are: a changed file is changed."""
    text = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml").read_text("utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == VALIDATED[name]
    assert parse_automaton(text) == builtin(name)


def test_a_fault_says_where_it_is_and_what_is_allowed_there() -> None:
    text = resources.files("pxp_fsm.automata").joinpath("data", "interact.toml").read_text("utf-8")
    with pytest.raises(TableError) as caught:
        parse_automaton(text.replace('initial = "', 'initial = "NO', 1), "mine.toml")
    (fault,) = caught.value.faults
    start = builtin("interact").initial
    assert (fault.path, fault.kind, fault.value) == (("initial",), "unknown-state", f"NO{start}")
    assert fault.allowed == tuple(state.name for state in builtin("interact").states)
    assert fault.line == 1 + text[: text.index("initial = ")].count("\n")
    assert str(fault) == f"mine.toml, line {fault.line}: {fault.message}"
    assert fault.message.startswith(f"unknown state NO{start}; ")


def test_a_fault_of_the_form_says_which_keyword_is_violated() -> None:
    with pytest.raises(TableError) as caught:
        parse_automaton('format = 1\nnmae = "x"\n', "mine.toml")
    found = {fault.kind: fault for fault in caught.value.faults}
    assert found["additionalProperties"].value == "nmae"
    assert "name" in found["additionalProperties"].allowed
    assert found["additionalProperties"].line == 2
    assert set(found) == {"additionalProperties", "required"}
