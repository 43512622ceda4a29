"""Forks: a stored session carried on from one of its messages, as a new session of a new run.

The stored session is not changed. The new one begins with copies of its messages, and the plan of
the new run says where they are from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.databases import (
    Origin,
    RunRecord,
    SqlBlackboard,
    StoredSession,
    origin_of,
)
from backends.databases.records import (
    FAULTS,
    check_same,
    own_run,
    session_record,
    stored_system,
)
from pxp_fsm import __version__
from pxp_fsm.defaults import OWN
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.drawings import rules_of
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session


def fork(board: SqlBlackboard, origin: str, members: Any, *, name: str, **options: Any) -> Session:
    """The session `name`, which is at message (or action) NUMBER of a stored SESSION, to be run on.

    `origin` is SESSION@NUMBER, `members` are who answers from there on, by their names; `options`
    are those of `pxp.Session`, and `subject`, the panel of a session of several. The run of `name`
    must be a new one. A fork that was stopped is
    called again with the same arguments, and goes on where it was.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> def doubter(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("fish", "It swims.")
    >>> def agent(answers):
    ...     return pxp.Agent(answers, match=pxp.exact, agree=pxp.exact)
    >>> with pxp.open_blackboard(":memory:") as board:
    ...     members = {"m": agent(whale), "h": agent(whale)}
    ...     stored = pxp.Session(
    ...         pxp.Interact(), members, instance="a whale", name="lab/1", blackboard=board
    ...     ).run_sync()
    ...     others = {"m": agent(whale), "h": agent(doubter)}
    ...     forked = pxp.experiments.fork(board, "lab/1@1", others, name="doubt/1").run_sync()
    >>> [message.tag for message in stored.history], [message.tag for message in forked.history][:2]
    (['INIT', 'RATIFY', 'RATIFY'], ['INIT', 'REFUTE'])

    Raises `NotThere` where there is no such session, `UsageError` where it has no such message, or
    ended with it, `members` are not those of the session, or the run of `name` is not new.
    """
    place = Origin.read(origin)
    stored = forkable(board, place)
    record, run = stored.record, own_run(name)
    common: dict[str, Any] = {"instance": record.instance, "name": name, "blackboard": board}
    if record.channel:
        system = stored_system(record.members, record.channel)
        session = Session(system, members, **common, **options)
    else:
        subject = options.pop("subject", None)
        if record.faults and subject is None:
            raise UsageError(
                f"session {record.session} is one of a panel ({record.faults}); give the panel: "
                f"subject=pxp.Panel(...)"
            )
        session = Session(subject or rules_of(record), members, **common, **options)
        names = " and ".join(agent for agent, _ in record.agents)
        if " and ".join(session.agents) != names:
            raise UsageError(f"a fork of {record.session} is told who answers for {names}")
    new = session_record(session, run)
    known = {run_record.run: run_record for run_record in board.runs()}
    if run not in known:
        plan = json.dumps(place.in_plan, sort_keys=True)
        board.start_run(RunRecord(run, OWN, plan, 0, __version__, "", subject=record.subject))
    elif origin_of(known[run].plan) != place:
        raise UsageError(
            f"{board.shown} has a run {quoted(run)} already; a fork is in a run of its own: give "
            f"another name, whose part before the / is new"
        )
    there = {line.session: line for line in board.sessions(run)}
    if name not in there:
        board.start_session(replace(new, subject=record.subject))
    else:
        check_same(there[name], new)
        if there[name].ending is not None:
            raise UsageError(f"session {name} has ended ({there[name].ending})")
    carry_over(board, place, session)
    return session


def forkable(board: SqlBlackboard, origin: Origin) -> StoredSession:
    """The stored session of `origin`.

    Raises `NotThere` where there is none, and `UsageError` where it cannot be carried on there.
    """
    stored = board.session(origin.session)
    record, many = stored.record, len(stored.events)
    noun = "action" if record.channel else "message"
    if record.session in {erased.session for erased in board.erasures(record.run)}:
        raise UsageError(f"session {record.session} was erased: it cannot be carried on")
    if origin.number > many:
        raise UsageError(
            f"session {record.session} has {many} {noun}{'' if many == 1 else 's'}, and no "
            f"{noun} {origin.number}"
        )
    if origin.number == many and record.ending is not None and record.ending not in FAULTS:
        raise UsageError(
            f"session {record.session} ended with {noun} {many} ({record.ending}); carry it on "
            f"from an earlier one"
        )
    return stored


def carry_over(board: SqlBlackboard, origin: Origin, session: Session) -> None:
    """Bring `session`, which is recorded on `board`, to its origin, or to where it is stored to be.

    What is missing of the messages up to `origin` is stored. Raises `UsageError` where what is
    stored of it is another beginning.
    """
    stored = forkable(board, origin)
    copied = copies(stored, origin, session.name)
    there = board.events(session.name)
    shared = min(len(there), len(copied))
    if _without_judgements(there[:shared]) != _without_judgements(copied[:shared]):
        raise UsageError(f"session {session.name} does not begin as the session that it carries on")
    for event in copied[len(there) :]:
        board.append(session.name, event)
    restore(board, session)


def restore(board: SqlBlackboard, session: Session) -> None:
    """Bring `session` to where it is stored to be."""
    session.replay(board.events(session.name), board.closing(session.name))


def copies(stored: StoredSession, origin: Origin, name: str) -> tuple[Event, ...]:
    """The events up to `origin`, as those of the session `name`."""
    return tuple(event.in_session(name) for event in stored.events[: origin.number])


def _without_judgements(events: Sequence[Event]) -> list[Event]:
    return [replace(event, judgements=()) for event in events]
