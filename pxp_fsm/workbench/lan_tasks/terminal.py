"""A developer at the terminal: the same interface as every other developer of an update."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backends.people.prompts import say
from backends.people.reviewing import Reviewed, Reviewer
from pxp_fsm.lan.developer import Act, Choice, Onward, RegressionChoice, StepView
from pxp_fsm.lan.lan import Lan
from pxp_fsm.lan.network import Network
from pxp_fsm.lan.replaying import Regression
from pxp_fsm.lan.running import Run
from pxp_fsm.lan.simulated import Satisfied
from pxp_fsm.lan.steps import UpdateStep, form_of
from pxp_fsm.relations import digest
from pxp_fsm.workbench.lan_tasks.editing import edit_network

_STEPS = {
    UpdateStep.GAP: "what is wrong with the output",
    UpdateStep.REASON: "why it is",
    UpdateStep.WEAKNESS: "why the agent does poorly",
    UpdateStep.PARAMETERS: "the parameters of the strategy",
}


class TerminalDeveloper:
    """Supervises an update at the terminal; what is typed and not sent is kept in `drafts`.

    Without `will_do` they are asked whether each output will do, else it is decided for them.
    """

    name = "person at the terminal"

    def __init__(self, drafts: Path, will_do: Satisfied | None = None) -> None:
        self._reviewer = Reviewer(drafts)
        self._will_do = will_do

    async def satisfied(self, run: Run, truth: str, lan: Lan) -> bool:
        say("")
        for line in _told(run, truth):
            say(line)
        for name, turn in run.turns.items():
            shown = turn.result if turn.result is not None else f"not active ({turn.guard})"
            say(f"   {name}: {shown}")
        if self._will_do is not None:
            met = await self._will_do(run, truth)
            say("The output will do." if met else "The output will not do.")
            return met
        words = ("yes", "no", "network")
        said = "Will it do? yes, no or network: "
        while (word := await self._reviewer.ask(said, words)) == "network":
            await edit_network(self._reviewer, lan)
        return word == "yes"

    async def review(self, view: StepView) -> Act:
        title = f"Step {view.step.number}: {_STEPS[view.step]}"
        if view.strategy is not None:
            title = f"{title} {view.strategy}"
        sent = await self._reviewer.review(
            Reviewed(
                title,
                view.proposal,
                view.rationale,
                digest(json.dumps([view.run.external, view.step, view.proposal])),
                tuple(_told(view.run, view.truth)),
                dict(_closed(view)),
                view.may_reject,
                view.refused,
            ),
            {"network": partial(edit_network, self._reviewer, view.lan)},
        )
        result = None if sent.value == view.proposal else sent.value
        return Act(Choice(sent.choice), result, sent.hint, sent.keys)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        say("With this update earlier examples would no longer be right:")
        for one in regressions:
            say("   input:  ", one.handled.external)
            say("   was:    ", one.handled.output)
            say("   would be: ", one.output if one.output is not None else one.why)
        words = {
            "accept": RegressionChoice.ACCEPT,
            "retry": RegressionChoice.RETRY,
            "take over": RegressionChoice.TAKE_OVER,
        }
        return words[await self._reviewer.ask(f"{', '.join(words)}? ", tuple(words))]

    async def handed(self, why: str, lan: Lan) -> Onward:
        say("It is yours now: ", why)
        words = ("resume", "skip", "network")
        said = "resume (run it again), skip (this example) or network: "
        while (word := await self._reviewer.ask(said, words)) == "network":
            await edit_network(self._reviewer, lan)
        return Onward.RESUME if word == "resume" else Onward.SKIP


def _told(run: Run, truth: str) -> Iterator[str]:
    yield f"input:  {run.external}"
    yield f"output: {run.output}"
    yield f"wanted: {truth}"


def _closed(view: StepView) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fields of a step's result that have a closed list of values."""
    properties = form_of(view.step, view.strategy)["properties"]
    if isinstance(properties, dict):
        for name, field in properties.items():
            if "enum" in field:
                yield name, tuple(field["enum"])
