"""A table as SCXML (W3C Recommendation, 1 September 2015), flat: states, transitions, send.

A row that receives waits for the event of its tag. A row that sends waits for an event of ours
(somebody chooses to, or the guards decide; the guard is then its `cond`) and sends: to the member
of that name, else to the session that has started this one and joins it with its peer
(`#_parent`). What SCXML cannot say stands in attributes and elements of a namespace of ours, which
other tools pass over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.automata.foreign_names import ForeignNames, with_names
from pxp_fsm.automata.serialization import document, rows
from pxp_fsm.errors import Fault, Place, TableError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.exports.foreign import table_of

SCXML = "http://www.w3.org/2005/07/scxml"
OURS = "urn:pxp-fsm:automaton:1"
DECIDE = "pxp-decide"
"""The event in which guards decide; no tag can be named so."""
CHOOSE = "pxp-choose"
"""`pxp-choose.TAG` is the event that somebody chooses to send TAG."""

RULES = ("parameters", "registers", "enums", "oracles", "answers", "let", "each", "guards", "rows")
"""The sections of a table by which it decides and counts."""

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
        "pxp:rules": _rules(automaton),
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


def _rules(automaton: Automaton) -> str:
    """What the table decides and counts by, as JSON; SCXML has no place for it. "" of none."""
    if automaton == automaton.without_rules():
        return ""
    written = document(automaton)
    return json.dumps({key: written[key] for key in RULES if key in written})


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


REMEDIES = {
    "parallel": "regions side by side are several tables: write each as one",
    "history": "a table has no memory beside its state: make the remembered states different ones",
    "datamodel": 'a table has no data: what data decide, a guard decides; write cond="GUARD"',
    "onentry": "write what is sent at the transitions that lead here",
    "onexit": "write what is sent at the transitions that lead away",
    "invoke": "what runs beside is a table of its own, joined by a channel",
    "initial": "write the attribute initial of scxml",
    "script": "nothing in a file is run",
}
"""What to do instead of the elements that a table cannot be."""

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)


@dataclass
class _Element:
    """An element of the document, with its line and column."""

    name: str
    attributes: Mapping[str, str]
    line: int
    column: int = 1
    children: list[_Element] = field(default_factory=list)


def from_scxml(text: str, filename: str = "machine.scxml") -> Automaton:
    """The automaton that a flat SCXML document means.

    A transition with an event receives it; one with `<send event="..." target="#_parent"/>` sends
    that, by choice or, where it has a `cond`, when that guard is true. Names that a table cannot
    have are changed, and the title keeps them. Raises `TableError` with the line and column of
    what is no XML, has a document type, or is nested, parallel, with data, history or
    scripts.
    """
    return _Reading(filename).table(_parsed(text, filename))


def _parsed(text: str, filename: str) -> _Element:
    parser = expat.ParserCreate("utf-8", " ")
    top = _Element("", {}, 1)
    open_elements = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        place = (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        element = _Element(name, attributes, *place)
        if len(open_elements) > 6:
            raise _refused(filename, place, "nested deeper than a flat machine is")
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def doctype(*_declared: Any) -> None:
        place = (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        raise _refused(filename, place, "a document type is not read; take <!DOCTYPE> out")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: open_elements.pop()
    parser.StartDoctypeDeclHandler = doctype
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        place = (error.lineno, error.offset + 1)
        raise _refused(filename, place, f"this is not XML: {reason}; mend it") from error
    except UnicodeEncodeError as error:
        raise TableError((f"{filename}: holds half of a surrogate pair; mend it",)) from error
    return top.children[0]


def _refused(filename: str, place: tuple[int, int], message: str) -> TableError:
    return TableError((Fault((), message, file=filename, line=place[0], column=place[1]),))


class _Reading:
    """From elements to the document of a table, with the line of each of its values."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.faults: list[Fault] = []
        self.places: dict[Place, tuple[int, int]] = {(): (1, 1)}
        self.states, self.tags, self.members = (
            ForeignNames("s"),
            ForeignNames("t"),
            ForeignNames("m"),
        )

    def table(self, root: _Element) -> Automaton:
        if root.name != f"{SCXML} scxml":
            message = f"the root is {quoted(_local(root.name))}, not scxml of the namespace {SCXML}"
            raise _refused(self.filename, (root.line, root.column), message)
        raw = self._document(root)
        if self.faults:
            self.faults.sort(key=lambda fault: (fault.line or 0, fault.message))
            raise TableError(self.faults)
        plain, rules = table_of(raw, self.places, self.filename), _ours(root, "rules")
        if not rules:
            return plain
        place = (root.line, root.column)
        try:
            ruled = table_of({**raw, **_sections(rules)}, self.places, self.filename)
        except ValueError as error:
            raise _refused(self.filename, place, f"pxp:rules is no JSON: {error}") from None
        if ruled.without_rules().fingerprint != plain.fingerprint:
            message = (
                "pxp:rules are the rules of other rows; take the attribute out, or write it anew"
            )
            raise _refused(self.filename, place, message)
        return ruled

    def _document(self, root: _Element) -> dict[str, Any]:
        self.places[()] = (root.line, root.column)
        states, parsed, final = list[dict[str, Any]](), list[_Row](), list[str]()
        guards = dict[str, str]()
        for child in root.children:
            local = self._known(child, "state", "final", "guard")
            if local == "guard":
                guards[child.attributes.get("name", "")] = _prose_of(child, "about")
            elif local:
                self.places["states", len(states)] = (child.line, child.column)
                states.append(self._state(child, parsed))
                if local == "final" or _ours(child, "final") == "true":
                    final.append(states[-1]["name"])
        _declare_guards(states, parsed, guards)
        parsed = _ordered(parsed)
        written = rows([row.transition for row in parsed])
        self.places |= {("rows", n): parsed[at].start for n, (at, _) in enumerate(written)}
        shown = {key: _prose_of(root, key) for key in ("source", "note", "peer")}
        stem = re.split(r"[/\\]", self.filename)[-1].partition(".")[0]
        name, first = root.attributes.get("name", stem), states[0]["name"] if states else ""
        title = with_names(_prose_of(root, "title") or name, self.states, self.tags, self.members)
        begins = root.attributes.get("initial", "")
        return {
            "format": 1,
            "name": ForeignNames("t", lower=True).of(name),
            "title": title,
            **{key: text for key, text in shown.items() if text},
            "initial": self.states.of(begins) if begins else first,
            **({"final": final} if final else {}),
            "states": states,
            "rows": [row for _, row in written],
            **({"guards": guards} if guards else {}),
        }

    def _state(self, element: _Element, parsed: list[_Row]) -> dict[str, Any]:
        name = self._state_name(element)
        if "initial" in element.attributes:
            self._fault(
                element, "a state with a first state inside it; only flat machines are read"
            )
        for child in element.children:
            if self._known(child, "transition"):
                parsed += self._rows(name, child, len(parsed) + 1)
        listed, about = _ours(element, "guards").split(), _prose_of(element, "about")
        return {
            "name": name,
            **({"about": about} if about else {}),
            **({"guards": listed} if listed else {}),
        }

    def _state_name(self, element: _Element) -> str:
        identity = element.attributes.get("id", "")
        return self.states.of(identity) if identity else ""

    def _rows(self, source: str, element: _Element, place: int) -> Iterator[_Row]:
        """What one transition means: a row for each tag that it names."""
        names = element.attributes.get("target", "").split()
        targets = [self.states.of(target) for target in names] or [source]
        guard = element.attributes.get("cond")
        sent = [child for child in element.children if self._known(child, "send")]
        if guard is not None and not _NAME.fullmatch(guard):
            self._fault(element, f"cond={quoted(guard)}: a cond is the name of one guard, no more")
        elif len(sent) > 1:
            self._fault(element, "more than one thing is sent; put a state between them")
        elif len(targets) != 1:
            self._fault(element, "several targets: a table is in one state at a time")
        else:
            kind, labels = self._action(element, sent[0] if sent else None)
            row = _number(_ours(element, "row"))
            partner = self._to(sent[0]) if sent else ""
            partner = _ours(element, "partner") or partner
            for label in labels:
                step = Transition(row or place, source, targets[0], guard, kind, label, partner)
                start = (element.line, element.column)
                yield _Row(step, start, row, _number(_ours(element, "place")))

    def _action(self, element: _Element, send: _Element | None) -> tuple[Kind, list[str]]:
        """What a transition does, and with which tags or events; none where it is refused."""
        events, outside = element.attributes.get("event", "").split(), _ours(element, "outside")
        if send is not None:
            label = self._sent(send)
            unlike = [event for event in events if event not in (DECIDE, f"{CHOOSE}.{label}")]
            if unlike and label:
                message = (
                    f"receives {unlike[0]} and sends {label} at once; put a state between them"
                )
                self._fault(element, message)
                return Kind.SEND, []
            return Kind.SEND, [self.tags.of(label)] if label else []
        if outside:
            return Kind.EVENT, [self.tags.of(outside)]
        if not events:
            self._fault(element, "neither an event nor a send: a row does one of the two")
        for event in events:
            if "*" in event.removesuffix(".*"):
                message = f"event {quoted(event)}: a row receives one tag; write a row for each"
                self._fault(element, message)
                return Kind.RECEIVE, []
        return Kind.RECEIVE, [self.tags.of(event.removesuffix(".*")) for event in events]

    def _sent(self, element: _Element) -> str:
        """The tag of a send; "" where it is refused."""
        for child in element.children:
            self._fault(child, f"{_local(child.name)} in send: a message carries its tag alone")
        unknown = sorted(set(element.attributes) - {"event", "target", "type", "id"})
        if unknown or "event" not in element.attributes:
            problem = (
                f"send has {', '.join(map(quoted, unknown))}" if unknown else "send has no event"
            )
            self._fault(element, f'{problem}; a message carries its tag alone: write event="TAG"')
            return ""
        return element.attributes["event"]

    def _to(self, element: _Element) -> str:
        """To which member something is sent; "" is the peer."""
        target = element.attributes.get("target", "")
        name = target.removeprefix("#_")
        if not target.startswith("#_") or name == "internal" or name.startswith("scxml_"):
            problem = f"target={quoted(target)}" if target else "sent without a target, to itself"
            told = f'{problem}; write target="#_{PEER}" for the peer, or #_NAME for a member'
            self._fault(element, told)
        return "" if name in (PEER, "") else self.members.of(name)

    def _known(self, element: _Element, *names: str) -> str:
        """The element's name where it is one of `names`; another of SCXML is a fault."""
        space, _, local = element.name.rpartition(" ")
        if local in names and space == (OURS if local == "guard" else SCXML):
            return local
        if space in (SCXML, ""):
            remedy = REMEDIES.get(local, "take it out")
            problem = "states are nested; only flat machines are read" if local == "state" else ""
            self._fault(element, problem or f"{quoted(local)} cannot be part of a table; {remedy}")
        return ""

    def _fault(self, element: _Element, message: str) -> None:
        line, column = element.line, element.column
        self.faults.append(Fault((), message, file=self.filename, line=line, column=column))


