"""A member of a system that chooses at random from a seed, for simulations."""

from __future__ import annotations

import json
import random
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import UsageError
from pxp_fsm.sessions.actors import Intent, Turn


class RandomMember:
    """Takes each row that `table` leaves to it with equal probability, from `seed`; never waits.

    What it sends is the first example of the payload's schema that fits. How many choices it has
    made stands in its memory, so that a resumed session goes on as it would have. Raises
    `UsageError` where a schema has no example and takes no null.
    """

    def __init__(self, table: Automaton, seed: int = 0) -> None:
        self._table = table
        self._seed = seed
        self._payloads = {tag: _example(table, tag) for tag in table.payloads}

    @property
    def name(self) -> str:
        """What it is, as a session records it."""
        return f"random, seed {self._seed}"

    def __call__(self, turn: Turn) -> Intent:
        """One of its rows at `turn`."""
        made = turn.memory["choices"] = turn.memory.get("choices", 0) + 1
        place = turn.session.partition("/")[2] or turn.session  # the same in each run of a seed
        chance = random.Random(f"{self._seed}/{place}/{turn.member}/{made}")
        rows = self._table.own_rows(turn.state)
        row = rows[chance.randrange(len(rows))]
        value = self._payloads.get(row.label) if row.kind is Kind.SEND else None
        return Intent(row.guard or row.label, value, row.partner)


def _example(table: Automaton, tag: str) -> Any:
    schema = table.payloads[tag]
    given = [*schema.get("examples", ()), *schema.get("enum", ())]
    given += [schema[key] for key in ("default", "const") if key in schema]
    for value in (*given, None):
        if payload_problem(table, tag, json.dumps(value)) is None:
            return value
    raise UsageError(
        f"a random member sends {tag} by {table.name}, whose schema takes no null and gives no "
        f"example that fits; add examples = [...] to [payloads.{tag}], or name another respondent"
    )
