"""Training: steps, strategies, supervision, regressions, races; by scripts, through the machine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import begun_as
from pxp_fsm.plugins.easylan.model.network import Control, LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import AgentField, Connect, Edit
from pxp_fsm.plugins.easylan.training.developer import Act, DeveloperChoice, RegressionChoice
from pxp_fsm.plugins.easylan.training.pipeline import Trainer, TrainingLimits
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.steps import HOLE
from pxp_fsm.plugins.easylan.training.supervision import AS_WRITTEN, StepEnded, Supervision
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply
from tests.plugins.easylan.scripted_models import Speaking
from tests.plugins.easylan.trainings import (
    FIRST,
    GAP,
    NOBODY,
    POET,
    Same,
    Watching,
    forgets,
    labels,
    new_agent,
    parameters,
    poor,
    scripted,
    sessions,
    trained,
    weak,
)


def test_an_example_is_handled_by_adding_an_agent_and_is_kept() -> None:
    trainer, told = trained(scripted(GAP, NOBODY, POET), FIRST)
    assert labels(told) == [
        *("EXAMPLE", "RAN", "BEGIN", "AGREED", "GO_ON", "AGREED", "ADD_AGENT", "AGREED"),
        *("APPLY", "TRY", "REPLAYED", "PASS", "COMMIT", "RAN", "RECORD", "FINISH"),
    ]
    assert sessions(told) == [["INIT", "RATIFY", "RATIFY"]] * 3
    network = trainer.lan.network
    assert network.edges == {("Solver", "Poet")}
    assert [one.external for one in network.handled] == ["x"]
    assert network.agent("Poet").examples[0].result == "Poet(Solver(x))"
    assert [change.about for change in trainer.lan.history.changes] == [
        "begin: translate",
        "ADD_AGENT",
        "handled 'x'",
    ]
    assert trainer.outcomes[0].handled and trainer.outcomes[0].iterations == 1


def test_a_new_agent_is_kept_off_on_earlier_inputs() -> None:
    model = scripted(GAP, NOBODY, POET)
    trainer, _told = trained(model, Example("a", "Solver(a)"), FIRST)
    poet = trainer.lan.network.agent("Poet")
    assert poet.control.enabled
    assert [(one.received.external, one.active) for one in poet.control.examples] == [
        ("a", False),
        ("x", True),
    ]
    assert [one.active for one in trainer.lan.network.handled] == [{"Solver"}, {"Solver", "Poet"}]


@pytest.mark.parametrize(
    ("reason", "weakness", "given", "check"),
    [
        (
            {**poor("Solver"), "reason_type": "unexpected_execution_of_agent"},
            None,
            {"knowledge": "keep off"},
            lambda net: net.agent("Solver").control.knowledge == ("keep off",),
        ),
        (
            poor("Solver"),
            "not_activated",
            {"knowledge": "go on"},
            lambda net: net.agent("Solver").control.knowledge == ("go on",),
        ),
        (
            poor("Solver"),
            "lack_of_knowledge",
            {"knowledge": "know"},
            lambda net: net.agent("Solver").knowledge == ("know",),
        ),
        (
            poor("Solver"),
            "need_inputs",
            {"from": [], "new_agents": [new_agent("Parser", **{"from": []})]},
            lambda net: net.edges == {("Parser", "Solver")},
        ),
        (
            poor("Solver"),
            "need_finer_structure",
            {"kind": "sequential", "agents": [new_agent("One"), new_agent("Two")]},
            lambda net: net.names == ("One", "Two") and net.edges == {("One", "Two")},
        ),
        (
            poor("Solver"),
            "need_finer_structure",
            {"kind": "parallel", "agents": [new_agent("One"), new_agent("Two")]},
            lambda net: net.names == ("One", "Two") and not net.edges,
        ),
    ],
)
def test_each_cause_has_its_strategy(
    reason: dict[str, Any],
    weakness: str | None,
    given: dict[str, Any],
    check: Callable[[Network], bool],
) -> None:
    steps = [GAP, reason, *([weak(weakness)] if weakness else []), parameters(**given)]
    trainer, _told = trained(scripted(*steps), Example("x", "never"), limits=TrainingLimits(1, 0))
    assert check(trainer.lan.network)
    assert not trainer.outcomes[0].handled


def test_a_split_in_parallel_gives_each_earlier_input_to_one_part() -> None:
    split = parameters(kind="parallel", agents=[new_agent("One"), new_agent("Two")])
    steps = [GAP, poor("Solver"), weak("need_finer_structure"), split, {"agent": "Two"}]
    trainer, told = trained(
        scripted(*steps),
        Example("a", "Solver(a)"),
        Example("x", "never"),
        limits=TrainingLimits(1, 0),
    )
    network = trainer.lan.network
    assert "COMMIT" in labels(told)
    assert dict(network.handled[0].results) == {"One": None, "Two": "Solver(a)"}
    assert [one.control.examples[0].active for one in network.agents] == [False, True]
    assert network.agent("Two").examples[0].result == "Solver(a)"


def test_a_split_in_sequence_runs_earlier_inputs_and_keeps_the_result() -> None:
    split = parameters(kind="sequential", agents=[new_agent("One"), new_agent("Two")])
    steps = [GAP, poor("Solver"), weak("need_finer_structure"), split]
    trainer, told = trained(
        scripted(*steps),
        Example("a", "Solver(a)"),
        Example("x", "never"),
        limits=TrainingLimits(1, 0),
    )
    assert "COMMIT" in labels(told)
    results = dict(trainer.lan.network.handled[0].results)
    assert results == {"One": "One(a)", "Two": "Solver(a)"}
    assert trainer.lan.network.agent("Two").examples[0].received.pieces[0].text == "One(a)"


def test_a_cycle_is_refused_the_reason_is_told_and_retries_are_bounded() -> None:
    start = Network(
        "t", (LanAgent("A", "a", "t"), LanAgent("B", "b", "t")), frozenset({("A", "B")})
    )
    loop = parameters(**{"from": ["B"], "new_agents": []})
    model = scripted(GAP, poor("A"), weak("need_inputs"), loop, loop, loop)
    trainer, told = trained(model, Example("x", "never"), start=start, limits=TrainingLimits(1, 2))
    assert trainer.lan.network == start
    assert labels(told).count("REPEAT") == 2
    assert "cycle: A → B → A" in trainer.outcomes[0].why
    assert "cycle: A" in model.requests[-1].turns[0].text


def test_a_regression_is_not_committed_unattended() -> None:
    know = parameters(knowledge="k")
    steps = [GAP, poor("Solver"), weak("lack_of_knowledge"), know, know]
    examples = Example("a", "a"), Example("x", "kx")
    trainer, told = trained(scripted(*steps, say=forgets), *examples, limits=TrainingLimits(1, 1))
    assert labels(told)[-6:] == ["APPLY", "TRY", "REPLAYED", "STOP", "GIVE_UP", "FINISH"]
    assert "earlier examples would no longer be right: 'a'" in trainer.outcomes[1].why
    assert trainer.lan.network.agent("Solver").knowledge == ()
    for verdict, knows in ((RegressionChoice.ACCEPT, ("k",)), (RegressionChoice.TAKE_OVER, ())):
        developer = Watching(weigh=[RegressionChoice.RETRY, verdict])
        trainer, told = trained(
            scripted(*steps, say=forgets),
            *examples,
            developer=developer,
            limits=TrainingLimits(1, 1),
        )
        assert trainer.lan.network.agent("Solver").knowledge == knows
        assert labels(told).count("SHOW") == 2


def hint(text: str, result: Any = None) -> Act:
    return Act(DeveloperChoice.RETRY, result, text)


def test_a_hint_is_answered_by_a_revision_and_confirming_ratifies() -> None:
    developer = Watching(hint("think of metre"))
    other = {"rationale": "metre", "gap": "no metre"}
    model = scripted(GAP, other, NOBODY, POET)
    _trainer, told = trained(model, FIRST, developer=developer)
    assert sessions(told)[0] == ["INIT", "REFUTE", "REVISE", "RATIFY", "RATIFY"]
    assert [view.proposal for view in developer.views[:2]] == [
        {"gap": "it does not rhyme"},
        {"gap": "no metre"},
    ]
    asked, again = (one.turns[0] for one in model.requests if one.purpose == "gap")
    assert "think of metre" in again.text
    assert again.text.startswith(asked.text)
    assert asked.stable == again.stable == len(asked.text)  # a prompt cache has it by then
    alone = scripted(GAP, NOBODY, POET)
    trained(alone, FIRST)  # unattended, no step is asked again
    assert not any(one.turns[0].stable for one in alone.requests if one.purpose == "gap")


def test_holes_are_filled_in_and_what_was_written_around_them_stays() -> None:
    developer = Watching(Act(DeveloperChoice.CONFIRM, {"gap": f"{HOLE} no metre"}))
    wrong, right = {**GAP, "gap": "else"}, {**GAP, "gap": "really no metre"}
    model = scripted(GAP, wrong, right, NOBODY, POET)
    _trainer, told = trained(model, FIRST, developer=developer)
    assert sessions(told)[0] == ["INIT", "REFUTE", "REVISE", "RATIFY", "RATIFY"]
    assert developer.views[1].proposal == {"gap": "really no metre"}
    assert "does not keep what the developer has written" in model.requests[3].turns[0].text


def test_confirming_an_edit_is_a_refutation_then_a_revision_and_a_ratification() -> None:
    developer = Watching(Act(DeveloperChoice.CONFIRM, {"gap": "mine"}))
    model = scripted(GAP, NOBODY, POET)
    _trainer, told = trained(model, FIRST, developer=developer)
    assert sessions(told)[0] == ["INIT", "REFUTE", "REVISE", "RATIFY", "RATIFY"]
    assert len(developer.views) == 3  # the edited step is seen once
    first = next(one for one in told if isinstance(one, StepEnded))
    assert (first.value, first.rationale) == ({"gap": "mine"}, AS_WRITTEN)
    assert model.asked["gap"] == 1


def test_an_edit_that_makes_a_cycle_is_refuted_with_the_cycle() -> None:
    edit = {"parameters": {"agent": new_agent("Poet"), "from": ["Solver"], "to": ["Solver"]}}
    developer = Watching(
        Act(DeveloperChoice.CONFIRM),
        Act(DeveloperChoice.CONFIRM),
        Act(DeveloperChoice.CONFIRM, edit),
        Act(DeveloperChoice.CONFIRM),
    )
    trainer, told = trained(scripted(GAP, NOBODY, POET), FIRST, developer=developer)
    assert sessions(told)[2] == ["INIT", "REFUTE", "REFUTE", "RATIFY", "RATIFY"]
    refused = developer.views[3]
    assert "would have a cycle" in refused.refused
    assert (refused.version, refused.proposal) == (edit, {"parameters": POET["parameters"]})
    assert refused.rationale == POET["rationale"]
    assert trainer.outcomes[0].handled


def test_rejecting_hands_the_pipeline_over_and_it_goes_on_after_manual_edits() -> None:
    developer = Watching(
        Act(DeveloperChoice.REJECT), edit=(Edit("Solver", AgentField.NAME, "Mine"),)
    )
    trainer, told = trained(scripted(GAP), Example("x", "Mine(x)"), developer=developer)
    assert sessions(told) == [["INIT", "REJECT"]]
    assert labels(told)[-5:] == ["ASK", "RESUME", "RAN", "RECORD", "FINISH"]
    assert trainer.lan.network.names == ("Mine",) and trainer.outcomes[0].handled


def test_reject_waits_for_k() -> None:
    from pxp_fsm.protocol.rules import Interact

    developer = Watching(Act(DeveloperChoice.REJECT), hint("no"), Act(DeveloperChoice.REJECT))
    lan = Lan.new("translate")
    supervision = Supervision(Interact(n=10, k=2))
    told: list[Any] = []
    trainer = Trainer(
        lan,
        scripted(GAP, GAP),
        Same(),
        developer,
        supervision=supervision,
        on_event=told.append,
    )
    asyncio.run(trainer.train([FIRST]))
    assert sessions(told) == [["INIT", "REFUTE", "REFUTE", "REJECT"]]
    assert "after message 2 only" in developer.views[1].refused


def test_a_malformed_result_of_a_step_is_an_error_and_never_a_result() -> None:
    bad = {**NOBODY, "reason_type": "poor_performance_of_agent", "agent_name": "Nobody"}
    model = scripted(GAP, bad, bad, bad)
    trainer, told = trained(model, FIRST)
    assert labels(told)[-3:] == ["FAILED", "GIVE_UP", "FINISH"]
    assert "there is no agent 'Nobody'" in trainer.outcomes[0].why
    assert trainer.lan.version == 1


class Echo:
    """Agents that put out the network's input, whatever the examples; steps by another model."""

    name = "echo"
    capabilities = frozenset(Capability)

    def __init__(self, steps: Speaking) -> None:
        self.steps = steps

    async def reply(self, request: ModelRequest) -> Reply:
        if request.purpose not in ("control", "execution"):
            return await self.steps.reply(request)
        said = re.findall(r'"input": ("[^"]*"), "received"', request.turns[0].text)[-1]
        key = "active" if request.purpose == "control" else "result"
        value = "true" if key == "active" else said
        return Reply(f'{{"thoughts": "", "{key}": {value}}}')


