"""The audit of a system's session: what its tables, its channel and its schemas do not allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proofs.audit.findings import (
    AuditedSession,
    AuditFinding,
    FindingKind,
    FollowedSession,
    Possible,
)
from pxp_fsm.automata.actions import Choose, Decide, Exchange, Send
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused
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
        possible = min([Possible.EQUIVALENCE, *(one.kind.leaves for one in findings)])
        return FollowedSession(possible, findings, None)

    def _findings(self, session: AuditedSession) -> Iterator[AuditFinding]:
        """What members, channel and record that work as they should never leave in a session.

        It is replayed through the tables, up to the first action that cannot happen there.
        """
        live = LiveSystem(self.system)
        for one in session.events or ():
            possible = tuple(map(str, live.possible()))
            try:
                live.check(one.action)
            except Refused:
                said = f"{one.action} cannot happen there"
                yield AuditFinding(FindingKind.MESSAGE, one.number, said, possible=possible)
                return
            yield from _guard(live, one)
            yield from _payload(live, one)
            try:
                live.move(one.action, one.message)
            except Refused:
                said = f"{one.action} delivers a message that was not the next"
                yield AuditFinding(FindingKind.MESSAGE, one.number, said, possible=possible)
                return
        yield from _ending(live, session.ending)


def _guard(live: LiveSystem, one: Event) -> Iterator[AuditFinding]:
    """Where the guard that is stored, or that was judged to be true, is not that of the row."""
    if not isinstance(one.action, Exchange | Send | Choose | Decide):
        return
    due = live.row_of(one.action).guard or ""
    if one.guard != due:
        said = f"{one.action} follows from {due or 'no guard'}, not from {one.guard or 'none'}"
        yield AuditFinding(FindingKind.TAG, one.number, said)
    true = [judged.relation for judged in one.judgements if judged.outcome is Outcome.YES]
    if one.judgements and true != [due]:
        said = f"{', '.join(true) or 'no guard'} was judged to be true, and {one.action} follows"
        yield AuditFinding(FindingKind.TAG, one.number, f"{said} from {due or 'no guard'}")


def _payload(live: LiveSystem, one: Event) -> Iterator[AuditFinding]:
    if one.message is None or not isinstance(one.action, Exchange | Send | Choose):
        return
    place, row = live.system.places[one.message.sender], live.row_of(one.action)
    for each in (place, *live.system.partners(place, row)):
        member = live.system.members[each]
        concerned = each == place or one.message.receiver in ("", member.name)
        if concerned and payload_problem(member.automaton, row.label, one.message.json):
            said = f"the payload of {row.label} does not fit the schema of {member.name}'s table"
            yield AuditFinding(FindingKind.PAYLOAD, one.number, said)


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
