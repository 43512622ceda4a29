"""What a session of a system is given: members, sources of events, a trace to follow; checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from pxp_fsm.automata.actions import SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.errors import Refused, UsageError, quoted
from pxp_fsm.sessions.actors import Actor, MemberFunction, as_actor
from pxp_fsm.sessions.occurrences import occurrences_of
from pxp_fsm.sessions.pending import EventSource, check_source


@runtime_checkable
class Steps(Protocol):
    """A trace, as a check gives it."""

    @property
    def steps(self) -> Sequence[Hashable]:
        """Actions, or steps that have one each."""


Followed = Iterable[Hashable] | Steps
"""A trace that is to be followed: a result's, or its actions."""


def actors(
    system: System, members: Mapping[str, Actor | MemberFunction], *, some: bool
) -> dict[str, Actor]:
    """The actor of each member, all of them or `some`; `UsageError` where they do not fit."""
    names = ", ".join(system.places)
    if not isinstance(members, Mapping):
        raise UsageError(f"a session has members by their names: {names}")
    unknown = [name for name in members if name not in system.places]
    if unknown:
        raise UsageError(f"the system has no member {unknown[0]!r}; its members are {names}")
    missing = [name for name in system.places if name not in members]
    if missing and not some:
        raise UsageError(
            f"nobody answers for {', '.join(missing)}; give a function of a Turn, or a pxp.Actor, "
            f"for each of {names}"
        )
    return {name: as_actor(name, members[name]) for name in system.places if name in members}


def checked_events(system: System, events: Mapping[str, EventSource]) -> Mapping[str, EventSource]:
    """`events`, each of which some member has; `UsageError` for what raises none."""
    for label, source in events.items():
        problem = system.event_problem(label)
        if problem is not None:
            raise UsageError(problem)
        check_source(label, source)
    return events


def checked_trace(system: System, follow: Followed) -> tuple[SystemAction, ...]:
    """The actions of a trace that the system can take from its start, or `UsageError`."""
    if follow == ():
        return ()
    steps = follow.steps if isinstance(follow, Steps) else follow
    found = list[SystemAction]()
    for number, step in enumerate(steps, 1):
        action = getattr(step, "action", step)
        if not isinstance(action, SystemAction):
            raise UsageError(f"step {number} of the trace is {quoted(action)}, no system's action")
        found.append(action)
    try:
        occurrences_of(system, found)
    except Refused as error:
        raise UsageError(f"the trace is none of this system: {error}") from error
    return tuple(found)
