"""Names and comments in other languages: never a keyword, never two for one, nothing breaks out."""

from __future__ import annotations

import re

from proofs.systems.product import Composition
from pxp_fsm.diagrams.text import legible


class Names:
    """Identifiers of one language: letters, digits and _, each for one thing alone.

    `reserved` are words that the language keeps for itself; `broken` ones that no name may contain.
    """

    def __init__(self, reserved: frozenset[str], broken: str = "") -> None:
        self._reserved = reserved
        self._broken = broken
        self._names: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()

    def of(self, kind: str, *words: str) -> str:
        """The name of the thing of a kind that these words mean, the same each time."""
        if (kind, *words) not in self._names:
            joined = re.sub(r"\W", "_", "_".join(words), flags=re.ASCII)
            if self._broken:
                joined = re.sub(self._broken, "\\1_", joined)
            name, number = joined, 1
            while name in self._taken or name in self._reserved:
                number += 1
                name = f"{joined}_{number}"
            self._taken.add(name)
            self._names[kind, *words] = name
        return self._names[kind, *words]


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def plain(text: str) -> str:
    """`text` for a comment: one line of letters, digits and what has no meaning in any language."""
    return re.sub(r"[^\w .,:;()=+>@!|'-]|--+|'", "_", legible(text), flags=re.ASCII)


def header(composition: Composition) -> tuple[str, ...]:
    """Lines that say what was written out: the channel, and each member with its table."""
    told = [
        f"{member.name}: {plain(member.automaton.title)} ({member.automaton.name}), table "
        f"{member.automaton.fingerprint}"
        for member in composition.system.members
    ]
    return (f"pxp-fsm: {len(told)} members, channel {plain(composition.channel.name)}", *told)
