"""The audit of a system's session: what its tables, its channel and its schemas do not allow."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.audit.findings import (
    AuditedSession,
    AuditFinding,
    FindingKind,
    FollowedSession,
    Possible,
)
from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, Send
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.live import LiveSystem


@dataclass(frozen=True)
class SystemTables:
    """Sessions of `system`, by the tables of its members."""

    system: System
    judged = False

    def follow(self, session: AuditedSession) -> FollowedSession:
        findings = tuple(self._findings(session))
        possible = min([Possible.EQUIVALENCE, *(finding.kind.leaves for finding in findings)])
        return FollowedSession(possible, findings, None)

    def _findings(self, session: AuditedSession) -> Iterator[AuditFinding]:
        """What members, channel and record that work as they should never leave in a session.

        It is replayed through the tables, up to the first action that cannot happen there.
        """
        live = LiveSystem(self.system)
        for event in session.events or ():
            possible = tuple(map(str, live.possible()))
            try:
                live.check(event.action)
            except Refused:
                detail = f"{event.action} cannot happen there"
                yield AuditFinding(FindingKind.MESSAGE, event.number, detail, possible=possible)
                return
            yield from _guard(live, event)
            unfit = [*_payload(live, event)]
            yield from unfit
            try:
                live.move(event.action, event.message)
            except Refused:
                action = event.action
                if unfit or (isinstance(action, Deliver) and event.message in live.offered(action)):
                    return  # rules read what it does not carry, as was found when it was sent
                detail = f"{event.action} delivers a message that was not the next"
                yield AuditFinding(FindingKind.MESSAGE, event.number, detail, possible=possible)
                return
        yield from _ending(live, session.ending)


def _guard(live: LiveSystem, event: Event) -> Iterator[AuditFinding]:
    """Where the guard that is stored, or that was judged to be true, is not that of the row."""
    if not isinstance(event.action, Exchange | Send | Choose | Decide):
        return
    due = live.row_of(event.action).guard or ""
    if event.guard != due:
        detail = (
            f"{event.action} follows from {due or 'no guard'}, not from {event.guard or 'none'}"
        )
        yield AuditFinding(FindingKind.TAG, event.number, detail)
    true = [judged.relation for judged in event.judgements if judged.outcome is Outcome.YES]
    if event.judgements and true != [due]:
        detail = (
            f"{', '.join(true) or 'no guard'} was judged to be true, and {event.action} follows"
        )
        yield AuditFinding(FindingKind.TAG, event.number, f"{detail} from {due or 'no guard'}")


def _payload(live: LiveSystem, event: Event) -> Iterator[AuditFinding]:
    if event.message is None or not isinstance(event.action, Exchange | Send | Choose):
        return
    place, row = live.system.places[event.message.sender], live.row_of(event.action)
    for concerned_place in (place, *live.system.partners(place, row)):
        member = live.system.members[concerned_place]
        concerned = concerned_place == place or event.message.receiver in ("", member.name)
        if concerned and payload_problem(member.automaton, row.label, event.message.json):
            detail = f"the payload of {row.label} does not fit the schema of {member.name}'s table"
            yield AuditFinding(FindingKind.PAYLOAD, event.number, detail)


def _ending(live: LiveSystem, ending: str | None) -> Iterator[AuditFinding]:
    possible = live.possible()
    wrong = {
        Ending.FINISHED: "" if live.ended else "not every member is in an end state",
        Ending.DEADLOCK: f"{possible[0]} can happen" if possible else "",
        Ending.IDLE: "" if possible else "nothing can happen",
    }
    for named, why in wrong.items():
        if ending == named and why:
            yield AuditFinding(FindingKind.ENDING, None, f"it is recorded as {ending}, but {why}")
