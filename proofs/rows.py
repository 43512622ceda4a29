"""What sessions make of their tables: which rows they take, and whether somebody can speak."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.explore import Space, explore
from proofs.model import Step
from proofs.sessions import AGENTS, SessionModel, State, speaker_of, tag_of
from proofs.systems import Composition, system_of
from proofs.verdicts import Status, Verdict
from pxp_fsm.automaton import Kind, Transition, happening
from pxp_fsm.errors import NotEnabled
from pxp_fsm.session import CLOSE


def every_row_taken(model: SessionModel, space: Space[State]) -> Verdict:
    """Each row of the tables is taken in some session, by the one agent or the other."""
    taken: set[Transition] = set()
    for state, steps in space.steps.items():
        for step in steps:
            taken.update(_rows(model, state, step))
    rows = dict.fromkeys(row for table in model.both for row in table.transitions)
    never = [f"{row.source} → {row.target} {row.action}" for row in rows if row not in taken]
    if never:
        return Verdict(Status.FAILS, f"never taken: {', '.join(never)}")
    return Verdict(Status.HOLDS)


def _rows(model: SessionModel, state: State, step: Step[State]) -> Iterator[Transition]:
    """The rows that the two agents take in a step: for the message, and for a close after it."""
    if step.target.over == "stuck":
        return
    speaker, tag = speaker_of(step), tag_of(step)
    sent = model.both[speaker].sends(state.at[speaker], tag)
    heard = model.both[1 - speaker].receives(state.at[1 - speaker], tag)
    for row, table in ((sent, model.both[speaker]), (heard, model.both[1 - speaker])):
        if row is None:
            continue
        yield row
        if step.target.over not in ("", "term"):
            try:
                yield table.step(row.target, happening(CLOSE))
            except NotEnabled:
                continue


def somebody_can_speak(model: SessionModel, _space: Space[State]) -> Verdict:
    """However guards fall and whenever a session is closed: before the end an agent can send."""
    composition = Composition(system_of(tuple(zip(AGENTS, model.both, strict=True))))

    def nobody_sends(state: int) -> bool:
        rows = (
            row
            for place, field in enumerate(composition.fields)
            for row in composition.leaving(place, field.of(state))
        )
        return not composition.ended(state) and all(row.kind is not Kind.SEND for row in rows)

    found = explore(composition).find(nobody_sends)
    if found is None:
        return Verdict(Status.HOLDS)
    return Verdict(Status.FAILS, f"nobody can send after {', '.join(found.labels)}")
