"""The model of a diagram, independent of formats: a state diagram or a sequence chart."""

from __future__ import annotations

from pxp_fsm.lazy_dataclasses import dataclass

Legend = tuple[tuple[str, str], ...]
"""Signs, each with its meaning."""


@dataclass(frozen=True, slots=True)
class Node:
    """A state as it is drawn: `about` explains it, `marked` fills it (a current or final state).

    `trapped`: one of those that are possible where something else is not possible any more. States
    of one `group` stand together, in a frame with its name.
    """

    name: str
    about: str = ""
    initial: bool = False
    final: bool = False
    marked: bool = False
    trapped: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """What an arrow says of a row, such as `3 RAT / +RATIFY`, and how often a path has taken it.

    `number` is that of the written row, which may leave several states; 0 where there is none.
    `rules` stand below the text: the condition `[k < 3]`, the updates `/ k := k + 1`.
    """

    text: str
    taken: int = 0
    number: int = 0
    rules: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The text with its count, and the rules below it, each in a line."""
        return (f"{self.text}  ×{self.taken}" if self.taken else self.text, *self.rules)

    def __str__(self) -> str:
        return " ".join(self.lines)


@dataclass(frozen=True, slots=True)
class Edge:
    """All rows between the same two states: one arrow with several lines.

    `refused` is of a message that is not received: where it is sent, or (without a `target`) where
    it comes in.
    """

    source: str
    target: str
    rows: tuple[EdgeRow, ...]
    refused: bool = False

    @property
    def taken(self) -> int:
        """How often a path has taken this arrow."""
        return sum(row.taken for row in self.rows)


@dataclass(frozen=True, slots=True)
class StateDiagram:
    """An automaton as a picture; the edges name nodes of `nodes`.

    `legend` explains what may be read in it: a sign, and its meaning.
    """

    title: str
    note: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: Legend = ()


@dataclass(frozen=True, slots=True)
class Lifeline:
    """A participant of a session and the state in which it ended ("" if not known)."""

    name: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Message `number` with its tag; `texts` are short lines of what it said.

    `refused`: it is not received. `answers` is the message that it answers, where several talk and
    that is not the one before it; else 0. `received` are the steps in which it is taken from a
    buffer, None where it is taken at once; `kept`: a copy is left there; `lost`: on the way.
    """

    number: int
    sender: str
    receiver: str
    tag: str
    texts: tuple[str, ...] = ()
    refused: bool = False
    answers: int = 0
    received: tuple[int, ...] | None = None
    kept: bool = False
    lost: bool = False

    @property
    def label(self) -> str:
        """Number and tag, with the message that it answers where that needs to be said."""
        answered = f", answers {self.answers}" if self.answers else ""
        return f"{self.number} {self.tag}{answered}"

    @property
    def fate(self) -> str:
        """What became of it, in words; "" where it was taken at once."""
        if self.lost:
            return "lost"
        if self.refused or self.received == ():
            return "not received"
        if self.received is None:
            return ""
        steps = ", ".join(map(str, self.received))
        taken = f"received in step{'s' if len(self.received) > 1 else ''} {steps}"
        return f"{taken}, and a copy is left" if self.kept else taken

    @property
    def lines(self) -> tuple[str, ...]:
        """What is said below its label where nothing is drawn: the texts, and its fate."""
        return (*self.texts, *([self.fate] if self.fate else []))


@dataclass(frozen=True, slots=True)
class SequenceChart:
    """A session as a picture; the arrows name lifelines, `note` is below (`ended: ratified`).

    The steps from `loop` on repeat for ever; 0 is none. `waits` says of each member for what it
    waits in vain, in a sentence.
    """

    title: str
    lifelines: tuple[Lifeline, ...]
    arrows: tuple[Arrow, ...]
    note: str = ""
    legend: Legend = ()
    loop: int = 0
    waits: tuple[str, ...] = ()


Diagram = StateDiagram | SequenceChart
