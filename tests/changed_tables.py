"""Built-in tables with some of their text changed, as a user would change a copy of the file."""

from __future__ import annotations

from importlib import resources

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.tables import parse_automaton

STOP = "tag == REJECT or (tag == RATIFY and last == RATIFY)"
"""The rule by which INTERACT stops."""


def changed(name: str, *changes: tuple[str, str]) -> Automaton:
    """The built-in table `name` where each text is replaced, wherever it stands."""
    path = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml")
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_automaton(text)
