"""Recorded sessions as drawings and with the tables that they followed."""

from __future__ import annotations

from collections.abc import Sequence

import pxp_fsm.diagrams
from backends.databases import FAULTS, RunRecord, SessionRecord, SqlBlackboard, StoredSession
from backends.databases.recordings import RecordedSession
from pxp_fsm.automata.tables import BUILTIN, builtin
from pxp_fsm.errors import NotThere, UsageError, did_you_mean, quoted
from pxp_fsm.protocol.decisions import concluded
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Members
from pxp_fsm.sessions.replay import trace


def chosen_runs(
    board: SqlBlackboard, names: Sequence[str], purpose: str = "to report"
) -> tuple[RunRecord, ...]:
    """The runs called `names`, each once, or all where none is named; `NotThere` if there is none.

    `purpose` is what they are wanted for, for the error.
    """
    known = {record.run: record for record in board.runs()}
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        which = ", ".join(map(quoted, unknown)) or purpose
        near = did_you_mean(unknown[0], known) if unknown else ""
        there = near or f"; there are: {', '.join(known) or 'none'}"
        raise NotThere(f"{board.shown} has no run {which}{there}")
    return tuple(known[name] for name in dict.fromkeys(names or known))


def check_table(record: SessionRecord | RecordedSession) -> None:
    """Raise `UsageError` where today's table of that name is not the one the session followed.

    Of a researcher's own table only the name is recorded: nothing can be compared.
    """
    if record.automaton not in BUILTIN:
        return
    today = builtin(record.automaton).fingerprint
    if record.fingerprint != today:
        raise UsageError(
            f"session {record.session} followed another table {record.automaton} (fingerprint "
            f"{record.fingerprint[:12]}, today's is {today[:12]}); use the version of the package "
            f"that recorded it, or start a new run"
        )


def check_agents(record: SessionRecord, members: Members) -> None:
    """Raise `UsageError` where others sat in a stored session than sit there now."""
    for (seat_name, agent), (name, description) in zip(members.items(), record.agents, strict=True):
        if (seat_name, agent.describe()) != (name, description):
            raise UsageError(
                f"in session {record.session} {name} was {quoted(description, 200)}, and would "
                f"now be {quoted(agent.describe(), 200)}: models, prompts or package have "
                f"changed; start a new run"
            )


def rules_of(record: SessionRecord | RecordedSession) -> Rules:
    """The rules that a recorded session followed; `UsageError` where its table is not here."""
    check_table(record)
    if record.automaton not in BUILTIN:
        raise UsageError(
            f"session {record.session} followed the table {quoted(record.automaton)}, which is not "
            f"here; only sessions of {', '.join(BUILTIN)} have rules that are known"
        )
    if record.protocol == "interact":
        return Interact(record.n or 1, record.k or 1)
    return Pxp(record.k, hang_up=concluded if record.automaton == "pxp_hang_up" else None)


def session_diagram(
    stored: StoredSession, agent: str | None = None
) -> pxp_fsm.diagrams.StateDiagram | pxp_fsm.diagrams.SequenceChart:
    """A session as a sequence chart, or the way that one `agent`'s automaton took."""
    record = stored.record
    if record.channel or len(record.agents) > 2:
        if agent is not None:
            message = f"{record.session} is a session of several; draw it with all members"
            raise UsageError(message, "agent")
        return stored.diagram()
    check_table(record)
    messages = [entry.carried for entry in stored.events]
    automaton = builtin(record.automaton)
    over = record.ending is not None and record.ending not in FAULTS
    paths = {name: trace(automaton, messages, name, over=over) for name, _ in record.agents}
    states = {name: path[-1].target if path else automaton.initial for name, path in paths.items()}
    if agent is None:
        return pxp_fsm.diagrams.sequence_chart(
            messages,
            title=f"Session {record.session}",
            note=f"{record.instance.key}; ended: {record.ending or 'not over'}",
            states=states,
        )
    if agent not in paths:
        raise UsageError(f"{record.session} has no agent {agent!r}; it has {', '.join(paths)}")
    return pxp_fsm.diagrams.state_diagram(automaton, marked=states[agent], path=paths[agent])
