"""What a developer did to the steps of an update, from the sessions as they are stored.

Source: arXiv 2309.15943, Table 6: "modify step k", how often and with which UED.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pxp_fsm.lan.measures import Acted, Action
from pxp_fsm.lan.steps import UpdateStep
from pxp_fsm.lan.supervision import DEVELOPER, EFFORT
from pxp_fsm.messages import Instance, Tag
from pxp_fsm.session import Entry

STEPS = {
    UpdateStep.GAP: Action.STEP_1,
    UpdateStep.REASON: Action.STEP_2,
    UpdateStep.WEAKNESS: Action.STEP_3,
    UpdateStep.PARAMETERS: Action.STEP_4,
}


@dataclass(frozen=True, slots=True)
class Effort:
    """What a developer's message took: the UED as it was counted, and the seconds it took them."""

    ued: int = 0
    seconds: float = 0.0


def step_of(instance: Instance) -> UpdateStep:
    """The step that a session is about."""
    return UpdateStep(instance.key.partition("-")[0])


def effort_of(entry: Entry) -> Effort:
    """What a developer's message took; nothing where none is noted."""
    for judgement in entry.judgements:
        if judgement.relation == EFFORT:
            return Effort(int(json.loads(judgement.detail)["distance"]), judgement.seconds)
    return Effort()


def in_steps(sessions: Iterable[tuple[Instance, Iterable[Entry]]]) -> Iterator[Acted]:
    """The developer's actions in stored sessions: steps modified, confirmed, handed back.

    A step is modified where its result is edited or hinted at. A message that took nothing is
    nobody's action: it is sent because an earlier one was agreed to.
    """
    for instance, entries in sessions:
        step = step_of(instance)
        for entry in entries:
            ued = effort_of(entry).ued
            if entry.message.sender == DEVELOPER and ued:
                yield Acted(_action(step, entry.message.tag), instance.key, ued)


def _action(step: UpdateStep, tag: str) -> Action:
    if tag == Tag.RATIFY:
        return Action.CONFIRM
    return Action.TAKE_OVER if tag == Tag.REJECT else STEPS[step]
