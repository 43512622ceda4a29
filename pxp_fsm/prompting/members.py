"""What a member of a system is told at its turn, and its reply: for models, people, programs."""

from __future__ import annotations

import json
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import DataError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.replies import strict_object, unfenced
from pxp_fsm.sessions.actors import Intent, Turn

WAIT = "WAIT"
"""What a member says that does nothing for now."""


@dataclass(frozen=True, slots=True)
class MemberOption:
    """What a member may do: the `name` to say (a guard or a tag), what it means, what is sent.

    `to` is the receiver ("" where it is left open, or nothing is sent); `payload` is the JSON
    Schema of what the message carries, None where any value may stand.
    """

    name: str
    about: str
    sends: str
    to: str
    payload: Any


def options_of(turn: Turn, table: Automaton) -> tuple[MemberOption, ...]:
    """What may be done at `turn`, by the member's table and what its registers hold."""
    return tuple(
        MemberOption(
            row.guard or row.label,
            table.guards.get(row.guard or "", ""),
            row.label if row.kind is Kind.SEND else "",
            row.partner,
            table.payloads.get(row.label),
        )
        for row in table.own_rows(turn.state)
        if (row.label in turn.tags if row.guard is None else row.guard in turn.guards)
    )


def may_wait(turn: Turn, table: Automaton) -> bool:
    """Whether something may come that leads on without the member."""
    return len(table.own_rows(turn.state)) < len(table.leaving(turn.state))


def briefing(turn: Turn, table: Automaton) -> dict[str, object]:
    """What a member is told at its turn, as JSON: where it is, what it knows, what it may do."""
    options: list[dict[str, object]] = []
    for option in options_of(turn, table):
        described: dict[str, object] = {"do": option.name}
        described |= {
            key: value for key, value in (("means", option.about), ("sends", option.sends)) if value
        }
        described |= {"to": option.to} if option.to else {}
        described |= {} if option.payload is None else {"payload": option.payload}
        options.append(described)
    if may_wait(turn, table):
        options.append({"do": WAIT, "means": "wait for what comes"})
    about = {state.name: state.about for state in table.states}.get(turn.state, "")
    return {
        "member": turn.member,
        "about": turn.instance.x,
        "state": f"{turn.state}: {about}" if about else turn.state,
        "messages": [
            {
                "from": message.sender,
                "to": message.receiver,
                "tag": message.tag,
                "payload": message.value,
            }
            for message in turn.messages
        ],
        "options": options,
    }


def read_intent(text: str, turn: Turn, table: Automaton) -> Intent | None:
    """What a reply wants: a JSON object with `do`, `to` and `payload`; None is to wait.

    Raises `DataError`, saying why the reply is of no use.
    """
    intent = strict_object(unfenced(text.strip()), {"do", "to", "payload"})
    return chosen_intent(intent["do"], intent["to"], intent["payload"], turn, table)


def chosen_intent(
    name: object, to: object, payload: Any, turn: Turn, table: Automaton
) -> Intent | None:
    """What `name`, `to` and `payload` want at `turn`; None is to wait. Raises as `read_intent`."""
    known = {member_option.name: member_option for member_option in options_of(turn, table)}
    names = [*known, *([WAIT] if may_wait(turn, table) else [])]
    if not isinstance(name, str) or name not in names:
        raise DataError(f"do must be one of {', '.join(names)}, not {quoted(name)}")
    if not isinstance(to, str):
        raise DataError(f"to must be the name of a member or an empty text, not {quoted(to)}")
    if name == WAIT:
        return None
    option = known[name]
    if option.sends:
        problem = payload_problem(table, option.sends, json.dumps(payload))
        if problem is not None:
            raise DataError(f"the payload of {option.sends} does not fit: {problem}")
    return Intent(name, payload if option.sends else None, to)
