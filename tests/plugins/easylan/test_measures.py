"""What a log tells of a developer's actions: Table 6's kinds, and no less than the distance."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.easylan.distance.lmd import cost, network_distance, text_cost
from pxp_fsm.plugins.easylan.distance.measures import (
    Action,
    ActionTally,
    Attention,
    ManualAction,
    actions_of,
    by_hand,
    modifications,
    tallied,
)
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Author, Change, History, begun_as
from pxp_fsm.plugins.easylan.model.network import (
    Control,
    HandledExample,
    LanAgent,
    Network,
    initial,
)
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Handle,
    Operation,
    Split,
    SplitKind,
    Teach,
    merging,
)
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import (
    DeveloperQuestion,
    HandedView,
    OutputView,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import Answered, Asked, Withdrawn
from pxp_fsm.plugins.easylan.training.steps import UpdateStep


def begun() -> History:
    agents = (LanAgent("A", "t", "o"), LanAgent("B", "t", "o"))
    return begun_as(Network("x", agents, frozenset({("A", "B")})))


def after(*operations: Operation, by: Author = Author.DEVELOPER) -> History:
    return begun().after(Change(by, "", operations))


def test_what_a_network_began_as_and_what_the_system_did_is_nobodys_action() -> None:
    assert by_hand(begun()) == ()
    assert by_hand(after(Teach("A", "so", control=False), by=Author.SYSTEM)) == ()


def test_edges_and_agents_cost_what_the_table_says() -> None:
    assert by_hand(after(Disconnect("A", "B"), Connect("B", "A"), Delete("A"))) == (
        ManualAction(Action.MODIFY_EDGE, "A → B", 2),
        ManualAction(Action.MODIFY_EDGE, "B → A", 2),
        ManualAction(Action.DELETE_AGENT, "A", 2),
    )


def test_a_new_agent_is_a_click_and_its_form_is_filled_in() -> None:
    new = LanAgent("C", "do it", "text", Control(enabled=True))
    assert by_hand(after(Create(new))) == (
        ManualAction(Action.NEW_AGENT, "C", 1),
        ManualAction(Action.MODIFY_AGENT, "C", (1 + 1) + (1 + 5) + (1 + 4) + 1 + 1),
    )


def test_the_edits_of_one_agent_in_a_row_are_one_filling_in_of_its_form() -> None:
    renamed = Edit("A", AgentField.NAME, "Apt")
    more = (Edit("Apt", AgentField.TASK, "to"), Teach("Apt", "so", control=False))
    assert by_hand(after(renamed, *more)) == (
        ManualAction(Action.MODIFY_AGENT, "Apt", 1 + (1 + 2) + (1 + 1) + (1 + 2) + 1),
    )
    apart = after(renamed, Edit("B", AgentField.TASK, "to"), more[0])
    assert [(acted.on, acted.ued) for acted in by_hand(apart)] == [("Apt", 5), ("B", 4), ("Apt", 4)]


def test_requiring_a_predecessor_is_done_to_the_edge_and_costs_what_the_distance_says() -> None:
    history = after(Edit("B", AgentField.REQUIRED, ("A",)))
    assert by_hand(history) == (ManualAction(Action.MODIFY_EDGE, "A → B", 2),)
    assert network_distance(begun().network, history.network).upper == 2
    assert network_distance(history.network, begun().network).upper == 2


def test_a_merge_is_a_drag_and_a_split_what_is_written_in_its_parts() -> None:
    history = after(Edit("B", AgentField.TASK, "u"))
    merged = merging(history.network, "B", "A")
    (acted,) = actions_of(history.network, Change(Author.DEVELOPER, "", merged))
    assert (acted.action, acted.on, acted.ued) == (Action.MERGE, "B into A", cost("merge"))
    other = actions_of(history.network, Change(Author.DEVELOPER, "", merged[:-1]))
    assert Action.MERGE not in {one.action for one in other}
    old = history.network.agent("B")
    parts = [replace(old, name=f"B {number}") for number in (1, 2)]
    as_begun = actions_of(history.network, _split(SplitKind.SEQUENTIAL, *parts))
    assert [(one.action, one.ued) for one in as_begun] == [(Action.SPLIT, cost("split"))]
    parts[1] = replace(parts[1], name="B 2!")
    (acted,) = actions_of(
        history.network, _split(SplitKind.PARALLEL, *parts, LanAgent("C", "d", "e"))
    )
    written = text_cost("B 2", "B 2!") + 3 * text_cost("", "x")
    assert acted.ued == cost("split") + cost("switch") + cost("create") + written


def _split(kind: SplitKind, *parts: LanAgent) -> Change:
    return Change(Author.DEVELOPER, "", (Split("B", kind, parts),))


def test_undoing_is_an_action_too() -> None:
    assert by_hand(after(Delete("B")).undone())[-1] == ManualAction(Action.UNDO, "change 2", 1)


def test_modifications_are_changes_of_more_than_examples() -> None:
    handled = Handle(HandledExample("x", "y", "y", (("A", "y"), ("B", "y"))))
    history = after(Delete("B"), by=Author.SYSTEM)
    history = history.after(Change(Author.SYSTEM, "", (Handle(HandledExample("x", "y", "y", ())),)))
    assert modifications(begun()) == 0
    assert modifications(begun().after(Change(Author.SYSTEM, "", (handled,)))) == 0
    assert modifications(history) == 1
    assert modifications(history.undone().undone()) == 2


def test_a_tally_has_every_kind_of_action() -> None:
    found = tallied(by_hand(after(Disconnect("A", "B"), Connect("B", "A"))))
    assert set(found) == set(Action)
    assert found[Action.MODIFY_EDGE] == ActionTally(2, 4)
    assert found[Action.STEP_1] == ActionTally()


TEXT = st.text("ab ", min_size=1, max_size=4).filter(str.strip)


def operations(network: Network, fresh: int) -> st.SearchStrategy[Operation]:
    """Manual operations; a name that comes up was never there before."""
    some = st.sampled_from(network.names)
    knowledge = st.lists(TEXT, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Create, st.builds(LanAgent, st.just(f"new {fresh}"), TEXT, TEXT)),
        st.builds(Delete, some),
        st.builds(Connect, some, some),
        st.builds(Disconnect, some, some),
        st.builds(Edit, some, st.just(AgentField.NAME), st.just(f"named {fresh}")),
        st.builds(Edit, some, st.sampled_from([AgentField.TASK, AgentField.OUTPUT]), TEXT),
        st.builds(Edit, some, st.just(AgentField.CONTROL_KNOWLEDGE), knowledge),
    )


@settings(max_examples=40)
@given(st.data())
def test_no_edit_by_hand_costs_less_than_the_distance(data: st.DataObject) -> None:
    history = begun_as(initial("x"))
    for fresh in range(data.draw(st.integers(1, 6))):
        operation = data.draw(operations(history.network, fresh))
        try:
            history = history.after(Change(Author.DEVELOPER, "", (operation,)))
        except PXPError:
            continue
    spent = sum(acted.ued for acted in by_hand(history))
    assert network_distance(initial("x"), history.network).upper <= spent


def test_a_developers_time_is_that_in_which_they_are_asked() -> None:
    clock = iter([1.0, 3.0, 10.0, 14.0, 20.0, 21.0])
    attention = Attention(outputs=False, clock=lambda: next(clock))
    run = NetworkRun("x", "y", {})
    step = StepView(UpdateStep.GAP, None, {"gap": ""}, "", run, "z")
    for view, ued in ((step, 4), (HandedView("why"), 0)):
        attention(Asked(DeveloperQuestion("id", 1, 1, view)))
        attention(Answered("id", ued))
    assert (attention.seconds, attention.ued) == (2.0 + 4.0, 4)
    attention(Asked(DeveloperQuestion("id", 1, 1, OutputView(run, "z"))))  # a program judges it
    attention(Answered("id"))
    assert attention.seconds == 6.0
    attention(Asked(DeveloperQuestion("id", 1, 1, step)))
    attention(Withdrawn("id", "the network changed"))
    assert (attention.seconds, attention.ued) == (7.0, 4)


def test_what_a_change_really_took_stands_beside_its_least_ued() -> None:
    lan = Lan.new("t")
    longer = Edit("Solver", AgentField.OUTPUT, "the result of the task, in verse")
    lan.edit(longer, ued=99)
    lan.edit(Edit("Solver", AgentField.TASK, "sing"))
    history = files.parse(json.dumps(files.of_history(lan.history)))
    first, second = by_hand(history)
    assert (first.spent, second.spent) == (99, None)
    assert 0 < first.ued < 99
