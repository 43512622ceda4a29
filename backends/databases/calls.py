"""The calls of a run to models: reserved before they are sent, settled and recorded after."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection

from backends.databases import chain, records
from backends.databases import statements as sql
from backends.databases.blackboard import SqlBlackboard
from backends.databases.reservations import reservation_row
from pxp_fsm.errors import BlackboardError, quoted
from pxp_fsm.prompting.model import Call, Request, Reservation, fingerprint
from pxp_fsm.protocol.messages import storable


@dataclass
class CallsOf:
    """The record of a run's calls on a blackboard.

    Fills `CallLog` and `Ledger` of `pxp_fsm.prompting.model`; `run` may change between calls.
    Raises `BlackboardError` where there is no such run, or the database refuses.
    """

    board: SqlBlackboard
    run: str = ""
    _prompts: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)
    """Of each run, the digests of its stored prompts by the fingerprints of their requests."""

    def keep(self, call: Call) -> None:
        run, asked = self.run, fingerprint(call.request)
        prompt = records.prompt_row(call.request)

        def store(connection: Connection) -> dict[str, str]:
            _check_run(connection, run)
            known = self._prompts.get(run)
            if known is None:
                found = connection.execute(sql.PROMPTS, {"named": run})
                known = {chain.text_digest(said): digest for digest, said in found}
            if asked not in known:
                connection.execute(sql.ADD_PROMPT, prompt)
            if call.reply is not None:
                texts = records.text_rows([storable(call.reply.text)])
                connection.execute(sql.KEEP_TEXT, texts)
            row = records.call_row(call, known.get(asked, prompt["digest"]))
            number = (connection.scalar(sql.LATEST_CALL, {"named": run}) or 0) + 1
            connection.execute(sql.ADD_CALL, {**row, "run": run, "number": number})
            return known

        known = self.board.write(store)
        known.setdefault(asked, prompt["digest"])
        self._prompts[run] = known

    def reserve(self, model: str, request: Request, dollars: float | None) -> Reservation:
        run, row = self.run, reservation_row(model, request, dollars)
        tried: list[int] = []

        def store(connection: Connection) -> int:
            _check_run(connection, run)
            if tried:  # the answer to an earlier commit may have been lost, not the commit
                at = {"named": run, "at": tried[-1]}
                stored = connection.execute(sql.RESERVATION, at).mappings().one_or_none()
                if stored is not None and all(stored[name] == row[name] for name in row):
                    return tried[-1]
            number: int = connection.execute(sql.LATEST_RESERVATION, {"named": run}).scalar_one()
            tried.append(number + 1)
            connection.execute(sql.ADD_RESERVATION, {**row, "run": run, "number": number + 1})
            return number + 1

        return run, self.board.write(store)

    def settle(self, reservation: Reservation, dollars: float | None) -> None:
        run, number = reservation

        def store(connection: Connection) -> None:
            at = {"named": run, "at": number}
            found = connection.execute(sql.RESERVATION, at).one_or_none()
            if found is None:
                raise BlackboardError(f"run {quoted(run)} has no reserved call {number}")
            if not found.settled:
                connection.execute(sql.SETTLE, {**at, "dollars": dollars})

        self.board.write(store)


def _check_run(connection: Connection, run: str) -> None:
    if connection.scalar(sql.RUN_OPENING, {"named": run}) is None:
        raise BlackboardError(f"a call was refused: there is no run {quoted(run)}")
