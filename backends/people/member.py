"""A person at the terminal as a member of a system: chooses what to do, and writes what is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from backends.people.input import ask_line, one_of, say
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import DataError
from pxp_fsm.prompting.members import WAIT, Option, may_wait, options_of
from pxp_fsm.sessions.actors import Intent, Turn
from pxp_fsm.sessions.live import Letter

_HEADING, _NAME = "bold", "ansicyan"


class PersonMember:
    """Asks a person at the terminal, as the member that follows `table`; `role` is shown first.

    Leaving (Ctrl-C, Ctrl-D) stops the session, which is resumed at this very turn.
    """

    name = "person at the terminal"

    def __init__(self, table: Automaton, role: str = "") -> None:
        self._table = table
        self._role = role
        self._shown: dict[str, int] = {}

    async def __call__(self, turn: Turn) -> Intent | None:
        """What the person wants to do at `turn`."""
        self._show(turn)
        options = {one.name: one for one in options_of(turn, self._table)}
        names = [*options, *([WAIT] if may_wait(turn, self._table) else [])]
        say((_HEADING, f"{turn.member}, in {turn.state}: what do you do?"))
        for name in names:
            say("  ", (_NAME, f"{name:12}"), _about(options.get(name)))
        chosen = await one_of("Your choice: ", tuple(names))
        if chosen == WAIT:
            return None
        option = options[chosen]
        if not option.sends:
            return Intent(chosen)
        if option.payload is not None:
            say(f"{option.sends} carries ", _shape(option.payload))
        question = f"What {option.sends} carries (text, or JSON; empty is nothing): "
        text = await ask_line(question, lambda said: self._payload(option, said))
        return Intent(chosen, self._payload(option, text), option.to)

    def _show(self, turn: Turn) -> None:
        """The role, what it is about, and what came since the person was last asked."""
        shown = self._shown.get(turn.session)
        if shown is None:
            for text in filter(None, (self._role, turn.instance.x)):
                say(text)
        for letter in turn.letters[shown or 0 :]:
            say((_NAME, f"{letter.sender} to {letter.receiver}: {letter.tag} "), _said(letter))
        self._shown[turn.session] = len(turn.letters)

    def _payload(self, option: Option, text: str) -> object:
        """What the person wrote: JSON where it is, else the text itself, as the schema allows."""
        try:
            value: object = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            value = text
        problem = payload_problem(self._table, option.sends, json.dumps(value))
        if problem is None:
            return value
        if payload_problem(self._table, option.sends, json.dumps(text)) is None:
            return text
        raise DataError(problem)


def _about(option: Option | None) -> str:
    if option is None:
        return "wait for what comes"
    sends = f"sends {option.sends}{f' to {option.to}' if option.to else ''}" if option.sends else ""
    return "; ".join(filter(None, (option.about, sends)))


def _shape(schema: Any) -> str:
    """What fits a JSON Schema: its first example, or where it has none the schema itself."""
    examples = schema.get("examples") if isinstance(schema, Mapping) else None
    kind, value = (
        ("a value such as", examples[0]) if examples else ("what fits the JSON Schema", schema)
    )
    return f"{kind} {json.dumps(value, ensure_ascii=False)}"


def _said(letter: Letter) -> str:
    value = letter.value
    return value if isinstance(value, str) else "" if value is None else letter.text
