"""Step 4 sets all of the paper's Tables 1 and 2: required inputs, a split's edges, knowledge."""

from __future__ import annotations

from typing import Any

import pytest

from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import Connect, Split, SplitKind, applied
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Developer,
    DeveloperChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.events import CopyTried
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.steps import Strategy, UpdateStep, form_of, problem_of
from pxp_fsm.plugins.easylan.training.strategies import Update, operations_of
from tests.plugins.easylan.trainings import (
    GAP,
    NOBODY,
    POET,
    Watching,
    forgets,
    new_agent,
    parameters,
    poor,
    scripted,
    trained,
    weak,
)

MIDDLE = LanAgent(
    "Middle", "do it", "text", Control(True, ("First",), ("when x", "when y")), ("k1", "k2", "k3")
)
NETWORK = Network(
    "t",
    (
        LanAgent("First", "a", "text"),
        LanAgent("Other", "a", "text"),
        MIDDLE,
        LanAgent("Last", "z", "text"),
    ),
    frozenset({("First", "Middle"), ("Other", "Middle"), ("Middle", "Last")}),
)


def updated(strategy: Strategy, **parameters: Any) -> Network:
    return applied(NETWORK, operations_of(Update(strategy, "Middle", parameters), NETWORK))


def edge(source: str, target: str) -> dict[str, str]:
    return {"from": source, "to": target}


def test_a_new_agent_requires_predecessors() -> None:
    poet = new_agent("Poet", required=["Other"])
    network = updated(Strategy.ADD_AGENT, agent=poet, **{"from": ["Other", "Last"], "to": []})
    assert network.agent("Poet").control.required == ("Other",)
    with pytest.raises(PXPError, match="which is none of its predecessors"):
        updated(Strategy.ADD_AGENT, agent=poet, **{"from": ["Last"], "to": []})


def test_new_inputs_are_required_where_it_is_said() -> None:
    new = [{**new_agent("Parser"), "from": ["First"]}]
    given = {"from": [], "new_agents": new}
    network = updated(Strategy.ADD_INPUTS, **given, required=["Parser"])
    assert network.agent("Middle").control.required == ("First", "Parser")
    assert updated(Strategy.ADD_INPUTS, **given).agent("Middle").control.required == ("First",)
    with pytest.raises(UsageError, match="'Last' is required, but is none of the new inputs"):
        updated(Strategy.ADD_INPUTS, **given, required=["Last"])


def test_a_split_has_the_edges_that_it_says() -> None:
    edges = [edge("First", "A"), edge("Other", "B"), edge("A", "C"), edge("B", "C")]
    parts = [new_agent("A"), new_agent("B"), new_agent("C", required=["A"])]
    network = updated(
        Strategy.SPLIT, kind="sequential", agents=parts, edges=[*edges, edge("C", "Last")]
    )
    assert network.edges == {
        *(("First", "A"), ("Other", "B"), ("A", "C"), ("B", "C"), ("C", "Last")),
    }
    required = {agent.name: agent.control.required for agent in network.agents}
    assert required == {"First": (), "Other": (), "A": ("First",), "B": (), "C": ("A",), "Last": ()}


@pytest.mark.parametrize(
    ("kind", "edges", "why"),
    [
        ("sequential", [("A", "B")], "'First' must stay connected"),
        ("sequential", [("First", "A"), ("Other", "A"), ("A", "B")], "'Last' must stay connected"),
        ("sequential", [("First", "Last")], "cannot lead from 'First' to 'Last'"),
        (
            "sequential",
            [("First", "A"), ("Other", "B"), ("A", "Last"), ("A", "B"), ("B", "Last")],
            "only the last, 'B', sends on",
        ),
        (
            "sequential",
            [("First", "A"), ("Other", "B"), ("B", "Last")],
            "the part 'A' sends to none of the parts after it",
        ),
        (
            "parallel",
            [("First", "A"), ("Other", "B"), ("A", "B"), ("B", "Last")],
            "parallel parts are not connected",
        ),
    ],
)
def test_edges_by_which_an_agent_would_lose_its_place_are_refused(
    kind: str, edges: list[tuple[str, str]], why: str
) -> None:
    parts = [new_agent("A"), new_agent("B")]
    with pytest.raises(UsageError, match=why):
        updated(Strategy.SPLIT, kind=kind, agents=parts, edges=[edge(*each) for each in edges])


