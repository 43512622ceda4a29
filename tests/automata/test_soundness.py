"""What a schema cannot say of a table: each fault with its place, its kind and what may stand."""

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
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.soundness import check_peers, faults_of
from pxp_fsm.automata.tables import (
    MOST_TRANSITIONS,
    automaton_from,
    builtin,
    load_automaton,
    parse_automaton,
    schema,
    stored_automaton,
)
from pxp_fsm.errors import Fault, TableError
from tests.sessions.custom_tables import CLIENT, TABLE

Found = list[tuple[Any, ...]]


def changed(change: Any, of: str = TABLE) -> Found:
    """The faults of a table after a change of what is in its file: place, kind, value, allowed."""
    raw = tomllib.loads(of)
    change(raw)
    try:
        automaton_from(raw, list)
    except TableError as error:
        return [(one.path, one.kind, one.value, one.allowed) for one in error.faults]
    return []


def set_row(index: int, **keys: Any) -> Any:
    def change(raw: dict[str, Any]) -> None:
        for key, value in keys.items():
            if value is None:
                del raw["rows"][index][key]
            else:
                raw["rows"][index][key.strip("_")] = value

    return change


def add_row(**keys: Any) -> Any:
    return lambda raw: raw["rows"].append({key.strip("_"): one for key, one in keys.items()})


