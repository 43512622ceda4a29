"""What a schema cannot say of a table: each fault with its place, its kind and what may stand."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.soundness import check_peers, faults_of
from pxp_fsm.automata.tables import (
    automaton_from,
    builtin,
    parse_automaton,
)
from pxp_fsm.errors import TableError
from tests.sessions.custom_tables import CLIENT, TABLE

Found = list[tuple[Any, ...]]


def changed(change: Any, of: str = TABLE) -> Found:
    """The faults of a table after a change of what is in its file: place, kind, value, allowed.

    Those that are errors, or "finding" before those that are none.
    """
    raw = tomllib.loads(of)
    change(raw)
    try:
        found = automaton_from(raw, list).findings
    except TableError as error:
        return [(one.path, one.kind, one.value, one.allowed) for one in error.faults]
    return [("finding", one.path, one.kind, one.value, one.allowed) for one in found]


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
            [("finding", ("states", 3), "unreachable-state", "D", ())],
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
            add_row(from_="B", to="C", receive="BYE"),
            [("finding", ("rows", 3), "duplicate-row", "-BYE", ())],
        ),
        (
            add_row(from_="A", to="B", send="ASK", guard="G"),
            [("finding", ("rows", 3), "duplicate-row", "+ASK", ())],
        ),
        (lambda raw: (raw.pop("final"), set_row(2, to="B")(raw)), []),
        (
            lambda raw: (raw.pop("final"), raw["states"].append({"name": "D"})),
            [("finding", ("states", 3), "unreachable-state", "D", ())],
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
                ("finding", ("states", 3), "unreachable-state", "D", ()),
                ("finding", ("states", 3), "trap", "D", ()),
            ],
        ),
        (
            lambda raw: (
                raw["states"].append({"name": "D"}),
                add_row(from_="D", to="C", event="E")(raw),
            ),
            [("finding", ("states", 3), "unreachable-state", "D", ())],
        ),
        (set_row(2, to="B"), [("finding", ("states", 1), "trap", "B", ())]),
        (
            set_row(2, receive="ASK"),
            [("finding", ("rows", 1), "unreceived-tag", "BYE", ())],
        ),
        (lambda raw: (set_row(2, receive="ASK")(raw), raw.update(peer="other")), []),
        (
            lambda raw: (set_row(2, receive="ASK")(raw), raw.update(peer="mine")),
            [("finding", ("rows", 1), "unreceived-tag", "BYE", ())],
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

    def findings() -> Found:
        table = automaton_from(raw, list)
        assert len(table.transitions) == 10
        return [(one.path, one.value) for one in table.findings]

    unheard = [(("rows", 1), "Z"), (("rows", 3), "W")]
    assert findings() == [(("rows", 5), "-Y"), *unheard]
    rows.pop()
    assert findings() == unheard
    rows.append({"from": "B", "to": "A", "receive": "Y"})
    with pytest.raises(TableError) as raised:
        automaton_from(raw, list)
    assert [(one.path, one.value) for one in raised.value.faults] == [(("rows", 5), "-Y")]


def test_a_table_without_guards_declares_none() -> None:
    raw = tomllib.loads(TABLE)
    del raw["guards"], raw["states"][0]["guards"]
    with pytest.raises(TableError, match=r"guard G is declared nowhere \(declared: none\); add it"):
        automaton_from(raw, list)


def test_an_event_that_is_called_as_an_unreceived_tag_is_no_fault() -> None:
    add_row(from_="B", to="C", event="BYE")(raw := tomllib.loads(TABLE))
    set_row(2, receive="ASK")(raw)
    assert [one.path for one in automaton_from(raw, list).findings] == [("rows", 1)]


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
    again = pxp.build_automaton("apart", [*rows, rows[1]], final=["B"])
    assert len(again.transitions) == 6
    assert [one.kind for one in again.findings] == ["duplicate-row"]
    with pytest.raises(TableError) as raised:
        pxp.build_automaton("apart", [*rows, {**rows[1], "to": "A"}], final=["B"])
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
    """While names are wrong nothing is said of guards; while those are, there are no findings."""
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
