"""Tables in other formats: what is written is read back as the same table, and nothing else is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.automata.automaton import DECIDE, Automaton, Kind, Trigger, one_hot, receiving, sending
from pxp_fsm.automata.serialization import to_json, to_toml
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.errors import NotEnabled, TableError, UsageError
from pxp_fsm.plugins.exports import from_scxml, to_scxml
from tests.proofs.random_tables import tables

SCXML = "{http://www.w3.org/2005/07/scxml}"
ALLOWED = {
    "scxml": ({"initial", "name", "version", "datamodel", "binding"}, {"state", "final"}),
    "state": ({"id", "initial"}, {"transition"}),
    "final": ({"id"}, set[str]()),
    "transition": ({"event", "cond", "target", "type"}, {"send"}),
    "send": ({"event", "target"}, set[str]()),
}
"""Of SCXML 1.0, section 3 and 6.2: what an element may have and hold, as far as we write it."""

FLAT = """\
<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" name="door" initial="Closed">
  <state id="Closed">
    <transition event="open" target="Open"/>
    <transition target="Gone" cond="tired"><send event="bye" target="#_parent"/></transition>
  </state>
  <state id="Open">
    <transition event="close shut" target="Closed"/>
  </state>
  <final id="Gone"/>
</scxml>
"""
PEER = 'name="door" xmlns:p="urn:pxp-fsm:automaton:1" p:peer="guest"'


@settings(max_examples=40)
@given(tables())
def test_a_table_written_out_and_read_back_is_the_same(table: Automaton) -> None:
    assert parse_automaton(to_toml(table)) == table
    assert parse_automaton(to_json(table), "x.json") == table
    assert from_scxml(to_scxml(table)) == table


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_tables_come_back_with_all_their_prose(name: str) -> None:
    table = builtin(name)
    for back in (
        parse_automaton(to_toml(table)),
        parse_automaton(to_json(table), "x.json"),
        from_scxml(to_scxml(table)),
    ):
        assert (back, back.fingerprint) == (table, table.fingerprint)


@settings(max_examples=30)
@given(tables())
def test_what_is_written_keeps_to_the_rules_of_scxml(table: Automaton) -> None:
    root = ET.fromstring(to_scxml(table))  # noqa: S314 - our own text
    assert (root.tag, root.get("version")) == (f"{SCXML}scxml", "1.0")
    ids = {element.get("id") for element in root if element.tag.startswith(SCXML)}
    assert root.get("initial") in ids
    for element in root.iter():
        if not element.tag.startswith(SCXML):
            continue
        attributes, children = ALLOWED[element.tag.removeprefix(SCXML)]
        assert {key for key in element.attrib if not key.startswith("{urn:pxp-fsm:")} <= attributes
        held = {child.tag for child in element if child.tag.startswith(SCXML)}
        assert held <= {SCXML + name for name in children}
        assert element.get("target", "#_") in ids or element.get("target", "#_").startswith("#_")


@pytest.mark.deep
@pytest.mark.parametrize("name", BUILTIN)
def test_another_scxml_engine_moves_as_the_table_does(name: str) -> None:
    """python-statemachine, in every state: whatever is received, chosen, decided or happens."""
    processors = pytest.importorskip("statemachine.io.scxml.processor")
    table = builtin(name)
    labels = sorted({row.label for row in table.transitions})
    for state in table.states:
        cases: list[tuple[str, Trigger, str | None]] = [
            (label, receiving(label), None) for label in labels
        ]
        cases += [(f"pxp-choose.{label}", sending(label), None) for label in labels]
        cases += [("pxp-decide", DECIDE, guard) for guard in state.guards]
        for event, ours, guard in cases:
            if not table.leaving(state.name):
                continue  # SCXML's final element: the session is over
            happens = Trigger(Kind.EVENT, event) if table.leaving(state.name) else ours
            after = _taken(table, state.name, (ours, happens), guard)
            assert _moved(processors.SCXMLProcessor(), table, state.name, event, guard) == after


def _taken(table: Automaton, state: str, events: tuple[Trigger, ...], guard: str | None) -> str:
    """Where the table goes; an event that it has no row for leaves it where it is."""
    valuation = one_hot(guard, table.guards_of(state)) if guard else None
    for event in events:
        with suppress(NotEnabled):
            return table.step(state, event, valuation).target
    return state


def _moved(processor: Any, table: Automaton, state: str, event: str, guard: str | None) -> str:
    """Where the other engine goes, from `state`, with the guards as data of which one is true."""
    data = "".join(f'<data id="{one}" expr="{one == guard}"/>' for one in table.guards)
    text = to_scxml(table).replace(f' initial="{table.initial}"', f' initial="{state}"', 1)
    processor.parse_scxml(
        "table", text.replace("  <state", f"<datamodel>{data}</datamodel><state", 1)
    )
    machine = processor.start()
    machine.send(event)
    (reached,) = machine.configuration
    return str(reached.id)


def test_scxml_of_others_is_read_where_a_table_can_mean_it() -> None:
    door = from_scxml(FLAT.replace('name="door"', PEER))
    assert (door.initial, door.final, door.guards) == ("Closed", frozenset({"Gone"}), {"tired": ""})
    assert [(t.row, t.source, t.action, t.guard, t.target) for t in door.transitions] == [
        (1, "Closed", "-open", None, "Open"),
        (2, "Closed", "+bye", "tired", "Gone"),
        (3, "Open", "-close", None, "Closed"),
        (3, "Open", "-shut", None, "Closed"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "<scxml",
            "<!DOCTYPE scxml SYSTEM 'file:///etc/passwd'>\n<scxml",
            "line 1: a document type",
        ),
        ("<scxml", "<!DOCTYPE x [<!ENTITY a 'b'>]>\n<scxml", "line 1: a document type is not read"),
        ('event="open"', 'event="&open;"', "line 3: this is not XML: undefined entity"),
        ("</scxml>", "", "this is not XML: no element found"),
        ('<final id="Gone"/>', '<parallel id="Gone"/>', "line 9: 'parallel' cannot be part"),
        ('<final id="Gone"/>', "<datamodel/>", "line 9: 'datamodel' cannot be part of a table"),
        ('<transition event="open"', '<history id="h"/><transition event="open"', "a table has no"),
        ('<transition event="open"', '<state id="in"/><transition event="o"', "states are nested"),
        ('cond="tired"', 'cond="x &gt; 3"', "line 4: cond='x > 3': a cond is the name of one"),
        ('cond="tired"', 'cond="__import__(1)"', "a cond is the name of one guard"),
        ('target="Gone"', 'target="Gone Open"', "line 4: several targets"),
        ('cond="tired">', 'event="ask">', "line 4: receives ask and sends bye at once"),
        ('<send event="bye" target="#_parent"/>', "<script>x</script>", "nothing in a file is run"),
        (
            '<send event="bye" target="#_parent"/>',
            '<send eventexpr="bye"/>',
            "send has 'eventexpr'",
        ),
        (
            '<send event="bye" target="#_parent"/>',
            '<send event="bye" target="http://x"/>',
            "target='http://x'; write target=",
        ),
        ('<send event="bye" target="#_parent"/>', "", "line 4: neither an event nor a send"),
        ('event="open"', 'event="*"', "line 3: event '*': a row receives one tag"),
        ('target="Open"', 'target="Opne"', "line 3: unknown state Opne"),
        ('id="Open"', 'id=""', "'' is not a valid name"),
        ("2005/07/scxml", "2005/07/html", "the root is 'scxml', not scxml of the namespace"),
        ('<state id="Open">', '<state id="Open"><onentry/>', "write what is sent at the transit"),
        ("<scxml", "<a><b><c><d><e><f><g>", "nested deeper"),
    ],
)
def test_what_a_table_cannot_be_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    with pytest.raises(TableError) as refused:
        from_scxml(FLAT.replace('name="door"', PEER).replace(old, new, 1), "door.scxml")
    assert said in re.sub(r", column \d+", "", str(refused.value))
    assert all(
        re.match(r"door\.scxml, line \d+, column \d+: ", problem)
        for problem in refused.value.problems
    )


def test_names_of_others_are_changed_and_kept_in_the_title() -> None:
    text = (
        FLAT.replace(' name="door"', "").replace('"open"', '"door.open"').replace("Open", "is-open")
    )
    door = from_scxml(text.replace('"close shut"', '"close.*"'), "folder/My door.scxml")
    assert (door.name, door.title) == (
        "my_door",
        "My door (is_open is is-open, door_open is door.open)",
    )
    assert [(t.source, t.action, t.target) for t in door.transitions] == [
        ("Closed", "-door_open", "is_open"),
        ("Closed", "+bye", "Gone"),
        ("is_open", "-close", "Closed"),
    ]
    endless = from_scxml(FLAT.replace("<final", "<state").replace("tired", "Tired"))
    assert endless.final == frozenset()


PIECES = ("<", ">", "/", '"', "&#0;", "&lt;", "]]>", "<![CDATA[", "<!--", "<?x?>", "state", "id=")


@settings(max_examples=100)
@given(
    st.integers(0, len(FLAT)),
    st.integers(0, 40),
    st.one_of(st.sampled_from(PIECES), st.text(max_size=5), st.just("\x00\ud800")),
)
def test_damaged_scxml_is_a_table_or_refused_with_its_line(at: int, cut: int, new: str) -> None:
    text = FLAT.replace('name="door"', PEER)
    try:
        from_scxml(text[:at] + new + text[at + cut :], "door.scxml")
    except TableError as error:
        assert all(problem.startswith("door.scxml") for problem in error.problems)


def test_half_of_a_surrogate_pair_is_not_for_toml() -> None:
    text = to_json(builtin("pxp")).replace('"PXP"', '"\\ud800"')
    table = parse_automaton(text, "x.json")
    assert from_scxml(to_scxml(table)) == table
    assert parse_automaton(to_json(table).encode().decode(), "x.json") == table
    with pytest.raises(UsageError, match="half of a surrogate pair"):
        to_toml(table)


GATE = """
format = 1
name = "gate"
title = "A gate"
initial = "SHUT"
final = ["OPEN"]
states = [{ name = "SHUT" }, { name = "OPEN" }]
rows = [
  { from = "SHUT", to = "OPEN", event = "GO", when = "ready and tries >= 2", by = "clock" },
  { from = "SHUT", to = "SHUT", event = "TRY", do = { tries = "tries + 1" } },
]
[parameters]
ready = { type = "bool" }
[registers]
tries = { init = 0, min = 0 }
"""


@pytest.mark.parametrize("name", [*BUILTIN, "gate"])
def test_a_table_with_rules_is_read_back_with_them(name: str) -> None:
    table = parse_automaton(GATE) if name == "gate" else builtin(name)
    read = from_scxml(to_scxml(table))
    assert read.fingerprint == table.fingerprint
    assert read.rules.meaning == table.rules.meaning


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('pxp:outside="GO"', 'pxp:outside="GONE"', "pxp:rules are the rules of other rows"),
        ('{"parameters"', '["parameters"', "pxp:rules is no JSON"),
        ("tries &gt;= 2", "tries &gt;= least", "unknown name 'least'"),
    ],
)
def test_rules_that_do_not_fit_the_rows_are_refused(old: str, new: str, said: str) -> None:
    text = to_scxml(parse_automaton(GATE))
    assert old in text
    with pytest.raises(TableError) as refused:
        from_scxml(text.replace(old, new))
    assert said in str(refused.value)
