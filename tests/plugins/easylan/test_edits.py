"""Operations on networks: refused with a reason or sound, logged, undone, written and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import FileError, PXPError, UsageError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Conflict, begun_as, replayed
from pxp_fsm.plugins.easylan.model.network import (
    AgentInput,
    Control,
    ControlExample,
    ExecutionExample,
    HandledExample,
    LanAgent,
    Network,
    Piece,
    Unsound,
    check_network,
    cycle_of,
)
from pxp_fsm.plugins.easylan.model.operations import (
    WORDS,
    AgentField,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Handle,
    Learn,
    Operation,
    Split,
    SplitKind,
    applied,
)
from pxp_fsm.plugins.easylan.training.progress import Example
from tests.plugins.easylan.random_networks import NAMES, OPERATIONS, networks
from tests.plugins.easylan.scripted_models import Frames, honours
from tests.plugins.easylan.trainings import (
    GAP,
    forgets,
    parameters,
    poor,
    scripted,
    trained,
    weak,
)

A, B, C = (LanAgent(name, f"do {name}", "text") for name in "ABC")
CHAIN = Network("task", (A, B, C), frozenset({("A", "B"), ("B", "C")}))


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ((Connect("C", "A"),), "would have a cycle: A → B → C → A"),
        ((Connect("A", "A"),), "would have a cycle: A → A"),
        ((Create(replace(A, name="")),), "an agent's name is empty"),
        ((Create(replace(A, name="D", task=" ")),), "the task of 'D' is empty"),
        ((Edit("A", AgentField.OUTPUT, ""),), "the output description of 'A' is empty"),
        ((Create(A),), "two agents are named 'A'"),
        ((Edit("A", AgentField.NAME, "B"),), "there is an agent 'B' already"),
        ((Edit("A", AgentField.NAME, "a\x1b[2J"),), "is not a valid agent name"),
        ((Delete("A"), Delete("B"), Delete("C")), "there is no agent"),
        ((Delete("D"),), "there is no agent 'D'; there are: A, B, C"),
        ((Connect("A", "D"),), "there is no agent 'D'"),
        ((Connect("A", "B"),), "are already connected"),
        ((Disconnect("A", "C"),), "there is no edge from 'A' to 'C'"),
        ((Edit("A", AgentField.ENABLED, "yes"),), "enabled of an agent cannot be 'yes'"),
        (
            (Edit("C", AgentField.REQUIRED, ("A",)),),
            "requires 'A', which is none of its predecessors",
        ),
        ((Split("A", SplitKind.PARALLEL, (A,)),), "split into two parts or more"),
    ],
)
def test_an_edit_is_refused_with_its_reason(operations: Sequence[Operation], said: str) -> None:
    with pytest.raises(PXPError, match=said.replace("?", r"\?")):
        applied(CHAIN, operations)


def test_deleting_takes_the_edges_and_disconnecting_the_requirement() -> None:
    required = replace(CHAIN, agents=(A, replace(B, control=Control(required=("A",))), C))
    gone = applied(required, [Delete("A")])
    assert gone.edges == {("B", "C")} and gone.agent("B").control.required == ()
    apart = applied(required, [Disconnect("A", "B")])
    assert apart.agent("B").control.required == ()


def test_a_new_name_is_new_everywhere() -> None:
    received = AgentInput("x", (Piece("A", "a"),))
    taught = replace(
        B,
        control=Control(True, ("A",), (), (ControlExample(received, True),)),
        examples=(ExecutionExample(received, "b"),),
    )
    handled = HandledExample("x", "t", "c", (("A", "a"), ("B", "b"), ("C", "c")))
    net = replace(CHAIN, agents=(A, taught, C), handled=(handled,))
    new = applied(net, [Edit("A", AgentField.NAME, "Z")])
    assert "A" not in json.dumps(files.of_history(begun_as(new))).replace("do A", "")
    assert new.agent("B").examples[0].received.pieces == (Piece("Z", "a"),)
    assert applied(new, [Edit("Z", AgentField.NAME, "A")]) == net


def test_a_split_keeps_the_place_the_knowledge_and_the_examples_of_others() -> None:
    received = AgentInput("x", (Piece("B", "b"),))
    known = replace(B, knowledge=("k1", "k2"), control=Control(True, ("A",), ("c",)))
    reader = replace(C, control=Control(True, ("B",)), examples=(ExecutionExample(received, "c"),))
    handled = HandledExample("x", "t", "c", (("A", "a"), ("B", "b"), ("C", "c")))
    net = Network("task", (A, known, reader), CHAIN.edges, (handled,))
    parts = (LanAgent("B1", "one", "text", knowledge=("k1",)), LanAgent("B2", "two", "text"))
    new = applied(net, [Split("B", SplitKind.SEQUENTIAL, parts)])
    assert new.names == ("A", "B1", "B2", "C")
    assert new.edges == {("A", "B1"), ("A", "B2"), ("B1", "B2"), ("B2", "C")}
    assert new.agent("B1").knowledge == ("k1",) and new.agent("B2").knowledge == ("k2",)
    assert [one.control.required for one in new.agents] == [(), ("A",), ("A",), ("B2",)]
    assert all(new.agent(name).control.knowledge == ("c",) for name in ("B1", "B2"))
    assert new.agent("C").examples[0].received.pieces == (Piece("B2", "b"),)
    assert dict(new.handled[0].results) == {"A": "a", "C": "c", "B1": None, "B2": "b"}
    with pytest.raises(UsageError, match="cannot be split into parallel parts: 'C' requires it"):
        applied(net, [Split("B", SplitKind.PARALLEL, parts)])
    free = applied(net, [Edit("C", AgentField.REQUIRED, ())])
    by_condition = applied(free, [Split("B", SplitKind.PARALLEL, parts, (("x", "B1"),))])
    assert by_condition.edges == {("A", "B1"), ("A", "B2"), ("B1", "C"), ("B2", "C")}
    assert by_condition.agent("C").examples[0].received.pieces == (Piece("B1", "b"),)
    assert [by_condition.agent(n).knowledge for n in ("B1", "B2")] == [("k1", "k2"), ("k2",)]
    assert all(by_condition.agent(name).control.enabled for name in ("B1", "B2"))


def test_an_example_takes_the_place_of_one_of_the_same_input() -> None:
    one, other = AgentInput("x"), AgentInput("y")
    first = Learn("A", (ControlExample(one, True), ControlExample(other, True)))
    net = applied(CHAIN, [first, Learn("A", (ControlExample(one, False),))])
    assert net.agent("A").control.examples == (
        ControlExample(other, True),
        ControlExample(one, False),
    )


@settings(max_examples=100, deadline=None)
@given(networks(), st.lists(OPERATIONS, max_size=12))
def test_whatever_is_done_the_network_is_sound_and_the_log_tells_it(
    start: Network, operations: list[Operation]
) -> None:
    """Never a cycle, never two agents of a name; undoing goes back; a file says it all."""
    lan = Lan(begun_as(start))
    states = [start]
    for operation in operations:
        before = lan.history
        try:
            lan.edit(operation)
        except PXPError:
            assert lan.history == before
            continue
        check_network(lan.network)
        assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(lan.network.edges)))
        assert len(set(lan.network.names)) == len(lan.network.names)
        states.append(lan.network)
    raw = files.of_history(lan.history)
    assert files.parse(json.dumps(raw)) == lan.history == replayed(lan.history.changes)
    length = lan.version
    for earlier in reversed(states[:-1]):
        assert lan.undo() == earlier
    with pytest.raises(UsageError, match="nothing is left to undo"):
        lan.undo()
    assert lan.version == length + len(states) - 1
    assert files.parse(json.dumps(files.of_history(lan.history))) == lan.history


def test_after_undoing_one_goes_on() -> None:
    lan = Lan(begun_as(CHAIN))
    lan.edit(Connect("A", "C"), about="a short cut")
    lan.undo()
    lan.edit(Delete("C"))
    lan.undo()
    assert lan.network == CHAIN
    assert [change.about for change in lan.history.changes] == [
        "begin: task",
        "a short cut",
        "undo change 2: a short cut",
        "delete",
        "undo change 4: delete",
    ]


TEXT = """{
 "format": "pxp-fsm lan", "version": 1,
 "task": "task",
 "agents": [
  {"name": "A", "task": "do A", "output": "text"},
  {"name": "B", "task": "do B", "output": "text",
   "control": {"enabled": true}}
 ],
 "edges": [
  ["A", "B"]
 ]
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 1', '"version": 2', "line 2: version: 2 is not one that this version reads"),
        ('"enabled": true', '"enabled": 3', "line 7: agents[1].control.enabled: 3 is not of the"),
        ('"do B", "output"', '"do B", "puts"', "line 6: agents[1]"),
        (
            '["A", "B"]',
            '["A", "X"]',
            "line 10: edges[0]: an edge has the end 'X', which does not exist",
        ),
        ('["A", "B"]', '["A", "B"], ["B", "A"]', "line 9: edges: the network would have a cycle"),
        ('"name": "B"', '"name": "A"', "two agents are named 'A'; rename one"),
        ('"task": "do A"', '"task": ""', "line 5: agents[0].task: the task of 'A' is empty"),
        (
            '"edges"',
            "edges",
            "this is not JSON: Expecting property name enclosed in double quotes: line 9",
        ),
    ],
)
def test_a_fault_of_a_file_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(FileError) as raised:
        files.parse(TEXT.replace(old, new, 1), "my.lan.json")
    assert any(f"my.lan.json, {said}" in line or said in line for line in raised.value.problems)


