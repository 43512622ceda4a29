"""Tables from rows, from the package and from a database: what they are, and what is refused."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata import tables
from pxp_fsm.automata.tables import (
    MOST_TRANSITIONS,
    builtin,
    load_automaton,
    parse_automaton,
    stored_automaton,
)
from pxp_fsm.errors import Fault, TableError, UsageError
from tests.automata.test_soundness import ROWS
from tests.sessions.custom_tables import TABLE


def test_an_automaton_of_rows_is_the_one_of_a_file() -> None:
    made = pxp.build_automaton(
        "made",
        ROWS,
        final=["U"],
        states={"T": "then", "S": "start"},
        initial="S",
        guards={"H": "halt", "G": "go on"},
        title="Made",
        note="a note",
        payloads={"X": {"type": "integer"}},
    )
    raw = {
        "format": 1, "name": "made", "title": "Made", "initial": "S", "final": ["U"],
        "states": [
            {"name": "T", "about": "then"},
            {"name": "S", "about": "start", "guards": ["G", "H"]},
            {"name": "U"},
        ],
        "rows": ROWS, "guards": {"G": "go on", "H": "halt"}, "note": "a note",
        "payloads": {"X": {"type": "integer"}},
    }  # fmt: skip
    assert made == parse_automaton(json.dumps(raw), "made.json")
    assert [state.name for state in made.states] == ["T", "S", "U"]
    assert [(row.source, row.row, row.action) for row in made.transitions] == [
        ("S", 1, "+X"),
        ("S", 2, "+Y"),
        ("S", 9, "-X"),
        ("S", 9, "-Y"),
        ("T", 9, "-X"),
        ("T", 9, "-Y"),
    ]
    assert (made.title, made.note, made.peer, made.source) == ("Made", "a note", "", "")
    assert made.payloads == {"X": {"type": "integer"}}


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="a table is an Automaton, a name, a file"):
        pxp.System.load(5)


def test_a_name_beyond_ascii_is_in_normal_form() -> None:
    rows = [{"from": "S", "to": "Cafe\u0301", "send": "X"}]
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("accents", rows, final=["Cafe\u0301"], peer="other")
    assert "spelling" in [fault.kind for fault in raised.value.faults if isinstance(fault, Fault)]


def test_an_automaton_of_rows_begins_where_the_first_one_does() -> None:
    plain = pxp.build_automaton("plain", ROWS, final=["U"], peer="other")
    assert (plain.initial, plain.title, plain.peer) == ("S", "plain", "other")
    assert plain.payloads == {}
    assert dict(plain.guards) == {"G": "", "H": ""}
    assert [(state.name, state.about) for state in plain.states] == [
        ("S", ""),
        ("T", ""),
        ("U", ""),
    ]
    first = pxp.build_automaton(
        "plain", [{**ROWS[0], "from": "T", "to": "U"}], final=["U"], states={"T": ""}, peer="other"
    )
    assert first.initial == "T"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*ROWS, {"from": "U", "to": "U"}], "made, row 4 {'from': 'U', 'to': 'U'}: rows[3]: "
         "write exactly one of send, receive and event; here is none of them"),
        ([*ROWS, {"from": "U", "to": "U", "send": "A", "event": "B"}], "here are send and event"),
        ([*ROWS, 7], "made, row 4 7: "),
        ([{**ROWS[0], "to": 3}, *ROWS[1:]], "made, row 1 {"),
        ([{**ROWS[0], "from": [3, "S"]}, *ROWS[1:]], "made, row 1 {"),
        ([], "made, rows: "),
    ],
)  # fmt: skip
def test_a_fault_of_rows_quotes_the_row(rows: Any, said: str) -> None:
    given = copy.deepcopy(rows)
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("made", rows, final=["U"])
    assert any(one.startswith(said) or said in one for one in raised.value.problems)
    assert rows == given


def test_states_are_in_the_order_in_which_rows_name_them() -> None:
    rows: list[dict[str, Any]] = [
        {"from": ["A", "B"], "to": "C", "event": "E"},
        {"from": "A", "to": "B", "event": "F", "guard": "G"},
        {"from": "A", "to": "B", "event": "H", "guard": "I"},
    ]
    made = pxp.build_automaton("made", rows, final=["C"])
    assert [(state.name, state.guards) for state in made.states] == [
        ("A", ("G", "I")),
        ("B", ()),
        ("C", ()),
    ]


def test_rows_are_any_mappings() -> None:
    rows = (MappingProxyType(row) for row in ROWS)
    assert pxp.build_automaton("made", rows, final=("U",)) == pxp.build_automaton(
        "made", ROWS, final=["U"]
    )


def test_a_table_of_the_package_that_was_changed_is_validated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "pxp"
    unchanged = builtin(name)
    monkeypatch.setitem(tables.VALIDATED, name, "another")
    assert builtin.__wrapped__(name) == unchanged
    monkeypatch.setattr(tables, "automaton_from", lambda *_: builtin("interact"))
    assert builtin.__wrapped__(name) == builtin("interact")
    monkeypatch.undo()
    monkeypatch.setattr(tables, "automaton_from", None)
    assert builtin.__wrapped__(name) == unchanged


def test_a_fault_beside_the_rows_names_its_place() -> None:
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("made", ROWS, final=["V"])
    assert raised.value.problems == ("made, final[0]: unknown state V; the states are S, T, U",)
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("made", ROWS, final=["U"], initial="Z")
    assert raised.value.problems == ("made, initial: unknown state Z; the states are S, T, U",)


def wide(labels: int, sources: int) -> list[dict[str, Any]]:
    return [
        {
            "from": [f"S{number}" for number in range(sources)],
            "to": "S0",
            key: [f"{key}{number}" for number in range(labels)],
        }
        for key in ("receive", "event")
    ]


def test_a_table_has_at_most_so_many_transitions() -> None:
    assert MOST_TRANSITIONS == 10_000
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("wide", wide(50, 101), final=["S0"])
    (one,) = raised.value.faults
    assert one.path == ("rows", 1)
    assert one.message.endswith(
        "the rows up to this one are 10,100 transitions; a table has at most 10,000"
    )
    rows: list[Any] = [
        {"from": "S", "to": "S", "event": [f"E{number}" for number in range(10_001)]}
    ]
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("wide", rows, final=["S"])
    assert raised.value.faults[0].path == ("rows", 0)


@pytest.mark.deep
def test_exactly_as_many_transitions_as_a_table_may_have_are_taken() -> None:
    rows: list[Any] = [
        {"from": "S", "to": "S", "event": [f"E{number}" for number in range(10_000)]}
    ]
    assert len(pxp.build_automaton("wide", rows, final=["S"]).transitions) == 10_000


def test_a_stored_table_is_read_sound_or_not() -> None:
    raw = tomllib.loads(TABLE)
    assert stored_automaton(json.dumps(raw)) == parse_automaton(TABLE)
    raw["rows"].append(raw["rows"][0] | {"to": "C"})
    unsound = stored_automaton(json.dumps(raw))
    assert len(unsound.transitions) == 5
    assert stored_automaton(json.dumps(raw)) is unsound
    with pytest.raises(TableError):
        parse_automaton(json.dumps(raw), "mine.json")
    for wrong in ("{}", "[]", "nothing"):
        with pytest.raises(TableError):
            stored_automaton(wrong)


def test_a_table_that_comes_with_the_package_is_read_by_its_name_alone() -> None:
    assert builtin("interact") is builtin("interact") is load_automaton("interact")
    with pytest.raises(TableError, match="cannot be read"):
        load_automaton(Path("interact"))


def test_the_file_of_a_table_that_receives_the_tag_is_suggested(tmp_path: Path) -> None:
    rows = 'rows = [{ from = "A", to = "B", send = "X" }]'
    text = 'format = 1\nname = "one"\ntitle = "One"\ninitial = "A"\nfinal = ["B"]\n'
    text += 'states = [{ name = "A" }, { name = "B" }]\n' + rows
    (tmp_path / "one.toml").write_text(text, "utf-8")
    (alone,) = load_automaton(tmp_path / "one.toml").findings
    assert (alone.kind, alone.value, alone.line) == ("unreceived-tag", "X", 7)
    assert alone.message.endswith("or name the peer's table with peer = ...")
    (tmp_path / "two.toml").write_text(text.replace("one", "two").replace("send", "receive"))
    (tmp_path / "lost.toml").write_text(text.replace('initial = "A"', 'initial = "X"'))
    with pytest.raises(TableError) as raised:
        load_automaton(tmp_path / "lost.toml")
    (lost,) = raised.value.faults
    assert lost.message == "unknown state X; the states are A, B"
    (beside,) = load_automaton(tmp_path / "one.toml").findings
    assert isinstance(beside, Fault)
    assert beside.message.startswith(alone.message + "; ")
    assert "two.toml receives it" in beside.message