@dataclass(frozen=True)
class _Row:
    """A transition, where it stands, and how it says that it is numbered and ordered."""

    transition: Transition
    start: tuple[int, int]
    number: int | None
    place: int | None


def _sections(rules: str) -> dict[str, Any]:
    sections = json.loads(rules)
    if not isinstance(sections, dict):
        raise ValueError("it is no object")
    return {key: sections[key] for key in RULES if key in sections}


def _ordered(parsed: list[_Row]) -> list[_Row]:
    """As the table had them, if that is known."""
    if all(row.place is not None for row in parsed):
        return sorted(parsed, key=lambda row: row.place or 0)
    if all(row.number is not None for row in parsed):
        return sorted(parsed, key=lambda row: row.number or 0)
    return parsed


def _declare_guards(
    states: list[dict[str, Any]], parsed: list[_Row], guards: dict[str, str]
) -> None:
    """What a cond names is a guard; of one state's guards exactly one is true, as in tables."""
    for state in states:
        steps = [row.transition for row in parsed if row.transition.source == state["name"]]
        used = [step.guard for step in steps if step.guard is not None]
        if used:
            state.setdefault("guards", list(dict.fromkeys(used)))
        for guard in state.get("guards", ()):
            guards.setdefault(guard, "")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _ours(element: _Element, attribute: str) -> str:
    return element.attributes.get(f"{OURS} {attribute}", "")


def _prose_of(element: _Element, attribute: str) -> str:
    return unescaped(_ours(element, attribute) or element.attributes.get(attribute, ""))


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
