"""The definitions of intelligibility as languages: the tag sequences that are in a class."""

from __future__ import annotations

from functools import cache

from proofs.languages.language import Language, of_automaton
from proofs.sessions import AGENTS
from pxp_fsm.errors import UsageError
from pxp_fsm.intelligibility import DEFINITIONS, two_way_automaton

TWO_WAY = "two_way"
_ROLES = {"machine": "m", "human": "h", "initiator": "m", "responder": "h"}

CLASSES = (*(f"{name}:{agent}" for name in DEFINITIONS for agent in AGENTS), TWO_WAY)
"""The classes by name: a definition for an agent (`strong:h`), and `two_way`."""


@cache
def class_language(name: str) -> Language:
    """Every tag sequence whatever that is in the class `name`.

    The agent may be called machine or initiator (m), human or responder (h); dashes count as
    underscores. Raises `UsageError` for a name that is none of `CLASSES`.
    """
    definition, _, agent = name.replace("-", "_").partition(":")
    agent = _ROLES.get(agent, agent)
    if definition == TWO_WAY and not agent:
        return of_automaton(TWO_WAY, two_way_automaton(*AGENTS))
    if definition not in DEFINITIONS or agent not in AGENTS:
        raise UsageError(
            f"there is no class {name!r}; there are: {', '.join(CLASSES)} "
            "(human and machine stand for h and m)"
        )
    found = DEFINITIONS[definition].automaton_for(agent, AGENTS)
    return of_automaton(f"{definition}:{agent}", found)