ABC = ("A", "B", "C")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda raw: None, []),
        (
            lambda raw: raw["states"].append({"name": "B"}),
            [(("states", 3), "duplicate-state", "B", ())],
        ),
        (lambda raw: raw.update(initial="X"), [(("initial",), "unknown-state", "X", ABC)]),
        (
            lambda raw: raw.update(final=["X", "C", "Y"]),
            [
                (("final", 0), "unknown-state", "X", ABC),
                (("final", 2), "unknown-state", "Y", ABC),
            ],
        ),
        (set_row(0, to="X"), [(("rows", 0, "to"), "unknown-state", "X", ABC)]),
        (
            set_row(2, **{"from": ["B", "X", "Y"]}),
            [
                (("rows", 2, "from"), "unknown-state", "X", ABC),
                (("rows", 2, "from"), "unknown-state", "Y", ABC),
            ],
        ),
        (
            lambda raw: (set_row(0, number=7)(raw), set_row(2, number=7)(raw)),
            [(("rows", 2, "number"), "duplicate-number", 7, ())],
        ),
        (lambda raw: (set_row(0, number=1)(raw), set_row(2, number=2)(raw)), []),
        (
            add_row(from_="B", to="C", event="E", partner="m"),
            [(("rows", 3, "partner"), "event-with-partner", "m", ())],
        ),
        (
            set_row(1, guard="X"),
            [
                (("rows", 1, "guard"), "undeclared-guard", "X", ("G", "H")),
                (("guards", "H"), "unused-guard", "H", ()),
                (("states", 0, "guards"), "unused-guard", "H", ()),
                (("states", 0), "unlisted-guard", ["X"], ()),
            ],
        ),
        (
            set_row(2, guard="G"),
            [
                (("rows", 2, "guard"), "guarded-receive", "G", ()),
                (("states", 1), "unlisted-guard", ["G"], ()),
                (("rows", 2), "nondeterminism", "-BYE", ()),
            ],
        ),
        (
            add_row(from_="A", to="C", event="E", guard="X"),
            [
                (("rows", 3, "guard"), "undeclared-guard", "X", ("G", "H")),
                (("states", 0), "unlisted-guard", ["X"], ()),
            ],
        ),
        (
            lambda raw: (raw["states"].append({"name": "D"}), raw["final"].append("D")),
            [(("states", 3), "unreachable-state", "D", ())],
        ),
        (
            lambda raw: raw["guards"].update(I="idle"),
            [(("guards", "I"), "unused-guard", "I", ())],
        ),
        (
            lambda raw: raw["states"][0].update(guards=["G", "H", "X"]),
            [(("states", 0, "guards"), "undeclared-guard", "X", ("G", "H"))],
        ),
        (
            lambda raw: raw["states"][1].update(guards=["G"]),
            [(("states", 1, "guards"), "unused-guard", "G", ())],
        ),
        (
            lambda raw: raw["states"][0].update(guards=["G", "H", "H"]),
            [(("states", 0, "guards"), "duplicate-guard", "H", ())],
        ),
        (
            lambda raw: raw["states"][0].pop("guards"),
            [(("states", 0), "unlisted-guard", ["G", "H"], ())],
        ),
        (
            lambda raw: raw["states"][0].update(exclusive=False, complete=False),
            [(("states", 0), "undeclared-decision", "A", ())],
        ),
        (lambda raw: raw["states"][1].update(exclusive=False, complete=False), []),
        (
            lambda raw: raw["states"][1].update(guards=["G"], complete=False),
            [
                (("states", 1), "undeclared-decision", "B", ()),
                (("states", 1, "guards"), "unused-guard", "G", ()),
            ],
        ),
        (
            lambda raw: (raw["states"][0].pop("guards"), raw["states"][0].update(complete=False)),
            [
                (("states", 0), "undeclared-decision", "A", ()),
                (("states", 0), "unlisted-guard", ["G", "H"], ()),
            ],
        ),
        (
            add_row(from_="A", to="C", send="ASK", guard="G"),
            [(("rows", 3), "nondeterminism", "+ASK", ())],
        ),
        (
            add_row(from_="B", to="B", receive="BYE"),
            [(("rows", 3), "nondeterminism", "-BYE", ())],
        ),
        (
            lambda raw: (set_row(1, send="ASK")(raw), set_row(2, receive="ASK")(raw)),
            [(("rows", 1), "duplicate-tag", "ASK", ())],
        ),
        (
            lambda raw: (
                add_row(from_="B", to="B", event="E")(raw),
                add_row(from_="B", to="C", event="E")(raw),
            ),
            [(("rows", 4), "nondeterminism", "!E", ())],
        ),
        (
            add_row(from_="B", to="C", receive="ASK", partner="m"),
            [(("rows", 3), "mixed-partners", "-ASK from m", ())],
        ),
        (
            lambda raw: raw.update(payloads={"ASK": {}, "NO": {}}),
            [(("payloads", "NO"), "unused-payload", "NO", ("ASK", "BYE"))],
        ),
        (
            lambda raw: raw.update(payloads={"ASK": {"type": "none"}}),
            [(("payloads", "ASK"), "bad-payload-schema", "ASK", ())],
        ),
        (
            lambda raw: raw["states"].append({"name": "D"}),
            [
                (("states", 3), "unreachable-state", "D", ()),
                (("states", 3), "trap", "D", ()),
            ],
        ),
        (
            lambda raw: (
                raw["states"].append({"name": "D"}),
                add_row(from_="D", to="C", event="E")(raw),
            ),
            [(("states", 3), "unreachable-state", "D", ())],
        ),
        (set_row(2, to="B"), [(("states", 1), "trap", "B", ())]),
        (
            set_row(2, receive="ASK"),
            [(("rows", 1), "unreceived-tag", "BYE", ())],
        ),
        (lambda raw: (set_row(2, receive="ASK")(raw), raw.update(peer="other")), []),
        (
            lambda raw: (set_row(2, receive="ASK")(raw), raw.update(peer="mine")),
            [(("rows", 1), "unreceived-tag", "BYE", ())],
        ),
        (set_row(2, receive="ASK", partner="m"), []),
    ],
)  # fmt: skip
def test_each_fault_has_its_place_its_kind_and_what_may_stand_there(
    change: Any, found: Found
) -> None:
    assert changed(change) == found


def test_faults_of_rows_with_several_tags_and_states_are_at_their_row() -> None:
    rows: list[dict[str, Any]] = [
        {"from": ["A", "B"], "to": "C", "receive": ["X", "Y"]},
        {"from": "A", "to": "C", "send": ["X", "Z"]},
        {"from": "B", "to": "C", "event": "E"},
        {"from": "C", "to": "B", "send": ["W"]},
        {"from": ["C"], "to": "A", "event": ["E", "F"]},
        {"from": "B", "to": "C", "receive": "Y"},
    ]
    raw = {"format": 1, "name": "wide", "title": "Wide", "initial": "A", "final": ["C"]}
    raw |= {"states": [{"name": name} for name in "ABC"], "rows": rows}

    def faults() -> Found:
        with pytest.raises(TableError) as raised:
            automaton_from(raw, list)
        return [(one.path, one.value) for one in raised.value.faults]

    assert faults() == [(("rows", 5), "-Y")]
    rows.pop()
    assert faults() == [(("rows", 1), "Z"), (("rows", 3), "W")]