def test_replaying_asks_only_what_changed() -> None:
    """Forty examples and ten agents in a row; an update touches one of them."""
    agents = tuple(LanAgent(f"A{i}", "do", "text", Control(True)) for i in range(10))
    edges = frozenset((f"A{i}", f"A{i + 1}") for i in range(9))

    know = parameters(knowledge="k")
    model = Echo(scripted(GAP, poor("A4"), weak("lack_of_knowledge"), know))
    lan = Lan(begun_as(Network("t", agents, edges)))
    trainer = Trainer(lan, model, Same(), limits=TrainingLimits(1, 0))
    asyncio.run(trainer.train([Example(str(i), str(i)) for i in range(40)]))
    assert trainer.calls == 40 * 20
    again = Trainer(lan, model, Same(), limits=TrainingLimits(1, 0))  # as after reading the file
    outcome = asyncio.run(again.handle(Example("x", "never")))
    assert not outcome.handled and lan.network.agent("A4").knowledge == ("k",)
    assert again.calls == 20 + 40 + 1  # the run, the agent that changed, the run again


def test_schema_is_asked_for_only_of_models_that_take_one() -> None:
    model = scripted(GAP, NOBODY, POET)
    plain = scripted(GAP, NOBODY, POET)
    plain.capabilities = frozenset()
    trained(model, FIRST)
    trained(plain, FIRST)
    assert all(request.schema for request in model.requests)
    assert Capability.SCHEMA not in plain.capabilities
    assert not any(request.schema for request in plain.requests)


def test_connecting_by_hand_while_nothing_is_pending_is_just_an_edit() -> None:
    start = Network("t", (LanAgent("A", "a", "t"), LanAgent("B", "b", "t")))
    lan = Lan(begun_as(start))
    lan.edit(Connect("A", "B"))
    assert lan.network.edges == {("A", "B")} and lan.version == 2
