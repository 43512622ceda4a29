"""Checks beside a page: in processes of their own, which are ended when nobody wants the answer.

A check cannot be interrupted in the middle of a compiled loop, and must not slow down the page; a
process can be ended at any moment, and its memory is given back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from typing import Any

from proofs.check import check
from proofs.claims.catalogue import name_of
from proofs.claims.checking import Bounds
from proofs.core.results import Result
from proofs.sessions.answers import Answers, answers_after
from proofs.sessions.model import AGENTS, SessionModel, action_of
from proofs.sessions.relational import Theory
from proofs.systems.paths import Choices, choices_of
from pxp_fsm.automata.actions import Exchange, Say
from pxp_fsm.errors import PXPError, Refused
from pxp_fsm.processes import SpawnedContext
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.web.subjects import SystemSubject
from pxp_fsm.web.verdicts import checked, standard_results
from pxp_fsm.web.views import ResultView, Views

MOST_SECONDS = 30.0
"""The seconds that are spent on a formula that is typed."""


SMALL = Bounds(n=5, k=1)
"""The bounds with which claims are checked while one waits."""


def claim_results(
    subject: SystemSubject, assumptions: frozenset[Assumption]
) -> Iterator[ResultView]:
    """The claims about sessions of the subject's protocol, where no more is assumed than that.

    What a certificate proves of the built-in table is said of all n and k.
    """
    system, table = subject.system(), subject.rules.automaton
    views = Views(system)
    rules: Rules = Interact(SMALL.n, SMALL.k, table)
    if subject.protocol == "pxp":
        rules = Pxp(table=table)
    for result in check(rules, relations=name_of(assumptions)):
        yield replace(views.result(result), choices=_choices(views, result))


def _choices(views: Views, result: Result) -> Choices | None:
    """The trace of a session, as one of its two tables."""
    if result.trace is None:
        return None
    names = tuple(views.composition.system.places)
    actions = []
    for step in result.trace.steps:
        action = action_of(step)
        if isinstance(action, Say):
            sender = AGENTS.index(action.agent)
            actions.append(Exchange(names[sender], names[1 - sender], action.tag))
    try:
        return choices_of(views.composition, actions)
    except Refused:
        return None


def answers(
    subject: SystemSubject, choices: Choices, assumptions: frozenset[Assumption]
) -> tuple[Answers, ...]:
    """What MATCH and AGREE may answer at the end of a trace of a protocol's session.

    Raises `Refused` where no session under `assumptions` begins so.
    """
    system = subject.system()
    model = SessionModel(subject.rules, Theory(assumptions), observes=False)
    says = [
        Say(AGENTS[system.places[action.sender]], action.tag)
        for action in Views(system).actions(choices)
        if isinstance(action, Exchange)
    ]
    return answers_after(model, says)


def question(formula: str = "", assumptions: frozenset[Assumption] | None = None) -> str:
    """A question to a process that checks: a formula, "" for the standard checks, or claims."""
    assumed = None if assumptions is None else sorted(assumptions)
    return json.dumps({"formula": formula, "assumptions": assumed})


def _results(subject: SystemSubject, asked: dict[str, Any]) -> Iterator[ResultView]:
    if asked["assumptions"] is not None:
        yield from claim_results(subject, frozenset(map(Assumption, asked["assumptions"])))
    elif asked["formula"]:
        yield from map(Views(subject.system()).result, checked(subject, asked["formula"]))
    else:
        yield from standard_results(subject)


_READY = b"ready"
"""What a process says once it has loaded what it needs, which takes seconds on a slow machine."""


def _work(connection: Connection) -> None:
    """Answer questions, each of a subject and a question, with results and an empty line."""
    with suppress(EOFError, OSError):
        connection.send_bytes(_READY)
        while True:
            subject: SystemSubject = connection.recv()
            asked = json.loads(connection.recv_bytes())
            try:
                for result in _results(subject, asked):
                    connection.send_bytes(json.dumps(asdict(result)).encode())
            except (PXPError, MemoryError) as error:
                reason = str(error) or "there is not enough memory"
                connection.send_bytes(json.dumps({"error": reason}).encode())
            connection.send_bytes(b"")


class Process:
    """A process that checks, one question at a time; a new question ends the one before.

    What it is asked is about its `subject`, which may be exchanged.
    """

    def __init__(self, subject: SystemSubject) -> None:
        self.subject = subject
        self.busy = False
        self._start()

    def _start(self) -> None:
        context = SpawnedContext()
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True, name="pxp check")
        self._process.start()
        theirs.close()
        self._ready = False

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    async def ask(
        self, asked: str, seconds: float | None = MOST_SECONDS
    ) -> AsyncIterator[dict[str, Any]]:
        """What the process answers to a `question`: results, or {"error": why there is none}.

        Nothing more comes where another question ends this one. `seconds` are those from when the
        process is ready.
        """
        if self.busy:
            self.close()
            self._start()
        connection, self.busy = self._connection, True
        try:
            if not self._ready:
                await asyncio.to_thread(_received, connection)
                self._ready = connection is self._connection
            connection.send(self.subject)
            connection.send_bytes(asked.encode())
            while answer := await asyncio.wait_for(
                asyncio.to_thread(_received, connection), seconds
            ):
                yield json.loads(answer)
            if connection is self._connection:
                self.busy = False
        except TimeoutError:
            if connection is self._connection:
                yield {"error": f"not decided within {seconds:.0f} seconds; use pxp check"}
        except OSError:  # it was ended by another question
            return


def _received(connection: Connection) -> bytes:
    try:
        while not connection.poll(0.05):
            pass
        return connection.recv_bytes()
    except (EOFError, OSError) as error:
        raise OSError("the process has ended") from error
