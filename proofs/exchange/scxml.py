"""A table as SCXML (W3C Recommendation, 1 September 2015), flat: states, transitions, send.

A row that receives waits for the event of its tag. A row that sends waits for an event of ours
(somebody chooses to, or the guards decide; the guard is then its `cond`) and sends: to the member
of that name, else to the session that has started this one and joins it with its peer
(`#_parent`). What SCXML cannot say stands in attributes and elements of a namespace of ours, which
other tools pass over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from pxp_fsm.automaton import Automaton, Kind, State, Transition

SCXML = "http://www.w3.org/2005/07/scxml"
OURS = "urn:pxp-fsm:automaton:1"
DECIDE = "pxp-decide"
"""The event in which guards decide; no tag can be named so."""
CHOOSE = "pxp-choose"
"""`pxp-choose.TAG` is the event that somebody chooses to send TAG."""

PEER = "parent"
"""To whom a row without a partner sends; a send without a target would go to the machine itself."""

_UNWRITABLE = re.compile("[\\\\\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_scxml(automaton: Automaton) -> str:
    """`automaton` as an SCXML document."""
    about = {
        "name": automaton.name,
        "initial": automaton.initial,
        "version": "1.0",
        "pxp:title": _prose(automaton.title),
        "pxp:source": _prose(automaton.source),
        "pxp:note": _prose(automaton.note),
        "pxp:peer": automaton.peer,
    }
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<scxml xmlns="{SCXML}" xmlns:pxp="{OURS}"{_attributes(about)}>',
        *(f"  {_empty('pxp:guard', name=g, about=_prose(t))}" for g, t in automaton.guards.items()),
    ]
    unordered = _sorted_by_state(automaton)
    places = {t: n for n, t in enumerate(automaton.transitions)} if unordered else {}
    for state in automaton.states:
        lines += _state(automaton, state, places)
    return "\n".join([*lines, "</scxml>", ""])


def unescaped(text: str) -> str:
    """The text that `\\uXXXX` and `\\\\` in an attribute of ours stand for."""
    return re.sub(r"\\(?:u([0-9a-f]{4})|\\)", lambda m: chr(int(m[1], 16)) if m[1] else "\\", text)


def _state(automaton: Automaton, state: State, places: dict[Transition, int]) -> Iterator[str]:
    rows = automaton.leaving(state.name)
    final = state.name in automaton.final
    # SCXML's own final element has no transitions, and a table's end state may have rows.
    element = "final" if final and not rows and not state.guards else "state"
    about = {
        "id": state.name,
        "pxp:about": _prose(state.about),
        "pxp:guards": " ".join(state.guards),
        "pxp:final": "true" if final and element == "state" else "",
    }
    if not rows:
        yield f"  <{element}{_attributes(about)}/>"
        return
    yield f"  <{element}{_attributes(about)}>"
    for row in rows:
        yield from _transition(row, places.get(row))
    yield f"  </{element}>"


def _transition(row: Transition, place: int | None) -> Iterator[str]:
    sends = row.kind is Kind.SEND
    chosen = f"{CHOOSE}.{row.label}" if sends else row.label
    about = {
        "event": chosen if row.guard is None else DECIDE,
        "cond": row.guard or "",
        "target": row.target,
        "pxp:row": str(row.row),
        "pxp:place": "" if place is None else str(place),
        "pxp:outside": row.label if row.kind is Kind.EVENT else "",
        "pxp:partner": row.partner,
    }
    if not sends:
        yield f"    <transition{_attributes(about)}/>"
        return
    yield f"    <transition{_attributes(about)}>"
    yield f"      {_empty('send', event=row.label, target=f'#_{row.partner or PEER}')}"
    yield "    </transition>"


def _sorted_by_state(automaton: Automaton) -> bool:
    """Whether the order of rows is lost where they stand state by state, row by row."""
    by_state = [row for state in automaton.states for row in automaton.leaving(state.name)]
    return sorted(by_state, key=lambda row: row.row) != list(automaton.transitions)


def _empty(element: str, **attributes: str) -> str:
    return f"<{element}{_attributes(attributes)}/>"


def _attributes(of: dict[str, str]) -> str:
    """Attributes that have a value; line ends and tabs as references, or XML would blank them."""
    kept = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return "".join(f" {name}={quoteattr(text, kept)}" for name, text in of.items() if text)


def _prose(text: str) -> str:
    """`text` with what XML cannot hold (control characters, surrogates) as `\\uXXXX`."""
    return _UNWRITABLE.sub(lambda m: "\\\\" if m[0] == "\\" else f"\\u{ord(m[0]):04x}", text)
