"""What messages carry, as explorers follow it: values by the schemas, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.message_values import MessageValues, UnknownValues
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.unfolding import unfolded
from pxp_fsm.errors import TableError, UsageError, WrongType
from tests.sessions.test_message_values import CLIENT, FILE, GATEWAY, PERSON, TOOL

Schema = Mapping[str, Any]
SIZE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2}


def carrying(**properties: Schema) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def reader(do: Mapping[str, str], schema: Schema | None = None, **more: Any) -> Automaton:
    return pxp.build_automaton(
        "reader",
        [{"from": "IDLE", "to": "IDLE", "receive": "ADD", "do": do}],
        final=["IDLE"],
        registers={"sum": {"init": 0}, "seen": {"type": "id"}, "old": {"type": "id"}},
        payloads={} if schema is None else {"ADD": schema},
        **more,
    )


def writer(schema: Schema | None = None, **more: Any) -> Automaton:
    row = {"from": "IDLE", "to": "IDLE", "send": "ADD", **more.pop("row", {})}
    payloads = {} if schema is None else {"ADD": schema}
    return pxp.build_automaton("writer", [row], final=["IDLE"], payloads=payloads, **more)


def messages_of(system: pxp.System) -> MessageValues:
    return system.messages(range(len(system.members)))


def labels(system: pxp.System) -> list[str]:
    return [tag.label for _, some in messages_of(system).tags for tag in some]


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (SIZE, None, ["0", "1", "2"]),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 2}, ["1", "2"]),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 3}, None, ["1", "2"]),
        ({"type": "integer", "minimum": 0, "maximum": 6, "multipleOf": 3}, None, ["0", "3", "6"]),
        ({"type": "integer", "enum": [5, 7]}, SIZE | {"maximum": 6}, ["5"]),
        ({"type": "integer", "const": 4}, {}, ["4"]),
    ],
)
def test_a_number_is_each_that_fits_both_schemas(
    own: Schema, others: Schema | None, expected: list[str]
) -> None:
    theirs = None if others is None else carrying(size=others)
    table = reader({"sum": "msg.size"}, carrying(size=own))
    assert labels(pxp.System.load(table, writer(theirs))) == [f"ADD[size={n}]" for n in expected]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"enum": ["a", 1, {"b": 2}]}, ['"a"', "1", '{"b":2}']),
        ({"const": "a"}, ['"a"']),
        ({"type": "boolean"}, ["false", "true"]),
        ({"type": ["boolean", "null"]}, ["false", "true", "null"]),
        ({}, ["#1", "#2", "#3"]),
        ({"type": "string"}, ["#1", "#2", "#3"]),
        ({"type": ["string", "null"]}, ["null", "#1", "#2", "#3"]),
        ({"type": "number"}, ["#1", "#2", "#3"]),
    ],
)
def test_an_id_is_each_that_is_listed_or_as_many_as_can_be_told_apart(
    schema: Schema, expected: list[str]
) -> None:
    """Two registers hold two, and a message a third one."""
    table = reader({"seen": "msg.x", "old": "seen"}, carrying(x=schema))
    assert labels(pxp.System.load(table, writer())) == [f"ADD[x={one}]" for one in expected]


def test_ids_on_their_way_count_and_what_is_a_long_text_is_its_digest() -> None:
    table = reader({"seen": "msg.x"}, carrying(x={}))
    found = labels(pxp.System.load(table, writer(), channel="fifo:2"))
    assert found == [f"ADD[x=#{number}]" for number in range(1, 6)]
    table = reader({"seen": "msg.x"}, carrying(x={"const": "x" * 100}))
    (only,) = labels(pxp.System.load(table, writer()))
    assert only.startswith("ADD[x=sha256:")


@pytest.mark.parametrize("of", ["reader", "writer"])
@pytest.mark.parametrize(
    ("listed", "value"),
    [
        ({"enum": [1, 2]}, 1.0),
        ({"const": 2.0}, 2),
        ({"const": {"at": [1]}}, {"at": [1.0]}),
        ({"enum": [0]}, -0.0),
    ],
)
def test_a_session_carries_what_is_listed_as_it_is_written(
    of: str, listed: Schema, value: object
) -> None:
    """JSON Schema has 1 and 1.0 for the same, ids do not: a session has none more than those."""
    schemas = {name: carrying(x=listed if name == of else {}) for name in ("reader", "writer")}
    row = {"from": "IDLE", "to": "SENT", "send": "ADD"}
    sender = pxp.build_automaton(
        "writer", [row], final=["SENT"], payloads={"ADD": schemas["writer"]}
    )
    system = pxp.System.load(reader({"seen": "msg.x"}, schemas["reader"]), sender)

    def state(sent: object) -> str:
        members = {
            "reader": lambda turn: None,
            "writer": lambda turn: pxp.Intent("ADD", {"x": sent}),
        }
        return pxp.Session(system, members).run_sync().states["reader"]

    with pytest.raises(WrongType, match=r"does not fit .*\$\.x: .* is written otherwise"):
        state(value)
    (values,) = {tuple(tag.values for tag in some) for _, some in messages_of(system).tags}
    first = listed.get("enum", [listed.get("const")])[0]
    assert state(first).endswith(f"seen={values[0][0][1]}, old=]")


@pytest.mark.parametrize("types", ["integer", ["integer", "null"]])
def test_of_what_rules_read_a_whole_number_has_no_point(types: object) -> None:
    """Explored are the ids of whole numbers; 1.0 fits such a schema, and its id is another one."""
    whole = {"type": types, "minimum": 0, "maximum": 1}
    reads = reader({"seen": "msg"}, whole)
    assert payload_problem(reads, "ADD", "1") is None
    assert (
        payload_problem(reads, "ADD", "1.0") == "$: 1.0 is a whole number; write it without a point"
    )
    row = {"from": "IDLE", "to": "READ", "receive": "ADD"}
    other = pxp.build_automaton("other", [row], final=["READ"], payloads={"ADD": whole})
    assert payload_problem(other, "ADD", "1.0") is None


def test_a_formula_about_rules_that_are_left_out_says_why() -> None:
    table = reader({"sum": "msg.size"}, carrying(size={"type": "integer"}))
    with pytest.raises(UsageError, match=r"'reader.sum<=1'.*rules left out: ADD: msg.size is any"):
        [*pxp.check(pxp.System.load(table, writer()), "G reader.sum<=1")]


@pytest.mark.deep
def test_ids_of_different_types_are_never_equal() -> None:
    """A text is no object, whoever sends it."""
    two = pxp.build_automaton(
        "two",
        [
            {"from": "IDLE", "to": "IDLE", "receive": "TEXT", "do": {"text": "msg"}},
            {"from": "IDLE", "to": "IDLE", "receive": "THING", "do": {"thing": "msg"}},
            {"from": "IDLE", "to": "IDLE", "receive": "ANY", "do": {"any": "msg"}},
        ],
        final=["IDLE"],
        registers={name: {"type": "id"} for name in ("text", "thing", "any")},
        payloads={"TEXT": {"type": "string"}, "THING": {"type": "object"}, "ANY": {}},
    )
    sender = pxp.build_automaton(
        "sender",
        [{"from": "IDLE", "to": "IDLE", "send": ["TEXT", "THING", "ANY"]}],
        final=["IDLE"],
    )
    system = pxp.System.load(two, sender)
    for formula, status in (
        ("G (two?TEXT & two.text=thing -> false)", "HOLDS"),
        ("EF (two?TEXT & two.text=any)", "HOLDS"),
        ("EF (two?THING & two.thing=any)", "HOLDS"),
    ):
        (result,) = pxp.check(system, formula)
        assert str(result.status) == status, formula


@pytest.mark.parametrize(
    ("do", "own", "others", "problem"),
    [
        ({"sum": "msg.size"}, carrying(size={"type": "integer", "minimum": 0}), None,
         r"ADD: msg.size is any whole number.*a minimum and a maximum in \[payloads\] of writer or "
         r"reader, or state a claim, which is proved for all values"),
        ({"sum": "msg.size"}, carrying(size=SIZE | {"maximum": 10**12}), None,
         r"ADD: msg.size has too many values, which make more than 1,000 messages; bound it"),
        ({"sum": "msg.size", "old": "msg.x"}, carrying(size=SIZE, x={"enum": [*range(400)]}), None,
         r"ADD: msg.x has too many values"),
        ({"sum": "msg.size"}, carrying(size=SIZE), carrying(size={"enum": [7]}),
         r"ADD: no value of msg.size fits the schemas of writer or reader; correct one"),
        ({"seen": "msg.x"}, carrying(x={"$ref": "#/$defs/x"}) | {"$defs": {"x": {}}}, None,
         r"ADD: the values of msg.x do not follow from \$ref; write type, enum or const at the"),
        ({"seen": "msg.x"}, carrying(x={}) | {"anyOf": [{}]}, None, "do not follow from anyOf"),
        ({"seen": "msg.x"}, carrying(x={}) | {"enum": [{"x": 1}]}, None, "do not follow from enum"),
        ({"sum": "msg.size"}, carrying(size={"type": "integer", "enum": [*range(20_000)]}), None,
         r"ADD: msg.size has too many values"),
        ({"seen": "msg.x", "old": "msg"}, carrying(x={}), None,
         r"ADD: msg and its part msg.x are read; read the one or the other"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_named_with_what_to_do(
    do: Mapping[str, str], own: Schema, others: Schema | None, problem: str
) -> None:
    system = pxp.System.load(reader(do, own), writer(others))
    with pytest.raises(UnknownValues, match=problem):
        system.with_parameters({})
    results = pxp.check(system, "EF reader@IDLE")
    assert str(results[0].status) == "HOLDS"
    assert results[0].assumptions == "free guards, sync, complete runs"
    (note,) = results.notes
    assert note.startswith("rules left out: ADD: ")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (SIZE | {"minimum": float("nan")}, "nan is no number of JSON"),
        (SIZE | {"multipleOf": float("inf")}, "inf is no number of JSON"),
        (SIZE | {"multipleOf": 0}, "0 is less than or equal to the minimum"),
        ({"pattern": "("}, "is not a 'regex'"),
        ({"enum": ["\ud800"]}, "has half of a character"),
        ({"type": "intger"}, "'intger' is not valid"),
    ],
)
def test_a_schema_that_means_nothing_is_refused_with_its_table(
    schema: Schema, problem: str
) -> None:
    with pytest.raises(TableError, match=f"payload of ADD is no JSON Schema: .*{problem}"):
        reader({}, carrying(x=schema))


def test_a_schema_may_not_be_nested_without_end() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3_000):
        deep = {"items": deep}
    with pytest.raises(TableError, match="it is nested more than 200 deep"):
        reader({}, deep)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/properties/x"}, "its schema refers to itself without end"),
        ({"$ref": "#/nowhere"}, "its schema refers to '.*nowhere', which is not in it"),
    ],
)
def test_a_schema_that_cannot_be_followed_is_a_problem_of_the_payload(
    schema: Schema, problem: str
) -> None:
    table = reader({}, carrying(x=schema))
    assert re.search(problem, payload_problem(table, "ADD", '{"x": 1}') or "")


def test_members_that_disagree_on_what_a_tag_carries_are_named() -> None:
    hub = pxp.build_automaton(
        "hub",
        [{"from": "IDLE", "to": "IDLE", "send": "ADD", "partner": one} for one in ("a", "b")],
        final=["IDLE"],
    )
    small, large = (
        reader({"sum": "msg.size"}, carrying(size=SIZE | {"maximum": most})) for most in (1, 2)
    )
    with pytest.raises(UnknownValues, match=r"msg.size has other values between some members"):
        pxp.System(hub=hub, a=small, b=large).with_parameters({})
    assert len(labels(pxp.System(hub=hub, a=small, b=small))) == 2


def test_without_a_bound_on_what_is_on_its_way_ids_are_not_followed() -> None:
    alone = pxp.System.load(reader({"seen": "msg.x"}, carrying(x={})), writer())
    with pytest.raises(UnknownValues, match="no bound on how many ids are on their way"):
        alone.messages((0, 1), bounded=False)
    numbers = pxp.System.load(reader({"sum": "msg.size"}, carrying(size=SIZE)), writer())
    assert numbers.messages((0, 1), bounded=False) == numbers.messages((0, 1))
    results = pxp.check(numbers, channels=["fifo"])
    assert {str(one.status) for one in results} == {"HOLDS"}


ADDING = reader({"sum": "sum + msg.size"}, carrying(size=SIZE))
TWICE = writer(
    row={"when": "left > 0", "do": {"left": "left - 1"}}, registers={"left": {"init": 2}}
)


@pytest.mark.deep
@pytest.mark.parametrize("channel", ["sync", "fifo:1", "lossy+reordering:2"])
def test_a_formula_names_a_tag_whatever_it_carries(channel: str) -> None:
    system = pxp.System.load(ADDING, TWICE, channel=channel)
    expected = {
        "G reader.sum<=4": "HOLDS",
        "G reader.sum<=3": "FAILS",
        "EF (reader?ADD & reader.sum=3)": "HOLDS",
        "G (writer.ADD -> writer.left<2)": "HOLDS",
        "G (reader?ADD -> reader.sum>0)": "FAILS",
    }
    if channel != "sync":
        expected |= {
            "EF writer:reader@has.ADD": "HOLDS",
            "G (writer.left=2 -> !writer:reader@has.ADD)": "HOLDS",
        }
    found = pxp.check(system, *expected)
    assert {text: str(one.status) for text, one in zip(expected, found, strict=True)} == expected
    assert found.notes == ()
    failing = found[1]
    assert failing.trace is not None
    assert "ADD[size=2]" in str(failing.trace)
    assert "ADD[size=2]" in str(failing.diagram().arrows)
    states = [str(step.target.at) for step in failing.trace.steps]
    assert "IDLE[sum=4, seen=, old=]" in states[-1]


def test_rows_are_fair_whatever_their_messages_carry() -> None:
    """Who takes a row again and again need not send each value; else 2 would come."""
    system = pxp.System.load(reader({"sum": "msg.size"}, carrying(size=SIZE)), writer())
    for fair in ("strong:rows", "weak:rows"):
        never, some = pxp.check(system, "F reader.sum=2", "F reader?ADD", fair=[fair])
        assert (str(never.status), str(some.status)) == ("FAILS", "HOLDS")


def test_a_row_is_dead_where_it_is_never_taken_with_any_value() -> None:
    late = pxp.build_automaton(
        "reader",
        [
            {"from": "IDLE", "to": "SEEN", "receive": "ADD", "do": {"sum": "msg.size"}},
            {"from": "SEEN", "to": "SEEN", "receive": "ADD", "do": {"sum": "msg.size"}},
        ],
        final=["SEEN"],
        registers={"sum": {"init": 0}},
        payloads={"ADD": carrying(size=SIZE)},
    )
    once = pxp.build_automaton(
        "writer", [{"from": "IDLE", "to": "SENT", "send": "ADD"}], final=["SENT"]
    )
    results = {one.name: one for one in pxp.check(pxp.System.load(late, once))}
    assert results["no-dead-row"].reason == "never taken: row 2 of reader (SEEN -ADD)"
    assert str(results["machine-agrees-with-table"].status) == "HOLDS"
    twice = pxp.build_automaton(
        "writer", [{"from": "IDLE", "to": "IDLE", "send": "ADD"}], final=["IDLE"]
    )
    deaf = pxp.build_automaton(
        "reader",
        [{"from": "IDLE", "to": "SEEN", "receive": "ADD", "do": {"sum": "msg.size"}}],
        final=["SEEN"],
        registers={"sum": {"init": 0}},
        payloads={"ADD": carrying(size=SIZE)},
    )
    orphan = next(one for one in pxp.check(pxp.System.load(deaf, twice)) if "orphan" in one.name)
    assert [one.tag for one in orphan.verdict.unreceived] == ["ADD"]


@pytest.mark.parametrize(
    ("schema", "refusing"),
    [
        ({"type": "string", "pattern": "^[ab]$"}, "pattern"),
        ({"type": "string", "maxLength": 0, "minLength": 0}, "maxLength, minLength"),
        ({"type": "string", "description": "whatever"}, ""),
        ({"enum": ["a", "b"], "pattern": "^[ab]$"}, ""),
    ],
)
def test_an_id_that_a_schema_may_refuse_is_told(schema: Schema, refusing: str) -> None:
    """Of two strings one is the first or the second: that there is a third is no counterexample."""
    table = reader({"seen": "msg.x", "old": "seen"}, carrying(x=schema))
    results = pxp.check(pxp.System.load(table, writer()), "EF reader@IDLE")
    assert str(results[0].status) == "HOLDS"
    remedy = "write an enum where few values fit"
    told = f"ADD: msg.x may be shown as an id (#1) that {refusing} would refuse; {remedy}"
    assert results.notes == ((told,) if refusing else ())


def test_a_member_whose_parameter_is_missing_sends_every_value() -> None:
    counted = writer(
        row={"when": "left < most", "do": {"left": "left + 1"}},
        registers={"left": {"init": 0}},
        parameters={"most": {"min": 0}},
    )
    table = reader({"sum": "msg.size"}, carrying(size=SIZE))
    results = pxp.check(pxp.System.load(table, counted), "EF reader.sum=2", "G reader.sum<=1")
    assert [str(one.status) for one in results] == ["HOLDS", "FAILS"]
    assert results.notes == ("rules left out: writer: most has no value",)
    assert results[0].assumptions.startswith("by rules, free guards")


def test_guards_that_send_are_settled_with_their_values() -> None:
    """What nobody takes waits with what it carries, and the machine check stays small."""
    chooser = pxp.build_automaton(
        "chooser",
        [
            {
                "from": "IDLE",
                "to": "IDLE",
                "guard": "MORE",
                "send": "ADD",
                "do": {"last": "msg.size"},
            },
            {"from": "IDLE", "to": "DONE", "guard": "ENOUGH", "send": "STOP"},
        ],
        final=["DONE"],
        guards={"MORE": {"when": "last < 2"}, "ENOUGH": {"when": "else"}},
        registers={"last": {"init": 0}},
        payloads={"ADD": carrying(size=SIZE)},
    )
    taker = pxp.build_automaton(
        "taker", [{"from": "IDLE", "to": "DONE", "receive": "STOP"}], final=["DONE"]
    )
    taking = pxp.build_automaton(
        "taking",
        [
            {"from": "IDLE", "to": "IDLE", "receive": "ADD"},
            {"from": "IDLE", "to": "DONE", "receive": "STOP"},
        ],
        final=["DONE"],
    )
    stuck = pxp.check(pxp.System.load(chooser, taker), "no-deadlock")[0]
    assert "chooser MORE[size=0]/+ADD[size=0]" in str(stuck.trace)
    found = {one.name: str(one.status) for one in pxp.check(pxp.System.load(chooser, taking))}
    assert set(found.values()) == {"HOLDS"}
    (only,) = pxp.check(pxp.System.load(chooser, taking), "G (chooser:ENOUGH -> chooser.last=2)")
    assert str(only.status) == "HOLDS"


@pytest.mark.parametrize("channel", ["sync", "fifo:1"])
def test_a_gateway_transfers_what_was_approved_in_every_state_and_fails_without_the_rule(
    channel: str,
) -> None:
    system = pxp.System.load(str(FILE), CLIENT, PERSON, TOOL, channel=channel)
    same, other, some = pxp.check(
        system,
        f"G (tool?TRANSFER -> {GATEWAY}.called=approved)",
        f"G ({GATEWAY}@ANSWERED -> {GATEWAY}.called=approved)",
        "EF tool@DONE",
    )
    assert [str(one.status) for one in (same, other, some)] == ["HOLDS", "FAILS", "HOLDS"]
    assert "APPROVE[arguments=#2]" in str(other.trace)


def test_a_counterexample_is_followed_by_a_session_as_far_as_its_members_say_the_same() -> None:
    system = pxp.System.load(ADDING, TWICE)
    (failing,) = pxp.check(system, "G reader.sum<=3")
    assert failing.trace is not None
    members = {"reader": lambda turn: None, "writer": lambda turn: pxp.Intent("ADD", {"size": 2})}
    session = pxp.Session(system, members, follow=failing.trace).run_sync()
    assert [event.action for event in session.events] == [Exchange("writer", "reader", "ADD")] * 2
    assert session.states["reader"] == "IDLE[sum=4, seen=, old=]"


def test_systems_are_compared_by_their_tags_whatever_they_carry() -> None:
    plain = pxp.System.load(
        reader({}), pxp.build_automaton(
            "writer",
            [
                {"from": "IDLE", "to": "ONE", "send": "ADD"},
                {"from": "ONE", "to": "TWO", "send": "ADD"},
            ],
            final=["IDLE", "ONE", "TWO"],
        )
    )  # fmt: skip
    found = pxp.compare(pxp.System.load(ADDING, TWICE), plain, "trace-inclusion", "simulation")
    assert [str(one.status) for one in found] == ["HOLDS", "HOLDS"]


def test_a_system_that_runs_is_explored_with_its_parameters() -> None:
    counted = reader({"sum": "sum + msg.size if sum < most else sum"}, carrying(size=SIZE),
                     parameters={"most": {"min": 0}})  # fmt: skip
    system = pxp.System.load(counted, writer()).by_rules({"most": 3})
    results = pxp.check(system, "G reader.sum<=4", "G reader.sum<=3")
    assert [str(one.status) for one in results] == ["HOLDS", "FAILS"]
    with pytest.raises(UsageError, match=r"what ADD carries \(msg.size\) depends on its sender"):
        unfolded(counted, {"most": 3})


def test_a_trace_is_drawn_on_what_it_shows_of_a_table() -> None:
    (failing,) = pxp.check(pxp.System.load(ADDING, TWICE), "G reader.sum<=3")
    assert failing.ways is not None
    drawn = failing.ways(failing)["reader"]
    assert [node.name.partition(",")[0] for node in drawn.nodes] == [
        f"IDLE[sum={total}" for total in (0, 2, 4)
    ]
    assert len(drawn.edges) == 2