def test_a_file_without_a_log_begins_as_it_is_and_a_log_must_lead_to_the_network() -> None:
    history = files.parse(TEXT)
    assert history.network.names == ("A", "B") and history.version == 1
    raw = files.of_history(history)
    raw["agents"][0]["task"] = "another"
    with pytest.raises(FileError, match="the log does not lead to the network"):
        files.parse(json.dumps(raw))
    raw["log"][0]["operations"].append({"do": "delete", "name": "Z"})
    with pytest.raises(FileError, match="line 1: log: there is no agent 'Z'"):
        files.parse(json.dumps(raw))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "my.lan.json"
    lan = Lan.new("a task")
    lan.save(path)
    assert Lan.load(path).history == lan.history
    assert [one.name for one in tmp_path.iterdir()] == ["my.lan.json"]
    with pytest.raises(UsageError, match="there is no folder"):
        lan.save(tmp_path / "nowhere" / "my.lan.json")
    with pytest.raises(FileError, match="cannot be read"):
        Lan.load(tmp_path / "none.lan.json")


def test_the_published_schema_has_every_operation() -> None:
    words = {f"#/$defs/{kind.__name__}.{word}" for kind, word in WORDS.items()}
    change = files.NETWORK.schema()["$defs"]["Change"]["properties"]
    assert {one["$ref"] for one in change["operations"]["items"]["oneOf"]} == words
    assert set(WORDS) == set(Operation.__args__)


