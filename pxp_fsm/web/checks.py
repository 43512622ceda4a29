"""Checks beside a page: in processes of their own, which are ended when nobody wants the answer.

A check cannot be interrupted in the middle of a compiled loop, and must not slow down the page; a
process can be ended at any moment, and its memory is given back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from proofs.core.limits import Effort
from proofs.systems import check_formulas
from pxp_fsm.analysis import systems
from pxp_fsm.errors import PXPError
from pxp_fsm.web.subjects import Subject
from pxp_fsm.web.views import ResultView, Views

MOST_STATES = 1_000_000
"""The states that are explored for a verdict; beyond, it is UNKNOWN."""

MOST_SECONDS = 30.0
"""The seconds that are spent on a formula that is typed."""


def standard_results(subject: Subject, formulas: Sequence[str] = ()) -> Iterator[ResultView]:
    """The standard checks of a system, what its file demands, and `formulas`, as decided."""
    system, effort = subject.system(), Effort(MOST_STATES)
    views = Views(system)
    demanded = systems.demanded(system, subject.properties, [system.channel], effort)
    yield from map(views.result, demanded)
    yield from map(views.result, check_formulas(system, formulas, effort=effort))


def _work(connection: Connection, subject: Subject) -> None:
    """Answer formulas (or "" for the standard checks), each with results and an empty line."""
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            formula = connection.recv_bytes().decode()
            try:
                if formula:
                    system = subject.system()
                    effort = Effort(MOST_STATES)
                    checked = check_formulas(system, [formula], effort=effort)
                    results: Iterator[ResultView] = map(Views(system).result, checked)
                else:
                    results = standard_results(subject)
                for result in results:
                    connection.send_bytes(json.dumps(asdict(result)).encode())
            except (PXPError, MemoryError) as error:
                reason = str(error) or "there is not enough memory"
                connection.send_bytes(json.dumps({"error": reason}).encode())
            connection.send_bytes(b"")


class Checker:
    """A process that checks, one question at a time; a new question ends the one before."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.busy = False
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(theirs, self._subject), daemon=True, name="pxp check"
        )
        self._process.start()
        theirs.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()

    async def ask(self, formula: str) -> AsyncIterator[dict[str, Any]]:
        """What the process answers: results, or {"error": why there is none}.

        "" asks for the standard checks. Nothing more comes where another question ends this one.
        """
        if self.busy:
            self.close()
            self._start()
        connection, self.busy = self._connection, True
        try:
            connection.send_bytes(formula.encode("utf-8", "replace"))
            while answer := await asyncio.wait_for(
                asyncio.to_thread(_received, connection), MOST_SECONDS if formula else None
            ):
                yield json.loads(answer)
            if connection is self._connection:
                self.busy = False
        except TimeoutError:
            if connection is self._connection:
                yield {"error": f"not decided within {MOST_SECONDS:.0f} seconds; use pxp check"}
        except OSError:  # it was ended by another question
            return


def _received(connection: Connection) -> bytes:
    try:
        while not connection.poll(0.05):
            pass
        return connection.recv_bytes()
    except (EOFError, OSError) as error:
        raise OSError("the process has ended") from error