def test_each_piece_of_knowledge_goes_to_the_parts_that_need_it() -> None:
    """What no part takes is not lost: the last part has it, and each control module."""
    one = new_agent("A", knowledge=["k1", "new"], control_knowledge=["when x"])
    two = new_agent("B", knowledge=["k2", "k1"])
    network = updated(Strategy.SPLIT, kind="sequential", agents=[one, two])
    assert network.agent("A").knowledge == ("k1", "new")
    assert network.agent("B").knowledge == ("k2", "k1", "k3")
    assert network.agent("A").control.knowledge == ("when y", "when x")
    assert network.agent("B").control.knowledge == ("when y",)


def test_parameters_of_an_older_script_are_still_parameters() -> None:
    older = {"parameters": {"kind": "parallel", "agents": [new_agent("A"), new_agent("B")]}}
    assert "required" not in new_agent("A")
    assert problem_of(UpdateStep.PARAMETERS, older, NETWORK, Strategy.SPLIT) is None
    asked: Any = form_of(UpdateStep.PARAMETERS, Strategy.SPLIT)["properties"]
    assert "edges" in asked["parameters"]["required"]


def test_operations_are_written_and_read_again() -> None:
    parts = (LanAgent("A", "a", "t"), LanAgent("B", "b", "t"))
    for operation in (
        Connect("First", "Last"),
        Connect("First", "Last", True),
        Split("Middle", SplitKind.PARALLEL, parts, (("x", "A"),), (("First", "A"), ("A", "Last"))),
    ):
        assert files.operation(files.of_operation(operation)) == operation
    assert files.of_operation(Connect("A", "B")) == {"do": "connect", "source": "A", "target": "B"}


POETIC = {"reason_type": "lack_of_agent", "agent_name": "PoeticTranslator"}
"""The paper's own result of step 2 (Figure 5)."""


def test_the_agent_that_is_lacking_may_be_named() -> None:
    reason = {**POETIC, "reason_content": "no agent keeps the rhyme"}
    assert problem_of(UpdateStep.REASON, reason, NETWORK) is None
    for name, why in (("Last", "there is an agent 'Last' already"), ("a\nb", "not a valid agent")):
        problem = problem_of(UpdateStep.REASON, {**reason, "agent_name": name}, NETWORK)
        assert problem is not None and why in problem
    other = {**reason, "reason_type": "poor_performance_of_agent"}
    assert "there is no agent" in str(problem_of(UpdateStep.REASON, other, NETWORK))


@pytest.mark.parametrize("developer", [None, Watching()])
def test_the_name_is_that_of_the_new_agent(developer: Developer | None) -> None:
    """Whatever step 4 calls it; a developer who writes another name has the last word."""
    script = scripted(GAP, {**NOBODY, **POETIC}, POET)
    example = Example("x", "PoeticTranslator(Solver(x))")
    trainer, _told = trained(script, example, developer=developer)
    assert trainer.lan.network.names == ("Solver", "PoeticTranslator")
    assert trainer.lan.history.changes[1].about == "ADD_AGENT: PoeticTranslator"


def test_a_developer_may_rename_the_new_agent() -> None:
    def rename(view: StepView, _lan: Lan) -> Act:
        assert isinstance(view.proposal, dict)
        agent = {**view.proposal["parameters"]["agent"], "name": "Bard"}
        return Act(
            DeveloperChoice.CONFIRM,
            {"parameters": {**view.proposal["parameters"], "agent": agent}},
        )

    confirm = Act(DeveloperChoice.CONFIRM)
    developer = Watching(confirm, confirm, rename)
    script = scripted(GAP, {**NOBODY, **POETIC}, POET)
    trainer, _told = trained(script, Example("x", "Bard(Solver(x))"), developer=developer)
    assert trainer.lan.network.names == ("Solver", "Bard")


def test_the_same_knowledge_is_not_taught_twice() -> None:
    for strategy, known in ((Strategy.ADD_KNOWLEDGE, " k2 "), (Strategy.TURN_ON, "when x")):
        with pytest.raises(UsageError, match="'Middle' has this piece of knowledge already"):
            updated(strategy, knowledge=known)
    taught = updated(Strategy.ADD_KNOWLEDGE, knowledge="when x")  # its control module knows that
    assert taught.agent("Middle").knowledge[-1] == "when x"
    script = scripted(
        *(GAP, poor("Solver"), weak("lack_of_knowledge"), parameters(knowledge="rhyme")),
        *(GAP, poor("Solver"), weak("lack_of_knowledge"), parameters(knowledge="rhyme")),
        parameters(knowledge="keep the metre"),
        say=forgets,
    )
    trainer, told = trained(script, Example("x", "rhymekeep the metrex"))
    assert trainer.lan.network.agent("Solver").knowledge == ("rhyme", "keep the metre")
    (fault,) = [one.fault for one in told if isinstance(one, CopyTried) and one.fault]
    assert "has this piece of knowledge already: 'rhyme'" in fault
