"""Text of KMC, CADP and AALpy: read with the place of each fault, written so that it comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pxp_fsm as pxp
from proofs.systems import Composition, System
from proofs.systems.reachability import reach
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.system import Member
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import TableError
from pxp_fsm.plugins.exports.aalpy_dot import to_aalpy
from pxp_fsm.plugins.exports.aldebaran import (
    from_aldebaran,
    graph_to_aldebaran,
    to_aldebaran,
)
from pxp_fsm.plugins.exports.cfsm import from_cfsm, to_cfsm
from tests import command_line
from tests.proofs.random_tables import tables

CFSM = """\
-- client = 0
.outputs
.state graph
0 1 ! ask 1
1 1 ? 200 0   -- as HTTP has it
.marking 0
.end

/* the server,
   which has no name */
.outputs
.state graph
q0 0 ? ask q1
q1 0 ! 200 q0
.marking q0
.end
"""


def test_communicating_automata_are_a_system_that_never_ends() -> None:
    system = from_cfsm(CFSM)
    assert [one.name for one in system.members] == ["client", "m1"]
    client, server = (one.automaton for one in system.members)
    assert [(r.source, r.action, r.target) for r in client.transitions] == [
        ("s0", "+ask to m1", "s1"),
        ("s1", "-t200 from m1", "s0"),
    ]
    assert client.final == server.final == frozenset()
    assert client.title == "Machine 0, client (s0 is 0, s1 is 1, t200 is 200)"
    assert [r.action for r in server.transitions] == ["-ask from client", "+t200 to client"]
    assert all(one.as_expected for one in pxp.check(system, channels=["fifo"]))


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "said"),
    [
        ("1 ! ask 1", "1 * ask 1", 4, 5, "'*' cannot stand here; expected: ! or ?"),
        ("0 1 ! ask 1", "0 1 ! ask", 5, 5, "'?' cannot stand here"),
        (".marking q0\n.end", ".marking q0", 16, 1, "the end cannot stand here; expected: .end"),
        ("0 1 ! ask 1", "0 2 ! ask 1", 4, 3, "there is no machine '2'; they have the numbers 0 to"),
        ("0 1 ! ask 1", "0 other ! ask 1", 4, 3, "there is no machine 'other'"),
        ("0 1 ! ask 1", "0 0 ! ask 1", 4, 3, "machine 0 cannot be its own partner"),
        ("q0 0 ? ask q1", "q0 0 ? ask q1\nq0 0 ? ask q0", 14, 1, "a second row leaves q0 on -ask"),
        (CFSM, "", 1, 1, "the end cannot stand here; expected: .outputs"),
        ("0 1 ! ask 1\n1 1 ? 200 0   -- as HTTP has it\n", "", 2, 1, "a machine without rows"),
    ],
)
def test_faults_of_communicating_automata_have_line_and_column(
    old: str, new: str, line: int, column: int, said: str
) -> None:
    assert old in CFSM
    with pytest.raises(TableError) as raised:
        from_cfsm(CFSM.replace(old, new, 1), "calls.txt")
    fault = raised.value.faults[0]
    assert (fault.file, fault.line, fault.column) == ("calls.txt", line, column), fault
    assert said in fault.message


def test_a_tag_that_nobody_receives_is_a_finding_with_its_place() -> None:
    (found,) = from_cfsm(CFSM.replace("1 ! ask 1", "1 ! beg 1"), "calls.txt").findings
    assert (found.file, found.line, found.column) == ("calls.txt", 4, 1)
    assert "sends beg to m1, which m1 receives in no state" in found.message


AUT = """\
des (0, 5, 4)
(0, "server!ASK", 1)
(1, server?ANSWER, 0)
(0, "[TIRED] !BYE", 2)
(1, "time out", 2)
(2, "exit", 3)
"""


def test_an_aldebaran_text_is_a_table() -> None:
    table = from_aldebaran(AUT.replace("[TIRED] ", ""), "a client.aut")
    assert (table.name, table.initial, table.final) == ("a_client", "S0", frozenset({"S2"}))
    assert [(r.source, r.action, r.target) for r in table.transitions] == [
        ("S0", "+ASK to server", "S1"),
        ("S1", "-ANSWER from server", "S0"),
        ("S0", "+BYE", "S2"),
        ("S1", "!time_out", "S2"),
    ]
    assert table.title == "a client (time_out is time out)"
    guarded = from_aldebaran(AUT).transitions[2]
    assert (guarded.guard, guarded.action) == ("TIRED", "+BYE")


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "said"),
    [
        ("des (0", "des (", 1, 6, "cannot stand here; expected: a number"),
        ('(1, "time out", 2)', '(1, "time out", 9)', 5, 17, "there is no state 9; the first line"),
        ('(1, "time out", 2)', '(1, "time out" 2)', 5, 16, "'2' cannot stand here"),
        ("server?ANSWER", "server!ASK", 3, 1, ""),
        ("(1, server?ANSWER, 0)", '(0, "server!ASK", 0)', 3, 2, "a second row leaves S0"),
    ],
)
def test_faults_of_an_aldebaran_text_have_line_and_column(
    old: str, new: str, line: int, column: int, said: str
) -> None:
    text = AUT.replace(old, new, 1)
    if not said:
        assert from_aldebaran(text).transitions
        return
    with pytest.raises(TableError) as raised:
        from_aldebaran(text, "graph.aut")
    fault = raised.value.faults[0]
    assert (fault.line, fault.column) == (line, column), fault
    assert said in fault.message


Shape = tuple[object, ...]


def shape_of(table: Automaton, tags: dict[str, int]) -> Shape:
    """A table up to the names of states and tags: numbered as they are met from the start."""
    states = {table.initial: 0}
    left, rows = [table.initial], list[Shape]()
    while left:
        source = left.pop(0)
        for row in table.leaving(source):
            tags.setdefault(row.label, len(tags))
            if row.target not in states:
                states[row.target] = len(states)
                left.append(row.target)
            rows.append((states[source], row.kind, tags[row.label], states[row.target], row.guard))
    return (tuple(rows), frozenset(states[name] for name in table.final if name in states))


@settings(max_examples=60, deadline=None)
@given(tables())
def test_a_table_comes_back_from_aldebaran_up_to_names(table: Automaton) -> None:
    back = from_aldebaran(to_aldebaran(table))
    assert shape_of(back, {}) == shape_of(table, {})
    again = from_aldebaran(to_aldebaran(back))
    assert again.fingerprint == from_aldebaran(to_aldebaran(again)).fingerprint


@st.composite
def endless_systems(draw: st.DrawFn) -> System:
    """Two to four members that end where they have no rows; rows name their partners."""
    names = ["a", "b_1", "C", "d"][: draw(st.integers(2, 4))]
    members = []
    for name in names:
        others = st.sampled_from([one for one in names if one != name])
        size = draw(st.integers(1, 3))
        states = st.sampled_from([f"S_{n}" for n in range(size)])
        rows = draw(
            st.lists(
                st.tuples(
                    states,
                    st.sampled_from(("send", "receive")),
                    others,
                    st.sampled_from(("X", "Y_1", "Y1")),
                ),
                min_size=1,
                max_size=5,
                unique=True,
            )
        )
        drawn = [
            {"from": source, "to": draw(states), key: tag, "partner": partner}
            for source, key, partner, tag in rows
        ]
        ends = sorted({row["to"] for row in drawn} - {row["from"] for row in drawn})
        table = pxp.build_automaton(f"t{name.lower()}", drawn, final=ends)
        members.append(Member(name, table))
    return System(tuple(members))


@settings(max_examples=60, deadline=None)
@given(endless_systems())
def test_a_system_comes_back_from_communicating_automata_up_to_names(system: System) -> None:
    text = to_cfsm(Composition(system)).text
    back = from_cfsm(text)
    assert [one.name for one in back.members] == [one.name for one in system.members]
    ours, theirs = dict[str, int](), dict[str, int]()
    for one, other in zip(system.members, back.members, strict=True):
        assert shape_of(one.automaton, ours) == shape_of(other.automaton, theirs)
        assert [r.partner for r in _met(one.automaton)] == [
            r.partner for r in _met(other.automaton)
        ]
    assert to_cfsm(Composition(back)).text.splitlines()[2:] == text.splitlines()[2:]


def _met(table: Automaton) -> list[pxp.Transition]:
    return list(table.transitions)


@settings(max_examples=25, deadline=None)
@given(endless_systems())
def test_the_states_of_a_system_are_the_graph_that_is_written(system: System) -> None:
    composition = Composition(system.over("fifo:1"))
    reached = reach(composition)
    assume(len(reached.states) < 500)
    first, *edges = graph_to_aldebaran(composition).text.splitlines()
    assert first == f"des (0, {reached.transitions}, {len(reached.states)})"
    assert len(edges) == reached.transitions


@pytest.mark.parametrize("name", ["interact", "pxp", "pxp_hang_up"])
def test_aalpy_reads_what_is_written_for_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_handler = pytest.importorskip("aalpy.utils.FileHandler")
    table = load_automaton(name)
    path = tmp_path / "table.dot"
    path.write_text(to_aalpy(table), "utf-8")
    read = file_handler.load_automaton_from_file(path, "dfa")
    assert "not input complete" in capsys.readouterr().out
    names = {state.state_id: state for state in read.states}
    assert names.keys() == {state.name for state in table.states}
    assert read.initial_state.state_id == table.initial
    assert {state.state_id for state in read.states if state.is_accepting} == table.final
    for row in table.transitions:
        sign = {Kind.SEND: "!", Kind.RECEIVE: "?", Kind.EVENT: ""}[row.kind]
        letter = (f"[{row.guard}] " if row.guard else "") + sign + row.label
        assert names[row.source].transitions[letter].state_id == row.target
    endless = replace(table, final=frozenset())
    assert to_aalpy(endless).count("doublecircle") == len(table.states)


def test_a_file_of_others_is_imported_checked_and_exported(tmp_path: Path) -> None:
    (tmp_path / "calls.txt").write_text(CFSM, "utf-8")
    done = command_line.pxp("check", "calls.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "any capacity from 1, and unbounded" in done.stdout
    done = command_line.pxp("import", "calls.txt", "-o", "calls", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "calls").iterdir()) == [
        "client.toml",
        "m1.toml",
        "system.toml",
    ]
    done = command_line.pxp("check", "calls/system.toml", "--channel", "fifo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = command_line.pxp("import", "calls.txt", "-o", "calls", cwd=tmp_path)
    assert (done.returncode, "already exists" in done.stderr) == (2, True)
    done = command_line.pxp("export", "calls/system.toml", "-o", "back.cfsm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    back = from_cfsm((tmp_path / "back.cfsm").read_text("utf-8"))
    assert [one.name for one in back.members] == ["client", "m1"]
    done = command_line.pxp("export", "calls/client.toml", "--format", "aalpy", cwd=tmp_path)
    assert (tmp_path / "client.dot").read_text("utf-8").startswith("digraph table {")
    done = command_line.pxp("check", "m=calls.txt", "h=interact", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds a system of several tables; give it alone" in done.stderr


def test_a_broken_file_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "calls.cfsm").write_text(CFSM.replace("!", "*", 1), "utf-8")
    for verb in ("check", "import", "draw"):
        done = command_line.pxp(verb, "calls.cfsm", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("Error: calls.cfsm, line 4, column 5: '*' cannot stand here")
