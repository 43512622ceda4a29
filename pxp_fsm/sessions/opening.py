"""Opening a session: of INTERACT or PXP between two agents, or of a system between its members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, overload

from pxp_fsm import defaults
from pxp_fsm.automata.system import System
from pxp_fsm.protocol.interfaces import Blackboard
from pxp_fsm.protocol.messages import Episode, Instance, Message
from pxp_fsm.protocol.rules import Rules
from pxp_fsm.sessions import session
from pxp_fsm.sessions.actors import Actor, MemberFunction
from pxp_fsm.sessions.agent import Members
from pxp_fsm.sessions.occurrences import Faults, Occurrence
from pxp_fsm.sessions.parameters import Followed
from pxp_fsm.sessions.pending import EventSource
from pxp_fsm.sessions.system_session import ActionBoard, SystemSession


@overload
def Session(
    subject: Rules,
    members: Members,
    *,
    instance: Instance | str,
    name: str = defaults.SESSION,
    blackboard: Blackboard | None = None,
    capacity: int = 0,
    limit: int = defaults.LIMIT,
    on_message: Callable[[Message], None] | None = None,
    earlier: Mapping[str, tuple[Episode, ...]] = MappingProxyType({}),
    record_faults: bool = False,
    update_context: session.ContextFunction | None = None,
) -> session.Session: ...
@overload
def Session(
    subject: System,
    members: Mapping[str, Actor | MemberFunction],
    *,
    name: str = defaults.SESSION,
    instance: Instance | str = "",
    blackboard: ActionBoard | None = None,
    seed: int = 0,
    faults: Faults | None = None,
    events: Mapping[str, EventSource] = MappingProxyType({}),
    follow: Followed = (),
    limit: int = defaults.LIMIT,
    on_action: Callable[[Occurrence], None] | None = None,
    record_faults: bool = False,
) -> SystemSession: ...
def Session(  # noqa: N802
    subject: Any, members: Any, **options: Any
) -> session.Session | SystemSession:
    """A session of two agents by `Interact` or `Pxp`, or of a `System` between its members.

    The parameters are those of `sessions.session.Session` and of
    `sessions.system_session.SystemSession`. Either is carried to its end by `await session.run()`,
    or by `run_sync()`, and says then why it is over.

    >>> import pxp_fsm as pxp
    >>> def whale(question: pxp.Question) -> pxp.Answer:
    ...     return pxp.Answer("mammal", "It breathes air.")
    >>> agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.normalised_text)
    >>> session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="a whale")
    >>> print(session.run_sync().ending)
    ratified
    >>> asking = pxp.build_automaton(
    ...     "asking",
    ...     [
    ...         {"from": "IDLE", "to": "ASKED", "send": "ASK"},
    ...         {"from": "ASKED", "to": "DONE", "receive": "GRANT"},
    ...     ],
    ...     final=["DONE"],
    ...     peer="granting",
    ... )
    >>> granting = pxp.build_automaton(
    ...     "granting",
    ...     [
    ...         {"from": "IDLE", "to": "TOLD", "receive": "ASK"},
    ...         {"from": "TOLD", "to": "DONE", "send": "GRANT"},
    ...     ],
    ...     final=["DONE"],
    ...     peer="asking",
    ... )
    >>> system = pxp.System.load(asking, granting, channel="fifo:1")
    >>> members = {
    ...     "asking": lambda turn: pxp.Intent("ASK", {"seats": 2}),
    ...     "granting": lambda turn: pxp.Intent("GRANT", turn.value["seats"] < 4),
    ... }
    >>> session = pxp.Session(system, members).run_sync()
    >>> session.ending.value, [str(occurrence.action) for occurrence in session.actions[:2]]
    ('finished', ['asking>granting +ASK', 'asking>granting -ASK'])
    """
    if isinstance(subject, System):
        return SystemSession(subject, members, **options)
    return session.Session(subject, members, **options)