@given(st.lists(st.sampled_from(NAMES), max_size=3), st.text(max_size=200))
def test_no_text_is_a_traceback(names: list[str], junk: str) -> None:
    for text in (junk, json.dumps({"format": "pxp-fsm lan", "version": 1, "agents": names})):
        with pytest.raises(FileError):
            files.parse(text)


def test_a_cycle_is_named() -> None:
    assert cycle_of(frozenset({("A", "B"), ("B", "C")})) == ()
    assert set(cycle_of(frozenset({("A", "B"), ("B", "C"), ("C", "B")}))) == {"B", "C"}
    with pytest.raises(Unsound):
        check_network(Network("t"))


def test_handling_an_example_again_takes_its_place() -> None:
    one, two = HandledExample("x", "t", "1", ()), HandledExample("x", "t", "2", ())
    assert applied(CHAIN, [Handle(one), Handle(two)]).handled == (two,)


def test_what_was_undone_is_redone_until_something_else_is_done() -> None:
    lan = Lan.new("t")
    lan.edit(Edit("Solver", AgentField.OUTPUT, "one"))
    lan.edit(Edit("Solver", AgentField.OUTPUT, "two"))
    lan.undo()
    lan.undo()
    assert lan.redo().agent("Solver").output == "one"
    assert lan.redo().agent("Solver").output == "two"
    with pytest.raises(UsageError, match="nothing is left to redo"):
        lan.redo()
    assert lan.undo().agent("Solver").output == "one"
    lan.edit(Edit("Solver", AgentField.TASK, "sing"))
    with pytest.raises(UsageError, match="nothing is left to redo"):
        lan.redo()
    assert files.parse(json.dumps(files.of_history(lan.history))) == lan.history


