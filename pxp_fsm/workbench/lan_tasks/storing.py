"""The sessions of an update on a blackboard, beside those of all other tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from pxp_fsm import __version__
from pxp_fsm.agent import Agent
from pxp_fsm.interfaces import Blackboard
from pxp_fsm.messages import Instance
from pxp_fsm.rules import Interact
from pxp_fsm.session import Entry

TASK = "lan"
"""The task under which runs of this kind are stored."""


@dataclass
class Steps:
    """Where the sessions of one training are stored: a run on `board`; fills `Board`."""

    board: SqlBlackboard
    run: str
    _begun: int = field(default=0, init=False)

    def begin(
        self, name: str, instance: Instance, agents: tuple[Agent, Agent], rules: Interact
    ) -> Blackboard:
        self._begun += 1
        self.board.start_session(
            SessionRecord(
                session=name,
                run=self.run,
                repetition=1,
                position=self._begun,
                instance=instance,
                protocol=rules.name,
                n=rules.n,
                k=rules.k,
                automaton=rules.automaton.name,
                fingerprint=rules.automaton.fingerprint,
                memo=all(agent.memo for agent in agents),
                assumptions=(),  # the developer's guards are what they do, and follow from nothing
                agents=tuple((agent.name, agent.describe()) for agent in agents),
            )
        )
        return self.board


def begun(board: SqlBlackboard, run: str, plan: dict[str, object], seed: int = 0) -> Steps:
    """A new run of the name `run` for the sessions of one training; `plan` says what it is of.

    Names of its sessions begin with the run's (`Trainer(name=run)`). Raises `BlackboardError`.
    """
    told = json.dumps(plan, sort_keys=True, ensure_ascii=False)
    board.start_run(RunRecord(run, TASK, told, seed, __version__, ""))
    return Steps(board, run)


def free_name(board: SqlBlackboard) -> str:
    """A name with which no run on `board` begins."""
    taken = [record.run for record in board.runs()]
    number = 1
    while any(run.startswith(f"{TASK}-{number}-") for run in taken):
        number += 1
    return f"{TASK}-{number}"


def stored(board: SqlBlackboard, run: str) -> Iterator[tuple[Instance, Sequence[Entry]]]:
    """The sessions of a run in their order, each with what it is about."""
    for record in board.sessions(run):
        yield record.instance, board.entries(record.session)
