"""What a blackboard keeps of runs and sessions, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.sessions.session import Entry

CONCLUDED = tuple(
    ending.value for ending in (Ending.RATIFIED, Ending.REJECTED, Ending.BOUND, Ending.TERM)
)
"""The protocol's own endings: such sessions are counted in Table 1."""

FAULTS = tuple(ending.value for ending in Ending if ending.value not in CONCLUDED)
"""All other endings; such sessions are counted apart."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: its task, its whole plan as JSON, and what it needs to be repeated.

    `version` is the package's; `data_fingerprint` is the SHA-256 of the instances that it is about.
    """

    run: str
    task: str
    plan: str
    seed: int
    version: str
    data_fingerprint: str
    created: str = ""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a list shows it: how many of its sessions were started, how many are over."""

    run: str
    task: str
    created: str
    sessions: int
    over: int


class SessionLine(NamedTuple):
    """A session as a list shows it; a tuple, for lists of a hundred thousand."""

    session: str
    run: str
    instance: str
    protocol: str
    n: int | None
    k: int | None
    messages: int
    ending: str | None
    cause: str | None


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session: its place in its run, its protocol, its agents, and how it ended, if it has.

    `agents` maps `m` and `h` (or other names) to what each is made of, the initiator first.
    `assumptions` are those on MATCH and AGREE under which it ran; `memo` tells whether both agents
    remembered their judgements.
    """

    session: str
    run: str
    repetition: int
    position: int
    instance: Instance
    protocol: str
    n: int | None
    k: int | None
    automaton: str
    fingerprint: str
    memo: bool
    assumptions: tuple[str, ...]
    agents: tuple[tuple[str, str], ...]
    ending: str | None = None
    cause: str | None = None
    messages: int = 0


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with everything that was stored of it, in order."""

    record: SessionRecord
    entries: tuple[Entry, ...]