def test_undoing_takes_an_update_back_with_its_example_and_what_it_taught() -> None:
    def update(knowledge: str) -> tuple[Any, ...]:
        return GAP, poor("Solver"), weak("lack_of_knowledge"), parameters(knowledge=knowledge)

    def say(purpose: str, frames: Frames) -> Any:
        known = honours(frames, "result")
        return forgets(purpose, frames) if known is None else {"thoughts": "", "result": known}

    model = scripted(*update("k"), *update("l"), say=say)
    trainer, _told = trained(model, Example("x", "kx"), Example("y", "kly"), Example("z", "klz"))
    lan, begun = trainer.lan, trainer.lan.history.at(1)
    done = [change.about for change in lan.history.changes]
    assert done[1:] == [
        *("ADD_KNOWLEDGE: Solver", "handled 'x'", "ADD_KNOWLEDGE: Solver", "handled 'y'"),
        "handled 'z'",  # which no update has made right: it goes alone
    ]
    for version in (5, 3):
        assert lan.undo(ued=1) == lan.history.at(version)
    assert lan.undo() == begun and not lan.history.can_undo
    assert lan.history.undone_changes == {2, 3, 4, 5, 6}
    kept = files.parse(json.dumps(files.of_history(lan.history)))
    assert kept == lan.history and kept.changes[6].ued == 1
    for version in (3, 5, 6):
        assert lan.redo() == lan.history.at(version)
    assert lan.undo() == lan.history.at(5)  # what was redone is a change of its own


def test_a_network_goes_to_any_version_and_back() -> None:
    lan = Lan.new("t")
    lan.edit(Edit("Solver", AgentField.OUTPUT, "one"))
    lan.edit(Create(LanAgent("B", "b", "t")))
    networks = [lan.history.at(version) for version in (1, 2, 3)]
    for version in (1, 3, 2, 1):
        assert lan.restore(version) == networks[version - 1]
    assert lan.undo() == networks[1]
    for version in (0, -1, lan.version + 1):
        with pytest.raises(UsageError, match="none of them"):
            lan.restore(version)
    assert files.parse(json.dumps(files.of_history(lan.history))) == lan.history


def test_an_edit_for_another_version_is_refused_and_says_what_changed_since() -> None:
    lan = Lan.new("t")
    lan.edit(Edit("Solver", AgentField.OUTPUT, "one"), about="to one", if_version=1)
    before = lan.history
    acts: tuple[Callable[[], object], ...] = (
        lambda: lan.edit(Edit("Solver", AgentField.TASK, "sing"), if_version=1),
        lambda: lan.undo(if_version=1),
        lambda: lan.redo(if_version=1),
        lambda: lan.restore(1, if_version=1),
    )
    for act in acts:
        with pytest.raises(Conflict, match=r"version 2, not 1: .*to one, by the developer"):
            act()
    assert lan.history is before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"task": " "}, ["the task is empty"]),
        ({"agents": []}, ["there is no agent"]),
        ({"edges": [["Solver", "Solver"]]}, ["would have a cycle"]),
        ({"edges": [["Solver", "Gone"]]}, ["does not exist"]),
        ({"agents": [{"name": "A", "task": 3, "output": "t"}]}, ["3"]),
        ({"agents": [{"name": "A"}] * 2}, ["task", "output"]),
    ],
)
def test_the_faults_of_a_draft_are_told_without_raising(
    changes: dict[str, Any], said: list[str]
) -> None:
    draft = files.of_network(Lan.new("t").network) | changes
    found = [fault.message for fault in files.draft_faults(draft)]
    assert bool(found) is bool(said)
    assert all(any(one in message for message in found) for one in said), found


@pytest.mark.parametrize("draft", [None, [], "x", 3, {}, {"agents": 3}, {"agents": [None]}])
def test_what_is_no_network_at_all_has_faults_too(draft: object) -> None:
    assert files.draft_faults(draft)
