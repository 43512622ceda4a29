"""Runs, sessions and messages for the blackboard's tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backends.databases import RunRecord, SessionRecord
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement
from pxp_fsm.sessions.events import Event

RUN = RunRecord("drug-1", "drug", "{}", 7, "0", "f" * 64)
NAME = "drug-1/1/1"


def record(name: str = NAME, position: int = 1, **changes: Any) -> SessionRecord:
    values: dict[str, Any] = {
        "session": name,
        "run": "drug-1",
        "repetition": 1,
        "position": position,
        "instance": Instance("paracetamol", "CC(=O)Nc1ccc(O)cc1"),
        "protocol": "interact",
        "n": 10,
        "k": 3,
        "automaton": "interact",
        "fingerprint": builtin("interact").fingerprint,
        "memo": True,
        "assumptions": ("deterministic", "reflexive"),
        "agents": (("m", "machine"), ("h", "database")),
    }
    return SessionRecord(**{**values, **changes})


def message(
    number: int,
    tag: str = "",
    prediction: str = "y",
    explanation: str = "e",
    session: str = NAME,
) -> Message:
    sender, receiver = ("m", "h") if number % 2 else ("h", "m")
    tag = tag or ("INIT" if number == 1 else "REFUTE")
    return Message(session, number, sender, tag, Answer(prediction, explanation), receiver)


def as_stored(
    sent: Message, addition: str = "", judgements: Sequence[Judgement] = ()
) -> tuple[str, Event]:
    """What a blackboard stores of a message: under which session, and the event."""
    return sent.session, Event.of_message(sent, addition, judgements)
