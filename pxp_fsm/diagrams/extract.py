"""The model of a diagram, from an automaton or from the messages of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from pxp_fsm.automata.actions import Choose, Decide, Deliver, Exchange, External, Send
from pxp_fsm.automata.automaton import Automaton, Kind, Transition
from pxp_fsm.automata.expressions import str_of
from pxp_fsm.automata.system import System
from pxp_fsm.automata.unfolding import written
from pxp_fsm.diagrams.model import (
    Arrow,
    Edge,
    EdgeRow,
    Legend,
    Lifeline,
    Node,
    SequenceChart,
    StateDiagram,
)
from pxp_fsm.diagrams.text import folded, shortened
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import NOTHING, Answer, Message, Tag
from pxp_fsm.sessions.events import Event

_SIGNS = {Kind.SEND: "+", Kind.RECEIVE: "\N{MINUS SIGN}", Kind.EVENT: "!"}
"""What stands before a label in a diagram, by what the row does with it."""

_FREE = "⊤"
"""What stands for the guard of a row that sends whenever its agent, or the schedule, chooses."""

_MEANINGS = {
    Kind.SEND: "this agent sends {}",
    Kind.RECEIVE: "this agent receives {}",
    Kind.EVENT: "{} is done: an event that is no message",
}
_MOST_NOTED = 12
"""Actions that are no messages: so many are named below a chart."""

_PARTIES = {"m": "the machine", "h": "the human"}


def state_diagram(
    automaton: Automaton,
    *,
    marked: str | None = None,
    path: Sequence[Transition] = (),
    refused: Sequence[Transition] = (),
    unreceived: Sequence[str] = (),
    region: Set[str] = frozenset(),
) -> StateDiagram:
    """The diagram of `automaton`, drawn as the papers draw it.

    `marked` is a state to fill: the current one, or the one a session ended in. `path` is the
    transitions that a session took; their arrows are bold, with counts. `refused` are transitions
    that send what the peer does not receive, `unreceived` tags that are not received in `marked`;
    their arrows are red. `region` is the states that are possible where something that should stay
    possible is not. Raises `UsageError` for a state or a transition that the automaton does
    not have.
    """
    names = [state.name for state in automaton.states]
    if marked is not None and marked not in names:
        raise UsageError(
            f"{automaton.name} has no state {marked!r} to mark; it has {', '.join(names)}"
        )
    for taken in (*path, *refused):
        if taken not in automaton.transitions:
            raise UsageError(
                f"{automaton.name} has no transition {taken.source} {taken.action} "
                f"{taken.target} (row {taken.row}); the path is of another automaton"
            )
    nodes = tuple(
        Node(
            state.name,
            state.about,
            initial=state.name == automaton.initial,
            final=state.name in automaton.final,
            marked=state.name == marked,
            trapped=state.name in region,
            group=state.base or "",
        )
        for state in automaton.states
    )
    edges = _edges(automaton, Counter(path), frozenset(refused))
    if marked is not None and unreceived:
        sign = _SIGNS[Kind.RECEIVE]
        rows = tuple(EdgeRow(f"{sign}{tag} is not received") for tag in unreceived)
        edges += (Edge(marked, "", rows, refused=True),)
    explained = _legend(automaton, path, fatal=any(edge.refused for edge in edges))
    if region:
        explained += (("dashed red", "what can be reached where what was asked is impossible"),)
    return StateDiagram(automaton.title, automaton.note, nodes, edges, explained)


def _edges(
    automaton: Automaton, taken: Counter[Transition], refused: Set[Transition]
) -> tuple[Edge, ...]:
    """One edge for each pair of states, one line in it for each written row.

    Rows that a path took have an arrow of their own, with a line and a count for each tag; so have
    those that send what is not received.
    """
    lines: dict[tuple[str, str, bool, bool], dict[tuple[object, ...], list[Transition]]] = {}
    for t in automaton.transitions:
        fatal = t in refused
        apart = (taken[t] or fatal) and t.label
        rows = lines.setdefault((t.source, t.target, taken[t] > 0, fatal), {})
        rows.setdefault((t.row, t.guard, t.kind, apart, t.partner), []).append(t)
    return tuple(
        Edge(
            source,
            target,
            tuple(
                EdgeRow(_line(row), sum(taken[t] for t in row), row[0].row, _rules(row[0]))
                for row in rows.values()
            ),
            refused=fatal,
        )
        for (source, target, _taken, fatal), rows in lines.items()
    )


def _line(row: Sequence[Transition]) -> str:
    """The text of one written row; a free choice to send, at any time, shows its guard ⊤."""
    first = row[0]
    actions = " ".join(_SIGNS[t.kind] + t.label for t in row)
    if first.partner:
        actions += f" {'to' if first.kind is Kind.SEND else 'from'} {first.partner}"
    guard = first.guard or (_FREE if _is_free(first) else None)
    return f"{first.row} {guard} / {actions}" if guard else f"{first.row} {actions}"


def _is_free(row: Transition) -> bool:
    """Whether a row sends whenever its agent, or the schedule, chooses."""
    return row.kind is Kind.SEND and row.guard is None and row.when is None


def _rules(row: Transition) -> tuple[str, ...]:
    """The condition and the updates of a row, as UML writes them; what is long is cut."""
    return tuple(map(shortened, _written_rules(row)))


def _written_rules(row: Transition) -> Iterator[str]:
    if row.when is not None:
        yield f"[{str_of(row.when)}]"
    if row.do:
        yield "/ " + "; ".join(f"{name} := {str_of(update)}" for name, update in row.do)


def system_diagram(system: System) -> StateDiagram:
    """The members of `system`, and at an arrow what one of them may send to the other."""
    nodes = tuple(Node(member.name, member.automaton.title) for member in system.members)
    edges = []
    for sender, receiver in system.links:
        tags = dict.fromkeys(
            written(row.label)
            for row in system.members[sender].automaton.transitions
            if row.kind is Kind.SEND and receiver in system.partners(sender, row)
        )
        names = system.members[sender].name, system.members[receiver].name
        own = (f"({channel.name})" for *link, channel in system.channel.links if link == [*names])
        edges.append(Edge(*names, tuple(map(EdgeRow, (*tags, *own)))))
    return StateDiagram(system.name, system.channel.name, nodes, tuple(edges))


def sequence_chart(
    messages: Sequence[Message],
    *,
    title: str,
    note: str = "",
    states: Mapping[str, str] | None = None,
    texts: bool = True,
) -> SequenceChart:
    """The sequence chart of a session's `messages`.

    `states` is the state in which each participant ended, `note` how the session did
    (`ended: ratified`). Prediction and explanation are shortened to 60 characters each, or left
    out where `texts` is false. Among several an arrow says which message it answers, and what was
    said stands only where its sender had not sent the same before.
    """
    ended = states or {}
    spoken = [name for message in messages for name in (message.sender, message.receiver)]
    names = dict.fromkeys([*spoken, *ended])
    if len(names) > 2:
        arrows = tuple(_among_several(messages, texts))
    else:
        arrows = tuple(_arrow(message, texts) for message in messages)
    return SequenceChart(
        title,
        tuple(Lifeline(name, ended.get(name, "")) for name in names),
        arrows,
        note,
        _parties(names),
    )


def _among_several(messages: Sequence[Message], texts: bool) -> Iterator[Arrow]:
    """The arrows of a session of several agents, of which each two have a channel of their own."""
    latest = dict[frozenset[str], int]()
    current = dict[str, Answer]()
    for message in messages:
        answered = latest.get(frozenset((message.sender, message.receiver)), 0)
        new = current.get(message.sender) != message.answer
        is_next = answered == message.number - 1
        opens = message.tag == Tag.INIT
        arrow = _arrow(message, texts and new)
        yield replace(arrow, answers=0 if is_next or opens else answered)
        latest[frozenset((message.sender, message.receiver))] = message.number
        current[message.sender] = message.answer


def _arrow(message: Message, texts: bool) -> Arrow:
    texts_shown = (message.answer.prediction, message.answer.explanation) if texts else ()
    lines = tuple(line for line in map(shortened, texts_shown) if line)
    return Arrow(message.number, message.sender, message.receiver, message.tag, lines)


def actions_chart(
    events: Sequence[Event],
    states: Mapping[str, str],
    *,
    title: str,
    note: str = "",
    texts: bool = True,
    refused: Iterable[tuple[str, str, str]] = (),
    cycle: int = 0,
    waits: Iterable[object] = (),
) -> SequenceChart:
    """The sequence chart of a system: an arrow for each message, with what became of it.

    `states` is where each member is in the end. `refused` are messages (sender, receiver, tag) that
    cannot be received there. The last `cycle` events repeat for ever; `waits` says for what members
    wait in vain. Other actions are named after `note`, a dozen at most; payloads are folded into
    three lines, or left out where `texts` is false.
    """
    arrows, notes, fatal = list[Arrow](), list[str](), set(refused)
    taken = dict[int, list[tuple[int, Deliver]]]()
    for event in events:
        if isinstance(event.action, Deliver) and event.message is not None:
            taken.setdefault(event.message.number, []).append((event.number, event.action))
    for event in events:
        texts_shown: tuple[str, ...] = ()
        if texts and event.message is not None and event.message.payload != NOTHING:
            texts_shown = folded(event.message.json)
        match event.action:
            case External(label):
                notes.append(f"{label} in step {event.number}")
            case Decide(guard, label, member):
                notes.append(f"{member} chooses {guard}/!{label} in step {event.number}")
            case Choose(member, guard, tag):
                notes.append(f"{member} chooses {guard}/+{tag} in step {event.number}")
            case Exchange(sender, receiver, tag):
                arrows.append(Arrow(event.number, sender, receiver, tag, texts_shown))
            case Send(sender, receiver, tag, lost):
                arrow = Arrow(event.number, sender, receiver, tag, texts_shown, lost=lost)
                arrow = arrow if lost else _with_fate(arrow, taken.get(event.number, ()))
                left = arrow.received == () and (sender, receiver, tag) in fatal
                arrows.append(replace(arrow, refused=left))
    more = f"and {len(notes) - _MOST_NOTED:,} more" if len(notes) > _MOST_NOTED else ""
    after = len(events) + 1
    fatal -= {(arrow.sender, arrow.receiver, arrow.tag) for arrow in arrows if arrow.refused}
    arrows += (Arrow(after, *message, refused=True) for message in sorted(fatal))
    return SequenceChart(
        title,
        tuple(Lifeline(name, state) for name, state in states.items()),
        tuple(arrows),
        "; ".join(filter(None, (note, *notes[:_MOST_NOTED], more))),
        loop=after - cycle if cycle else 0,
        waits=tuple(map(str, waits)),
    )


def _with_fate(arrow: Arrow, taken: Sequence[tuple[int, Deliver]]) -> Arrow:
    """The arrow of a message that was put into a buffer, with the steps in which it was `taken`."""
    whole = any(not action.kept for _, action in taken)
    steps = tuple(number for number, _ in taken)
    return replace(arrow, received=steps, kept=bool(taken) and not whole)


def _legend(
    automaton: Automaton, path: Sequence[Transition] = (), *, fatal: bool = False
) -> Legend:
    """What the drawing of `automaton`, with the `path` that was taken, is to be read by.

    `fatal`: it shows a message that is not received.
    """
    return (*_of_rows(automaton, path), *([("red", "a message that is not received")] * fatal))


def _of_rows(automaton: Automaton, path: Sequence[Transition]) -> Iterator[tuple[str, str]]:
    rows = automaton.transitions
    if rows:
        yield str(rows[0].row), "the number of the row in the table"
    for kind, sign in _SIGNS.items():
        label = next((row.label for row in rows if row.kind is kind), None)
        if label is not None:
            yield f"{sign}{label}", _MEANINGS[kind].format(label)
    if any(map(_is_free, rows)):
        yield _FREE, "always possible; somebody else chooses whether and when"
    yield from _of_rules(automaton)
    guarded = next((row for row in rows if row.guard), None)
    if guarded is not None:
        then = f"{_SIGNS[guarded.kind]}{guarded.label}"
        yield f"{guarded.guard} / {then}", f"where {guarded.guard} is true, {then} follows"
    for guard in dict.fromkeys(row.guard for row in rows if row.guard):
        if meaning := automaton.guards.get(guard) or _meaning(automaton, guard):
            yield guard, meaning
    if path:
        yield "×2", "taken twice on the path in bold"
    if automaton.final:
        yield "double ring", "an end state"


def _of_rules(automaton: Automaton) -> Iterator[tuple[str, str]]:
    """How the conditions and updates below the rows are read; whole, where they are cut there."""
    written = {row.row: (*_written_rules(row),) for row in automaton.transitions}
    signs = (("[", "possible only where this is true"), ("/", "what then becomes of the registers"))
    for sign, meaning in signs:
        of_sign = (rule for rules in written.values() for rule in rules if rule.startswith(sign))
        if rule := next(of_sign, ""):
            yield shortened(rule), meaning
    for number, rules in written.items():
        yield from ((f"{number} {rule[0]}", rule) for rule in rules if shortened(rule) != rule)
    for number in dict.fromkeys(row.row for row in automaton.transitions if row.urgent):
        yield f"row {number}", "urgent: while its condition is true, nothing else happens"
    counted = automaton.rules.on_message.items()
    if counted:
        updates = "; ".join(f"{name} := {str_of(update)}" for name, update in counted)
        yield "at each message", updates


def _meaning(automaton: Automaton, guard: str) -> str:
    """By what a guard without words is decided; "" where its agent decides."""
    if guard not in automaton.rules.whens:
        return ""
    when = automaton.rules.whens[guard]
    return str_of(when) if when is not None else "where no other guard of its state is true"


def _parties(names: Iterable[str]) -> Legend:
    """Who m and h are, where those are the members of a session."""
    there = tuple(names)
    if not there or not set(there) <= set(_PARTIES):
        return ()
    return tuple((name, _PARTIES[name]) for name in _PARTIES if name in there)
