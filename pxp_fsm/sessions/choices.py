"""What a member may choose now, as people, models and programs are asked: one label per choice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.actors import Intent, MemberFunction, Turn, own_rows

WAIT = "wait"
"""The label of the choice to do nothing until something comes."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that the member may take now, or None to wait; `meaning` says in words what it does."""

    row: Transition | None
    meaning: str
    schema: Mapping[str, Any] | None = None

    @property
    def carries(self) -> bool:
        """Whether a message is sent, which may carry something."""
        return self.row is not None and self.row.kind is Kind.SEND

    def intent(self, value: Any) -> Intent | None:
        """What the member wants then, with that payload."""
        if self.row is None:
            return None
        name = self.row.guard or self.row.label
        return Intent(name, value if self.carries else None, self.row.partner)


def choices_of(turn: Turn, automaton: Automaton) -> dict[str, Choice]:
    """The choices of `turn` by their labels: a guard or a tag, with its receiver where need be.

    >>> import pxp_fsm as pxp
    >>> about = pxp.Instance("lamp", "a lamp")
    >>> turn = pxp.Turn("s", about, "m", "INIT", (), ("INIT",))
    >>> list(choices_of(turn, pxp.load_automaton("interact")))
    ['INIT', 'wait']
    """
    rows = own_rows(automaton, turn.state)
    names = Counter(row.guard or row.label for row in rows)
    found = {}
    for row in rows:
        name = row.guard or row.label
        label = name if names[name] == 1 else f"{name} to {row.partner}"
        found[label] = Choice(row, _meaning(row, automaton), automaton.payloads.get(row.label))
    if len(rows) < len(automaton.leaving(turn.state)):
        found[WAIT] = Choice(None, "wait for what comes")
    return found


def _meaning(row: Transition, automaton: Automaton) -> str:
    to = f" to {row.partner}" if row.partner else ""
    does = f"sends {row.label}{to}" if row.kind is Kind.SEND else f"does {row.label}"
    why = automaton.guards.get(row.guard, "") if row.guard else ""
    return f"{does}, since {why}" if why else does


def random_member(automaton: Automaton, seed: int) -> MemberFunction:
    """A member that takes each of its choices with equal probability, from `seed`; it never waits.

    What it sends is the first example of the payload's schema. Raises `UsageError` where a schema
    has none and takes no null.
    """
    payloads = {tag: _example(automaton, tag) for tag in automaton.payloads}

    def random_choice(turn: Turn) -> Intent | None:
        made = turn.memory["choices"] = turn.memory.get("choices", 0) + 1
        chance = random.Random(f"{seed}/{turn.session}/{turn.member}/{made}")
        choices = [one for one in choices_of(turn, automaton).values() if one.row is not None]
        choice = choices[chance.randrange(len(choices))]
        return choice.intent(payloads.get(choice.row.label) if choice.row else None)

    random_choice.__name__ = f"random, seed {seed}"
    return random_choice


def _example(automaton: Automaton, tag: str) -> Any:
    schema = automaton.payloads[tag]
    given = [*schema.get("examples", ()), *schema.get("enum", ())]
    given += [schema[key] for key in ("default", "const") if key in schema]
    for value in (*given, None):
        if payload_problem(automaton, tag, dumps(value)) is None:
            return value
    raise UsageError(
        f"a random member sends {tag} by {automaton.name}, whose schema takes no null and gives no "
        f"example that fits; add examples = [...] to [payloads.{tag}], or name another respondent"
    )