def test_a_table_without_guards_declares_none() -> None:
    raw = tomllib.loads(TABLE)
    del raw["guards"], raw["states"][0]["guards"]
    with pytest.raises(TableError, match=r"guard G is declared nowhere \(declared: none\); add it"):
        automaton_from(raw, list)


def test_an_event_that_is_called_as_an_unreceived_tag_is_no_fault() -> None:
    add_row(from_="B", to="C", event="BYE")(raw := tomllib.loads(TABLE))
    set_row(2, receive="ASK")(raw)
    with pytest.raises(TableError) as raised:
        automaton_from(raw, list)
    assert [one.path for one in raised.value.faults] == [("rows", 1)]


def test_every_row_that_is_ambiguous_is_told() -> None:
    rows = [
        {"from": "A", "to": "B", "receive": "X"},
        {"from": "A", "to": "B", "receive": "X", "partner": "m"},
        {"from": "A", "to": "C", "receive": "X"},
        {"from": "A", "to": "B", "send": "Y", "guard": "G"},
        {"from": "A", "to": "B", "receive": "Y"},
        {"from": "A", "to": "C", "send": "Z", "guard": "G"},
        {"from": "A", "to": "C", "send": "Y", "guard": "H"},
        {"from": "B", "to": "C", "send": "Y", "guard": "G"},
        {"from": "B", "to": "C", "receive": "Y"},
        {"from": "B", "to": "B", "receive": "Y"},
    ]
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("twice", rows, final=["C"], peer="other")
    assert [(one.path, one.kind) for one in raised.value.faults] == [
        (("rows", 1), "mixed-partners"),
        (("rows", 2), "mixed-partners"),
        (("rows", 5), "nondeterminism"),
        (("rows", 6), "duplicate-tag"),
        (("rows", 9), "nondeterminism"),
    ]


def test_the_rows_of_one_tag_that_name_their_partners_are_different_rows() -> None:
    rows = [
        {"from": "A", "to": "B", "send": "X", "partner": "left"},
        {"from": "A", "to": "B", "send": "X", "partner": "right"},
        {"from": "A", "to": "B", "receive": "X", "partner": "left"},
        {"from": "A", "to": "A", "receive": "X", "partner": "right"},
        {"from": "B", "to": "A", "send": "X"},
        {"from": "B", "to": "A", "receive": "X"},
    ]
    assert len(pxp.build_automaton("apart", rows, final=["B"]).transitions) == 6
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("apart", [*rows, rows[1]], final=["B"])
    (one,) = raised.value.faults
    assert one.kind == "nondeterminism"
    guarded = [
        {"from": "A", "to": "B", "send": "X", "partner": "left", "guard": "G"},
        {"from": "A", "to": "B", "send": "X", "partner": "left", "guard": "H"},
    ]
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("apart", guarded, final=["B"])
    (one,) = raised.value.faults
    assert (one.path, one.kind, one.value) == (("rows", 1), "duplicate-tag", "X")


def test_checks_build_on_each_other() -> None:
    """While names are wrong nothing is said of guards; while those are, nothing of reachability."""
    raw = tomllib.loads(TABLE)
    raw["states"] += [{"name": "D"}]
    raw["guards"]["I"] = "idle"
    assert [one[1] for one in changed(lambda given: given.update(raw))] == ["unused-guard"]
    raw["initial"] = "X"
    assert [one[1] for one in changed(lambda given: given.update(raw))] == ["unknown-state"]
    fine = tomllib.loads(TABLE)
    assert faults_of(parse_automaton(TABLE), fine) == []


def test_a_table_and_its_peer_fit() -> None:
    client = parse_automaton(CLIENT)
    text = CLIENT.replace('"server"', '"X"').replace('"client"', '"server"').replace("X", "client")
    for old, new in (("send = ", "SEND"), ("receive = ", "send = "), ("SEND", "receive = ")):
        text = text.replace(old, new)
    server = parse_automaton(text)
    check_peers(client, server)
    interact = builtin("interact")
    with pytest.raises(TableError) as raised:
        check_peers(client, interact)
    sent = sorted({row.label for row in client.transitions if row.kind is Kind.SEND})
    first, *others = raised.value.problems
    assert first == "client names server as its peer, but is joined with interact"
    assert others[0] == (
        f"client sends {sent[0]}, which interact receives in no state; add a row with receive = "
        f'"{sent[0]}" to interact, or drop the one that sends it'
    )
    assert [one.split(",")[0] for one in others] == [
        *(f"client sends {tag}" for tag in sent),
        *(f"interact sends {tag}" for tag in sorted({
            row.label for row in interact.transitions if row.kind is Kind.SEND
        })),
    ]  # fmt: skip
    with pytest.raises(TableError) as raised:
        check_peers(server, server)
    assert raised.value.problems[0] == (
        "server names client as its peer, but is joined with server"
    )
    assert len(raised.value.problems) == len(set(raised.value.problems))


