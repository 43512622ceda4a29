"""The audit of a system's recorded session: what its tables, channel and schemas do not allow."""

from __future__ import annotations

from collections.abc import Iterator

from backends.databases import StoredSession
from backends.databases.records import stored_system
from proofs.audit import Finding, Kind
from pxp_fsm.automata.actions import Choose, Decide, Exchange, Send
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import Refused
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.live import LiveSystem
from pxp_fsm.sessions.occurrences import Occurrence


def system_findings(stored: StoredSession) -> Iterator[Finding]:
    """What members, channel and record that work as they should never leave in a session.

    It is replayed through the tables that are stored with it, up to the first action that cannot
    happen there. Raises `TableError` or `UsageError` where those are no system.
    """
    live = LiveSystem(stored_system(stored.record.members, stored.record.channel))
    for one in stored.actions:
        possible = tuple(map(str, live.possible()))
        try:
            live.check(one.action)
        except Refused:
            said = f"{one.action} cannot happen there"
            yield Finding(Kind.MESSAGE, one.number, said, possible=possible)
            return
        yield from _guard(live, one)
        yield from _payload(live, one)
        try:
            live.move(one.action, one.letter)
        except Refused:
            said = f"{one.action} delivers a message that was not the next"
            yield Finding(Kind.MESSAGE, one.number, said, possible=possible)
            return
    yield from _ending(live, stored.record.ending)


def _guard(live: LiveSystem, one: Occurrence) -> Iterator[Finding]:
    """Where the guard that is stored, or that was judged to be true, is not that of the row."""
    if not isinstance(one.action, Exchange | Send | Choose | Decide):
        return
    due = live.row_of(one.action).guard or ""
    if one.guard != due:
        said = f"{one.action} follows from {due or 'no guard'}, not from {one.guard or 'none'}"
        yield Finding(Kind.TAG, one.number, said)
    true = [judged.relation for judged in one.judgements if judged.outcome is Outcome.YES]
    if one.judgements and true != [due]:
        said = f"{', '.join(true) or 'no guard'} was judged to be true, and {one.action} follows"
        yield Finding(Kind.TAG, one.number, f"{said} from {due or 'no guard'}")


def _payload(live: LiveSystem, one: Occurrence) -> Iterator[Finding]:
    if one.letter is None or not isinstance(one.action, Exchange | Send | Choose):
        return
    place, row = live.system.places[one.letter.sender], live.row_of(one.action)
    for each in (place, *live.system.partners(place, row)):
        member = live.system.members[each]
        concerned = each == place or one.letter.receiver in ("", member.name)
        if concerned and payload_problem(member.automaton, row.label, one.letter.text):
            said = f"the payload of {row.label} does not fit the schema of {member.name}'s table"
            yield Finding(Kind.PAYLOAD, one.number, said)


def _ending(live: LiveSystem, ending: str | None) -> Iterator[Finding]:
    possible = live.possible()
    wrong = {
        Ending.FINISHED: "" if live.ended else "not every member is in an end state",
        Ending.DEADLOCK: f"{possible[0]} can happen" if possible else "",
        Ending.IDLE: "" if possible else "nothing can happen",
    }
    for named, why in wrong.items():
        if ending == named and why:
            yield Finding(Kind.ENDING, None, f"it is recorded as {ending}, but {why}")
