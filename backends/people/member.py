"""A person at the terminal as a member of a system: shown what came, asked what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from backends.people.input import ask_line, one_of, say
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.actors import Intent, Turn
from pxp_fsm.sessions.choices import Choice, choices_of


class PersonMember:
    """A person who chooses for a member with the table `automaton`; `instructions` tell its part.

    Whoever leaves (Ctrl-C, Ctrl-D) leaves the session where it is; it can be resumed.
    """

    __name__ = "person at the terminal"

    def __init__(self, automaton: Automaton, instructions: str = "") -> None:
        self._automaton = automaton
        self._instructions = instructions
        self._shown: dict[str, int] = {}

    async def __call__(self, turn: Turn) -> Intent | None:
        self._show(turn)
        choices = choices_of(turn, self._automaton)
        for label, choice in choices.items():
            say("  ", ("ansicyan", f"{label:12}"), choice.meaning)
        choice = choices[await one_of(f"{turn.member}, in {turn.state}: ", tuple(choices))]
        if not choice.carries:
            return choice.intent(None)
        accept = _reader(choice, self._automaton)
        text = await ask_line("What it carries (text or JSON; empty: nothing): ", accept)
        return choice.intent(accept(text))

    def _show(self, turn: Turn) -> None:
        """What has come since the last question, and the first time what it is about."""
        seen = self._shown.get(turn.session, 0)
        if not seen:
            say(("bold", f"Session {turn.session}: {turn.instance.x or 'you are ' + turn.member}"))
            if self._instructions:
                say(self._instructions)
        for letter in turn.letters:
            if letter.number > seen and letter.receiver == turn.member:
                carried = "" if letter.value is None else f": {letter.text}"
                say(("bold", f"{letter.sender} {letter.tag}"), carried)
        self._shown[turn.session] = max([seen, 1, *(one.number for one in turn.letters)])


def _reader(choice: Choice, automaton: Automaton) -> Callable[[str], Any]:
    """Reads a typed payload: JSON, else the text itself; what fits no schema is refused."""

    def read(typed: str) -> Any:
        text = typed.strip()
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            value = text
        tag = choice.row.label if choice.row is not None else ""
        problem = payload_problem(automaton, tag, json.dumps(value))
        if problem is not None:
            raise UsageError(f"{tag} cannot carry that: {problem}")
        return value

    return read