ROWS: list[dict[str, Any]] = [
    {"from": "S", "to": "T", "guard": "G", "send": "X"},
    {"from": "S", "to": "U", "guard": "H", "send": "Y"},
    {"from": ["S", "T"], "to": "U", "receive": ["X", "Y"], "number": 9},
]


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
        ([*ROWS, {"from": "U", "to": "U"}], "made, row 4 {'from': 'U', 'to': 'U'}: rows[3]: a row "
         "has exactly one of send, receive and event; this one has none of them"),
        ([*ROWS, {"from": "U", "to": "U", "send": "A", "event": "B"}], "this one has send, event"),
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


def test_exactly_as_many_transitions_as_a_table_may_have_are_taken() -> None:
    rows: list[Any] = [
        {"from": "S", "to": "S", "event": [f"E{number}" for number in range(10_000)]}
    ]
    assert len(pxp.build_automaton("wide", rows, final=["S"]).transitions) == 10_000


def test_a_stored_table_is_read_sound_or_not() -> None:
    raw = tomllib.loads(TABLE)
    assert stored_automaton(json.dumps(raw)) == parse_automaton(TABLE)
    raw["initial"] = "B"
    unsound = stored_automaton(json.dumps(raw))
    assert unsound.initial == "B"
    assert stored_automaton(json.dumps(raw)) is unsound
    with pytest.raises(TableError):
        parse_automaton(json.dumps(raw), "mine.json")
    for wrong in ("{}", "[]", "nothing"):
        with pytest.raises(TableError):
            stored_automaton(wrong)


def test_a_table_that_comes_with_the_package_is_read_by_its_name_alone(tmp_path: Path) -> None:
    assert builtin("interact") is builtin("interact") is load_automaton("interact")
    with pytest.raises(TableError, match="cannot be read"):
        load_automaton(Path("interact"))
    with pytest.raises(TableError) as raised:
        load_automaton(tmp_path / "interact.scxml")
    assert raised.value.problems == (
        f"{tmp_path}/interact.scxml: SCXML is taken in by pxp import, which writes it as a table",
    )
    assert builtin("lan_agent").name == load_automaton("lan_agent").name == "lan_agent"
    assert schema()["$schema"].startswith("https://json-schema.org/")


def test_the_file_of_a_table_that_receives_the_tag_is_suggested(tmp_path: Path) -> None:
    rows = 'rows = [{ from = "A", to = "B", send = "X" }]'
    text = 'format = 1\nname = "one"\ntitle = "One"\ninitial = "A"\nfinal = ["B"]\n'
    text += 'states = [{ name = "A" }, { name = "B" }]\n' + rows
    (tmp_path / "one.toml").write_text(text, "utf-8")
    with pytest.raises(TableError) as raised:
        load_automaton(tmp_path / "one.toml")
    (alone,) = raised.value.faults
    assert (alone.kind, alone.value, alone.line) == ("unreceived-tag", "X", 7)
    assert alone.message.endswith("or name the peer's table with peer = ...")
    (tmp_path / "two.toml").write_text(text.replace("one", "two").replace("send", "receive"))
    (tmp_path / "lost.toml").write_text(text.replace('initial = "A"', 'initial = "X"'))
    with pytest.raises(TableError) as raised:
        load_automaton(tmp_path / "lost.toml")
    (lost,) = raised.value.faults
    assert lost.message == "unknown state X; the states are A, B"
    with pytest.raises(TableError) as raised:
        load_automaton(tmp_path / "one.toml")
    (beside,) = raised.value.faults
    assert isinstance(beside, Fault)
    assert beside.message.startswith(alone.message + "; ")
    assert "two.toml receives it" in beside.message
